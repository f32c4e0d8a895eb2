"""A release has the problems of its input in every format, and keeps the answers of its test beside it."""

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
def release(tmp_path_factory):
    return write_release("open", tmp_path_factory.mktemp("release") / "open", settings=NAMED, extras=KEY)


def contents_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def read_rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def warnings_of(folder, hidden=None):
    return [finding for finding in verify(folder, hidden=hidden).findings if finding.warns]


def problems_by_id(files):
    """Each problem of the files of a release by its id."""
    problems = {}
    for data in files.values():
        problems.update((problem.id, problem) for problem in data)
    return problems


def assert_same_answers(released, original):
    """Assert that two mappings from id to problem have the same texts and answers."""
    assert released.keys() == original.keys()
    for name, problem in released.items():
        assert problem.text == original[name].text
        assert problem.right == original[name].right


def test_the_folder_has_every_format_and_the_answers_are_beside_it(release):
    files = set(contents_of(release.folder))
    assert {"README.md", "manifest.json", "croissant.json", "lineage.jsonl", "inspect/open_wino.py"} <= files
    assert {"lm_eval/open_wino.yaml", "lm_eval/utils.py"} <= files
    for name in ("train_m", "train_l", "train_xl", "train_debiased", "dev"):
        assert {f"winogrande/{name}.jsonl", f"winogrande/{name}-labels.lst"} <= files
    assert "winogrande/test.jsonl" in files
    assert "winogrande/test-labels.lst" not in files
    assert sorted(contents_of(release.hidden)) == ["checks.json", "labels.jsonl", "release.json", "secret"]
    assert release.hidden == release.folder.with_name("open.hidden")


@pytest.mark.parametrize("name", ["release.json", "checks.json"])
def test_what_is_hidden_begins_with_its_schema(release, name):
    assert next(iter(json.loads((release.hidden / name).read_text()))) == "schema"


def test_two_runs_with_one_secret_give_the_same_bytes(release, tmp_path):
    same_secret = ReleaseExtras(secret=read_secret(release.hidden / "secret"))
    again = write_release("open", tmp_path / "open", settings=NAMED, extras=same_secret)
    assert contents_of(again.folder) == contents_of(release.folder)
    assert contents_of(again.hidden) == contents_of(release.hidden)


def test_a_run_in_the_same_place_keeps_its_secret(release):
    public_files = contents_of(release.folder)
    hidden_files = contents_of(release.hidden)
    write_release("open", release.folder, settings=NAMED)
    assert contents_of(release.folder) == public_files
    assert contents_of(release.hidden) == hidden_files


def test_without_a_secret_given_every_release_is_another(release, tmp_path):
    other = write_release("open", tmp_path / "open", settings=NAMED)
    test_ids = {p.id for p in release.contents.files["test"]}
    other_test_ids = {p.id for p in other.contents.files["test"]}
    assert other_test_ids != test_ids


def test_the_seed_orders_only_what_is_public(release, tmp_path):
    secret = ReleaseExtras(secret=read_secret(release.hidden / "secret"))
    other_seed = ReleaseSettings(name="open-wino", licence="CC0-1.0", seed=1)
    other = write_release("open", tmp_path / "open", settings=other_seed, extras=secret)
    assert other.contents.where == release.contents.where
    assert other.contents.files["test"] == release.contents.files["test"]
    for name in ("dev", "train_xl"):
        assert list(other.contents.files[name]) != list(release.contents.files[name])


def test_without_a_hidden_test_the_seed_draws_everything(tmp_path):
    settings = ReleaseSettings(name="o", test=0)
    first = write_release("open", tmp_path / "one", settings=settings)
    second = write_release("open", tmp_path / "two", settings=settings)
    assert first.hidden is None
    assert contents_of(first.folder) == contents_of(second.folder)


def test_nothing_in_the_folder_is_out_of_order(release):
    assert warnings_of(release.folder, hidden=release.hidden) == []


def test_a_file_of_a_release_is_not_taken_for_winogrande(release):
    path = release.folder / "winogrande" / "dev.jsonl"
    card = load(path).card
    assert (card.name, card.licence) == ("open-wino/dev", "CC0-1.0")
    assert load(f"winogrande:{path}").card == card


def test_a_file_beside_the_manifest_of_other_files_is_none_of_a_release(release, tmp_path):
    path = tmp_path / "winogrande" / "dev.jsonl"
    path.parent.mkdir()
    shutil.copy(release.folder / "winogrande" / "dev.jsonl", path)
    other_hashes = (release.folder / "manifest.json").read_text().replace('"sha256": "', '"sha256": "0')
    for manifest in ("[]", other_hashes):
        (tmp_path / "manifest.json").write_text(manifest)
        assert load(path).card.name == f"{tmp_path.name}/winogrande/dev"


