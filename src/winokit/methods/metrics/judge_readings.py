"""The judge of readings: one scorer asked in several ways, and what of its score survives.

A reading is a prompt, an order of the candidates and a scoring. Liu et al., "Precise Task Formalization Matters in
Winograd Schema Evaluations" (2020), https://arxiv.org/abs/2010.04043, saw scores of one model differ more between
readings than scores of several models under one.

Every row says of a reading or of all of them what is so on these problems: readings are not drawn, problems are. Tests
of several readings are corrected for their number (Holm).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from winokit.answers import ABSTAINED, Answers
from winokit.errors import BadInput
from winokit.methods.arrays import BoolArray, FloatArray, IntArray
from winokit.methods.metrics.compare import Comparison, compare
from winokit.methods.metrics.components import (
    Component,
    CrossedAnswers,
    centring,
    covariance_of_means,
)
from winokit.methods.metrics.corrections import holm
from winokit.methods.metrics.groups import GroupLayout, all_right, all_right_chance
from winokit.methods.metrics.intervals import NORMAL
from winokit.methods.metrics.judge import Judge
from winokit.methods.metrics.judge_pairs import verdicts
from winokit.results import READINGS, Detail, Metric, P
from winokit.units import Units

ALL = "all"
CORRECTED = "p_corrected"
"""The detail with a p-value that is corrected for the number of readings or factors."""
LEAD = "lead"
"""The detail of a difference: 1 if the first model is ahead, -1 if the other is, 0 if it is open."""
OTHER = "other"
"""The detail of a difference: the other model."""
VARIANCE, VARIANCE_SHARE = "variance", "variance_share"
DEVIATION, DIFFERENCE, WORDING_OVER_MODEL = "standard_deviation", "difference", "wording_over_model"
SAME_CHOICE, ALL_RIGHT, ANY_RIGHT = "same_choice_share", "all_right_share", "any_right_share"


@dataclass(frozen=True)
class ReadAnswers:
    """The answers of one scorer under one reading."""

    name: str
    levels: Mapping[str, str]
    """The level of each factor: which prompt, which order, which scoring."""
    answers: Answers


class AskedReadings:
    """The answers of one model under several readings, problem by problem.

    Raises BadInput if there are no readings, or two of one name.
    """

    def __init__(self, readings: Sequence[ReadAnswers]) -> None:
        names = [reading.name for reading in readings]
        if not names or len(set(names)) < len(names):
            raise BadInput(f"expected readings, each of a name of its own, found {', '.join(names) or 'none'}")
        self.readings = tuple(readings)

    def of_names(self, names: Sequence[str]) -> "AskedReadings":
        """The readings of these names, in their order."""
        by_name = {reading.name: reading for reading in self.readings}
        return AskedReadings([by_name[name] for name in names])

    @cached_property
    def ids(self) -> list[str]:
        """The problems that were asked under every reading, in order."""
        common = set(self.readings[0].answers.ids)
        for reading in self.readings[1:]:
            common &= set(reading.answers.ids)
        return [name for name in dict.fromkeys(self.readings[0].answers.ids) if name in common]

    @cached_property
    def rows(self) -> list[IntArray]:
        """For each reading the row of each problem and sample: an array of problems by samples."""
        found = [rows_by_problem(reading.answers) for reading in self.readings]
        counts = [len(rows[name]) for rows in found for name in self.ids]
        sample_count = min(counts, default=1)
        return [np.array([rows[name][:sample_count] for name in self.ids], np.int64) for rows in found]

    @cached_property
    def correct(self) -> BoolArray:
        """Whether each answer is right: problems by readings by samples."""
        pairs = zip(self.readings, self.rows, strict=True)
        return np.stack([reading.answers.correct[rows] for reading, rows in pairs], axis=1)

    @cached_property
    def choices(self) -> IntArray:
        """The chosen candidates: problems by readings by samples."""
        pairs = zip(self.readings, self.rows, strict=True)
        return np.stack([reading.answers.choices[rows] for reading, rows in pairs], axis=1)

    @cached_property
    def units(self) -> Units:
        """The unit of each problem."""
        return self.readings[0].answers.units.take(self.rows[0][:, 0])

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The factors of which the readings are every combination; one factor if they are not."""
        names = tuple(dict.fromkeys(name for reading in self.readings for name in reading.levels))
        levels = {name: {reading.levels.get(name) for reading in self.readings} for name in names}
        varied = tuple(name for name in names if len(levels[name]) > 1)
        combinations_of_levels = {self._levels_of(reading, varied) for reading in self.readings}
        full_count = int(np.prod([len(levels[name]) for name in varied]))
        is_crossed = bool(varied) and len(combinations_of_levels) == full_count == len(self.readings)
        return varied if is_crossed else (READINGS,)

    @cached_property
    def crossed(self) -> CrossedAnswers:
        """Right or wrong, with an axis for each factor."""
        values = self.correct.astype(np.float64)
        if self.factors == (READINGS,):
            return CrossedAnswers(values, self.factors, self.units)
        levels = [list(dict.fromkeys(reading.levels[name] for reading in self.readings)) for name in self.factors]
        shape = (len(values), *map(len, levels), values.shape[-1])
        placed = np.zeros(shape)
        for index, reading in enumerate(self.readings):
            place = tuple(own.index(reading.levels[name]) for name, own in zip(self.factors, levels, strict=True))
            placed[(slice(None), *place)] = values[:, index]
        return CrossedAnswers(placed, self.factors, self.units)

    def prompt_means(self) -> FloatArray:
        """For each problem the share right under each prompt, in order; under each reading if no prompts vary."""
        levels = [reading.levels.get("prompts", reading.name) for reading in self.readings]
        if len(set(levels)) < 2:
            levels = [reading.name for reading in self.readings]
        shares = self.correct.mean(axis=-1)
        columns = [shares[:, [own == name for own in levels]].mean(axis=1) for name in dict.fromkeys(levels)]
        return np.stack(columns, axis=1)

    @staticmethod
    def _levels_of(reading: ReadAnswers, factors: Sequence[str]) -> tuple[str | None, ...]:
        return tuple(reading.levels.get(name) for name in factors)


