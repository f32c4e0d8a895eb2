"""The judge of readings: one scorer asked in several ways.

A reading is a prompt, an order of the candidates and a scoring. Liu et al., "Precise Task Formalization Matters in
Winograd Schema Evaluations" (2020), https://arxiv.org/abs/2010.04043, saw scores of one model differ more between
readings than scores of several models under one.

Every row says of a reading or of all of them what is so on these problems: readings are not drawn, problems are. Tests
of several readings are corrected for their number (Holm).
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from winokit.answers import ABSTAINED, Answers
from winokit.errors import BadInput
from winokit.methods.arrays import BoolArray, FloatArray, IntArray
from winokit.methods.metrics.compare import Comparison, compare
from winokit.methods.metrics.components import PROBLEMS as PROBLEMS
from winokit.methods.metrics.components import REST as REST
from winokit.methods.metrics.components import SAMPLES as SAMPLES
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
VARIANCE = "variance"
VARIANCE_SHARE = "variance_share"
DEVIATION = "standard_deviation"
DIFFERENCE = "difference"
WORDING_OVER_MODEL = "wording_over_model"
SAME_CHOICE = "same_choice_share"
ALL_RIGHT = "all_right_share"
ANY_RIGHT = "any_right_share"


@dataclass(frozen=True)
class ReadAnswers:
    """Answers of one scorer under one reading.

    A reading is a prompt, an order of candidates and a scoring.
    """

    name: str
    levels: Mapping[str, str]
    """The level of each factor: which prompt, which order, which scoring."""
    answers: Answers


class AskedReadings:
    """Answers of one model under several readings, matched by problem.

    Raises BadInput if there are no readings, or two of one name.
    """

    def __init__(self, readings: Sequence[ReadAnswers]) -> None:
        names = [reading.name for reading in readings]
        if not names or len(set(names)) < len(names):
            raise BadInput(f"expected readings, each of a name of its own, found {', '.join(names) or 'none'}")
        self.readings = tuple(readings)

    def of_names(self, names: Sequence[str]) -> "AskedReadings":
        """Take the readings of some names, in that order."""
        by_name = {reading.name: reading for reading in self.readings}
        return AskedReadings([by_name[name] for name in names])

    @cached_property
    def ids(self) -> list[str]:
        """Ids of the problems asked under every reading, in order."""
        shared_ids = set(self.readings[0].answers.ids)
        for reading in self.readings[1:]:
            shared_ids &= set(reading.answers.ids)
        return [name for name in dict.fromkeys(self.readings[0].answers.ids) if name in shared_ids]

    @cached_property
    def rows(self) -> list[IntArray]:
        """Row indices of each reading's table: problems by samples."""
        tables = [rows_by_problem(reading.answers) for reading in self.readings]
        sample_count = min(self._count_samples(table) for table in tables)
        return [self._arrange_rows(table, sample_count) for table in tables]

    def _count_samples(self, table: Mapping[str, list[int]]) -> int:
        """Smallest number of samples of a problem in `ids`.

        `table` has the rows of each problem.
        """
        return min((len(table[name]) for name in self.ids), default=1)

    def _arrange_rows(self, table: Mapping[str, list[int]], sample_count: int) -> IntArray:
        """First rows of each problem, in the order of `ids`."""
        return np.array([table[name][:sample_count] for name in self.ids], np.int64)

    @cached_property
    def correct(self) -> BoolArray:
        """Whether each answer is right: problems by readings by samples."""
        pairs = zip(self.readings, self.rows, strict=True)
        return np.stack([reading.answers.correct[rows] for reading, rows in pairs], axis=1)

    @cached_property
    def choices(self) -> IntArray:
        """Chosen candidates: problems by readings by samples."""
        pairs = zip(self.readings, self.rows, strict=True)
        return np.stack([reading.answers.choices[rows] for reading, rows in pairs], axis=1)

    @cached_property
    def units(self) -> Units:
        """Unit of each problem in `ids`."""
        return self.readings[0].answers.units.take(self.rows[0][:, 0])

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """Names of the factors in which the readings differ.

        If the readings are not every combination of their levels, "readings" is the only factor.
        """
        levels: dict[str, set[str]] = {}
        for reading in self.readings:
            for name, level in reading.levels.items():
                levels.setdefault(name, set()).add(level)
        varied = tuple(name for name, names in levels.items() if len(names) > 1)
        full_count = math.prod(len(levels[name]) for name in varied)
        present = {levels_of(reading, varied) for reading in self.readings}
        is_crossed = bool(varied) and len(present) == full_count == len(self.readings)
        return varied if is_crossed else (READINGS,)

    @cached_property
    def crossed(self) -> CrossedAnswers:
        """1 for right and 0 for wrong, with an axis per factor."""
        values = self.correct.astype(np.float64)
        if self.factors == (READINGS,):
            return CrossedAnswers(values, self.factors, self.units)
        combinations_of_levels = [levels_of(reading, self.factors) for reading in self.readings]
        axes = [list(dict.fromkeys(column)) for column in zip(*combinations_of_levels, strict=True)]
        axis_lengths = [len(axis) for axis in axes]
        arranged = np.zeros((len(values), *axis_lengths, values.shape[-1]))
        for index, combination in enumerate(combinations_of_levels):
            indices = [axis.index(level) for axis, level in zip(axes, combination, strict=True)]
            cell_index: Any = (slice(None), *indices)
            arranged[cell_index] = values[:, index]
        return CrossedAnswers(arranged, self.factors, self.units)

    def prompt_means(self) -> FloatArray:
        """Share right of each problem (row) under each prompt (column).

        Under each reading if there is only one prompt.
        """
        levels = [reading.levels.get("prompts") or reading.name for reading in self.readings]
        if len(set(levels)) < 2:
            levels = [reading.name for reading in self.readings]
        shares = self.correct.mean(axis=-1)
        columns = []
        for level in dict.fromkeys(levels):
            indices = [index for index, name in enumerate(levels) if name == level]
            columns.append(shares[:, indices].mean(axis=1))
        return np.stack(columns, axis=1)


