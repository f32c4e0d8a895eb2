"""The page of a suite: the matrix, the bands, models by size, and what single accuracy hides."""

from math import ceil, floor, log10
from pathlib import Path

from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import Forest
from winokit.stages.suite.cells import SuiteRun
from winokit.stages.suite.exports import write_exports
from winokit.stages.suite.matrix import VIEWS, SuiteMatrix


def write_suite(run: SuiteRun, folder: Path) -> Path:
    """Write suite.json, the tables and the page into a folder, and return the page."""
    matrix = SuiteMatrix(run)
    write_exports(matrix, folder)
    sizes = {cell.entrant.name: log10(cell.parameters) for cell in run.cells if cell.parameters}
    decades = range(floor(min(sizes.values())), ceil(max(sizes.values())) + 1) if sizes else range(0)
    shown = {
        "titles": {name: VIEWS[name][0] for name in matrix.views},
        "sizes": sizes,
        "decades": decades,
        "scale": Forest(()),
        "settings": tuple(flat(run.settings)),
    }
    return write_page(folder / INDEX, "stages/suite/page.html.j2", matrix=matrix, **shown)
