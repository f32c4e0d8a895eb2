"""Learning curves: accuracy against the logarithm of the training size.

Lines say at which size a goal would be reached; areas are the leaderboard's.

Sakaguchi et al. (2020) fit y = 4.8463 ln x + 26.215 to RoBERTa's accuracy on WinoGrande. That line reaches the human
94 per cent at 1.19 million training problems, ten times the "over 118K" that is said of it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winokit.errors import BadInput
from winokit.methods.arrays import FloatArray
from winokit.methods.metrics.intervals import ROUNDING, Interval, Share, check_level, shrunk_effect

SIZES = (160, 640, 2_558, 10_234, 40_398)
"""WinoGrande's training sizes, xs to xl, as its leaderboard counts them."""


@dataclass(frozen=True, slots=True)
class LogFit:
    """The least-squares line y = slope * ln(x) + intercept.

    Two points determine a line and leave no degrees of freedom: its intervals are infinite.
    """

    slope: float
    intercept: float
    n: int = 2
    centre: float = 0.0
    """Mean of ln(x)."""
    variance: tuple[float, float, float] = (math.inf, 0.0, math.inf)
    """Variance of the line's y at the centre, its covariance with the slope, and the slope's variance."""
    degrees: float = 0.0
    """Degrees of freedom of these variances."""

    def at(self, x: float) -> float:
        """Value of the line at a training size.

        >>> round(PUBLISHED.at(40_398), 1)
        77.6
        """
        return self.slope * math.log(_require_positive(x)) + self.intercept

    def reaches(self, y: float) -> float:
        """Training size at which the line has the value y.

        Infinite if the line is flat.

        >>> round(PUBLISHED.reaches(94), -4)
        1190000.0
        """
        return _compute_exp((y - self.intercept) / self.slope) if self.slope else math.inf

    def slope_interval(self, level: float = 0.95) -> Interval:
        """Confidence interval of the slope."""
        half = self._compute_half_width(self.variance[2], level)
        return Interval(self.slope - half, self.slope + half, level, "student")

    def interval_at(self, x: float, level: float = 0.95) -> Interval:
        """Confidence interval of the line's value at a training size."""
        y = self.at(x)
        away = math.log(x) - self.centre
        there, both, slope = self.variance
        variance = there + 2 * both * away + slope * away**2
        half = self._compute_half_width(variance, level)
        return Interval(y - half, y + half, level, "student")

    def reaches_interval(self, y: float, level: float = 0.95) -> Interval:
        """Training sizes at which the line may have the value y.

        They are those whose `interval_at` contains y (Fieller, 1954). If the slope could be zero, the interval has no
        end on the side of y. If no size can be ruled out, it is from 0 to infinity.
        """
        everything = Interval(0.0, math.inf, level, "Fieller")
        wide = self._compute_half_width(1.0, level) ** 2
        if not math.isfinite(wide * sum(self.variance)):
            return everything
        # With u = ln x - centre, those of which (distance - slope u)^2 <= wide * variance at u: a quadratic in u.
        there, both, slope = self.variance
        distance = y - (self.slope * self.centre + self.intercept)
        squared = self.slope**2 - wide * slope
        half = self.slope * distance + wide * both
        root = half**2 - squared * (distance**2 - wide * there)
        if squared == 0 or root < 0:
            return everything
        reach = math.sqrt(root)
        low, high = sorted([(half - reach) / squared, (half + reach) / squared])
        if squared < 0:
            estimate = distance / self.slope if self.slope else math.copysign(math.inf, distance)
            low, high = (high, math.inf) if estimate >= high else (-math.inf, low)
        return Interval(_compute_exp(self.centre + low), _compute_exp(self.centre + high), level, "Fieller")

    def _compute_half_width(self, variance: float, level: float) -> float:
        """Half the width of an interval of a number with this variance."""
        from scipy import stats

        check_level(level)
        if self.degrees <= 0 or not math.isfinite(variance):
            return math.inf
        quantile = float(stats.t.ppf((1 + level) / 2, self.degrees))
        return quantile * math.sqrt(max(0.0, variance))


PUBLISHED = LogFit(4.8463, 26.215)
"""RoBERTa on WinoGrande, in per cent; how sure it is was not published."""


