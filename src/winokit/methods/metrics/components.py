"""Variance components of right or wrong answers: problems crossed with the ways in which they were asked.

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
from functools import cached_property, reduce
from itertools import combinations

import numpy as np

from winokit.errors import BadInput
from winokit.methods.arrays import FloatArray
from winokit.methods.metrics.intervals import LEVEL, ROUNDING, Interval, check_level
from winokit.units import Units, require_units

PROBLEMS, SAMPLES, REST = "problems", "samples", "rest"
FARTHEST = 1e6
"""The noncentrality at which the search for the end of an interval gives up."""

Source = tuple[str, ...]
"""Names of the factors of which a component is the interaction."""


@dataclass(frozen=True, slots=True)
class Component:
    """One part of the variance of a single answer."""

    source: Source
    variance: float
    """As the method of moments has it; may be below zero if the truth is near it."""
    interval: Interval
    p: float | None = None
    """Of factors of reading: the p-value of no difference between the levels."""


@dataclass(frozen=True)
class CrossedAnswers:
    """Right or wrong (1 or 0) of every problem under every combination of levels, asked one or more times.

    The first axis of `values` is the problem, the last is the sample, and those between are the factors. A factor with
    one level has no component.

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
        """All components: the factors and their interactions, then what varies from problem to problem."""
        check_level(level)
        fixed = [self._estimate_fixed(source, level) for source in self._interactions if source]
        return [*fixed, *self._estimate_random(level)]

    @cached_property
    def _levels(self) -> dict[str, int]:
        """Levels of each factor that has several."""
        counts = zip(self.factors, self.values.shape[1:-1], strict=True)
        return {factor: count for factor, count in counts if count > 1}

    @cached_property
    def _interactions(self) -> list[Source]:
        """Every set of factors, the empty one first."""
        names = tuple(self._levels)
        return [source for size in range(len(names) + 1) for source in combinations(names, size)]

    @cached_property
    def _cells(self) -> FloatArray:
        """Mean over the samples: a row per problem, a column per combination of levels."""
        means: FloatArray = self.values.mean(axis=-1).reshape(len(self.values), -1)
        return means

    def _projection(self, source: Source) -> FloatArray:
        """Projects combinations of levels onto what only the interaction of these factors explains."""
        parts = [centring(count) if factor in source else averaging(count) for factor, count in self._levels.items()]
        return reduce(np.kron, parts, np.ones((1, 1)))

    def _freedom(self, source: Source) -> int:
        """Degrees of freedom of an interaction of factors."""
        return math.prod(self._levels[factor] - 1 for factor in source)

    def _estimate_fixed(self, source: Source, level: float) -> Component:
        """The component of a factor of reading, or of an interaction of several."""
        cell_count = self._cells.shape[1]
        form = QuadraticForm.of(self._cells, self._projection(source), self._freedom(source), self.units)
        low, high = form.limits(level)
        interval = Interval(low / cell_count, high / cell_count, level, "noncentral F, over units")
        return Component(source, form.excess / cell_count, interval, form.p)

    def _estimate_random(self, level: float) -> Iterator[Component]:
        """The components that vary from problem to problem, each with its jackknife over units."""
        cell_count = self._cells.shape[1]
        luck = self._variance_of_samples()
        everything = self._interactions[-1]
        rest = self._mean_squares(everything)
        for source in self._interactions:
            if source != everything:
                freedom = self._freedom(source)
                own = (self._mean_squares(source) - rest) * freedom / cell_count
                yield leave_one_out((PROBLEMS, *source), own, self.units, level)
        name = REST if everything else PROBLEMS
        yield leave_one_out((name,), rest - luck / self.values.shape[-1], self.units, level)
        if self.values.shape[-1] > 1:
            yield leave_one_out((SAMPLES,), luck, self.units, level)

    def _mean_squares(self, source: Source) -> FloatArray:
        """Mean square of problems by an interaction: over all problems first, then without each unit in turn."""
        projected = self._cells @ self._projection(source)
        squares = without_each((projected**2).sum(axis=1)[:, None], self.units)[:, 0]
        sums = without_each(projected, self.units)
        counts = without_each(np.ones((len(projected), 1)), self.units)[:, 0]
        spread = squares - (sums**2).sum(axis=1) / np.maximum(counts, 1)
        found: FloatArray = spread / np.maximum(counts - 1, 1) / self._freedom(source)
        return found

    def _variance_of_samples(self) -> FloatArray:
        """Variance of samples of one question: over all problems first, then without each unit in turn."""
        if self.values.shape[-1] < 2:
            return np.zeros(self.units.count + 1)
        own = self.values.var(axis=-1, ddof=1).reshape(len(self.values), -1).mean(axis=1)
        counts = without_each(np.ones((len(own), 1)), self.units)
        means: FloatArray = (without_each(own[:, None], self.units) / np.maximum(counts, 1))[:, 0]
        return means


