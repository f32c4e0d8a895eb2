"""The folder of a release: its files, and the manifest with the hash of each, by which anyone can verify them.

`manifest.json` has `schema`, facts about the release (name, version, licence, seed, `counts` of the problems in each
split, …) and `files`: path, sha256 and size, sorted. It has no dates: the same release has the same bytes.

`winogrande/*.jsonl` has a row for each problem: WinoGrande's five fields, and a few more.

    {"qID": "g1-0f3a…", "sentence": "… because _ was full.", "option1": "the jug", "option2": "the cup", "answer": "2"}

The qID consists of the group and the public id, and reveals nothing about the answer. `pronoun`, `domain` and `labels`
are written if the problem has them, and `status` is kept or removed in training files. A row of the test has the text,
the candidates and the pronoun and nothing else: no answer, no group, and no labels, which might reveal it.

`lineage.jsonl` has the history of each problem: `id`, `split` (train, dev, test, or null if it is gone), `status`,
`why`, `since` (the version that added it) and, if it is gone, `until` (the first version without it). Rows are sorted
by id. They have no answers and no groups: twins have opposite answers, so that a group is half of each answer.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from winokit.data.formats import fields, winogrande
from winokit.data.formats.base import WriteOptions, lone_groups_dropped
from winokit.data.formats.source import Source
from winokit.errors import BadInput, Malformed
from winokit.files import json_bytes, read_object, refused, write_whole
from winokit.problem import Card, Dataset, Problem

MANIFEST = "manifest.json"
SCHEMA = 1
SIZES = ("xs", "s", "m", "l", "xl")
TRAIN = "train"
DEV = "dev"
TEST = "test"
DEBIASED = "train_debiased"
TRAINS = tuple(f"train_{size}" for size in SIZES)
FILES = (*TRAINS, DEBIASED, DEV, TEST)
"""The names of all files of problems. A small release has fewer training sizes."""
PASSED_OVER = frozenset({"__pycache__", ".git", ".gitattributes", ".cache", ".DS_Store"})
"""Names that are not part of a release: Python, Git, the Hub's client and Finder make them when a folder is used."""


def problems_path(name: str) -> str:
    """Return the path of a file of problems within a release.

    `name` is train_xs, …, train_debiased, dev or test.
    """
    return f"winogrande/{name}.jsonl"


def write_manifest(folder: Path, about: dict[str, Any]) -> None:
    """Write manifest.json, with hash and size of every other file.

    Parameters
    ----------
    folder
        A release that is complete except for its manifest.
    about
        Facts about the release, as JSON-ready values. `counts`, if given, maps the name of each file under winogrande/
        (train_xs, dev, test …) to its number of problems, and `verify` compares the files with it. `schema` and
        `files` raise BadInput.
    """
    reserved_keys = {"schema", "files"} & set(about)
    if reserved_keys:
        raise BadInput(f"{folder / MANIFEST}: {' and '.join(sorted(reserved_keys))} are the manifest's own")
    files = {name: described(folder / name) for name in file_names(folder)}
    content = {"schema": SCHEMA, **about, "files": files}
    write_whole(folder / MANIFEST, json_bytes(content, allow_nan=False))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a release.

    Raises BadInput if the folder is no release, or one of another version of winokit.
    """
    path = folder / MANIFEST
    if not folder.exists():
        raise BadInput(f"{folder}: no such folder")
    if not path.is_file():
        raise BadInput(f"{folder}: expected a folder that winokit release wrote, found no {MANIFEST} in it")
    content = read_object(path)
    if not isinstance(content.get("files"), dict):
        raise BadInput(f"{path}: expected an object with schema and files, as winokit release writes it")
    if content.get("schema") != SCHEMA:
        raise BadInput(f"{path}: schema {content.get('schema')!r} is not {SCHEMA}: made by another version of winokit")
    return content


def manifest_hash(folder: Path) -> str:
    """Return the sha256 of manifest.json, which identifies a whole release."""
    read_manifest(folder)
    return str(described(folder / MANIFEST)["sha256"])


def content_hash(hashes: Mapping[str, str]) -> str:
    """Return one hash for all files of problems.

    `hashes` has the sha256 of each file by its name, in the order of `FILES`.
    """
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()


def file_names(folder: Path) -> list[str]:
    """Return the sorted paths of a release's files, without the manifest.

    They are relative, with forward slashes.
    """
    names = set()
    for path in folder.rglob("*"):
        relative_path = path.relative_to(folder)
        is_file = path.is_file() or path.is_symlink()
        if is_file and not PASSED_OVER.intersection(relative_path.parts):
            names.add(relative_path.as_posix())
    return sorted(names - {MANIFEST})


def described(path: Path) -> dict[str, Any]:
    """Return the manifest's entry for a file: sha256 and size in bytes."""
    with refused(path, "read"), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return {"sha256": digest.hexdigest(), "bytes": file.tell()}


