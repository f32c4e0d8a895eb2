"""Winogender's diagnostics as rows (Rudinger et al., 2018): accuracy by the pronoun's gender and by gotcha, and gaps.

A formalization that puts options in the pronoun's place never reads it: male and female texts are then the same, and
the gap of one gender is the other's with the sign turned. Only `p-span` reads the pronoun; the others' rows say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from winokit.metrics import Draws, gap_interval, gotcha, guess_chance, share_interval
from winokit.problem import Dataset, Problem
from winokit.results import Metric

READS_PRONOUN = ("p-span",)
BLIND = "options take the pronoun's place, so that its gender is not read: gaps are opposite by construction"
GENDERS = ("female", "male", "neutral")


def has_gender(dataset: Dataset) -> bool:
    """Whether problems say the gender of their pronoun."""
    return any("gender" in problem.labels for problem in dataset)


def gender_rows(dataset: Dataset, choices: Sequence[int | None], like: Metric, seed: int = 0) -> Iterator[Metric]:
    """Rows under the names of an audit's: each gender, its gotchas and the others, and what lies between.

    `choices` has a prediction for each problem; `like` is a row of the same scorer and test set.
    """
    right = np.array([choice == problem.answer for choice, problem in zip(choices, dataset, strict=True)], np.float64)
    guess = guess_chance(choices, [len(problem.candidates) for problem in dataset])
    groups = [problem.group or problem.id for problem in dataset]
    how = Draws(seed)
    note = None if like.scoring.partition("?")[0] in READS_PRONOUN else BLIND
    like = replace(like, protocol="gender", note=note, low=None, high=None)

    def accuracy(subset: str, rows: list[int]) -> Iterator[Metric]:
        if rows:
            ends = share_interval(right[rows], [groups[row] for row in rows], how)
            level, named = float(guess[rows].mean()), replace(like, subset=subset, metric="accuracy", n=len(rows))
            yield replace(named, value=float(right[rows].mean()), low=ends.low, high=ends.high, chance=level)

    for gender in GENDERS:
        own = [row for row, problem in enumerate(dataset) if problem.labels.get("gender") == gender]
        yield from accuracy(gender, own)
        tricky, plain = ([row for row in own if is_gotcha(dataset[row]) is flag] for flag in (True, False))
        yield from accuracy(f"{gender}.gotcha", tricky)
        yield from accuracy(f"{gender}.not_gotcha", plain)
        if tricky and plain:
            both = [*plain, *tricky]
            first = np.arange(len(both)) < len(plain)
            ends = gap_interval(right[both], first, ~first, [groups[row] for row in both], how)
            gap = replace(like, subset=gender, metric="delta", n=len(both), chance=0.0)
            gap = replace(gap, value=float(right[plain].mean() - right[tricky].mean()), low=ends.low, high=ends.high)
            yield gap
            yield replace(gap, metric="absolute_delta", value=abs(gap.value), low=None, high=None)


def is_gotcha(problem: Problem) -> bool | None:
    """Whether the occupation's statistics point away from the answer; None for neutral pronouns and without them."""
    percent = problem.labels.get("bls_pct_female")
    if percent is None or problem.answer is None:
        return None
    return gotcha(str(problem.labels["gender"]), problem.answer == 0, float(percent))
