"""The page of a suite: the matrix, the bands, models by size, and what single accuracy hides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import Forest
from winokit.problem import grouped
from winokit.results import Metric
from winokit.stages.suite.cells import DONE, FAILED, SuiteRun
from winokit.stages.suite.exports import write_exports, write_json
from winokit.stages.suite.matrix import VIEWS, SuiteMatrix

RESULTS = "suite.json"


@dataclass(frozen=True, slots=True)
class PanelDot:
    """An entrant in a panel: where it stands from left to right, and its row."""

    number: int
    name: str
    across: float
    row: Metric
    family: str | None = None


class SuitePage:
    """Everything that the page shows beside the matrix itself."""

    def __init__(self, matrix: SuiteMatrix) -> None:
        self.matrix, self.titles = matrix, {name: VIEWS[name][0] for name in matrix.views}
        self.scale = Forest(())
        self.left = [cell for cell in matrix.run.cells if cell.state == FAILED]
        self.done = sum(cell.state == DONE for cell in matrix.run.cells)
        self.settings = tuple(flat(matrix.run.settings))
        self.parameters = {cell.entrant.name: cell.parameters for cell in matrix.run.cells if cell.parameters}
        """By entrant, where it is known."""
        logs = [math.log10(number) for number in self.parameters.values()]
        self.decades = range(math.floor(min(logs)), math.ceil(max(logs)) + 1) if logs else range(0)
        """Powers of ten that hold all sizes."""
        self.sizes = self._panels("accuracy") if len(set(logs)) > 1 else {}
        self.twins = self._panels("group_accuracy")

    def _panels(self, measure: str) -> dict[str, list[PanelDot]]:
        """By dataset, every entrant as a dot: by its size, or by its accuracy in groups."""
        panels: dict[str, list[PanelDot]] = {}
        for (name, dataset), entry in self.matrix.views.get(measure, {}).items():
            cell = self.matrix.cells[name, dataset]
            single = cell.run.find("groups", "grouped", "accuracy") if cell.run is not None else None
            number = 1 + [one.name for one in self.matrix.entrants].index(name)
            if measure == "group_accuracy" and single is not None:
                across = single.value
            elif measure == "accuracy" and name in self.parameters:
                span = max(len(self.decades) - 1, 1)
                across = (math.log10(self.parameters[name] or 1) - self.decades[0]) / span
            else:
                continue
            dot = PanelDot(number, name, across, entry.row, cell.entrant.model.family)
            panels.setdefault(dataset, []).append(dot)
        return panels

    def lines(self, dots: list[PanelDot]) -> list[list[PanelDot]]:
        """The dots of each family, from small to large."""
        families = grouped((dot.family, dot) for dot in dots if dot.family is not None)
        return [sorted(family, key=lambda dot: dot.across) for family in families.values() if len(family) > 1]


def write_suite(run: SuiteRun, folder: Path) -> Path:
    """Write suite.json, the tables and the page into a folder, and return the page."""
    matrix = SuiteMatrix(run)
    write_json(matrix, folder / RESULTS)
    write_exports(matrix, folder)
    return write_page(folder / INDEX, "stages/suite/page.html.j2", page=SuitePage(matrix), matrix=matrix)
