"""A suite as files for others: `suite.json` with flat rows, CSV, Markdown, and a LaTeX table as papers print it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from winokit.drawing.page import rendered_plain
from winokit.files import csv_bytes, json_bytes, write_whole
from winokit.results import Detail, rows_to_json
from winokit.stages.suite.matrix import VIEWS, SuiteMatrix

SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "·": r"\textperiodcentered{}"},
}
HEADS = (
    *("entrant", "model", "scoring", "shots", "dataset", "measure", "subset", "value", "low", "high", "chance"),
    *("p_corrected", "n", "letters", "state", "why"),
)


def write_exports(matrix: SuiteMatrix, folder: Path) -> None:
    """Write suite.csv, suite.md and suite.tex."""
    write_whole(folder / "suite.csv", csv_bytes([HEADS, *_lines(matrix)]))
    for kind in ("md", "tex"):
        shown = {"matrix": matrix, "titles": {name: view[0] for name, view in VIEWS.items()}, "tex": tex}
        write_whole(folder / f"suite.{kind}", rendered_plain(f"stages/suite/suite.{kind}.j2", **shown))


def suite_json(matrix: SuiteMatrix) -> dict[str, Any]:
    """What `suite.json` holds: flat rows, cells, tests and letters."""
    tests = [
        {
            **{"dataset": dataset, "first": pair.first, "second": pair.second, "measure": pair.measure},
            **{"difference": pair.found.difference, "low": pair.found.interval.low, "high": pair.found.interval.high},
            **{"p": pair.found.p_groups, "p_corrected": pair.p_corrected, "n": pair.found.n},
        }
        for dataset, pair in matrix.pairs
    ]
    letters = [
        {"dataset": ranking.dataset, "measure": measure, "entrant": one.entrant.name, "letters": one.names}
        for measure, rankings in matrix.rankings.items()
        for ranking in rankings
        for one in ranking.standings
    ]
    rows = rows_to_json(row for cell in matrix.run.cells if cell.run is not None for row in cell.run.metrics)
    cells = [cell.to_json() for cell in matrix.run.cells]
    return {"suite": matrix.run.settings, "metrics": rows, "cells": cells, "tests": tests, "letters": letters}


def _lines(matrix: SuiteMatrix) -> Iterator[list[Detail]]:
    """A line per cell and view; a cell without a value has one line, which says why."""
    for (name, dataset), cell in matrix.cells.items():
        entrant, shown = cell.entrant, 0
        head: list[Detail] = [name, entrant.model.title, entrant.scoring, entrant.shots, dataset]
        for measure, view in matrix.views.items():
            entry = view.get((name, dataset))
            if entry is not None:
                row, standing = entry.row, matrix.standing(measure, name, dataset)
                letters, shown = standing.names if standing else "", shown + 1
                numbers = [row.value, row.low, row.high, row.level, entry.p, row.n]
                yield [*head, measure, row.subset, *numbers, letters, cell.state, cell.why]
        if not shown:
            yield [*head, *[None] * 9, cell.state, cell.why]


def tex(text: str) -> str:
    r"""A text as LaTeX takes it.

    >>> tex("gpt_2 · 50%")
    'gpt\\_2 \\textperiodcentered{} 50\\%'
    """
    return "".join(SPECIAL.get(sign, sign) for sign in text)


def write_json(matrix: SuiteMatrix, path: Path) -> None:
    """Write suite.json."""
    write_whole(path, json_bytes(suite_json(matrix)))
