"""A dataset made ready once, to be judged again and again as a network learns; the rows of its results; and symptoms.

Fine-tuning fails often and in silence: of the RoBERTa runs on WinoGrande that were published most stay at 51 to 53 per
cent at a rate at which others reach 80. The signs are a loss that never left what guessing gives, one answer for
everything, and an accuracy that a constant answer has too.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from winokit.answers import Answers, Scorer
from winokit.errors import WinokitError
from winokit.methods.formalizations.cases import alone, cases, guesses
from winokit.methods.formalizations.inputs import Encoded, encode
from winokit.methods.formalizations.network import Network
from winokit.methods.metrics.accuracy import abstained, credit, majority_class
from winokit.methods.metrics.groups import complete_groups, group_accuracy, group_accuracy_chance
from winokit.methods.metrics.judge import Judge, judge
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset, original_id
from winokit.results import ABOVE, Metric, decide, stands

STUCK = 0.98
"""A loss above this share of what guessing gives has not moved."""
FEW = 10
"""Below so many problems a dev set has nothing to say."""


class Evaluation:
    """The problems of a dataset as a network reads them."""

    def __init__(self, dataset: Dataset, network: Network, variant: str) -> None:
        self.dataset = dataset
        self.variant = variant
        self.cases = cases(dataset, network.formalization)
        self.encoded = encode(self.cases, network.formalization, network.reader)
        unread = [why for why in self.encoded if isinstance(why, str)]
        lonely = alone(self.cases) if network.formalization.definition.compares else 0
        self.notes: list[str] = []
        """What a reader of its results should know."""
        if unread:
            self.notes.append(f"{dataset.card.name}: problems not answered: {len(unread):,} (the first: {unread[0]})")
        if lonely:
            self.notes.append(
                f"{dataset.card.name}: judgements without a rival to compare with, not answered: {lonely:,}"
            )

    def predictions(self, network: Network, model: str = "") -> list[Prediction]:
        """A prediction for each problem."""
        formalization = network.formalization
        scores: dict[int, tuple[float, ...] | str] = {
            at: why for at, why in enumerate(self.encoded) if isinstance(why, str)
        }
        for at, numbers in network.numbers(self.encoded):
            scores[at] = formalization.definition.decide(self.cases[at], finite(numbers), formalization.switches)
        predictions = []
        for at, case in enumerate(self.cases):
            own = scores[at]
            values, (prediction, why) = (None, (None, own)) if isinstance(own, str) else (own, decide(own))
            named = original_id(case.problem), self.variant, model, formalization.spec
            predictions.append(Prediction(*named, values, prediction, case.problem.answer, why))
        return predictions


def mark(dataset: Dataset, predictions: Sequence[Prediction], step: int, epoch: float) -> dict[str, Any]:
    """How a network does on a dev set at some step, from predictions that all have an answer.

    Returns
    -------
    `accuracy`, undecided problems counted 1/candidates, and its interval `low` to `high`, twins drawn together;
    `group_accuracy`, None where there are no groups; `abstained`, the share of problems without a prediction; and
    `commonest`, the share of the commonest prediction, as a candidate's index, among those made.
    """
    answers = answers_of(dataset, predictions)
    choices = [choice for choice in answers.predictions if choice is not None]
    settled = credit(answers.predictions, answers.answers, answers.candidates)
    own = Judge(dataset.card.name, answers.scorers[0])
    (row,) = own.share(("accuracy", "dev", "expected_accuracy"), settled, answers.units)
    groups_right = None
    if complete_groups(answers.groups, answers.group_sizes):
        groups_right = group_accuracy(answers.correct, answers.groups, answers.group_sizes)
    return {
        "step": step,
        "epoch": epoch,
        "accuracy": row.value,
        "low": row.low,
        "high": row.high,
        "group_accuracy": groups_right,
        "abstained": abstained(answers.predictions),
        "commonest": majority_class(choices) if choices else 0.0,
    }


def rows(dataset: Dataset, predictions: Sequence[Prediction], subset: str) -> list[Metric]:
    """The rows that every score has, of a dev or test set; nothing for hidden answers."""
    if all(problem.answer is None for problem in dataset):
        return []
    answers = answers_of(dataset, predictions)
    return judge(answers, by=(), subset=subset, details={"variant": predictions[0].variant})


def answers_of(dataset: Dataset, predictions: Sequence[Prediction]) -> Answers:
    """The table of answers of one fine-tuned model, without problems whose answer is hidden.

    A judgement that is made by comparing is guessed among the options that are compared.
    """
    first = predictions[0]
    scorer = Scorer(first.model, first.scoring, first.scoring)
    choices = [prediction.prediction for prediction in predictions]
    scores = [prediction.scores for prediction in predictions]
    answers = Answers.of_choices(dataset, choices, scorer, first.variant, scores)
    return with_options(answers, first.scoring)


def with_options(answers: Answers, formalization: str | None) -> Answers:
    """The same table, with what a guess gets of each problem under a formalization."""
    option_chances = guesses(answers.problems, formalization)
    if option_chances is None:
        return answers
    return replace(answers, option_chances=np.array(option_chances))


def chances_of_guessing(dataset: Dataset, formalization: str) -> tuple[float, float | None]:
    """Accuracy and group accuracy of guessing among the options of a formalization.

    The second is None for a dataset without complete groups.
    """
    right_choices = [problem.answer for problem in dataset]
    answers = with_options(Answers.of_choices(dataset, right_choices), formalization)
    together = None
    if complete_groups(answers.groups, answers.group_sizes):
        together = group_accuracy_chance(answers.guesses, answers.groups, answers.group_sizes)
    return float(answers.guesses.mean()), together


class Diverged(WinokitError):
    """The loss is no number any more, or what the model says of an option is none."""

    def __init__(self, what: str, rate: float | None = None) -> None:
        shown = "" if rate is None else f" ({rate:g})"
        super().__init__(f"training diverged: {what}; lower the learning rate{shown}")


def finite(numbers: Sequence[float]) -> Sequence[float]:
    """The numbers of a problem's options, after a check that they are finite."""
    if not all(map(math.isfinite, numbers)):
        raise Diverged("the score of an option is not a number")
    return numbers


