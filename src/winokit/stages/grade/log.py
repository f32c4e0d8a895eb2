"""The log of gradings beside the hidden labels: the owner's record, what was shown of it, and the budget it leaves.

Whoever may ask often enough can change one prediction at a time and read labels off the scores. So a test has a budget,
and a name a part of it. The same predictions graded again tell nothing new and count once. One grading is counted and
logged at a time: of thirty that began together, each would find room for one more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.errors import BadInput
from winokit.stages.grade.ladder import LadderRules
from winokit.stages.release.hidden import OWNER_ONLY, append_private

LOG, LOCK = "log.jsonl", "lock"
UNLOCKED = "this system keeps no locks: grade one submission at a time, or the budget may be overspent"


@dataclass(frozen=True, slots=True)
class Gradings:
    """How often this test has been asked about: by different submissions, by all, and by this name."""

    different: int
    all: int
    by_name: int


@contextmanager
def locked(folder: Path) -> Iterator[tuple[str, ...]]:
    """Keep others from grading on this test meanwhile; gives notes, where the system cannot do that."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield (UNLOCKED,)
        return
    try:
        file = os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, OWNER_ONLY))
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError as error:
        raise BadInput(f"{folder / LOCK}: cannot be locked ({error.strerror or error})") from None
    with file:  # closing it frees the lock
        yield ()


def log_grading(folder: Path, row: dict[str, Any]) -> Gradings:
    """Add a grading to the log and count."""
    append_private(folder / LOG, json.dumps(row))
    return gradings(folder, row.get("name"))


def check_budget(folder: Path, submission: str, name: str | None, rules: LadderRules) -> None:
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
    """The rows of the log; a line that was cut short is a grading of its own.

    Only newlines end a line: U+2028 may stand inside JSON.
    """
    path = folder / LOG
    text = path.read_text("utf-8", "replace").removesuffix("\n") if path.exists() else ""
    lines = text.split("\n") if text else []
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
