"""From points to curves: means over restarts with intervals, the line through them, where it arrives, and the area.

Every interval says what another test set (whole groups) *and* other restarts would have given (`metrics/crossed.py`):
a mean, an area, a slope and a line's height are all weighted sums of one table of restarts by test units. Points from a
file come without predictions; a line's intervals are then from how they scatter around it alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.methods.metrics import LogFit, clusters, complete_groups, fit_log, leaderboard_auc
from winokit.methods.metrics.crossed import Crossed, crossed_share
from winokit.problem import Dataset
from winokit.stages.curve.points import ACCURACY, GROUP, CurvePoint, PointScore

Matrix = NDArray[np.float64]
ScoredPoint = tuple[CurvePoint, float]
"""A point and its single or group accuracy."""
PER_CENT = 100
FEWEST_SIZES = 2


@dataclass(frozen=True)
class CurveLevel:
    """One size: the mean over its restarts, and each of them."""

    asked: int
    sizes: tuple[int, ...]
    values: tuple[float, ...]
    mean: PointScore

    @property
    def size(self) -> float:
        """Problems trained on, in the mean."""
        return fmean(self.sizes)

    @property
    def spread(self) -> float | None:
        """Standard deviation over restarts; None for one."""
        return stdev(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True)
class CurveReach:
    """The size at which a line has some accuracy, and the sizes at which that is plausible; infinite for never."""

    target: float
    size: float
    low: float
    high: float


@dataclass(frozen=True)
class CurveSeries:
    """One curve: a formalization on a test set, single or group accuracy."""

    dataset: str
    formalization: str
    measure: str
    levels: tuple[CurveLevel, ...]
    fit: LogFit | None = None
    """In per cent, of the logarithm of the size; None where there are fewer than two sizes above nought."""
    fitted: tuple[int, ...] = ()
    """The sizes the line was fitted to."""
    reach: CurveReach | None = None
    auc: PointScore | None = None
    """The leaderboard's area under the curve, from 0 to 1."""

    @property
    def sure(self) -> bool:
        """Whether there is enough to say how sure the line is."""
        return self.fit is not None and math.isfinite(self.fit.slope_interval().low)

    @property
    def restart_slopes(self) -> list[float]:
        """The slope of each restart's own line; nothing where restarts are not complete."""
        trained = [level for level in self.levels if level.size > 0]
        counts = {len(level.values) for level in trained}
        if len(trained) < FEWEST_SIZES or len(counts) != 1:
            return []
        runs = zip(*(zip(level.sizes, level.values, strict=True) for level in trained), strict=True)
        return [fit_log(*zip(*run, strict=True)).slope for run in runs]

    @property
    def rises(self) -> bool:
        """Whether the line rises for sure, at 95 per cent."""
        return self.fit is not None and self.fit.slope_interval().low > 0


@dataclass(frozen=True)
class CurveGoal:
    """What curves are extrapolated to, in per cent, and from which size on the line is fitted."""

    human: float | None = 94.0
    human_group: float | None = None
    fit_from: int = 1

    def __post_init__(self) -> None:
        for name in ("human", "human_group"):
            value = getattr(self, name)
            if value is not None and not 1 < value <= PER_CENT:
                raise BadInput(f"{name}: per cent expected, such as 94.0, found {value}")


def series_of(points: Sequence[CurvePoint], goal: CurveGoal, tests: Iterable[Dataset] = ()) -> list[CurveSeries]:
    """Every curve that the points make, in the order in which they come, single accuracy before group accuracy."""
    known = {test.card.name: test for test in tests}
    curves: dict[tuple[str, str], list[CurvePoint]] = {}
    for point in points:
        curves.setdefault((point.dataset, point.formalization), []).append(point)
    return [
        _series(measure, scored, goal, known.get(dataset))
        for (dataset, _), own in curves.items()
        for measure in (ACCURACY, GROUP)
        if (scored := [(point, score.value) for point in own if (score := point.score(measure)) is not None])
    ]


def _series(measure: str, scored: Sequence[ScoredPoint], goal: CurveGoal, test: Dataset | None) -> CurveSeries:
    units = None if test is None else CurveUnits.of(test, measure)
    asked = sorted({point.asked for point, _ in scored})
    levels = tuple(_level([one for one in scored if one[0].asked == size], measure, units) for size in asked)
    first, _ = scored[0]
    area = _auc([point for point, _ in scored], levels, units)
    series = CurveSeries(first.dataset, first.formalization, measure, levels, auc=area)
    fitted = [(point, value) for point, value in scored if point.size >= max(1, goal.fit_from)]
    sizes = sorted({point.size for point, _ in fitted})
    if len(sizes) < FEWEST_SIZES:
        return series
    fit, target = _fit(fitted, units), goal.human if measure == ACCURACY else goal.human_group
    return replace(series, fit=fit, fitted=tuple(sizes), reach=None if target is None else reach_of(fit, target))


