"""Paired test of two models, and the gaps it can find.

A unit is a set of problems that vary together: twins, or problems of one text.
"""

import math
from dataclasses import dataclass

import numpy as np

from winokit.errors import BadInput
from winokit.methods.arrays import FloatArray, IntArray, Values, as_values, same_length
from winokit.methods.metrics.corrections import holm as holm
from winokit.methods.metrics.intervals import LEVEL, ROUNDING, Interval, paired_gap, standard_error
from winokit.methods.metrics.luck import guessed
from winokit.units import Units, require_units

WHOLE_PARTS = (1, 2, 4, 8, 12)
"""Sums of units that are whole numbers of such parts (halves, where a guess is worth one half) are counted out."""
DRAWS = 10_000
"""Random signs, where they are not."""
POWER = 0.8
"""The probability with which a gap would be found that is called one to be found."""
WHOLE_UNITS = 10.0
"""Prior weight, in units that are right or wrong as a whole, for the size of an independent disagreement."""
SPARE = 1
"""So many disagreements more than the fewest that a test can reject with are wanted on one side."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Precision of a comparison of two models on some problems.

    It says which gaps the comparison can find.
    """

    difference: float
    standard_error: float
    """Standard error of the mean difference, over units."""
    units: float
    """Effective number of units: large ones count as fewer."""
    disagreement: float
    """Share of all problems in one independent disagreement: in a unit, or a part of it."""
    narrow_half: float
    """Half the width of the interval in which equality is looked for."""
    narrow_level: float

    def gap_to_find(
        self, alpha: float = 0.05, power: float = POWER, *, allowed: float = 0.0, most: float = 1.0
    ) -> float | None:
        """Smallest difference that the test finds with probability `power`.

        `alpha` is the level of the test. None if no difference up to `most` is found so often.

        With `allowed`, it is the smallest difference that is found to be more than that. Two models that differ more
        also disagree on more problems. By the normal approximation, with Student's quantile, and never fewer
        disagreements than a test can reject with.
        """
        from scipy import optimize, special

        _check_power(alpha, power)
        if self.units <= 1 + ROUNDING:
            return None
        test_quantile = special.stdtrit(self.units - 1, 1 - alpha / 2)
        quantile = float(test_quantile + special.ndtri(power))

        def excess(gap: float) -> float:
            error = math.sqrt(self._estimate_variance_at(gap))
            return gap - allowed - quantile * error

        smallest_gap = allowed
        if excess(allowed) < 0:
            smallest_gap = float(optimize.brentq(excess, allowed, 1.0))
        # Where the models are exchanged, one more disagreement on one side halves the smallest p-value.
        fewest = math.ceil(1 - math.log2(alpha)) + SPARE
        smallest_gap = max(smallest_gap, fewest * self.disagreement)
        return smallest_gap if smallest_gap <= most + ROUNDING else None

    def can_show_equality(self, margin: float) -> bool:
        """Whether equality within a margin is shown every other time.

        That is for two models that are really equal.
        """
        from scipy import special

        if self.units <= 1 + ROUNDING:
            return False
        quantile = float(special.stdtrit(self.units - 1, (1 + self.narrow_level) / 2))
        one_time_in_two = quantile + float(special.ndtri(0.75))
        return self.narrow_half / quantile * one_time_in_two <= margin

    def _estimate_variance_at(self, gap: float) -> float:
        """Variance of the mean difference, if the true difference is `gap`."""
        more_disagreement = max(gap - abs(self.difference), 0.0) * (1 - gap)
        grown = self.standard_error**2 + more_disagreement * self.disagreement
        # All units disagree as a whole: they cannot vary more.
        largest = max(1 - gap**2, 0.0) / self.units
        return min(grown, largest)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of comparing a first model with a second."""

    difference: float
    """Mean score of the first minus that of the second."""
    interval: Interval
    p: float
    """Two-sided p-value of a difference of zero, from the test that the interval inverts."""
    only_first: int
    """Number of problems on which the first scores higher."""
    only_second: int
    n: int
    n_to_tell_apart: int | None
    """Number of problems that would find a difference like this; None if there is no difference."""
    first: float
    """Mean score of the first: the share right."""
    second: float
    narrow: Interval
    """The interval of two one-sided tests: equal within a margin if it lies inside."""
    unit_count: int
    resolution: Resolution
    first_refuses: bool = False
    """Whether the first answers nothing at all: it is never ahead."""
    second_refuses: bool = False
    first_abstained: float = 0.0
    """Share of the shared problems on which the first abstains."""
    second_abstained: float = 0.0
    first_expected: float | None = None
    """Accuracy of the first if it guessed where it abstains; None unless abstentions differ by a few points."""
    second_expected: float | None = None


def compare(first: Values, second: Values, units: Units, *, level: float = LEVEL) -> Comparison:
    """Compare two models by their scores on the same problems.

    `first` and `second` are scores of 1, 0 or between, in one order of problems; `units` says which problems vary
    together, as twins do. The interval has confidence `level`; the narrow one, for equality, misses on each side as
    often as the other does on both.

    >>> twins = Units.of_names(["a", "a", "b", "b", "c", "c"])
    >>> comparison = compare([True] * 6, [True, False, True, False, True, True], twins)
    >>> round(comparison.difference, 3), comparison.only_first, comparison.only_second, comparison.p
    (0.333, 2, 0, 0.5)
    """
    require_units(units, len(first))
    same_length(first=first, second=second)
    first_values = as_values(first)
    second_values = as_values(second)
    differences = first_values - second_values
    narrow_level = max(1 - 2 * (1 - level), 0.5)
    narrow = paired_interval(first_values, second_values, units, narrow_level)
    interval = paired_interval(first_values, second_values, units, level)
    p = p_paired(first_values, second_values, units)
    only_first = int((first_values > second_values).sum())
    only_second = int((second_values > first_values).sum())
    needed = n_to_tell_apart(first_values, second_values, units)
    return Comparison(
        difference=float(differences.mean()),
        interval=interval,
        p=p,
        only_first=only_first,
        only_second=only_second,
        n=len(first_values),
        n_to_tell_apart=needed,
        first=float(first_values.mean()),
        second=float(second_values.mean()),
        narrow=narrow,
        unit_count=units.count,
        resolution=_estimate_resolution(differences, units, narrow),
    )


def _estimate_resolution(differences: FloatArray, units: Units, narrow: Interval) -> Resolution:
    """Estimate which gaps a comparison with these differences can find.

    `differences` are those of each problem, `narrow` is the interval for equality.
    """
    error = standard_error(differences, units)
    sizes = units.sizes.astype(np.float64)
    equal_units = float((sizes**2).sum() ** 2 / (sizes**4).sum())
    row_variance = float(differences.var()) / len(differences)
    disagreement = 1 / equal_units
    if row_variance > ROUNDING:
        unit_distances = units.sums(np.abs(differences))
        disagreeing = int((unit_distances > ROUNDING).sum())
        design_effect = min(error**2 / row_variance, len(differences) / equal_units)
        problem_weight = design_effect / len(differences)
        disagreement = (disagreeing * problem_weight + WHOLE_UNITS * disagreement) / (disagreeing + WHOLE_UNITS)
    half = (narrow.high - narrow.low) / 2
    return Resolution(float(differences.mean()), error, equal_units, disagreement, half, narrow.level)


def paired_interval(first: Values, second: Values, units: Units, level: float = LEVEL) -> Interval:
    """Interval of the mean difference of two models' scores.

    Scores are from 0 to 1, for the same problems. Newcombe's interval, widened to zero where exchanging the two
    models unit by unit does not exclude it. It contains zero exactly where `p_paired` is above 1 - level.
    """
    interval = paired_gap(first, second, units).interval(level)
    excludes_zero = not interval.low <= 0 <= interval.high
    if excludes_zero and p_exchanged(first, second, units) > 1 - level:
        return Interval(min(interval.low, 0.0), max(interval.high, 0.0), level, interval.method)
    return interval


def p_paired(first: Values, second: Values, units: Units) -> float:
    """Two-sided p-value of no difference between two models' scores.

    It is the larger of two p-values: that of exchanging the models unit by unit, and that of Newcombe's interval,
    which is more cautious below about 20 units. `paired_interval` excludes zero at this level.
    """
    exchanged = p_exchanged(first, second, units)
    return max(exchanged, paired_gap(first, second, units).p())


def p_exchanged(first: Values, second: Values, units: Units, seed: int = 0, *, least: float = 0.0) -> float:
    """Two-sided p-value by exchanging the two models unit by unit.

    It is the share of random exchanges with a mean difference as large as the observed one; with `least`, as large as
    the observed one less that. Counted out exactly where the sums of units are whole numbers, or halves, quarters and
    such; else by random signs. Where no problem has a twin it is McNemar's exact test; where some have, McNemar's
    takes twins for independent and rejects in 7 to 10 % of equal models instead of 5.

    >>> p_exchanged([1, 1, 1, 0], [0, 0, 0, 0], Units.alone(4))  # thrice on one side: one time in four
    0.25
    """
    differences = _sum_by_unit(first, second, units)
    observed = abs(float(differences.sum()))
    needed = observed - least * len(first)
    distances = np.abs(differences)
    sums = np.sort(distances[distances > ROUNDING])
    if not len(sums):
        return 1.0
    for parts in WHOLE_PARTS:
        scaled = parts * sums
        rounded = np.round(scaled)
        if np.allclose(scaled, rounded, atol=1e-9):
            needed_parts = round(parts * observed) - parts * least * len(first)
            return _compute_sign_flip_p(rounded.astype(np.int64), needed_parts)
    rng = np.random.default_rng(seed)
    signs = rng.integers(0, 2, (DRAWS, len(sums))) * 2 - 1
    is_extreme = np.abs(signs @ sums) >= needed - ROUNDING
    extreme_count = int(is_extreme.sum())
    return (extreme_count + 1) / (DRAWS + 1)


def _compute_sign_flip_p(sizes: IntArray, observed: float) -> float:
    """Share of sign choices with a sum as far from zero.

    `sizes` are the absolute sums of units, whose signs are random; `observed` is the absolute sum to reach.
    """
    chances = guessed(np.full(len(sizes), 0.5), sizes)
    # Entry k is the chance that the positive ones sum to k, and so all of them to 2k - their total.
    total = int(sizes.sum())
    sums = np.abs(2 * np.arange(len(chances)) - total)
    p = float(min(chances[sums >= observed].sum(), 1.0))
    return round(p, 12)  # sums of halves, without the tail of a float


def _sum_by_unit(first: Values, second: Values, units: Units) -> FloatArray:
    """Sum of the differences, first score minus second, over each unit."""
    require_units(units, len(first))
    same_length(first=first, second=second)
    return units.sums(as_values(first) - as_values(second))


def n_to_tell_apart(
    first: Values, second: Values, units: Units, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Number of problems needed to find the difference of two models.

    The test is `p_paired` at level `alpha`, which finds a difference like the one between these scores with
    probability `power`. Units are taken to have these sizes and differences. By the normal approximation. None if the
    mean difference is zero.
    """
    from scipy import special

    _check_power(alpha, power)
    sums = _sum_by_unit(first, second, units)
    mean = float(sums.mean())
    square = float((sums**2).mean())
    if abs(mean) <= ROUNDING:
        return None
    spread = math.sqrt(max(square - mean**2, 0.0))
    by_chance = special.ndtri(1 - alpha / 2) * math.sqrt(square)
    by_models = special.ndtri(power) * spread
    needed = (by_chance + by_models) ** 2 / mean**2
    return math.ceil(float(needed) * len(first) / len(sums))


def _check_power(alpha: float, power: float) -> None:
    """Raise BadInput unless 0 < alpha < power < 1."""
    if not 0 < alpha < power < 1:
        raise BadInput(f"expected 0 < alpha < power < 1, found alpha {alpha} and power {power}")