LINEAGE = "lineage.jsonl"
ADDED = "added"
KEPT = "kept"
REMOVED = "removed"
RETIRED = "retired"
"""Status of a problem: new in this version, here before, filtered out and used for training only, or gone."""
STATUSES = (ADDED, KEPT, REMOVED, RETIRED)
SPLITS = (TRAIN, DEV, TEST)
Row = dict[str, Any]


def row_of(problem: Problem, status: str | None = None) -> dict[str, Any]:
    """Return the row of a public problem: answer, group and labels included.

    `status` is kept or removed in training files. None leaves it out.
    """
    row = winogrande.render(problem, WriteOptions())
    labels = dict(problem.labels) or None
    extra_fields = {"pronoun": problem.pronoun, "domain": problem.domain, "labels": labels, "status": status}
    return row | {key: value for key, value in extra_fields.items() if value is not None}


def hidden_row_of(problem: Problem) -> dict[str, Any]:
    """Return the row of a test problem: text, candidates and pronoun alone."""
    return row_of(problem.replace(answer=None, group=None, domain=None, labels={}, provenance={}))


def problem_of(row: Mapping[str, Any]) -> Problem:
    """Return the problem of a row in a release.

    The number at the end of the qID (`id.2`) is kept, by which exact repetitions of a problem differ.
    """
    problem = winogrande.parse(row)
    public_id = str(row.get("qID") or "").rpartition("-")[2]
    occurrence = public_id.partition(".")[2]
    return problem.replace(
        pronoun=fields.optional(row, "pronoun"),
        domain=fields.optional(row, "domain"),
        labels=fields.mapping(row, "labels"),
        provenance={},
        occurrence=int(occurrence) if occurrence.isdigit() else 1,
    )


def read_release(folder: Path) -> dict[str, Dataset]:
    """Read the problems of each file of a release.

    They are by name: train_xs, …, train_debiased, dev, test. Problems of the test have no answers. Raises BadInput if
    the folder has none of these files.
    """
    names = [name for name in FILES if (folder / problems_path(name)).is_file()]
    if not names:
        raise BadInput(f"{folder}: no release there ({problems_path('*')} is missing)")
    return {name: read_problems(folder, name) for name in names}


def read_problems(folder: Path, name: str) -> Dataset:
    """Read the problems of one file of a release.

    `name` is train_xs, …, train_debiased, dev or test. A problem without twins in the same file has no group.
    """
    source = Source(folder / problems_path(name))
    problems = source.each(source.json_lines(), problem_of)
    return Dataset(lone_groups_dropped(problems), Card(f"{folder.name}/{name}"))


def lineage_row(name: str, split: str | None, status: str, why: str, since: str, until: str | None = None) -> Row:
    """Return a row of a lineage.

    Parameters
    ----------
    name
        The public id of the problem.
    split
        train, dev or test; None if the problem is gone.
    status
        added, kept, removed or retired.
    why
        The reason for the status.
    since
        The version that added the problem.
    until
        The first version without it; None if it is in the release.
    """
    row: Row = {"id": name, "split": split, "status": status, "why": why, "since": since}
    return row if until is None else {**row, "until": until}


def write_lineage(path: Path, rows: Iterable[Row]) -> None:
    """Write the rows of a lineage, sorted by id."""
    lines = (json.dumps(row, ensure_ascii=False) for row in sorted(rows, key=lambda row: str(row["id"])))
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())


def read_lineage(path: Path) -> list[Row]:
    """Read the rows of a lineage.

    A missing `why` or `split` is filled in, a missing `since` is not. Raises Malformed if a value is not of its type.
    """
    return [_check_lineage_row(row, str(path), line) for line, row in Source(path).json_lines()]


def _check_lineage_row(row: Row, file: str, line: int) -> Row:
    """Return a row of a lineage with `why` and `split` filled in.

    Raises Malformed if a value is not of its type.
    """
    if not isinstance(row.get("id"), str):
        raise Malformed("expected an object with an id", file=file, line=line)
    if row.get("split") not in (None, *SPLITS):
        raise Malformed(f"expected {', '.join(SPLITS)} or null", field="split", file=file, line=line)
    if not isinstance(row.get("status"), str):
        raise Malformed("expected a word", field="status", file=file, line=line)
    return {"why": "", "split": None, **row}
