"""Evaluation of a network in training, and signs that its training has failed.

Fine-tuning often fails without an error: most of the published RoBERTa runs on WinoGrande stay at 51 to 53 per cent, at
a learning rate at which others reach 80. The signs are a loss that stays at that of guessing, one answer for all
problems, and an accuracy that a constant answer reaches too.
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
"""Share of the loss of guessing above which a final loss counts as not improved."""
FEW = 10
"""Minimum number of dev problems from which signs of failure are looked for."""


class Evaluation:
    """The problems of a dataset, encoded once to be predicted repeatedly.

    `network` is used for its tokenizer and formalization. `variant` is the variant's name in predictions.
    """

    def __init__(self, dataset: Dataset, network: Network, variant: str) -> None:
        self.dataset = dataset
        self.variant = variant
        self.cases = cases(dataset, network.formalization)
        self.encoded = encode(self.cases, network.formalization, network.reader)
        unread = [reason for reason in self.encoded if isinstance(reason, str)]
        without_rival = alone(self.cases) if network.formalization.definition.compares else 0
        self.notes: list[str] = []
        """Numbers of problems that are not answered, with the reason."""
        name = dataset.card.name
        if unread:
            self.notes.append(f"{name}: problems not answered: {len(unread):,} (the first: {unread[0]})")
        if without_rival:
            self.notes.append(f"{name}: judgements without a rival to compare with, not answered: {without_rival:,}")

    def predictions(self, network: Network, model: str = "") -> list[Prediction]:
        """Predict every problem with the network in its present state.

        `model` is the model's name in the predictions. Raises Diverged if a score is not a finite number.
        """
        formalization = network.formalization
        definition = formalization.definition
        outcomes: dict[int, tuple[float, ...] | str] = {}
        for index, encoded in enumerate(self.encoded):
            if isinstance(encoded, str):
                outcomes[index] = encoded
        for index, numbers in network.numbers(self.encoded):
            case = self.cases[index]
            outcomes[index] = definition.decide(case, finite(numbers), formalization.switches)
        spec = formalization.spec
        return [self._prediction(index, outcomes[index], model, spec) for index in range(len(self.cases))]

    def _prediction(self, index: int, outcome: tuple[float, ...] | str, model: str, spec: str) -> Prediction:
        """Prediction of the problem with this index.

        `outcome` has its scores, or the reason for an abstention.
        """
        problem = self.cases[index].problem
        question = (original_id(problem), self.variant, model, spec)
        if isinstance(outcome, str):
            return Prediction(*question, None, None, problem.answer, outcome)
        choice, reason = decide(outcome)
        return Prediction(*question, outcome, choice, problem.answer, reason)


def mark(dataset: Dataset, predictions: Sequence[Prediction], step: int, epoch: float) -> dict[str, Any]:
    """Measure a network's predictions on a dev set at a step of training.

    All problems of the dev set need an answer.

    Returns
    -------
    `accuracy`, in which an undecided problem counts 1/candidates, with the interval from `low` to `high`, clustered by
    unit; `group_accuracy`, or None without complete groups; `abstained`, the share of problems without a prediction;
    and `commonest`, the share of the most frequent candidate index among the predictions.
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
    """Return the accuracy rows of a dev or test set.

    There are none if all answers are hidden. `subset` is the rows' subset.
    """
    if all(problem.answer is None for problem in dataset):
        return []
    answers = answers_of(dataset, predictions)
    return judge(answers, by=(), subset=subset, details={"variant": predictions[0].variant})


def answers_of(dataset: Dataset, predictions: Sequence[Prediction]) -> Answers:
    """Return the predictions of one fine-tuned model as a table of answers.

    Problems with hidden answers are left out. The chance of a guess is that among the formalization's options.
    """
    first = predictions[0]
    scorer = Scorer(first.model, first.scoring, first.scoring)
    choices = [prediction.prediction for prediction in predictions]
    scores = [prediction.scores for prediction in predictions]
    answers = Answers.of_choices(dataset, choices, scorer, first.variant, scores)
    return with_options(answers, first.scoring)


def with_options(answers: Answers, formalization: str | None) -> Answers:
    """Return the table with the chance of a guess among a formalization's options.

    These may be other options than the candidates. `formalization` is its spec; with None the table is returned as it
    is.
    """
    option_chances = guesses(answers.problems, formalization)
    if option_chances is None:
        return answers
    return replace(answers, option_chances=np.array(option_chances))


