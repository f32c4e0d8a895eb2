"""The texts of a side in a folder: for people to read, and for later comparisons to reuse."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from .commands import Command, FrozenError, definition_digest
from .outputs import Texts
from .servers import TESTS

TOOL = Path(__file__).parent
ABOUT = "about.json"
DEFINITION = "definition"
PRINTED = ("exit", "stdout", "stderr", "removed")


def tool_digest() -> str:
    """Digest of the files of this tool that decide the texts: outputs of another version do not count."""
    paths = [TOOL / f"{name}.py" for name in ("sides", "outputs", "inputs", "servers")]
    paths += [TESTS / "support" / f"{name}.py" for name in ("servers", "tiny", "tiny_causal")]
    for folder in ("steady", "files"):
        paths += [path for path in (TOOL / folder).rglob("*") if path.is_file()]
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.suffix != ".pyc":
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def store_texts(folder: Path, commit: str, commands: Mapping[str, Command], texts: Mapping[str, Texts]) -> None:
    """Write the texts of commands into a folder, and keep those of other commands.

    All texts are removed first if they are of another commit or another version of this tool.
    """
    folder.mkdir(parents=True, exist_ok=True)
    about = {"commit": commit, "tool": tool_digest()}
    if _read_about(folder) not in (None, about):
        shutil.rmtree(folder)
        folder.mkdir()
    (folder / ABOUT).write_text(json.dumps(about) + "\n", "utf-8")
    for name, files in texts.items():
        shutil.rmtree(folder / name, ignore_errors=True)
        for file_name, text in files.items():
            path = _find_path(folder / name, file_name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="")
        (folder / name / DEFINITION).write_text(definition_digest(commands[name], commands), "utf-8")


def stored_texts(folder: Path, commit: str, commands: Mapping[str, Command]) -> dict[str, Texts]:
    """Read the stored texts that still count: of this commit, made by this tool, of commands as they are now.

    Raises FrozenError if the folder holds something else than stored texts.
    """
    if not folder.exists():
        return {}
    about = _read_about(folder)
    if about is None and any(folder.iterdir()):
        raise FrozenError(f"{folder}: has files, but no stored outputs; choose another folder for --stored")
    if about != {"commit": commit, "tool": tool_digest()}:
        return {}
    texts = {}
    for name, command in commands.items():
        definition = folder / name / DEFINITION
        if definition.is_file() and definition.read_text("utf-8") == definition_digest(command, commands):
            texts[name] = _read_texts(folder / name)
    return texts


def _find_path(folder: Path, file_name: str) -> Path:
    """Path of a text: printed ones are beside the folder `files`, which has the written ones."""
    return folder / file_name if file_name in PRINTED else folder / "files" / file_name


def _read_texts(folder: Path) -> Texts:
    """Read the texts of one command."""
    texts = {name: _read_exactly(folder / name) for name in PRINTED if (folder / name).is_file()}
    files = folder / "files"
    for path in files.rglob("*"):
        if path.is_file():
            texts[path.relative_to(files).as_posix()] = _read_exactly(path)
    return texts


def _read_exactly(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _read_about(folder: Path) -> dict[str, str] | None:
    """Read the commit and the tool that stored texts are of, or None if nothing is stored."""
    path = folder / ABOUT
    if not path.is_file():
        return None
    about: dict[str, str] = json.loads(path.read_text("utf-8"))
    return about
