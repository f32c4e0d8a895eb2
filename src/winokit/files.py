"""Writing files whole or not at all, so that a reader never sees half of one."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from winokit.errors import BadInput


def write_whole(path: Path, data: bytes) -> None:
    """Write through a temporary file beside it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):  # where a file stands in the place of a folder there is nothing to remove
            temporary.unlink()
        raise BadInput(f"{path}: cannot be written ({error.strerror or error})") from None
