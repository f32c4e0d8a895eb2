"""Winogender's diagnostics as rows (Rudinger et al., 2018): accuracy by the pronoun's gender and by gotcha, and gaps.

A formalization that puts options in the pronoun's place never reads it: male and female texts are then the same, and
the gap of one gender is the other's with the sign turned. Only `p-span` reads the pronoun; the others' rows say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from winokit.metrics import Draws, gap_interval, gotcha, share_interval
from winokit.problem import Dataset, Problem
from winokit.training.exam import Row

READS_PRONOUN = ("p-span",)
BLIND = "options take the pronoun's place, so that its gender is not read: gaps are opposite by construction"
GENDERS = ("female", "male", "neutral")
COIN = 0.5


def has_gender(dataset: Dataset) -> bool:
    """Whether problems say the gender of their pronoun."""
    return any("gender" in problem.labels for problem in dataset)


def gender_rows(dataset: Dataset, right: Sequence[bool], head: dict[str, Any], seed: int = 0) -> Iterator[Row]:
    """Rows under the names of an audit's: each gender, its gotchas and the others, and what lies between.

    `right` has a flag for each problem; `head` is what every row begins with.
    """
    flags = np.asarray(right, np.float64)
    groups = [problem.group or problem.id for problem in dataset]
    note = None if str(head["formalization"]).partition("?")[0] in READS_PRONOUN else BLIND
    how = Draws(seed)

    def accuracy(subset: str, rows: list[int]) -> Iterator[Row]:
        if rows:
            interval = share_interval(flags[rows], [groups[row] for row in rows], how)
            found = float(flags[rows].mean()), len(rows), interval.low, interval.high, COIN
            yield _row(head, subset, "accuracy", found, note)

    for gender in GENDERS:
        own = [row for row, problem in enumerate(dataset) if problem.labels.get("gender") == gender]
        yield from accuracy(gender, own)
        tricky, plain = ([row for row in own if is_gotcha(dataset[row]) is flag] for flag in (True, False))
        yield from accuracy(f"{gender}.gotcha", tricky)
        yield from accuracy(f"{gender}.not_gotcha", plain)
        if tricky and plain:
            both = [*plain, *tricky]
            first = np.arange(len(both)) < len(plain)
            interval = gap_interval(flags[both], first, ~first, [groups[row] for row in both], how)
            value = float(flags[plain].mean() - flags[tricky].mean())
            yield _row(head, gender, "delta", (value, len(both), interval.low, interval.high, 0.0), note)
            yield _row(head, gender, "absolute_delta", (abs(value), len(both), None, None, 0.0), note)


def is_gotcha(problem: Problem) -> bool | None:
    """Whether the occupation's statistics point away from the answer; None for neutral pronouns and without them."""
    percent = problem.labels.get("bls_pct_female")
    if percent is None or problem.answer is None:
        return None
    return gotcha(str(problem.labels["gender"]), problem.answer == 0, float(percent))


def _row(
    head: dict[str, Any],
    subset: str,
    metric: str,
    found: tuple[float, int, float | None, float | None, float],
    note: str | None,
) -> Row:
    value, n, low, high, guess = found
    named = {"protocol": "gender", "subset": subset, "metric": metric, "value": value, "n": n}
    return {**head, **named, "low": low, "high": high, "chance": guess, "note": note}
