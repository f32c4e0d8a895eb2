"""What a protocol sees: problems, predictions by variant, and a way to make rows with intervals and chance.

Protocols choose which problems a row is about; what the row says of them is a function of `winokit.methods.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from winokit.data.runs import LeftOut
from winokit.methods.metrics import complete_groups
from winokit.methods.metrics.arrays import BoolArray, FloatArray
from winokit.methods.metrics.measuring import MetricColumns, Name, RowHead, clusters_by_id, original_id
from winokit.methods.scoring import Prediction
from winokit.methods.transforms.variants import Variant
from winokit.problem import Dataset, Problem
from winokit.results import Metric

ORIGINAL = "original"
READS_PRONOUN = ("ask", "pronoun", "attention", "own")
"""Scorings that leave the pronoun where it is; the others put candidates in its place and never see it."""


@dataclass(frozen=True, slots=True)
class GradedProblems:
    """A labelled problem with its prediction."""

    problem: Problem
    prediction: Prediction

    @property
    def choice(self) -> int | None:
        """The predicted candidate's index; None for an abstention."""
        return self.prediction.prediction


@dataclass
class AuditSheet:
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
    _graded: dict[str, list[GradedProblems]] = field(default_factory=dict, init=False, repr=False)

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
        return clusters_by_id(self.dataset)

    @cached_property
    def head(self) -> RowHead:
        """What every row begins with."""
        return RowHead(self.dataset.card.name, self.model, self.scoring, self.formalization)

    def columns(self, graded: Sequence[GradedProblems]) -> MetricColumns:
        """Graded problems as columns."""
        return MetricColumns([one.problem for one in graded], [one.choice for one in graded], self.clusters)

    def graded(self, variant: str = ORIGINAL) -> list[GradedProblems]:
        """The labelled problems of a variant that have a prediction, in order; found once, asked for by many."""
        if variant not in self._graded:
            self._graded[variant] = self._find_graded(variant)
        return self._graded[variant]

    def _find_graded(self, variant: str) -> list[GradedProblems]:
        problems: Iterable[Problem] = self.dataset if variant == ORIGINAL else self.variants[variant].problems
        found = self.predictions.get(variant, {})
        pairs = ((problem, found.get(original_id(problem))) for problem in problems if problem.answer is not None)
        known = self.clusters
        return [
            GradedProblems(problem, prediction)
            for problem, prediction in pairs
            if prediction is not None and original_id(problem) in known
        ]

    def accuracy(
        self,
        protocol: str,
        subset: str,
        graded: Sequence[GradedProblems],
        metric: str = "accuracy",
        note: str | None = None,
    ) -> Iterable[Metric]:
        """An accuracy row: twins are one cluster."""
        return self.head.accuracy((protocol, subset, metric), self.columns(graded), note)

    def gap(
        self, name: Name, first: Sequence[GradedProblems], second: Sequence[GradedProblems], note: str | None = None
    ) -> Iterable[Metric]:
        """A row for the accuracy on one subset minus that on another; nothing where one is empty."""
        is_first = np.arange(len(first) + len(second)) < len(first)
        return self.head.gap(name, self.columns([*first, *second]), is_first, note)

    def by_group(
        self,
        name: Name,
        graded: Sequence[GradedProblems],
        units: Callable[..., BoolArray],
        chances: Callable[..., FloatArray],
    ) -> Iterable[Metric]:
        """A row for a share of complete groups: `n` counts groups."""
        return self.head.by_group(name, self.columns(graded), units, chances, self.sizes)

    def complete(self, graded: Sequence[GradedProblems]) -> list[list[GradedProblems]]:
        """The groups whose every member is among those graded."""
        members = complete_groups([one.problem.group for one in graded], self.sizes)
        return [[graded[row] for row in rows] for rows in members.values()]

    def leave_out(self, protocol: str, subset: str, why: str, n: int) -> None:
        """Say that problems could not be used."""
        self.left_out.append(LeftOut(protocol, subset, why, n))
