"""Sentences on what survives several readings, from the rows of a run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from winokit.drawing.decision import BAD, GOOD, PLAIN, SMALL
from winokit.drawing.wording import PER_CENT, percent, plural, points, probability, size
from winokit.methods.metrics.judge_readings import (
    ALL,
    CORRECTED,
    DEVIATION,
    DIFFERENCE,
    LEAD,
    OTHER,
    PROBLEMS,
    REST,
    SAME_CHOICE,
    SAMPLES,
    VARIANCE_SHARE,
    WORDING_OVER_MODEL,
)
from winokit.problem import grouped
from winokit.results import READINGS, Metric

MATTERS = 0.1
"""A part of the variance of an answer is spoken of from this share on."""
ONE_OF = {"prompts": "prompt", "orders": "order of the candidates", "scorings": "scoring", "styles": "style of filling"}
"""What a factor of readings is called if there is one of it."""
SOURCES = {
    PROBLEMS: "problems",
    REST: "the rest, with the luck of one answer",
    SAMPLES: "samples: the same question again",
    READINGS: "readings",
}
"""What a part of the variance is called in a table."""


@dataclass(frozen=True, slots=True)
class ReadingSentence:
    """A sentence, of whom it speaks, and whether it speaks for the score or against it."""

    subject: str
    text: str
    tone: str = PLAIN


@dataclass(frozen=True)
class ModelReadings:
    """The rows of one model under all its readings."""

    model: str
    rows: Sequence[Metric]

    @cached_property
    def accuracies(self) -> list[Metric]:
        """The share right under each reading, in the order in which they were asked."""
        return [row for row in self.rows if row.metric == "accuracy"]

    @cached_property
    def pairs(self) -> list[Metric]:
        """The share of pairs right under each reading."""
        return [row for row in self.rows if row.metric == "group_accuracy"]

    @cached_property
    def components(self) -> list[Metric]:
        """The parts of the variance of one answer."""
        return [row for row in self.rows if row.metric == DEVIATION]

    def find(self, metric: str) -> Metric | None:
        """The row of all readings together."""
        matching = (row for row in self.rows if row.metric == metric and row.subset == ALL)
        return next(matching, None)

    def sentences(self) -> Iterator[ReadingSentence]:
        """Sentences on how far its score depends on the reading."""
        if not self.accuracies:
            return
        above = [row for row in self.accuracies if is_shown(row) and is_above(row)]
        is_always_above = len(above) == len(self.accuracies)
        tone = GOOD if is_always_above else PLAIN if above else BAD
        yield ReadingSentence(self.model, self._say_range(len(above)), tone)
        if len(self.accuracies) > 1:
            yield from self._say_spread()

    def _say_range(self, above_count: int) -> str:
        """Right on how much, and how often above chance."""
        count = len(self.accuracies)
        extent = say_extent([row.value for row in self.accuracies])
        over = say_over(self.accuracies)
        text = f"Right on {extent} of problems {over}"
        if any(row.level is not None for row in self.accuracies):
            text += f", above chance in {'all' if above_count == count else above_count or 'none'} of them"
        if self.pairs:
            text += f"; both twins right in {say_extent([row.value for row in self.pairs])} of pairs"
        return f"{text}."

    def _say_spread(self) -> Iterator[ReadingSentence]:
        """Sentences on the factors that move the score."""
        tested = [row for row in self.components if CORRECTED in row.details]
        moving = [row for row in tested if is_shown(row)]
        for row in moving:
            name = say_source(row.subset, one=True)
            interval = f"95{PER_CENT} interval {size(row.low)} to {size(row.high)}"
            text = f"The {name} moves its score: standard deviation {size(row.value)} points, {interval}."
            yield ReadingSentence(self.model, text, BAD)
        if not moving and tested:
            least = min(float(row.details[CORRECTED] or 0.0) for row in tested)
            text = f"No reading is shown to be better or worse than another (p {probability(least)})."
            yield ReadingSentence(self.model, text)
        yield from self._say_dependence()
        same = self.find(SAME_CHOICE)
        if same is not None:
            readings = f"all {len(self.accuracies)} readings"
            text = f"It chooses the same candidate under {readings} for {percent(same.value, 0)} of problems."
            yield ReadingSentence(self.model, text)

    def _say_dependence(self) -> Iterator[ReadingSentence]:
        """Sentences on factors that decide which problems are right."""
        for row in self.components:
            is_of_problems = row.subset.startswith(f"{PROBLEMS}.")
            share = float(row.details.get(VARIANCE_SHARE) or 0.0)
            if is_of_problems and (row.low or 0.0) > 0 and share >= MATTERS:
                name = say_source(row.subset.partition(".")[2], one=True)
                part = f"{percent(share, 0)} of the variance of an answer"
                yield ReadingSentence(self.model, f"Which problems it gets right depends on the {name}: {part}.", BAD)


@dataclass(frozen=True)
class ReadingResults:
    """Everything a run says of readings."""

    models: Sequence[ModelReadings]
    differences: Sequence[Metric]
    wording: Metric | None

    @classmethod
    def of(cls, rows: Iterable[Metric]) -> "ReadingResults":
        """Return the results in the rows of a run.

        A model that was not asked so has none.
        """
        reading_rows = [row for row in rows if row.protocol == READINGS]
        between = (DIFFERENCE, WORDING_OVER_MODEL)
        by_model = grouped((row.model, row) for row in reading_rows if row.metric not in between)
        models = [ModelReadings(model, members) for model, members in by_model.items()]
        differences = [row for row in reading_rows if row.metric == DIFFERENCE]
        wording = next((row for row in reading_rows if row.metric == WORDING_OVER_MODEL), None)
        return cls(models, differences, wording)

    def sentences(self) -> list[ReadingSentence]:
        """The verdict: first on models against each other, then on each of them."""
        leads = list(self._say_leads())
        for model in self.models:
            leads += model.sentences()
        return leads

    def _say_leads(self) -> Iterator[ReadingSentence]:
        """Sentences on two models, and on what decides more."""
        pairs = grouped(((row.model, str(row.details.get(OTHER))), row) for row in self.differences)
        for (first, second), rows in pairs.items():
            subject = f"{first} and {second}"
            yield ReadingSentence(subject, lead_sentence(first, second, rows))
        if self.wording is None or self.wording.low is None or self.wording.high is None:
            return
        if self.wording.low > 0:
            text = f"The wording decides more than the model: {say_wording(self.wording)}."
            yield ReadingSentence("all models", text, BAD)
        elif self.wording.high < 0:
            text = f"The model decides more than the wording: {say_wording(self.wording)}."
            yield ReadingSentence("all models", text, GOOD)


def lead_sentence(first: str, second: str, rows: Sequence[Metric]) -> str:
    """A sentence on who is ahead under how many readings, and by how much."""
    single = [row for row in rows if row.subset != ALL]
    leads = {sign: [row for row in single if row.details[LEAD] == sign] for sign in (1, -1)}
    open_count = len(single) - len(leads[1]) - len(leads[-1])
    if not leads[1] and not leads[-1]:
        text = f"Under none of {plural(len(single), 'reading')} is {first} or {second} shown to be ahead"
        extremes = [points(end([row.value for row in single])) for end in (min, max)]
        text += f" (differences from {extremes[0]} to {extremes[1]} points)."
        return text + say_together(first, second, rows)
    sign = 1 if len(leads[1]) >= len(leads[-1]) else -1
    leader, other = (first, second)[::sign]
    distances = [abs(row.value) for row in leads[sign]]
    among = f"{len(distances)} of {plural(len(single), 'reading')}"
    parts = [f"{leader} is ahead of {other} in {among}, by {say_points(distances)}"]
    behind = [abs(row.value) for row in leads[-sign]]
    if behind:
        parts.append(f"in {len(behind)} {other} is ahead, by {say_points(behind)}")
    else:
        parts.append(f"under none is {other} ahead")
    if open_count:
        parts.append(f"{open_count} {'leaves' if open_count == 1 else 'leave'} it open")
    return f"{'; '.join(parts)}.{say_together(first, second, rows)}"


def say_together(first: str, second: str, rows: Sequence[Metric]) -> str:
    """One more sentence, on all readings together.

    Nothing if it is open who is ahead.
    """
    whole_row = next((row for row in rows if row.subset == ALL), None)
    if whole_row is None or not whole_row.details[LEAD]:
        return ""
    leader = first if whole_row.details[LEAD] == 1 else second
    return f" Over all readings together {leader} is ahead by {size(whole_row.value)} points."


def say_wording(row: Metric) -> str:
    """The standard deviations behind what decides more."""
    wordings = size(float(row.details.get("wording_deviation") or 0.0))
    models = size(float(row.details.get("model_deviation") or 0.0))
    of_wordings = f"standard deviation {wordings} points between wordings of one model"
    return f"{of_wordings}, {models} between models under one wording"


def is_shown(row: Metric) -> bool:
    """Whether a row's test is significant among all readings or factors."""
    corrected = row.details.get(CORRECTED)
    return corrected is not None and float(corrected) < SMALL


