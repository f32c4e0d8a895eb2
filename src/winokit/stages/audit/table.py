"""The run as one compact table for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winokit.data.runs import Run
from winokit.drawing.plots import ForestLine, forest
from winokit.drawing.scorers import scorers
from winokit.drawing.wording import count, probability, say, say_chance, say_interval
from winokit.results import AT, Metric

if TYPE_CHECKING:
    from rich.table import Table


def summary_table(run: Run) -> Table:
    """Every protocol's main results: a line a result, a column a scorer; dim where chance would do as well."""
    from rich.table import Table

    known = scorers(run)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("protocol", "result"):
        table.add_column(heading, overflow="fold")
    for scorer in known:
        table.add_column(scorer.name, justify="right", overflow="fold")
    table.add_column("chance", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    for block in forest(run.metrics, known).blocks:
        for place, line in enumerate(block.lines):
            cells = [_cell(line, index) for index in range(len(known))]
            first = line.marks[0].row
            table.add_row(block.title if not place else "", line.title, *cells, say_chance(first), f"{first.n:,}")
    for name, title, speak in (
        ("p_chance", "guessing does as well", probability),
        ("n_to_beat_chance", "problems needed to tell", count),
    ):
        rows = [run.find("luck", "all", name, scorer.model, scorer.scoring) for scorer in known]
        if any(rows):
            said = [speak(row.value) if row else "" for row in rows]
            table.add_row("Luck" if name == "p_chance" else "", title, *said, "", _n(rows))
    return table


def _cell(line: ForestLine, scorer: int) -> str:
    mark = next((mark for mark in line.marks if mark.scorer == scorer), None)
    if mark is None:
        return ""
    text = f"{say(mark.row)} {say_interval(mark.row)}".replace("[", r"\[").strip()
    return f"[dim]{text}[/dim]" if mark.stands == AT else text


def _n(rows: list[Metric | None]) -> str:
    return next((f"{row.n:,}" for row in rows if row is not None), "")
