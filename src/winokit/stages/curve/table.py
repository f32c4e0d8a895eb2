"""Learning curves as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from winokit.stages.curve.fit import CurveSeries
from winokit.stages.curve.page import fitted, table_rows
from winokit.stages.curve.wording import NAMES, names_of

if TYPE_CHECKING:
    from rich.table import Table


def sizes_table(series: Sequence[CurveSeries]) -> Table:
    """A row a size, a column a curve: means with intervals, and the deviation over restarts."""
    table = _table("trained on")
    for name, one in zip(names_of(series), series, strict=True):
        table.add_column(f"{name}, {NAMES[one.measure]}", justify="right", overflow="fold")
    for size, cells in table_rows(series):
        said = []
        for cell in cells:
            spread = f" ± {cell.spread}" if cell and cell.spread else ""
            said.append("" if cell is None else rf"{cell.value}{spread} {cell.interval}".replace("[", r"\[").strip())
        table.add_row(size, *said)
    return table


def fits_table(series: Sequence[CurveSeries]) -> Table:
    """A row a curve: line, what twice as much adds, where the goal is reached, area."""
    table = _table("curve", justify="left")
    for heading in ("score", "line", "points for twice as much", "goal", "reached at", "area"):
        table.add_column(heading, justify="left" if heading == "score" else "right", overflow="fold")
    for fit in fitted(series):
        area = f"{fit.area} {fit.area_interval}".strip()
        cells = (fit.name, fit.score, fit.formula, fit.doubling, fit.goal, fit.arrival, area)
        table.add_row(*(cell.replace("[", r"\[") for cell in cells))
    return table


def _table(first: str, justify: str = "right") -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    return table