def with_hidden_fields(data, test):
    """The public rows of a test with the fields that are hidden in them."""
    problems = []
    for problem, original in zip(data, test, strict=True):
        hidden_fields = {name: getattr(original, name) for name in ("answer", "group", "domain", "labels")}
        problems.append(problem.replace(**hidden_fields))
    return problems


def test_a_reload_gives_the_same_problems(release):
    reloaded = read_release(release.folder)
    files = release.contents.files
    assert list(reloaded) == list(files)
    for name, data in reloaded.items():
        assert [p.id for p in data] == [p.id for p in files[name]]
        problems = with_hidden_fields(data, files[name]) if name == "test" else list(data)
        assert problems == list(files[name])


def test_the_problems_are_those_of_the_input(release):
    original = {p.id: p for p in load("open")}
    assert_same_answers(problems_by_id(release.contents.files), original)


@pytest.mark.parametrize("name", ["train_m", "dev"])
def test_winokit_load_reads_the_files_as_winogrande_s(release, name):
    loaded = load(release.folder / "winogrande" / f"{name}.jsonl")
    fields = [(p.text, p.candidates, p.answer, p.group) for p in loaded]
    assert fields == [(p.text, p.candidates, p.answer, p.group) for p in release.contents.files[name]]


@pytest.mark.parametrize("name", ["train_xl", "dev"])
def test_label_lists_are_the_answers(release, name):
    labels = (release.folder / "winogrande" / f"{name}-labels.lst").read_text().split()
    assert labels == [str(p.answer + 1) for p in release.contents.files[name]]


def test_rows_of_the_test_have_text_candidates_and_pronoun_and_nothing_else(release):
    rows = read_rows(release.folder / "winogrande" / "test.jsonl")
    for row in rows:
        assert row.keys() <= {"qID", "sentence", "option1", "option2", "pronoun"}
    assert set().union(*rows) == {"qID", "sentence", "option1", "option2", "pronoun"}
    assert [row["qID"] for row in rows] == [p.id for p in release.contents.files["test"]]


def test_hidden_labels_are_those_of_the_test_in_its_order(release):
    hidden = read_hidden(release.folder, release.hidden)
    test = release.contents.files["test"]
    assert list(hidden.answers) == [p.answer for p in test]
    assert list(hidden.groups) == [p.group for p in test]


def test_no_public_file_tells_which_test_problems_are_twins(release):
    quoted_groups = {f'"{p.group}'.encode() for p in release.contents.files["test"]}
    for name, content in contents_of(release.folder).items():
        assert not any(group in content for group in quoted_groups), name


def test_the_hash_of_the_test_is_that_of_what_is_public(release):
    """Were the answers in it, those of a short test could be guessed until the hash fits."""
    public_test = (release.folder / "winogrande" / "test.jsonl").read_bytes()
    content_hashes = read_manifest(release.folder)["content_hashes"]
    assert content_hashes["test"] == hashlib.sha256(public_test).hexdigest()


def test_the_manifest_says_what_is_needed_to_make_it_again(release):
    manifest = read_manifest(release.folder)
    problem_counts = {name: len(data) for name, data in release.contents.files.items()}
    assert (manifest["name"], manifest["version"], manifest["seed"]) == ("open-wino", "1.0", 0)
    assert manifest["formalization"] == {"fine_tuned": "mc-mlm", "causal": "partial"}
    assert manifest["counts"] == problem_counts
    assert manifest["sizes"] == {"m": 20, "l": 80, "xl": 322}
    assert manifest["settings"]["split"] == "random"


def test_lineage_has_a_row_for_every_problem_all_added(release):
    rows = read_rows(release.folder / "lineage.jsonl")
    ids = [row["id"] for row in rows]
    assert {row["id"]: row["split"] for row in rows} == release.contents.where
    assert {row["status"] for row in rows} == {"added"}
    assert ids == sorted(ids)


@pytest.mark.parametrize("name", ["dev", "test", "train_xl"])
def test_answers_are_not_given_away(release, name):
    assert not [leak for leak in find_leaks(release.contents.files[name]) if leak.found]


