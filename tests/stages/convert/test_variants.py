"""Variants are written to files that can be read again, name their originals, and overwrite nothing else."""

import json

import pytest

import winokit
from winokit.errors import BadInput, CannotWrite, UnknownName
from winokit.methods.transforms.variants import make_variants


def read_manifest(folder):
    """Entries of the manifest of a folder of variants, by name of the variant."""
    return json.loads((folder / "variants.json").read_text("utf-8"))["variants"]


def convert_open(folder, **settings):
    """Write variants of the bundled dataset into a folder."""
    return winokit.convert("open", out=folder, to="variants", **settings)


def test_every_file_is_read_back_as_the_variant_of_an_audit_with_the_ids_of_its_originals(tmp_path):
    data = winokit.load("open")
    conversion = winokit.convert(data, out=tmp_path, to="variants")
    variants = make_variants(data)
    assert [*conversion.variants] == ["original", *variants]
    for name, variant in variants.items():
        entry = conversion.variants[name]
        problems = winokit.load(tmp_path / f"{name}.jsonl")
        ids = [problem.id for problem in problems]
        original_ids = [problem.labels["original"] for problem in problems]
        refused_count = sum(entry.refused.values())
        assert ids == [problem.id for problem in variant.problems]
        assert original_ids == [*entry.of]
        assert refused_count == len(data) - len(problems)
    assert winokit.load(tmp_path / "original.jsonl").content_hash == data.content_hash
    assert winokit.load(tmp_path / "switched.jsonl").card.human_accuracy is None


def test_a_written_variant_is_joined_to_its_data_as_a_perturbed_version(tmp_path):
    convert_open(tmp_path, variant="switched", limit=40)
    perturbed = [tmp_path / "switched.jsonl"]
    run = winokit.audit("open", model="random", perturbed=perturbed, protocol="stability", limit=40)
    switched = read_manifest(tmp_path)["switched"]
    stability = run.find("stability", "switched", "stability")
    assert stability.n == len(switched["of"])


@pytest.mark.parametrize(
    ("style", "counts"),
    [
        ("code", {"no-cands": 1236, "part-sent": 1247, "special-word": 354}),
        ("paper", {"no-cands": 1236, "part-sent": 1180, "local-context": 1267, "switched": 0}),
    ],
)
def test_the_sizes_of_winogrande_s_dev_are_those_of_the_paper_s_script_and_text(real_file, tmp_path, style, counts):
    path = real_file("winogrande/dev.jsonl")
    conversion = winokit.convert(path, out=tmp_path, style=style, to="variants")
    sizes = {name: len(variant.of) for name, variant in conversion.variants.items()}
    del sizes["original"]
    assert sizes == counts
    for variant in conversion.variants.values():
        refused_count = sum(variant.refused.values())
        assert refused_count == 1267 - len(variant.of)
    assert not (tmp_path / "switched.jsonl").exists()


def test_released_sentences_are_those_of_the_131_switchable_problems(real_file, tmp_path):
    kinds = ("switched", "associative")
    labels = [real_file(f"trichelair/WSC_{kind}_label.json") for kind in kinds]
    path = real_file("wsc/WSCollection.xml")
    settings = {"style": "paper", "labels": labels, "variant": ["switched"]}
    conversion = winokit.convert(f"wsc273:{path}", out=tmp_path, to="variants", **settings)
    switched = read_manifest(tmp_path)["switched"]
    assert len(conversion.variants["switched"].of) == 131
    assert switched["refused"] == {"labelled not switchable": 142}


def test_what_a_format_has_no_words_for_is_left_out_with_the_reason(tmp_path):
    conversion = convert_open(tmp_path, format_="wsc", variant=["no-cands", "special-word"])
    (reason,) = conversion.variants["special-word"].refused
    special_word = read_manifest(tmp_path)["special-word"]
    assert "no pronoun is known" in reason
    assert special_word["file"] is None
    data = winokit.load("open")
    from_xml = winokit.load(tmp_path / "original.xml")
    assert [problem.answer for problem in from_xml] == [problem.answer for problem in data]


def test_variants_are_written_over_variants(tmp_path):
    convert_open(tmp_path, limit=10)
    convert_open(tmp_path, limit=10, format_="csv", variant="no-cands")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["no-cands.csv", "original.csv", "variants.json"]


def test_a_file_that_is_no_variant_is_not_written_over(tmp_path):
    convert_open(tmp_path, limit=10, format_="csv", variant="no-cands")
    strange_path = tmp_path / "part-sent.jsonl"
    strange_path.write_text("mine\n")
    with pytest.raises(BadInput, match=r"part-sent\.jsonl: is not part of these variants, and would be overwritten"):
        convert_open(tmp_path, limit=10)
    assert strange_path.read_text() == "mine\n"


def test_an_input_is_not_written_over(tmp_path):
    convert_open(tmp_path, limit=10, format_="csv", variant="no-cands")
    input_path = tmp_path / "original.csv"
    with pytest.raises(BadInput, match=r"original\.csv: is an input, and would be overwritten"):
        winokit.convert(input_path, out=tmp_path, format_="csv", variant="no-cands", to="variants")


def test_names_and_formats_that_do_not_exist_are_refused_with_those_that_do(tmp_path):
    unknown_variant = r"No variant of style code named .switched.\. Known: no-cands, part-sent"
    with pytest.raises(UnknownName, match=unknown_variant):
        convert_open(tmp_path, style="code", variant="switched")
    with pytest.raises(CannotWrite, match="lmeval can be read but not written"):
        convert_open(tmp_path, format_="lmeval")
    assert [*tmp_path.iterdir()] == []


def test_judgements_have_no_variants_until_they_are_merged(tmp_path, real_file):
    path = real_file("superglue-wsc/val.jsonl")
    message = "can be made of no problem: a yes/no judgement; convert --as choice merges them"
    with pytest.raises(BadInput, match=message):
        winokit.convert(path, out=tmp_path, to="variants")
    assert [*tmp_path.iterdir()] == []
