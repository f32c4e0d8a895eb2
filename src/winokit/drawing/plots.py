"""The numbers of every plot, before anybody draws: the page lays them out in HTML, `figures` in matplotlib.

Whose numbers they are: a scorer is a model and the way it was made to score. An audit may use further scorings of the
same model for protocols that need them (the special word, the pronoun). Those are no scorers of their own: their rows
stand with the model's, under the name of the scoring.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from winokit.data.runs import Run
from winokit.drawing.protocols import about, base, place, title
from winokit.drawing.wording import POINTS, SHARE, kind_of, percent
from winokit.problem import grouped
from winokit.results import READINGS, Metric, stands

COLOURS: tuple[str, ...] = ("#0067a3", "#c2500a", "#00795a", "#a8447f", "#7a6a00", "#4a4fb5")
"""Of scorers, in their order."""
SECONDARY = {
    *("expected_accuracy", "abstained", "one_right", "none_right", "independent_group_accuracy"),
    *("majority", "majority_class"),
}
"""Shares that explain another row and would only crowd a plot of main results."""


@dataclass(frozen=True, slots=True)
class ShownScorer:
    """One column of a report."""

    model: str
    scoring: str
    formalization: str | None
    name: str


def scorers(run: Run) -> tuple[ShownScorer, ...]:
    """The scorers with an accuracy of their own; where nobody has one, everyone who has a row or a prediction."""
    with_accuracy = [_key(row) for row in run.metrics if row.protocol == "accuracy"]
    anyone = [_key(row) for row in run.metrics if row.protocol != READINGS] or [
        (p.model, p.scoring, None) for p in run.predictions
    ]
    keys = list(dict.fromkeys(with_accuracy or anyone))
    models = Counter(model for model, *_ in keys)
    # The model alone where that is enough to tell scorers apart.
    return tuple(ShownScorer(*key, key[0] if models[key[0]] == 1 else " · ".join(filter(None, key))) for key in keys)


def owner(row: Metric, known: Iterable[ShownScorer]) -> ShownScorer | None:
    """The scorer a row stands with: its own, else the first of the same model."""
    same_model = [scorer for scorer in known if scorer.model == row.model]
    exact = [s for s in same_model if (s.model, s.scoring, s.formalization) == _key(row)]
    return next(iter(exact or same_model), None)


def borrowed(row: Metric, scorer: ShownScorer) -> str | None:
    """The row's scoring, where it is not the scorer's own."""
    return None if row.scoring == scorer.scoring else row.scoring


def _key(row: Metric) -> tuple[str, str, str | None]:
    return row.model, row.scoring, row.formalization


@dataclass(frozen=True, slots=True)
class ForestMark:
    """One scorer's value on a line of a forest."""

    scorer: int
    row: Metric
    stands: str

    @property
    def value(self) -> float:
        """The row's."""
        return self.row.value


@dataclass(frozen=True, slots=True)
class ForestLine:
    """One line of a forest: a title and a mark for each scorer that has the row."""

    title: str
    marks: tuple[ForestMark, ...]
    note: str | None = None

    @property
    def n(self) -> int | None:
        """What all marks were computed on, where that is the same number."""
        counts = {mark.row.n for mark in self.marks}
        return counts.pop() if len(counts) == 1 else None


@dataclass(frozen=True, slots=True)
class ForestBlock:
    """The lines of one protocol."""

    title: str
    question: str
    lines: tuple[ForestLine, ...]


