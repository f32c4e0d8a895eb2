"""From points to curves: means over restarts with intervals, the line through them, where it arrives, and the area.

An interval of a mean draws test problems (whole groups) and restarts, both with replacement: what another test set and
other restarts would have given. The line is fitted to the single points, and its intervals come from how they scatter
around it; that all points share one test set is not in them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.metrics import Draws, LogFit, complete_groups, fit_log, leaderboard_auc, wilson
from winokit.metrics.arrays import clusters
from winokit.problem import Dataset
from winokit.training.curve_points import ACCURACY, GROUP, Point, Score

Matrix = NDArray[np.float64]
PER_CENT = 100
FEWEST_SIZES = 2


@dataclass(frozen=True)
class Level:
    """One size: the mean over its restarts, and each of them."""

    asked: int
    sizes: tuple[int, ...]
    values: tuple[float, ...]
    mean: Score

    @property
    def size(self) -> float:
        """Problems trained on, in the mean."""
        return fmean(self.sizes)

    @property
    def spread(self) -> float | None:
        """Standard deviation over restarts; None for one."""
        return stdev(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True)
class Reach:
    """The size at which a line has some accuracy, and the sizes at which that is plausible; infinite for never."""

    target: float
    size: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """One curve: a formalization on a test set, single or group accuracy."""

    dataset: str
    formalization: str
    measure: str
    levels: tuple[Level, ...]
    fit: LogFit | None = None
    """In per cent, of the logarithm of the size; None where there are fewer than two sizes above nought."""
    fitted: tuple[int, ...] = ()
    """The sizes the line was fitted to."""
    reach: Reach | None = None
    auc: Score | None = None
    """The leaderboard's area under the curve, from 0 to 1."""

    @property
    def rises(self) -> bool:
        """Whether the line rises for sure, at 95 per cent."""
        return self.fit is not None and self.fit.slope_interval().low > 0


@dataclass(frozen=True)
class Goal:
    """What curves are extrapolated to, in per cent, and from which size on the line is fitted."""

    human: float | None = 94.0
    human_group: float | None = None
    fit_from: int = 1

    def __post_init__(self) -> None:
        for name in ("human", "human_group"):
            value = getattr(self, name)
            if value is not None and not 1 < value <= PER_CENT:
                raise BadInput(f"{name}: per cent expected, such as 94.0, found {value}")

    def of(self, measure: str) -> float | None:
        """The goal of single or of group accuracy."""
        return self.human if measure == ACCURACY else self.human_group


def series_of(points: Sequence[Point], goal: Goal, tests: Iterable[Dataset] = (), seed: int = 0) -> list[Series]:
    """Every curve that the points make, in the order in which they come."""
    known = {test.card.name: test for test in tests}
    names = dict.fromkeys((point.dataset, point.formalization) for point in points)
    found = []
    for measure in (ACCURACY, GROUP):
        for dataset, formalization in names:
            own = [one for one in points if (one.dataset, one.formalization) == (dataset, formalization)]
            scored = [one for one in own if one.score(measure) is not None]
            if scored:
                found.append(_series(measure, scored, goal, known.get(dataset), seed))
    return sorted(found, key=lambda one: list(names).index((one.dataset, one.formalization)))


def _series(measure: str, points: Sequence[Point], goal: Goal, test: Dataset | None, seed: int) -> Series:
    units = None if test is None else Units.of(test, measure)
    asked = sorted({point.asked for point in points})
    levels = [_level([one for one in points if one.asked == size], measure, units, seed) for size in asked]
    first = points[0]
    series = Series(first.dataset, first.formalization, measure, tuple(levels))
    series = replace(series, auc=_auc(points, series, units, seed))
    some = [(point.size, _value(point, measure)) for point in points if point.size >= max(1, goal.fit_from)]
    if len({size for size, _ in some}) < FEWEST_SIZES:
        return series
    fit = fit_log([size for size, _ in some], [PER_CENT * value for _, value in some])
    target = goal.of(measure)
    fitted = tuple(sorted({size for size, _ in some}))
    return replace(series, fit=fit, fitted=fitted, reach=None if target is None else reach_of(fit, target))


def reach_of(fit: LogFit, target: float) -> Reach:
    """Where a line reaches a target; one that does not rise never does, and has no interval to speak of."""
    if fit.slope <= 0:
        return Reach(target, math.inf, math.inf, math.inf)
    interval = fit.reaches_interval(target)
    return Reach(target, fit.reaches(target), interval.low, interval.high)


