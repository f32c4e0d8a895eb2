"""The folder of a release: which files it has, and the manifest with the hash of each, by which anyone can compare.

`manifest.json` holds `schema`, whatever the release says about itself (name, version, licence, seed, `counts` of the
problems in each split, …) and `files`: path, sha256 and size, sorted. No dates: the same release has the same bytes.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from winokit.errors import BadInput
from winokit.files import json_bytes, read_object, write_whole

MANIFEST = "manifest.json"
SCHEMA = 1
SIZES = ("xs", "s", "m", "l", "xl")
TRAIN, DEV, TEST, DEBIASED = "train", "dev", "test", "train_debiased"
TRAINS = tuple(f"train_{size}" for size in SIZES)
FILES = (*TRAINS, DEBIASED, DEV, TEST)
"""Every file of problems a release may have; small ones have fewer sizes."""
PASSED_OVER = frozenset({"__pycache__", ".git", ".gitattributes", ".cache", ".DS_Store"})
"""What Python, Git, the Hub's client and Finder leave in a folder that is merely used."""


def problems_path(name: str) -> str:
    """Where the problems of a file (train_xs, …, dev, test) stand inside a release."""
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
    """The manifest of a release; refuses a folder that is none."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder")
    if not path.is_file():
        raise BadInput(f"{folder}: no {MANIFEST} in it; a folder that winokit release wrote is expected")
    content = read_object(path)
    if not isinstance(content.get("files"), dict):
        raise BadInput(f"{path}: an object with schema and files expected, as winokit release writes it")
    if content.get("schema") != SCHEMA:
        raise BadInput(f"{path}: schema {content.get('schema')!r} is not {SCHEMA}: made by another version of winokit")
    return content


def manifest_hash(folder: Path) -> str:
    """The sha256 of manifest.json: one number for a whole release."""
    read_manifest(folder)
    return str(described(folder / MANIFEST)["sha256"])


def file_names(folder: Path) -> list[str]:
    """Every file of a release but its manifest, as sorted paths with forward slashes."""
    files = (path for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    inside = (path.relative_to(folder) for path in files)
    names = {path.as_posix() for path in inside if not PASSED_OVER.intersection(path.parts)}
    return sorted(names - {MANIFEST})


def described(path: Path) -> dict[str, Any]:
    """Hash and size of a file."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            return {"sha256": digest.hexdigest(), "bytes": file.tell()}
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror or error})") from None
