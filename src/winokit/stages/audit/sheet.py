"""The sheet from which protocols read: one scorer's answers by variant, and the judge that makes its rows.

Protocols choose the problems of a row. Its value is a function of `winokit.methods.metrics`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from winokit.answers import Answers, AskedProblems, Scorer, choice_numbers
from winokit.data.runs import LeftOut
from winokit.methods.arrays import BoolArray
from winokit.methods.metrics.judge import Judge, Name
from winokit.methods.scoring.base import SCORINGS, Scoring
from winokit.methods.scoring.scorer import Prediction, sample_column
from winokit.methods.transforms.variants import Variant
from winokit.problem import ORIGINAL, Dataset, Problem
from winokit.results import Metric


@dataclass
class AuditSheet:
    """Answers of one scorer to a dataset and its variants."""

    dataset: Dataset
    predictions: Mapping[str, Mapping[str, Sequence[Prediction]]]
    """By variant and problem id, the predictions: one, or one for each sample."""
    variants: Mapping[str, Variant]
    model: str
    scoring: str
    formalization: str | None = None
    asked: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By protocol, a number per problem id that the protocol asked the model for, such as surprisal."""
    problems: AskedProblems | None = None
    """The labelled problems of all variants. None makes them from the dataset and the variants."""
    left_out: list[LeftOut] = field(default_factory=list)
    """Problems that protocols could not use, with the reasons."""
    _answers: dict[str, Answers] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def known_scoring(self) -> Scoring | None:
        """The scoring if it is one of winokit's, else None.

        Predictions from elsewhere have other scorings.
        """
        name, _, _ = self.scoring.partition("?")
        is_known = name in SCORINGS
        return SCORINGS[name] if is_known else None

    @property
    def asks_both_orders(self) -> bool:
        """Whether the scorer itself asks with the candidates in both orders.

        Then reversing them changes nothing.
        """
        is_one_order = "order=given" in self.scoring or "order=reversed" in self.scoring
        return self.known_scoring is not None and self.known_scoring.both_orders and not is_one_order

    @property
    def reads_pronoun(self) -> bool:
        """Whether the scorer is known to see a problem's pronoun."""
        return self.known_scoring is not None and self.known_scoring.reads_pronoun

    @cached_property
    def judge(self) -> Judge:
        """Judge that makes the rows of this scorer."""
        return Judge(self.dataset.card.name, Scorer(self.model, self.scoring, self.formalization))

    def answers(self, variant: str = ORIGINAL) -> Answers:
        """Answers to the labelled problems of a variant, in their order.

        Abstentions are included. They are computed once per variant. Problems without a prediction have no row.
        """
        if variant not in self._answers:
            self._answers[variant] = self._find_answers(variant)
        return self._answers[variant]

    def _find_answers(self, variant: str) -> Answers:
        """Make the answers to a variant from its predictions."""
        if self.problems is None:
            self.problems = asked_problems(self.dataset, self.variants)
        by_id = self.predictions.get(variant, {})
        variant_rows = self.problems.rows_of_variant.get(variant, np.zeros(0, np.int64))
        rows: list[int] = []
        predictions: list[Prediction] = []
        for row in variant_rows.tolist():
            samples = by_id.get(self.problems.ids[row], ())
            rows += [row] * len(samples)
            predictions += samples
        return Answers(
            self.problems,
            np.array(rows, np.int64),
            choice_numbers([prediction.prediction for prediction in predictions]),
            (self.judge.scorer,),
            samples=sample_column(predictions),
            option_chances=self._guess_chances([self.problems.problems[row] for row in rows]),
        )

    def _guess_chances(self, problems: Sequence[Problem]) -> NDArray[np.float64] | None:
        """Probability per problem that a guess is right, for a formalization that compares options.

        None if the scorer was not trained under one, or if no problem is a yes/no judgement.
        """
        if self.formalization is None:
            return None
        from winokit.methods.formalizations.cases import guesses

        chances = guesses(problems, self.formalization)
        return None if chances is None else np.array(chances)

    def reasons(self, answers: Answers, variant: str = ORIGINAL) -> list[str | None]:
        """Reasons of abstentions among answers to a variant, one value per answer.

        None for choices, and if no reason is known.
        """
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
        """Yield the row of the accuracy on some answers.

        No row if there are none. `by_answer` is whether the answers were selected by the place of the right answer.
        """
        return self.judge.accuracy((protocol, subset, metric), answers, note, by_answer=by_answer)

    def gap(
        self, name: Name, answers: Answers, is_first: BoolArray, note: str | None = None, *, by_answer: bool = False
    ) -> Iterable[Metric]:
        """Yield the row of the difference of accuracy between two parts.

        It is that of the first part minus that of the rest. `is_first` flags the answers of the first part. No row if
        one of the two is empty. `by_answer` is whether they were selected by the place of the right answer.
        """
        return self.judge.gap(name, answers, is_first, note, by_answer=by_answer)

    def by_group(self, name: Name, answers: Answers) -> Iterable[Metric]:
        """Yield the row of a share of complete groups.

        Its `n` counts groups. The metric in `name` is one of `group_accuracy`, `one_right` and `none_right`.
        """
        return self.judge.by_group(name, answers)

    def leave_out(self, protocol: str, subset: str, why: str, n: int) -> None:
        """Record that `n` problems could not be used, and why."""
        self.left_out.append(LeftOut(protocol, subset, why, n))

    def leave_out_refused(self, protocol: str, subset: str, variant: str) -> None:
        """Record the problems that a variant could not be made of.

        They are counted for each reason.
        """
        for why, n in Counter(self.variants[variant].refused.values()).items():
            self.leave_out(protocol, subset, why, n)

    def has(self, variant: str) -> bool:
        """Whether a variant was made and has predictions."""
        return variant in self.variants and variant in self.predictions


def asked_problems(dataset: Dataset, variants: Mapping[str, Variant]) -> AskedProblems:
    """Collect the labelled problems of a dataset and its variants.

    All sheets of a run share them.
    """
    return AskedProblems.of(dataset, {name: variant.problems for name, variant in variants.items()})


def flags(values: Iterable[object]) -> BoolArray:
    """Turn values into an array of flags: whether each value is true."""
    return np.array([bool(value) for value in values], np.bool_)
