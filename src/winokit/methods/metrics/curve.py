"""Learning curves: accuracy against the logarithm of training size, where it would arrive, and the leaderboard's area.

Sakaguchi et al. (2020) fit y = 4.8463 ln x + 26.215 to RoBERTa's accuracy on WinoGrande. That line reaches the human
94 per cent at 1.19 million training problems, ten times the "over 118K" that is said of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winokit.errors import BadInput
from winokit.methods.metrics.intervals import Interval

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
        if self.slope == 0:
            return math.inf
        return _exp((y - self.intercept) / self.slope)

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

        Where the slope could be nought these have no end on the side where y lies. Where it is so uncertain that no
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

        if not 0 < level < 1:
            raise BadInput(f"a level between 0 and 1 expected, found {level}")
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
        raise BadInput(f"{len(x)} sizes and {len(y)} values: one value a size expected")
    logs, values = np.log([_positive(one) for one in x]), np.asarray(y, np.float64)
    if not np.isfinite(values).all():
        raise BadInput("a value that is not a number cannot be fitted")
    if len(set(logs.tolist())) < 2:
        raise BadInput("two training sizes or more expected: one says nothing of growth")
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
        raise BadInput(f"{len(sizes)} accuracies expected, one a training size, found {len(accuracies)}")
    if len(sizes) < 2 or sorted(set(sizes)) != list(sizes):
        raise BadInput("two training sizes or more expected, from small to large")
    logs = np.log2([_positive(size) for size in sizes])
    values = np.asarray(accuracies, np.float64)
    return float((np.diff(logs) * (values[1:] + values[:-1]) / 2).sum() / (logs[-1] - logs[0]))


def _positive(x: float) -> float:
    if not x > 0:
        raise BadInput(f"a training size above 0 expected, since it has no logarithm else; found {x}")
    return x


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
