"""A suite as files for others: `suite.json` and CSV with flat rows, Markdown, and LaTeX tables as papers print them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from winokit.drawing.page import rendered_plain
from winokit.files import csv_bytes, json_bytes, write_whole
from winokit.results import rows_to_json
from winokit.stages.suite.matrix import VIEWS, SuiteMatrix

SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "·": r"\textperiodcentered{}"},
}


def write_exports(matrix: SuiteMatrix, folder: Path) -> None:
    """Write suite.json, suite.csv, suite.md and suite.tex."""
    content = suite_json(matrix)
    write_whole(folder / "suite.json", json_bytes(content))
    rows = content["metrics"]
    write_whole(folder / "suite.csv", csv_bytes([rows[0] if rows else (), *(row.values() for row in rows)]))
    for kind in ("md", "tex"):
        titles = {name: VIEWS[name][0] for name in matrix.views}
        made = rendered_plain(f"stages/suite/suite.{kind}.j2", matrix=matrix, titles=titles, tex=tex)
        write_whole(folder / f"suite.{kind}", made)


def suite_json(matrix: SuiteMatrix) -> dict[str, Any]:
    """What `suite.json` holds: flat rows, with letters where entrants were compared, cells and tests."""
    shown = {id(one.row): one for view in matrix.views.values() for one in view.values()}
    rows = [row for cell in matrix.cells.values() if cell.run is not None for row in cell.run.metrics]
    for place, row in enumerate(rows):
        if (one := shown.get(id(row))) is not None:
            rows[place] = replace(row, details={**row.details, "p_corrected": one.p, "letters": one.letters or None})
    tests = [
        {
            **{"dataset": dataset, "first": pair.first, "second": pair.second, "measure": pair.measure},
            **{"difference": pair.found.difference, "low": pair.found.interval.low, "high": pair.found.interval.high},
            **{"p": pair.found.p_groups, "p_corrected": pair.p_corrected, "n": pair.found.n},
        }
        for dataset, pair in matrix.pairs
    ]
    cells = [cell.to_json() for cell in matrix.cells.values()]
    return {"suite": matrix.run.settings, "metrics": rows_to_json(rows), "cells": cells, "tests": tests}


def tex(text: str) -> str:
    r"""A text as LaTeX takes it.

    >>> tex("gpt_2 · 50%")
    'gpt\\_2 \\textperiodcentered{} 50\\%'
    """
    return "".join(SPECIAL.get(sign, sign) for sign in text)
