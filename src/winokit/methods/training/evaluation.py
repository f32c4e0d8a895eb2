"""A dataset encoded once and evaluated again and again while a network learns.

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
    """The problems of a dataset, encoded for a network."""

    def __init__(self, dataset: Dataset, network: Network, variant: str) -> None:
        self.dataset = dataset
        self.variant = variant
        self.cases = cases(dataset, network.formalization)
        self.encoded = encode(self.cases, network.formalization, network.reader)
        unread = [reason for reason in self.encoded if isinstance(reason, str)]
        without_rival = alone(self.cases) if network.formalization.definition.compares else 0
        self.notes: list[str] = []
        """What a reader of its results should know."""
        name = dataset.card.name
        if unread:
            self.notes.append(f"{name}: problems not answered: {len(unread):,} (the first: {unread[0]})")
        if without_rival:
            self.notes.append(f"{name}: judgements without a rival to compare with, not answered: {without_rival:,}")

    def predictions(self, network: Network, model: str = "") -> list[Prediction]:
        """A prediction for each problem."""
        formalization = network.formalization
        definition = formalization.definition
        outcomes: dict[int, tuple[float, ...] | str] = {}
        for index, encoded in enumerate(self.encoded):
            if isinstance(encoded, str):
                outcomes[index] = encoded
        for index, numbers in network.numbers(self.encoded):
            outcomes[index] = definition.decide(self.cases[index], finite(numbers), formalization.switches)
        return [self._prediction(index, outcomes[index], model, formalization.spec) for index in range(len(self.cases))]

    def _prediction(self, index: int, outcome: tuple[float, ...] | str, model: str, spec: str) -> Prediction:
        """The prediction from a problem's scores, or an abstention with the reason that stands for them."""
        problem = self.cases[index].problem
        question = (original_id(problem), self.variant, model, spec)
        if isinstance(outcome, str):
            return Prediction(*question, None, None, problem.answer, outcome)
        choice, reason = decide(outcome)
        return Prediction(*question, outcome, choice, problem.answer, reason)


def mark(dataset: Dataset, predictions: Sequence[Prediction], step: int, epoch: float) -> dict[str, Any]:
    """Return how a network does on a dev set at some step.

    All problems of the dev set need an answer.

    Returns
    -------
    `accuracy`, undecided problems counted 1/candidates, and its interval `low` to `high`, twins drawn together;
    `group_accuracy`, None where there are no groups; `abstained`, the share of problems without a prediction; and
    `commonest`, the share of the commonest prediction, as a candidate's index, among those made.
    """
    answers = answers_of(dataset, predictions)
    choices = [choice for choice in answers.predictions if choice is not None]
    shares_right = credit(answers.predictions, answers.answers, answers.candidates)
    dev_judge = Judge(dataset.card.name, answers.scorers[0])
    (row,) = dev_judge.share(("accuracy", "dev", "expected_accuracy"), shares_right, answers.units)
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
    """Return the accuracy rows of a dev or test set; none for hidden answers."""
    if all(problem.answer is None for problem in dataset):
        return []
    answers = answers_of(dataset, predictions)
    return judge(answers, by=(), subset=subset, details={"variant": predictions[0].variant})


def answers_of(dataset: Dataset, predictions: Sequence[Prediction]) -> Answers:
    """Return one fine-tuned model's answers as a table, without hidden answers.

    If options are compared with each other, a guess is a draw among these.
    """
    first = predictions[0]
    scorer = Scorer(first.model, first.scoring, first.scoring)
    choices = [prediction.prediction for prediction in predictions]
    scores = [prediction.scores for prediction in predictions]
    answers = Answers.of_choices(dataset, choices, scorer, first.variant, scores)
    return with_options(answers, first.scoring)


def with_options(answers: Answers, formalization: str | None) -> Answers:
    """Return the same table with the chance of a guess per problem.

    A formalization may offer other options than the candidates.
    """
    option_chances = guesses(answers.problems, formalization)
    if option_chances is None:
        return answers
    return replace(answers, option_chances=np.array(option_chances))