def rows_by_problem(answers: Answers) -> dict[str, list[int]]:
    """The rows of each problem, its samples in order."""
    samples = np.zeros(len(answers), np.int64) if answers.samples is None else answers.samples
    rows: dict[str, list[int]] = {}
    for row in np.argsort(samples, kind="stable").tolist():
        rows.setdefault(answers.ids[row], []).append(row)
    return rows


def reading_rows(dataset: str, asked: AskedReadings) -> Iterator[Metric]:
    """The rows of one model: of every reading, of all together, and of what the spread is made of."""
    accuracies = [row for reading in asked.readings for row in accuracy_rows(dataset, reading)]
    corrected = holm([1.0 if row.p is None else row.p for row in accuracies])
    for row, p in zip(accuracies, corrected, strict=True):
        yield replace(row, details={**row.details, CORRECTED: p})
    for reading in asked.readings:
        yield from pair_rows(dataset, reading)
    if len(asked.readings) > 1 and asked.ids:
        own = judge_of_all(dataset, asked)
        yield from agreement_rows(own, asked)
        yield from component_rows(own, asked.crossed.components(), len(asked.ids))


def judge_of_all(dataset: str, asked: AskedReadings) -> Judge:
    """The judge of rows that speak of all readings of a model: they name the scoring only if it is the same."""
    scorers = [reading.answers.scorers[0] for reading in asked.readings]
    scorings = dict.fromkeys(scorer.scoring.partition("?")[0] for scorer in scorers)
    return Judge(dataset, scorers[0]._replace(scoring="+".join(scorings)))


def judge_of_reading(dataset: str, reading: ReadAnswers) -> Judge:
    """The judge of the rows of one reading, which have its levels as details."""
    return Judge(dataset, reading.answers.scorers[0], dict(reading.levels))


def accuracy_rows(dataset: str, reading: ReadAnswers) -> Iterator[Metric]:
    """The row for the share right under one reading; of several samples, the mean over them."""
    own = judge_of_reading(dataset, reading)
    name = (READINGS, reading.name, "accuracy")
    answers = reading.answers
    if not has_samples(answers):
        yield from own.accuracy(name, answers)
        return
    rows = [index for index in rows_by_problem(answers).values()]
    means = np.array([answers.correct[index].mean() for index in rows])
    chances = np.array([answers.chances[index].mean() for index in rows])
    yield from own.share(name, means, answers.units.take([index[0] for index in rows]), chances)


