"""Variance components of right or wrong answers, over problems and readings.

Searle, Casella and McCulloch, "Variance Components" (1992); Brennan, "Generalizability Theory" (2001). The method of
moments: mean squares of an analysis of variance, solved for the components that they are expected to hold. It is the
mixed model, restricted: all components together are the variance of one answer.

- Problems are drawn: what belongs to them is the variance over all problems like these.
- Factors of reading (prompts, orders of candidates, scorings) are not drawn: their component is the variance of the
  levels that were asked, and speaks of no others.
- The interaction of problems with all factors is the rest, with the luck of one answer in it. Several samples of one
  question tell that luck apart.
- Problems of one unit vary together, which the papers leave out. The noise in the level means, which the method of
  moments subtracts, is therefore estimated over units. If every problem is alone, it is the papers' mean square.

Intervals are over units too. That of a factor inverts the noncentral F distribution (Steiger, 2004, "Beyond the F
test"), with the degrees of freedom of Satterthwaite; it can begin at zero and is never below it. The others come from
leaving out each unit in turn. `benchmarks/readings.py` measures how often they cover.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from winokit.errors import BadInput
from winokit.methods.arrays import FloatArray
from winokit.methods.metrics.intervals import LEVEL, ROUNDING, Interval, check_level
from winokit.units import Units, require_units

PROBLEMS = "problems"
SAMPLES = "samples"
REST = "rest"
FARTHEST = 1e6
"""The noncentrality at which the search for the end of an interval gives up."""

Source = tuple[str, ...]
"""Names of the factors of which a component is the interaction."""


@dataclass(frozen=True, slots=True)
class Component:
    """One part of the variance of right or wrong answers."""

    source: Source
    variance: float
    """As the method of moments has it; may be below zero if the truth is near it."""
    interval: Interval
    p: float | None = None
    """P-value of no difference between the levels of a factor of reading; None for other components."""


@dataclass(frozen=True)
class CrossedAnswers:
    """Answers to every problem under every combination of factor levels.

    `values` has 1 for right and 0 for wrong. Its first axis is the problem, its last the sample, and those between
    are the factors, such as prompts. A factor with one level has no component.

    >>> rng = np.random.default_rng(0)
    >>> answers = CrossedAnswers(rng.integers(0, 2, (50, 5, 2, 1)), ("prompts", "orders"), Units.alone(50))
    >>> [".".join(part.source) for part in answers.components()]
    ['prompts', 'orders', 'prompts.orders', 'problems', 'problems.prompts', 'problems.orders', 'rest']
    """

    values: FloatArray
    factors: tuple[str, ...]
    units: Units

    def __post_init__(self) -> None:
        expected = len(self.factors) + 2
        if self.values.ndim != expected or not self.values.size:
            raise BadInput(f"expected an array with {expected} axes, found one of shape {self.values.shape}")
        require_units(self.units, len(self.values))

    def components(self, level: float = LEVEL) -> list[Component]:
        """Estimate all components: of factors first, then of problems.

        `level` is the confidence of their intervals.
        """
        check_level(level)
        fixed = [self._estimate_fixed(source, level) for source in self.interactions if source]
        return [*fixed, *self._estimate_random(level)]

    @cached_property
    def level_counts(self) -> dict[str, int]:
        """Number of levels of each factor that has several."""
        counts = zip(self.factors, self.values.shape[1:-1], strict=True)
        return {factor: count for factor, count in counts if count > 1}

    @cached_property
    def interactions(self) -> list[Source]:
        """Every subset of the factors with several levels, the empty one first."""
        names = tuple(self.level_counts)
        sources: list[Source] = []
        for size in range(len(names) + 1):
            sources += combinations(names, size)
        return sources

    @cached_property
    def cells(self) -> FloatArray:
        """Mean over samples, with a row per problem.

        A column is a combination of factor levels.
        """
        means: FloatArray = self.values.mean(axis=-1).reshape(len(self.values), -1)
        return means

    def make_projection(self, source: Source) -> FloatArray:
        """Matrix that projects cell means onto an interaction of factors.

        `source` are the names of the factors.
        """
        matrix: FloatArray = np.ones((1, 1))
        for factor, count in self.level_counts.items():
            part = centring(count) if factor in source else averaging(count)
            matrix = np.asarray(np.kron(matrix, part), np.float64)
        return matrix

    def count_freedom(self, source: Source) -> int:
        """Degrees of freedom of an interaction of factors."""
        return math.prod(self.level_counts[factor] - 1 for factor in source)

    def _estimate_fixed(self, source: Source, level: float) -> Component:
        """Estimate the component of a factor of reading, or of an interaction."""
        cell_count = self.cells.shape[1]
        form = QuadraticForm.of(self.cells, self.make_projection(source), self.count_freedom(source), self.units)
        low, high = form.limits(level)
        interval = Interval(low / cell_count, high / cell_count, level, "noncentral F, over units")
        return Component(source, form.excess / cell_count, interval, form.p)

    def _estimate_random(self, level: float) -> Iterator[Component]:
        """Estimate the components that vary from problem to problem."""
        cell_count = self.cells.shape[1]
        luck = self._estimate_luck()
        everything = self.interactions[-1]
        error_squares = self._calculate_mean_squares(everything)
        for source in self.interactions:
            if source != everything:
                freedom = self.count_freedom(source)
                squares = self._calculate_mean_squares(source)
                variances = (squares - error_squares) * freedom / cell_count
                yield leave_one_out((PROBLEMS, *source), variances, self.units, level)
        name = REST if everything else PROBLEMS
        sample_count = self.values.shape[-1]
        yield leave_one_out((name,), error_squares - luck / sample_count, self.units, level)
        if sample_count > 1:
            yield leave_one_out((SAMPLES,), luck, self.units, level)

    def _calculate_mean_squares(self, source: Source) -> FloatArray:
        """Mean square of the interaction of problems and factors.

        The first number is over all problems, the others are without each unit in turn.
        """
        projected = self.cells @ self.make_projection(source)
        problem_squares = (projected**2).sum(axis=1)
        squares = without_each(problem_squares[:, None], self.units)[:, 0]
        sums = without_each(projected, self.units)
        ones = np.ones((len(projected), 1))
        counts = without_each(ones, self.units)[:, 0]
        spread = squares - (sums**2).sum(axis=1) / np.maximum(counts, 1)
        mean_squares: FloatArray = spread / np.maximum(counts - 1, 1) / self.count_freedom(source)
        return mean_squares

    def _estimate_luck(self) -> FloatArray:
        """Variance between samples of one question.

        The first number is over all problems, the others are without each unit in turn. Zeros if there is one sample.
        """
        if self.values.shape[-1] < 2:
            return np.zeros(self.units.count + 1)
        variances = self.values.var(axis=-1, ddof=1)
        problem_means = variances.reshape(len(variances), -1).mean(axis=1)
        counts = without_each(np.ones((len(variances), 1)), self.units)
        sums = without_each(problem_means[:, None], self.units)
        means: FloatArray = (sums / np.maximum(counts, 1))[:, 0]
        return means


@dataclass(frozen=True, slots=True)
class QuadraticForm:
    """Sum of squares of projected column means, and its expected noise."""

    square: float
    noise: float
    freedom: float
    unit_count: int

    @classmethod
    def of(cls, cells: FloatArray, projection: FloatArray, rank: int, units: Units) -> "QuadraticForm":
        """Compute the form of the column means of a table.

        `cells` has a row per problem, and `rank` is the rank of the projection.
        """
        means = cells.mean(axis=0)
        spread = projection @ covariance_of_means(cells, units) @ projection
        # As if one unit more had changed: where none did, a change may be rare.
        least = rank / max(units.count, 1) ** 2 / len(means)
        noise = max(float(np.trace(spread)), least)
        squared = float((spread**2).sum())
        freedom = float(rank)
        if squared > ROUNDING**2:
            freedom = min(noise**2 / squared, rank)
        square = float(means @ projection @ means)
        return cls(max(square, 0.0), noise, max(freedom, 1.0), units.count)

    @property
    def excess(self) -> float:
        """Sum of squares minus its expected noise."""
        return self.square - self.noise

    @property
    def p(self) -> float:
        """P-value of the hypothesis that all projected means are equal.

        1 if there is one unit.
        """
        from scipy import special

        if self.unit_count < 2:
            return 1.0
        return float(special.fdtrc(self.freedom, self.unit_count - 1, self.square / self.noise))

    def limits(self, level: float) -> tuple[float, float]:
        """Ends of the confidence interval of the true sum of squares."""
        if self.unit_count < 2:
            return 0.0, math.inf
        scale = self.noise / self.freedom
        low = self._find_noncentrality((1 + level) / 2)
        high = self._find_noncentrality((1 - level) / 2)
        return low * scale, high * scale

    def _find_noncentrality(self, probability: float) -> float:
        """Noncentrality at which a smaller ratio has this probability.

        0 if even that has a smaller probability, infinite if the search ends.
        """
        from scipy import optimize, special

        ratio = self.square / self.noise

        def excess(noncentrality: float) -> float:
            below = special.ncfdtr(self.freedom, self.unit_count - 1, noncentrality, ratio)
            return float(below) - probability

        if excess(0.0) <= 0:
            return 0.0
        farthest = max(4 * self.freedom * ratio, 10.0)
        while excess(farthest) > 0 and farthest < FARTHEST:
            farthest *= 2
        return float(optimize.brentq(excess, 0.0, farthest)) if excess(farthest) < 0 else math.inf


def centring(count: int) -> FloatArray:
    """Matrix that subtracts the mean of `count` levels from each level."""
    return np.eye(count) - averaging(count)


def averaging(count: int) -> FloatArray:
    """Matrix that replaces each of `count` levels by their mean."""
    return np.full((count, count), 1 / count)


def covariance_of_means(cells: FloatArray, units: Units) -> FloatArray:
    """Covariance matrix of the column means, estimated over units."""
    residuals = unit_sums(cells - cells.mean(axis=0), units)
    correction = units.count / max(units.count - 1, 1)
    covariance: FloatArray = correction * residuals.T @ residuals / len(cells) ** 2
    return covariance


def unit_sums(values: FloatArray, units: Units) -> FloatArray:
    """Sum of each column over each unit, with a row per unit."""
    return np.stack([units.sums(column) for column in values.T], axis=1)


def without_each(values: FloatArray, units: Units) -> FloatArray:
    """Sums of each column with one unit left out, for every unit.

    The first row is the sum over all units.
    """
    sums = unit_sums(values, units)
    total = sums.sum(axis=0, keepdims=True)
    return np.concatenate([total, total - sums])


def leave_one_out(source: Sequence[str], estimates: FloatArray, units: Units, level: float) -> Component:
    """Component of a source, with its jackknife interval.

    The first estimate is on all problems, the others are without each unit in turn. The ends are 0 or more, and with
    fewer than three units the interval is from 0 to infinity.
    """
    from scipy import special

    variance = float(estimates[0])
    half = math.inf
    if units.count > 2:
        distances = estimates[1:] - estimates[1:].mean()
        correction = (units.count - 1) / units.count
        error = math.sqrt(correction * float((distances**2).sum()))
        half = error * float(special.stdtrit(units.count - 1, (1 + level) / 2))
    low = max(variance - half, 0.0)
    high = max(variance + half, 0.0)
    return Component(tuple(source), variance, Interval(low, high, level, "jackknife over units"))
