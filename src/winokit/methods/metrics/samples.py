"""Measures of several answers (samples) of one scorer to each problem.

Choices are a table with a row for each problem and a column for each sample; -1 is an abstention.
"""

import numpy as np

from winokit.methods.arrays import ABSTAINED, BoolArray, FloatArray, IntArray


def same_answer(choices: IntArray) -> BoolArray:
    """Whether all samples of each problem have the same choice.

    Abstentions in all samples are the same too.

    >>> same_answer(np.array([[1, 1], [0, 1], [-1, -1]])).tolist()
    [True, False, True]
    """
    is_same: BoolArray = (choices == choices[:, :1]).all(axis=1)
    return is_same


def unanimous(choices: IntArray) -> IntArray:
    """Choice that all samples of each problem agree on, else an abstention.

    >>> unanimous(np.array([[1, 1], [0, 1], [-1, -1]])).tolist()
    [1, -1, -1]
    """
    return np.where(same_answer(choices), choices[:, 0], ABSTAINED)


def any_right(choices: IntArray, answers: IntArray) -> BoolArray:
    """Whether any sample of each problem is right.

    >>> any_right(np.array([[1, 1], [0, 1], [-1, -1]]), np.array([0, 0, 0])).tolist()
    [False, True, False]
    """
    is_right: BoolArray = (choices == answers[:, None]).any(axis=1)
    return is_right


def all_right_chance(guesses: FloatArray) -> FloatArray:
    """Probability that guesses are right in all samples of each problem.

    `guesses` is the probability that one guess is right, by problem and sample.
    """
    chances: FloatArray = guesses.prod(axis=1)
    return chances


def any_right_chance(guesses: FloatArray) -> FloatArray:
    """Probability that guesses are right in some sample of each problem."""
    chances: FloatArray = 1 - (1 - guesses).prod(axis=1)
    return chances


def same_answer_chance(choices: IntArray, candidates: IntArray) -> FloatArray:
    """Probability that guesses with the same abstentions agree, by problem.

    `candidates` are the numbers of candidates.

    >>> same_answer_chance(np.array([[0, 1], [0, 2], [0, -1], [-1, -1]]), np.array([2, 3, 2, 2])).round(3).tolist()
    [0.5, 0.333, 0.0, 1.0]
    """
    silent = (choices == ABSTAINED).sum(axis=1)
    samples = choices.shape[1]
    answered: FloatArray = candidates.astype(np.float64) ** (1 - samples)
    return np.where(silent == 0, answered, (silent == samples).astype(np.float64))