def pair_rows(dataset: str, reading: ReadAnswers) -> Iterator[Metric]:
    """The row for the share of complete groups that are right under one reading, if there are any."""
    own = judge_of_reading(dataset, reading)
    name = (READINGS, reading.name, "group_accuracy")
    answers = reading.answers
    if not has_samples(answers):
        yield from own.by_group(name, answers)
        return
    tables = [replace(table, samples=None) for _, table in answers.by("sample")]
    layouts = [GroupLayout(table.groups, table.group_sizes) for table in tables]
    if not all(layout.members for layout in layouts):
        return
    pairs = list(zip(tables, layouts, strict=True))
    whole = np.mean([all_right(table.correct, layout) for table, layout in pairs], axis=0)
    chance = np.mean([all_right_chance(table.chances, layout) for table, layout in pairs], axis=0)
    units = tables[0].units.take(layouts[0].rows[layouts[0].starts])
    yield from own.share(name, whole, units, chance)


def has_samples(answers: Answers) -> bool:
    """Whether some problem was asked more than once."""
    return answers.samples is not None and len(set(answers.samples.tolist())) > 1


def agreement_rows(own: Judge, asked: AskedReadings) -> Iterator[Metric]:
    """Rows for the problems with one choice under every reading, and right under every one or under any."""
    choices = asked.choices.reshape(len(asked.ids), -1)
    correct = asked.correct.reshape(len(asked.ids), -1)
    is_same = (choices == choices[:, :1]).all(axis=1) & (choices[:, 0] != ABSTAINED)
    for metric, values in ((SAME_CHOICE, is_same), (ALL_RIGHT, correct.all(axis=1)), (ANY_RIGHT, correct.any(axis=1))):
        yield from own.share((READINGS, ALL, metric), values, asked.units)


def component_rows(own: Judge, components: Sequence[Component], n: int) -> Iterator[Metric]:
    """A row for each part of the variance of one answer: its standard deviation, as a share of problems.

    The variance itself, which may be below zero, is a detail, as is its part of the whole.
    """
    total = sum(max(part.variance, 0.0) for part in components)
    tested = [part for part in components if part.p is not None]
    corrected = dict(zip([part.source for part in tested], holm([part.p or 0.0 for part in tested]), strict=True))
    for part in components:
        details: dict[str, Detail] = {VARIANCE: part.variance}
        details[VARIANCE_SHARE] = max(part.variance, 0.0) / total if total else 0.0
        if part.p is not None:
            details |= {P: part.p, CORRECTED: corrected[part.source]}
        low, high = (float(np.sqrt(end)) for end in (part.interval.low, part.interval.high))
        name = (READINGS, ".".join(part.source), DEVIATION)
        yield own.row(name, float(np.sqrt(max(part.variance, 0.0))), n, low, high, details=details)


class ComparedReading(NamedTuple):
    """Two models under one reading."""

    reading: ReadAnswers
    other: ReadAnswers
    comparison: Comparison


def lead_rows(dataset: str, models: Sequence[AskedReadings]) -> Iterator[Metric]:
    """For every two models and every reading that both were asked under, how far the first is ahead.

    One family of tests: all readings of all pairs of models.
    """
    pairs: list[ComparedReading] = []
    for first, second in combinations(models, 2):
        names = common_names([first, second])
        if names:
            pairs += compared_readings(first.of_names(names), second.of_names(names))
    tested = verdicts([pair.comparison for pair in pairs])
    for pair, verdict in zip(pairs, tested, strict=True):
        comparison = verdict.comparison
        interval = comparison.interval
        details: dict[str, Detail] = {P: comparison.p, CORRECTED: verdict.p_corrected, LEAD: verdict.lead}
        details |= {"first": comparison.first, "second": comparison.second}
        details[OTHER] = pair.other.answers.scorers[0].model
        own = judge_of_reading(dataset, pair.reading)
        name = (READINGS, pair.reading.name, DIFFERENCE)
        yield own.row(name, comparison.difference, comparison.n, interval.low, interval.high, details=details)


def common_names(models: Sequence[AskedReadings]) -> list[str]:
    """The readings under which all of some models were asked, in the order of the first."""
    others = [{reading.name for reading in model.readings} for model in models[1:]]
    return [reading.name for reading in models[0].readings if all(reading.name in names for names in others)]


