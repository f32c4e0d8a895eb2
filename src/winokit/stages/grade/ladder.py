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
from winokit.methods.arrays import FloatArray, IntArray
from winokit.methods.metrics.judge_graded import guess_chances

GUESSED = 0.05
"""Probability that a score is shown for any of as many random guesses as the budget allows."""
STEP = 0.001
"""The owner's scores are rounded to a tenth of a percentage point."""
MARGIN = 1.0
"""The largest margin, in steps, that a public lead must exceed. With half of it, boards revealed single pairs of 32."""


@dataclass(frozen=True, slots=True)
class LadderRules:
    """Rules on which scores are shown, and how many submissions are graded."""

    steps: int
    """Number of equal steps from 0 to 1 to which scores are rounded."""
    lowest: float
    """The lowest score that is shown. Above 1 if no score on a test so small can be told from guessing."""
    budget: int
    """Number of different submissions that are graded on the test."""
    per_name: int
    """Number of different submissions that are graded under one name."""


def rules_of(problems: int, units: int | IntArray, budget: int | None = None) -> LadderRules:
    """Compute the rules for a hidden test from its size.

    Parameters
    ----------
    problems
        Number of problems, which determines the steps.
    units
        Number of problems in each unit, or the number of units if all have one size.
    budget
        Number of different submissions. Default: the number of steps, and at least ten.

    >>> rules_of(64, 32)
    LadderRules(steps=8, lowest=0.875, budget=10, per_name=3)
    """
    steps = steps_of(problems)
    budget = budget or max(10, steps)
    sizes = np.ones(units, np.int64) if isinstance(units, int) else units
    guesses = budget * guess_chances(sizes)
    level = 1
    while level <= steps and _count_shown_guesses(guesses, level, steps) > GUESSED:
        level += 1
    return LadderRules(steps, on_grid(level, steps), budget, max(3, budget // 4))


def _count_shown_guesses(guesses: FloatArray, level: int, steps: int) -> float:
    """Expected number of guesses that are rounded to a level or above.

    `guesses` has the expected number of guesses at each score, evenly spaced from 0 to 1.
    """
    scores = np.arange(len(guesses)) / (len(guesses) - 1)
    odds = np.clip(scores * steps - level + 1, 0, 1)
    return float(guesses @ odds)


def steps_of(n: int) -> int:
    """Number of steps of a score over `n` problems or groups.

    It is the whole part of their square root, and at least 1.
    """
    return max(1, math.isqrt(n))


def on_grid(level: int, steps: int) -> float:
    """The score at a level from 0 to `steps`, with four decimals."""
    return round(level / steps, 4)


def to_step(score: float, steps: int, coin: float) -> float:
    """Round a score to a step, up or down by a coin.

    `coin` is uniform from 0 to 1, so that the rounded score is right on average.

    >>> to_step(0.6, 10, 0.99), to_step(0.66, 10, 0.3), to_step(0.66, 10, 0.5)
    (0.6, 0.6, 0.7)
    """
    return on_grid(math.floor(round(score * steps, 9) + coin), steps)


def rounded(value: float) -> float:
    """Round a score or probability as the owner sees it, to 0.001."""
    return round(round(value / STEP) * STEP, 6)


def expected_best(trials: int) -> float:
    """The expected largest of several draws from a standard normal distribution.

    The best of `trials` equal trials is ahead of their mean by this many standard errors. Raises BadInput below 1.

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
    """The score minus the expected lead of the luckiest of `trials` trials.

    The correction does not take a score below chance. `spread` is the standard error of the score, over units.

    >>> round(luck_corrected(0.8, 0.01, 60, 0.5), 3), luck_corrected(0.8, 0.01, 1, 0.5)
    (0.777, 0.8)
    """
    return max(score - expected_best(trials) * spread, min(score, chance))
