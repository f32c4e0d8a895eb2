"""Numbers of plots that only an audit has.

They are groups as stacks, margins, places of candidates, and problems before and after a switch. The page lays them out
in HTML, and `figures` draws them with matplotlib.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from winokit.data.runs import Run
from winokit.drawing.plots import ShownScorer
from winokit.methods.arrays import FloatArray
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import ORIGINAL, grouped
from winokit.results import Metric

BINS = 20
"""Number of bars of a histogram."""
PLACES = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True, slots=True)
class GroupStack:
    """Shares of one scorer's groups with all, some or no members right."""

    scorer: str
    """The scorer's name."""
    shares: tuple[Metric, ...]
    """Three rows in this order."""

    @property
    def n(self) -> int:
        """Number of groups."""
        return self.shares[0].n

    @property
    def chance(self) -> tuple[float, ...] | None:
        """Chance of each share, or None if any is not known."""
        chances = tuple(row.chance for row in self.shares if row.chance is not None)
        return chances if len(chances) == len(self.shares) else None


def stacks(run: Run, shown_scorers: Sequence[ShownScorer]) -> tuple[GroupStack, ...]:
    """Stacks of the scorers that have complete groups."""
    breakdowns = []
    for scorer in shown_scorers:
        names = ("group_accuracy", "one_right", "none_right")
        rows = [run.find_or_none("groups", "complete", name, scorer.model, scorer.scoring) for name in names]
        shares = tuple(row for row in rows if row is not None)
        if len(shares) == len(names):
            breakdowns.append(GroupStack(scorer.name, shares))
    return tuple(breakdowns)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of one scorer's margins, for right and for wrong choices.

    A margin is how far the chosen candidate's score is above the next. Bins are equally wide, and there is one more
    edge than bins.
    """

    scorer: str
    """The scorer's name."""
    edges: tuple[float, ...]
    right: tuple[int, ...]
    """Number of right choices in each bin."""
    wrong: tuple[int, ...]
    median_right: float | None
    """Median margin of right choices, or None if there are none."""
    median_wrong: float | None
    beyond: int
    """Margins past the last edge, counted in the last bin."""

    @property
    def top(self) -> int:
        """Count of the longest bar, at least 1."""
        return max((*self.right, *self.wrong, 1))


def histograms(run: Run, shown_scorers: Sequence[ShownScorer]) -> tuple[Histogram, ...]:
    """Histograms of the scorers on the original problems.

    Scorers without scores have none.
    """
    scorer_histograms = []
    for scorer, predictions in _select_predictions(run, shown_scorers):
        histogram = _make_histogram(scorer, predictions)
        if histogram is not None:
            scorer_histograms.append(histogram)
    return tuple(scorer_histograms)


def _select_predictions(
    run: Run, shown_scorers: Sequence[ShownScorer], variant: str = ORIGINAL
) -> list[tuple[ShownScorer, list[Prediction]]]:
    """Select each scorer's predictions of labelled problems of a variant."""
    labelled = (row for row in run.predictions if row.variant == variant and row.answer is not None)
    by_scorer = grouped(((row.model, row.scoring), row) for row in labelled)
    return [(scorer, by_scorer.get((scorer.model, scorer.scoring), [])) for scorer in shown_scorers]


def _make_histogram(scorer: ShownScorer, predictions: Iterable[Prediction]) -> Histogram | None:
    """Count margins in bins.

    Abstentions and infinite margins are left out. None if there are no margins, or if all are alike.
    """
    measured = [row for row in predictions if row.prediction is not None and row.margin is not None]
    margins = np.array([row.margin for row in measured], float)
    is_right = np.array([row.is_right for row in measured], bool)
    is_finite = np.isfinite(margins)
    margins = margins[is_finite]
    is_right = is_right[is_finite]
    if not len(margins) or margins.max() == margins.min():
        return None
    # One outlier would press all bars into the first bin: the last one is open.
    end = float(np.quantile(margins, 0.99)) or float(margins.max())
    edges = np.linspace(0, end, BINS + 1)
    return Histogram(
        scorer.name,
        tuple(edges.tolist()),
        _count_in_bins(margins[is_right], edges),
        _count_in_bins(margins[~is_right], edges),
        _find_median(margins[is_right]),
        _find_median(margins[~is_right]),
        int((margins > end).sum()),
    )


