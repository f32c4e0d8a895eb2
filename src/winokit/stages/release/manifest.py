"""The manifest of a release: the hash of every file in it, so that anyone can tell whether theirs is the same.

`manifest.json` holds `schema`, whatever the release says about itself (name, version, licence, seed, `counts` of the
problems in each split, …) and `files`: path, sha256 and size, sorted. No dates: the same release has the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winokit.errors import BadInput
from winokit.files import write_whole

if TYPE_CHECKING:
    from winokit.data.checks.checkup import Finding

MANIFEST = "manifest.json"
SCHEMA = 1
PASSED_OVER = frozenset({"__pycache__", ".git", ".gitattributes", ".cache", ".DS_Store"})
"""What Python, Git, the Hub's client and Finder leave in a folder that is merely used."""
READ_AT_ONCE = 1 << 20


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
    content = {"schema": SCHEMA, **about, "files": files}
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(folder / MANIFEST, (text + "\n").encode())


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a release; refuses a folder that is none."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder")
    if not path.is_file():
        raise BadInput(f"{folder}: no {MANIFEST} in it; a folder that winokit release wrote is expected")
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None
    if not isinstance(content, dict) or not isinstance(content.get("files"), dict):
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
    return sorted(name for name in _names(folder) if name != MANIFEST)


def _names(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if not PASSED_OVER.intersection(inside.parts) and (path.is_file() or path.is_symlink()):
            yield inside.as_posix()


def described(path: Path) -> dict[str, Any]:
    """Hash and size of a file."""
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while block := file.read(READ_AT_ONCE):
                digest.update(block)
                size += len(block)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror or error})") from None
    return {"sha256": digest.hexdigest(), "bytes": size}


def changed_files(folder: Path) -> list[Finding]:
    """Files that are missing, changed or not the manifest's."""
    # Imported here, as below: checks read problems, which to write a manifest or to grade need not.
    from winokit.data.checks.checkup import Finding

    said: dict[str, Any] = read_manifest(folder)["files"]
    found = []
    present = set(file_names(folder))
    for name in sorted(said.keys() - present):
        found.append(Finding(name, "files", True, "missing: the manifest has it, the folder has not", 1))
    for name in sorted(present - said.keys()):
        found.append(Finding(name, "files", True, "extra: the folder has it, the manifest has not", 1))
    for name in sorted(present & said.keys()):
        if (folder / name).is_symlink():
            found.append(Finding(name, "files", True, "a link: a release holds its files itself", 1))
        elif (now := described(folder / name)) != said[name]:
            found.append(Finding(name, "files", True, _difference(now, said[name]), 1))
    return found


def _difference(now: dict[str, Any], said: Any) -> str:
    if not isinstance(said, dict) or not {"sha256", "bytes"} <= said.keys():
        return "the manifest has no hash and size of it"
    if now["bytes"] != said["bytes"]:
        return f"changed: {now['bytes']:,} bytes, the manifest has {said['bytes']:,}"
    return "changed: as many bytes as the manifest has, and others"


def verify(folder: Path, hidden: Path | None = None) -> list[Finding]:
    """Everything about a release that is not as it should be, and a little that is worth knowing.

    Findings that warn are faults. Files are held to the manifest; then, whatever the manifest says, no twin may cross
    splits, sizes must be nested, test answers absent, ids those of their texts and counts the same everywhere.
    The hidden labels are looked at where they are: at `hidden`, or beside the folder.
    """
    from winokit.stages.release.manifest_checks import content_findings

    return changed_files(folder) + content_findings(folder, read_manifest(folder), hidden)
