"""What of a score may be shown, and how often anybody may ask: the Ladder of a hidden test.

A. Blum and M. Hardt, "The Ladder: A Reliable Leaderboard for Machine Learning Competitions" (2015),
https://arxiv.org/abs/1502.04585. A score is shown only where it is a step above the best shown before, and rounded to
that step: who sends in variations of one submission then learns nothing from all those that are no better.

Here the step is 1/√n for n problems. Three things are not in the paper, since names are easily changed and a new name
begins at the bottom. Rounding goes up or down by a coin that the secret and the predictions decide, with the odds that
keep it right on average: nobody knows how far a score is from the next step, so that no single answer can be read off a
step that is just reached or missed. Nothing is shown that guessing reaches: the lowest score shown is one that the best
of as many guesses as the budget allows, twins guessed as one, gets to with probability 0.05. And the budget is per test
too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from winokit.release.draws import Draws
from winokit.release.grading_luck import coins

GUESSED = 0.05
"""Probability that a budget full of guesses gets any score shown."""
FINEST = 200
"""Steps are whole half points."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a test of some size allows."""

    step: float
    lowest: float
    """The lowest score that is shown; above 1 where a test is too small to tell any from guessing."""
    budget: int
    """Different submissions that are graded on the test."""
    per_name: int


def rules_of(problems: int, units: int, budget: int | None = None) -> Rules:
    """The rules for a test of so many problems in so many units: groups, and problems alone.

    >>> rules_of(1767, 1380)
    Rules(step=0.025, lowest=0.575, budget=84, per_name=21)
    >>> rules_of(64, 32).lowest, rules_of(64, 32).budget
    (0.875, 16)
    """
    step = step_of(problems)
    budget = budget or max(10, math.floor(2 * math.sqrt(problems)))
    chance, scores = coins(units), np.arange(units + 1) / units
    level = 1
    while level * step <= 1 and budget * chance @ np.clip(scores / step - level + 1, 0, 1) > GUESSED:
        level += 1
    return Rules(step, round(level * step, 6), budget, max(3, budget // 4))


def step_of(n: int) -> float:
    """The step for scores over so many problems or groups."""
    return math.ceil(FINEST / math.sqrt(n)) / FINEST


def rounded_to_step(score: float, step: float, draws: Draws, predictions: str, what: str) -> float:
    """A score on the grid of steps, rounded up or down by a coin that only the owner of the secret can toss again."""
    return min(1.0, round(math.floor(score / step + draws.share(f"rounding {what}", predictions)) * step, 6))
