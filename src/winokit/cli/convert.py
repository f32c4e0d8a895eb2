"""What `winokit convert` shows."""

from __future__ import annotations

from typing import Any

from winokit.cli.options import Lines
from winokit.data.formats import WrittenFile


def lines(written: WrittenFile) -> Lines:
    """One sentence."""
    yield f"{written.problems:,} problems written to {', '.join(str(file) for file in written.files)}"


def as_json(written: WrittenFile) -> Any:
    """Files, how many problems, and those left out."""
    return {"files": [str(file) for file in written.files], "problems": written.problems, "skipped": written.skipped}
