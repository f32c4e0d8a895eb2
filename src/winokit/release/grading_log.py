"""The log of gradings beside the hidden labels: every answer about them tells a little of them.

Whoever may ask often enough can change one prediction at a time and read each label off the score. Rounding makes that
slower, not impossible; what helps is to count, and to look at who asks. The same files graded again tell nothing new
and count once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.release.hidden import append_private

LOG = "log.jsonl"


@dataclass(frozen=True, slots=True)
class Gradings:
    """How often this test has been asked about: by different submissions, by all, and by this name."""

    different: int
    all: int
    by_name: int


def log_grading(folder: Path, row: dict[str, Any]) -> Gradings:
    """Add a grading to the log and count."""
    append_private(folder / LOG, json.dumps(row, ensure_ascii=False))
    return gradings(folder, row.get("name"))


def gradings(folder: Path, name: str | None = None) -> Gradings:
    """How often the test has been asked about; a line that was cut short counts as a grading of its own."""
    path = folder / LOG
    rows = [_row(line) for line in path.read_text("utf-8", "replace").splitlines()] if path.exists() else []
    different = {str(row.get("submission", at)) for at, row in enumerate(rows)}
    named = {str(row.get("submission", at)) for at, row in enumerate(rows) if name and row.get("name") == name}
    return Gradings(len(different), len(rows), len(named))


def _row(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}
