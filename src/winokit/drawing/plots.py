"""The numbers of every plot, for the page in HTML and for matplotlib.

A scorer is a model and the way in which it scores. An audit may use further scorings of the same model for protocols
that need them (the special word, the pronoun). They are no scorers of their own: their rows are shown with the model's,
under the name of the scoring.
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
"""Colours of the scorers, in their order."""
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
    """The scorers with an accuracy of their own.

    If there are none, they are all with a row or a prediction.
    """
    keys = [_scorer_key(row) for row in run.metrics if row.protocol == "accuracy"]
    if not keys:
        keys = [_scorer_key(row) for row in run.metrics if row.protocol != READINGS]
    if not keys:
        keys = [(prediction.model, prediction.scoring, None) for prediction in run.predictions]
    distinct_keys = list(dict.fromkeys(keys))
    model_counts = Counter(model for model, *_ in distinct_keys)
    shown = []
    for key in distinct_keys:
        model = key[0]
        # The model alone is the name if no other scorer has the same model.
        name = model if model_counts[model] == 1 else " · ".join(filter(None, key))
        shown.append(ShownScorer(*key, name))
    return tuple(shown)


def owner(row: Metric, known: Iterable[ShownScorer]) -> ShownScorer | None:
    """The scorer to which a row belongs: its own, else the model's first."""
    same_model = [scorer for scorer in known if scorer.model == row.model]
    for scorer in same_model:
        if (scorer.model, scorer.scoring, scorer.formalization) == _scorer_key(row):
            return scorer
    return same_model[0] if same_model else None


def borrowed(row: Metric, scorer: ShownScorer) -> str | None:
    """The row's scoring if it is not the scorer's own, else None."""
    return None if row.scoring == scorer.scoring else row.scoring


def _scorer_key(row: Metric) -> tuple[str, str, str | None]:
    return row.model, row.scoring, row.formalization


@dataclass(frozen=True, slots=True)
class ForestMark:
    """One scorer's value on a line of a forest."""

    scorer: int
    row: Metric
    stands: str

    @property
    def value(self) -> float:
        """The value of the row."""
        return self.row.value


