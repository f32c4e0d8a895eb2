"""Writing files whole or not at all, so that a reader never sees half of one."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from winokit.errors import BadInput


def write_whole(path: Path, data: bytes) -> None:
    """Write through a temporary file beside it; a link stays a link, and a pipe or a device is written to as it is."""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # /dev/stdout and /dev/null must not be replaced; a folder refuses by itself
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror or error})") from None


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        with suppress(OSError):  # nothing to remove when all went well, or when a file stands in a folder's place
            temporary.unlink()