@dataclass(frozen=True, slots=True)
class QuadraticForm:
    """The sum of squares of projected means, what of it is noise, and how many degrees of freedom that has."""

    square: float
    noise: float
    freedom: float
    unit_count: int

    @classmethod
    def of(cls, cells: FloatArray, projection: FloatArray, rank: int, units: Units) -> "QuadraticForm":
        """The form of the column means of some cells, with the covariance that units give them."""
        means = cells.mean(axis=0)
        spread = projection @ covariance_of_means(cells, units) @ projection
        # As if one unit more had changed: where none did, a change may be rare.
        least = rank / max(units.count, 1) ** 2 / len(means)
        noise = max(float(np.trace(spread)), least)
        squared = float((spread**2).sum())
        freedom = min(noise**2 / squared, rank) if squared > ROUNDING**2 else float(rank)
        return cls(max(float(means @ projection @ means), 0.0), noise, max(freedom, 1.0), units.count)

    @property
    def excess(self) -> float:
        """The sum of squares without its noise."""
        return self.square - self.noise

    @property
    def p(self) -> float:
        """P-value of projected means that are all alike."""
        from scipy import special

        if self.unit_count < 2:
            return 1.0
        return float(special.fdtrc(self.freedom, self.unit_count - 1, self.square / self.noise))

    def limits(self, level: float) -> tuple[float, float]:
        """Where the sum of squares of the true means plausibly lies."""
        if self.unit_count < 2:
            return 0.0, math.inf
        scale = self.noise / self.freedom
        low = self._noncentrality((1 + level) / 2)
        high = self._noncentrality((1 - level) / 2)
        return low * scale, high * scale

    def _noncentrality(self, probability: float) -> float:
        """The noncentrality that puts so much probability below what was found; 0 if none is small enough."""
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
    """The matrix that takes the mean of so many levels from each."""
    return np.eye(count) - averaging(count)


def averaging(count: int) -> FloatArray:
    """The matrix that puts the mean of so many levels in the place of each."""
    return np.full((count, count), 1 / count)


def covariance_of_means(cells: FloatArray, units: Units) -> FloatArray:
    """Covariance of the column means, with units as what varies."""
    residuals = unit_sums(cells - cells.mean(axis=0), units)
    correction = units.count / max(units.count - 1, 1)
    found: FloatArray = correction * residuals.T @ residuals / len(cells) ** 2
    return found


def unit_sums(values: FloatArray, units: Units) -> FloatArray:
    """Sums of each column over each unit."""
    return np.stack([units.sums(column) for column in values.T], axis=1)


def without_each(values: FloatArray, units: Units) -> FloatArray:
    """Sums of each column: over all rows first, then without each unit in turn."""
    sums = unit_sums(values, units)
    total = sums.sum(axis=0, keepdims=True)
    return np.concatenate([total, total - sums])


def leave_one_out(source: Sequence[str], estimates: FloatArray, units: Units, level: float) -> Component:
    """A component from its estimate on all problems, followed by those without each unit in turn."""
    from scipy import special

    whole = float(estimates[0])
    half = math.inf
    if units.count > 2:
        apart = estimates[1:] - estimates[1:].mean()
        error = math.sqrt((units.count - 1) / units.count * float((apart**2).sum()))
        half = error * float(special.stdtrit(units.count - 1, (1 + level) / 2))
    interval = Interval(max(whole - half, 0.0), max(whole + half, 0.0), level, "jackknife over units")
    return Component(tuple(source), whole, interval)
