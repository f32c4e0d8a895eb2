"""What a protocol sees: problems, predictions by variant, and a way to make rows with intervals and chance.

Protocols choose which problems a row is about; what the row says of them is a function of `winokit.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from winokit.auditing.run import LeftOut
from winokit.auditing.variants import Variant
from winokit.metrics import complete_groups, correct, gap, guess_chance, mean_interval, share
from winokit.metrics.arrays import BoolArray, FloatArray, IntArray
from winokit.problem import Dataset, Problem
from winokit.results import Metric
from winokit.scoring import Prediction

ORIGINAL = "original"
READS_PRONOUN = ("ask", "pronoun", "attention", "own")
"""Scorings that leave the pronoun where it is; the others put candidates in its place and never see it."""
Name = tuple[str, str, str]
"""Protocol, subset and metric."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A labelled problem with its prediction."""

    problem: Problem
    prediction: Prediction

    @property
    def choice(self) -> int | None:
        """The predicted candidate's index; None for an abstention."""
        return self.prediction.prediction


class Columns:
    """Graded problems as the columns that metrics take."""

    def __init__(self, graded: Sequence[Graded], clusters: Mapping[str, int]) -> None:
        self.predictions = [one.choice for one in graded]
        self.answers = [int(one.problem.answer or 0) for one in graded]
        self.candidates = [len(one.problem.candidates) for one in graded]
        self.groups = [one.problem.group for one in graded]
        self.clusters: IntArray = np.fromiter((clusters[original_id(one.problem)] for one in graded), np.int64)

    @cached_property
    def correct(self) -> BoolArray:
        """Whether each is right; an abstention is not."""
        return correct(self.predictions, self.answers)

    @cached_property
    def chances(self) -> FloatArray:
        """What guessing with the same abstentions gets of each."""
        return guess_chance(self.predictions, self.candidates)


@dataclass
class Sheet:
    """Everything protocols work on, for one dataset, model and scoring."""

    dataset: Dataset
    predictions: Mapping[str, Mapping[str, Prediction]]
    """Variant to problem id to prediction."""
    variants: Mapping[str, Variant]
    model: str
    scoring: str
    formalization: str | None = None
    surprisal: Mapping[str, float] = field(default_factory=dict)
    """Per-word surprisal of each solved text, by problem id, where it is known."""
    left_out: list[LeftOut] = field(default_factory=list)
    _graded: dict[str, list[Graded]] = field(default_factory=dict, init=False, repr=False)

    @property
    def reads_pronoun(self) -> bool:
        """Whether the scorer is known to see the pronoun of a problem that has one."""
        return self.scoring.split("?")[0] in READS_PRONOUN

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many members each group has in the whole dataset."""
        return {name: len(members) for name, members in self.dataset.groups.items()}

    @cached_property
    def clusters(self) -> dict[str, int]:
        """For each problem's id, the number of what it hangs together with."""
        return dict(zip((problem.id for problem in self.dataset), self.dataset.clusters, strict=True))

    def columns(self, graded: Sequence[Graded]) -> Columns:
        """Graded problems as columns."""
        return Columns(graded, self.clusters)

    def graded(self, variant: str = ORIGINAL) -> list[Graded]:
        """The labelled problems of a variant that have a prediction, in order; found once, asked for by many."""
        if variant not in self._graded:
            self._graded[variant] = self._find_graded(variant)
        return self._graded[variant]

    def _find_graded(self, variant: str) -> list[Graded]:
        problems: Iterable[Problem] = self.dataset if variant == ORIGINAL else self.variants[variant].problems
        found = self.predictions.get(variant, {})
        pairs = ((problem, found.get(original_id(problem))) for problem in problems if problem.answer is not None)
        known = self.clusters
        return [
            Graded(problem, prediction)
            for problem, prediction in pairs
            if prediction is not None and original_id(problem) in known
        ]

    def share(
        self, name: Name, values: Any, clusters: IntArray, chance: Any = None, note: str | None = None
    ) -> Iterable[Metric]:
        """A row for a share, with its interval and test over clusters; nothing where there is nothing to average.

        `chance` is what guessing gets, one number or one for each value.
        """
        if len(values):
            found = share(values, clusters)
            interval, level = found.interval(), None if chance is None else float(np.mean(chance))
            about = {} if level is None else {"p": found.p(level)}
            yield self.row(name, found.value, found.n, interval.low, interval.high, level, note, about)

    def mean(self, name: Name, values: Sequence[float], clusters: IntArray) -> Iterable[Metric]:
        """A row for any other mean."""
        if values:
            interval = mean_interval(values, clusters)
            yield self.row(name, float(np.mean(values)), len(values), interval.low, interval.high)

    def accuracy(
        self, protocol: str, subset: str, graded: Sequence[Graded], metric: str = "accuracy", note: str | None = None
    ) -> Iterable[Metric]:
        """An accuracy row: twins are one cluster."""
        if graded:
            found = self.columns(graded)
            yield from self.share((protocol, subset, metric), found.correct, found.clusters, found.chances, note)

    def gap(
        self, name: Name, first: Sequence[Graded], second: Sequence[Graded], note: str | None = None
    ) -> Iterable[Metric]:
        """A row for the accuracy on one subset minus that on another; nothing where one is empty.

        Guessing, which may abstain more in one of the two, has a difference of its own.
        """
        if first and second:
            both = self.columns([*first, *second])
            is_first = np.arange(len(both.correct)) < len(first)
            found = gap(both.correct, is_first, ~is_first, both.clusters)
            interval = found.interval()
            chance = float(both.chances[is_first].mean() - both.chances[~is_first].mean())
            ends = interval.low, interval.high
            yield self.row(name, found.value, len(both.correct), *ends, chance, note, {"p": found.p(chance)})

    def by_group(
        self,
        name: Name,
        graded: Sequence[Graded],
        units: Callable[[BoolArray, Sequence[Any], Mapping[str, int]], BoolArray],
        chances: Callable[[FloatArray, Sequence[Any], Mapping[str, int]], FloatArray],
        note: str | None = None,
    ) -> Iterable[Metric]:
        """A row for a share of complete groups: `n` counts groups."""
        found = self.columns(graded) if graded else None
        if found is not None and (members := complete_groups(found.groups, self.sizes)):
            clusters = found.clusters[[rows[0] for rows in members.values()]]
            values = units(found.correct, found.groups, self.sizes)
            chance = chances(found.chances, found.groups, self.sizes)
            yield from self.share(name, values, clusters, chance, note)

    def complete(self, graded: Sequence[Graded]) -> list[list[Graded]]:
        """The groups whose every member is among those graded."""
        members = complete_groups([one.problem.group for one in graded], self.sizes)
        return [[graded[row] for row in rows] for rows in members.values()]

    def row(
        self,
        name: Name,
        value: float,
        n: int,
        low: float | None = None,
        high: float | None = None,
        chance: float | None = None,
        note: str | None = None,
        details: Mapping[str, float] | None = None,
    ) -> Metric:
        """A row under the sheet's dataset, model and scoring."""
        head = self.dataset.card.name, self.model, self.scoring, self.formalization
        return Metric(*head, *name, value, n, low, high, chance, note, details or {})

    def leave_out(self, protocol: str, subset: str, why: str, n: int) -> None:
        """Say that problems could not be used."""
        self.left_out.append(LeftOut(protocol, subset, why, n))


def original_id(problem: Problem) -> str:
    """The id of the problem a variant was made from, or its own."""
    return str(problem.provenance.get("of") or problem.id)
