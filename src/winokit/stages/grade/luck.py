"""What is left of a score once the luck of choosing is taken off.

A score that is the best of many trials is too good: even trials that are all alike differ by chance, and the best is
the luckiest. Liu et al. (2020) searched 60 times for each point; Trichelair et al. (2018) show what the best of ten
guessers gets. Here the expected lead of the best of T equal trials is taken off. This assumes the worst, that the trial
was chosen by its score on this very test; whoever chose by other data loses nothing to luck, and the raw score stands.
"""

from __future__ import annotations

import math

import numpy as np

from winokit.errors import BadInput

STEPS, REACH = 4000, 9.0


def expected_best(trials: int) -> float:
    """The expected largest of several standard normal draws: how many standard errors the best of equals is ahead.

    >>> expected_best(1), round(expected_best(10), 2), round(expected_best(60), 2)
    (0.0, 1.54, 2.32)
    """
    if trials < 1:
        raise BadInput(f"one trial or more expected, found {trials}")
    if trials == 1:
        return 0.0
    # The mean of a maximum is the area over its distribution right of 0, less the area under it left of 0.
    z = np.linspace(0, REACH, STEPS + 1)
    below = np.array([0.5 * math.erfc(-at / math.sqrt(2)) for at in z])
    area = (1 - below**trials) - (1 - below) ** trials
    return float(((area[1:] + area[:-1]) / 2).sum() * REACH / STEPS)


def luck_corrected(score: float, spread: float, trials: int, chance: float) -> float:
    """The score less the expected lead of the best of so many equal trials, and never taken below chance by that.

    `spread` is the standard error of the score, over groups.

    >>> round(luck_corrected(0.8, 0.01, 60, 0.5), 3), luck_corrected(0.8, 0.01, 1, 0.5)
    (0.777, 0.8)
    """
    return max(score - expected_best(trials) * spread, min(score, chance))
