"""What `winokit stats` shows: the papers' Table 2 for any list of datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from winokit.cli.options import Lines
from winokit.data.checks.statistics import Statistics
from winokit.drawing.tables import table

COUNTS = ("problems", "groups", "single", "mean_words", "vocabulary", "candidates", "answered")


def lines(rows: Sequence[Statistics]) -> Lines:
    """One table, a line per dataset."""
    heads = ["dataset", *(name.replace("_", " ") for name in COUNTS), "domains, labels"]
    yield table(heads, [_cells(row) for row in rows], words=(-1,))


def _cells(row: Statistics) -> list[str]:
    numbers = [getattr(row, name) for name in COUNTS]
    extra = ", ".join(f"{name} {count:,}" for name, count in [*row.domains.items(), *row.labels.items()])
    return [row.dataset, *(f"{n:,.1f}" if isinstance(n, float) else f"{n:,}" for n in numbers), extra]


def as_json(rows: Sequence[Statistics]) -> Any:
    """A list of objects, one per dataset."""
    return [asdict(row) for row in rows]