def compared_readings(first: AskedReadings, second: AskedReadings) -> Iterator[ComparedReading]:
    """The test of two models under each reading, and under all together by their mean, on what both were asked.

    Of several samples the mean counts.
    """
    places = {name: place for place, name in enumerate(second.ids)}
    rows = [place for place, name in enumerate(first.ids) if name in places]
    other_rows = [places[first.ids[place]] for place in rows]
    if not rows:
        return
    units = first.units.take(rows)
    shares = first.correct[rows].mean(axis=-1)
    other_shares = second.correct[other_rows].mean(axis=-1)
    everywhere_silent = [True, True]
    for index, (reading, other) in enumerate(zip(first.readings, second.readings, strict=True)):
        comparison = compare(shares[:, index], other_shares[:, index], units)
        silent = [bool(each.answers.silent.all()) for each in (reading, other)]
        everywhere_silent = [before and now for before, now in zip(everywhere_silent, silent, strict=True)]
        yield ComparedReading(reading, other, replace(comparison, first_refuses=silent[0], second_refuses=silent[1]))
    if len(first.readings) > 1:
        whole = compare(shares.mean(axis=1), other_shares.mean(axis=1), units)
        whole = replace(whole, first_refuses=everywhere_silent[0], second_refuses=everywhere_silent[1])
        together = [ReadAnswers(ALL, {}, asked.readings[0].answers) for asked in (first, second)]
        yield ComparedReading(together[0], together[1], whole)


def wording_rows(dataset: str, models: Sequence[AskedReadings]) -> Iterator[Metric]:
    """A row that says whether the wording or the model decides more; nothing for one model or one wording.

    The value is the variance between the wordings of one model minus that between the models under one wording, both
    without the noise of having asked so few problems. Its interval is normal over units, by the delta method; it is on
    the wide side, since the noise counts in it twice.
    """
    if len(models) < 2:
        return
    names = common_names(models)
    if len(names) < 2:
        return
    shared = [model.of_names(names) for model in models]
    ids = [name for name in shared[0].ids if all(name in set(model.ids) for model in shared[1:])]
    tables = []
    for model in shared:
        places = {name: place for place, name in enumerate(model.ids)}
        tables.append(model.prompt_means()[[places[name] for name in ids]])
    units = shared[0].units.take([shared[0].ids.index(name) for name in ids])
    if units.count < 2:
        return
    spread = WordingSpread.of(np.concatenate(tables, axis=1), len(models), units)
    details: dict[str, Detail] = {
        OTHER: " · ".join(model.readings[0].answers.scorers[0].model for model in shared[1:]),
        "wording_deviation": float(np.sqrt(max(spread.of_wordings, 0.0))),
        "model_deviation": float(np.sqrt(max(spread.of_models, 0.0))),
    }
    own = judge_of_all(dataset, shared[0])
    value = spread.of_wordings - spread.of_models
    reach = NORMAL * spread.error
    name = (READINGS, ALL, WORDING_OVER_MODEL)
    yield own.row(name, value, len(ids), value - reach, value + reach, details=details)


@dataclass(frozen=True, slots=True)
class WordingSpread:
    """Variances of the share right, without the noise of having asked so few problems."""

    of_wordings: float
    """Between the wordings of one model, in the mean over models."""
    of_models: float
    """Between the models under one wording, in the mean over wordings."""
    error: float
    """Standard error of the difference of both."""

    @classmethod
    def of(cls, cells: FloatArray, model_count: int, units: Units) -> "WordingSpread":
        """The variances in the share right of each problem.

        Parameters
        ----------
        cells
            A column per wording of the first model, then of the second, and so on.
        """
        wording_count = cells.shape[1] // model_count
        of_wordings = np.kron(np.eye(model_count), centring(wording_count)) / model_count / (wording_count - 1)
        of_models = np.kron(centring(model_count), np.eye(wording_count)) / wording_count / (model_count - 1)
        means = cells.mean(axis=0)
        covariance = covariance_of_means(cells, units)
        found = [float(means @ form @ means - np.trace(form @ covariance)) for form in (of_wordings, of_models)]
        form = of_wordings - of_models
        spread = form @ covariance
        variance = 4 * float(means @ spread @ form @ means) + 2 * float(np.trace(spread @ spread))
        return cls(found[0], found[1], float(np.sqrt(max(variance, 0.0))))
