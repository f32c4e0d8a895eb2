"""A door of the judge: intervals, leads and luck in grading.

Everything counts units (`winokit.units`): a guesser tosses one coin for each, and problems of one unit are right or
wrong together in the worst case.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winokit.methods.arrays import BoolArray, FloatArray, IntArray, Values
from winokit.methods.metrics.compare import holm, p_exchanged, p_paired, paired_interval
from winokit.methods.metrics.curve import leaderboard_auc
from winokit.methods.metrics.intervals import NORMAL, Interval, share_interval
from winokit.methods.metrics.luck import guessed, p_best_of, p_chance
from winokit.units import Units, require_units


def score_interval(values: Values, units: Units) -> Interval:
    """Confidence interval of a mean of flags or credits over units."""
    return share_interval(values, units)


def interval_at(share: float, units: int) -> Interval:
    """Confidence interval of a share if only its value is known.

    `units` is the number of units, taken to be equal, each right or wrong as a whole.
    """
    is_right = np.arange(units) < round(share * units)
    return share_interval(is_right, Units.alone(units))


def spread_of(interval: Interval) -> float:
    """Standard error of a normal 95 % interval with these ends."""
    return (interval.high - interval.low) / (2 * NORMAL)


def spread_at(share: float, units: int) -> float:
    """Standard error of a share over a number of equal units.

    Each unit is right or wrong as a whole.

    >>> spread_at(0.5, 100)
    0.05
    """
    return math.sqrt(share * (1 - share) / units)


@dataclass(frozen=True, slots=True)
class Lead:
    """Difference of two submissions' scores on the same problems."""

    difference: float
    low: float
    high: float
    p: float
    """Two-sided, of what goes beyond the margin."""


def lead_of(first: FloatArray, second: FloatArray, units: Units, margin: float = 0.0) -> Lead:
    """Compute the lead of a first submission over a second.

    `first` and `second` are their credits by problem. p is that of a difference beyond the margin, for two equal
    submissions; with a margin it is never smaller than without.
    """
    interval = paired_interval(first, second, units)
    beyond_margin = p_exchanged(first, second, units, least=margin)
    p = max(p_paired(first, second, units), beyond_margin)
    difference = float(first.mean() - second.mean())
    return Lead(difference, interval.low, interval.high, p)


def corrected_for_number(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's method.

    They are in the order given.
    """
    return holm(p_values)


def p_best_by_coins(right: BoolArray, units: Units, tries: int) -> float:
    """Probability that the best of `tries` coin guesses is as good.

    As good is having as many right, or more. A guess tosses one coin for each unit, which leaves its answers or turns
    them round: of a unit with 5 right and 1 wrong, turned round, 1 is right and 5 are wrong.

    >>> pairs = Units.of_names(["a", "a", "b", "b"])
    >>> round(p_best_by_coins(np.array([True, True, True, True]), pairs, tries=1), 6)
    0.25
    >>> p_best_by_coins(np.array([True, False, True, False]), pairs, tries=1)
    1.0
    """
    require_units(units, len(right))
    right_counts = np.round(units.sums(right)).astype(np.int64)
    wrong_counts = units.sizes - right_counts
    leads = np.abs(right_counts - wrong_counts)
    always_right = int(np.minimum(right_counts, wrong_counts).sum())
    if not leads.any():
        return 1.0
    lead_total = int(leads.sum())
    right_above = int(right_counts.sum()) - always_right
    p_once = p_chance(right_above, lead_total, 0.5, times=leads[leads > 0])
    return p_best_of(tries, p_once)


def guess_chances(sizes: IntArray) -> FloatArray:
    """Probability of each number right if units are guessed as wholes.

    `sizes` are the numbers of problems of the units.

    >>> guess_chances(np.array([1, 1])).tolist()
    [0.25, 0.5, 0.25]
    """
    return guessed(np.full(len(sizes), 0.5), sizes)


def curve_weights(sizes: Sequence[int]) -> FloatArray:
    """Weight of each size's accuracy in the area under the curve."""
    unit_vectors = np.eye(len(sizes))
    return np.array([leaderboard_auc(list(vector), sizes) for vector in unit_vectors])