def _fit(scored: Sequence[ScoredPoint], units: CurveUnits | None) -> LogFit:
    """The line through all points, as sure as restarts and test units let it be."""
    sizes = [point.size for point, _ in scored]
    fit = fit_log(sizes, [PER_CENT * value for _, value in scored])
    # By least squares the height at the centre and the slope are weighted sums of the points.
    away = np.log(sizes) - fit.centre
    weights = PER_CENT * np.stack([np.full(len(sizes), 1 / len(sizes)), away / (away**2).sum()], axis=1)
    table = None if units is None else units.by_restart([point for point, _ in scored], weights)
    if table is None:
        return fit
    there, _, slope = fit.variance
    crossed = Crossed.of(table, scatter=(np.diag([there, slope]), int(fit.degrees)))
    (there, both), (_, slope) = crossed.covariance.tolist()
    return replace(fit, variance=(there, both, slope), degrees=crossed.degrees(1))


def reach_of(fit: LogFit, target: float) -> CurveReach:
    """Where a line reaches a target; one that does not rise never does, and has no interval to speak of."""
    if fit.slope <= 0:
        return CurveReach(target, math.inf, math.inf, math.inf)
    interval = fit.reaches_interval(target)
    return CurveReach(target, fit.reaches(target), interval.low, interval.high)


def _level(scored: Sequence[ScoredPoint], measure: str, units: CurveUnits | None) -> CurveLevel:
    points, values = [point for point, _ in scored], tuple(value for _, value in scored)
    guesses = [score.chance for point in points if (score := point.score(measure)) and score.chance is not None]
    mean = PointScore(fmean(values), chance=fmean(guesses) if guesses else None)
    if units is not None:
        low, high = crossed_share(np.stack([units.shares(point) for point in points]))
        mean = replace(mean, low=low, high=high, n=len(units.counts) if measure == GROUP else int(units.counts.sum()))
    return CurveLevel(points[0].asked, tuple(point.size for point in points), values, mean)


def _auc(points: Sequence[CurvePoint], levels: Sequence[CurveLevel], units: CurveUnits | None) -> PointScore | None:
    """The area under the curve over all sizes above nought: a weighted sum of accuracies."""
    levels = [level for level in levels if level.size > 0]
    if len(levels) < FEWEST_SIZES:
        return None
    sizes = [level.size for level in levels]
    area = PointScore(leaderboard_auc([level.mean.value for level in levels], sizes), chance=levels[0].mean.chance)
    weights = [leaderboard_auc(row, sizes) for row in np.eye(len(sizes)).tolist()]
    weighted = {level.asked: weight / len(level.values) for level, weight in zip(levels, weights, strict=True)}
    own = [point for point in points if point.asked in weighted]
    table = None if units is None else units.by_restart(own, np.array([[weighted[point.asked]] for point in own]))
    if table is None:
        return area
    low, high = crossed_share(table[:, :, 0])
    return replace(area, low=low, high=high, n=len(table))


@dataclass(frozen=True)
class CurveUnits:
    """What is drawn from a test set: groups and problems alone, or, for group accuracy, the complete groups."""

    number: NDArray[np.int64]
    """Of each problem its unit; -1 for none."""
    counts: Matrix
    """Problems in a unit; 1 where the unit itself is right or wrong."""
    together: bool

    @classmethod
    def of(cls, test: Dataset, measure: str) -> CurveUnits | None:
        """The units of the problems with an answer; None where there is nothing to draw."""
        answered = [row for row, problem in enumerate(test) if problem.answer is not None]
        if measure == ACCURACY:
            number = clusters(np.array(test.clusters)[answered])
            return cls(number, np.bincount(number).astype(np.float64), False)
        sizes = {name: len(group) for name, group in test.groups.items()}
        members = complete_groups([test[row].group for row in answered], sizes)
        number = np.full(len(answered), -1)
        for unit, rows in enumerate(members.values()):
            number[rows] = unit
        return cls(number, np.ones(len(members)), True) if members else None

    def shares(self, point: CurvePoint) -> Matrix:
        """A number for each unit, whose plain mean is the point's share and whose spread is that of the share.

        Units of different sizes weigh by their problems, so that each adds what it has more than the share gives it.
        """
        assert point.right is not None
        inside = self.number >= 0
        right = np.bincount(self.number[inside], point.right[inside], len(self.counts)).astype(np.float64)
        if self.together:
            right = (right == np.bincount(self.number[inside], minlength=len(self.counts))).astype(np.float64)
        share = right.sum() / self.counts.sum()
        return np.asarray(share + (right - share * self.counts) / self.counts.mean())

    def by_restart(self, points: Sequence[CurvePoint], weights: Matrix) -> Matrix | None:
        """Weighted sums of points as an array of (restarts, units, sums), whose means over the first two they are.

        `weights` has a row for each point and a column for each sum. None where a restart lacks a size.
        """
        restarts = sorted({point.restart for point in points})
        asked = [sorted(point.asked for point in points if point.restart == restart) for restart in restarts]
        if any(sizes != asked[0] for sizes in asked):
            return None
        table = np.zeros((len(restarts), len(self.counts), weights.shape[1]))
        for point, row in zip(points, weights, strict=True):
            table[restarts.index(point.restart)] += len(restarts) * self.shares(point)[:, None] * row
        return table
