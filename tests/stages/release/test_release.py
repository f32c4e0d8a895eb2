import hashlib
import json
import shutil
from collections import Counter
from itertools import pairwise

import pytest

from winokit.data.checks.leaks import find_leaks
from winokit.data.formats import write
from winokit.data.loading import Loading, load
from winokit.errors import BadInput
from winokit.problem import Card, Dataset
from winokit.stages.debias.run import debias
from winokit.stages.release.contents import read_inputs
from winokit.stages.release.hidden import read_hidden, read_secret
from winokit.stages.release.manifest import problem_of, read_manifest, read_release, row_of
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import ReleaseExtras, ReleaseSettings
from winokit.stages.release.verify import verify

pytest.importorskip("pyarrow")
pytest.importorskip("mlcroissant")

NAMED = ReleaseSettings(name="open-wino", licence="CC0-1.0")
KEY = ReleaseExtras(secret=bytes(range(32)))
"""A secret, where answers are sought in the order: with fresh ones, every thirtieth release looks leaky by chance."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_release("open", tmp_path_factory.mktemp("made") / "open", settings=NAMED, extras=KEY)


def contents_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_folder_has_every_format_and_the_answers_are_beside_it(made):
    files = set(contents_of(made.folder))
    assert {"README.md", "manifest.json", "croissant.json", "lineage.jsonl", "inspect/open_wino.py"} <= files
    assert {"lm_eval/open_wino.yaml", "lm_eval/utils.py"} <= files
    for name in ("train_m", "train_l", "train_xl", "train_debiased", "dev"):
        assert {f"winogrande/{name}.jsonl", f"winogrande/{name}-labels.lst"} <= files
    assert "winogrande/test.jsonl" in files
    assert "winogrande/test-labels.lst" not in files
    assert sorted(contents_of(made.hidden)) == ["checks.json", "labels.jsonl", "release.json", "secret"]
    assert made.hidden == made.folder.with_name("open.hidden")


@pytest.mark.parametrize("name", ["release.json", "checks.json"])
def test_what_is_hidden_begins_with_its_schema(made, name):
    assert next(iter(json.loads((made.hidden / name).read_text()))) == "schema"


def test_two_runs_with_one_secret_give_the_same_bytes(made, tmp_path):
    again = write_release(
        "open", tmp_path / "open", settings=NAMED, extras=ReleaseExtras(secret=read_secret(made.hidden / "secret"))
    )
    assert contents_of(again.folder) == contents_of(made.folder)
    assert contents_of(again.hidden) == contents_of(made.hidden)


def test_a_run_in_the_same_place_keeps_its_secret(made):
    before = contents_of(made.folder), contents_of(made.hidden)
    write_release("open", made.folder, settings=NAMED)
    assert (contents_of(made.folder), contents_of(made.hidden)) == before


def test_without_a_secret_given_every_release_is_another(made, tmp_path):
    other = write_release("open", tmp_path / "open", settings=NAMED)
    assert {p.id for p in other.contents.files["test"]} != {p.id for p in made.contents.files["test"]}


def test_the_seed_orders_only_what_is_public(made, tmp_path):
    secret = ReleaseExtras(secret=read_secret(made.hidden / "secret"))
    other = write_release(
        "open", tmp_path / "open", settings=ReleaseSettings(name="open-wino", licence="CC0-1.0", seed=1), extras=secret
    )
    assert other.contents.where == made.contents.where
    assert other.contents.files["test"] == made.contents.files["test"]
    for name in ("dev", "train_xl"):
        assert list(other.contents.files[name]) != list(made.contents.files[name])


def test_without_a_hidden_test_the_seed_draws_everything(tmp_path):
    one, two = (
        write_release("open", tmp_path / name, settings=ReleaseSettings(name="o", test=0)) for name in ("one", "two")
    )
    assert one.hidden is None
    assert contents_of(one.folder) == contents_of(two.folder)


def test_nothing_in_the_folder_is_out_of_order(made):
    assert [finding for finding in verify(made.folder, hidden=made.hidden).findings if finding.warns] == []


def test_a_file_of_a_release_is_not_taken_for_winogrande(made, tmp_path):
    path = made.folder / "winogrande" / "dev.jsonl"
    own = load(path)
    assert (own.card.name, own.card.licence) == ("open-wino/dev", "CC0-1.0")
    assert load(f"winogrande:{path}").card == own.card
    elsewhere = tmp_path / "winogrande" / "dev.jsonl"
    elsewhere.parent.mkdir()
    shutil.copy(path, elsewhere)
    for manifest in ("[]", (made.folder / "manifest.json").read_text().replace('"sha256": "', '"sha256": "0')):
        (tmp_path / "manifest.json").write_text(manifest)
        assert load(elsewhere).card.name == f"{tmp_path.name}/winogrande/dev"


def test_a_reload_gives_the_same_problems(made):
    again = read_release(made.folder)
    assert list(again) == list(made.contents.files)
    for name, data in again.items():
        if name == "test":
            data = data.with_problems(
                p.replace(answer=q.answer, group=q.group, domain=q.domain, labels=q.labels)
                for p, q in zip(data, made.contents.files["test"], strict=True)
            )
        assert list(data) == list(made.contents.files[name])
        assert [p.id for p in data] == [p.id for p in made.contents.files[name]]


def test_the_problems_are_those_of_the_input(made):
    known = {p.id: p for p in load("open")}
    released = {p.id: p for data in made.contents.files.values() for p in data}
    assert released.keys() == known.keys()
    assert all(p.right == known[name].right and p.text == known[name].text for name, p in released.items())


def test_winokit_load_reads_the_files_as_winogrande_s(made):
    for name in ("train_m", "dev"):
        loaded = load(made.folder / "winogrande" / f"{name}.jsonl")
        own = made.contents.files[name]
        assert [(p.text, p.candidates, p.answer, p.group) for p in loaded] == [
            (p.text, p.candidates, p.answer, p.group) for p in own
        ]


def test_label_lists_are_the_answers(made):
    for name in ("train_xl", "dev"):
        labels = (made.folder / "winogrande" / f"{name}-labels.lst").read_text().split()
        assert labels == [str(p.answer + 1) for p in made.contents.files[name]]


def test_rows_of_the_test_have_text_candidates_and_pronoun_and_nothing_else(made):
    rows = [json.loads(line) for line in (made.folder / "winogrande" / "test.jsonl").read_text().splitlines()]
    assert {key for row in rows for key in row} == {"qID", "sentence", "option1", "option2", "pronoun"}
    assert [row["qID"] for row in rows] == [p.id for p in made.contents.files["test"]]


def test_hidden_labels_are_those_of_the_test_in_its_order(made):
    hidden = read_hidden(made.folder, made.hidden)
    test = made.contents.files["test"]
    assert list(hidden.answers) == [p.answer for p in test]
    assert list(hidden.groups) == [p.group for p in test]


def test_no_public_file_tells_which_test_problems_are_twins(made):
    groups = {p.group for p in made.contents.files["test"]}
    for name, data in contents_of(made.folder).items():
        assert not any(f'"{group}'.encode() in data for group in groups), name


def test_the_hash_of_the_test_is_that_of_what_is_public(made):
    """Were the answers in it, those of a short test could be guessed until the hash fits."""
    public = (made.folder / "winogrande" / "test.jsonl").read_bytes()
    assert read_manifest(made.folder)["content_hashes"]["test"] == hashlib.sha256(public).hexdigest()


def test_the_manifest_says_what_is_needed_to_make_it_again(made):
    manifest = read_manifest(made.folder)
    assert (manifest["name"], manifest["version"], manifest["seed"]) == ("open-wino", "1.0", 0)
    assert manifest["formalization"] == {"fine_tuned": "mc-mlm", "causal": "partial"}
    assert manifest["counts"] == {name: len(data) for name, data in made.contents.files.items()}
    assert manifest["sizes"] == {"m": 20, "l": 80, "xl": 322}
    assert manifest["settings"]["split"] == "random"


def test_lineage_has_a_row_for_every_problem_all_added(made):
    rows = [json.loads(line) for line in (made.folder / "lineage.jsonl").read_text().splitlines()]
    assert {row["id"]: row["split"] for row in rows} == made.contents.where
    assert {row["status"] for row in rows} == {"added"}
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)


def test_answers_of_dev_and_test_are_not_given_away(made):
    for name in ("dev", "test", "train_xl"):
        assert not [leak for leak in find_leaks(made.contents.files[name]) if leak.found]


def test_a_folder_of_anything_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(BadInput, match="not empty, and no release"):
        write_release("open", tmp_path, settings=NAMED)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_earlier_release_gives_way_and_what_others_put_there_stays(made, tmp_path):
    folder = tmp_path / "open"
    shutil.copytree(made.folder, folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref")
    write_release("open", folder, settings=ReleaseSettings(name="renamed", licence="CC0-1.0"))
    names = set(contents_of(folder))
    assert "lm_eval/renamed.yaml" in names
    assert "lm_eval/open_wino.yaml" not in names
    assert ".git/HEAD" in names
    assert [finding for finding in verify(folder).findings if finding.warns] == []


def test_a_release_that_gives_way_takes_nothing_outside_its_folder_along(made, tmp_path):
    folder = tmp_path / "open"
    precious = tmp_path / "precious"
    shutil.copytree(made.folder, folder)
    precious.write_text("mine")
    manifest = read_manifest(folder)
    manifest["files"] |= {"../precious": {}, str(precious): {}, "winogrande": {}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    write_release("open", folder, settings=NAMED)
    assert precious.read_text() == "mine"


def test_hidden_answers_never_go_into_the_release(tmp_path):
    with pytest.raises(BadInput, match="would be published"):
        write_release(
            "open", tmp_path / "out", settings=NAMED, extras=ReleaseExtras(hidden=tmp_path / "out" / "labels")
        )
    assert not (tmp_path / "out").exists()


def test_hidden_answers_of_another_release_are_not_lost(made, tmp_path):
    hidden = tmp_path / "safe"
    shutil.copytree(made.hidden, hidden)
    before = contents_of(hidden)
    other = ReleaseSettings(name="open-wino", licence="CC0-1.0", seed=7, version="1.1")
    with pytest.raises(BadInput, match=r"has the answers of another release \(open-wino 1.0\)"):
        write_release("open", tmp_path / "out", settings=other, extras=ReleaseExtras(hidden=hidden))
    assert contents_of(hidden) == before
    assert not (tmp_path / "out").exists()
    write_release("open", tmp_path / "out", settings=NAMED, extras=ReleaseExtras(hidden=hidden))
    assert contents_of(hidden) == before


def test_hidden_answers_go_with_the_release_that_is_replaced(tmp_path):
    for seed in (1, 2):
        write_release("open", tmp_path / "out", settings=ReleaseSettings(name="open-wino", seed=seed))
    assert not any(finding.warns for finding in verify(tmp_path / "out").findings)


def test_hidden_answers_do_not_mix_with_other_files(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "labels.jsonl").write_text("mine")
    for place, said in (("notes", "not empty, and has no hidden labels"), ("notes/labels.jsonl", "a file; hidden")):
        with pytest.raises(BadInput, match=said):
            write_release("open", tmp_path / "out", settings=NAMED, extras=ReleaseExtras(hidden=tmp_path / place))
    assert (tmp_path / "notes" / "labels.jsonl").read_text() == "mine"


def test_a_release_without_a_test_is_as_it_should_be(tmp_path):
    made = write_release("open", tmp_path / "out", settings=ReleaseSettings(name="open-wino", test=0))
    assert not any(finding.warns for finding in verify(made.folder).findings)


def test_files_that_cannot_be_read_are_findings(made, tmp_path):
    folder = shutil.copytree(made.folder, tmp_path / "out")
    table = next(folder.rglob("*.parquet"))
    table.write_text("cut short")
    (folder / "lineage.jsonl").write_text("[1")
    said = {finding.dataset for finding in verify(folder).findings if "cannot be read" in finding.message}
    assert said == {table.relative_to(folder).as_posix(), "lineage.jsonl"}


def test_an_unnamed_dataset_needs_a_name(twins, tmp_path):
    with pytest.raises(BadInput, match="--name"):
        write_release(Dataset(twins, Card("9 lives")), tmp_path / "out")


@pytest.fixture
def filtered(tmp_path):
    """A folder of winokit debias, twins apart."""
    debias("open", "random", size=300, seed=3, compare=(), assess=False, out=tmp_path / "debias")
    return tmp_path / "debias"


def test_a_folder_of_debias_gives_kept_and_removed_with_twins_found_again(filtered, tmp_path):
    made = write_release(filtered, tmp_path / "out", settings=NAMED)
    assert len(made.contents.kept) == 300
    largest = made.contents.files["train_xl"]
    assert {made.contents.status(p) for p in largest} == {"kept", "removed"}
    assert all(len(members) == 2 for members in largest.groups.values())
    where = made.contents.where
    groups = load("open").groups
    assert all(len({where[p.id] for p in members if p.id in where}) <= 1 for members in groups.values())
    assert sum(made.contents.left_out.values()) == 428 - len(where)
    rows = [json.loads(line) for line in (made.folder / "winogrande" / "train_xl.jsonl").read_text().splitlines()]
    assert {row["status"] for row in rows} == {"kept", "removed"}
    alone = Counter(p.group for p in made.contents.files["train_debiased"])
    pairs = sum(count == 2 for count in alone.values())
    assert read_manifest(made.folder)["groups"]["train_debiased"] == pairs < len(alone)
    assert "random: 300 of 428 problems kept" in (made.folder / "README.md").read_text()
    assert [finding for finding in verify(made.folder).findings if finding.warns] == []


def test_kept_and_removed_may_be_named_one_by_one(filtered, tmp_path):
    one = write_release(filtered, tmp_path / "one", settings=NAMED)
    files = filtered / "kept.jsonl", filtered / "removed.jsonl"
    secret = ReleaseExtras(secret=read_secret(one.hidden / "secret"))
    two = write_release(files[0], tmp_path / "two", removed=files[1], settings=NAMED, extras=secret)
    assert one.contents.files == two.contents.files


def test_twins_that_only_their_group_s_name_tells_stay_together(tmp_path):
    unlike = [
        p.replace(before=f"{number} {p.before}", candidates=(f"{p.candidates[0]} {number}", f"the {number}"))
        for number, p in enumerate(load("open"))
    ]
    write(Dataset(unlike[::2], Card("kept")), tmp_path / "kept.jsonl")
    write(Dataset(unlike[1::2], Card("removed")), tmp_path / "removed.jsonl")
    inputs = read_inputs(tmp_path / "kept.jsonl", tmp_path / "removed.jsonl")
    assert len(inputs.problems.groups) == 214
    assert len(inputs.kept) == 214


def test_removed_may_be_everything_there_was_before_filtering(tmp_path):
    whole = load("open")
    kept = Dataset([p.replace(group=None) for p in whole.problems[::3]], whole.card)
    inputs = read_inputs(kept, Dataset([p.replace(group=None) for p in whole]))
    assert len(inputs.problems) == 428
    assert inputs.kept == {p.id for p in kept}
    assert len(inputs.problems.groups) == 214
    assert "143 of the 428 removed problems are among the kept" in inputs.problems.notes[-1]


def test_source_ids_that_tell_the_answer_are_left_behind(tmp_path):
    told = [p.replace(provenance={"qID": f"{p.id}-{p.answer + 1}"}) for p in load("open")]
    made = write_release(Dataset(told, Card("told")), tmp_path / "out", settings=NAMED, extras=KEY)
    assert not any(made.facts.leaks.values())
    assert not any(p.provenance for data in made.contents.files.values() for p in data)


def test_a_folder_that_is_not_one_of_debias_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"there is no kept\.jsonl"):
        write_release(tmp_path, tmp_path / "out", settings=NAMED)


def test_a_row_says_everything_a_problem_knows(twins):
    for problem in (*twins, twins[0].replace(domain="physical", labels={"anchor": "jug"}, occurrence=2)):
        assert problem_of(row_of(problem)) == problem


@pytest.mark.slow
def test_winogrande_goes_through_and_comes_back(real_file, tmp_path):
    train, dev = (real_file(f"winogrande/{name}.jsonl") for name in ("train_xl", "dev"))
    both = tmp_path / "both.jsonl"
    both.write_bytes(train.read_bytes() + dev.read_bytes())
    made = write_release(f"winogrande:{both}", tmp_path / "out", settings=ReleaseSettings(name="wg", licence="CC BY"))
    known = {p.id: p for p in load(f"winogrande:{both}")}
    released = {p.id: p for data in made.contents.files.values() for p in data}
    assert released.keys() == known.keys()
    assert all(p.right == known[name].right for name, p in released.items())
    where = made.contents.where
    groups = load(f"winogrande:{both}").groups
    assert len(groups) == 20199 + 284
    assert all(len({where[p.id] for p in members}) == 1 for members in groups.values())
    sizes = [[p.id for p in data] for data in made.contents.sizes.values()]
    assert len(sizes) == 5
    assert all(large[: len(small)] == small for small, large in pairwise(sizes))
    assert all(not crossing.repeated and not crossing.groups for crossing in made.facts.crossings)
    assert [finding for finding in verify(made.folder).findings if finding.warns] == []
    for name, data in made.contents.files.items():
        loaded = load(made.folder / "winogrande" / f"{name}.jsonl")
        assert [p.id for p in loaded] == [p.id for p in data]


def test_one_language_of_a_file_can_be_released(real_file):
    """Once this ended in a traceback."""
    path = real_file("xwinograd/dataset.tsv")
    inputs = read_inputs(path, loading=Loading(language="ru"))
    assert inputs.problems.languages == ("ru",)
    assert len(inputs.problems) == 315