def fit_log(x: Sequence[float], y: Sequence[float]) -> LogFit:
    """Fit y = a ln(x) + b by least squares.

    Several y of one size, from independent restarts, are several points. The variance comes from how the points
    scatter around the line. That they share a test set is not in it.

    >>> fit = fit_log([100, 1_000, 10_000], [50, 60, 70])
    >>> round(fit.at(100_000), 6), round(fit.reaches(90))
    (80.0, 1000000)
    """
    if len(x) != len(y):
        raise BadInput(f"{len(x)} sizes and {len(y)} values: expected one value per size")
    logs = np.log([_require_positive(size) for size in x])
    values = np.asarray(y, np.float64)
    if not np.isfinite(values).all():
        raise BadInput("a value that is not a number cannot be fitted")
    if len(set(logs.tolist())) < 2:
        raise BadInput("expected two training sizes or more: one shows no growth")
    centre = float(logs.mean())
    log_gaps = logs - centre
    value_gaps = values - values.mean()
    spread = float((log_gaps**2).sum())
    slope = float((log_gaps * value_gaps).sum() / spread)
    intercept = float(values.mean() - slope * centre)
    residuals = values - slope * logs - intercept
    free = len(values) - 2
    if not free:
        return LogFit(slope, intercept, centre=centre)
    error = float((residuals**2).sum()) / free
    variance = (error / len(values), 0.0, error / spread)
    return LogFit(slope, intercept, len(values), centre, variance, free)


def leaderboard_auc(accuracies: Sequence[float], sizes: Sequence[float] = SIZES) -> float:
    """Area under the learning curve, as WinoGrande's leaderboard computes it.

    It is the area over log2 of the size, divided by its width.

    >>> round(leaderboard_auc([0.5] * 5), 9)
    0.5
    """
    if len(accuracies) != len(sizes):
        raise BadInput(f"expected {len(sizes)} accuracies, one per training size, found {len(accuracies)}")
    if len(sizes) < 2 or sorted(set(sizes)) != list(sizes):
        raise BadInput("expected two training sizes or more, from small to large")
    logs = np.log2([_require_positive(size) for size in sizes])
    values = np.asarray(accuracies, np.float64)
    areas = np.diff(logs) * (values[1:] + values[:-1]) / 2
    width = logs[-1] - logs[0]
    return float(areas.sum() / width)


def _require_positive(x: float) -> float:
    """Return a training size that is above 0, or raise BadInput."""
    if not x > 0:
        raise BadInput(f"expected a training size above 0, since others have no logarithm; found {x}")
    return x


