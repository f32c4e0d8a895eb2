"""A second version made by one call: what it keeps, inherits and adds, and what it says of it."""

import json

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.stages.evolve.run import evolve, next_version
from winokit.stages.evolve.table import as_json, lines
from winokit.stages.release.manifest import read_lineage
from winokit.stages.release.run import release
from winokit.stages.release.verify import verify

pytest.importorskip("pyarrow")
pytest.importorskip("mlcroissant")


def candidates_by_id(version):
    """Candidates of each problem in any file of a release."""
    candidates = {}
    for problems in version.contents.files.values():
        for problem in problems:
            candidates[problem.id] = problem.candidates
    return candidates


def ids_in_test(version):
    return {problem.id for problem in version.contents.files["test"]}


def load_groups(early):
    """The bundled problems of the first 150 groups, or those of all others."""
    data = load("open")
    early_groups = set(list(data.groups)[:150])
    return data.filter(lambda problem: (problem.group in early_groups) == early)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A release of 150 groups."""
    # One secret: guesses solve a dev or a test of few groups beyond chance now and then, and retire some of them.
    out = tmp_path_factory.mktemp("versions") / "v1"
    return release(load_groups(early=True), out=out, name="open-wino", secret=bytes(32))


@pytest.fixture(scope="module")
def second(first):
    """The next version, with the other groups as new problems."""
    out = first.folder.with_name("v2")
    new_problems = load_groups(early=False)
    return evolve(str(first.folder), model="random", out=str(out), new=new_problems, seed=4)


def test_what_was_in_a_split_stays_there_and_new_problems_join(first, second):
    first_splits = first.contents.where
    second_splits = second.contents.where
    for problem_id in first_splits.keys() & second_splits.keys():
        assert second_splits[problem_id] == first_splits[problem_id]
    assert len(second_splits) > len(first_splits)
    assert ids_in_test(second) > ids_in_test(first)


def test_candidates_stay_in_the_order_of_the_first_version(first, second):
    first_candidates = candidates_by_id(first)
    second_candidates = candidates_by_id(second)
    for problem_id in first_candidates.keys() & second_candidates.keys():
        assert second_candidates[problem_id] == first_candidates[problem_id]


def test_name_and_licence_are_inherited(second):
    assert (second.settings.name, second.settings.version) == ("open-wino", "2.0")
    assert second.facts.licence == "CC0-1.0"


def test_the_lineage_says_since_when(second):
    rows = read_lineage(second.folder / "lineage.jsonl")
    pasts = {(row["status"], row["since"]) for row in rows}
    assert pasts == {("kept", "1.0"), ("added", "2.0")}
    assert {row["id"]: row["split"] for row in rows} == second.contents.where


def test_the_new_folder_is_a_release_with_a_page_on_what_changed(second):
    warnings = [finding for finding in verify(second.folder).findings if finding.warns]
    page = second.page.read_text()
    assert warnings == []
    assert "random" in page


def test_a_version_does_not_overwrite_the_one_before(first):
    with pytest.raises(BadInput, match="a new version needs another folder"):
        evolve(first.folder, out=first.folder, model=["random"], version="3.0")


def test_a_version_is_not_called_as_the_one_before(first):
    out = first.folder.with_name("v3")
    with pytest.raises(BadInput, match="must not be called"):
        evolve(first.folder, out=out, model=["random"], version="1.0")


def test_removed_problems_need_those_they_were_removed_from(first, tmp_path):
    with pytest.raises(BadInput, match=r"--removed: .* name those too"):
        evolve(first.folder, out=tmp_path / "v3", model=["random"], removed="open")


def test_the_terminal_shows_what_became_of_problems_and_rounded_scores(second):
    counts, fares, *_ = lines(second)
    models, versions = fares.columns[:2]
    assert counts.startswith("from 1.0 to 2.0: 128 are new, 300 stay")
    assert [cell.plain for cell in models.cells] == ["random", "random"]
    assert [cell.plain for cell in versions.cells] == ["1.0", "2.0"]


def test_json_has_the_public_record_and_the_versions(second):
    public_record = json.loads((second.folder / "evolution.json").read_text())
    summary = as_json(second)
    assert summary["fares"] == public_record["fares"]
    assert summary["problems"] == public_record["problems"]
    assert (summary["previous"], summary["version"]) == ("1.0", "2.0")
    assert summary["page"] == str(second.page)


def test_the_command_makes_the_version_that_the_call_makes(first, second, tmp_path):
    out = tmp_path / "v2"
    command = ["evolve", str(first.folder), "--model", "random", "--out", str(out), "--new", "open"]
    command += ["--set", "seed=4", "--json"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    summary = json.loads(result.stdout)
    lineage = (out / "lineage.jsonl").read_bytes()
    assert summary["problems"] == as_json(second)["problems"]
    assert lineage == (second.folder / "lineage.jsonl").read_bytes()


@pytest.mark.parametrize(("version", "next_one"), [("1.0", "2.0"), ("v3", "v4"), ("2026.5", "2027.0")])
def test_the_next_version_has_the_next_number(version, next_one):
    assert next_version(version) == next_one


def test_a_version_without_a_number_must_be_followed_by_a_named_one():
    with pytest.raises(BadInput, match="--version: name the new one; 'final', the previous one, has no number"):
        next_version("final")
