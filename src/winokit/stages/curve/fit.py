"""The points of a learning curve, and from them curves: means over restarts with intervals, lines, areas.

A point is one training run. Every interval says what another test set (whole groups) *and* other restarts would have
given (`metrics/curve.py`): a mean, an area, a slope and a line's height are all weighted sums of one table of restarts
by test units.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.files import csv_bytes, write_whole
from winokit.methods.arrays import clusters
from winokit.methods.metrics.curve import Crossed, LogFit, crossed_share, fit_log, leaderboard_auc
from winokit.methods.metrics.groups import all_right
from winokit.problem import Dataset, grouped
from winokit.results import Metric
from winokit.settings import Help, Settings

SIZE, ACCURACY, GROUP = "size", "accuracy", "group_accuracy"
COLUMNS = (
    *("dataset", "formalization", "asked", SIZE, "restart", "seed"),
    *(ACCURACY, "low", "high", "n", "chance"),
    *(GROUP, "group_low", "group_high", "groups", "group_chance", "abstained", "warnings"),
)
Matrix = NDArray[np.float64]
PER_CENT = 100
FEWEST_SIZES = 2
PROTOCOL = "curve"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One size in one restart."""

    dataset: str
    """The test set."""
    formalization: str
    asked: int
    size: int
    """What was trained on: at most what was asked, since groups are whole."""
    restart: int
    seed: int
    accuracy: Metric
    right: NDArray[np.bool_] = field(compare=False, repr=False)
    """Of each problem whether it is right, in the test set's order."""
    group_accuracy: Metric | None = None
    abstained: float = 0.0
    warnings: tuple[str, ...] = ()

    def score(self, measure: str) -> Metric | None:
        """Its accuracy or its group accuracy."""
        return self.accuracy if measure == ACCURACY else self.group_accuracy


class ScoredPoint(NamedTuple):
    """A point with its single or its group accuracy."""

    point: CurvePoint
    score: Metric
    shares: Matrix
    """As of `unit_shares`."""


@dataclass(frozen=True)
class CurveLevel:
    """One size: the mean over its restarts, and each of them."""

    asked: int
    sizes: tuple[int, ...]
    values: tuple[float, ...]
    mean: Metric

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
    """In per cent, of the logarithm of the size; None where there are fewer than two sizes above zero."""
    fitted: tuple[int, ...] = ()
    """The sizes the line was fitted to."""
    reach: CurveReach | None = None
    auc: Metric | None = None
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


