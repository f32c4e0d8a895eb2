"""The manifest tells whether files were changed, and verify whether they are as a release must be."""

import json
import shutil
from pathlib import Path

import pytest
from support import small

from winokit.data.checks.checkup import Finding
from winokit.errors import BadInput
from winokit.stages.release.manifest import (
    FILES,
    MANIFEST,
    content_hash,
    described,
    file_names,
    read_manifest,
    write_manifest,
)
from winokit.stages.release.verify import verify


@pytest.fixture
def release(tmp_path) -> Path:
    return small.small_release(tmp_path / "v1")


def rows(release: Path, name: str) -> list[dict]:
    path = release / "winogrande" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewrite(release: Path, name: str, rows: list[dict]) -> None:
    """Put other rows into a file, its labels too, and let the manifest agree."""
    folder = release / "winogrande"
    small.write_lines(folder / f"{name}.jsonl", rows)
    if name != "test":
        labels = "".join(f"{row['answer']}\n" for row in rows)
        (folder / f"{name}-labels.lst").write_text(labels)
    small.remake_manifest(release)


def warnings_of(release: Path, hidden: Path | None = None) -> list[Finding]:
    return [finding for finding in verify(release, hidden=hidden).findings if finding.warns]


def complaints(release: Path) -> set[str]:
    """Names of the checks that warn of something."""
    return {finding.check for finding in warnings_of(release)}


def test_a_release_as_it_was_made_has_no_finding(release):
    assert warnings_of(release) == []


def test_two_manifests_of_the_same_files_have_the_same_bytes(release):
    before = (release / MANIFEST).read_bytes()
    small.remake_manifest(release)
    assert (release / MANIFEST).read_bytes() == before


def test_the_manifest_lists_every_other_file_sorted(release):
    listed = list(read_manifest(release)["files"])
    assert listed == sorted(listed)
    assert MANIFEST not in listed
    assert {"README.md", "winogrande/test.jsonl"} <= set(listed)


def test_what_python_and_git_leave_behind_is_no_part_of_a_release(release):
    (release / "lm_eval" / "__pycache__").mkdir(parents=True)
    (release / "lm_eval" / "__pycache__" / "utils.pyc").write_bytes(b"x")
    (release / ".git").mkdir()
    (release / ".git" / "HEAD").write_text("ref")
    assert complaints(release) == set()


def test_about_may_not_take_the_manifests_own_words(tmp_path):
    with pytest.raises(BadInput, match="files are the manifest's own"):
        write_manifest(tmp_path, {"files": {}})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda folder: (folder / "README.md").unlink(), "missing"),
        (lambda folder: (folder / "README.md").write_text("# Small\n"), "the same size"),
        (lambda folder: (folder / "README.md").write_text("# another\n"), "10 bytes, the manifest has 8"),
        (lambda folder: (folder / "more.txt").write_text("x"), "extra"),
        (lambda folder: (folder / "link.md").symlink_to(folder / "README.md"), "extra"),
    ],
)
def test_a_missing_changed_or_extra_file_is_found(release, change, reason):
    change(release)
    (finding,) = [finding for finding in verify(release).findings if finding.check == "files"]
    assert reason in finding.message


def test_a_file_that_became_a_link_is_found(release, tmp_path):
    shutil.move(release / "README.md", tmp_path / "README.md")
    (release / "README.md").symlink_to(tmp_path / "README.md")
    assert complaints(release) == {"files"}


def test_a_problem_in_two_splits_is_found(release):
    rewrite(release, "dev", [*rows(release, "dev"), rows(release, "train_xs")[0]])
    assert {"splits", "twins"} <= complaints(release)


def test_twins_that_cross_splits_are_found(release):
    train = rows(release, "train_debiased")
    dev = rows(release, "dev")
    for name in ("train_debiased", "train_xl"):
        rewrite(release, name, [*train, dev[0]])
    rewrite(release, "dev", dev[1:])
    assert "twins" in complaints(release)


def test_twins_that_cross_splits_are_found_by_their_texts_where_no_group_is_named(release):
    train = rows(release, "train_debiased")
    dev = rows(release, "dev")
    alone = [row | {"qID": row["qID"].rpartition("-")[2]} for row in dev]
    for name in ("train_debiased", "train_xl"):
        rewrite(release, name, [*train, alone[0]])
    rewrite(release, "dev", alone[1:])
    assert "twins" in complaints(release)


def test_a_size_that_is_not_inside_the_next_is_found(release):
    rewrite(release, "train_s", rows(release, "train_s")[2:])
    assert "sizes" in complaints(release)


def test_a_size_that_cuts_a_group_in_two_is_found(release):
    rewrite(release, "train_xs", rows(release, "train_xs")[:1])
    assert "sizes" in complaints(release)


def test_an_id_that_is_not_that_of_its_text_is_found(release):
    first, *later_rows = rows(release, "dev")
    rewrite(release, "dev", [first | {"sentence": first["sentence"] + " Truly."}, *later_rows])
    assert "ids" in complaints(release)