@dataclass(frozen=True, slots=True)
class Forest:
    """Values with intervals and chance on one axis."""

    blocks: tuple[ForestBlock, ...]
    low: float = 0.0
    high: float = 1.0

    def place(self, value: float) -> float:
        """Where a value lies on the axis, in per cent, kept inside it."""
        return round(100 * min(max((value - self.low) / (self.high - self.low), 0.0), 1.0), 3)

    @property
    def unit(self) -> str:
        """What the axis counts: an axis that goes below zero is one of differences."""
        return "points" if self.low < 0 else "per cent"

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Values at the ends of the axis and at each quarter of it, with their labels.

        >>> [label for _, label in Forest((), -0.25, 0.25).ticks]
        ['−25', '−12.5', '0', '+12.5', '+25']
        """
        values = [self.low + quarter * (self.high - self.low) / 4 for quarter in range(5)]
        return tuple((value, self._label(round(100 * value, 9))) for value in values)

    def _label(self, number: float) -> str:
        return f"{number:+g}".replace("-", "−") if self.low < 0 and number else f"{abs(number):g}"

    @property
    def lines(self) -> list[ForestLine]:
        """All lines, from top to bottom."""
        return [line for block in self.blocks for line in block.lines]

    @property
    def marked(self) -> set[int]:
        """The places of the scorers that have a mark in it."""
        return {mark.scorer for line in self.lines for mark in line.marks}


def forest(
    rows: Iterable[Metric], known: Sequence[ShownScorer], protocol: str | None = None, *, fine: bool = False
) -> Forest:
    """Main results of every protocol or of one; `fine` are those on subsets of subsets, like `connective.because`."""
    rows = list(rows)
    # Expected accuracy is accuracy again, unless something was not answered.
    abstained = any(row.metric == "abstained" and row.value for row in rows)
    secondary = SECONDARY - {"expected_accuracy"} if abstained else SECONDARY
    chosen = [
        row
        for row in rows
        if kind_of(row) == SHARE
        and row.metric not in secondary
        and protocol in (None, base(row.protocol))
        and ("." in row.subset) is fine
    ]
    return Forest(_blocks(chosen, known, title))


def every_row(rows: Iterable[Metric], known: Sequence[ShownScorer]) -> tuple[ForestBlock, ...]:
    """Rows of any sort by protocol, for a table: they have no axis in common."""
    return _blocks(rows, known, title)


def difference_forest(
    rows: Iterable[Metric], known: Sequence[ShownScorer], titled: Callable[[Metric], str] = title
) -> Forest:
    """Differences of two accuracies around zero, on an axis wide enough for all."""
    rows = [row for row in rows if kind_of(row) == POINTS]
    ends = [abs(end) for row in rows for end in (row.value, row.low, row.high) if end is not None]
    reach = next((reach for reach in (0.1, 0.25, 0.5) if max(ends, default=0.0) <= reach), 1.0)
    return Forest(_blocks(rows, known, titled), -reach, reach)


def _blocks(
    rows: Iterable[Metric], known: Sequence[ShownScorer], titled: Callable[[Metric], str]
) -> tuple[ForestBlock, ...]:
    protocols = grouped((row.protocol, row) for row in sorted(rows, key=place))
    return tuple(
        ForestBlock(about(name).title, about(name).question, _lines(members, known, titled))
        for name, members in protocols.items()
    )


def _lines(
    rows: Iterable[Metric], known: Sequence[ShownScorer], titled: Callable[[Metric], str]
) -> tuple[ForestLine, ...]:
    marks: dict[str, list[ForestMark]] = {}
    notes: dict[str, list[str]] = {}
    for row in rows:
        scorer = owner(row, known)
        if scorer is None:
            continue
        scoring = borrowed(row, scorer)
        name = titled(row) + (f" · scoring {scoring}" if scoring else "")
        marks.setdefault(name, []).append(ForestMark(known.index(scorer), row, stands(row)))
        notes.setdefault(name, []).extend([row.note] if row.note else [])
    return tuple(
        ForestLine(
            name, tuple(sorted(own, key=lambda mark: mark.scorer)), "; ".join(dict.fromkeys(notes[name])) or None
        )
        for name, own in marks.items()
    )


PHASE = "phase"
STEP = "step"


@dataclass(frozen=True, slots=True)
class Chart:
    """A value at each of some phases or steps; places on the page are in per cent from the left and from the top."""

    title: str
    values: tuple[float, ...]
    at: tuple[int, ...]
    """The phase or step of each value; phase 0 is before any."""
    low: float
    high: float
    unit: str = PHASE
    percent: bool = False
    mark: float | None = None
    """The level that means something."""
    mark_name: str = ""
    band: tuple[tuple[float, float], ...] = ()
    """The interval of each value, where it is known."""
    kept: int | None = None
    """The step whose weights were kept."""

    @property
    def places(self) -> tuple[tuple[float, float], ...]:
        """Where each value stands."""
        return tuple((self.across(at), self.height(value)) for at, value in zip(self.at, self.values, strict=True))

    @property
    def points(self) -> str:
        """The line for an SVG that is 100 wide and 100 high."""
        return _path(self.places)

    @property
    def outline(self) -> str:
        """The band for the same SVG: along its upper edge and back along the lower."""
        ends = [(self.across(at), *ends) for at, ends in zip(self.at, self.band, strict=True)]
        upper = [(x, self.height(high)) for x, _, high in ends]
        return _path([*upper, *((x, self.height(low)) for x, low, _ in reversed(ends))])

    def across(self, at: int) -> float:
        """How far from the left a phase or step lies; alone, in the middle."""
        first = self.at[0]
        last = self.at[-1]
        return 50.0 if first == last else 100 * (at - first) / (last - first)

    def height(self, value: float) -> float:
        """How far below the top a value lies."""
        return 100 - 100 * (value - self.low) / ((self.high - self.low) or 1)

    def say(self, value: float) -> str:
        """A value of the chart: a share, a count, or a number to two places."""
        if self.percent:
            return percent(value, 0)
        return f"{value:,.0f}" if value == round(value) else f"{value:.2f}"


def _path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in places)


def tenths_around(values: Sequence[float]) -> tuple[float, float]:
    """Tenths that hold all values, and never the same one twice.

    >>> tenths_around([0.44, 0.5]), tenths_around([0.5])
    ((0.4, 0.5), (0.5, 0.6))
    """
    low = math.floor(10 * min(values) + 1e-9)
    high = math.ceil(10 * max(values) - 1e-9)
    return low / 10, max(high, low + 1) / 10
