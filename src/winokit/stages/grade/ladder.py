"""The Ladder of a hidden test: which scores are shown, how often, and less luck.

A. Blum and M. Hardt, "The Ladder: A Reliable Leaderboard for Machine Learning Competitions" (2015),
https://arxiv.org/abs/1502.04585. A score is shown only where it is a step above the best shown before, and rounded to
that step: who sends in variations of one submission then learns nothing from all those that are no better.

Here there are √n steps from 0 to 1 for n problems, of which a unit counts for two at most (`units`): problems that hang
together are not more answers, and a test written three times over must not have finer steps. Three things are not in
the paper, since names are easily changed and a new name begins at the bottom. Rounding goes up or down by a coin that
the secret and the predictions decide, with the odds that keep it right on average: nobody knows how far a score is from
the next step, so that no single answer can be read off a step that is just reached or missed. Nothing is shown that
guessing reaches: the best of as many guesses as the budget allows, a unit guessed as one, gets to the lowest score
shown in one case of twenty. And the budget is per test too.

A score that is the best of many trials is too good besides: even trials that are all alike differ by chance, and the
best is the luckiest. Liu et al. (2020) searched 60 times for each point; Trichelair et al. (2018) show what the best of
ten guessers gets. So the expected lead of the best of T equal trials is taken off. This assumes the worst, that the
trial was chosen by its score on this very test; whoever chose by other data loses nothing to luck, and the raw score
stands.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from winokit.errors import BadInput
from winokit.methods.arrays import IntArray
from winokit.methods.metrics.judge_graded import guess_chances

GUESSED = 0.05
"""Probability that a budget full of guesses gets any score shown."""
STEP = 0.001
"""The owner's scores are rounded to a tenth of a percentage point."""
MARGIN = 1.0
"""Steps that a public lead may have to exceed: with half of it, boards gave single pairs of 32 away."""


@dataclass(frozen=True, slots=True)
class LadderRules:
    """Rules for a test of some size."""

    steps: int
    """Steps from 0 to 1."""
    lowest: float
    """The lowest score that is shown; above 1 where a test is too small to tell any from guessing."""
    budget: int
    """Different submissions that are graded on the test."""
    per_name: int


def rules_of(problems: int, units: int | IntArray, budget: int | None = None) -> LadderRules:
    """The rules for a test of so many problems in so many units of one size, or in units of these sizes.

    >>> rules_of(64, 32)
    LadderRules(steps=8, lowest=0.875, budget=10, per_name=3)
    """
    steps = steps_of(problems)
    budget = budget or max(10, steps)
    sizes = np.ones(units, np.int64) if isinstance(units, int) else units
    chance = guess_chances(sizes)
    scores = np.arange(len(chance)) / (len(chance) - 1)
    level = 1
    while level <= steps and budget * chance @ np.clip(scores * steps - level + 1, 0, 1) > GUESSED:
        level += 1
    return LadderRules(steps, on_grid(level, steps), budget, max(3, budget // 4))


def steps_of(n: int) -> int:
    """Number of steps from 0 to 1 for scores over this many problems or groups."""
    return max(1, math.isqrt(n))


def on_grid(level: int, steps: int) -> float:
    """The score at a level, without the tail of a float."""
    return round(level / steps, 4)


def to_step(score: float, steps: int, coin: float) -> float:
    """A score rounded to a step: up where a coin from 0 to 1 says so, with the odds that keep it right on average.

    >>> to_step(0.6, 10, 0.99), to_step(0.66, 10, 0.3), to_step(0.66, 10, 0.5)
    (0.6, 0.6, 0.7)
    """
    return on_grid(math.floor(round(score * steps, 9) + coin), steps)


def rounded(value: float) -> float:
    """A number as it may leave: to the owner's step, without the tail of a float."""
    return round(round(value / STEP) * STEP, 6)


def expected_best(trials: int) -> float:
    """The expected largest of several standard normal draws: how many standard errors the best of equals is ahead.

    >>> expected_best(1), round(expected_best(10), 2), round(expected_best(60), 2)
    (0.0, 1.54, 2.32)
    """
    if trials < 1:
        raise BadInput(f"expected one trial or more, found {trials}")
    if trials == 1:
        return 0.0
    # The mean of a maximum is the area over its distribution right of 0, less the area under it left of 0.
    return float(quad(lambda z: 1 - ndtr(z) ** trials - ndtr(-z) ** trials, 0, 10, limit=200)[0])


def luck_corrected(score: float, spread: float, trials: int, chance: float) -> float:
    """The score less the expected lead of the best of so many equal trials, and never taken below chance by that.

    `spread` is the standard error of the score, over units.

    >>> round(luck_corrected(0.8, 0.01, 60, 0.5), 3), luck_corrected(0.8, 0.01, 1, 0.5)
    (0.777, 0.8)
    """
    return max(score - expected_best(trials) * spread, min(score, chance))
