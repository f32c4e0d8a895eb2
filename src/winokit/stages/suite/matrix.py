"""What a suite says, as plain data: the matrix in several views, and per dataset who is told from whom.

Tests are those of `winokit compare`: paired by problem, over groups, abstentions settled by guesses. They are corrected
together, over every pair of entrants on every dataset, on problems and on groups (Holm). Whether a value is above
chance is corrected over all cells of its view.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from winokit.drawing.decision import SMALL
from winokit.methods.metrics.compare import Comparison, holm
from winokit.methods.metrics.letters import compact_letters, letter_name
from winokit.problem import grouped
from winokit.results import Metric, tested
from winokit.stages.compare.page import ScorerPair
from winokit.stages.compare.run import compare_runs
from winokit.stages.suite.cells import Entrant, SuiteRun

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
class MatrixEntry:
    """A value of the matrix, and where it stands against chance."""

    row: Metric
    p: float
    """That it is chance, corrected over the view."""
    stands: str

    @property
    def level(self) -> float:
        """What guessing gives, or the commonest answer where that is more."""
        return self.row.level or 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """An entrant's place in a ranking, and the letters it shares with those it is not told from."""

    entrant: Entrant
    number: int
    """Its row in the matrix, from 1."""
    entry: MatrixEntry
    letters: tuple[int, ...]
    alone: bool
    """Whether it is the best, and told from every other."""

    @property
    def names(self) -> str:
        """The letters as they are written."""
        return " ".join(map(letter_name, self.letters)).replace(" ", "" if max(self.letters) < 26 else " ")


@dataclass(frozen=True)
class Ranking:
    """The entrants on one dataset, the best first, and the bands of those that cannot be told apart."""

    dataset: str
    standings: tuple[Standing, ...]
    bands: tuple[frozenset[int], ...]
    """For each letter the places in the ranking that have it."""

    def of(self, name: str) -> Standing | None:
        """The place of an entrant."""
        return next((standing for standing in self.standings if standing.entrant.name == name), None)


class SuiteMatrix:
    """Everything that the page, the tables and `suite.json` show."""

    def __init__(self, run: SuiteRun) -> None:
        self.run = run
        self.entrants = list({cell.entrant.name: cell.entrant for cell in run.cells}.values())
        self.datasets = list(dict.fromkeys(cell.dataset for cell in run.cells))
        self.cells = {(cell.entrant.name, cell.dataset): cell for cell in run.cells}
        self.views = {name: view for name in VIEWS if (view := dict(self._view(name)))}
        """By view, entrant and dataset, what stands there; a view that has nothing is left out."""
        self.pairs = list(self._pairs())
        """Each dataset with a test on it, corrected for the number of all."""
        self.rankings = {name: list(self._rankings(name)) for name in MEASURES if name in self.views}

    def standing(self, measure: str, name: str, dataset: str) -> Standing | None:
        """An entrant's place on a dataset; None where it has none, or where nothing is compared by the measure."""
        rankings = self.rankings.get(measure, [])
        return next((ranking.of(name) for ranking in rankings if ranking.dataset == dataset), None)

    def _view(self, name: str) -> Iterator[tuple[tuple[str, str], MatrixEntry]]:
        _, protocol, subsets, metric = VIEWS[name]
        found: list[tuple[tuple[str, str], Metric]] = []
        for key, cell in self.cells.items():
            rows = [cell.run.find(protocol, subset, metric) for subset in subsets] if cell.run is not None else []
            found += [(key, row) for row in rows if row is not None]
        corrected = holm([float(row.details.get("p", 1.0)) for _, row in found])  # type: ignore[arg-type]
        best: dict[tuple[str, str], MatrixEntry] = {}
        for (key, row), p in zip(found, corrected, strict=True):
            entry = MatrixEntry(row, p, tested(row, p, SMALL))
            known = best.get(key)
            if known is None or row.value - entry.level > known.row.value - known.level:
                best[key] = entry
        yield from best.items()

    def _pairs(self) -> Iterator[tuple[str, ScorerPair]]:
        """The tests of every dataset that two entrants or more have an answer to, with Holm's correction over all."""
        found: dict[tuple[str, str, str, str], Comparison] = {}
        for dataset in self.datasets:
            runs = {name: cell.run for (name, of), cell in self.cells.items() if of == dataset and cell.run is not None}
            if len(runs) > 1:
                found |= {(dataset, *names): test for names, test in compare_runs(runs).items()}
        corrected = holm([test.p_groups for test in found.values()])
        for (dataset, *names), p in zip(found, corrected, strict=True):
            yield dataset, ScorerPair(*names, found[dataset, *names], p)  # type: ignore[arg-type, index]

    def _rankings(self, measure: str) -> Iterator[Ranking]:
        tests = grouped((dataset, pair) for dataset, pair in self.pairs if pair.measure == measure)
        for dataset in self.datasets:
            entered = [number for number, one in enumerate(self.entrants, 1) if (one.name, dataset) in self.views[measure]]
            order = sorted(entered, key=lambda number: -self._settled(number, dataset, measure))
            place = {self.entrants[number - 1].name: place for place, number in enumerate(order)}
            apart = {frozenset((place[t.first], place[t.second])) for t in tests.get(dataset, ()) if t.ahead is not None}
            bands = compact_letters(len(order), [(min(two), max(two)) for two in apart])
            first = len(order) > 1 and all({0, other} in apart for other in range(1, len(order)))
            standings = [
                Standing(
                    self.entrants[number - 1],
                    number,
                    self.views[measure][self.entrants[number - 1].name, dataset],
                    tuple(letter for letter, band in enumerate(bands) if at in band),
                    first and at == 0,
                )
                for at, number in enumerate(order)
            ]
            yield Ranking(dataset, tuple(standings), tuple(bands))

    def _settled(self, number: int, dataset: str, measure: str) -> float:
        """What an entrant is ranked by: as in the tests, what it does not answer is settled by guesses."""
        key = self.entrants[number - 1].name, dataset
        run = self.cells[key].run
        row = run.find("accuracy", "all", "expected_accuracy") if run is not None and measure == "accuracy" else None
        return (row or self.views[measure][key].row).value
