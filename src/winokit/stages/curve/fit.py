"""The points of a learning curve, and from them curves: means over restarts with intervals, lines, areas.

A point is one training run, or anyone's numbers from a csv file. Every interval says what another test set (whole
groups) *and* other restarts would have given (`metrics/crossed.py`): a mean, an area, a slope and a line's height are
all weighted sums of one table of restarts by test units. Points from a file come without predictions; a line's
intervals are then from how they scatter around it alone.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.methods.metrics.arrays import clusters
from winokit.methods.metrics.crossed import Crossed, crossed_share
from winokit.methods.metrics.curve import LogFit, fit_log, leaderboard_auc
from winokit.methods.metrics.groups import complete_groups
from winokit.problem import Dataset
from winokit.results import ABOVE, AT, BELOW, UNKNOWN
from winokit.settings import Help, Settings

SIZE, ACCURACY, GROUP = "size", "accuracy", "group_accuracy"
OTHER_NAMES = {"x": SIZE, "n_train": SIZE, "train_size": SIZE, "single": ACCURACY, "y": ACCURACY, "group": GROUP}
"""What columns of other people's files are called."""
COLUMNS = (
    *("dataset", "formalization", "asked", SIZE, "restart", "seed"),
    *(ACCURACY, "low", "high", "n", "chance"),
    *(GROUP, "group_low", "group_high", "groups", "group_chance", "abstained", "warnings"),
)


Matrix = NDArray[np.float64]
PER_CENT = 100
FEWEST_SIZES = 2


@dataclass(frozen=True, slots=True)
class PointScore:
    """A share with its interval, over how many, and what guessing gives; unknown parts are None."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    chance: float | None = None

    @property
    def stands(self) -> str:
        """Where its interval lies against guessing; unknown without either."""
        if self.low is None or self.high is None or self.chance is None:
            return UNKNOWN
        return ABOVE if self.low > self.chance else BELOW if self.high < self.chance else AT


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
    seed: int | None
    accuracy: PointScore | None
    group_accuracy: PointScore | None = None
    abstained: float = 0.0
    warnings: tuple[str, ...] = ()
    right: NDArray[np.bool_] | None = field(default=None, compare=False, repr=False)
    """Of each problem whether it is right, in the test set's order; None for numbers from a file."""

    def score(self, measure: str) -> PointScore | None:
        """Its accuracy or its group accuracy."""
        return self.accuracy if measure == ACCURACY else self.group_accuracy


ScoredPoint = tuple[CurvePoint, float]
"""A point and its single or group accuracy."""


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
class CurveGoal(Settings):
    """What curves are extrapolated to, in per cent, and from which size on the line is fitted."""

    human: Annotated[float | None, Help("Per cent of people, which the line is drawn out to.")] = 94.0
    human_group: Annotated[float | None, Help("The same of group accuracy. Default: not drawn out.")] = None
    fit_from: Annotated[int, Help("Fit the line to sizes from here on.", least=1)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
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


def write_points(points: Sequence[CurvePoint], path: Path) -> None:
    """Write points.csv, one row a point, with shares from 0 to 1."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for point in points:
        named = (point.dataset, point.formalization, point.asked, point.size, point.restart, point.seed)
        scores = [("",) * 5 if one is None else astuple(one) for one in (point.accuracy, point.group_accuracy)]
        writer.writerow([*named, *scores[0], *scores[1], point.abstained, "; ".join(point.warnings)])
    write_whole(path, text.getvalue().encode())


def read_points(path: Path) -> list[CurvePoint]:
    """Points from a csv file with a size and an accuracy (single), a group accuracy (group) or both in each row.

    Numbers above 1 mean per cent. `dataset`, `formalization` and `restart` tell curves and restarts apart.
    """
    try:
        rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: cannot be read as a csv file of points ({error})") from None
    if not rows:
        raise BadInput(f"{path}: no points: a header with size and accuracy expected, and a row a point")
    named = [{OTHER_NAMES.get(_folded(key), _folded(key)): value for key, value in row.items() if key} for row in rows]
    known = set(named[0])
    if SIZE not in known or not known & {ACCURACY, GROUP}:
        raise BadInput(f"{path}: columns size and accuracy (or group_accuracy) expected, found {', '.join(rows[0])}")
    placed = [(f"{path}:{line}", row) for line, row in enumerate(named, 2)]
    shares = [_number(place, row, name) for place, row in placed for name in (ACCURACY, GROUP)]
    scale = 100.0 if any(share is not None and share > 1 for share in shares) else 1.0
    return [_point(place, {**row, "dataset": row.get("dataset") or path.stem}, scale) for place, row in placed]


def _folded(name: str) -> str:
    return name.strip().casefold().replace(" ", "_")


def _point(place: str, row: Mapping[str, str], scale: float) -> CurvePoint:
    size, asked = _number(place, row, SIZE), _number(place, row, "asked")
    if size is None or size < 0 or size != int(size):
        raise BadInput(f"{place}: field 'size': a whole number expected, found {row.get(SIZE)!r}")
    scores: list[PointScore | None] = []
    for name, chance in ((ACCURACY, "chance"), (GROUP, "group_chance")):
        share = _number(place, row, name)
        if share is not None and not 0 <= share / scale <= 1:
            raise BadInput(f"{place}: field {name!r}: a share or a percentage expected, found {row[name]!r}")
        scores.append(None if share is None else PointScore(share / scale, chance=_number(place, row, chance)))
    accuracy, group = scores
    if accuracy is None and group is None:
        raise BadInput(f"{place}: neither an accuracy nor a group accuracy")
    named = row["dataset"], row.get("formalization") or "", int(size if asked is None else asked), int(size)
    return CurvePoint(*named, int(_number(place, row, "restart") or 1), None, accuracy, group)


def _number(place: str, row: Mapping[str, str], name: str) -> float | None:
    text = (row.get(name) or "").strip().replace(",", "").removesuffix("%").strip()
    try:
        number = float(text) if text else None
    except ValueError:
        number = math.nan
    if number is not None and not math.isfinite(number):
        raise BadInput(f"{place}: field {name!r}: a number expected, found {row[name]!r}")
    return number
