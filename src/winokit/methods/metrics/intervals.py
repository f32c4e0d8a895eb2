"""Intervals and tests of shares, over units, without random draws.

Twins are not independent, and neither are problems of one text or template: what varies is the unit (`Units`). Four
units give the wide intervals that they deserve.

- A share of units that stand alone, each right or wrong (whole groups, problems without twins): Blaker's exact interval
  (Blaker, 2000, "Confidence curves and improved exact confidence intervals for discrete distributions"), which covers
  at least what it says and lies inside Clopper and Pearson's.
- Any other share (problems with twins, credits): Wilson's score interval with an effective number of problems, from the
  variance between groups (Dean and Pagano, 2015, "Evaluating confidence interval methods for binomial proportions in
  clustered surveys"), and Student's quantile for the number of groups; groups of very different sizes count as few.
- A difference of two shares: Newcombe's hybrid of their two score intervals, with the correlation that shared groups
  give them (Newcombe, 1998; Zou and Donner, 2008). It is never empty.

`docs/evidence/statistics.md` has their measured coverage.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from winokit.errors import BadInput
from winokit.methods import arrays
from winokit.units import Units, require_units

LEVEL = 0.95
NORMAL = 1.959964
"""Standard errors on either side of a normal interval of that level."""
PRIOR_UNITS = 1.0
"""A share's variance is shrunk towards that of units which are right or wrong as a whole, as if by this many units."""
EFFECT_OF_PAIRS = 0.5
"""Variance of units of two independent problems, relative to units that are right or wrong as a whole."""
LEAST_EFFECT = 1 / 64
"""Units that vary less count as varying so much, where the prior depends on it."""
PRIOR_GROUPS = 3.0
"""The correlation of two shares is shrunk towards 0 as if by this many units, since few may say anything by luck."""
MOST_CANDIDATES = 20
"""One over any number up to this one is what a guess gets for an abstention."""
GRID = 128
FAR = 1e6
"""So many standard errors are no limit at all."""
LEAST = 1e-9
"""P-values below this are zero."""
BLOCK = 10_000
"""Products of vectors up to this long BLAS makes in one thread."""
ROUNDING = 1e-12
"""Differences below this are no differences."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and the method that computed it."""

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, slots=True)
class Share:
    """A mean of numbers from 0 to 1, and its uncertainty."""

    value: float
    n: int
    groups: float
    """Effective number of units: one large unit among many small ones makes few."""
    effective: float
    """Effective number of independent problems."""
    exact: bool
    """Whether every unit is one flag, right or wrong, so that the binomial distribution is exact."""

    @property
    def design_effect(self) -> float:
        """Factor by which twins inflate the variance of the share.

        Below 1 if they deflate it.
        """
        return self.n / self.effective

    def interval(self, level: float = LEVEL) -> Interval:
        """Confidence interval of the share."""
        check_level(level)
        if self.exact:
            trials = round(self.effective)
            low, high = _find_blaker_limits(round(self.value * trials), trials, level)
            return Interval(low, high, level, "Blaker's exact")
        return Interval(*self.limits(level), level, "Wilson's, effective size")

    def p(self, chance: float) -> float:
        """Two-sided p-value of the hypothesis that the share is `chance`.

        `interval` has exactly the shares that this test does not reject.
        """
        if not 0 < chance < 1:
            return 1.0 if abs(self.value - chance) <= ROUNDING else 0.0
        if self.exact:
            trials = round(self.effective)
            right = round(self.value * trials)
            p_values = _compute_acceptability(right, trials, np.array([chance]))
            return float(p_values[0])
        if self.groups <= 1:
            return 1.0
        from scipy import special

        error = math.sqrt(chance * (1 - chance) / self.effective)
        distance = abs(self.value - chance) / error
        return float(2 * special.stdtr(self.groups - 1, -distance))

    def limits(self, level: float) -> tuple[float, float]:
        """Wilson's limits, with Student's quantile for the number of units."""
        quantile = _find_quantile(level, self.groups)
        if quantile > FAR:
            return 0.0, 1.0
        part = quantile**2 / self.effective
        middle = (self.value + part / 2) / (1 + part)
        variance = self.value * (1 - self.value) + part / 4
        half = math.sqrt(part * variance) / (1 + part)
        return max(middle - half, 0.0), min(middle + half, 1.0)


