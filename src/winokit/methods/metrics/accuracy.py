"""Accuracy, abstentions, and the scores of guessing or of one class alone."""

from dataclasses import dataclass

import numpy as np

from winokit.errors import BadInput
from winokit.methods import arrays


def correct(predictions: arrays.Choices, answers: arrays.Counts) -> arrays.BoolArray:
    """Whether each problem is answered correctly.

    An abstention (None) is not correct.
    """
    arrays.same_length(predictions=predictions, answers=answers)
    right: arrays.BoolArray = arrays.as_choices(predictions) == arrays.as_answers(answers)
    return right


def accuracy(predictions: arrays.Choices, answers: arrays.Counts) -> float:
    """Share of problems answered correctly.

    Abstentions (None) count as wrong.

    >>> accuracy([0, 1, None, 1], [0, 1, 1, 0])
    0.5
    """
    return float(correct(predictions, answers).mean())


def credit(predictions: arrays.Choices, answers: arrays.Counts, candidates: arrays.Counts) -> arrays.FloatArray:
    """Expected credit of each problem if abstentions are guessed.

    1 if right, 0 if wrong, 1/candidates for an abstention. `candidates` are the numbers of candidates.
    """
    arrays.same_length(predictions=predictions, answers=answers, candidates=candidates)
    chosen = arrays.as_choices(predictions)
    sizes = arrays.as_candidates(candidates)
    is_beyond = chosen >= sizes
    if is_beyond.any():
        row = int(np.argmax(is_beyond))
        raise BadInput(f"row {row} predicts candidate {chosen[row]}, and the problem has {sizes[row]}, counted from 0")
    right = chosen == arrays.as_answers(answers)
    return np.where(chosen == arrays.ABSTAINED, 1 / sizes, right.astype(np.float64))


def expected_accuracy(predictions: arrays.Choices, answers: arrays.Counts, candidates: arrays.Counts) -> float:
    """Accuracy with each abstention counted as 1/candidates.

    `candidates` are the numbers of candidates. After Trichelair et al. (2018), footnote 6.

    >>> expected_accuracy([0, 1, None, 1], [0, 1, 1, 0], [2, 2, 2, 2])
    0.625
    """
    return float(credit(predictions, answers, candidates).mean())


def abstained(predictions: arrays.Choices) -> float:
    """Share of problems that are abstained from."""
    return float((arrays.as_choices(predictions) == arrays.ABSTAINED).mean())


def guess_chance(predictions: arrays.Choices, candidates: arrays.Counts) -> arrays.FloatArray:
    """Probability that a guess is right, for each answered problem.

    1/candidates, and 0 for an abstention. The mean is the chance level of `accuracy`; that of `expected_accuracy`,
    which counts abstentions as guesses, is `chance`.

    >>> guess_chance([0, None, 2], [2, 2, 4]).tolist()
    [0.5, 0.0, 0.25]
    """
    arrays.same_length(predictions=predictions, candidates=candidates)
    is_silent = arrays.as_choices(predictions) == arrays.ABSTAINED
    return np.where(is_silent, 0.0, 1 / arrays.as_candidates(candidates))


def chance(candidates: arrays.Counts) -> float:
    """Accuracy of guessing on every problem: the mean of 1/candidates.

    >>> chance([2, 4])
    0.375
    """
    return float((1 / arrays.as_candidates(candidates)).mean())


def precision(predictions: arrays.Choices, answers: arrays.Counts) -> float | None:
    """Share of the answered problems that are right.

    None if nothing is answered. After Emami et al. (2018), where accuracy is the recall that belongs to it.

    >>> precision([0, 1, None, 1], [0, 1, 1, 0])
    0.6666666666666666
    """
    right = correct(predictions, answers)
    answered = arrays.as_choices(predictions) != arrays.ABSTAINED
    return float(right[answered].mean()) if answered.any() else None


def majority_class(answers: arrays.Counts) -> float:
    """Share of the most frequent answer index.

    It is the accuracy of always predicting that index.
    """
    indices = arrays.as_answers(answers)
    return float(np.bincount(indices).max() / len(indices))


def confusion(predictions: arrays.Choices, answers: arrays.Counts) -> arrays.IntArray:
    """Counts of problems by answer (row) and prediction (column).

    The last column counts abstentions.

    >>> confusion([0, 1, None, 1], [0, 1, 1, 0]).tolist()
    [[1, 1, 0], [0, 1, 1]]
    """
    arrays.same_length(predictions=predictions, answers=answers)
    chosen = arrays.as_choices(predictions)
    right = arrays.as_answers(answers)
    classes = int(max(chosen.max(), right.max())) + 1
    table = np.zeros((classes, classes + 1), np.int64)
    columns = np.where(chosen == arrays.ABSTAINED, classes, chosen)
    np.add.at(table, (right, columns), 1)
    return table


@dataclass(frozen=True, slots=True)
class F1:
    """F1 by class, their mean, and F1 over all predictions.

    A class is an answer index: the place of the right candidate.
    """

    by_class: dict[int, float]
    macro: float
    micro: float


def f1(predictions: arrays.Choices, answers: arrays.Counts) -> F1:
    """F1 of predictions: the harmonic mean of precision and recall.

    Precision is over answered problems, recall over all. An abstention costs recall, never precision; without any,
    `micro` is plain accuracy. A class that is neither an answer nor a prediction has no F1. `by_class` and `macro`
    depend on which candidate comes first in each problem.
    """
    table = confusion(predictions, answers)
    hits = table.diagonal()
    choice_counts = table[:, :-1].sum(axis=0)
    answer_counts = table.sum(axis=1)
    class_counts = choice_counts + answer_counts
    by_class = {}
    for index in np.flatnonzero(class_counts):
        by_class[int(index)] = float(2 * hits[index] / class_counts[index])
    macro = float(np.mean(list(by_class.values())))
    micro = 2 * hits.sum() / class_counts.sum()
    return F1(by_class, macro, float(micro))