def levels_of(reading: ReadAnswers, factors: Sequence[str]) -> tuple[str, ...]:
    """A reading's level of each factor, empty if it has none."""
    return tuple(reading.levels.get(name, "") for name in factors)


def rows_by_problem(answers: Answers) -> dict[str, list[int]]:
    """Row indices of each problem by its id, in order of samples."""
    samples = np.zeros(len(answers), np.int64) if answers.samples is None else answers.samples
    rows: dict[str, list[int]] = {}
    for row in np.argsort(samples, kind="stable").tolist():
        rows.setdefault(answers.ids[row], []).append(row)
    return rows


def reading_rows(dataset: str, model: AskedReadings) -> Iterator[Metric]:
    """Make the rows of one model under all its readings."""
    accuracies: list[Metric] = []
    for reading in model.readings:
        accuracies += accuracy_rows(dataset, reading)
    p_values = []
    for row in accuracies:
        p_values.append(1.0 if row.p is None else row.p)
    corrected = holm(p_values)
    for row, p in zip(accuracies, corrected, strict=True):
        yield replace(row, details={**row.details, CORRECTED: p})
    for reading in model.readings:
        yield from pair_rows(dataset, reading)
    if len(model.readings) > 1 and model.ids:
        own_judge = judge_of_all(dataset, model)
        yield from agreement_rows(own_judge, model)
        yield from component_rows(own_judge, model.crossed.components(), len(model.ids))


def judge_of_all(dataset: str, model: AskedReadings) -> Judge:
    """Judge for rows about all readings of a model."""
    scorers = [reading.answers.scorers[0] for reading in model.readings]
    scorings = dict.fromkeys(scorer.scoring.partition("?")[0] for scorer in scorers)
    return Judge(dataset, scorers[0]._replace(scoring="+".join(scorings)))


def judge_of_reading(dataset: str, reading: ReadAnswers) -> Judge:
    """Judge for the rows of one reading."""
    return Judge(dataset, reading.answers.scorers[0], dict(reading.levels))


def accuracy_rows(dataset: str, reading: ReadAnswers) -> Iterator[Metric]:
    """Make the row of the accuracy under one reading.

    With several samples it is the mean over them.
    """
    own_judge = judge_of_reading(dataset, reading)
    name = (READINGS, reading.name, "accuracy")
    answers = reading.answers
    if not has_samples(answers):
        yield from own_judge.accuracy(name, answers)
        return
    rows = list(rows_by_problem(answers).values())
    means = np.array([answers.correct[index].mean() for index in rows])
    chances = np.array([answers.chances[index].mean() for index in rows])
    first_rows = [index[0] for index in rows]
    yield from own_judge.share(name, means, answers.units.take(first_rows), chances)


