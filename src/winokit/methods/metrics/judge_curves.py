"""The judge of learning curves: means, lines, bends and areas.

They are computed from answers by training size and seed. Every interval says what another test set *and* other
restarts would have given (`metrics/curve.py`): a mean, an area, a slope and a line's height are all weighted sums of
one table of restarts by test units. A unit counts once, also where whole groups are scored: groups of one unit vary
together.

A line says where a curve arrives only if the curve is straight in the logarithm of the size. So a size is given only
if no bend is found (the square of that logarithm; for curves that rise slowly, then fast, then slowly, its cube; each
with an interval over restarts and units like that of the slope), and if the parabola with that bend still reaches the
goal within four times the largest size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev

import numpy as np

from winokit.answers import Answers, Scorer, TrialName
from winokit.methods.arrays import FloatArray
from winokit.methods.metrics.curve import (
    Crossed,
    LogFit,
    Polynomial,
    crossed_share,
    fit_log,
    leaderboard_auc,
    p_slopes_differ,
    polynomial_weights,
)
from winokit.methods.metrics.intervals import Interval
from winokit.methods.metrics.judge import Judge, layout_of
from winokit.methods.metrics.null import NullTest
from winokit.methods.metrics.trials import TrialTable
from winokit.problem import grouped
from winokit.results import NULL, Detail, Metric, P
from winokit.units import Units

ACCURACY = "accuracy"
GROUP = "group_accuracy"
PROTOCOL = "curve"
PER_CENT = 100
FEWEST_SIZES = 2
FARTHEST = 4
"""No size is given beyond so many times the largest one that was trained on."""
STEPS = 200
"""Sizes at which a parabola is held against a goal."""

REACHED = "reached"
FALLS = "falls"
BENT = "bent"
UNSURE = "unsure"
BEYOND = "beyond"
"""Kinds of `CurveReach`: a size is given, the line does not rise, the curve bends, no size within four times the
largest one is shown, or the size is beyond that."""


@dataclass(frozen=True)
class CurveLevel:
    """One training size: the scores of its restarts, and their mean.

    `asked` is the size by which the trials are named, `sizes` are the numbers of problems they were trained on.
    """

    asked: int
    sizes: tuple[int, ...]
    values: tuple[float, ...]
    mean: Metric

    @property
    def size(self) -> float:
        """Mean number of problems trained on."""
        return fmean(self.sizes)

    @property
    def spread(self) -> float | None:
        """Standard deviation of the scores of restarts.

        None for one restart.
        """
        return stdev(self.values) if len(self.values) > 1 else None


@dataclass(frozen=True)
class CurveReach:
    """Whether a curve reaches a goal, and with how many training problems.

    `target` is the goal in per cent, `kind` is REACHED or the reason why no size is given. `size`, `low` and `high`
    are None unless it is REACHED.
    """

    target: float
    kind: str
    size: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class CurveSeries:
    """One learning curve: a formalization on a test set.

    `measure` is `accuracy` or `group_accuracy`.
    """

    dataset: str
    formalization: str
    measure: str
    levels: tuple[CurveLevel, ...]
    fit: LogFit | None = None
    """In per cent, of the logarithm of the size; None where there are fewer than two sizes above zero."""
    fitted: tuple[int, ...] = ()
    """The sizes the line was fitted to."""
    bend: Polynomial | None = None
    """Polynomial of degree 2 instead of the line; None if there are fewer than three sizes."""
    twist: Polynomial | None = None
    """Polynomial of degree 3 instead of the line; None if there are fewer than four sizes."""
    reach: CurveReach | None = None
    auc: Metric | None = None
    """The leaderboard's area under the curve, from 0 to 1."""
    p_seeds: float | None = None
    """P-value of restarts whose lines have one slope; None where that cannot be told."""
    restart_slopes: tuple[float, ...] = ()
    """The slope of each restart's own line; nothing where restarts are not complete."""

    @property
    def sure(self) -> bool:
        """Whether the line's slope has a finite interval."""
        return self.fit is not None and math.isfinite(self.fit.slope_interval().low)


