"""The page of a learning curve: does more training data help, how sure is that, and where would it lead?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from winokit.drawing.decision import Verdict
from winokit.drawing.figures import write_figures
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.protocols import ELAZAR, SAKAGUCHI, Citation
from winokit.drawing.wording import NOTHING, percent
from winokit.stages.curve.fit import CurveLevel, CurveSeries
from winokit.stages.curve.plots import CurveChart, charts_of, figures_of_curve
from winokit.stages.curve.points import CurvePoint, PointScore
from winokit.stages.curve.run import LearningCurve
from winokit.stages.curve.verdict import verdict_of_curve
from winokit.stages.curve.wording import NAMES, arrival, doubling, formula, names_of


@dataclass(frozen=True, slots=True)
class CurveCell:
    """A mean over restarts as a table shows it."""

    value: str
    interval: str
    spread: str
    exact: float | None = None


@dataclass(frozen=True, slots=True)
class FittedCurve:
    """A line as a table shows it."""

    name: str
    score: str
    formula: str
    doubling: str
    goal: str
    arrival: str
    area: str
    area_interval: str


@dataclass(frozen=True, slots=True)
class CurvePage:
    """Everything the page shows."""

    model: str
    train: str
    tests: tuple[str, ...]
    restarts: int
    verdict: Verdict
    charts: tuple[CurveChart, ...]
    columns: tuple[tuple[str, str], ...]
    """Of each curve its name and which score it is."""
    rows: tuple[tuple[str, tuple[CurveCell | None, ...]], ...]
    fits: tuple[FittedCurve, ...]
    points: tuple[CurvePoint, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    sources: tuple[Citation, ...] = (SAKAGUCHI, ELAZAR)


def write_curve_page(curve: LearningCurve, folder: Path) -> Path:
    """Write the page of a curve, with its figure as PNG and SVG, and return it."""
    figures = write_figures(figures_of_curve(curve.series), folder / "figures")
    write_page(folder / INDEX, "stages/curve/page.html.j2", page=curve_page(curve), figures=figures, names=NAMES)
    return folder / INDEX


def curve_page(curve: LearningCurve) -> CurvePage:
    """Everything the page of a curve shows."""
    series = curve.series
    return CurvePage(
        model=str(curve.run.get("model") or ""),
        train=str(curve.run.get("train") or ""),
        tests=tuple(dict.fromkeys(one.dataset for one in series)),
        restarts=max((point.restart for point in curve.points), default=1),
        verdict=verdict_of_curve(series),
        charts=charts_of(series),
        columns=tuple((name, NAMES[one.measure]) for name, one in zip(names_of(series), series, strict=True)),
        rows=tuple(table_rows(series)),
        fits=tuple(fitted(series)),
        points=curve.points,
        notes=curve.notes,
        warnings=curve.warnings,
        settings=tuple(flat(curve.run)),
    )


def table_rows(series: Sequence[CurveSeries]) -> Iterator[tuple[str, tuple[CurveCell | None, ...]]]:
    """A row a size: the mean of every curve there, and nothing for a curve that has no such size."""
    by_size = [{level.asked: level for level in one.levels} for one in series]
    for size in sorted({asked for levels in by_size for asked in levels}):
        yield f"{size:,}", tuple(_cell(levels[size]) if size in levels else None for levels in by_size)


def _cell(level: CurveLevel) -> CurveCell:
    spread = "" if level.spread is None else f"{100 * level.spread:.1f}"
    return CurveCell(percent(level.mean.value), _interval(level.mean), spread, level.mean.value)


def _interval(score: PointScore) -> str:
    if score.low is None or score.high is None:
        return ""
    return f"[{100 * score.low:.1f}, {100 * score.high:.1f}]"


def fitted(series: Sequence[CurveSeries]) -> Iterator[FittedCurve]:
    """A row a curve: its line, what a doubling adds, where it arrives, and the area under it."""
    for name, one in zip(names_of(series), series, strict=True):
        yield FittedCurve(
            name,
            NAMES[one.measure],
            formula(one),
            doubling(one),
            NOTHING if one.reach is None else f"{one.reach.target:g}",
            arrival(one.reach),
            NOTHING if one.auc is None else f"{one.auc.value:.4f}",
            "" if one.auc is None or one.auc.low is None else f"[{one.auc.low:.4f}, {one.auc.high:.4f}]",
        )