def pair_rows(dataset: str, reading: ReadAnswers) -> Iterator[Metric]:
    """Make the row of the group accuracy under one reading.

    With several samples it is the mean over them.
    """
    own_judge = judge_of_reading(dataset, reading)
    name = (READINGS, reading.name, "group_accuracy")
    answers = reading.answers
    if not has_samples(answers):
        yield from own_judge.by_group(name, answers)
        return
    tables = [replace(table, samples=None) for _, table in answers.by("sample")]
    layouts = [GroupLayout(table.groups, table.group_sizes) for table in tables]
    if not all(layout.members for layout in layouts):
        return
    pairs = list(zip(tables, layouts, strict=True))
    whole_shares = np.mean([all_right(table.correct, layout) for table, layout in pairs], axis=0)
    chance = np.mean([all_right_chance(table.chances, layout) for table, layout in pairs], axis=0)
    first_rows = layouts[0].rows[layouts[0].starts]
    units = tables[0].units.take(first_rows)
    yield from own_judge.share(name, whole_shares, units, chance)


def has_samples(answers: Answers) -> bool:
    """Whether some problem was asked more than once."""
    return answers.samples is not None and len(set(answers.samples.tolist())) > 1


def agreement_rows(scorer_judge: Judge, model: AskedReadings) -> Iterator[Metric]:
    """Make the rows on agreement between readings.

    They are the shares of problems with one choice under every reading, with all answers right, and with any right.
    """
    choices = model.choices.reshape(len(model.ids), -1)
    correct = model.correct.reshape(len(model.ids), -1)
    is_same = (choices == choices[:, :1]).all(axis=1)
    is_answered = choices[:, 0] != ABSTAINED
    all_right = correct.all(axis=1)
    any_right = correct.any(axis=1)
    flags = {SAME_CHOICE: is_same & is_answered, ALL_RIGHT: all_right, ANY_RIGHT: any_right}
    for metric, values in flags.items():
        yield from scorer_judge.share((READINGS, ALL, metric), values, model.units)


def component_rows(scorer_judge: Judge, components: Sequence[Component], n: int) -> Iterator[Metric]:
    """Make a row for the standard deviation of each variance component.

    The variance itself, which may be below zero, is a detail, as is its share of the whole. `n` is the number of
    problems.
    """
    total = sum(max(part.variance, 0.0) for part in components)
    tested = [part for part in components if part.p is not None]
    sources = [part.source for part in tested]
    p_values = [part.p or 0.0 for part in tested]
    corrected = dict(zip(sources, holm(p_values), strict=True))
    for part in components:
        details: dict[str, Detail] = {VARIANCE: part.variance}
        details[VARIANCE_SHARE] = max(part.variance, 0.0) / total if total else 0.0
        if part.p is not None:
            details |= {P: part.p, CORRECTED: corrected[part.source]}
        low = math.sqrt(part.interval.low)
        high = math.sqrt(part.interval.high)
        name = (READINGS, ".".join(part.source), DEVIATION)
        deviation = math.sqrt(max(part.variance, 0.0))
        yield scorer_judge.row(name, deviation, n, low, high, details=details)


class ComparedReading(NamedTuple):
    """Comparison of two models under one reading."""

    reading: ReadAnswers
    other: ReadAnswers
    comparison: Comparison


