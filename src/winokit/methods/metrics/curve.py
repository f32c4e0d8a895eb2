"""Learning curves: accuracy against the logarithm of training size, where it would arrive, and the leaderboard's area.

Sakaguchi et al. (2020) fit y = 4.8463 ln x + 26.215 to RoBERTa's accuracy on WinoGrande. That line reaches the human
94 per cent at 1.19 million training problems, ten times the "over 118K" that is said of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winokit.errors import BadInput
from winokit.methods.arrays import FloatArray
from winokit.methods.metrics.intervals import ROUNDING, Interval, Share, check_level

SIZES = (160, 640, 2_558, 10_234, 40_398)
"""WinoGrande's training sizes, xs to xl, as its leaderboard counts them."""


@dataclass(frozen=True, slots=True)
class LogFit:
    """The line y = slope * ln(x) + intercept by least squares, and how sure it is.

    Two points make a line and leave nothing to be sure by: its intervals are infinite.
    """

    slope: float
    intercept: float
    n: int = 2
    centre: float = 0.0
    """Mean of ln(x)."""
    variance: tuple[float, float, float] = (math.inf, 0.0, math.inf)
    """Of the line's y at the centre, of that with the slope, and of the slope."""
    degrees: float = 0.0
    """Degrees of freedom of these variances."""

    def at(self, x: float) -> float:
        """The line's y at a size.

        >>> round(PUBLISHED.at(40_398), 1)
        77.6
        """
        return self.slope * math.log(_positive(x)) + self.intercept

    def reaches(self, y: float) -> float:
        """The size at which the line has this y; infinite for one that never does.

        >>> round(PUBLISHED.reaches(94), -4)
        1190000.0
        """
        return _exp((y - self.intercept) / self.slope) if self.slope else math.inf

    def slope_interval(self, level: float = 0.95) -> Interval:
        """Where the slope plausibly lies."""
        half = self._half(self.variance[2], level)
        return Interval(self.slope - half, self.slope + half, level, "student")

    def interval_at(self, x: float, level: float = 0.95) -> Interval:
        """Where the mean of y at a size plausibly lies."""
        y, away = self.at(x), math.log(x) - self.centre
        there, both, slope = self.variance
        half = self._half(there + 2 * both * away + slope * away**2, level)
        return Interval(y - half, y + half, level, "student")

    def reaches_interval(self, y: float, level: float = 0.95) -> Interval:
        """The sizes at which a mean of y is plausible (Fieller, 1954): those whose `interval_at` has y in it.

        Where the slope could be zero these have no end on the side where y lies. Where it is so uncertain that no
        size can be ruled out the interval is everything.
        """
        everything = Interval(0.0, math.inf, level, "Fieller")
        wide = self._half(1.0, level) ** 2
        if not math.isfinite(wide * sum(self.variance)):
            return everything
        # With u = ln x - centre, those of which (distance - slope u)^2 <= wide * variance at u: a quadratic in u.
        there, both, slope = self.variance
        distance = y - (self.slope * self.centre + self.intercept)
        squared, half = self.slope**2 - wide * slope, self.slope * distance + wide * both
        root = half**2 - squared * (distance**2 - wide * there)
        if squared == 0 or root < 0:
            return everything
        low, high = sorted((half + sign * math.sqrt(root)) / squared for sign in (-1, 1))
        if squared < 0:
            estimate = distance / self.slope if self.slope else math.copysign(math.inf, distance)
            low, high = (high, math.inf) if estimate >= high else (-math.inf, low)
        return Interval(_exp(self.centre + low), _exp(self.centre + high), level, "Fieller")

    def _half(self, variance: float, level: float) -> float:
        """Half the width of an interval of something with this variance."""
        from scipy import stats

        check_level(level)
        if self.degrees <= 0 or not math.isfinite(variance):
            return math.inf
        return float(stats.t.ppf((1 + level) / 2, self.degrees)) * math.sqrt(max(0.0, variance))


PUBLISHED = LogFit(4.8463, 26.215)
"""RoBERTa on WinoGrande, in per cent; how sure it is was not published."""