def _compute_exp(value: float) -> float:
    """Exponential of a value, infinite if it overflows."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


@dataclass(frozen=True, slots=True)
class Crossed:
    """Covariance of means that vary over restarts and test units.

    Each of `parts` is the covariance from one source, with its degrees of freedom.

    Another test set and other restarts would both have given another mean. Drawing a handful of restarts with
    replacement misses most of what they differ by (three restarts, 95 % intervals that cover 73 %). So the variance
    of the mean is the sum of that between restarts and that between units, and the quantile is Student's, with the
    degrees of freedom of Satterthwaite (1946). What both sums hold is counted twice, which is on the safe side and
    keeps every variance positive.
    """

    parts: tuple[tuple[FloatArray, float], ...]

    @classmethod
    def of(
        cls,
        values: FloatArray,
        sizes: FloatArray | None = None,
        *,
        scatter: tuple[FloatArray, float] | None = None,
    ) -> "Crossed":
        """Estimate the covariance from an array of (restarts, units, statistics).

        The means of the statistics are over the first two axes.

        `sizes` are the numbers of problems of the units, by default equal: large units count as few, as in every
        other interval. One restart says nothing of others. `scatter` is then used instead: a covariance and its
        degrees of freedom, as a line's points around it give them. Without either, restarts are not in the variance.
        """
        restarts, units, _ = values.shape
        first = _estimate_mean_covariance(values.mean(axis=1), np.ones(restarts)) if restarts > 1 else scatter
        of_units = _estimate_mean_covariance(values.mean(axis=0), np.ones(units) if sizes is None else sizes)
        return cls((of_units,) if first is None else (first, of_units))

    @property
    def covariance(self) -> FloatArray:
        """Covariance matrix of the means, from all sources."""
        total: FloatArray = np.sum([matrix for matrix, _ in self.parts], axis=0)
        return total

    def variance(self, weights: FloatArray) -> float:
        """Variance of a weighted sum of the means.

        Infinite if a source cannot be estimated.
        """
        if any(free <= 0 for _, free in self.parts):
            return math.inf
        return float(weights @ self.covariance @ weights)

    def degrees(self, weights: FloatArray) -> float:
        """Degrees of freedom of that variance (Satterthwaite).

        0 if a source cannot be estimated, infinite if nothing varies.
        """
        if any(free <= 0 for _, free in self.parts):
            return 0.0
        shares = [(float(weights @ matrix @ weights), free) for matrix, free in self.parts]
        below = sum(variance**2 / free for variance, free in shares)
        if below <= 0:
            return math.inf
        total = sum(variance for variance, _ in shares)
        return total**2 / below


def _estimate_mean_covariance(means: FloatArray, sizes: FloatArray) -> tuple[FloatArray, float]:
    """Jackknife covariance of the mean of rows, with degrees of freedom.

    Infinite for a single row. `sizes` says how much of the whole each row stands for: a large one pulls the mean, and
    is given that back.
    """
    count, statistics = means.shape
    if count < 2:
        return np.diag(np.full(statistics, math.inf)), 0.0
    remaining_shares = 1 - sizes / sizes.sum()
    residuals = (means - means.mean(axis=0)) / remaining_shares[:, None]
    products = residuals.T @ residuals
    covariance: FloatArray = (count - 1) / count * products / count**2
    return covariance, equal_units(sizes) - 1


def equal_units(sizes: FloatArray) -> float:
    """Effective number of units of unequal sizes.

    It is the number of units of one size that would vary as much, if the problems of a unit agree. A few large units
    make it small.
    """
    return float((sizes**2).sum() ** 2 / (sizes**4).sum())


def crossed_share(values: FloatArray, level: float = 0.95, sizes: FloatArray | None = None) -> tuple[float, float]:
    """Confidence interval of a share over restarts and units.

    `values` has a row per restart and a column per unit; the share is their mean. `sizes` are the numbers of problems
    of the units, by default equal.

    Wilson's, with as many independent problems as have the estimated variance. Where nothing differs (all right, all
    wrong) every unit counts as one problem.

    >>> low, high = crossed_share(np.array([[1.0, 0, 1, 0], [1, 1, 0, 0]]))
    >>> 0 <= low < 0.5 < high <= 1
    True
    """
    unit_sizes = np.ones(values.shape[1]) if sizes is None else sizes
    mean = float(values.mean())
    units = equal_units(unit_sizes)
    crossed = _with_likely_units(Crossed.of(values[:, :, None], unit_sizes), values, unit_sizes)
    itself = np.ones(1)
    variance = crossed.variance(itself)
    if not math.isfinite(variance):
        return 0.0, 1.0
    if variance < ROUNDING:
        share = Share(mean, len(unit_sizes), math.inf, units, exact=False)
    else:
        groups = crossed.degrees(itself) + 1
        effective = mean * (1 - mean) / variance
        share = Share(mean, len(unit_sizes), groups, effective, exact=False)
    low, high = share.limits(level)
    return min(mean, low), max(mean, high)


def _with_likely_units(crossed: Crossed, values: FloatArray, sizes: FloatArray) -> Crossed:
    """Shrink the variance over units towards that of undivided units.

    Undivided units are right or wrong as a whole. As in every share (`shrunk_effect`): where nearly all is right,
    that units hardly vary may be luck.
    """
    *others, (of_units, free) = crossed.parts
    mean = float(values.mean())
    units = equal_units(sizes)
    widest = mean * (1 - mean) / units
    if widest < ROUNDING or not math.isfinite(float(of_units[0, 0])):
        return crossed
    shares = values.mean(axis=1, keepdims=True)
    own_shares = shares + (values - shares) * sizes.mean() / sizes
    with_wrong = (own_shares < 1 - ROUNDING).any(axis=0).sum()
    with_right = (own_shares > ROUNDING).any(axis=0).sum()
    telling = min(int(with_wrong), int(with_right), units)
    effect = shrunk_effect(float(of_units[0, 0]) / widest, telling, units)
    shrunk = np.full((1, 1), effect * widest)
    return Crossed((*others, (shrunk, free)))


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A least-squares polynomial of ln(size).

    It is y = a + b u + c u² + …, with u = ln(x) - centre.
    """

    coefficients: FloatArray
    centre: float
    crossed: Crossed
    """Covariance of the coefficients."""

    def at(self, x: float) -> float:
        """Value of the polynomial at a training size."""
        return float(self._compute_powers(x) @ self.coefficients)

    def interval_at(self, x: float, level: float = 0.95) -> Interval:
        """Confidence interval of the polynomial's value at a training size.

        Infinite if there are fewer than three sizes, or too few runs.
        """
        return self._estimate_interval(self._compute_powers(x), level)

    def highest_interval(self, level: float = 0.95) -> Interval:
        """Confidence interval of the coefficient of the highest power.

        For a parabola it is the bend, which is zero for a line.
        """
        return self._estimate_interval(np.eye(len(self.coefficients))[-1], level)

    def is_needed(self) -> bool:
        """Whether the highest coefficient differs from zero, at 5 %."""
        highest = self.highest_interval()
        return not highest.low <= 0 <= highest.high

    def _compute_powers(self, x: float) -> FloatArray:
        """Powers of ln(x) - centre, from 0 up to the degree."""
        away = math.log(_require_positive(x)) - self.centre
        return np.array([away**power for power in range(len(self.coefficients))])

    def _estimate_interval(self, weights: FloatArray, level: float) -> Interval:
        """Confidence interval of a weighted sum of the coefficients."""
        from scipy import special

        check_level(level)
        y = float(weights @ self.coefficients)
        variance = self.crossed.variance(weights)
        degrees = self.crossed.degrees(weights)
        half = math.inf
        if degrees > 0 and math.isfinite(variance):
            quantile = float(special.stdtrit(degrees, (1 + level) / 2))
            half = quantile * math.sqrt(max(0.0, variance))
        return Interval(y - half, y + half, level, "student")