def _level(points: Sequence[Point], measure: str, units: Units | None, seed: int) -> Level:
    values = tuple(_value(point, measure) for point in points)
    first = points[0].score(measure)
    mean = Score(fmean(values), chance=first.chance if first else None)
    if units is not None:
        table = np.stack([units.sums(point) for point in points])
        low, high = crossed_interval(table, units.counts, Draws(seed))
        mean = replace(mean, low=low, high=high, n=len(units.counts) if measure == GROUP else int(units.counts.sum()))
    return Level(points[0].asked, tuple(point.size for point in points), values, mean)


def _auc(points: Sequence[Point], series: Series, units: Units | None, seed: int) -> Score | None:
    """The area under the curve over all sizes above nought: a weighted sum of accuracies, drawn like a mean."""
    levels = [level for level in series.levels if level.size > 0]
    if len(levels) < FEWEST_SIZES:
        return None
    sizes = [level.size for level in levels]
    value = leaderboard_auc([level.mean.value for level in levels], sizes)
    guess = levels[0].mean.chance
    weights = [leaderboard_auc(row, sizes) for row in np.eye(len(sizes)).tolist()]
    weighted = {level.asked: weight for level, weight in zip(levels, weights, strict=True)}
    restarts = sorted({point.restart for point in points})
    own = {restart: [one for one in points if one.restart == restart and one.asked in weighted] for restart in restarts}
    if units is None or any(len(some) != len(levels) for some in own.values()):
        return Score(value, chance=guess)
    areas = [np.sum([weighted[one.asked] * units.sums(one) for one in own[r]], axis=0) for r in restarts]
    return Score(value, *crossed_interval(np.stack(areas), units.counts, Draws(seed)), len(restarts), guess)


@dataclass(frozen=True)
class Units:
    """What is drawn from a test set: groups and problems alone, or, for group accuracy, the complete groups."""

    number: NDArray[np.int64]
    """Of each problem its unit; -1 for none."""
    counts: Matrix
    """Problems in a unit; 1 where the unit itself is right or wrong."""
    together: bool

    @classmethod
    def of(cls, test: Dataset, measure: str) -> Units | None:
        """The units of the problems with an answer; None where there is nothing to draw."""
        groups = [problem.group for problem in test if problem.answer is not None]
        if measure == ACCURACY:
            number = clusters(groups)
            return cls(number, np.bincount(number).astype(np.float64), False)
        members = complete_groups(groups)
        number = np.full(len(groups), -1)
        for unit, rows in enumerate(members.values()):
            number[rows] = unit
        return cls(number, np.ones(len(members)), True) if members else None

    def sums(self, point: Point) -> Matrix:
        """Of each unit how much of it is right."""
        assert point.right is not None
        inside = self.number >= 0
        right: Matrix = np.bincount(self.number[inside], point.right[inside], len(self.counts)).astype(np.float64)
        if not self.together:
            return right
        whole: Matrix = (right == np.bincount(self.number[inside], minlength=len(self.counts))).astype(np.float64)
        return whole


def crossed_interval(table: Matrix, counts: Matrix, how: Draws) -> tuple[float, float]:
    """Interval of a mean over restarts (rows) and test units (columns), both drawn with replacement.

    >>> low, high = crossed_interval(np.array([[1.0, 0, 1, 0], [1, 1, 0, 0]]), np.ones(4), Draws(0))
    >>> 0 <= low < 0.5 < high <= 1
    True
    """
    rng = np.random.default_rng(how.seed)
    restarts, units = table.shape
    drawn = rng.multinomial(units, np.full(units, 1 / units), size=how.draws)
    shares = (drawn @ table.T) / (drawn @ counts)[:, None]
    often = rng.multinomial(restarts, np.full(restarts, 1 / restarts), size=how.draws)
    means = (shares * often).sum(axis=1) / restarts
    low, high = np.quantile(means, ((1 - how.level) / 2, (1 + how.level) / 2)).tolist()
    if low < high:
        return low, high
    # Every draw alike, all right or all wrong: certainty is not what that shows.
    right = round(float(table.sum() / restarts / counts.sum()) * units, 6)
    return wilson(math.floor(right), units).low, wilson(math.ceil(right), units).high


def _value(point: Point, measure: str) -> float:
    score = point.score(measure)
    assert score is not None
    return score.value