def _count_in_bins(margins: FloatArray, edges: FloatArray) -> tuple[int, ...]:
    """Number of margins in each bin.

    The last bin counts those past the last edge too.
    """
    counts, _ = np.histogram(np.minimum(margins, edges[-1]), edges)
    return tuple(counts.tolist())


def _find_median(margins: FloatArray) -> float | None:
    """Median of margins, or None if there are none."""
    return float(np.median(margins)) if len(margins) else None


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of right and chosen places of candidates, for one scorer."""

    scorer: str
    """The scorer's name."""
    places: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    """A row for each place of the right candidate, a column for each chosen place and, if any, one of abstentions."""
    abstained: bool
    """Whether the last column counts abstentions."""

    def share(self, answer: int, choice: int) -> float:
        """Share of the problems of a row that are in one column.

        `answer` and `choice` are the indices of the row and the column.
        """
        return self.counts[answer][choice] / (sum(self.counts[answer]) or 1)


def confusions(run: Run, shown_scorers: Sequence[ShownScorer]) -> tuple[Confusion, ...]:
    """Tables of places for the scorers that answered original problems."""
    predictions_by_scorer = _select_predictions(run, shown_scorers)
    return tuple(_make_confusion(scorer, predictions) for scorer, predictions in predictions_by_scorer if predictions)


def _make_confusion(scorer: ShownScorer, predictions: Iterable[Prediction]) -> Confusion:
    """Count the places of right and of chosen candidates.

    The table has two places at least.
    """
    counts = Counter((row.answer, row.prediction) for row in predictions)
    seen_places = [place for place in chain.from_iterable(counts) if place is not None]
    place_count = max(2, 1 + max(seen_places))
    choices: list[int | None] = list(range(place_count))
    has_abstentions = any(choice is None for _, choice in counts)
    if has_abstentions:
        choices.append(None)
    table = []
    for answer in range(place_count):
        table.append(tuple(counts[answer, choice] for choice in choices))
    names = tuple(_describe_place(index) for index in range(place_count))
    return Confusion(scorer.name, names, tuple(table), has_abstentions)


def _describe_place(index: int) -> str:
    """Word for a candidate's place, from its index.

    >>> _describe_place(0), _describe_place(6)
    ('first', '7th')
    """
    return PLACES[index] if index < len(PLACES) else f"{index + 1}th"


@dataclass(frozen=True, slots=True)
class SwitchTable:
    """Counts of problems right before and after their candidates are switched.

    `after` counts those that are right only after it, and `neither` those that never are.
    """

    scorer: str
    """The scorer's name."""
    both: int
    """Number of problems that are right before and after."""
    before: int
    """Number of problems that are right only before."""
    after: int
    neither: int


def switch_tables(run: Run, shown_scorers: Sequence[ShownScorer]) -> tuple[SwitchTable, ...]:
    """Tables of the scorers whose predictions of switched problems are complete.

    Complete means that as many problems have both predictions as the run's row of consistency counts.
    """
    tables = []
    predictions_before = _select_predictions(run, shown_scorers)
    predictions_after = _select_predictions(run, shown_scorers, "switched")
    for (scorer, before), (_, after) in zip(predictions_before, predictions_after, strict=True):
        row = run.find_or_none("switching", "switchable", "consistency", scorer.model, scorer.scoring)
        right_before = {prediction.id: prediction.is_right for prediction in before}
        right_after = {prediction.id: prediction.is_right for prediction in after}
        outcomes = Counter(
            (right_before[name], is_right) for name, is_right in right_after.items() if name in right_before
        )
        if row is not None and outcomes.total() == row.n:
            kinds = ((True, True), (True, False), (False, True), (False, False))
            tables.append(SwitchTable(scorer.name, *(outcomes[kind] for kind in kinds)))
    return tuple(tables)