def judge_curves(
    answers: Answers,
    goals: Mapping[str, float | None] = {},
    *,
    fit_from: int = 1,
    trained: Mapping[TrialName, int] | None = None,
) -> list[CurveSeries]:
    """Compute the learning curves of each scorer.

    There is one curve of problems and, if there are complete groups, one of whole groups.

    Parameters
    ----------
    answers
        The choices of trials for one test set, a trial per size and seed: `TrialName(seed, size)`.
    goals
        What `accuracy` and `group_accuracy` are to reach, in per cent.
    fit_from
        Lines are fitted to sizes from this one on.
    trained
        How many problems each trial was really trained on, if not its size.
    """
    curves = []
    for scorer, scorer_answers in answers.by("scorer"):
        table = TrialTable.of(scorer_answers)
        measures = [ACCURACY]
        if layout_of(table.problems).members:
            measures.append(GROUP)
        for measure in measures:
            curve = _Curve(scorer, measure, table, trained or {})
            curves.append(curve.series(goals.get(measure), fit_from))
    return curves


@dataclass(frozen=True, eq=False)
class _Curve:
    """Computes one curve: one measure of the trials of one scorer.

    In its methods, `rows` are row indices of trials.
    """

    scorer: Scorer
    measure: str
    table: TrialTable
    trained: Mapping[TrialName, int]

    @cached_property
    def is_right(self) -> FloatArray:
        """1 for each problem, or complete group, that a trial has right.

        A row per trial.
        """
        right = self.table.correct
        if self.measure == GROUP:
            right = self.table.whole_groups(right)
        return right.astype(np.float64)

    @cached_property
    def units(self) -> Units:
        """Unit of each problem, or of each complete group."""
        units = self.table.problems.units
        if self.measure == GROUP:
            layout = self.table.layout
            units = units.take(layout.rows[layout.starts])
        return units

    @cached_property
    def unit_shares(self) -> FloatArray:
        """Numbers by trial and unit whose mean is the trial's share right.

        Units of different sizes are weighted by their problems: each adds what it has more than the share gives it.
        """
        sizes = self.units.sizes.astype(np.float64)
        totals = np.stack([self.units.sums(is_trial_right) for is_trial_right in self.is_right])
        shares = self.is_right.mean(axis=1, keepdims=True)
        adjusted: FloatArray = shares + (totals - shares * sizes) / sizes.mean()
        return adjusted

    @property
    def unit_sizes(self) -> FloatArray:
        """Number of problems, or groups, of each unit."""
        return self.units.sizes.astype(np.float64)

    def size_of(self, row: int) -> int:
        """Number of problems that the trial at a row was trained on."""
        trial = self.table.trials[row]
        return self.trained.get(trial, trial.size or 0)

    def series(self, goal: float | None, fit_from: int) -> CurveSeries:
        """Compute the curve with its line, bend, area and goal.

        `goal` is in per cent; None for no goal. The line is fitted to sizes from `fit_from` on.
        """
        rows_by_size = grouped((trial.size or 0, row) for row, trial in enumerate(self.table.trials))
        levels = tuple(self.level(asked, rows_by_size[asked]) for asked in sorted(rows_by_size))
        auc = self.area_of_trained(levels, rows_by_size)
        dataset = self.table.problems.asked.dataset
        series = CurveSeries(dataset, self.scorer.scoring, self.measure, levels, auc=auc)
        smallest = max(1, fit_from)
        fitted = [row for row in range(len(self.table)) if self.size_of(row) >= smallest]
        if len({self.size_of(row) for row in fitted}) >= FEWEST_SIZES:
            series = self.fit_series(series, fitted)
        if goal is None or series.fit is None:
            return series
        return replace(series, reach=reach_of(series, series.fit, goal))

    def area_of_trained(self, levels: Sequence[CurveLevel], rows_by_size: Mapping[int, list[int]]) -> Metric | None:
        """Compute the area under the curve over the sizes above zero.

        None if there are fewer than two such sizes.
        """
        trained = [level for level in levels if level.size > 0]
        if len(trained) < FEWEST_SIZES:
            return None
        rows: list[int] = []
        for level in trained:
            rows += rows_by_size[level.asked]
        return self.area(trained, rows)

    def fit_series(self, series: CurveSeries, fitted: Sequence[int]) -> CurveSeries:
        """Add the line, bend, twist and restart slopes to a curve.

        `fitted` are the rows of the trials to fit them to.
        """
        sizes = tuple(sorted({self.size_of(row) for row in fitted}))
        fit = self.line(fitted)
        bend = self.polynomial(fitted, 2)
        twist = self.polynomial(fitted, 3)
        slopes, p_seeds = self.seeds(fitted)
        return replace(series, fit=fit, fitted=sizes, bend=bend, twist=twist, p_seeds=p_seeds, restart_slopes=slopes)

    def level(self, asked: int, rows: Sequence[int]) -> CurveLevel:
        """Compute the mean of the trials of one size, with its test.

        The test is under the null: what the trials' own choices would get.
        """
        sizes = tuple(self.size_of(row) for row in rows)
        values = tuple(self.share_of(row) for row in rows)
        low, high = crossed_share(self.unit_shares[list(rows)], sizes=self.unit_sizes)
        test = self.null_test(rows)
        details: dict[str, Detail] = {"size": fmean(sizes), "restarts": len(values), NULL: test.null}
        if test.p is not None:
            details[P] = test.p
        level_judge = Judge(self.table.problems.asked.dataset, self.scorer)
        chance = fmean(self.chance(row) for row in rows)
        n = self.is_right.shape[1]
        name = (PROTOCOL, str(asked), self.measure)
        mean = level_judge.row(name, fmean(values), n, low, high, chance, details=details)
        return CurveLevel(asked, sizes, values, mean)

    def null_test(self, rows: Sequence[int]) -> NullTest:
        """Test the score of some trials together under the null."""
        trials = self.table.take(rows)
        return trials.whole_groups_test() if self.measure == GROUP else trials.right_test()

    def chance(self, row: int) -> float:
        """Expected score of a coin with the abstentions of one trial."""
        chances = self.table.one(row).chances
        if self.measure == GROUP:
            chances = self.table.layout.reduce(np.multiply, chances)
        return float(chances.mean())

    def area(self, levels: Sequence[CurveLevel], rows: Sequence[int]) -> Metric:
        """Compute the row of the area under the curve.

        It has an interval if each restart has every size. `n` is then the number of restarts, and else 0.
        """
        sizes = [level.size for level in levels]
        smallest = levels[0].asked
        largest = levels[-1].asked
        note = f"over log2 of {smallest:,} to {largest:,}"
        value = leaderboard_auc([level.mean.value for level in levels], sizes)
        area_judge = Judge(self.table.problems.asked.dataset, self.scorer)
        name = (PROTOCOL, "auc", f"{self.measure}_auc")
        area = area_judge.row(name, value, 0, chance=levels[0].mean.chance, note=note)
        weight_by_size = {}
        for level, unit in zip(levels, np.eye(len(sizes)).tolist(), strict=True):
            weight_by_size[level.asked] = leaderboard_auc(unit, sizes) / len(level.values)
        trial_weights = np.array([weight_by_size[self.asked_size(row)] for row in rows])
        table = self.by_restart(rows, trial_weights[:, None])
        if table is None:
            return area
        low, high = crossed_share(table[:, :, 0], sizes=self.unit_sizes)
        return replace(area, low=low, high=high, n=len(table))

    def line(self, rows: Sequence[int]) -> LogFit:
        """Fit a line to trials, in per cent.

        Its variance is that over restarts and test units.
        """
        sizes = [self.size_of(row) for row in rows]
        values = [PER_CENT * self.share_of(row) for row in rows]
        fit = fit_log(sizes, values)
        weights, _ = polynomial_weights(sizes, 1)
        table = self.by_restart(rows, PER_CENT * weights)
        if table is None:
            return fit
        there, _, slope = fit.variance
        crossed = Crossed.of(table, self.unit_sizes, scatter=(np.diag([there, slope]), fit.degrees))
        (there, both), (_, slope) = crossed.covariance.tolist()
        degrees = crossed.degrees(np.array([0.0, 1.0]))
        return replace(fit, variance=(there, both, slope), degrees=degrees)

    def polynomial(self, rows: Sequence[int], degree: int) -> Polynomial | None:
        """Fit a polynomial to trials, in per cent.

        Its variance is that over restarts and test units. None if there are too few sizes for the degree.
        """
        if len({self.table.trials[row].size for row in rows}) <= degree:
            return None
        sizes = [self.size_of(row) for row in rows]
        values = np.array([PER_CENT * self.share_of(row) for row in rows])
        weights, centre = polynomial_weights(sizes, degree)
        coefficients: FloatArray = values @ weights
        powers = np.vander(np.log(sizes) - centre, degree + 1, increasing=True)
        residuals = values - powers @ coefficients
        free = len(rows) - degree - 1
        error = float((residuals**2).sum()) / max(free, 1)
        scatter = (error * weights.T @ weights, float(free))
        table = self.by_restart(rows, PER_CENT * weights)
        if table is None:
            return Polynomial(coefficients, centre, Crossed((scatter,)))
        return Polynomial(coefficients, centre, Crossed.of(table, self.unit_sizes, scatter=scatter))

    def seeds(self, rows: Sequence[int]) -> tuple[tuple[float, ...], float | None]:
        """Slope of each restart's own line, and the p-value of one slope.

        Slopes are shares (not per cent) by ln(size). If a restart lacks a size there are no slopes, and the p-value is
        None.
        """
        by_seed = self.by_seed(rows)
        if by_seed is None:
            return (), None
        slopes = []
        sizes_by_seed = []
        for restart_rows in by_seed:
            sizes = [self.size_of(row) for row in restart_rows]
            shares = [self.share_of(row) for row in restart_rows]
            slopes.append(fit_log(sizes, shares).slope)
            sizes_by_seed.append(sizes)
        mean_sizes = [fmean(level_sizes) for level_sizes in zip(*sizes_by_seed, strict=True)]
        p = p_slopes_differ(self.unit_shares[np.array(by_seed)], mean_sizes, self.unit_sizes)
        return tuple(slopes), p

    def by_seed(self, rows: Sequence[int]) -> list[list[int]] | None:
        """Rows of each restart, from the smallest size to the largest.

        None if a restart lacks a size.
        """
        restarts = grouped((self.table.trials[row]._replace(size=None), row) for row in rows)
        ordered = [sorted(restart_rows, key=self.asked_size) for restart_rows in restarts.values()]
        size_lists = {tuple(map(self.asked_size, restart_rows)) for restart_rows in ordered}
        return ordered if len(size_lists) <= 1 else None

    def share_of(self, row: int) -> float:
        """Share right of the trial at a row."""
        return float(self.is_right[row].mean())

    def asked_size(self, row: int) -> int:
        """Size by which the trial at a row is named."""
        return self.table.trials[row].size or 0

    def by_restart(self, rows: Sequence[int], weights: FloatArray) -> FloatArray | None:
        """Weighted sums of trials by restart and unit.

        `weights` has a row for each trial and a column for each sum. Returns an array of (restarts, units, sums),
        whose means over the first two axes are the sums. None if a restart lacks a size.
        """
        by_seed = self.by_seed(rows)
        if by_seed is None:
            return None
        index_of_row = {row: at for at, row in enumerate(rows)}
        sums = []
        for restart_rows in by_seed:
            restart_weights = weights[[index_of_row[row] for row in restart_rows]]
            sums.append(len(by_seed) * self.unit_shares[restart_rows].T @ restart_weights)
        return np.stack(sums)


