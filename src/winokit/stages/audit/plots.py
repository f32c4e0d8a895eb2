"""Plots that only an audit has: groups as stacks, margins, places, and problems before and after a switch.

These are the numbers, which the page lays out in HTML; `figures` draws them with matplotlib.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from winokit.data.runs import Run
from winokit.drawing.plots import ShownScorer
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import ORIGINAL, grouped
from winokit.results import Metric

BINS = 20
PLACES = ("first", "second", "third", "fourth", "fifth")


@dataclass(frozen=True, slots=True)
class GroupStack:
    """Shares of groups right as a whole, in part, and not at all.

    Chance is beside them if it is known.
    """

    scorer: str
    shares: tuple[Metric, ...]

    @property
    def n(self) -> int:
        """Number of groups."""
        return self.shares[0].n

    @property
    def chance(self) -> tuple[float, ...] | None:
        """Chance of each share, if it is known."""
        known_chances = tuple(row.chance for row in self.shares if row.chance is not None)
        return known_chances if len(known_chances) == len(self.shares) else None


def stacks(run: Run, known: Sequence[ShownScorer]) -> tuple[GroupStack, ...]:
    """The group breakdown of each scorer that has one."""
    breakdowns = []
    for scorer in known:
        names = ("group_accuracy", "one_right", "none_right")
        rows = [run.find_or_none("groups", "complete", name, scorer.model, scorer.scoring) for name in names]
        shares = tuple(row for row in rows if row is not None)
        if len(shares) == len(names):
            breakdowns.append(GroupStack(scorer.name, shares))
    return tuple(breakdowns)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Margins of the chosen candidate, for right and for wrong choices."""

    scorer: str
    edges: tuple[float, ...]
    right: tuple[int, ...]
    wrong: tuple[int, ...]
    median_right: float | None
    median_wrong: float | None
    beyond: int
    """Margins past the last edge, counted in the last bin."""

    @property
    def top(self) -> int:
        """The longest bar."""
        return max((*self.right, *self.wrong, 1))


def histograms(run: Run, known: Sequence[ShownScorer]) -> tuple[Histogram, ...]:
    """Histograms of each scorer on the original problems.

    Scorers without scores have none.
    """
    return tuple(filter(None, (_make_histogram(scorer, own) for scorer, own in _make_plots(run, known))))


def _make_plots(
    run: Run, known: Sequence[ShownScorer], variant: str = ORIGINAL
) -> list[tuple[ShownScorer, list[Prediction]]]:
    """For each scorer its predictions of labelled problems of a variant."""
    labelled = (p for p in run.predictions if p.variant == variant and p.answer is not None)
    by_scorer = grouped(((p.model, p.scoring), p) for p in labelled)
    return [(scorer, by_scorer.get((scorer.model, scorer.scoring), [])) for scorer in known]


def _make_histogram(scorer: ShownScorer, predictions: Iterable[Prediction]) -> Histogram | None:
    answered = [p for p in predictions if p.prediction is not None]
    measured = [(p.margin, p.is_right) for p in answered if p.margin is not None]
    margins = np.array([margin for margin, _ in measured], float)
    right = np.array([good for _, good in measured], bool)
    usable = np.isfinite(margins)
    margins = margins[usable]
    right = right[usable]
    if not len(margins) or margins.max() == margins.min():
        return None
    # One outlier would press all bars into the first bin: the last one is open.
    end = float(np.quantile(margins, 0.99)) or float(margins.max())
    edges = np.linspace(0, end, BINS + 1)
    clipped = np.minimum(margins, end)
    return Histogram(
        scorer.name,
        tuple(float(edge) for edge in edges),
        tuple(int(n) for n in np.histogram(clipped[right], edges)[0]),
        tuple(int(n) for n in np.histogram(clipped[~right], edges)[0]),
        float(np.median(margins[right])) if right.any() else None,
        float(np.median(margins[~right])) if not right.all() else None,
        int((margins > end).sum()),
    )


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of the place of the right candidate against the chosen place."""

    scorer: str
    places: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    """A row for each place of the right candidate; the last column counts abstentions, where there are any."""
    abstained: bool

    def share(self, answer: int, choice: int) -> float:
        """Share of the row."""
        return self.counts[answer][choice] / (sum(self.counts[answer]) or 1)


def confusions(run: Run, known: Sequence[ShownScorer]) -> tuple[Confusion, ...]:
    """The table of each scorer on the problems as they are."""
    tables = []
    for scorer, own in _make_plots(run, known):
        counts = Counter((p.answer, p.prediction) for p in own)
        if not counts:
            continue
        size = 1 + max(place for pair in counts for place in pair if place is not None)
        abstained = any(choice is None for _, choice in counts)
        columns: list[int | None] = [*range(max(size, 2)), *([None] if abstained else [])]
        table = tuple(tuple(counts[answer, choice] for choice in columns) for answer in range(max(size, 2)))
        names = tuple(PLACES[i] if i < len(PLACES) else f"{i + 1}th" for i in range(max(size, 2)))
        tables.append(Confusion(scorer.name, names, table, abstained))
    return tuple(tables)


@dataclass(frozen=True, slots=True)
class SwitchTable:
    """Switchable problems by whether they are right before and after their candidates change places."""

    scorer: str
    both: int
    before: int
    after: int
    neither: int


def switch_tables(run: Run, known: Sequence[ShownScorer]) -> tuple[SwitchTable, ...]:
    """The table of each scorer with predictions on switched problems that match its row's count."""
    tables = []
    for (scorer, own), (_, switched) in zip(_make_plots(run, known), _make_plots(run, known, "switched"), strict=True):
        row = run.find_or_none("switching", "switchable", "consistency", scorer.model, scorer.scoring)
        before = {p.id: p.is_right for p in own}
        after = {p.id: p.is_right for p in switched}
        cells = Counter((before[name], good) for name, good in after.items() if name in before)
        if row is not None and cells.total() == row.n:
            kinds = ((True, True), (True, False), (False, True), (False, False))
            tables.append(SwitchTable(scorer.name, *(cells[kind] for kind in kinds)))
    return tuple(tables)
