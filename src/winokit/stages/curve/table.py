"""A learning curve in numbers and words: the rows of results.json, the terminal's tables, and how a line is said."""

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
    curve_rows,
)
from winokit.results import Metric, rows_to_json
from winokit.stages.curve.fit import CurvePoint

if TYPE_CHECKING:
    from winokit.stages.curve.run import LearningCurve

NAMES = {"accuracy": "single", "group_accuracy": "group"}
"""As the papers call the two scores."""
LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


def lines(curve: "LearningCurve") -> Lines:
    """List means by size, fitted lines, warnings and the files written."""
    sizes = [[size, *map(_format_level, levels)] for size, levels in by_size(curve.series)]
    yield table(["trained on", *titles_of(curve.series)], sizes, left=0)
    yield ""
    heads = ["curve", "score", "line", "points for twice as much", "goal", "reached at", "area"]
    yield table(heads, [[*cells, f"{area} {ends}".strip()] for *cells, area, ends in fitted(curve.series)], left=2)
    yield from (f"! {warning}" for warning in curve.warnings)
    if curve.page is not None:
        yield f"{curve.page.parents[1] / 'points.csv'}, results.json; page: {curve.page}"


def as_json(curve: "LearningCurve") -> dict[str, Any]:
    """The run, its rows and warnings, and where the page is."""
    where = {} if curve.page is None else {"out": str(curve.page.parents[1]), "report": str(curve.page)}
    return {"run": curve.run, "metrics": rows_to_json(curve.metrics), "warnings": curve.warnings, **where}


def by_size(series: Sequence[CurveSeries]) -> Iterator[tuple[str, list[CurveLevel | None]]]:
    """Pair each size with the levels of all curves.

    The level of a curve that has no such size is None.
    """
    levels = [{level.asked: level for level in curve.levels} for curve in series]
    sizes: set[int] = set()
    sizes.update(*levels)
    for size in sorted(sizes):
        yield f"{size:,}", [level_by_size.get(size) for level_by_size in levels]


def _format_level(level: CurveLevel | None) -> str:
    if level is None:
        return ""
    spread = "" if level.spread is None else f" ± {100 * level.spread:.1f}"
    return f"{percent(level.mean.value)}{spread} {say_interval(level.mean)}".strip()


def fitted(series: Sequence[CurveSeries]) -> Iterator[tuple[str, ...]]:
    """Cells of each fitted curve.

    Name, score, line, gain per doubling, goal, the size that reaches it, area and its interval.
    """
    for name, curve in zip(names_of(series), series, strict=True):
        fit = curve.fit
        reach = curve.reach
        area = curve.auc
        line = NOTHING
        if fit is not None:
            sign = "−" if fit.intercept < 0 else "+"
            line = f"{fit.slope:.3f}·ln x {sign} {abs(fit.intercept):.2f}".replace("-", "−")
        yield (
            name,
            NAMES[curve.measure],
            line,
            doubling(curve),
            NOTHING if reach is None else f"{reach.target:g}",
            NOTHING if reach is None else arrival(reach),
            NOTHING if area is None else f"{area.value:.4f}",
            "" if area is None or area.low is None else f"[{area.low:.4f}, {area.high:.4f}]",
        )


ARRIVALS = {
    FALLS: "never: no rise",
    BENT: "not told: it bends",
    UNSURE: "not told",
    BEYOND: f"beyond {FARTHEST} times the largest",
}
"""What the table says where no size is given."""


def arrival(reach: CurveReach) -> str:
    """The size at which a goal is reached, with its interval."""
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
    """Points gained by training on twice as much, with the interval."""
    if series.fit is None:
        return NOTHING
    slopes = (series.fit.slope, series.fit.slope_interval().low, series.fit.slope_interval().high)
    gained, low, high = (points(slope * math.log(2) / 100) for slope in slopes)
    return f"{gained} [{low}, {high}]" if series.sure else gained


def end_of(size: float | None) -> str:
    """An end of an interval of sizes: less than one problem is none."""
    return "0" if size is None or size < 1 else amount(size)


def names_of(series: Sequence[CurveSeries]) -> list[str]:
    """Names of curves: the formalization, the test set, or both."""
    sets = {curve.dataset for curve in series}
    kinds = {curve.formalization for curve in series}
    names = []
    for curve in series:
        parts = []
        if len(kinds) > 1 or len(sets) == 1:
            parts.append(curve.formalization)
        if len(sets) > 1:
            parts.append(curve.dataset)
        names.append(" on ".join(parts) or curve.dataset)
    return names


def titles_of(series: Sequence[CurveSeries]) -> list[str]:
    """The name of each curve, and which score it is."""
    return [f"{name}, {NAMES[curve.measure]}" for name, curve in zip(names_of(series), series, strict=True)]


def rows_of(points: Sequence[CurvePoint], series: Sequence[CurveSeries], model: str) -> list[Metric]:
    """All rows of results.json, those of the points last.

    `subset` is a size ("640") for a mean over restarts, "640.restart2" for a point, "fit" for the line and "auc" for
    the area. Slopes and intercepts are in per cent of the logarithm of the size.
    """
    rows: list[Metric] = []
    for curve in series:
        rows += [replace(row, model=model) for row in curve_rows(curve)]
    for point, measure in product(points, (ACCURACY, GROUP)):
        row = point.score(measure)
        subset = f"{point.asked}.restart{point.restart}"
        if row is not None:
            about: dict[str, Any] = {"size": point.size, "restart": point.restart, "seed": point.seed}
            details = {**row.details, **about}
            rows.append(replace(row, model=model, protocol=PROTOCOL, subset=subset, note=None, details=details))
    return rows
