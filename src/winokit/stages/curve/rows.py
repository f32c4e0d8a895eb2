"""Points, means, lines and areas of learning curves as rows of results.json, protocol `curve`.

`subset` is a size ("640") for a mean over restarts, "640.restart2" for a point, "fit" for the line and "auc" for the
area. Slopes and intercepts are in per cent of the logarithm of the size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from winokit.results import Detail, Metric
from winokit.stages.curve.fit import CurveSeries
from winokit.stages.curve.points import ACCURACY, GROUP, CurvePoint, PointScore

PROTOCOL = "curve"


def rows_of(points: Sequence[CurvePoint], series: Sequence[CurveSeries], model: str) -> list[Metric]:
    """All rows: first what was averaged and fitted, then the points."""
    found = [row for one in series for row in _series_rows(one, model)]
    return [*found, *(row for point in points for row in _point_rows(point, model))]


def _series_rows(series: CurveSeries, model: str) -> Iterator[Metric]:
    head = series.dataset, model, series.formalization
    for level in series.levels:
        about: dict[str, Detail] = {"size": level.size, "restarts": len(level.values)}
        yield _row(head, str(level.asked), series.measure, level.mean, details=about)
        if level.spread is not None:
            spread = PointScore(level.spread, n=len(level.values))
            yield _row(head, str(level.asked), f"{series.measure}_std", spread, details=about)
    if series.auc is not None:
        sizes = [level.asked for level in series.levels if level.size > 0]
        yield _row(head, "auc", f"{series.measure}_auc", series.auc, f"over log2 of {sizes[0]:,} to {sizes[-1]:,}")
    if series.fit is not None:
        yield from _fit_rows(series, head)


def _fit_rows(series: CurveSeries, head: tuple[str, str, str]) -> Iterator[Metric]:
    fit = series.fit
    assert fit is not None
    over = f"per cent = slope * ln(size) + intercept, over {series.fitted[0]:,} to {series.fitted[-1]:,}"
    slope, intercept = fit.slope_interval(), fit.interval_at(1)
    for name, value, interval in (("slope", fit.slope, slope), ("intercept", fit.intercept, intercept)):
        score = PointScore(value, interval.low, interval.high, fit.n)
        yield _row(head, "fit", f"{series.measure}_{name}", score, over)
    if series.reach is not None:
        reach = series.reach
        size = PointScore(reach.size if math.isfinite(reach.size) else math.nan, reach.low, reach.high, fit.n)
        yield _row(head, "fit", f"n_to_reach_{reach.target:g}", size, f"of {series.measure}")


def _point_rows(point: CurvePoint, model: str) -> Iterator[Metric]:
    head = point.dataset, model, point.formalization
    for measure in (ACCURACY, GROUP):
        score = point.score(measure)
        if score is not None:
            about: dict[str, Detail] = {"size": point.size, "restart": point.restart, "seed": point.seed}
            yield _row(head, f"{point.asked}.restart{point.restart}", measure, score, details=about)


def _row(
    head: tuple[str, str, str],
    subset: str,
    metric: str,
    score: PointScore,
    note: str | None = None,
    details: Mapping[str, Detail] | None = None,
) -> Metric:
    dataset, model, formalization = head
    named = dataset, model, formalization, formalization, PROTOCOL, subset, metric
    if score.n is None:
        note = note or "over how many problems the file does not say"
    return Metric(*named, score.value, score.n or 0, score.low, score.high, score.chance, note, details or {})
