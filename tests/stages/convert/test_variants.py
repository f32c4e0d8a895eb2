"""Variants as files: counted, readable again, linked to their originals, and never in the place of something else."""

import json

import pytest

import winokit
from winokit.errors import BadInput, CannotWrite, UnknownName
from winokit.methods.transforms.variants import make_variants


def manifest(folder):
    return json.loads((folder / "variants.json").read_text("utf-8"))["variants"]


def test_every_file_is_read_back_as_the_variant_of_an_audit_with_the_ids_of_its_originals(tmp_path):
    data = winokit.load("open")
    written = winokit.convert(data, out=tmp_path, to="variants")
    made = make_variants(data)
    assert [*written.variants] == ["original", *made]
    for name, variant in made.items():
        again = winokit.load(tmp_path / f"{name}.jsonl")
        assert [problem.id for problem in again] == [problem.id for problem in variant.problems]
        assert [problem.labels["original"] for problem in again] == [*written.variants[name].of]
        assert sum(written.variants[name].refused.values()) == len(data) - len(again)
    assert winokit.load(tmp_path / "original.jsonl").content_hash == data.content_hash
    assert winokit.load(tmp_path / "switched.jsonl").card.human_accuracy is None


def test_a_written_variant_is_joined_to_its_data_as_a_perturbed_version(tmp_path):
    winokit.convert("open", out=tmp_path, variant="switched", limit=40, to="variants")
    run = winokit.audit("open", model="random", perturbed=[tmp_path / "switched.jsonl"], protocol="stability", limit=40)
    assert run.find("stability", "switched", "stability").n == len(manifest(tmp_path)["switched"]["of"])


@pytest.mark.parametrize(
    ("style", "counts"),
    [
        ("code", {"no-cands": 1236, "part-sent": 1247, "special-word": 354}),
        ("paper", {"no-cands": 1236, "part-sent": 1180, "local-context": 1267, "switched": 0}),
    ],
)
def test_the_sizes_of_winogrande_s_dev_are_those_of_the_paper_s_script_and_text(real_file, tmp_path, style, counts):
    written = winokit.convert(real_file("winogrande/dev.jsonl"), out=tmp_path, style=style, to="variants")
    assert {name: len(one.of) for name, one in written.variants.items() if name != "original"} == counts
    assert all(sum(one.refused.values()) == 1267 - len(one.of) for one in written.variants.values())
    assert not (tmp_path / "switched.jsonl").exists()


def test_released_sentences_are_those_of_the_131_switchable_problems(real_file, tmp_path):
    labels = [real_file(f"trichelair/WSC_{kind}_label.json") for kind in ("switched", "associative")]
    data = f"wsc273:{real_file('wsc/WSCollection.xml')}"
    written = winokit.convert(data, out=tmp_path, style="paper", labels=labels, variant=["switched"], to="variants")
    assert len(written.variants["switched"].of) == 131
    assert manifest(tmp_path)["switched"]["refused"] == {"labelled not switchable": 142}


def test_what_a_format_has_no_words_for_is_left_out_with_the_reason(tmp_path):
    written = winokit.convert("open", out=tmp_path, format_="wsc", variant=["no-cands", "special-word"], to="variants")
    (reason,) = written.variants["special-word"].refused
    assert "no pronoun is known" in reason
    assert manifest(tmp_path)["special-word"]["file"] is None
    rows = winokit.load(tmp_path / "original.xml")
    assert [problem.answer for problem in rows] == [problem.answer for problem in winokit.load("open")]


def test_a_folder_is_written_over_only_where_it_holds_variants(tmp_path):
    winokit.convert("open", out=tmp_path, limit=10, to="variants")
    winokit.convert("open", out=tmp_path, limit=10, format_="csv", variant="no-cands", to="variants")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["no-cands.csv", "original.csv", "variants.json"]
    (tmp_path / "part-sent.jsonl").write_text("mine\n")
    with pytest.raises(BadInput, match=r"part-sent\.jsonl: is not part of these variants, and would be overwritten"):
        winokit.convert("open", out=tmp_path, limit=10, to="variants")
    assert (tmp_path / "part-sent.jsonl").read_text() == "mine\n"
    with pytest.raises(BadInput, match=r"original\.csv: is an input, and would be overwritten"):
        winokit.convert(tmp_path / "original.csv", out=tmp_path, format_="csv", variant="no-cands", to="variants")


def test_names_and_formats_that_do_not_exist_are_refused_with_those_that_do(tmp_path, real_file):
    with pytest.raises(UnknownName, match=r"No variant of style code named .switched.\. Known: no-cands, part-sent"):
        winokit.convert("open", out=tmp_path, style="code", variant="switched", to="variants")
    with pytest.raises(CannotWrite, match="lmeval can be read but not written"):
        winokit.convert("open", out=tmp_path, format_="lmeval", to="variants")
    with pytest.raises(
        BadInput, match="can be made of no problem: a yes/no judgement; convert --as choice merges them"
    ):
        winokit.convert(real_file("superglue-wsc/val.jsonl"), out=tmp_path, to="variants")
    assert [*tmp_path.iterdir()] == []
