"""What a suite says, as plain data: the matrix in several views, and per dataset which can be told apart.

Tests are those of `winokit compare`: paired by problem, over groups, abstentions settled by guesses. They are corrected
together, over every pair of entrants on every dataset, on problems and on groups (Holm). Whether a value is above
chance is corrected over all rows of its view.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import fmean

from winokit.drawing.decision import SMALL
from winokit.methods.metrics.compare import Comparison, holm
from winokit.methods.metrics.letters import compact_letters, letter_name
from winokit.results import Metric, tested
from winokit.stages.compare.page import ScorerPair
from winokit.stages.compare.run import compare_runs
from winokit.stages.suite.cells import SuiteCell, SuiteRun

VIEWS = {
    "accuracy": ("Accuracy", "accuracy", ("all",), "accuracy"),
    "group_accuracy": ("Whole groups", "groups", ("complete",), "group_accuracy"),
    "consistency": ("Consistency", "switching", ("switchable",), "consistency"),
    "artifacts": ("Artifacts", "artifacts", ("no-cands", "part-sent", "local-context"), "accuracy"),
}
"""By name, the title of a view and the rows it shows: of several subsets the one furthest above chance."""
MEASURES = ("accuracy", "group_accuracy")
"""What entrants are compared by."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A value of the matrix: where it stands against chance, and among the entrants on its dataset."""

    cell: SuiteCell
    row: Metric
    p: float
    """That it is chance, corrected over the view."""
    stands: str
    letters: str = ""
    """Those who share one cannot be distinguished; none where nothing is compared by the measure."""
    alone: bool = False
    """Whether it is ahead of every other."""

    @property
    def above(self) -> float:
        """How far it is from chance, or from the commonest answer where that is more."""
        return self.row.value - (self.row.level or 0.0)


@dataclass(frozen=True)
class Ranking:
    """The entrants on one dataset, the best first, and the bands of those that cannot be told apart."""

    dataset: str
    standings: list[Standing]
    bands: list[frozenset[int]]
    """For each letter the places in the ranking that have it."""


class SuiteMatrix:
    """Everything that the page, the tables and `suite.json` show."""

    def __init__(self, run: SuiteRun) -> None:
        self.run = run
        self.cells = {(cell.entrant.name, cell.dataset): cell for cell in run.cells}
        self.entrants = list({name: cell.entrant for (name, _), cell in self.cells.items()}.values())
        self.datasets = list(dict.fromkeys(dataset for _, dataset in self.cells))
        self.pairs = list(self._pairs())
        """Each dataset with a test on it, corrected for the number of all."""
        self.views = {name: view for name in VIEWS if (view := self._view(name))}
        """By view, entrant and dataset, what stands there; a view that has nothing is left out."""
        self.rankings = {
            measure: [self._ranked(measure, dataset) for dataset in self.datasets]
            for measure in MEASURES
            if measure in self.views
        }

    def _pairs(self) -> Iterator[tuple[str, ScorerPair]]:
        """The tests of every dataset that two entrants or more were asked about."""
        found: dict[tuple[str, tuple[str, str, str]], Comparison] = {}
        for dataset in self.datasets:
            runs = {name: cell.run for (name, of), cell in self.cells.items() if of == dataset and cell.run is not None}
            if len(runs) > 1:
                found |= {(dataset, names): test for names, test in compare_runs(runs).items()}
        corrected = holm([test.p_groups for test in found.values()])
        for ((dataset, names), test), p in zip(found.items(), corrected, strict=True):
            yield dataset, ScorerPair(*names, test, p)

    def _view(self, name: str) -> dict[tuple[str, str], Standing]:
        _, protocol, subsets, metric = VIEWS[name]
        found = [
            (key, cell, row)
            for key, cell in self.cells.items()
            for subset in subsets
            if cell.run is not None and (row := cell.run.find(protocol, subset, metric)) is not None
        ]
        corrected = holm([1.0 if (p := row.details.get("p")) is None else float(p) for _, _, row in found])
        view: dict[tuple[str, str], Standing] = {}
        for (key, cell, row), p in zip(found, corrected, strict=True):
            standing = Standing(cell, row, p, tested(row, p, SMALL))
            view[key] = max(view.get(key, standing), standing, key=lambda one: one.above)
        return view

    def _ranked(self, measure: str, dataset: str) -> Ranking:
        """The ranking on a dataset by the tests themselves; its letters go into the view, too."""
        view = {name: standing for (name, of), standing in self.views[measure].items() if of == dataset}
        tests = [pair for of, pair in self.pairs if of == dataset and pair.measure == measure]
        leads: dict[str, list[float]] = {name: [] for name in view}
        for pair in tests:
            leads[pair.first].append(pair.found.difference)
            leads[pair.second].append(-pair.found.difference)
        # On average, how far ahead of those it was compared with: their values may be of other problems, or of silence.
        names = sorted(view, key=lambda name: (-round(fmean(leads[name] or [0.0]), 9), -view[name].row.value))
        place = {name: at for at, name in enumerate(names)}
        apart = sorted((place[pair.first], place[pair.second]) for pair in tests if pair.ahead)
        bands = compact_letters(len(names), apart)
        ahead = Counter(pair.ahead for pair in tests)
        for name, at in place.items():
            letters = "".join(letter_name(letter) for letter, band in enumerate(bands) if at in band)
            alone = len(names) > 1 and ahead[name] == len(names) - 1
            self.views[measure][name, dataset] = replace(view[name], letters=letters, alone=alone)
        return Ranking(dataset, [self.views[measure][name, dataset] for name in names], bands)
