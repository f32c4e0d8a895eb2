"""A suite as files: the page, `suite.json` and CSV with flat rows, Markdown, and LaTeX tables as papers print them."""

from dataclasses import replace
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from winokit.drawing.page import INDEX, flat, rendered_plain, write_page
from winokit.drawing.plots import Forest
from winokit.files import csv_bytes, result_bytes, write_whole
from winokit.results import rows_to_json
from winokit.stages.suite.cells import SuiteRun
from winokit.stages.suite.matrix import VIEWS, SuiteMatrix

SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "·": r"\textperiodcentered{}"},
}


def write_suite(run: SuiteRun, folder: Path) -> Path:
    """Write suite.json, suite.csv, suite.md, suite.tex and the page into a folder, and return the page."""
    matrix = SuiteMatrix(run)
    content, titles = suite_json(matrix), {name: VIEWS[name][0] for name in matrix.views}
    rows = content["metrics"]
    write_whole(folder / "suite.json", result_bytes(content))
    write_whole(folder / "suite.csv", csv_bytes([rows[0] if rows else (), *(row.values() for row in rows)]))
    for name in ("suite.md", "suite.tex"):
        write_whole(folder / name, rendered_plain(f"stages/suite/{name}.j2", matrix=matrix, titles=titles, tex=tex))
    sizes = {cell.entrant.name: log10(cell.parameters) for cell in run.cells if cell.parameters}
    decades = range(floor(min(sizes.values())), ceil(max(sizes.values())) + 1) if sizes else range(0)
    shown = {"titles": titles, "sizes": sizes, "decades": decades, "scale": Forest(())}
    settings = tuple(flat(run.settings))
    return write_page(folder / INDEX, "stages/suite/page.html.j2", matrix=matrix, settings=settings, **shown)


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
