"""A learning curve in numbers and words: rows, tables and phrases."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import NOTHING, percent, points, say_interval
from winokit.methods.metrics.judge_curves import (
    ACCURACY,
    BENT,
    BEYOND,
    FALLS,
    FARTHEST,
    GROUP,
    PROTOCOL,
    UNSURE,
    CurveLevel,
    CurveReach,
    CurveSeries,
    LogFit,
    curve_rows,
)
from winokit.results import Metric, rows_to_json
from winokit.stages.curve.fit import CurvePoint

if TYPE_CHECKING:
    from winokit.stages.curve.run import LearningCurve

NAMES = {"accuracy": "single", "group_accuracy": "group"}
"""The names of the two measures in the papers."""
LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
"""Units of large numbers, with their names."""


def lines(curve: "LearningCurve") -> Lines:
    """Yield terminal output: means by size, fitted lines, warnings and files."""
    size_rows = [[size, *map(_format_level, levels)] for size, levels in by_size(curve.series)]
    yield table(["trained on", *titles_of(curve.series)], size_rows, left=0)
    yield ""
    heads = ["curve", "score", "line", "points for twice as much", "goal", "reached at", "area"]
    fit_rows = []
    for *cells, area, ends in fitted(curve.series):
        area_with_interval = f"{area} {ends}".strip()
        fit_rows.append([*cells, area_with_interval])
    yield table(heads, fit_rows, left=2)
    yield from (f"! {warning}" for warning in curve.warnings)
    if curve.page is not None:
        yield f"{curve.page.parents[1] / 'points.csv'}, results.json; page: {curve.page}"


def as_json(curve: "LearningCurve") -> dict[str, Any]:
    """JSON output of the command: the run, its rows and warnings.

    The paths of folder and page are there if they were written.
    """
    content = {"run": curve.run, "metrics": rows_to_json(curve.metrics), "warnings": curve.warnings}
    if curve.page is not None:
        content["out"] = str(curve.page.parents[1])
        content["report"] = str(curve.page)
    return content


def by_size(series: Sequence[CurveSeries]) -> Iterator[tuple[str, list[CurveLevel | None]]]:
    """Yield each size with the level of every curve there.

    Sizes are texts, smallest first. The level of a curve that has no such size is None.
    """
    levels_by_size: list[dict[int, CurveLevel]] = []  # of each curve
    sizes: set[int] = set()
    for curve in series:
        levels = {level.asked: level for level in curve.levels}
        levels_by_size.append(levels)
        sizes.update(levels)
    for size in sorted(sizes):
        yield f"{size:,}", [levels.get(size) for levels in levels_by_size]


def _format_level(level: CurveLevel | None) -> str:
    """Mean score with its spread over restarts and its interval.

    Empty for None.
    """
    if level is None:
        return ""
    spread = "" if level.spread is None else f" ± {100 * level.spread:.1f}"
    return f"{percent(level.mean.value)}{spread} {say_interval(level.mean)}".strip()


def fitted(series: Sequence[CurveSeries]) -> Iterator[tuple[str, ...]]:
    """Yield eight cells for each curve.

    Name, score, line, gain per doubling, goal, the size that reaches it, area and its interval.
    """
    for name, curve in zip(names_of(series), series, strict=True):
        goal = NOTHING
        goal_size = NOTHING
        if curve.reach is not None:
            goal = f"{curve.reach.target:g}"
            goal_size = arrival(curve.reach)
        area = NOTHING
        area_interval = ""
        if curve.auc is not None:
            area = f"{curve.auc.value:.4f}"
            if curve.auc.low is not None:
                area_interval = f"[{curve.auc.low:.4f}, {curve.auc.high:.4f}]"
        line = _format_line(curve.fit)
        yield name, NAMES[curve.measure], line, doubling(curve), goal, goal_size, area, area_interval


def _format_line(fit: LogFit | None) -> str:
    """Equation of a fitted line, with minus signs. A dash for None."""
    if fit is None:
        return NOTHING
    sign = "−" if fit.intercept < 0 else "+"
    return f"{fit.slope:.3f}·ln x {sign} {abs(fit.intercept):.2f}".replace("-", "−")


ARRIVALS = {
    FALLS: "never: no rise",
    BENT: "not told: it bends",
    UNSURE: "not told",
    BEYOND: f"beyond {FARTHEST} times the largest",
}
"""The words of the table if no size is said to reach the goal, by the kind of the outcome."""


def arrival(reach: CurveReach) -> str:
    """The size at which a curve reaches its goal, with its interval.

    The reason if there is no such size.
    """
    if reach.size is None:
        return ARRIVALS[reach.kind]
    return f"{amount(reach.size)} [{end_of(reach.low)}, {end_of(reach.high)}]"


def amount(size: float) -> str:
    """A number of problems to three digits, large ones in words.

    >>> amount(1_186_923), amount(117_643.2), amount(38.2)
    ('1.19 million', '118,000', '38')
    """
    for unit, name in LARGE:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{float(f'{size:.3g}'):,.0f}"


def doubling(series: CurveSeries) -> str:
    """Percentage points gained by training on twice as much, with the interval.

    A dash without a fitted line. The interval is left out if the curve is not sure of it.
    """
    fit = series.fit
    if fit is None:
        return NOTHING
    gain = _format_gain(fit.slope)
    if not series.sure:
        return gain
    interval = fit.slope_interval()
    return f"{gain} [{_format_gain(interval.low)}, {_format_gain(interval.high)}]"


def _format_gain(slope: float) -> str:
    """Percentage points gained by a doubling, for a slope.

    The slope is in per cent of the logarithm of the size.
    """
    return points(slope * math.log(2) / 100)


def end_of(size: float | None) -> str:
    """An end of an interval of sizes.

    None, or less than one problem, is 0.
    """
    return "0" if size is None or size < 1 else amount(size)


def names_of(series: Sequence[CurveSeries]) -> list[str]:
    """Names of curves: the formalization, the test set, or both.

    Those parts are named in which the curves differ.
    """
    test_sets = {curve.dataset for curve in series}
    formalizations = {curve.formalization for curve in series}
    shows_formalization = len(formalizations) > 1 or len(test_sets) == 1
    shows_test_set = len(test_sets) > 1
    names = []
    for curve in series:
        parts = []
        if shows_formalization:
            parts.append(curve.formalization)
        if shows_test_set:
            parts.append(curve.dataset)
        names.append(" on ".join(parts) or curve.dataset)
    return names


def titles_of(series: Sequence[CurveSeries]) -> list[str]:
    """The name of each curve with its score, single or group."""
    return [f"{name}, {NAMES[curve.measure]}" for name, curve in zip(names_of(series), series, strict=True)]


def rows_of(points: Sequence[CurvePoint], series: Sequence[CurveSeries], model: str) -> list[Metric]:
    """All rows of results.json, those of points last.

    `subset` is a size ("640") for a mean over restarts, "640.restart2" for a point, "fit" for the line and "auc" for
    the area. Slopes and intercepts are in per cent of the logarithm of the size.
    """
    rows: list[Metric] = []
    for curve in series:
        rows += [replace(row, model=model) for row in curve_rows(curve)]
    for point, measure in product(points, (ACCURACY, GROUP)):
        row = point.score(measure)
        if row is None:
            continue
        subset = f"{point.asked}.restart{point.restart}"
        details = {**row.details, "size": point.size, "restart": point.restart, "seed": point.seed}
        rows.append(replace(row, model=model, protocol=PROTOCOL, subset=subset, note=None, details=details))
    return rows