def reach_of(series: CurveSeries, fit: LogFit, target: float) -> CurveReach:
    """Training size with which a curve reaches a target in per cent.

    The result says why if no size can be given. The interval has every size at which the target is plausible on the
    line (Fieller's), on the parabola, or between the means at two sizes.
    """
    bend = series.bend
    twist = series.twist
    farthest = FARTHEST * max(series.fitted)
    if fit.slope <= 0:
        return CurveReach(target, FALLS)
    if bend is None:
        return CurveReach(target, UNSURE)
    if bend.is_needed() or (twist is not None and twist.is_needed()):
        return CurveReach(target, BENT)
    on_line = fit.reaches_interval(target)
    grid = np.geomspace(min(series.fitted), farthest, STEPS).tolist()
    heights = [bend.interval_at(size) for size in grid]
    highest = max(height.high for height in heights)
    if on_line.low > farthest and highest < target:
        return CurveReach(target, BEYOND)
    if on_line.high > farthest or heights[-1].low <= target:
        return CurveReach(target, UNSURE)
    on_parabola = _find_sizes_at(target, grid, heights)
    plausible = [*on_parabola, *_find_sizes_between(series.levels, target)]
    low = min([on_line.low, *plausible])
    high = max([on_line.high, *plausible])
    if heights[0].high >= target:
        low = 0.0
    return CurveReach(target, REACHED, fit.reaches(target), low, high)


