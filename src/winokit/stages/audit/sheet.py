"""What a protocol sees: problems, predictions by variant, and a way to make rows with intervals and chance.

Protocols choose which problems a row is about; what the row says of them is a function of `winokit.methods.metrics`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from winokit.data.runs import LeftOut
from winokit.methods.formalizations.cases import guesses
from winokit.answers import Answers, original_id, unit_number_by_id
from winokit.methods.metrics.judge import Name, Judge
from winokit.methods.scoring.base import SCORINGS, Scoring
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.transforms.variants import ORIGINAL, Variant
from winokit.problem import Dataset, Problem
from winokit.results import Metric


class GradedProblem(NamedTuple):
    """A labelled problem with its prediction."""

    problem: Problem
    prediction: Prediction
    row: int
    """Its place among the graded problems of its variant."""

    @property
    def origin(self) -> str:
        """The id of the problem that a variant was made from, or its own."""
        return self.prediction.id

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
    asked: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What protocols asked of the model beside predictions: by the protocol's name, a number per problem id."""
    left_out: list[LeftOut] = field(default_factory=list)
    _graded: dict[str, list[GradedProblem]] = field(default_factory=dict, init=False, repr=False)
    _columns: dict[str, MetricColumns] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def known_scoring(self) -> Scoring | None:
        """The scoring, where it is one of ours; predictions may come from elsewhere."""
        name = self.scoring.split("?")[0]
        is_known = name in SCORINGS
        return SCORINGS[name] if is_known else None

    @property
    def reads_pronoun(self) -> bool:
        """Whether the scorer is known to see the pronoun of a problem that has one."""
        return self.known_scoring is not None and self.known_scoring.reads_pronoun

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

    def columns(self, graded: Sequence[GradedProblem]) -> MetricColumns:
        """Graded problems as the columns that metrics take; those of one variant are a part of its columns."""
        for variant, whole in self._graded.items():
            if whole is graded:
                return self._columns[variant]
        variants = {case.prediction.variant for case in graded}
        if len(variants) == 1:
            return self._columns[variants.pop()].take([case.row for case in graded])
        return self._made_columns(graded)

    def _made_columns(self, graded: Sequence[GradedProblem]) -> MetricColumns:
        problems, choices = [case.problem for case in graded], [case.prediction.prediction for case in graded]
        clusters = np.array([self.clusters[prediction.id] for _, prediction, _ in graded], np.int64)
        return MetricColumns(problems, choices, clusters, guesses(problems, self.formalization))

    def graded(self, variant: str = ORIGINAL) -> list[GradedProblem]:
        """The labelled problems of a variant that have a prediction, in order; found once, asked for by many."""
        if variant not in self._graded:
            problems = self.dataset if variant == ORIGINAL else self.variants[variant].problems
            predictions = self.predictions.get(variant, {})
            labelled = ((problem, original_id(problem)) for problem in problems if problem.answer is not None)
            # A variant may be of more problems than the sheet is about.
            known = ((problem, name) for problem, name in labelled if name in predictions and name in self.clusters)
            graded = [GradedProblem(problem, predictions[name], row) for row, (problem, name) in enumerate(known)]
            self._graded[variant] = graded
            self._columns[variant] = self._made_columns(self._graded[variant])
        return self._graded[variant]

    def accuracy(
        self,
        protocol: str,
        subset: str,
        graded: Sequence[GradedProblem],
        metric: str = "accuracy",
        note: str | None = None,
    ) -> Iterable[Metric]:
        """An accuracy row: twins are one cluster."""
        return self.head.accuracy((protocol, subset, metric), self.columns(graded), note)

    def gap(
        self, name: Name, first: Sequence[GradedProblem], second: Sequence[GradedProblem], note: str | None = None
    ) -> Iterable[Metric]:
        """A row for the accuracy on one subset minus that on another; nothing where one is empty."""
        is_first = np.arange(len(first) + len(second)) < len(first)
        return self.head.gap(name, self.columns([*first, *second]), is_first, note)

    def by_group(self, name: Name, graded: Sequence[GradedProblem]) -> Iterable[Metric]:
        """A row for a share of complete groups: `n` counts groups."""
        return self.head.by_group(name, self.columns(graded), self.sizes)

    def complete(self, graded: Sequence[GradedProblem]) -> list[list[GradedProblem]]:
        """The groups whose every member is among those graded."""
        return [[graded[row] for row in rows] for rows in self.columns(graded).layout(self.sizes).members]

    def leave_out(self, protocol: str, subset: str, why: str, n: int) -> None:
        """Say that problems could not be used."""
        self.left_out.append(LeftOut(protocol, subset, why, n))

    def leave_out_refused(self, protocol: str, subset: str, variant: str) -> None:
        """Say of how many problems a variant could not be made, and why."""
        for why, n in Counter(self.variants[variant].refused.values()).items():
            self.leave_out(protocol, subset, why, n)

    def has(self, variant: str) -> bool:
        """Whether a variant was made and predicted."""
        return variant in self.variants and variant in self.predictions