def lead_rows(dataset: str, models: Sequence[AskedReadings]) -> Iterator[Metric]:
    """Make the rows of the differences between models, by reading.

    Each two models are compared. P-values are corrected for the number of all readings of all pairs of models.
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
        own_judge = judge_of_reading(dataset, pair.reading)
        name = (READINGS, pair.reading.name, DIFFERENCE)
        yield own_judge.row(name, comparison.difference, comparison.n, interval.low, interval.high, details=details)


def common_names(models: Sequence[AskedReadings]) -> list[str]:
    """Names of the readings under which all models were asked."""
    counts: Counter[str] = Counter()
    for model in models:
        counts.update(reading.name for reading in model.readings)
    return [reading.name for reading in models[0].readings if counts[reading.name] == len(models)]


def compared_readings(first: AskedReadings, second: AskedReadings) -> Iterator[ComparedReading]:
    """Compare two models under each reading, then under all together.

    Both have the same readings in one order. Only problems that both were asked count. With several samples, and for
    all readings together, means are compared.
    """
    ids = common_ids([first, second])
    if not ids:
        return
    rows = rows_of(first, ids)
    other_rows = rows_of(second, ids)
    units = first.units.take(rows)
    shares = first.correct[rows].mean(axis=-1)
    other_shares = second.correct[other_rows].mean(axis=-1)
    is_silent = [True, True]
    for index, (reading, other) in enumerate(zip(first.readings, second.readings, strict=True)):
        comparison = compare(shares[:, index], other_shares[:, index], units)
        refuses = [bool(each.answers.silent.all()) for each in (reading, other)]
        is_silent = [is_silent[0] and refuses[0], is_silent[1] and refuses[1]]
        comparison = replace(comparison, first_refuses=refuses[0], second_refuses=refuses[1])
        yield ComparedReading(reading, other, comparison)
    if len(first.readings) > 1:
        comparison = compare(shares.mean(axis=1), other_shares.mean(axis=1), units)
        comparison = replace(comparison, first_refuses=is_silent[0], second_refuses=is_silent[1])
        together = [ReadAnswers(ALL, {}, model.readings[0].answers) for model in (first, second)]
        yield ComparedReading(together[0], together[1], comparison)


def common_ids(models: Sequence[AskedReadings]) -> list[str]:
    """Ids of the problems that all models were asked under every reading."""
    counts: Counter[str] = Counter()
    for model in models:
        counts.update(model.ids)
    return [name for name in models[0].ids if counts[name] == len(models)]


def rows_of(model: AskedReadings, ids: Sequence[str]) -> list[int]:
    """Indices of some problems in the arrays of a model."""
    row_of = {name: row for row, name in enumerate(model.ids)}
    return [row_of[name] for name in ids]


def wording_rows(dataset: str, models: Sequence[AskedReadings]) -> Iterator[Metric]:
    """Make the row that says if wording or model matters more.

    Nothing for one model or one wording. The value is the variance between the wordings of one model minus that
    between the models under one wording, both without the noise of having asked so few problems. Its interval is
    normal over units, by the delta method. It is on the wide side, since the noise counts in it twice.
    """
    names = common_names(models) if len(models) > 1 else []
    if len(names) < 2:
        return
    shared = [model.of_names(names) for model in models]
    ids = common_ids(shared)
    units = shared[0].units.take(rows_of(shared[0], ids))
    if units.count < 2:
        return
    tables = [model.prompt_means()[rows_of(model, ids)] for model in shared]
    spread = WordingSpread.of(np.concatenate(tables, axis=1), len(models), units)
    other_names = [model.readings[0].answers.scorers[0].model for model in shared[1:]]
    wording_deviation = math.sqrt(max(spread.of_wordings, 0.0))
    model_deviation = math.sqrt(max(spread.of_models, 0.0))
    details: dict[str, Detail] = {
        OTHER: " · ".join(other_names),
        "wording_deviation": wording_deviation,
        "model_deviation": model_deviation,
    }
    value = spread.of_wordings - spread.of_models
    low = value - NORMAL * spread.error
    high = value + NORMAL * spread.error
    own_judge = judge_of_all(dataset, shared[0])
    yield own_judge.row((READINGS, ALL, WORDING_OVER_MODEL), value, len(ids), low, high, details=details)


@dataclass(frozen=True, slots=True)
class WordingSpread:
    """Variances of accuracy between wordings and between models, without noise."""

    of_wordings: float
    """Between the wordings of one model, in the mean over models."""
    of_models: float
    """Between the models under one wording, in the mean over wordings."""
    error: float
    """Standard error of the difference of both."""

    @classmethod
    def of(cls, cells: FloatArray, model_count: int, units: Units) -> "WordingSpread":
        """Estimate the variances from the share right of each problem.

        Parameters
        ----------
        cells
            A column per wording of the first model, then of the second, and so on.
        """
        wording_count = cells.shape[1] // model_count
        within_models = np.kron(np.eye(model_count), centring(wording_count))
        of_wordings = within_models / model_count / (wording_count - 1)
        within_wordings = np.kron(centring(model_count), np.eye(wording_count))
        of_models = within_wordings / wording_count / (model_count - 1)
        means = cells.mean(axis=0)
        covariance = covariance_of_means(cells, units)
        between_wordings = float(means @ of_wordings @ means - np.trace(of_wordings @ covariance))
        between_models = float(means @ of_models @ means - np.trace(of_models @ covariance))
        form = of_wordings - of_models
        spread = form @ covariance
        of_means = float(means @ spread @ form @ means)
        of_noise = float(np.trace(spread @ spread))
        variance = 4 * of_means + 2 * of_noise
        return cls(between_wordings, between_models, math.sqrt(max(variance, 0.0)))