def _find_sizes_at(target: float, sizes: Sequence[float], heights: Sequence[Interval]) -> list[float]:
    """Sizes at which the interval of the curve contains the target.

    `heights` are the intervals at the sizes.
    """
    plausible = []
    for size, height in zip(sizes, heights, strict=True):
        if height.low <= target <= height.high:
            plausible.append(size)
    return plausible


def _find_sizes_between(levels: Sequence[CurveLevel], target: float) -> list[float]:
    """Sizes at which the means around them make a target plausible.

    The target is in per cent. Between two sizes, the ends of the intervals of their means are joined by straight
    lines.
    """
    trained_levels = [level for level in levels if level.size > 0]
    sizes = np.array([level.size for level in trained_levels])
    grid = np.geomspace(sizes.min(), sizes.max(), STEPS)
    lows = np.array([PER_CENT * (level.mean.low or 0.0) for level in trained_levels])
    high_ends = []
    for level in trained_levels:
        high_ends.append(1.0 if level.mean.high is None else level.mean.high)
    highs = PER_CENT * np.array(high_ends)
    low_between = np.interp(np.log(grid), np.log(sizes), lows)
    high_between = np.interp(np.log(grid), np.log(sizes), highs)
    is_plausible = np.logical_and(low_between <= target, target <= high_between)
    sizes_found: list[float] = grid[is_plausible].tolist()
    return sizes_found


