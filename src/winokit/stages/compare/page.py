"""The page of several runs: rows by protocol, paired differences, and corrected tests."""

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
    """Everything the page of several runs shows.

    Columns are scorers. None makes those of the runs' names.
    """

    def __init__(
        self,
        runs: Mapping[str, Run],
        comparisons: Comparisons,
        notes: Sequence[str] = (),
        margin: float | None = None,
        columns: Sequence[RunColumn] | None = None,
    ) -> None:
        if columns is None:
            columns = columns_of_named(runs)
        self.columns = tuple(replace(column.scorer, model=column.name, name=column.name) for column in columns)
        self.datasets = []
        for name, run in runs.items():
            column_names = [column.name for column in columns if column.run == name]
            self.datasets.append((name, run.dataset.card.name, len(run.dataset), column_names))
        """Each run's name, dataset, number of problems and columns."""
        self.same_data = len({run.dataset.content_hash for run in runs.values()}) == 1
        self.pairs = paired(comparisons, margin)
        self.notes = notes
        self.margin = margin
        self.sentences = list(comparison_sentences(self.pairs))
        self.forest = forest(_select_column_rows(runs, columns), self.columns)
        self.differences = _draw_differences(self.pairs)


def write_comparison(
    runs: Mapping[str, Run],
    comparisons: Comparisons,
    folder: Path,
    notes: Sequence[str] = (),
    margin: float | None = None,
    columns: Sequence[RunColumn] | None = None,
) -> Path:
    """Write the page that compares runs into a folder.

    Returns its path. `margin` is the difference that matters, in points. Raises an error if the folder has an
    index.html of another sort.
    """
    page = ComparePage(runs, comparisons, notes, margin, columns)
    index = folder / INDEX
    is_ours = index.is_file() and b" winokit compare</title>" in index.read_bytes()
    check_own_folder(folder, [INDEX], ours=is_ours, of="a comparison")
    return write_page(index, "stages/compare/page.html.j2", page=page)


def _select_column_rows(runs: Mapping[str, Run], columns: Sequence[RunColumn]) -> list[Metric]:
    """Select the rows of the scorers in these columns.

    Their model is the column's name.
    """
    rows: list[Metric] = []
    for column in columns:
        run = runs[column.run]
        run_scorers = scorers(run)
        scorer_rows = [row for row in run.metrics if owner(row, run_scorers) == column.scorer]
        rows += [replace(row, model=column.name) for row in scorer_rows]
    return rows


def _draw_differences(pairs: Sequence[ScorerPair]) -> Forest:
    """Plot of the paired differences on one axis."""
    rows = [_make_difference_row(pair) for pair in pairs]
    return difference_forest(rows, [ShownScorer("", "", None, "")], titled=lambda row: row.subset)


def _make_difference_row(pair: ScorerPair) -> Metric:
    """Row of a paired difference for a plot.

    Its protocol is the measure, and its subset the two scorers.
    """
    comparison = pair.found
    return Metric(
        dataset="",
        model="",
        scoring="",
        formalization=None,
        protocol=pair.measure_title,
        subset=f"{pair.first} − {pair.second}",
        metric="difference",
        value=comparison.difference,
        n=comparison.n,
        low=comparison.interval.low,
        high=comparison.interval.high,
        chance=0.0,
        details={P: comparison.p},
    )
