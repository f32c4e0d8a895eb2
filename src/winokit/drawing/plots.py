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
    """One scorer as a column of a report, with its shown name."""

    model: str
    scoring: str
    formalization: str | None
    name: str


def scorers(run: Run) -> tuple[ShownScorer, ...]:
    """List the scorers of a run that are columns of a report.

    These are the ones with a row of accuracy. If there are none, they are all with any row, or else with a
    prediction.
    """
    keys = [_scorer_key(row) for row in run.metrics if row.protocol == "accuracy"]
    if not keys:
        keys = [_scorer_key(row) for row in run.metrics if row.protocol != READINGS]
    if not keys:
        keys = [(prediction.model, prediction.scoring, None) for prediction in run.predictions]
    distinct_keys = list(dict.fromkeys(keys))
    model_counts = Counter(model for model, *_ in distinct_keys)
    columns = []
    for key in distinct_keys:
        model = key[0]
        # The model alone is the name if no other scorer has the same model.
        name = model if model_counts[model] == 1 else " · ".join(filter(None, key))
        columns.append(ShownScorer(*key, name))
    return tuple(columns)


def owner(row: Metric, shown_scorers: Iterable[ShownScorer]) -> ShownScorer | None:
    """Find the scorer in whose column a row is shown.

    It is the row's own scorer, else the first one of the same model. None if there is neither.
    """
    same_model = [scorer for scorer in shown_scorers if scorer.model == row.model]
    for scorer in same_model:
        if (scorer.model, scorer.scoring, scorer.formalization) == _scorer_key(row):
            return scorer
    return same_model[0] if same_model else None


def borrowed(row: Metric, scorer: ShownScorer) -> str | None:
    """Scoring of a row, if it is not the scorer's own.

    None if it is the scorer's own.
    """
    return None if row.scoring == scorer.scoring else row.scoring


def _scorer_key(row: Metric) -> tuple[str, str, str | None]:
    """Model, scoring and formalization of a row."""
    return row.model, row.scoring, row.formalization


@dataclass(frozen=True, slots=True)
class ForestMark:
    """One scorer's value on a line of a forest.

    `scorer` is the index of the scorer.
    """

    scorer: int
    row: Metric
    position: str
    """`above`, `at` or `below` chance, or `unknown`."""

    @property
    def value(self) -> float:
        """Value of the row."""
        return self.row.value


@dataclass(frozen=True, slots=True)
class ForestLine:
    """One line of a forest: a title, and each scorer's mark."""

    title: str
    marks: tuple[ForestMark, ...]
    note: str | None = None

    @property
    def n(self) -> int | None:
        """Number of problems of the marks, or None if it differs."""
        counts = {mark.row.n for mark in self.marks}
        return counts.pop() if len(counts) == 1 else None


@dataclass(frozen=True, slots=True)
class ForestBlock:
    """Lines of one protocol, below its title and question."""

    title: str
    question: str
    lines: tuple[ForestLine, ...]


@dataclass(frozen=True, slots=True)
class Forest:
    """A forest plot: values with intervals and chance levels, on one axis."""

    blocks: tuple[ForestBlock, ...]
    low: float = 0.0
    high: float = 1.0

    def place(self, value: float) -> float:
        """Horizontal position of a value in per cent of the axis.

        A value beyond the axis is at its end.
        """
        share = (value - self.low) / (self.high - self.low)
        share_inside = min(max(share, 0.0), 1.0)
        return round(100 * share_inside, 3)

    @property
    def unit(self) -> str:
        """Unit of the axis: `points` for differences, else `per cent`.

        An axis that begins below zero shows differences.
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
        """Label of a tick, with a sign if the axis shows differences."""
        is_difference = self.low < 0
        if is_difference and number:
            return f"{number:+g}".replace("-", "−")
        return f"{abs(number):g}"

    @property
    def lines(self) -> list[ForestLine]:
        """Lines of all blocks, from top to bottom."""
        lines: list[ForestLine] = []
        for block in self.blocks:
            lines += block.lines
        return lines

    @property
    def marked(self) -> set[int]:
        """Indices of the scorers with a mark in this forest."""
        indices: set[int] = set()
        for line in self.lines:
            indices.update(mark.scorer for mark in line.marks)
        return indices


def forest(
    rows: Iterable[Metric], shown_scorers: Sequence[ShownScorer], protocol: str | None = None, *, fine: bool = False
) -> Forest:
    """Forest of the main results of all protocols, or of one.

    Main results are shares, except those that only explain another row (`SECONDARY`). `fine` takes the rows on subsets
    of subsets, like `connective.because`, instead of all others.
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
    return Forest(_make_blocks(main_rows, shown_scorers, title))


