"""The view of a protocol: one scorer's answers by variant, and its judge.

Protocols choose which problems a row is about; what the row says of them is a function of `winokit.methods.metrics`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from winokit.answers import Answers, AskedProblems, Scorer, choice_numbers
from winokit.data.runs import LeftOut
from winokit.methods.arrays import BoolArray
from winokit.methods.metrics.judge import Judge, Name
from winokit.methods.scoring.base import SCORINGS, Scoring
from winokit.methods.scoring.scorer import Prediction, sample_column
from winokit.methods.transforms.variants import Variant
from winokit.problem import ORIGINAL, Dataset
from winokit.results import Metric


@dataclass
class AuditSheet:
    """Everything protocols work on, for one dataset, model and scoring."""

    dataset: Dataset
    predictions: Mapping[str, Mapping[str, Sequence[Prediction]]]
    """Variant to problem id to predictions: one, or one for each sample."""
    variants: Mapping[str, Variant]
    model: str
    scoring: str
    formalization: str | None = None
    asked: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What protocols asked of the model beside predictions: by the protocol's name, a number per problem id."""
    problems: AskedProblems | None = None
    """The problems as they were asked; made from the dataset and its variants if a sheet shares them with no other."""
    left_out: list[LeftOut] = field(default_factory=list)
    _answers: dict[str, Answers] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def known_scoring(self) -> Scoring | None:
        """The scoring, if it is one of ours, or None.

        Predictions may come from elsewhere.
        """
        name = self.scoring.split("?")[0]
        is_known = name in SCORINGS
        return SCORINGS[name] if is_known else None

    @property
    def asks_both_orders(self) -> bool:
        """Whether the scorer lists the candidates in both orders itself, so that turning them round changes nothing."""
        is_one_order = "order=given" in self.scoring or "order=reversed" in self.scoring
        return self.known_scoring is not None and self.known_scoring.both_orders and not is_one_order

    @property
    def reads_pronoun(self) -> bool:
        """Whether the scorer is known to see the pronoun of a problem that has one."""
        return self.known_scoring is not None and self.known_scoring.reads_pronoun

    @cached_property
    def judge(self) -> Judge:
        """Judge that makes the rows of this scorer."""
        return Judge(self.dataset.card.name, Scorer(self.model, self.scoring, self.formalization))

    def answers(self, variant: str = ORIGINAL) -> Answers:
        """Answers to the labelled problems of a variant, in order.

        They are computed once per variant.
        """
        if variant not in self._answers:
            self._answers[variant] = self._find_answers(variant)
        return self._answers[variant]

    def _find_answers(self, variant: str) -> Answers:
        """Rows of a variant's problems with a prediction, abstentions included."""
        if self.problems is None:
            self.problems = asked_problems(self.dataset, self.variants)
        predictions = self.predictions.get(variant, {})
        rows = self.problems.rows_of_variant.get(variant, np.zeros(0, np.int64))
        ids = self.problems.ids
        predicted: list[int] = []
        answered: list[Prediction] = []
        for row in rows.tolist():
            samples = predictions.get(ids[row], ())
            predicted += [row] * len(samples)
            answered += samples
        choices = choice_numbers([prediction.prediction for prediction in answered])
        chances: Sequence[float] | None = None
        if self.formalization is not None:
            from winokit.methods.formalizations.cases import guesses

            chances = guesses([self.problems.problems[row] for row in predicted], self.formalization)
        return Answers(
            self.problems,
            np.array(predicted, np.int64),
            choices,
            (self.judge.scorer,),
            samples=sample_column(answered),
            option_chances=None if chances is None else np.array(chances),
        )

    def reasons(self, answers: Answers, variant: str = ORIGINAL) -> list[str | None]:
        """Reason why each problem was left undecided, or None."""
        predictions = self.predictions.get(variant, {})
        reason_of: dict[tuple[str, int], str | None] = {}
        for name, samples in predictions.items():
            reason_of |= {(name, prediction.sample or 0): prediction.why for prediction in samples}
        return [reason_of[key] for key in answers.keys]

    def accuracy(
        self,
        protocol: str,
        subset: str,
        answers: Answers,
        metric: str = "accuracy",
        note: str | None = None,
        *,
        by_answer: bool = False,
    ) -> Iterable[Metric]:
        """Return an accuracy row.

        `by_answer` says that the subset was chosen by the place of the right answer.
        """
        return self.judge.accuracy((protocol, subset, metric), answers, note, by_answer=by_answer)

    def gap(
        self, name: Name, answers: Answers, is_first: BoolArray, note: str | None = None, *, by_answer: bool = False
    ) -> Iterable[Metric]:
        """Row with the accuracy on flagged problems minus that on the others.

        None if one of the two is empty.

        `by_answer` if the problems were flagged by where the right answer is.
        """
        return self.judge.gap(name, answers, is_first, note, by_answer=by_answer)

    def by_group(self, name: Name, answers: Answers) -> Iterable[Metric]:
        """A row for a share of complete groups: `n` counts groups."""
        return self.judge.by_group(name, answers)

    def leave_out(self, protocol: str, subset: str, why: str, n: int) -> None:
        """Record that problems could not be used."""
        self.left_out.append(LeftOut(protocol, subset, why, n))

    def leave_out_refused(self, protocol: str, subset: str, variant: str) -> None:
        """Record of how many problems a variant could not be made, and why."""
        for why, n in Counter(self.variants[variant].refused.values()).items():
            self.leave_out(protocol, subset, why, n)

    def has(self, variant: str) -> bool:
        """Whether a variant was made and predicted."""
        return variant in self.variants and variant in self.predictions


def asked_problems(dataset: Dataset, variants: Mapping[str, Variant]) -> AskedProblems:
    """The labelled problems of a dataset and its variants, for all sheets of a run."""
    return AskedProblems.of(dataset, {name: variant.problems for name, variant in variants.items()})


def flags(values: Iterable[object]) -> BoolArray:
    """A flag per value: whether it is true."""
    return np.array([bool(value) for value in values], np.bool_)
