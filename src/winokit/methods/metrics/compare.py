"""Two models on the same problems: a paired test over units, and a correction for several tests."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winokit.errors import BadInput
from winokit.methods.arrays import FloatArray, IntArray, Values, as_values, same_length
from winokit.methods.metrics.intervals import LEVEL, ROUNDING, Interval, paired_gap, standard_error
from winokit.methods.metrics.luck import guessed
from winokit.units import Units, require_units

WHOLE_PARTS = (1, 2, 4, 8, 12)
"""Sums of units that are whole numbers of such parts (halves, where a guess is worth one half) are counted out."""
DRAWS = 10_000
"""Random signs, where they are not."""
FINE = 0.001
"""How finely a drop that would be found is told: a tenth of a point."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first model against the second."""

    difference: float
    """Accuracy of the first minus accuracy of the second."""
    interval: Interval
    p: float
    """Two-sided p-value of a difference of zero, from the test that the interval inverts."""
    only_first: int
    """Problems of which the first has more; with `only_second`, the discordant ones."""
    only_second: int
    n: int
    n_to_tell_apart: int | None
    """How many problems would tell them apart, were the difference what it is here; None where there is none."""
    expected: bool = False
    """Whether abstentions count as guesses: then accuracies are expected ones."""


def compare(first: Values, second: Values, units: Units, *, level: float = LEVEL) -> Comparison:
    """Compare two models by what they have of the same problems, in the same order: 1, 0, or a share if undecided.

    >>> twins = Units.of_names(["a", "a", "b", "b", "c", "c"])
    >>> comparison = compare([True] * 6, [True, False, True, False, True, True], twins)
    >>> round(comparison.difference, 3), comparison.only_first, comparison.only_second, comparison.p
    (0.333, 2, 0, 0.5)
    """
    require_units(units, len(first))
    same_length(first=first, second=second)
    one, other = as_values(first), as_values(second)
    only_first, only_second = int((one > other).sum()), int((other > one).sum())
    return Comparison(
        difference=float((one - other).mean()),
        interval=paired_interval(one, other, units, level),
        p=p_paired(one, other, units),
        only_first=only_first,
        only_second=only_second,
        n=len(one),
        n_to_tell_apart=n_to_tell_apart(one, other, units),
        expected=bool(((one % 1 != 0) | (other % 1 != 0)).any()),
    )


def paired_interval(first: Values, second: Values, units: Units, level: float = LEVEL) -> Interval:
    """Interval of the mean difference between two scores of the same problems, each from 0 to 1.

    Newcombe's, widened to zero where exchanging the two models unit by unit does not exclude it. It contains zero
    exactly where `p_paired` is above 1 - level.
    """
    interval = paired_gap(first, second, units).interval(level)
    excludes_zero = not interval.low <= 0 <= interval.high
    if excludes_zero and p_exchanged(first, second, units) > 1 - level:
        return Interval(min(interval.low, 0.0), max(interval.high, 0.0), level, interval.method)
    return interval


def p_paired(first: Values, second: Values, units: Units) -> float:
    """Two-sided p-value of a mean difference of zero: the level at which `paired_interval` excludes it.

    The larger of two: that of exchanging the models unit by unit, and that of Newcombe's interval, which is the more
    cautious below about 20 units.
    """
    exchanged = p_exchanged(first, second, units)
    return max(exchanged, paired_gap(first, second, units).p())


