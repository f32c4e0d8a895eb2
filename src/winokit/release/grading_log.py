"""The log of gradings beside the hidden labels: the owner's record, what was shown of it, and the budget it leaves.

Whoever may ask often enough can change one prediction at a time and read labels off the scores. So a test has a budget,
and a name a part of it. The same files graded again tell nothing new and count once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.errors import BadInput
from winokit.release.grading_ladder import Rules
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


def check_budget(folder: Path, submission: str, name: str | None, rules: Rules) -> None:
    """Refuse a submission that is one too many, unless it was graded before."""
    rows = log_rows(folder)
    named = [row for row in rows if _same_name(row, name)]
    for some, most, whose in ((rows, rules.budget, "this test"), (named, rules.per_name, "this name")):
        known = _different(some)
        if submission not in known and len(known) >= most:
            raise BadInput(
                f"the budget of {whose} is spent: {most:,} different submissions. The owner of the labels can go on "
                "with --budget N, at a price: each tells a little of them"
            )


def best_shown(folder: Path, name: str | None, metric: str, but: str) -> float:
    """The best score of a kind that was shown under a name for other submissions; 0 where there was none."""
    rows = [row for row in log_rows(folder) if _same_name(row, name) and row.get("submission") != but]
    return max((float((row.get("shown") or {}).get(metric, 0.0)) for row in rows), default=0.0)


def gradings(folder: Path, name: str | None = None) -> Gradings:
    """How often the test has been asked about."""
    rows = log_rows(folder)
    named = [row for row in rows if name is not None and _same_name(row, name)]
    return Gradings(len(_different(rows)), len(rows), len(_different(named)))


def log_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of the log; a line that was cut short is a grading of its own."""
    path = folder / LOG
    lines = path.read_text("utf-8", "replace").splitlines() if path.exists() else []
    return [{"submission": f"line {at}", **_row(line)} for at, line in enumerate(lines)]


def _different(rows: list[dict[str, Any]]) -> set[str]:
    return {str(row["submission"]) for row in rows}


def _same_name(row: dict[str, Any], name: str | None) -> bool:
    """Whether a row is of a name, however that is spaced and capitalised; those without a name are one."""
    return _plain(row.get("name")) == _plain(name)


def _plain(name: str | None) -> str:
    return "".join((name or "").casefold().split())


def _row(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}
