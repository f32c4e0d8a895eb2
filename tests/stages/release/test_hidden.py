"""Hidden labels are readable by their owner alone, and only with the release they belong to."""

import json
import stat
from pathlib import Path

import pytest
from support import small

from winokit.errors import BadInput
from winokit.files import SCHEMA
from winokit.stages.release.hidden import (
    append_private,
    hidden_folder,
    label_lines,
    read_hidden,
    write_hidden,
    write_private,
)
from winokit.stages.release.manifest import manifest_hash


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1")


def test_labels_come_back_in_the_order_of_the_test(release):
    labels = read_hidden(release)
    assert list(labels.answers) == small.answers(release)
    assert labels.groups[:3] == ("g26", "g26", "g27")
    assert len(labels) == 28


def test_only_their_owner_can_read_them(release):
    folder = hidden_folder(release)
    append_private(folder / "log.jsonl", "{}")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_private_file_is_private_even_where_an_open_one_stood(tmp_path):
    path = tmp_path / "labels"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"new"


def test_the_folder_stands_beside_the_release_however_that_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert hidden_folder(Path("v1/")) == hidden_folder(tmp_path / "v1") == tmp_path / "v1.hidden"


def test_the_hash_of_the_manifest_can_bind_them(release):
    rows = [json.loads(line) for line in (hidden_folder(release) / "labels.jsonl").read_text().splitlines()]
    write_hidden(hidden_folder(release), {"manifest_sha256": manifest_hash(release)}, label_lines(rows))
    assert len(read_hidden(release)) == 28
    (release / "README.md").write_text("# other\n")
    small.remake_manifest(release)
    with pytest.raises(BadInput, match="manifest_sha256"):
        read_hidden(release)


def test_labels_of_another_version_are_refused(release, tmp_path):
    other_release = small.small_release(tmp_path / "v2", about={"version": "2.0"})
    with pytest.raises(BadInput, match=r"another release: its version is '1\.0'"):
        read_hidden(other_release, hidden_folder(release))


def test_labels_that_say_no_schema_are_read(release):
    path = hidden_folder(release) / "release.json"
    about = json.loads(path.read_text())
    labels = read_hidden(release)
    assert about.pop("schema") == SCHEMA
    path.write_text(json.dumps(about))
    assert read_hidden(release) == labels


def test_labels_in_another_order_are_refused(release):
    folder = hidden_folder(release)
    lines = (folder / "labels.jsonl").read_text().splitlines()
    (folder / "labels.jsonl").write_text("\n".join(reversed(lines)) + "\n")
    with pytest.raises(BadInput, match="labels or secret are not those that"):
        read_hidden(release)
    about = json.loads((folder / "release.json").read_text())
    del about["commitment"]
    (folder / "release.json").write_text(json.dumps(about))
    with pytest.raises(BadInput, match="in another order"):
        read_hidden(release)


def test_labels_of_other_problems_are_refused(release, tmp_path):
    larger = small.small_release(tmp_path / "more", tests=15)
    with pytest.raises(BadInput, match="labels of 28 problems for the 30"):
        read_hidden(larger, hidden_folder(release))


def test_missing_labels_say_who_can_grade(release):
    with pytest.raises(BadInput, match="only who made the release can grade"):
        read_hidden(release, release)


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"id": "a", "answer": "1", "group": None}, "answer"),
        ({"id": "a", "answer": True, "group": None}, "answer"),
        ({"id": "a", "answer": -1, "group": None}, "answer"),
        ({"id": "a", "answer": None, "group": None}, "answer"),
        ({"id": "", "answer": 1, "group": None}, "id"),
        ({"id": "a", "answer": 1, "group": 3}, "group"),
    ],
)
def test_rows_that_say_something_else_are_not_written(row, field):
    with pytest.raises(BadInput, match=f"field '{field}'"):
        label_lines([row])


def test_labels_must_say_whose_they_are(tmp_path):
    with pytest.raises(BadInput, match="which release"):
        write_hidden(tmp_path / "x.hidden", {}, b"")
