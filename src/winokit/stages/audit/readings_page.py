"""The section of the page on readings: sentences, one dot per reading, and the parts of the variance.

A reading is one way to ask the same problems: a prompt, an order of the candidates, a scoring or a style.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from winokit.data.runs import Run
from winokit.drawing.plots import Forest, ForestBlock, ForestLine, ForestMark, tenths_around
from winokit.drawing.wording import percent, size
from winokit.methods.metrics.judge_readings import ALL, LEAD, VARIANCE_SHARE
from winokit.problem import grouped
from winokit.results import Metric
from winokit.stages.audit.readings_verdict import (
    ModelReadings,
    ReadingResults,
    ReadingSentence,
    group_by_models,
    is_shown,
    say_extent,
    say_source,
)

HOLLOW = "reversed"
"""The order of candidates whose dots are hollow."""
LOWERED = 0.4
"""Share of a prompt's height by which hollow dots are lower, so that none covers another."""
DIFFERENCES = {1: "above", -1: "below", 0: "at"}
"""Standing of a difference by the lead: 1 if the first model is ahead, -1 if the second, else 0."""


@dataclass(frozen=True, slots=True)
class ReadingDot:
    """One reading in the plot of a model."""

    place: float
    """Distance from the left, in per cent."""
    height: float
    """Distance from the top, in per cent."""
    said: str
    """The reading and its share of right answers, in words."""
    is_hollow: bool
    """Whether its candidates are reversed."""


@dataclass(frozen=True, slots=True)
class ReadingLane:
    """The dots of one model for one measure, such as pairs right."""

    title: str
    colour: int
    """Index of the model's colour."""
    dots: Sequence[ReadingDot]
    tick: float | None
    """Distance of chance from the left in per cent, or None if it is not known."""
    said: str
    """The lowest and the highest share, in words."""


@dataclass(frozen=True, slots=True)
class SpreadLine:
    """Cells of a table for one part of the variance."""

    source: str
    deviation: str
    interval: str
    share: str


class ReadingsSection:
    """Contents of the section on readings, empty without readings."""

    def __init__(self, run: Run) -> None:
        results = ReadingResults.of(run.metrics)
        self.models = results.models
        self.sentences = _group_by_subject(results.sentences())
        rows: list[Metric] = []
        for model in self.models:
            rows += [*model.accuracies, *model.pairs]
        levels = [row.level for row in rows if row.level is not None]
        self.scale = Forest((), *fifths_around([*(row.value for row in rows), *levels]))
        self.lanes: dict[str, list[ReadingLane]] = {"Problems right": [], "Pairs right": []}
        for index, model in enumerate(self.models):
            self.lanes["Problems right"].append(self._make_lane(index, model, model.accuracies))
            if model.pairs:
                self.lanes["Pairs right"].append(self._make_lane(index, model, model.pairs))
        self.has_orders = any(row.details.get("orders") == HOLLOW for row in rows)
        self.spreads = [(model.model, spread_lines(model)) for model in self.models if model.components]
        self.forest = readings_forest(self.models)
        self.differences = differences_forest(results.differences)
        asked_prompts = {row.details.get("prompts") for row in rows}
        texts = run.settings.get("readings", {}).get("prompts", {})
        self.texts: Mapping[str, str] = {name: text for name, text in texts.items() if name in asked_prompts}

    def _make_lane(self, index: int, model: ModelReadings, rows: Sequence[Metric]) -> ReadingLane:
        """Make the dots of one model.

        Those of one prompt have one height. `rows` are its readings by one measure, and `index` is its place among the
        models.
        """
        prompts = list(dict.fromkeys(level_of(row) for row in rows))
        dots = []
        for row in rows:
            is_hollow = row.details.get("orders") == HOLLOW
            lowered = LOWERED if is_hollow else 0.0
            height = 100 * (prompts.index(level_of(row)) + 0.3 + lowered) / len(prompts)
            label = f"{row.subset}: {percent(row.value)}"
            dots.append(ReadingDot(self.scale.place(row.value), height, label, is_hollow))
        levels = [row.chance for row in rows if row.chance is not None]
        tick = self.scale.place(levels[0]) if levels else None
        return ReadingLane(model.model, index % 6, dots, tick, say_extent([row.value for row in rows]))


def _group_by_subject(sentences: Iterable[ReadingSentence]) -> dict[str, list[ReadingSentence]]:
    """Sentences by the model or models that they are about."""
    return grouped((sentence.subject, sentence) for sentence in sentences)


def fifths_around(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis around all values.

    Its quarters are multiples of five per cent.

    >>> fifths_around([0.32, 0.82]), fifths_around([0.5]), fifths_around([])
    ((0.3, 0.9), (0.5, 0.7), (0.0, 1.0))
    """
    if not values:
        return 0.0, 1.0
    low, high = (round(10 * end) for end in tenths_around(values))
    if (high - low) % 2:
        high += 1
    if high > 10:
        low -= 1
        high = 10
    return low / 10, high / 10


def level_of(row: Metric) -> str:
    """Name of a reading's prompt, or of its scoring without a prompt."""
    return str(row.details.get("prompts") or row.details.get("scorings"))


def spread_lines(model: ModelReadings) -> list[SpreadLine]:
    """Table lines on the parts of the variance of a model's answers."""
    lines = []
    for row in model.components:
        interval = f"{size(row.low)} to {size(row.high)}"
        share = percent(float(row.details.get(VARIANCE_SHARE) or 0.0))
        lines.append(SpreadLine(say_source(row.subset), size(row.value), interval, share))
    return lines


def readings_forest(models: Sequence[ModelReadings]) -> Forest:
    """Plot of the accuracy of every model, with a line per reading."""
    marks: dict[str, list[ForestMark]] = {}
    for index, model in enumerate(models):
        for row in model.accuracies:
            standing_word = "above" if is_shown(row) else "at"
            marks.setdefault(row.subset, []).append(ForestMark(index, row, standing_word))
    lines = tuple(ForestLine(name, tuple(line_marks)) for name, line_marks in marks.items())
    return Forest((ForestBlock("Readings", "", lines),) if lines else ())


def differences_forest(rows: Sequence[Metric]) -> Forest:
    """Plot of differences of each two models, with a line per reading."""
    blocks = []
    for (first, second), pair_rows in group_by_models(rows).items():
        lines = tuple(_make_difference_line(row) for row in pair_rows)
        blocks.append(ForestBlock(f"{first} minus {second}", "", lines))
    reach = _find_reach(rows)
    return Forest(tuple(blocks), -reach, reach)


def _make_difference_line(row: Metric) -> ForestLine:
    """Line of one difference."""
    title = "all readings together" if row.subset == ALL else row.subset
    lead = int(row.details[LEAD] or 0)
    return ForestLine(title, (ForestMark(0, row, DIFFERENCES[lead]),))


def _find_reach(rows: Sequence[Metric]) -> float:
    """Half the length of an axis around zero that contains all intervals.

    It is the smallest of 0.1, 0.25, 0.5 and 1 that does.
    """
    ends: list[float] = []
    for row in rows:
        ends += [abs(end) for end in (row.low, row.high) if end is not None]
    longest = max(ends, default=0.0)
    return next((reach for reach in (0.1, 0.25, 0.5) if longest <= reach), 1.0)