def chances_of_guessing(dataset: Dataset, formalization: str) -> tuple[float, float | None]:
    """Return the expected accuracy and group accuracy of guessing.

    Guesses are among the options of the formalization. The second is None for a dataset without complete groups.
    """
    right_choices = [problem.answer for problem in dataset]
    answers = with_options(Answers.of_choices(dataset, right_choices), formalization)
    group_chance = None
    if complete_groups(answers.groups, answers.group_sizes):
        group_chance = group_accuracy_chance(answers.guesses, answers.groups, answers.group_sizes)
    return float(answers.guesses.mean()), group_chance


class Diverged(WinokitError):
    """The loss, or the score of an option, is not a finite number.

    `fact` says which, and `rate` is the learning rate.
    """

    def __init__(self, fact: str, rate: float | None = None) -> None:
        rate_note = "" if rate is None else f" ({rate:g})"
        super().__init__(f"training diverged: {fact}; lower the learning rate{rate_note}")


def finite(numbers: Sequence[float]) -> Sequence[float]:
    """Return the scores of a problem's options unchanged.

    Raises Diverged unless all are finite.
    """
    if not all(map(math.isfinite, numbers)):
        raise Diverged("the score of an option is not a number")
    return numbers


def guessing_loss(network: Network, examples: Sequence[Encoded]) -> float | None:
    """Mean loss of a model that gives all options the same score.

    It is computed from the first 1,024 examples. None for the margin loss, which depends on the scores themselves.
    """
    formalization = network.formalization
    if formalization.switches.get("loss") == "margin":
        return None
    batch = network.collated(examples[:1024])
    equal_scores = torch.zeros(len(batch.row))
    total, count = formalization.definition.loss(equal_scores, batch, formalization.switches)
    return float(total) / count


def symptoms(
    losses: Sequence[float],
    guessing: float | None,
    dev: Dataset | None,
    predictions: Sequence[Prediction],
    rows: Sequence[Metric] = (),
) -> list[str]:
    """Return one sentence for each sign that a training run has failed.

    `losses` are those of training in order, and `guessing` is the loss of guessing or None if it is unknown.
    `predictions` and `rows` are those on the dev set. If the dev set is large enough and shows no sign of failure, the
    loss is not considered.
    """
    dev_symptoms = None
    if dev is not None and len(dev) >= FEW:
        dev_symptoms = _find_dev_symptoms(dev, predictions, rows)
    loss_symptoms = _find_loss_symptoms(losses, guessing)
    # Accuracy above guessing on the dev set decides: a loss moves late, and little at first.
    if dev_symptoms == []:
        return []
    return [*loss_symptoms, *(dev_symptoms or [])]


def _find_loss_symptoms(losses: Sequence[float], guessing: float | None) -> list[str]:
    """Return a sentence if the last quarter of the losses is not below that of guessing."""
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
    """Return a sentence if the predictions on the dev set are no better than guesses."""
    answers = [problem.answer or 0 for problem in dev]
    distinct_choices = {prediction.prediction for prediction in predictions} - {None}
    if not distinct_choices:
        return ["no problem of the dev set was decided"]
    if len(distinct_choices) == 1 and len(set(answers)) > 1:
        (sole_choice,) = distinct_choices
        index = sole_choice or 0
        sole_prediction = f"candidate {index + 1}"
        if all(problem.query is not None for problem in dev):
            sole_prediction = repr(dev[0].candidates[index])
        return [f"every prediction on the dev set is {sole_prediction}: a degenerate run"]
    for row in rows:
        # The test is the one that the row shows: another test might contradict it.
        if row.metric == "accuracy" and stands(row) != ABOVE:
            return [_explain_chance_level(row)]
    return []


def _explain_chance_level(row: Metric) -> str:
    """Explain why the accuracy on a dev set does not show that the model learned anything."""
    right = f"{100 * row.value:.1f} % of {row.n:,} dev problems right"
    if row.is_in_one_place:
        return f"{right}, and nothing can be told from it: the right answer is always in one place"
    if row.is_untestable:
        return f"{right}, which its choices get wherever the right answers are"
    return f"{right} is not significantly above what its own preferences would get ({100 * (row.level or 0):.1f} %)"
