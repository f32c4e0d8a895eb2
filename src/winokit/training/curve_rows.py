"""Points, means, lines and areas of learning curves as rows of results.json, protocol `curve`.

`subset` is a size ("640") for a mean over restarts, "640.restart2" for a point, "fit" for the line and "auc" for the
area. Slopes and intercepts are in per cent of the logarithm of the size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from winokit.training.curve_fit import Series
from winokit.training.curve_points import ACCURACY, GROUP, Point, Score
from winokit.training.exam import Row

PROTOCOL = "curve"


def rows_of(points: Sequence[Point], series: Sequence[Series], model: str) -> list[Row]:
    """All rows: first what was averaged and fitted, then the points."""
    found = [row for one in series for row in _series_rows(one, model)]
    return [*found, *(row for point in points for row in _point_rows(point, model))]


def _series_rows(series: Series, model: str) -> Iterator[Row]:
    head = series.dataset, model, series.formalization
    for level in series.levels:
        yield _row(head, str(level.asked), series.measure, level.mean, size=level.size, restarts=len(level.values))
        if level.spread is not None:
            spread = Score(level.spread, n=len(level.values))
            yield _row(head, str(level.asked), f"{series.measure}_std", spread, size=level.size)
    if series.auc is not None:
        sizes = [level.asked for level in series.levels if level.size > 0]
        yield _row(head, "auc", f"{series.measure}_auc", series.auc, note=f"over log2 of {sizes[0]:,} to {sizes[-1]:,}")
    if series.fit is not None:
        yield from _fit_rows(series, head)


def _fit_rows(series: Series, head: tuple[str, str, str]) -> Iterator[Row]:
    fit = series.fit
    assert fit is not None
    over = f"per cent = slope * ln(size) + intercept, over {series.fitted[0]:,} to {series.fitted[-1]:,}"
    slope, intercept = fit.slope_interval(), fit.interval_at(1)
    for name, value, interval in (("slope", fit.slope, slope), ("intercept", fit.intercept, intercept)):
        score = Score(value, _finite(interval.low), _finite(interval.high), fit.n)
        yield _row(head, "fit", f"{series.measure}_{name}", score, note=over)
    if series.reach is not None:
        reach = series.reach
        row = _row(head, "fit", f"n_to_reach_{reach.target:g}", Score(math.nan, n=fit.n), note=f"of {series.measure}")
        yield {**row, "value": _finite(reach.size), "low": _finite(reach.low), "high": _finite(reach.high)}


def _point_rows(point: Point, model: str) -> Iterator[Row]:
    head = point.dataset, model, point.formalization
    for measure in (ACCURACY, GROUP):
        score = point.score(measure)
        if score is not None:
            about = {"size": point.size, "restart": point.restart, "seed": point.seed}
            yield _row(head, f"{point.asked}.restart{point.restart}", measure, score, **about)


def _row(head: tuple[str, str, str], subset: str, metric: str, score: Score, **more: Any) -> Row:
    dataset, model, formalization = head
    return {
        "dataset": dataset,
        "model": model,
        "scoring": formalization,
        "formalization": formalization,
        "protocol": PROTOCOL,
        "subset": subset,
        "metric": metric,
        "value": score.value,
        "n": score.n,
        "low": score.low,
        "high": score.high,
        "chance": score.chance,
        **more,
    }


def _finite(value: float) -> float | None:
    """A number as JSON knows it; nothing for one without end."""
    return value if math.isfinite(value) else None
