"""What the command line shows of an audit: one compact table."""

from collections.abc import Iterator, Sequence
from typing import Any

from winokit.data.runs import Run
from winokit.drawing.figures import canvas
from winokit.drawing.plots import ForestLine, forest, scorers
from winokit.drawing.tables import Table, Text, dim, plan_lines, table
from winokit.drawing.wording import count, probability, say, say_chance, say_interval
from winokit.errors import check_known
from winokit.results import AT, Metric, rows_to_json, stands
from winokit.stages.audit.page import MANY, AuditPage, JudgedScorer, judge

LISTED = 20
"""Scorers that a terminal shows where there are too many for a column each."""


def lines(run: Run) -> Iterator[str | Table]:
    """Every protocol's main results, and where the report lies."""
    if "plan" in run.settings:
        yield from plan_lines(run.settings["plan"])
        return
    judged = judge(run)
    yield summary_table(run) if len(judged) <= MANY else _ranking(judged[:LISTED])
    if len(judged) > max(MANY, LISTED):
        yield f"… and {len(judged) - LISTED:,} scorers more, in the report and in results.json"
    if run.report is not None:
        yield f"report: {run.report}"


def _ranking(judged: Sequence[JudgedScorer]) -> Table:
    """A line per scorer: too many for a column each."""
    labels = list(dict.fromkeys(label for each in judged for label in each.tiles))
    rows: list[list[str | Text]] = [
        [each.scorer.name, *(_said(each.tiles.get(label)) for label in labels), each.verdict.word] for each in judged
    ]
    return table(["scorer", *map(str.lower, labels), "verdict"], rows)


def _said(row: Metric | None) -> str | Text:
    return "" if row is None else dim(f"{say(row)} {say_interval(row)}".strip(), stands(row) == AT)


def as_json(run: Run) -> dict[str, Any]:
    """The run's settings and rows, and where the report lies."""
    return {"run": run.settings, "metrics": rows_to_json(run.metrics), "report": run.report and str(run.report)}


def figure(run: Run, name: str) -> Any:
    """A figure of the report, as matplotlib's."""
    figures = AuditPage(run).figures
    check_known("figure", name, figures)
    return canvas(figures[name])


def summary_table(run: Run) -> Table:
    """Every protocol's main results: a line per result, a column per scorer; dim where chance would do as well."""
    known = scorers(run)
    rows: list[list[str | Text]] = []
    for block in forest(run.metrics, known).blocks:
        for place, line in enumerate(block.lines):
            cells = [_cell(line, index) for index in range(len(known))]
            first = line.marks[0].row
            rows.append([block.title if not place else "", line.title, *cells, say_chance(first), f"{first.n:,}"])
    for name, title, speak in (
        ("p_chance", "guessing does as well", probability),
        ("n_to_beat_chance", "problems needed to tell", count),
    ):
        found = [run.find("luck", "all", name, scorer.model, scorer.scoring) for scorer in known]
        if any(found):
            numbers = [speak(row.value) if row else "" for row in found]
            n = next(f"{row.n:,}" for row in found if row)
            rows.append(["Luck" if name == "p_chance" else "", title, *numbers, "", n])
    return table(["protocol", "result", *(scorer.name for scorer in known), "chance", "n"], rows, left=2)


def _cell(line: ForestLine, scorer: int) -> str | Text:
    return _said(next((mark.row for mark in line.marks if mark.scorer == scorer), None))