@dataclass(frozen=True)
class CurveGoal(Settings):
    """What curves are extrapolated to, in per cent, and from which size on the line is fitted."""

    human: Annotated[float | None, Help("Human accuracy in per cent, to which the line is extrapolated.")] = 94.0
    human_group: Annotated[float | None, Help("The same for group accuracy. Default: no extrapolation.")] = None
    fit_from: Annotated[int, Help("Fit the line only to sizes from this one on.", least=1)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("human", "human_group"):
            value = getattr(self, name)
            if value is not None and not 1 < value <= PER_CENT:
                raise BadInput(f"{name}: per cent expected, such as 94.0, found {value}")


def series_of(points: Sequence[CurvePoint], goal: CurveGoal, tests: Iterable[Dataset]) -> list[CurveSeries]:
    """Every curve that the points make, in the order in which they come, single accuracy before group accuracy."""
    known = {test.card.name: test for test in tests}
    curves: dict[tuple[str, str, str], list[ScoredPoint]] = {}
    for point, measure in product(points, (ACCURACY, GROUP)):
        score = point.score(measure)
        if score is not None:
            shares = unit_shares(known[point.dataset], measure, point.right)
            named = point.dataset, point.formalization, measure
            curves.setdefault(named, []).append(ScoredPoint(point, score, shares))
    names = [curve[:2] for curve in curves]
    ordered = sorted(curves, key=lambda curve: (names.index(curve[:2]), curve[2]))
    return [_series(curve[2], curves[curve], goal) for curve in ordered]


def unit_shares(test: Dataset, measure: str, right: NDArray[np.bool_]) -> Matrix:
    """A number per unit, whose plain mean is the share of problems (or groups) right and whose spread is the share's.

    Units are what is drawn from a test set: groups and problems alone, or, for group accuracy, the complete groups.
    Those of different sizes weigh by their problems, so that each adds what it has more than the share gives it.
    """
    answered = [row for row, problem in enumerate(test) if problem.answer is not None]
    if measure == GROUP:
        sizes = {name: len(members) for name, members in test.groups.items()}
        totals = np.asarray(all_right(right, [test[row].group for row in answered], sizes), np.float64)
        counts = np.ones(len(totals))
    else:
        number = clusters(np.array(test.clusters)[answered])
        totals, counts = np.asarray(np.bincount(number, right)), np.asarray(np.bincount(number), np.float64)
    share = totals.sum() / counts.sum()
    return np.asarray(share + (totals - share * counts) / counts.mean())


def _series(measure: str, scored: Sequence[ScoredPoint], goal: CurveGoal) -> CurveSeries:
    first, asked = scored[0].point, sorted({result.point.asked for result in scored})
    row = partial(Metric, first.dataset, "", first.formalization, first.formalization, PROTOCOL)
    levels = tuple(_level([result for result in scored if result.point.asked == size], measure, row) for size in asked)
    auc = _auc(scored, [level for level in levels if level.size > 0], measure, row)
    series = CurveSeries(first.dataset, first.formalization, measure, levels, auc=auc)
    fitted = [result for result in scored if result.point.size >= max(1, goal.fit_from)]
    sizes = sorted({result.point.size for result in fitted})
    if len(sizes) < FEWEST_SIZES:
        return series
    fit, target = _fit(fitted), goal.human if measure == ACCURACY else goal.human_group
    return replace(series, fit=fit, fitted=tuple(sizes), reach=None if target is None else reach_of(fit, target))


def _fit(scored: Sequence[ScoredPoint]) -> LogFit:
    """The line through all points, as sure as restarts and test units let it be."""
    sizes = [result.point.size for result in scored]
    fit = fit_log(sizes, [PER_CENT * result.score.value for result in scored])
    # By least squares the height at the centre and the slope are weighted sums of the points.
    away = np.log(sizes) - fit.centre
    weights = PER_CENT * np.stack([np.full(len(sizes), 1 / len(sizes)), away / (away**2).sum()], axis=1)
    table = _by_restart(scored, weights)
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


def _level(scored: Sequence[ScoredPoint], measure: str, row: Callable[..., Metric]) -> CurveLevel:
    sizes, values = tuple(result.point.size for result in scored), tuple(result.score.value for result in scored)
    guesses = [result.score.chance for result in scored if result.score.chance is not None]
    about = {"size": fmean(sizes), "restarts": len(values)}
    low, high = crossed_share(np.stack([result.shares for result in scored]))
    asked, n = scored[0].point.asked, len(scored[0].shares if measure == GROUP else scored[0].point.right)
    chance = fmean(guesses) if guesses else None
    mean = row(str(asked), measure, fmean(values), n, low, high, chance, details=about)
    return CurveLevel(asked, sizes, values, mean)


def _auc(
    scored: Sequence[ScoredPoint], levels: Sequence[CurveLevel], measure: str, row: Callable[..., Metric]
) -> Metric | None:
    """The area under the curve over all sizes above zero: a weighted sum of accuracies."""
    if len(levels) < FEWEST_SIZES:
        return None
    sizes, note = [level.size for level in levels], f"over log2 of {levels[0].asked:,} to {levels[-1].asked:,}"
    value = leaderboard_auc([level.mean.value for level in levels], sizes)
    area = row("auc", f"{measure}_auc", value, 0, chance=levels[0].mean.chance, note=note)
    weights = [leaderboard_auc(unit, sizes) for unit in np.eye(len(sizes)).tolist()]
    weighted = {level.asked: weight / len(level.values) for level, weight in zip(levels, weights, strict=True)}
    own = [result for result in scored if result.point.asked in weighted]
    table = _by_restart(own, np.array([[weighted[result.point.asked]] for result in own]))
    if table is None:
        return area
    low, high = crossed_share(table[:, :, 0])
    return replace(area, low=low, high=high, n=len(table))


def _by_restart(scored: Sequence[ScoredPoint], weights: Matrix) -> Matrix | None:
    """Weighted sums of points as an array of (restarts, units, sums), whose means over the first two they are.

    `weights` has a row for each point and a column for each sum. None where a restart lacks a size.
    """
    restarts = grouped((result.point.restart, row) for row, result in enumerate(scored))
    asked = [sorted(scored[row].point.asked for row in rows) for rows in restarts.values()]
    if any(sizes != asked[0] for sizes in asked):
        return None
    each = np.stack([result.shares for result in scored])
    return np.stack([len(restarts) * each[rows].T @ weights[rows] for _, rows in sorted(restarts.items())])


def write_points(points: Sequence[CurvePoint], path: Path) -> None:
    """Write points.csv, one row a point, with shares from 0 to 1."""
    table: list[Sequence[object]] = [COLUMNS]
    for point in points:
        named = (point.dataset, point.formalization, point.asked, point.size, point.restart, point.seed)
        rows = [point.accuracy, point.group_accuracy]
        scores = [[row.value, row.low, row.high, row.n or "", row.chance] if row else [""] * 5 for row in rows]
        table.append([*named, *scores[0], *scores[1], point.abstained, "; ".join(point.warnings)])
    write_whole(path, csv_bytes(table))