def every_row(rows: Iterable[Metric], shown_scorers: Sequence[ShownScorer]) -> tuple[ForestBlock, ...]:
    """Rows of any kind by protocol, for a table.

    They have no axis in common.
    """
    return _make_blocks(rows, shown_scorers, title)


def difference_forest(
    rows: Iterable[Metric], shown_scorers: Sequence[ShownScorer], titled: Callable[[Metric], str] = title
) -> Forest:
    """Forest of differences of two shares, around zero.

    The axis is wide enough for all of them. `titled` gives the title of a row.
    """
    difference_rows = [row for row in rows if kind_of(row) == POINTS]
    largest = 0.0
    for row in difference_rows:
        ends = (row.value, row.low, row.high)
        largest = max(largest, *(abs(end) for end in ends if end is not None))
    reach = next((reach for reach in (0.1, 0.25, 0.5) if largest <= reach), 1.0)
    return Forest(_make_blocks(difference_rows, shown_scorers, titled), -reach, reach)


def _make_blocks(
    rows: Iterable[Metric], shown_scorers: Sequence[ShownScorer], titled: Callable[[Metric], str]
) -> tuple[ForestBlock, ...]:
    """Group rows into blocks by protocol, in the order of a page."""
    rows_by_protocol = grouped((row.protocol, row) for row in sorted(rows, key=place))
    blocks = []
    for protocol, protocol_rows in rows_by_protocol.items():
        caption = about(protocol)
        lines = _make_lines(protocol_rows, shown_scorers, titled)
        blocks.append(ForestBlock(caption.title, caption.question, lines))
    return tuple(blocks)


def _make_lines(
    rows: Iterable[Metric], shown_scorers: Sequence[ShownScorer], titled: Callable[[Metric], str]
) -> tuple[ForestLine, ...]:
    """Group rows into lines by title, with a mark for each scorer."""
    marks_by_title: dict[str, list[ForestMark]] = {}
    notes_by_title: dict[str, list[str]] = {}
    for row in rows:
        scorer = owner(row, shown_scorers)
        if scorer is None:
            continue
        scoring = borrowed(row, scorer)
        line_title = titled(row)
        if scoring:
            line_title += f" · scoring {scoring}"
        mark = ForestMark(shown_scorers.index(scorer), row, stands(row))
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
    """A line chart of values over phases or steps.

    Positions are in per cent from the left and from the top.
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
    """The interval of each value, if there is one."""
    kept_step: int | None = None
    """The step whose weights were kept."""

    @property
    def places(self) -> tuple[tuple[float, float], ...]:
        """Position of each value."""
        places = []
        for at, value in zip(self.at, self.values, strict=True):
            places.append((self.across(at), self.height(value)))
        return tuple(places)

    @property
    def points(self) -> str:
        """Points of the line for an SVG of 100 by 100."""
        return _make_path(self.places)

    @property
    def outline(self) -> str:
        """Outline of the band for an SVG of 100 by 100.

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
        """Horizontal position of a phase or step.

        If there is only one, it is in the middle.
        """
        first = self.at[0]
        last = self.at[-1]
        if first == last:
            return 50.0
        return 100 * (at - first) / (last - first)

    def height(self, value: float) -> float:
        """Vertical position of a value."""
        span = (self.high - self.low) or 1
        return 100 - 100 * (value - self.low) / span

    def say(self, value: float) -> str:
        """Write a value as a share, a count or a number."""
        if self.percent:
            return percent(value, 0)
        is_whole = value == round(value)
        return f"{value:,.0f}" if is_whole else f"{value:.2f}"


def _make_path(places: Sequence[tuple[float, float]]) -> str:
    """Write positions as the `points` attribute of an SVG line."""
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in places)


def tenths_around(values: Sequence[float]) -> tuple[float, float]:
    """Nearest tenths below and above all values, never equal.

    >>> tenths_around([0.44, 0.5]), tenths_around([0.5])
    ((0.4, 0.5), (0.5, 0.6))
    """
    # The small term keeps a rounding error from adding a tenth.
    low = math.floor(10 * min(values) + 1e-9)
    high = math.ceil(10 * max(values) - 1e-9)
    high = max(high, low + 1)
    return low / 10, high / 10
