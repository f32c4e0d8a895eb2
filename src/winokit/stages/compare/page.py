"""Several runs side by side: models by protocols, paired differences, and what is left of them after correction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from winokit.data.runs import Run
from winokit.drawing.decision import SMALL, DecisionTable
from winokit.drawing.figures import forest_figures, write_figures
from winokit.drawing.page import INDEX, write_page
from winokit.drawing.plots import Forest, Scorer, difference_forest, forest, owner, scorers
from winokit.drawing.protocols import TITLES
from winokit.drawing.wording import join, plural, points, probability
from winokit.methods.metrics.compare import Comparison, holm
from winokit.methods.metrics.measuring import RowHead
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Metric

Comparisons = Mapping[tuple[str, str, str], Comparison]
"""By the names of the first and the second run and what was compared: accuracy, group_accuracy …"""


@dataclass(frozen=True, slots=True)
class ScorerPair:
    """One paired test, with its p-value corrected for the number of tests on the page."""

    first: str
    second: str
    measure: str
    found: Comparison
    p_corrected: float

    @property
    def measure_title(self) -> str:
        """What was compared, in the middle of a sentence."""
        known = {name.split("/")[2]: title for name, title in TITLES.items()}
        known |= {"accuracy": "accuracy", "group_accuracy": "group accuracy"}
        title = known.get(self.measure, self.measure.replace("_", " ")).lower()
        return f"expected {title}" if self.found.expected else title

    @property
    def ahead(self) -> str | None:
        """The better of the two, where correction leaves a difference."""
        if self.p_corrected >= SMALL or self.found.difference == 0:
            return None
        return self.first if self.found.difference > 0 else self.second


class ComparePage:
    """Everything the page of several runs shows."""

    def __init__(self, runs: Mapping[str, Run], comparisons: Comparisons, notes: Sequence[str] = ()) -> None:
        self.columns, rows = _side_by_side(runs)
        self.datasets = [(name, run.dataset.card.name, len(run.dataset)) for name, run in runs.items()]
        """Each run's name, dataset and number of problems."""
        self.same_data = len({run.dataset.content_hash for run in runs.values()}) == 1
        self.pairs, self.notes = paired(comparisons), notes
        self.sentences = list(comparison_sentences(self.pairs))
        self.forest, self.differences = forest(rows, self.columns), _differences(self.pairs)


def write_comparison(
    runs: Mapping[str, Run], comparisons: Comparisons, folder: Path, notes: Sequence[str] = ()
) -> Path:
    """Write the page that compares runs into a folder and return it."""
    page = ComparePage(runs, comparisons, notes)
    made = forest_figures({"forest": page.forest}, [column.name for column in page.columns])
    figures = write_figures(made | forest_figures({"differences": page.differences}, []), folder / "figures")
    write_page(folder / INDEX, "stages/compare/page.html.j2", page=page, figures=figures)
    return folder / INDEX


def paired(comparisons: Comparisons) -> list[ScorerPair]:
    """The tests with Holm's correction over all of them; the p-values are those over groups."""
    corrected = holm([found.p_groups for found in comparisons.values()])
    return [ScorerPair(*names, found, p) for (names, found), p in zip(comparisons.items(), corrected, strict=True)]


def _side_by_side(runs: Mapping[str, Run]) -> tuple[tuple[Scorer, ...], list[Metric]]:
    """A column for each scorer of each run, and all rows under the names of their columns."""
    columns: list[Scorer] = []
    rows: list[Metric] = []
    for name, run in runs.items():
        known = scorers(run)
        for scorer in known:
            column = name if len(known) == 1 else f"{name} · {scorer.name}"
            columns.append(replace(scorer, model=column, name=column))
            rows += [replace(row, model=column) for row in run.metrics if owner(row, known) == scorer]
    return tuple(columns), rows


def comparison_sentences(pairs: Sequence[ScorerPair]) -> Iterator[str]:
    """What may be said of each two scorers, from every test between them."""
    many = f" after correction for {plural(len(pairs), 'test')}" if len(pairs) > 1 else ""
    for names in dict.fromkeys((pair.first, pair.second) for pair in pairs):
        tests = {pair.measure: pair for pair in pairs if (pair.first, pair.second) == names}
        state = {measure: _ahead(tests.get(measure)) for measure in COMPARED.facts}
        word = COMPARED.decide(state).word.format(first=names[0], second=names[1])
        numbers = join(
            [
                f"{points(pair.found.difference)} points of {pair.measure_title} ({_p(pair.p_corrected)})"
                for pair in tests.values()
            ]
        )
        yield f"{word}: {names[0]} has {numbers}{many}."


def _ahead(pair: ScorerPair | None) -> str:
    if pair is None:
        return UNKNOWN
    return AT if pair.ahead is None else ABOVE if pair.ahead == pair.first else BELOW


COMPARED = DecisionTable.of_stage(
    "compare", {"accuracy": (ABOVE, AT, BELOW, UNKNOWN), "group_accuracy": (ABOVE, AT, BELOW, UNKNOWN)}
)


def _p(value: float) -> str:
    said = probability(value).replace(" ", "\u00a0")
    return f"p\u00a0{said}" if said.startswith("<") else f"p\u00a0=\u00a0{said}"


def _differences(pairs: Sequence[ScorerPair]) -> Forest:
    rows = []
    for pair in pairs:
        name, test = (pair.measure_title, f"{pair.first} − {pair.second}", "difference"), pair.found
        rows.append(RowHead("", "", "").row(name, test.difference, test.n, test.interval.low, test.interval.high, 0.0))
    return difference_forest(rows, [Scorer("", "", None, "")], titled=lambda row: row.subset)