def share(credits: arrays.Values, units: Units) -> Share:
    """Share of right answers or credits, with its uncertainty over units.

    `credits` are flags or numbers from 0 to 1, and `units` says which of them vary together, as twins do. Raises
    BadInput for numbers beyond 0 and 1.
    """
    require_units(units, len(credits))
    values = arrays.as_values(credits)
    if values.min() < 0 or values.max() > 1:
        raise BadInput(f"expected numbers from 0 to 1 for a share, found {values.min():g} to {values.max():g}")
    n = len(values)
    mean = float(values.mean())
    if _are_like_single_flags(values, units):
        return Share(mean, n, units.count, float(units.count), True)
    sizes = units.sizes.astype(np.float64)
    # Units that agree within themselves vary with their size: this many equal ones would vary as much.
    equal_units = float((sizes**2).sum() ** 2 / (sizes**4).sum())
    widest = mean * (1 - mean) / equal_units
    if widest < ROUNDING:  # all right or all wrong: each unit counts as one problem, on the wide side
        return Share(mean, n, equal_units, equal_units, False)
    # How much less units vary than if their members were always right or wrong together. Only units that differ from
    # the rest say so, and a few of them may by luck. How often a problem is repeated within its unit does not matter.
    telling = min(_count_telling_units(values, units), equal_units)
    unit_effect = shrunk_effect(_estimate_mean_variance(values, units, mean) / widest, telling, equal_units)
    return Share(mean, n, equal_units, equal_units / unit_effect, False)


def shrunk_effect(unit_effect: float, telling: float, unit_count: float) -> float:
    """Variance between units relative to undivided ones, shrunk towards 1.

    1 means that units are right or wrong as a whole. `telling` is the number of units that say something about the
    variance, out of `unit_count`; the fewer, the stronger is the shrinkage.

    A large unit that is wrong as a whole may be so rare that the sample has none, and would move the share far more
    than single wrong answers do. So the prior grows as the effect is smaller than that of pairs, as far as units say
    nothing.

    >>> shrunk_effect(0.5, 3, 60), shrunk_effect(0.5, 0, 60), shrunk_effect(1.5, 3, 60)
    (0.625, 1.0, 1.5)
    >>> round(shrunk_effect(1 / 12, 3, 60), 2), round(shrunk_effect(1 / 12, 60, 60), 2)
    (0.57, 0.1)
    """
    if unit_effect >= 1:
        return unit_effect
    untold_share = 1 - telling / unit_count
    bounded_effect = min(max(unit_effect, LEAST_EFFECT), EFFECT_OF_PAIRS)
    halvings = math.log2(EFFECT_OF_PAIRS / bounded_effect)
    prior_units = PRIOR_UNITS + halvings * untold_share
    return (telling * unit_effect + prior_units) / (telling + prior_units)


def _count_telling_units(values: arrays.FloatArray, units: Units) -> float:
    """Number of units with a wrong answer or with a right one.

    The smaller of the two numbers. A credit between 0 and 1 counts in part: of several samples or runs, some were
    wrong. What a guess gets for an abstention counts as neither. Units that are right but for abstentions vary, and
    say as little of those that would be wrong as units that are right throughout.
    """
    candidates = 1 / np.maximum(values, 1 / (MOST_CANDIDATES + 1))
    is_whole = np.abs(candidates - np.round(candidates)) < ROUNDING * candidates
    is_guess = is_whole & (candidates > 1.5) & (candidates < MOST_CANDIDATES + 0.5)
    wrongness = units.largest(np.where(is_guess, 0.0, 1 - values))
    rightness = units.largest(np.where(is_guess, 0.0, values))
    return float(min(wrongness.sum(), rightness.sum()))


def _are_like_single_flags(values: arrays.FloatArray, units: Units) -> bool:
    """Whether units have one size, and are right or wrong throughout.

    Then each is one flag, and the binomial distribution is exact.
    """
    if len(set(units.sizes.tolist())) > 1:
        return False
    unit_means = units.sums(values) / units.sizes
    return bool(((unit_means == 0) | (unit_means == 1)).all())


def _estimate_mean_variance(values: arrays.FloatArray, units: Units, mean: float) -> float:
    """Variance of a mean over rows, by leaving out each unit.

    A large unit pulls the mean, and the correction makes up for that. 0 for a single unit.
    """
    if units.count < 2:
        return 0.0
    n = len(values)
    residuals = units.sums(values - mean) / (1 - units.sizes / n)
    squares = _compute_dot(residuals, residuals)
    return float((units.count - 1) / units.count * squares / n**2)


def share_interval(credits: arrays.Values, units: Units, level: float = LEVEL) -> Interval:
    """Confidence interval of a share of problems, over units.

    `credits` are flags or numbers from 0 to 1, as expected accuracy gives them.
    """
    return share(credits, units).interval(level)