def curve_rows(series: CurveSeries) -> Iterator[Metric]:
    """Make the rows of a curve's means and fits.

    `subset` is a size, "auc" or "fit". Slopes, intercepts and bends are in per cent of the logarithm of the size. If
    no size can be given for a goal, the row has no value, and its note says why.
    """
    for level in series.levels:
        yield level.mean
        if level.spread is not None:
            name = f"{series.measure}_std"
            count = len(level.values)
            details: dict[str, Detail] = {"size": level.size, "restarts": count}
            without_limits = replace(level.mean, low=None, high=None, chance=None)
            yield replace(without_limits, metric=name, value=level.spread, n=count, details=details)
    if series.auc is not None:
        yield series.auc
    if series.fit is not None:
        yield from _fit_rows(series, series.fit)


def _fit_rows(series: CurveSeries, fit: LogFit) -> Iterator[Metric]:
    """Make the rows of the line, bend, twist, seeds and goal."""
    own_judge = Judge(series.dataset, Scorer("", series.formalization, series.formalization))
    smallest = series.fitted[0]
    largest = series.fitted[-1]
    over = f"per cent = slope * ln(size) + intercept, over {smallest:,} to {largest:,}"
    slope = fit.slope_interval()
    intercept = fit.interval_at(1)
    measure = series.measure
    name = (PROTOCOL, "fit", f"{measure}_slope")
    yield own_judge.row(name, fit.slope, fit.n, slope.low, slope.high, note=over)
    name = (PROTOCOL, "fit", f"{measure}_intercept")
    yield own_judge.row(name, fit.intercept, fit.n, intercept.low, intercept.high, note=over)
    if series.bend is not None:
        bend = series.bend.highest_interval()
        value = float(series.bend.coefficients[2])
        note = "per cent per squared ln(size); zero for a line"
        name = (PROTOCOL, "fit", f"{measure}_bend")
        yield own_judge.row(name, value, fit.n, bend.low, bend.high, note=note)
    if series.twist is not None:
        twist = series.twist.highest_interval()
        value = float(series.twist.coefficients[3])
        note = "per cent per cubed ln(size); zero for a line or a parabola"
        name = (PROTOCOL, "fit", f"{measure}_twist")
        yield own_judge.row(name, value, fit.n, twist.low, twist.high, note=note)
    if series.p_seeds is not None:
        note = "p-value of restarts whose lines have one slope"
        restarts = len(series.restart_slopes)
        name = (PROTOCOL, "fit", f"{measure}_p_seeds")
        yield own_judge.row(name, series.p_seeds, restarts, note=note)
    reach = series.reach
    if reach is not None:
        size = math.nan if reach.size is None else reach.size
        name = (PROTOCOL, "fit", f"n_to_reach_{reach.target:g}")
        note = f"of {measure}"
        if reach.kind != REACHED:
            note = f"of {measure}: {NOT_REACHED[reach.kind]}"
        yield own_judge.row(name, size, fit.n, reach.low, reach.high, note=note)


NOT_REACHED = {
    FALLS: "the line does not rise",
    BENT: "the curve bends",
    UNSURE: "not shown within four times the largest size",
    BEYOND: "not within four times the largest size",
}
"""Why no size is given."""