def polynomial_weights(x: Sequence[float], degree: int) -> tuple[FloatArray, float]:
    """Weights of points that give least-squares coefficients, and the centre.

    A row per point, a column per coefficient in ln(x) - centre, where the centre is the mean of ln(x).

    >>> weights, centre = polynomial_weights([1, math.e, math.e**2], 1)
    >>> (np.array([5.0, 7.0, 9.0]) @ weights).round(6).tolist(), centre
    ([7.0, 2.0], 1.0)
    """
    logs = np.log([_require_positive(size) for size in x])
    centre = float(logs.mean())
    powers = np.vander(logs - centre, degree + 1, increasing=True)
    weights = np.linalg.pinv(powers).T.astype(np.float64)
    return weights, centre


def p_slopes_differ(values: FloatArray, x: Sequence[float], sizes: FloatArray | None = None) -> float | None:
    """P-value of the hypothesis that all restarts have one slope.

    None for one restart or two sizes, which cannot tell.

    An F test: the variance between the slopes of restarts against what they would differ by if all were one. That is
    added up from two sources, as in `Crossed`: how single runs scatter around the line of their restart, once what all
    restarts have at a size is taken out (a bend is no scatter); and how units differ in their slopes from restart to
    restart. Degrees of freedom are those of the single runs alone, the fewer: Satterthwaite's reject equal slopes in up
    to .12 where two restarts at three sizes happen to scatter little.

    Parameters
    ----------
    values
        An array of (restarts, sizes, units) whose means over units are what the restarts have at the sizes.
    x
        The training sizes.
    sizes
        Numbers of problems of the units; by default equal.
    """
    from scipy import special

    restarts, size_count, units = values.shape
    if restarts < 2 or size_count < 3 or units < 2:
        return None
    logs = np.log([_require_positive(size) for size in x])
    away = logs - logs.mean()
    spread = float((away**2).sum())
    unit_sizes = np.ones(units) if sizes is None else sizes
    means = values.mean(axis=2)
    size_means = means.mean(axis=0)
    run_means = means.mean(axis=1, keepdims=True)
    residuals = means - size_means - run_means + means.mean()
    slopes = residuals @ away / spread
    between = float((slopes**2).sum()) / (restarts - 1)
    scatter = residuals - slopes[:, None] * away
    run_degrees = (restarts - 1) * (size_count - 2)
    of_runs = float((scatter**2).sum()) / run_degrees / spread
    unit_slopes = np.einsum("rsu,s->ru", values, away) / spread
    unit_means = unit_slopes.mean(axis=0)
    restart_means = unit_slopes.mean(axis=1, keepdims=True)
    slope_residuals = unit_slopes - unit_means - restart_means + unit_slopes.mean()
    remaining_shares = 1 - unit_sizes / unit_sizes.sum()
    slope_residuals = slope_residuals / remaining_shares
    slope_squares = float((slope_residuals**2).sum())
    of_units = (units - 1) / units * slope_squares / (restarts - 1) / units**2
    noise = of_runs + of_units
    if between <= ROUNDING:
        return 1.0
    if noise <= ROUNDING**2:
        return 0.0
    return float(special.fdtrc(restarts - 1, run_degrees, between / noise))