def test_a_folder_of_anything_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(BadInput, match="not empty, and no release"):
        write_release("open", tmp_path, settings=NAMED)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_earlier_release_gives_way_and_what_others_put_there_stays(release, tmp_path):
    folder = tmp_path / "open"
    shutil.copytree(release.folder, folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref")
    write_release("open", folder, settings=ReleaseSettings(name="renamed", licence="CC0-1.0"))
    files = contents_of(folder)
    assert "lm_eval/renamed.yaml" in files
    assert "lm_eval/open_wino.yaml" not in files
    assert ".git/HEAD" in files
    assert warnings_of(folder) == []


def test_a_release_that_gives_way_takes_nothing_outside_its_folder_along(release, tmp_path):
    folder = tmp_path / "open"
    precious = tmp_path / "precious"
    shutil.copytree(release.folder, folder)
    precious.write_text("mine")
    manifest = read_manifest(folder)
    manifest["files"] |= {"../precious": {}, str(precious): {}, "winogrande": {}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    write_release("open", folder, settings=NAMED)
    assert precious.read_text() == "mine"


def test_hidden_answers_never_go_into_the_release(tmp_path):
    folder = tmp_path / "out"
    extras = ReleaseExtras(hidden=folder / "labels")
    with pytest.raises(BadInput, match="would be published"):
        write_release("open", folder, settings=NAMED, extras=extras)
    assert not folder.exists()


def test_hidden_answers_of_another_release_are_not_lost(release, tmp_path):
    hidden = shutil.copytree(release.hidden, tmp_path / "safe")
    extras = ReleaseExtras(hidden=hidden)
    files = contents_of(hidden)
    other = ReleaseSettings(name="open-wino", licence="CC0-1.0", seed=7, version="1.1")
    with pytest.raises(BadInput, match=r"has the answers of another release \(open-wino 1.0\)"):
        write_release("open", tmp_path / "out", settings=other, extras=extras)
    assert contents_of(hidden) == files
    assert not (tmp_path / "out").exists()
    write_release("open", tmp_path / "out", settings=NAMED, extras=extras)
    assert contents_of(hidden) == files


def test_hidden_answers_go_with_the_release_that_is_replaced(tmp_path):
    folder = tmp_path / "out"
    for seed in (1, 2):
        write_release("open", folder, settings=ReleaseSettings(name="open-wino", seed=seed))
    assert warnings_of(folder) == []


@pytest.mark.parametrize(
    ("hidden", "reason"),
    [("notes", "not empty, and has no hidden labels"), ("notes/labels.jsonl", "a file; hidden")],
)
def test_hidden_answers_do_not_mix_with_other_files(tmp_path, hidden, reason):
    notes = tmp_path / "notes" / "labels.jsonl"
    notes.parent.mkdir()
    notes.write_text("mine")
    extras = ReleaseExtras(hidden=tmp_path / hidden)
    with pytest.raises(BadInput, match=reason):
        write_release("open", tmp_path / "out", settings=NAMED, extras=extras)
    assert notes.read_text() == "mine"


def test_a_release_without_a_test_is_as_it_should_be(tmp_path):
    release = write_release("open", tmp_path / "out", settings=ReleaseSettings(name="open-wino", test=0))
    assert warnings_of(release.folder) == []


def test_files_that_cannot_be_read_are_findings(release, tmp_path):
    folder = shutil.copytree(release.folder, tmp_path / "out")
    table = next(folder.rglob("*.parquet"))
    table.write_text("cut short")
    (folder / "lineage.jsonl").write_text("[1")
    findings = verify(folder).findings
    unreadable_files = {finding.dataset for finding in findings if "cannot be read" in finding.message}
    assert unreadable_files == {table.relative_to(folder).as_posix(), "lineage.jsonl"}


def test_an_unnamed_dataset_needs_a_name(twins, tmp_path):
    with pytest.raises(BadInput, match="--name"):
        write_release(Dataset(twins, Card("9 lives")), tmp_path / "out")


@pytest.fixture(scope="module")
def filtered(tmp_path_factory):
    """A folder of winokit debias, with some twins apart."""
    folder = tmp_path_factory.mktemp("filtered") / "debias"
    debias("open", "random", size=300, seed=3, compare=(), assess=False, out=folder)
    return folder


@pytest.fixture(scope="module")
def filtered_release(filtered, tmp_path_factory):
    return write_release(filtered, tmp_path_factory.mktemp("filtered release") / "out", settings=NAMED)


def test_a_folder_of_debias_gives_kept_and_removed_problems(filtered_release):
    contents = filtered_release.contents
    rows = read_rows(filtered_release.folder / "winogrande" / "train_xl.jsonl")
    assert len(contents.kept) == 300
    assert {contents.status(p) for p in contents.files["train_xl"]} == {"kept", "removed"}
    assert {row["status"] for row in rows} == {"kept", "removed"}
    assert "random: 300 of 428 problems kept" in (filtered_release.folder / "README.md").read_text()
    assert warnings_of(filtered_release.folder) == []


def test_twins_of_a_folder_of_debias_are_found_again(filtered_release):
    contents = filtered_release.contents
    assert all(len(members) == 2 for members in contents.files["train_xl"].groups.values())
    for members in load("open").groups.values():
        splits = {contents.where[p.id] for p in members if p.id in contents.where}
        assert len(splits) <= 1
    assert sum(contents.left_out.values()) == 428 - len(contents.where)


def test_the_manifest_counts_complete_groups(filtered_release):
    group_sizes = Counter(p.group for p in filtered_release.contents.files["train_debiased"])
    pair_count = list(group_sizes.values()).count(2)
    group_counts = read_manifest(filtered_release.folder)["groups"]
    assert group_counts["train_debiased"] == pair_count < len(group_sizes)


def test_kept_and_removed_may_be_named_one_by_one(filtered, filtered_release, tmp_path):
    kept_file = filtered / "kept.jsonl"
    removed_file = filtered / "removed.jsonl"
    secret = ReleaseExtras(secret=read_secret(filtered_release.hidden / "secret"))
    release = write_release(kept_file, tmp_path / "two", removed=removed_file, settings=NAMED, extras=secret)
    assert release.contents.files == filtered_release.contents.files


def test_twins_that_only_their_group_s_name_tells_stay_together(tmp_path):
    problems = []
    for number, problem in enumerate(load("open")):
        candidates = (f"{problem.candidates[0]} {number}", f"the {number}")
        problems.append(problem.replace(before=f"{number} {problem.before}", candidates=candidates))
    write(Dataset(problems[::2], Card("kept")), tmp_path / "kept.jsonl")
    write(Dataset(problems[1::2], Card("removed")), tmp_path / "removed.jsonl")
    inputs = read_inputs(tmp_path / "kept.jsonl", tmp_path / "removed.jsonl")
    assert len(inputs.problems.groups) == 214
    assert len(inputs.kept) == 214


def test_removed_may_be_everything_there_was_before_filtering(tmp_path):
    data = load("open")
    without_groups = Dataset([p.replace(group=None) for p in data], data.card)
    kept = Dataset(without_groups.problems[::3], data.card)
    inputs = read_inputs(kept, without_groups)
    assert len(inputs.problems) == 428
    assert inputs.kept == {p.id for p in kept}
    assert len(inputs.problems.groups) == 214
    assert "143 of the 428 removed problems are among the kept" in inputs.problems.notes[-1]


def test_source_ids_that_tell_the_answer_are_left_behind(tmp_path):
    problems = [p.replace(provenance={"qID": f"{p.id}-{p.answer + 1}"}) for p in load("open")]
    release = write_release(Dataset(problems, Card("told")), tmp_path / "out", settings=NAMED, extras=KEY)
    assert not any(release.facts.leaks.values())
    for data in release.contents.files.values():
        assert not any(p.provenance for p in data)


def test_a_folder_that_is_not_one_of_debias_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"there is no kept\.jsonl"):
        write_release(tmp_path, tmp_path / "out", settings=NAMED)


def test_a_row_says_everything_a_problem_knows(twins):
    with_every_field = twins[0].replace(domain="physical", labels={"anchor": "jug"}, occurrence=2)
    for problem in (*twins, with_every_field):
        assert problem_of(row_of(problem)) == problem


@pytest.mark.slow
def test_winogrande_goes_through_and_comes_back(real_file, tmp_path):
    train = real_file("winogrande/train_xl.jsonl").read_bytes()
    dev = real_file("winogrande/dev.jsonl").read_bytes()
    path = tmp_path / "both.jsonl"
    path.write_bytes(train + dev)
    data = load(f"winogrande:{path}")
    settings = ReleaseSettings(name="wg", licence="CC BY")
    release = write_release(f"winogrande:{path}", tmp_path / "out", settings=settings)
    contents = release.contents
    assert_same_answers(problems_by_id(contents.files), {p.id: p for p in data})
    assert len(data.groups) == 20199 + 284
    for members in data.groups.values():
        splits = {contents.where[p.id] for p in members}
        assert len(splits) == 1
    ids_of_sizes = [[p.id for p in training_set] for training_set in contents.sizes.values()]
    assert len(ids_of_sizes) == 5
    for small_ids, large_ids in pairwise(ids_of_sizes):
        assert large_ids[: len(small_ids)] == small_ids
    for crossing in release.facts.crossings:
        assert not crossing.repeated
        assert not crossing.groups
    assert warnings_of(release.folder) == []
    for name, problems in contents.files.items():
        loaded = load(release.folder / "winogrande" / f"{name}.jsonl")
        assert [p.id for p in loaded] == [p.id for p in problems]


def test_one_language_of_a_file_can_be_released(real_file):
    """Once this ended in a traceback."""
    path = real_file("xwinograd/dataset.tsv")
    inputs = read_inputs(path, loading=Loading(language="ru"))
    assert inputs.problems.languages == ("ru",)
    assert len(inputs.problems) == 315
