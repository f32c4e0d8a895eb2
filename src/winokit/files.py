"""Read files with errors of one line, and write them whole or not at all."""

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
"""Of the files that stages write. Another number means that one of them is to be read in another way."""
PROJECT_FILE = "winokit.toml"
"""What is said once for the data in a folder, or for commands typed in it."""
OWNER_ONLY = 0o600
"""The mode of a file that nobody but its owner may read."""
BLOCK = 200
BETWEEN = "between lines"
"""How many lines of JSON are made at once, and what is put between them meanwhile."""
_MODE_FOR_OTHERS = ContextVar("for_others", default=0o077)
"""What the owner's group and others may do with what is written, as far as the umask lets them."""


@contextmanager
def private() -> Iterator[None]:
    """Let only the owner read new files and folders, whatever the umask.

    It is a context and a decorator.
    """
    token = _MODE_FOR_OTHERS.set(0)
    try:
        yield
    finally:
        _MODE_FOR_OTHERS.reset(token)


@contextmanager
def refused(path: Path, what: str = "written") -> Iterator[None]:
    """Say in one line that a path cannot be written, read or locked.

    It turns OSError into BadInput.
    """
    try:
        yield
    except OSError as error:
        raise BadInput(f"{path}: cannot be {what} ({error.strerror or error})") from None


def from_here(path: Path) -> Path:
    """Shorten a path to how one would type it in this folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def as_file_name(name: str) -> str:
    """Turn a name into one that a file or folder can have."""
    return re.sub(r"[^\w.-]+", "-", name)


def csv_bytes(rows: Iterable[Iterable[object]]) -> bytes:
    """Write rows as the content of a csv file, the head first."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def read_text(path: Path) -> str:
    """Read the text of a file.

    Raises BadInput if it is missing or not UTF-8.
    """
    with refusing(f"{path}: cannot be read", OSError, UnicodeDecodeError):
        return path.read_text("utf-8")


def read_object(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file.

    Raises BadInput if the file has anything else.
    """
    text = read_text(path)
    with refusing(f"{path}: cannot be read", ValueError, RecursionError):
        value = json.loads(text)
    if not isinstance(value, dict):
        raise BadInput(f"{path}: expected a JSON object")
    return value


def our_toml(place: str) -> dict[str, Any]:
    """Read a TOML file of the package, by its path below winokit."""
    return tomllib.loads((files("winokit") / place).read_text("utf-8"))


def json_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as JSON lines."""
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
    r"""Values of JSON lines.

    Lines end at \n alone, while `str.splitlines` also splits inside a string (U+2028).
    """
    return (json.loads(line) for line in text.split("\n") if line)


def json_bytes(value: Any, **how: Any) -> bytes:
    """Write a value as the JSON of our files.

    It is indented, in UTF-8. `how` is for `json.dumps`.
    """
    return (json.dumps(value, indent=1, ensure_ascii=False, **how) + "\n").encode()


def result_bytes(content: Mapping[str, Any], **how: Any) -> bytes:
    """Write a JSON file of ours, which begins with its schema.

    So readers of another version can tell.
    """
    return json_bytes({"schema": SCHEMA, **content}, **how)


def refuse_overwriting(out: Path, sources: Iterable[Path]) -> None:
    """Refuse to write a file that is read from."""
    if any(out.resolve() == source.resolve() for source in sources):
        raise BadInput(f"{out}: is an input, and would be overwritten; choose another name")


def check_own_folder(folder: Path, names: Iterable[str], *, ours: bool, of: str) -> None:
    """Refuse to overwrite files of these names in a folder unless they are `ours`."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: a file, but a folder is needed; choose another --out")
    for name in names:
        if not ours and (folder / name).exists():
            raise BadInput(f"{folder / name}: is not part of {of}, and would be overwritten; choose another --out")


def user_cache(name: str) -> Path:
    """Path of a file beside the kept answers.

    It is in the folder of $WINOKIT_CACHE, else in the user's cache folder.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "winokit"
    return Path(os.environ.get("WINOKIT_CACHE") or folder / name).with_name(name)


def user_state(name: str) -> Path:
    """Path of a folder with the owner's records.

    It is in $WINOKIT_STATE, else in the user's folder for the state of programs.

    Unlike what is in the cache, a record cannot be made again.
    """
    named_folder = os.environ.get("WINOKIT_STATE")
    if named_folder:
        return Path(named_folder) / name
    with refusing("no home folder for winokit's records; name a folder in WINOKIT_STATE", RuntimeError):
        return _find_state_folder() / "winokit" / name


def _find_state_folder() -> Path:
    """Folder in which this system's programs keep state for a user."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file, so that others who lock it wait, on every system.

    The file is made, for its owner alone, where it is missing; its folder must exist.
    """
    from filelock import FileLock

    with refused(path, "locked"):
        path.parent.stat()  # A missing folder would be made, for others to read.
        lock = FileLock(path, mode=OWNER_ONLY).acquire()
    with lock:
        yield


def write_whole(path: Path, data: bytes) -> None:
    """Write a file through a temporary one beside it.

    A link stays a link, and a pipe or a device is written to as it is.
    """
    with refused(path):
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # /dev/stdout and /dev/null must not be replaced; a folder refuses by itself
        else:
            _replace_file(Path(os.path.realpath(path)), data)


def _replace_file(path: Path, data: bytes) -> None:
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