def is_above(row: Metric) -> bool:
    """Whether a value is above its level."""
    return row.level is not None and row.value > row.level


def say_over(rows: Sequence[Metric]) -> str:
    """Over how many readings a range goes."""
    if len(rows) == 1:
        return "under one reading"
    values = {percent(row.value, 0) for row in rows}
    return f"under each of {len(rows)} readings" if len(values) == 1 else f"over {len(rows)} readings"


def say_extent(values: Sequence[float]) -> str:
    r"""The lowest and the highest of some shares.

    >>> say_extent([0.52, 0.71]), say_extent([0.5, 0.501])
    ('52 to 71\xa0%', '50\xa0%')
    """
    low = percent(min(values), 0)
    high = percent(max(values), 0)
    return high if low == high else f"{low.removesuffix(PER_CENT)} to {high}"


def say_points(values: Sequence[float]) -> str:
    """The lowest and the highest of some distances.

    >>> say_points([0.012, 0.098]), say_points([0.05])
    ('1.2 to 9.8 points', '5.0 points')
    """
    low = size(min(values))
    high = size(max(values))
    return f"{high} points" if low == high else f"{low} to {high} points"


def say_source(source: str, *, one: bool = False) -> str:
    """The name of a part of the variance.

    >>> say_source("problems.prompts"), say_source("prompts.orders", one=True)
    ('problems × prompts', 'prompt with the order of the candidates')
    """
    if source in SOURCES and not one:
        return SOURCES[source]
    names = source.split(".")
    if one:
        return " with the ".join(ONE_OF.get(name, name.removesuffix("s")) for name in names)
    return " × ".join(names)
