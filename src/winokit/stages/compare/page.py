"""The page of several runs: models by protocols, paired differences, and what is left of them after correction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from winokit.data.runs import Run
from winokit.drawing.page import INDEX, write_page
from winokit.drawing.plots import Forest, ShownScorer, difference_forest, forest, owner, scorers
from winokit.files import check_own_folder
from winokit.results import Metric, P
from winokit.stages.compare.pairs import Comparisons, RunColumn, ScorerPair, columns_of_named, paired
from winokit.stages.compare.verdict import comparison_sentences


class ComparePage:
    """Everything the page of several runs shows."""

    def __init__(
        self,
        runs: Mapping[str, Run],
        comparisons: Comparisons,
        notes: Sequence[str] = (),
        margin: float | None = None,
        columns: Sequence[RunColumn] | None = None,
    ) -> None:
        all_columns = columns_of_named(runs) if columns is None else columns
        self.columns = tuple(replace(each.scorer, model=each.name, name=each.name) for each in all_columns)
        self.datasets = []
        for name, run in runs.items():
            column_names = [each.name for each in all_columns if each.run == name]
            self.datasets.append((name, run.dataset.card.name, len(run.dataset), column_names))
        """Each run's name, dataset, number of problems and columns."""
        self.same_data = len({run.dataset.content_hash for run in runs.values()}) == 1
        self.pairs = paired(comparisons, margin)
        self.notes = notes
        self.margin = margin
        self.sentences = list(comparison_sentences(self.pairs))
        self.forest = forest(_select_rows(runs, all_columns), self.columns)
        self.differences = _draw_differences(self.pairs)


def write_comparison(
    runs: Mapping[str, Run],
    comparisons: Comparisons,
    folder: Path,
    notes: Sequence[str] = (),
    margin: float | None = None,
    columns: Sequence[RunColumn] | None = None,
) -> Path:
    """Write the page that compares runs into a folder and return it."""
    page = ComparePage(runs, comparisons, notes, margin, columns)
    ours = (folder / INDEX).is_file() and b" winokit compare</title>" in (folder / INDEX).read_bytes()
    check_own_folder(folder, [INDEX], ours=ours, of="a comparison")
    return write_page(folder / INDEX, "stages/compare/page.html.j2", page=page)


def _select_rows(runs: Mapping[str, Run], columns: Sequence[RunColumn]) -> list[Metric]:
    """All rows under the names of their columns."""
    rows: list[Metric] = []
    for column in columns:
        run = runs[column.run]
        run_scorers = scorers(run)
        scorer_rows = [row for row in run.metrics if owner(row, run_scorers) == column.scorer]
        rows += [replace(row, model=column.name) for row in scorer_rows]
    return rows


def _draw_differences(pairs: Sequence[ScorerPair]) -> Forest:
    """The paired differences on one axis."""
    rows = []
    for pair in pairs:
        comparison = pair.found
        name = (pair.measure_title, f"{pair.first} − {pair.second}", "difference")
        ends = (comparison.interval.low, comparison.interval.high, 0.0)
        rows.append(
            Metric("", "", "", None, *name, comparison.difference, comparison.n, *ends, details={P: comparison.p})
        )
    return difference_forest(rows, [ShownScorer("", "", None, "")], titled=lambda row: row.subset)
