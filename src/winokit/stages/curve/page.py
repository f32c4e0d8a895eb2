"""The page of a learning curve: does more training data help, how sure is that, and where would it lead?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from winokit.drawing.figures import write_figures
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.protocols import ELAZAR, SAKAGUCHI
from winokit.stages.curve.plots import charts_of, figures_of_curve
from winokit.stages.curve.table import NAMES, by_size, fitted, interval, names_of
from winokit.stages.curve.verdict import verdict_of_curve

if TYPE_CHECKING:
    from winokit.stages.curve.run import LearningCurve


def write_curve_page(curve: LearningCurve, folder: Path) -> Path:
    """Write the page of a curve, with its figure as PNG and SVG, and return it."""
    charts, series = charts_of(curve.series), curve.series
    write_page(
        folder / INDEX,
        "stages/curve/page.html.j2",
        curve=curve,
        verdict=verdict_of_curve(series),
        tests=list(dict.fromkeys(one.dataset for one in series)),
        restarts=max((point.restart for point in curve.points), default=1),
        charts=charts,
        figures=write_figures(figures_of_curve(charts), folder / "figures"),
        columns=[f"{name}, {NAMES[one.measure]}" for name, one in zip(names_of(series), series, strict=True)],
        rows=by_size(series),
        interval=interval,
        fits=fitted(series),
        settings=flat(curve.run),
        sources=(SAKAGUCHI, ELAZAR),
    )
    return folder / INDEX