def test_an_id_that_ends_in_the_answer_is_found(release):
    test = rows(release, "test")
    for number, row in enumerate(test):
        group = number // 2
        label = number % 2 + 1
        row["qID"] = f"g{group}-{label}"
    rewrite(release, "test", test)
    assert "ids" in complaints(release)


def test_an_answer_in_the_test_file_is_found(release):
    first, *later_rows = rows(release, "test")
    rewrite(release, "test", [first | {"answer": "1"}, *later_rows])
    assert "answers" in complaints(release)


def test_a_label_list_of_the_test_is_found(release):
    (release / "winogrande" / "test-labels.lst").write_text("1\n" * 28)
    small.remake_manifest(release)
    assert "answers" in complaints(release)


def test_a_test_answer_in_any_other_file_is_found(release):
    name = rows(release, "test")[3]["qID"]
    small.write_lines(release / "inspect" / "samples.jsonl", [{"id": name, "target": "Bea"}])
    small.remake_manifest(release)
    assert "answers" in complaints(release)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("answers.json", lambda ids: json.dumps({"rows": [{"id": name, "answer": 0} for name in ids]})),
        ("answers.json", lambda ids: json.dumps(dict.fromkeys(ids, 1))),
        ("notes.jsonl", lambda ids: "".join(json.dumps({"id": name, "solution": "1"}) + "\n" for name in ids)),
        ("winogrande/labels_of_test.lst", lambda ids: "1\n" * len(ids)),
    ],
)
def test_test_answers_inside_other_objects_by_id_or_in_a_list_of_another_name_are_found(release, name, content):
    (release / name).write_text(content([row["qID"] for row in rows(release, "test")]))
    small.remake_manifest(release)
    assert complaints(release) == {"answers"}


def test_problems_that_are_not_those_of_the_content_hash_are_found(release):
    files = {name: release / "winogrande" / f"{name}.jsonl" for name in FILES}
    hashes = {name: described(path)["sha256"] for name, path in files.items() if path.is_file()}
    about = small.ABOUT | {"content_hash": content_hash(hashes)}
    small.remake_manifest(release, about)
    assert complaints(release) == set()
    dev = rows(release, "dev")
    for row in dev:
        row["answer"] = str(3 - int(row["answer"]))
    rewrite(release, "dev", dev)
    small.remake_manifest(release, about)
    assert complaints(release) == {"files"}


def test_a_folder_in_the_place_of_a_label_list_is_a_finding(release):
    (release / "winogrande" / "dev-labels.lst").unlink()
    (release / "winogrande" / "dev-labels.lst").mkdir()
    assert complaints(release) == {"files"}


@pytest.mark.parametrize("name", ["answer", "solution"])
def test_a_test_answer_in_a_parquet_table_is_found(release, name):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = [row | {name: "1"} for row in rows(release, "test")]
    (release / "data").mkdir()
    parquet.write_table(pyarrow.Table.from_pylist(table), release / "data" / "test.parquet")
    small.remake_manifest(release)
    assert "answers" in complaints(release)


def test_labels_that_are_not_the_answers_are_found(release):
    path = release / "winogrande" / "dev-labels.lst"
    path.write_text("1\n" * 20)
    small.remake_manifest(release)
    assert "counts" in complaints(release)


def test_a_count_that_differs_from_the_manifests_is_found(release):
    write_manifest(release, small.ABOUT | {"counts": {"dev": 21}})
    assert "counts" in complaints(release)


def test_a_lineage_that_places_a_problem_elsewhere_is_found(release):
    path = release / "lineage.jsonl"
    path.write_text(path.read_text().replace('"split": "dev"', '"split": "train"', 1))
    small.remake_manifest(release)
    assert "counts" in complaints(release)


def test_hidden_labels_of_another_release_are_found(release):
    other_release = small.small_release(release.with_name("other"), about={"version": "2.0"})
    (finding,) = warnings_of(release, hidden=other_release.with_name("other.hidden"))
    assert "another release" in finding.message


def test_hidden_labels_that_others_can_read_are_found(release):
    (release.with_name("v1.hidden") / "labels.jsonl").chmod(0o644)
    assert complaints(release) == {"hidden"}


def test_an_unreadable_file_is_a_finding_and_no_end(release):
    (release / "winogrande" / "dev.jsonl").write_text("not JSON\n")
    small.remake_manifest(release)
    assert "files" in complaints(release)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no manifest.json"),
        ("{", "cannot be read"),
        ("[]", "a JSON object"),
        ('{"schema": 9, "files": {}}', "schema 9"),
    ],
)
def test_a_folder_that_is_no_release_is_refused_in_one_line(release, content, reason):
    (release / MANIFEST).unlink()
    if content is not None:
        (release / MANIFEST).write_text(content)
    with pytest.raises(BadInput, match=reason):
        verify(release)


def test_names_of_files_have_forward_slashes(release):
    assert "winogrande/dev.jsonl" in file_names(release)