def guessing_loss(network: Network, examples: Sequence[Encoded]) -> float | None:
    """The mean loss if every option got the same number; None for a loss that depends on which."""
    formalization = network.formalization
    if formalization.switches.get("loss") == "margin":
        return None
    batch = network.collated(examples[:1024])
    total, count = formalization.definition.loss(torch.zeros(len(batch.row)), batch, formalization.switches)
    return float(total) / count


def symptoms(
    losses: Sequence[float],
    guessing: float | None,
    dev: Dataset | None,
    predictions: Sequence[Prediction],
    rows: Sequence[Metric] = (),
) -> list[str]:
    """What is wrong with a run, one sentence each; nothing where nothing is. `rows` are those of the dev set."""
    on_dev = _on_dev(dev, predictions, rows) if dev is not None and len(dev) >= FEW else None
    last = losses[-max(1, len(losses) // 4) :]
    stuck = guessing is not None and bool(last) and sum(last) / len(last) > STUCK * guessing
    # A dev set that was answered better than guessing allows has the last word: a loss moves late, and little at first.
    if not stuck or on_dev == []:
        return on_dev or []
    symptom = (
        f"the training loss ended at {sum(last) / len(last):.3f}, not below that of guessing, {guessing:.3f}: "
        "try another learning rate or seed, or more steps"
    )
    return [symptom, *(on_dev or [])]


def _on_dev(dev: Dataset, predictions: Sequence[Prediction], rows: Sequence[Metric]) -> list[str]:
    answers = [problem.answer or 0 for problem in dev]
    made = {prediction.prediction for prediction in predictions} - {None}
    if not made:
        return ["no problem of the dev set was decided"]
    if len(made) == 1 and len(set(answers)) > 1:
        (only,) = made
        judgements = all(problem.query is not None for problem in dev)
        what = f"{dev[0].candidates[only or 0]!r}" if judgements else f"candidate {(only or 0) + 1}"
        return [f"every prediction on the dev set is {what}: a degenerate run"]
    for row in rows:
        # The test that the row shows: two tests would contradict each other one day.
        if row.metric == "accuracy" and stands(row) != ABOVE:
            return [_why_not_above(row)]
    return []


def _why_not_above(row: Metric) -> str:
    """Why the accuracy on a dev set does not show that anything was learned."""
    right = f"{100 * row.value:.1f} % of {row.n:,} dev problems right"
    if row.is_in_one_place:
        return f"{right}, and nothing can be told from it: the right answer is always in one place"
    if row.is_untestable:
        return f"{right}, which its choices get wherever the right answers are"
    return f"{right} is not significantly above what its own preferences would get ({100 * (row.level or 0):.1f} %)"