def fit_log(x: Sequence[float], y: Sequence[float]) -> LogFit:
    """Fit y = a ln(x) + b; several y of one size, from independent restarts, are several points.

    How sure it is comes from how the points scatter around the line. That they share a test set is not in that.

    >>> fit = fit_log([100, 1_000, 10_000], [50, 60, 70])
    >>> round(fit.at(100_000), 6), round(fit.reaches(90))
    (80.0, 1000000)
    """
    if len(x) != len(y):
        raise BadInput(f"{len(x)} sizes and {len(y)} values: one value per size expected")
    logs, values = np.log([_positive(size) for size in x]), np.asarray(y, np.float64)
    if not np.isfinite(values).all():
        raise BadInput("a value that is not a number cannot be fitted")
    if len(set(logs.tolist())) < 2:
        raise BadInput("two training sizes or more expected: one shows no growth")
    centre = float(logs.mean())
    spread = float(((logs - centre) ** 2).sum())
    slope = float(((logs - centre) * (values - values.mean())).sum() / spread)
    intercept = float(values.mean() - slope * centre)
    left, free = values - slope * logs - intercept, len(values) - 2
    if not free:
        return LogFit(slope, intercept, centre=centre)
    error = float((left**2).sum()) / free
    return LogFit(slope, intercept, len(values), centre, (error / len(values), 0.0, error / spread), free)


def leaderboard_auc(accuracies: Sequence[float], sizes: Sequence[float] = SIZES) -> float:
    """The WinoGrande leaderboard's area under the learning curve, over log2 of the size, divided by its width.

    >>> round(leaderboard_auc([0.5] * 5), 9)
    0.5
    """
    if len(accuracies) != len(sizes):
        raise BadInput(f"{len(sizes)} accuracies expected, one per training size, found {len(accuracies)}")
    if len(sizes) < 2 or sorted(set(sizes)) != list(sizes):
        raise BadInput("two training sizes or more expected, from small to large")
    logs = np.log2([_positive(size) for size in sizes])
    values = np.asarray(accuracies, np.float64)
    return float((np.diff(logs) * (values[1:] + values[:-1]) / 2).sum() / (logs[-1] - logs[0]))


def _positive(x: float) -> float:
    if not x > 0:
        raise BadInput(f"a training size above 0 expected, since others have no logarithm; found {x}")
    return x


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


@dataclass(frozen=True, slots=True)
class Crossed:
    """Covariances of some means over restarts and test units at once: a part per source, with its degrees of freedom.

    Another test set and other restarts would both have given another mean. Drawing a handful of restarts with
    replacement misses most of what they differ by (three restarts, 95 % intervals that cover 73 %). So the variance of
    the mean is added up from how restarts differ and from how units do, and the quantile is Student's, with the degrees
    of freedom of Satterthwaite (1946). What both sums hold is counted twice, which is on the safe side and keeps every
    variance positive.
    """

    parts: tuple[tuple[FloatArray, int], ...]

    @classmethod
    def of(cls, values: FloatArray, *, scatter: tuple[FloatArray, int] | None = None) -> "Crossed":
        """From an array of (restarts, units, statistics) whose means over the first two are the statistics.

        One restart says nothing of others. `scatter` stands in where something else does: a covariance and its
        degrees of freedom, as a line's points around it give them. Without either, restarts are not in the variance.
        """
        restarts = len(values)
        first = _part(values.mean(axis=1)) if restarts > 1 else scatter
        return cls((*([] if first is None else [first]), _part(values.mean(axis=0))))

    @property
    def covariance(self) -> FloatArray:
        """Of the means, from all sources."""
        total: FloatArray = np.sum([matrix for matrix, _ in self.parts], axis=0)
        return total

    def degrees(self, statistic: int) -> float:
        """Degrees of freedom of the variance of one of the means (Satterthwaite)."""
        shares = [(float(matrix[statistic, statistic]), free) for matrix, free in self.parts]
        if any(free < 1 for _, free in shares):
            return 0.0
        below = sum(share**2 / free for share, free in shares)
        return sum(share for share, _ in shares) ** 2 / below if below > 0 else math.inf


def _part(means: FloatArray) -> tuple[FloatArray, int]:
    """Covariance of the mean of some rows; infinite for a single one."""
    count, statistics = means.shape
    if count < 2:
        return np.diag(np.full(statistics, math.inf)), 0
    return np.atleast_2d(np.cov(means, rowvar=False)) / count, count - 1


def crossed_share(values: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Interval of a share from its values by restart and unit, whose mean it is.

    Wilson's, with as many independent problems as have the variance that was found. Where nothing differs (all right,
    all wrong) every unit counts as one problem.

    >>> low, high = crossed_share(np.array([[1.0, 0, 1, 0], [1, 1, 0, 0]]))
    >>> 0 <= low < 0.5 < high <= 1
    True
    """
    crossed, mean = Crossed.of(values[:, :, None]), float(values.mean())
    variance, free, units = float(crossed.covariance[0, 0]), crossed.degrees(0), values.shape[1]
    if not math.isfinite(variance):
        return 0.0, 1.0
    alike = variance < ROUNDING
    groups, number = (math.inf, units) if alike else (free + 1, mean * (1 - mean) / variance)
    low, high = Share(mean, units, groups, number, exact=False).limits(level)
    return min(mean, low), max(mean, high)
