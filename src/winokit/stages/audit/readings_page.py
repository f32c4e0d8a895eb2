"""The section of the page on readings: sentences, one dot per reading, and what the spread is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winokit.data.runs import Run
from winokit.drawing.plots import Forest, ForestBlock, ForestLine, ForestMark, tenths_around
from winokit.drawing.wording import percent, size
from winokit.methods.metrics.judge_readings import (
    ALL,
    LEAD,
    OTHER,
    VARIANCE_SHARE,
)
from winokit.problem import grouped
from winokit.results import Metric
from winokit.stages.audit.readings_verdict import (
    ModelReadings,
    ReadingResults,
    ReadingSentence,
    is_shown,
    say_extent,
    say_source,
)

HOLLOW = "reversed"
"""The order of candidates whose dots are hollow."""
LOWERED = 0.4
"""By how much of a prompt's height the hollow dots lie lower, so that none covers another."""
DIFFERENCES = {1: "above", -1: "below", 0: "at"}
"""Where a difference stands, by who is ahead."""


@dataclass(frozen=True, slots=True)
class ReadingDot:
    """One reading in the picture."""

    place: float
    """How far from the left, in per cent."""
    height: float
    """How far from the top, in per cent."""
    said: str
    is_hollow: bool


@dataclass(frozen=True, slots=True)
class ReadingLane:
    """The dots of one model by one measure."""

    title: str
    colour: int
    dots: Sequence[ReadingDot]
    tick: float | None
    """Where chance lies, in per cent from the left."""
    said: str


@dataclass(frozen=True, slots=True)
class SpreadLine:
    """One part of the variance of an answer, as a table shows it."""

    source: str
    deviation: str
    interval: str
    share: str


class ReadingsSection:
    """Content of the section on readings. Empty for a run without them."""

    def __init__(self, run: Run) -> None:
        results = ReadingResults.of(run.metrics)
        self.models = results.models
        self.sentences: Mapping[str, list[ReadingSentence]] = grouped(
            (sentence.subject, sentence) for sentence in results.sentences()
        )
        rows = [row for model in results.models for row in (*model.accuracies, *model.pairs)]
        values = [value for row in rows for value in (row.value, row.level) if value is not None]
        self.scale = Forest((), *fifths_around(values))
        self.lanes = {
            "Problems right": [
                self._make_lane(place, model, model.accuracies) for place, model in enumerate(self.models)
            ],
            "Pairs right": [
                self._make_lane(place, model, model.pairs) for place, model in enumerate(self.models) if model.pairs
            ],
        }
        self.has_orders = any(dot.is_hollow for lanes in self.lanes.values() for lane in lanes for dot in lane.dots)
        self.spreads = [(model.model, spread_lines(model)) for model in self.models if model.components]
        self.forest = readings_forest(self.models)
        self.differences = differences_forest(results.differences)
        asked_prompts = {row.details.get("prompts") for row in rows}
        texts = run.settings.get("readings", {}).get("prompts", {})
        self.texts: Mapping[str, str] = {name: text for name, text in texts.items() if name in asked_prompts}

    def _make_lane(self, place: int, model: ModelReadings, rows: Sequence[Metric]) -> ReadingLane:
        """Dots of one model. Those of one prompt have one height."""
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
        return ReadingLane(model.model, place % 6, dots, tick, say_extent([row.value for row in rows]))


def fifths_around(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis that holds all values, so far apart that its quarters are whole numbers of five per cent.

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
    """The prompt of a reading's row, or what it was scored by."""
    return str(row.details.get("prompts") or row.details.get("scorings"))


def spread_lines(model: ModelReadings) -> list[SpreadLine]:
    """The parts of the variance of one answer of a model."""
    lines = []
    for row in model.components:
        interval = f"{size(row.low)} to {size(row.high)}"
        share = percent(float(row.details.get(VARIANCE_SHARE) or 0.0))
        lines.append(SpreadLine(say_source(row.subset), size(row.value), interval, share))
    return lines


def readings_forest(models: Sequence[ModelReadings]) -> Forest:
    """A line per reading with the accuracy of every model."""
    marks: dict[str, list[ForestMark]] = {}
    for place, model in enumerate(models):
        for row in model.accuracies:
            standing_word = "above" if is_shown(row) else "at"
            marks.setdefault(row.subset, []).append(ForestMark(place, row, standing_word))
    lines = tuple(ForestLine(name, tuple(own)) for name, own in marks.items())
    return Forest((ForestBlock("Readings", "", lines),) if lines else ())


def differences_forest(rows: Sequence[Metric]) -> Forest:
    """A line per reading with the difference of each two models."""
    blocks = []
    pairs = grouped(((row.model, str(row.details.get(OTHER))), row) for row in rows)
    ends = [abs(end) for row in rows for end in (row.low, row.high) if end is not None]
    reach = next((reach for reach in (0.1, 0.25, 0.5) if max(ends, default=0.0) <= reach), 1.0)
    for (first, second), own in pairs.items():
        lines = []
        for row in own:
            title = "all readings together" if row.subset == ALL else row.subset
            mark = ForestMark(0, row, DIFFERENCES[int(row.details[LEAD] or 0)])
            lines.append(ForestLine(title, (mark,)))
        blocks.append(ForestBlock(f"{first} minus {second}", "", tuple(lines)))
    return Forest(tuple(blocks), -reach, reach)