def mean_interval(values: arrays.Values, units: Units, level: float = LEVEL) -> Interval:
    """Student's confidence interval of any mean over problems, over units.

    Infinite if there is one unit.
    """
    require_units(units, len(values))
    check_level(level)
    sizes = units.sizes.astype(np.float64)
    mean = float(arrays.as_values(values).mean())
    equal_units = float((sizes**2).sum() ** 2 / (sizes**4).sum())
    half = math.inf
    if equal_units > 1:
        half = _find_quantile(level, equal_units) * standard_error(values, units)
    return Interval(mean - half, mean + half, level, "Student's, over units")


def standard_error(values: arrays.Values, units: Units) -> float:
    """Standard error of a mean over problems, estimated over units."""
    require_units(units, len(values))
    scores = arrays.as_values(values)
    return math.sqrt(_estimate_mean_variance(scores, units, float(scores.mean())))


@dataclass(frozen=True, slots=True)
class Gap:
    """Difference of two shares, which may have units in common."""

    first: Share
    second: Share
    correlation: float

    @property
    def value(self) -> float:
        """First share minus the second."""
        return self.first.value - self.second.value

    def interval(self, level: float = LEVEL) -> Interval:
        """Newcombe's confidence interval of the difference."""
        check_level(level)
        return Interval(*self._compute_limits(level), level, "Newcombe's")

    def p(self, expected: float = 0.0) -> float:
        """Two-sided p-value of the hypothesis that the difference is `expected`.

        It is the level at which the interval begins to exclude that value.
        """
        from scipy import optimize

        above = self.value - expected
        if abs(above) <= ROUNDING:
            return 1.0

        def room(p: float) -> float:
            low, high = self._compute_limits(1 - p)
            return low - expected if above > 0 else expected - high

        if room(LEAST) > 0:
            return 0.0
        if room(1 - LEAST) <= 0:
            return 1.0
        return float(optimize.brentq(room, LEAST, 1 - LEAST))

    def _compute_limits(self, level: float) -> tuple[float, float]:
        """Ends of the interval of the difference."""
        first_low, first_high = self.first.limits(level)
        second_low, second_high = self.second.limits(level)
        down = self._join_distances(self.first.value - first_low, second_high - self.second.value)
        up = self._join_distances(first_high - self.first.value, self.second.value - second_low)
        return max(self.value - down, -1.0), min(self.value + up, 1.0)

    def _join_distances(self, one: float, other: float) -> float:
        """Distance of the difference's limit, from the distances of two shares' limits."""
        square = one**2 - 2 * self.correlation * one * other + other**2
        return math.sqrt(max(square, 0.0))


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two shares of a gap, with deviations by unit."""

    share: Share
    residuals: arrays.FloatArray
    """By unit of the whole table; 0 for a unit that has no problem on this side."""
    is_present: arrays.BoolArray
    """Whether each unit has a problem on this side."""

    @classmethod
    def of(cls, values: arrays.FloatArray, units: Units, rows: arrays.BoolArray) -> "_Side":
        """Compute the share over the rows whose flag is true."""
        side_share = share(values[rows], units.take(rows))
        residuals = units.sums(np.where(rows, values - side_share.value, 0.0))
        return cls(side_share, residuals, units.sums(rows.astype(np.float64)) > 0)


def gap(values: arrays.Values, first: arrays.Flags, second: arrays.Flags, units: Units) -> Gap:
    """Share over a first subset of problems minus that over a second.

    `first` and `second` flag the rows of the subsets. A unit may have rows in both.
    """
    require_units(units, len(values))
    arrays.same_length(values=values, first=first, second=second)
    scores = arrays.as_values(values)
    sides = []
    for side_flags, which in ((first, "first"), (second, "second")):
        flags = arrays.as_flags(side_flags)
        if not flags.any():
            raise BadInput(f"a gap needs problems on both sides, and none is on the {which}")
        sides.append(_Side.of(scores, units, flags))
    return _build_gap(sides[0], sides[1])


def paired_gap(first: arrays.Values, second: arrays.Values, units: Units) -> Gap:
    """Mean difference between two scores of the same problems.

    Scores are from 0 to 1.
    """
    require_units(units, len(first))
    arrays.same_length(first=first, second=second)
    everyone = np.ones(len(first), np.bool_)
    first_side = _Side.of(arrays.as_values(first), units, everyone)
    second_side = _Side.of(arrays.as_values(second), units, everyone)
    return _build_gap(first_side, second_side)


def _build_gap(first: _Side, second: _Side) -> Gap:
    """Gap of two shares, with the correlation that common units cause.

    The correlation is shrunk towards 0.
    """
    unit_count = int((first.is_present | second.is_present).sum())
    first_square = _compute_dot(first.residuals, first.residuals)
    second_square = _compute_dot(second.residuals, second.residuals)
    spread = math.sqrt(first_square * second_square)
    correlation = 0.0
    if spread > ROUNDING:
        correlation = _compute_dot(first.residuals, second.residuals) / spread
    return Gap(first.share, second.share, correlation * unit_count / (unit_count + PRIOR_GROUPS))


def _compute_dot(one: arrays.FloatArray, other: arrays.FloatArray) -> float:
    """Dot product of two vectors, computed in blocks.

    So it does not depend on the number of BLAS threads, which would also wait in a loop after it.
    """
    products = []
    for start in range(0, len(one), BLOCK):
        block = slice(start, start + BLOCK)
        products.append(float(one[block] @ other[block]))
    return sum(products)


@lru_cache(maxsize=4096)
def _find_quantile(level: float, groups: float) -> float:
    """Student's quantile for this confidence and number of units.

    Infinite for one unit.
    """
    from scipy import special

    if groups <= 1 + ROUNDING:
        return math.inf
    return float(special.stdtrit(groups - 1, (1 + level) / 2))


def check_level(level: float) -> None:
    """Raise BadInput unless a confidence level is between 0 and 1."""
    if not 0 < level < 1:
        raise BadInput(f"expected a level between 0 and 1, found {level}")


def wilson(right: int, n: int, level: float = LEVEL) -> Interval:
    """Wilson's score interval of `right` among `n` independent things.

    >>> interval = wilson(163, 284)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.516, 0.63)
    """
    from scipy import stats

    if n < 1 or not 0 <= right <= n:
        raise BadInput(f"expected right answers among one problem or more, found {right} of {n}")
    check_level(level)
    interval = stats.binomtest(int(right), int(n)).proportion_ci(level, method="wilson")
    return Interval(float(interval.low), float(interval.high), level, "wilson")


def _compute_acceptability(right: int, n: int, shares: arrays.FloatArray) -> arrays.FloatArray:
    """Blaker's two-sided p-value of each share in an array.

    It is the smaller tail, and as much of the other as is no likelier.
    """
    lower = _compute_p_at_most(right, n, shares)
    upper = _compute_p_at_most(n - right, n, 1 - shares)
    tail = np.minimum(lower, upper)
    # One rule for both sides: seen from the larger tail, the other one begins at zero.
    side = np.where(upper <= lower, shares, 1 - shares)
    other = _find_largest_tail(n, side, tail * (1 + 1e-9))
    return np.minimum(tail + other, 1.0)


def _compute_p_at_most(count: int | arrays.FloatArray, n: int, shares: arrays.FloatArray) -> arrays.FloatArray:
    """Probability of at most `count` right answers, for each share."""
    from scipy import special

    counts = np.asarray(count, np.float64)
    sums = special.bdtr(np.maximum(counts, 0), n, shares)
    chances: arrays.FloatArray = np.where(counts < 0, 0.0, sums)
    return chances


def _find_largest_tail(n: int, shares: arrays.FloatArray, room: arrays.FloatArray) -> arrays.FloatArray:
    """Largest lower tail probability that is at most `room`, for each share."""
    from scipy import special

    counts = np.floor(special.bdtrik(room, n, shares)) + 1
    counts = np.where(np.isnan(counts), -1.0, np.clip(counts, -1, n))
    for _ in range(2):  # the inverse may be one off on either side
        counts = np.where(_compute_p_at_most(counts, n, shares) <= room, counts, counts - 1)
    tail = _compute_p_at_most(counts, n, shares)
    return np.where(tail <= room, tail, 0.0)


@lru_cache(maxsize=4096)
def _find_blaker_limits(right: int, n: int, level: float) -> tuple[float, float]:
    """Limits of the shares that Blaker's test does not reject.

    They are searched for inside Clopper and Pearson's interval.
    """
    from scipy import special

    tail = (1 - level) / 2
    low = 0.0
    high = 1.0
    if right > 0:
        lowest = float(special.betaincinv(right, n - right + 1, tail))
        low = _find_edge(right, n, level, lowest, right / n)
    if right < n:
        highest = float(special.betaincinv(right + 1, n - right, 1 - tail))
        high = _find_edge(right, n, level, highest, right / n)
    return low, high


def _find_edge(right: int, n: int, level: float, outside: float, inside: float) -> float:
    """Last share that Blaker's test rejects, between two shares.

    `outside` is a rejected share, `inside` one that is not.
    """
    for _ in range(2):
        shares = np.linspace(outside, inside, GRID)
        inside_index = int(np.argmax(_compute_acceptability(right, n, shares) > 1 - level))
        outside = float(shares[max(inside_index - 1, 0)])
        inside = float(shares[inside_index])
    return outside
