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
"""From this share of the variance of an answer on, a part has a sentence."""
ONE_OF = {"prompts": "prompt", "orders": "order of the candidates", "scorings": "scoring", "styles": "style of filling"}
"""Words for one level of each factor of readings."""
SOURCES = {
    PROBLEMS: "problems",
    REST: "the rest, with the luck of one answer",
    SAMPLES: "samples: the same question again",
    READINGS: "readings",
}
"""Names of the parts of the variance in a table."""


@dataclass(frozen=True, slots=True)
class ReadingSentence:
    """A sentence on one or several models."""

    subject: str
    """Names of the models."""
    text: str
    tone: str = PLAIN
    """Whether it speaks for the score, against it, or neither."""


@dataclass(frozen=True)
class ModelReadings:
    """The rows of one model under all its readings."""

    model: str
    rows: Sequence[Metric]

    @cached_property
    def accuracies(self) -> list[Metric]:
        """Rows of the share of problems right under each reading.

        They are in the order of asking.
        """
        return [row for row in self.rows if row.metric == "accuracy"]

    @cached_property
    def pairs(self) -> list[Metric]:
        """Rows of the share of pairs right under each reading."""
        return [row for row in self.rows if row.metric == "group_accuracy"]

    @cached_property
    def components(self) -> list[Metric]:
        """Rows of the parts of the variance of one answer."""
        return [row for row in self.rows if row.metric == DEVIATION]

    def find(self, metric: str) -> Metric | None:
        """The row of a metric over all readings together, or None."""
        matching = (row for row in self.rows if row.metric == metric and row.subset == ALL)
        return next(matching, None)

    def sentences(self) -> Iterator[ReadingSentence]:
        """Sentences on how much the model's score depends on the reading.

        The first speaks for the score if it is above chance under every reading, and against it if under none. No
        sentences if there is no accuracy.
        """
        if not self.accuracies:
            return
        above_count = sum(is_shown(row) and is_above(row) for row in self.accuracies)
        tone = PLAIN
        if above_count == len(self.accuracies):
            tone = GOOD
        elif not above_count:
            tone = BAD
        yield ReadingSentence(self.model, self._say_range(above_count), tone)
        if len(self.accuracies) > 1:
            yield from self._say_spread()

    def _say_range(self, above_count: int) -> str:
        """Sentence on the shares right, and the readings above chance."""
        extent = say_extent([row.value for row in self.accuracies])
        text = f"Right on {extent} of problems {say_over(self.accuracies)}"
        if any(row.level is not None for row in self.accuracies):
            how_many = "all" if above_count == len(self.accuracies) else above_count or "none"
            text += f", above chance in {how_many} of them"
        if self.pairs:
            text += f"; both twins right in {say_extent([row.value for row in self.pairs])} of pairs"
        return f"{text}."

    def _say_spread(self) -> Iterator[ReadingSentence]:
        """Sentences on the factors that change the score.

        Each factor whose test is significant has one, or else one says that none is. Sentences on dependence and on
        equal choices follow.
        """
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
        """Sentences on the factors that decide which problems are right.

        A factor has one if its interval excludes 0, and it is a tenth of the variance of an answer or more.
        """
        for row in self.components:
            is_of_problems = row.subset.startswith(f"{PROBLEMS}.")
            share = float(row.details.get(VARIANCE_SHARE) or 0.0)
            if is_of_problems and (row.low or 0.0) > 0 and share >= MATTERS:
                name = say_source(row.subset.partition(".")[2], one=True)
                part = f"{percent(share, 0)} of the variance of an answer"
                yield ReadingSentence(self.model, f"Which problems it gets right depends on the {name}: {part}.", BAD)


@dataclass(frozen=True)
class ReadingResults:
    """All rows of a run on readings."""

    models: Sequence[ModelReadings]
    differences: Sequence[Metric]
    """Differences of each two models, under each reading and over all."""
    wording: Metric | None
    """The row that compares the spread of wordings with that of models, if there is one."""

    @classmethod
    def of(cls, rows: Iterable[Metric]) -> "ReadingResults":
        """Collect the rows on readings among the rows of a run.

        A model that was not asked under readings is not among the models.
        """
        reading_rows = [row for row in rows if row.protocol == READINGS]
        between = (DIFFERENCE, WORDING_OVER_MODEL)
        by_model = grouped((row.model, row) for row in reading_rows if row.metric not in between)
        models = [ModelReadings(model, members) for model, members in by_model.items()]
        differences = [row for row in reading_rows if row.metric == DIFFERENCE]
        wording = next((row for row in reading_rows if row.metric == WORDING_OVER_MODEL), None)
        return cls(models, differences, wording)

    def sentences(self) -> list[ReadingSentence]:
        """Sentences that compare models, then sentences on each model."""
        sentences = list(self._say_leads())
        for model in self.models:
            sentences += model.sentences()
        return sentences

    def _say_leads(self) -> Iterator[ReadingSentence]:
        """Sentences on each two models, and on wordings against models.

        The latter is there only if its interval excludes 0.
        """
        for (first, second), rows in group_by_models(self.differences).items():
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