@dataclass(frozen=True, slots=True)
class ForestLine:
    """One line of a forest: a title, and a mark for each scorer."""

    title: str
    marks: tuple[ForestMark, ...]
    note: str | None = None

    @property
    def n(self) -> int | None:
        """The number of problems of all marks, or None if it differs."""
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
        """Place of a value on the axis, in per cent, kept inside it."""
        share = (value - self.low) / (self.high - self.low)
        share_inside = min(max(share, 0.0), 1.0)
        return round(100 * share_inside, 3)

    @property
    def unit(self) -> str:
        """Unit of the axis.

        An axis that goes below zero is one of differences, in points.
        """
        return "points" if self.low < 0 else "per cent"

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Values at the ends and quarters of the axis, with their labels.

        >>> [label for _, label in Forest((), -0.25, 0.25).ticks]
        ['−25', '−12.5', '0', '+12.5', '+25']
        """
        ticks = []
        for quarter in range(5):
            value = self.low + quarter * (self.high - self.low) / 4
            number = round(100 * value, 9)
            ticks.append((value, self._format_tick(number)))
        return tuple(ticks)

    def _format_tick(self, number: float) -> str:
        is_difference = self.low < 0
        if is_difference and number:
            return f"{number:+g}".replace("-", "−")
        return f"{abs(number):g}"

    @property
    def lines(self) -> list[ForestLine]:
        """All lines, from top to bottom."""
        lines: list[ForestLine] = []
        for block in self.blocks:
            lines += block.lines
        return lines

    @property
    def marked(self) -> set[int]:
        """Indices of the scorers that have a mark in it."""
        indices: set[int] = set()
        for line in self.lines:
            indices.update(mark.scorer for mark in line.marks)
        return indices


def forest(
    rows: Iterable[Metric], known: Sequence[ShownScorer], protocol: str | None = None, *, fine: bool = False
) -> Forest:
    """Main results of every protocol or of one.

    With `fine`, they are those on subsets of subsets, like `connective.because`.
    """
    rows = list(rows)
    secondary = set(SECONDARY)
    # Expected accuracy is accuracy again, unless something was not answered.
    if any(row.metric == "abstained" and row.value for row in rows):
        secondary.remove("expected_accuracy")
    main_rows = []
    for row in rows:
        is_main = kind_of(row) == SHARE and row.metric not in secondary
        is_fine = "." in row.subset
        if is_main and is_fine == fine and protocol in (None, base(row.protocol)):
            main_rows.append(row)
    return Forest(_make_blocks(main_rows, known, title))


def every_row(rows: Iterable[Metric], known: Sequence[ShownScorer]) -> tuple[ForestBlock, ...]:
    """Rows of any sort by protocol, for a table: they have no axis in common."""
    return _make_blocks(rows, known, title)


def difference_forest(
    rows: Iterable[Metric], known: Sequence[ShownScorer], titled: Callable[[Metric], str] = title
) -> Forest:
    """Differences of two accuracies around zero, on an axis wide enough for all."""
    difference_rows = [row for row in rows if kind_of(row) == POINTS]
    largest = 0.0
    for row in difference_rows:
        ends = (row.value, row.low, row.high)
        largest = max(largest, *(abs(end) for end in ends if end is not None))
    reach = next((reach for reach in (0.1, 0.25, 0.5) if largest <= reach), 1.0)
    return Forest(_make_blocks(difference_rows, known, titled), -reach, reach)


def _make_blocks(
    rows: Iterable[Metric], known: Sequence[ShownScorer], titled: Callable[[Metric], str]
) -> tuple[ForestBlock, ...]:
    """One block for each protocol, in the order of a page."""
    rows_by_protocol = grouped((row.protocol, row) for row in sorted(rows, key=place))
    blocks = []
    for protocol, protocol_rows in rows_by_protocol.items():
        caption = about(protocol)
        lines = _make_lines(protocol_rows, known, titled)
        blocks.append(ForestBlock(caption.title, caption.question, lines))
    return tuple(blocks)


def _make_lines(
    rows: Iterable[Metric], known: Sequence[ShownScorer], titled: Callable[[Metric], str]
) -> tuple[ForestLine, ...]:
    """One line for each title, with a mark for each scorer."""
    marks_by_title: dict[str, list[ForestMark]] = {}
    notes_by_title: dict[str, list[str]] = {}
    for row in rows:
        scorer = owner(row, known)
        if scorer is None:
            continue
        scoring = borrowed(row, scorer)
        line_title = titled(row)
        if scoring:
            line_title += f" · scoring {scoring}"
        mark = ForestMark(known.index(scorer), row, stands(row))
        marks_by_title.setdefault(line_title, []).append(mark)
        notes = notes_by_title.setdefault(line_title, [])
        if row.note:
            notes.append(row.note)
    lines = []
    for line_title, marks in marks_by_title.items():
        sorted_marks = tuple(sorted(marks, key=lambda mark: mark.scorer))
        note = "; ".join(dict.fromkeys(notes_by_title[line_title]))
        lines.append(ForestLine(line_title, sorted_marks, note or None))
    return tuple(lines)


PHASE = "phase"
STEP = "step"


@dataclass(frozen=True, slots=True)
class Chart:
    """A value at each of some phases or steps.

    Places on the page are in per cent from the left and from the top.
    """

    title: str
    values: tuple[float, ...]
    at: tuple[int, ...]
    """The phase or step of each value. Phase 0 is before any."""
    low: float
    high: float
    unit: str = PHASE
    percent: bool = False
    mark: float | None = None
    """A level with a meaning, such as chance."""
    mark_name: str = ""
    band: tuple[tuple[float, float], ...] = ()
    """The interval of each value, if it is known."""
    kept: int | None = None
    """The step whose weights were kept."""

    @property
    def places(self) -> tuple[tuple[float, float], ...]:
        """The place of each value."""
        places = []
        for at, value in zip(self.at, self.values, strict=True):
            places.append((self.across(at), self.height(value)))
        return tuple(places)

    @property
    def points(self) -> str:
        """The line for an SVG that is 100 wide and 100 high."""
        return _make_path(self.places)

    @property
    def outline(self) -> str:
        """The band for the same SVG.

        It goes along the upper edge and back along the lower.
        """
        upper: list[tuple[float, float]] = []
        lower: list[tuple[float, float]] = []
        for at, (low, high) in zip(self.at, self.band, strict=True):
            x = self.across(at)
            upper.append((x, self.height(high)))
            lower.append((x, self.height(low)))
        lower.reverse()
        return _make_path(upper + lower)

    def across(self, at: int) -> float:
        """Distance of a phase or step from the left.

        A single one is in the middle.
        """
        first = self.at[0]
        last = self.at[-1]
        if first == last:
            return 50.0
        return 100 * (at - first) / (last - first)

    def height(self, value: float) -> float:
        """Distance of a value from the top."""
        span = (self.high - self.low) or 1
        return 100 - 100 * (value - self.low) / span

    def say(self, value: float) -> str:
        """A value in words: a share, a count, or a number."""
        if self.percent:
            return percent(value, 0)
        is_whole = value == round(value)
        return f"{value:,.0f}" if is_whole else f"{value:.2f}"


def _make_path(places: Sequence[tuple[float, float]]) -> str:
    """Points as the attribute of an SVG line."""
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in places)


def tenths_around(values: Sequence[float]) -> tuple[float, float]:
    """Tenths that hold all values, and never the same one twice.

    >>> tenths_around([0.44, 0.5]), tenths_around([0.5])
    ((0.4, 0.5), (0.5, 0.6))
    """
    # The small term keeps a rounding error from adding a tenth.
    low = math.floor(10 * min(values) + 1e-9)
    high = math.ceil(10 * max(values) - 1e-9)
    high = max(high, low + 1)
    return low / 10, high / 10