def p_exchanged(first: Values, second: Values, units: Units, seed: int = 0, *, least: float = 0.0) -> float:
    """Two-sided p-value of the mean difference if the two models are exchanged at random, unit by unit.

    With `least`, how often the difference is as large as what goes beyond that: never less often than without.
    Counted out exactly where the sums of units are whole numbers, or halves, quarters and such; else by random signs.
    Where no problem has a twin it is McNemar's exact test; where some have, McNemar's takes twins for independent and
    rejects in 7 to 10 % of equal models instead of 5.

    >>> p_exchanged([1, 1, 1, 0], [0, 0, 0, 0], Units.alone(4))  # thrice on one side: one time in four
    0.25
    """
    differences = _unit_sums(first, second, units)
    observed = abs(float(differences.sum()))
    needed = observed - least * len(first)
    sums = np.sort(np.abs(differences[np.abs(differences) > ROUNDING]))
    if not len(sums):
        return 1.0
    for parts in WHOLE_PARTS:
        if np.allclose(parts * sums, np.round(parts * sums), atol=1e-9):
            whole_sums = np.round(parts * sums).astype(np.int64)
            return _sign_flip(whole_sums, round(parts * observed) - parts * least * len(first))
    signs = np.random.default_rng(seed).integers(0, 2, (DRAWS, len(sums))) * 2 - 1
    extreme_count = int((np.abs(signs @ sums) >= needed - ROUNDING).sum())
    return (extreme_count + 1) / (DRAWS + 1)


def _sign_flip(sizes: IntArray, observed: float) -> float:
    """The share of all signs for which the sum of sizes is as far from zero as observed."""
    chances = guessed(np.full(len(sizes), 0.5), sizes)
    # Entry k is the chance that the positive ones sum to k, and so all of them to 2k - their total.
    sums = np.abs(2 * np.arange(len(chances)) - int(sizes.sum()))
    return round(float(min(chances[sums >= observed].sum(), 1.0)), 12)  # sums of halves, without the tail of a float


def _unit_sums(first: Values, second: Values, units: Units) -> FloatArray:
    """Sum of the differences over each unit."""
    require_units(units, len(first))
    same_length(first=first, second=second)
    return units.sums(as_values(first) - as_values(second))


def n_to_tell_apart(
    first: Values, second: Values, units: Units, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """How many problems `p_paired` needs to tell two models apart that differ as these do; None for equal ones.

    Groups in this mixture of sizes and differences are drawn until the test, at level `alpha`, finds the difference
    with probability `power`; by the normal approximation.
    """
    from scipy import special

    if not 0 < alpha < power < 1:
        raise BadInput(f"0 < alpha < power < 1 expected, found alpha {alpha} and power {power}")
    sums = _unit_sums(first, second, units)
    mean, square = float(sums.mean()), float((sums**2).mean())
    if abs(mean) <= ROUNDING:
        return None
    spread = math.sqrt(max(square - mean**2, 0.0))
    needed = (special.ndtri(1 - alpha / 2) * math.sqrt(square) + special.ndtri(power) * spread) ** 2 / mean**2
    return math.ceil(float(needed) * len(first) / len(sums))


def drop_to_find(
    old: Values, new: Values, units: Units, *, allowed: float = 0.0, level: float = LEVEL, power: float = 0.8
) -> float | None:
    """The smallest drop that these problems would show, with probability `power`, to be more than is allowed.

    Shown means that `paired_interval` of old minus new lies above `allowed`; None where no drop would be. More and more
    of what the new model has right is taken from it: models disagree more as one drops, and the interval grows.
    """
    from scipy import special

    before, after = as_values(old), as_values(new)
    order = np.random.default_rng(0).permutation(len(after))

    def dropped(drop: float) -> FloatArray:
        change = drop - float((before - after).mean())
        worst = np.zeros_like(after) if change > 0 else np.ones_like(after)
        reached = np.cumsum(np.abs(worst - after)[order]) <= abs(change) * len(after) + ROUNDING
        return np.where(reached[np.argsort(order)], worst, after)

    def found_at(drop: float) -> bool:
        # So low a drop, or lower, is seen in one of five samples.
        seen = drop - float(special.ndtri(power)) * standard_error(before - dropped(drop), units)
        return paired_gap(before, dropped(seen), units).interval(level).low >= allowed

    most = float(before.mean()) - allowed
    steps = np.arange(1, max(round(most / FINE), 0) + 1) * FINE + allowed
    place = bisect_left(steps, True, key=found_at)
    return float(steps[place]) if place < len(steps) else None


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's step-down method, in the order given.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise BadInput("p-values from 0 to 1 expected")
    order = np.argsort(p_values, kind="stable")
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min((len(p_values) - rank) * p_values[place], 1.0))
        corrected[place] = largest
    return corrected
