"""The folder of a release: which files it has, and the manifest with the hash of each, by which anyone can compare.

`manifest.json` holds `schema`, whatever the release says about itself (name, version, licence, seed, `counts` of the
problems in each split, …) and `files`: path, sha256 and size, sorted. No dates: the same release has the same bytes.

`winogrande/*.jsonl` has a row for each problem: WinoGrande's five fields, and beside them only what they lack.

    {"qID": "g1-0f3a…", "sentence": "… because _ was full.", "option1": "the jug", "option2": "the cup", "answer": "2"}

The qID names the group and ends in the public id, never in the answer. `pronoun`, `domain` and `labels` are written
where they are known, `status` says kept or removed in training files. A row of the test has the text, the candidates
and the pronoun and nothing else: no answer, no group, no labels, which might say more than anybody meant them to.

`lineage.jsonl` says for each problem where it stands, since when, and why it came, stayed or went: `id`, `split`
(train, dev, test, or null for one that is gone), `status`, `why`, `since` (the version it came with) and, for one that
is gone, `until` (the version it is gone from). Rows are sorted by id. They name no answers and no groups: twins have
opposite answers, so that a group tells half of each.
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
"""Every file of problems a release may have; small ones have fewer sizes."""
PASSED_OVER = frozenset({"__pycache__", ".git", ".gitattributes", ".cache", ".DS_Store"})
"""What Python, Git, the Hub's client and Finder leave in a folder that is merely used."""


def problems_path(name: str) -> str:
    """Path of a file of problems (train_xs, …, dev, test) within a release."""
    return f"winogrande/{name}.jsonl"


def write_manifest(folder: Path, about: dict[str, Any]) -> None:
    """Write manifest.json: what `about` says, and the sha256 and size of every other file in the folder.

    Parameters
    ----------
    folder
        A release with everything in it but its manifest.
    about
        JSON-ready values. `counts`, where given, maps the name of each file under winogrande/ (train_xs, dev, test …)
        to its number of problems, and `verify` holds the files to it.
    """
    taken = {"schema", "files"} & set(about)
    if taken:
        raise BadInput(f"{folder / MANIFEST}: {' and '.join(sorted(taken))} are the manifest's own")
    files = {name: described(folder / name) for name in file_names(folder)}
    write_whole(folder / MANIFEST, json_bytes({"schema": SCHEMA, **about, "files": files}, allow_nan=False))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a release. Refuses any other folder."""
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
    """The sha256 of manifest.json: one number for a whole release."""
    read_manifest(folder)
    return str(described(folder / MANIFEST)["sha256"])


def content_hash(hashes: Mapping[str, str]) -> str:
    """One hash for the files of problems, by their hashes in the order of `FILES`."""
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()


def file_names(folder: Path) -> list[str]:
    """Every file of a release but its manifest, as sorted paths with forward slashes."""
    files = (path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    inside = (path.relative_to(folder) for path in files)
    names = {path.as_posix() for path in inside if not PASSED_OVER.intersection(path.parts)}
    return sorted(names - {MANIFEST})


def described(path: Path) -> dict[str, Any]:
    """Hash and size of a file."""
    with refused(path, "read"), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return {"sha256": digest.hexdigest(), "bytes": file.tell()}


LINEAGE = "lineage.jsonl"
ADDED = "added"
KEPT = "kept"
REMOVED = "removed"
RETIRED = "retired"
"""New in this version; here before; filtered out of the evaluation and left for training; gone for good."""
STATUSES = (ADDED, KEPT, REMOVED, RETIRED)
SPLITS = (TRAIN, DEV, TEST)
Row = dict[str, Any]


def row_of(problem: Problem, status: str | None = None) -> dict[str, Any]:
    """The row of a problem of which everything may be known."""
    row = winogrande.render(problem, WriteOptions())
    labels = dict(problem.labels) or None
    extra_fields = {"pronoun": problem.pronoun, "domain": problem.domain, "labels": labels, "status": status}
    return row | {key: value for key, value in extra_fields.items() if value is not None}


def hidden_row_of(problem: Problem) -> dict[str, Any]:
    """The row of a problem whose answer is hidden."""
    return row_of(problem.replace(answer=None, group=None, domain=None, labels={}, provenance={}))


def problem_of(row: Mapping[str, Any]) -> Problem:
    """The problem of a row, with everything the row says of it."""
    problem = winogrande.parse(row)
    occurrence = str(row.get("qID") or "").rpartition("-")[2].partition(".")[2]
    return problem.replace(
        pronoun=fields.optional(row, "pronoun"),
        domain=fields.optional(row, "domain"),
        labels=fields.mapping(row, "labels"),
        provenance={},
        occurrence=int(occurrence) if occurrence.isdigit() else 1,
    )


def read_release(folder: Path) -> dict[str, Dataset]:
    """The problems of each file that a release has, by name: train_xs, …, train_debiased, dev, test."""
    names = [name for name in FILES if (folder / problems_path(name)).is_file()]
    if not names:
        raise BadInput(f"{folder}: no release there ({problems_path('*')} is missing)")
    return {name: read_problems(folder, name) for name in names}


def read_problems(folder: Path, name: str) -> Dataset:
    """The problems of one file of a release: train_xs, …, train_debiased, dev or test."""
    source = Source(folder / problems_path(name))
    problems = source.each(source.json_lines(), problem_of)
    return Dataset(lone_groups_dropped(problems), Card(f"{folder.name}/{name}"))


def lineage_row(name: str, split: str | None, status: str, why: str, since: str, until: str | None = None) -> Row:
    """A row of a lineage."""
    row: Row = {"id": name, "split": split, "status": status, "why": why, "since": since}
    return row if until is None else {**row, "until": until}


def write_lineage(path: Path, rows: Iterable[Row]) -> None:
    """Write the rows of a lineage, sorted by id."""
    lines = (json.dumps(row, ensure_ascii=False) for row in sorted(rows, key=lambda row: str(row["id"])))
    write_whole(path, "".join(f"{line}\n" for line in lines).encode())


def read_lineage(path: Path) -> list[Row]:
    """Read the rows of a lineage. The caller fills in a missing `since`."""
    return [_check_row(row, str(path), line) for line, row in Source(path).json_lines()]


def _check_row(row: Row, file: str, line: int) -> Row:
    if not isinstance(row.get("id"), str):
        raise Malformed("expected an object with an id", file=file, line=line)
    if row.get("split") not in (None, *SPLITS):
        raise Malformed(f"expected {', '.join(SPLITS)} or null", field="split", file=file, line=line)
    if not isinstance(row.get("status"), str):
        raise Malformed("expected a word", field="status", file=file, line=line)
    return {"why": "", "split": None, **row}
