"""Read files with one-line errors, and write them whole."""

import csv
import io
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from winokit.errors import BadInput, refusing

SCHEMA = 1
"""Version of the layout of files that stages write."""
PROJECT_FILE = "winokit.toml"
"""Name of the file with settings for the data in a folder, or for commands typed in it."""
OWNER_ONLY = 0o600
"""The mode of a file that nobody but its owner may read."""
BLOCK = 200
BETWEEN = "between lines"
"""Number of JSON lines that are encoded at once, and the value put between them meanwhile."""
_MODE_FOR_OTHERS = ContextVar("for_others", default=0o077)
"""Permissions of the owner's group and others on written files, as far as the umask allows."""


@contextmanager
def private() -> Iterator[None]:
    """Make new files and folders readable for their owner alone.

    It is a context manager and a decorator. The umask does not matter.
    """
    token = _MODE_FOR_OTHERS.set(0)
    try:
        yield
    finally:
        _MODE_FOR_OTHERS.reset(token)


@contextmanager
def refused(path: Path, what: str = "written") -> Iterator[None]:
    """Turn OSError about a path into BadInput, inside the context.

    `what` was tried: written, read or locked.
    """
    try:
        yield
    except OSError as error:
        raise BadInput(f"{path}: cannot be {what} ({error.strerror or error})") from None


def from_here(path: Path) -> Path:
    """Shorten a path to one relative to the current folder, if inside."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def as_file_name(name: str) -> str:
    """Replace characters that a file name should not have by `-`."""
    return re.sub(r"[^\w.-]+", "-", name)


def csv_bytes(rows: Iterable[Iterable[object]]) -> bytes:
    """Content of a csv file with these rows, the header first."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def read_text(path: Path) -> str:
    """Read a text file.

    Raises BadInput if it is missing or not UTF-8.
    """
    with refusing(f"{path}: cannot be read", OSError, UnicodeDecodeError):
        return path.read_text("utf-8")


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that has one object.

    Raises BadInput if it has anything else.
    """
    text = read_text(path)
    with refusing(f"{path}: cannot be read", ValueError, RecursionError):
        value = json.loads(text)
    if not isinstance(value, dict):
        raise BadInput(f"{path}: expected a JSON object")
    return value


def our_toml(place: str) -> dict[str, Any]:
    """Read a TOML file of the package.

    `place` is its path below the package's folder.
    """
    return tomllib.loads((files("winokit") / place).read_text("utf-8"))


def json_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """Text of JSON lines, one row each."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    rows_left = iter(rows)
    lines = list[str]()
    while block := [*islice(rows_left, BLOCK)]:  # one call per row takes half as long again
        separated: list[object] = []
        for row in block:
            separated += (row, BETWEEN)
        text = encode(separated)
        encoded_rows = f"{text[1:-1]}, ".split(f', "{BETWEEN}", ')
        if len(encoded_rows) == len(block) + 1:
            lines += encoded_rows[:-1]
        else:
            lines += map(encode, block)
    return "".join([f"{line}\n" for line in lines])


def json_lines(text: str) -> Iterator[Any]:
    r"""Parse each line of a text of JSON lines.

    Lines end at \n alone, while `str.splitlines` also splits inside a string (U+2028). Empty lines are skipped.
    """
    return (json.loads(line) for line in text.split("\n") if line)


def json_bytes(value: Any, **how: Any) -> bytes:
    """Content of an indented JSON file in UTF-8.

    `how` are arguments of `json.dumps`.
    """
    return (json.dumps(value, indent=1, ensure_ascii=False, **how) + "\n").encode()


def result_bytes(content: Mapping[str, Any], **how: Any) -> bytes:
    """Content of a JSON file of results, which begins with its schema.

    The schema tells readers of other versions how to read it.
    """
    return json_bytes({"schema": SCHEMA, **content}, **how)


def refuse_overwriting(out: Path, sources: Iterable[Path]) -> None:
    """Raise BadInput if the output path is one of the inputs."""
    if any(out.resolve() == source.resolve() for source in sources):
        raise BadInput(f"{out}: is an input, and would be overwritten; choose another name")


def check_own_folder(folder: Path, names: Iterable[str], *, ours: bool, of: str) -> None:
    """Raise BadInput if files of these names would be overwritten.

    No error if they are `ours`. Raises it, too, if the folder's path is a file. `of` names what the files would belong
    to, for the message.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: a file, but a folder is needed; choose another --out")
    for name in names:
        if not ours and (folder / name).exists():
            raise BadInput(f"{folder / name}: is not part of {of}, and would be overwritten; choose another --out")


def user_cache(name: str) -> Path:
    """Path of a file in the user's cache folder.

    If $WINOKIT_CACHE names the file of cached answers, it is in the same folder.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "winokit"
    return Path(os.environ.get("WINOKIT_CACHE") or folder / name).with_name(name)


def user_state(name: str) -> Path:
    """Path of a folder for records that cannot be made again.

    It is in $WINOKIT_STATE, else in the user's folder for the state of programs.
    """
    named_folder = os.environ.get("WINOKIT_STATE")
    if named_folder:
        return Path(named_folder) / name
    with refusing("no home folder for winokit's records; name a folder in WINOKIT_STATE", RuntimeError):
        return _find_state_folder() / "winokit" / name


def _find_state_folder() -> Path:
    """Folder in which this system's programs keep their state."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file's lock inside the context, on every system.

    Other processes that lock it wait. The file is created, for its owner alone, if it is missing; its folder must
    exist.
    """
    from filelock import FileLock

    with refused(path, "locked"):
        path.parent.stat()  # A missing folder would be made, for others to read.
        lock = FileLock(path, mode=OWNER_ONLY).acquire()
    with lock:
        yield


def write_whole(path: Path, data: bytes) -> None:
    """Write a file completely or not at all.

    It is written beside its place and then renamed. A link stays a link, and a pipe or a device is written directly.
    A missing folder is made. Raises BadInput if it cannot be written.
    """
    with refused(path):
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # /dev/stdout and /dev/null must not be replaced; a folder refuses by itself
        else:
            _replace_file(Path(os.path.realpath(path)), data)


def _replace_file(path: Path, data: bytes) -> None:
    """Write a temporary file beside a path, and rename it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(0o700 | _MODE_FOR_OTHERS.get(), parents=True, exist_ok=True)
        mode = 0o600 | (_MODE_FOR_OTHERS.get() & 0o066)
        with open(temporary, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
        temporary.replace(path)
    finally:
        with suppress(OSError):  # nothing to remove when all went well, or when a file stands in a folder's place
            temporary.unlink()