def group_by_models(differences: Iterable[Metric]) -> dict[tuple[str, str], list[Metric]]:
    """Differences by the names of their two models."""
    return grouped(((row.model, str(row.details.get(OTHER))), row) for row in differences)


def lead_sentence(first: str, second: str, rows: Sequence[Metric]) -> str:
    """Sentence on which of two models is ahead, and by how much.

    It counts the readings under which each is. `rows` are their differences under each reading and over all.
    """
    single = [row for row in rows if row.subset != ALL]
    first_leads = [abs(row.value) for row in single if row.details[LEAD] == 1]
    second_leads = [abs(row.value) for row in single if row.details[LEAD] == -1]
    together = say_together(first, second, rows)
    readings = plural(len(single), "reading")
    if not first_leads and not second_leads:
        values = [row.value for row in single]
        extremes = f"{points(min(values))} to {points(max(values))}"
        text = f"Under none of {readings} is {first} or {second} shown to be ahead"
        return f"{text} (differences from {extremes} points).{together}"
    open_count = len(single) - len(first_leads) - len(second_leads)
    if len(first_leads) >= len(second_leads):
        text = _describe_lead(first, second, first_leads, second_leads, readings)
    else:
        text = _describe_lead(second, first, second_leads, first_leads, readings)
    if open_count:
        text += f"; {open_count} {'leaves' if open_count == 1 else 'leave'} it open"
    return f"{text}.{together}"


def _describe_lead(
    leader: str, other: str, distances: Sequence[float], other_distances: Sequence[float], readings: str
) -> str:
    """Clauses on the model that is ahead more often and the other.

    The distances are those of the readings under which each is ahead.
    """
    text = f"{leader} is ahead of {other} in {len(distances)} of {readings}, by {say_points(distances)}"
    if other_distances:
        return f"{text}; in {len(other_distances)} {other} is ahead, by {say_points(other_distances)}"
    return f"{text}; under none is {other} ahead"


def say_together(first: str, second: str, rows: Sequence[Metric]) -> str:
    """Sentence on which model is ahead over all readings together.

    It begins with a space. Empty if neither is shown to be ahead.
    """
    whole_row = next((row for row in rows if row.subset == ALL), None)
    if whole_row is None or not whole_row.details[LEAD]:
        return ""
    leader = first if whole_row.details[LEAD] == 1 else second
    return f" Over all readings together {leader} is ahead by {size(whole_row.value)} points."


def say_wording(row: Metric) -> str:
    """Phrase on the standard deviations between wordings and between models."""
    wordings = size(float(row.details.get("wording_deviation") or 0.0))
    models = size(float(row.details.get("model_deviation") or 0.0))
    of_wordings = f"standard deviation {wordings} points between wordings of one model"
    return f"{of_wordings}, {models} between models under one wording"


def is_shown(row: Metric) -> bool:
    """Whether a row's test is significant after correction.

    The correction is for all readings or factors.
    """
    corrected = row.details.get(CORRECTED)
    return corrected is not None and float(corrected) < SMALL


def is_above(row: Metric) -> bool:
    """Whether a value is above its level."""
    return row.level is not None and row.value > row.level


def say_over(rows: Sequence[Metric]) -> str:
    """Phrase on the number of readings behind a range."""
    if len(rows) == 1:
        return "under one reading"
    values = {percent(row.value, 0) for row in rows}
    return f"under each of {len(rows)} readings" if len(values) == 1 else f"over {len(rows)} readings"


def say_extent(values: Sequence[float]) -> str:
    r"""The lowest and the highest of some shares, in whole per cent.

    >>> say_extent([0.52, 0.71]), say_extent([0.5, 0.501])
    ('52 to 71\xa0%', '50\xa0%')
    """
    low = percent(min(values), 0)
    high = percent(max(values), 0)
    return high if low == high else f"{low.removesuffix(PER_CENT)} to {high}"


def say_points(values: Sequence[float]) -> str:
    """The lowest and the highest of some differences, in points.

    >>> say_points([0.012, 0.098]), say_points([0.05])
    ('1.2 to 9.8 points', '5.0 points')
    """
    low = size(min(values))
    high = size(max(values))
    return f"{high} points" if low == high else f"{low} to {high} points"


def say_source(source: str, *, one: bool = False) -> str:
    """Name of a part of the variance for a table, or for a sentence if `one`.

    >>> say_source("problems.prompts"), say_source("prompts.orders", one=True)
    ('problems × prompts', 'prompt with the order of the candidates')
    """
    if source in SOURCES and not one:
        return SOURCES[source]
    names = source.split(".")
    if one:
        return " with the ".join(ONE_OF.get(name, name.removesuffix("s")) for name in names)
    return " × ".join(names)