def chances_of_guessing(dataset: Dataset, formalization: str) -> tuple[float, float | None]:
    """Return accuracy and group accuracy of guessing among a formalization's options.

    The second is None for a dataset without complete groups.
    """
    right_choices = [problem.answer for problem in dataset]
    answers = with_options(Answers.of_choices(dataset, right_choices), formalization)
    together = None
    if complete_groups(answers.groups, answers.group_sizes):
        together = group_accuracy_chance(answers.guesses, answers.groups, answers.group_sizes)
    return float(answers.guesses.mean()), together


class Diverged(WinokitError):
    """The loss or the score of an option is not a number."""

    def __init__(self, what: str, rate: float | None = None) -> None:
        rate_note = "" if rate is None else f" ({rate:g})"
        super().__init__(f"training diverged: {what}; lower the learning rate{rate_note}")


def finite(numbers: Sequence[float]) -> Sequence[float]:
    """Return the scores of a problem's options. Raises Diverged unless all are finite."""
    if not all(map(math.isfinite, numbers)):
        raise Diverged("the score of an option is not a number")
    return numbers


def guessing_loss(network: Network, examples: Sequence[Encoded]) -> float | None:
    """Return the mean loss if all options got the same score.

    None for the margin loss, which depends on more than that.
    """
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
    """Return one sentence for each sign that a run has failed.

    `rows` are those of the dev set.
    """
    dev_symptoms = None
    if dev is not None and len(dev) >= FEW:
        dev_symptoms = _find_dev_symptoms(dev, predictions, rows)
    loss_symptoms = _find_loss_symptoms(losses, guessing)
    # A dev set that was answered better than guessing allows decides: a loss moves late, and little at first.
    if dev_symptoms == []:
        return []
    return [*loss_symptoms, *(dev_symptoms or [])]


def _find_loss_symptoms(losses: Sequence[float], guessing: float | None) -> list[str]:
    """Say so if the last quarter of the losses is not below the loss of guessing."""
    quarter = max(1, len(losses) // 4)
    last_losses = losses[-quarter:]
    if guessing is None or not last_losses:
        return []
    final_loss = sum(last_losses) / len(last_losses)
    if final_loss <= STUCK * guessing:
        return []
    return [
        f"the training loss ended at {final_loss:.3f}, not below that of guessing, {guessing:.3f}: "
        "try another learning rate or seed, or more steps"
    ]


def _find_dev_symptoms(dev: Dataset, predictions: Sequence[Prediction], rows: Sequence[Metric]) -> list[str]:
    answers = [problem.answer or 0 for problem in dev]
    distinct_choices = {prediction.prediction for prediction in predictions} - {None}
    if not distinct_choices:
        return ["no problem of the dev set was decided"]
    if len(distinct_choices) == 1 and len(set(answers)) > 1:
        (sole_choice,) = distinct_choices
        judgements = all(problem.query is not None for problem in dev)
        what = f"{dev[0].candidates[sole_choice or 0]!r}" if judgements else f"candidate {(sole_choice or 0) + 1}"
        return [f"every prediction on the dev set is {what}: a degenerate run"]
    for row in rows:
        # The test that the row shows: two tests would contradict each other one day.
        if row.metric == "accuracy" and stands(row) != ABOVE:
            return [_explain_chance_level(row)]
    return []


def _explain_chance_level(row: Metric) -> str:
    """Say why the accuracy on a dev set does not show that anything was learned."""
    right = f"{100 * row.value:.1f} % of {row.n:,} dev problems right"
    if row.is_in_one_place:
        return f"{right}, and nothing can be told from it: the right answer is always in one place"
    if row.is_untestable:
        return f"{right}, which its choices get wherever the right answers are"
    return f"{right} is not significantly above what its own preferences would get ({100 * (row.level or 0):.1f} %)"
