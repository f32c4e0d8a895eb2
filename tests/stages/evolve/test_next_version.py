import json

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.stages.evolve.run import evolve, next_version
from winokit.stages.evolve.table import as_json, lines
from winokit.stages.release.run import release
from winokit.stages.release.verify import verify

pytest.importorskip("pyarrow")
pytest.importorskip("mlcroissant")


@pytest.fixture(scope="module")
def two_versions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("versions")
    data = load("open")
    early = set(list(data.groups)[:150])
    # One secret: guesses solve a dev or a test of few groups beyond chance now and then, and retire some of them.
    first = release(data.filter(lambda p: p.group in early), out=folder / "v1", name="open-wino", secret=bytes(32))
    more = data.filter(lambda p: p.group not in early)
    return first, evolve(str(first.folder), model="random", out=str(folder / "v2"), new=more, seed=4)


def test_what_was_in_a_split_stays_there_and_new_problems_join(two_versions):
    first, second = two_versions
    where = second.contents.where
    assert all(where[name] == split for name, split in first.contents.where.items() if name in where)
    assert len(where) > len(first.contents.where)
    assert {p.id for p in second.contents.files["test"]} > {p.id for p in first.contents.files["test"]}


def test_candidates_stay_in_the_order_of_the_first_version(two_versions):
    first, second = two_versions
    order = {p.id: p.candidates for data in first.contents.files.values() for p in data}
    now = {p.id: p.candidates for data in second.contents.files.values() for p in data}
    assert all(now[name] == candidates for name, candidates in order.items() if name in now)


def test_name_and_licence_are_inherited_and_the_lineage_says_since_when(two_versions):
    _, second = two_versions
    assert (second.settings.name, second.settings.version) == ("open-wino", "2.0")
    assert second.facts.licence == "CC0-1.0"
    rows = [json.loads(line) for line in (second.folder / "lineage.jsonl").read_text().splitlines()]
    assert {(row["status"], row["since"]) for row in rows} == {("kept", "1.0"), ("added", "2.0")}
    assert {row["id"]: row["split"] for row in rows} == second.contents.where


def test_the_new_folder_is_a_release_with_a_page_on_what_changed(two_versions):
    _, second = two_versions
    assert [finding for finding in verify(second.folder).findings if finding.warns] == []
    assert second.page.read_text().count("random") > 0


def test_a_version_does_not_overwrite_the_one_before(two_versions):
    first, _ = two_versions
    with pytest.raises(BadInput, match="a new version needs another folder"):
        evolve(first.folder, out=first.folder, model=["random"], version="3.0")
    with pytest.raises(BadInput, match="must not be called"):
        evolve(first.folder, out=first.folder.with_name("v3"), model=["random"], version="1.0")


def test_removed_problems_need_those_they_were_removed_from(two_versions, tmp_path):
    with pytest.raises(BadInput, match=r"--removed: .* name those too"):
        evolve(two_versions[0].folder, out=tmp_path / "v3", model=["random"], removed="open")


def test_the_terminal_shows_what_became_of_problems_and_rounded_scores(two_versions):
    _, second = two_versions
    counts, fares, *_ = lines(second)
    assert counts.startswith("from 1.0 to 2.0: 128 are new, 300 stay")
    assert [cell.plain for cell in fares.columns[0].cells] == ["random", "random"]
    assert [cell.plain for cell in fares.columns[1].cells] == ["1.0", "2.0"]
    public = json.loads((second.folder / "evolution.json").read_text())
    told = as_json(second)
    assert told["fares"] == public["fares"]
    assert told["problems"] == public["problems"]
    assert (told["previous"], told["version"], told["page"]) == ("1.0", "2.0", str(second.page))


def test_the_command_makes_the_version_that_the_call_makes(two_versions, tmp_path):
    first, second = two_versions
    asked = ["evolve", first.folder, "--model", "random", "--out", tmp_path / "v2", "--new", "open", "--set", "seed=4"]
    told = CliRunner().invoke(app, [*map(str, asked), "--json"], catch_exceptions=False)
    assert json.loads(told.stdout)["problems"] == as_json(second)["problems"]
    assert (tmp_path / "v2" / "lineage.jsonl").read_bytes() == (second.folder / "lineage.jsonl").read_bytes()


def test_a_version_without_a_number_must_be_followed_by_a_named_one():
    assert [next_version(version) for version in ("1.0", "v3", "2026.5")] == ["2.0", "v4", "2027.0"]
    with pytest.raises(BadInput, match="--version: name the new one; 'final', the previous one, has no number"):
        next_version("final")
