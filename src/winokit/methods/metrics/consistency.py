"""Whether choices stay the same where they should.

Consistency is of Trichelair et al., "On the Evaluation of Common-Sense Reasoning in Natural Language Understanding"
(2018); stability of Abdou et al., "The Sensitivity of Language Models and Humans to Winograd Schema Perturbations"
(ACL 2020). None of them asks whether the choice is right.
"""

from collections.abc import Sequence

import numpy as np

from winokit.errors import BadInput
from winokit.methods import arrays

CONSISTENCY_CHANCE = 0.5


def role_kept(unswitched: arrays.Choices, switched: arrays.Choices) -> arrays.FloatArray:
    """1 for each problem whose chosen role survives the switch, else 0.

    Candidates change places in the switched text. Both choices are indices into the same pair of candidates, so a
    kept role is a *changed* index. An abstention counts one half, as if settled by a coin (Trichelair et al., 2018,
    footnote 7).
    """
    before, after = _read_choices(unswitched, switched)
    if max(before.max(), after.max()) > 1:
        raise BadInput("switching is defined for problems with two candidates")
    is_kept = (before != after).astype(np.float64)
    return np.where(_are_answered(before, after), is_kept, CONSISTENCY_CHANCE)


def consistency(unswitched: arrays.Choices, switched: arrays.Choices) -> float:
    """Share of problems whose chosen role survives exchanging the candidates.

    `unswitched` and `switched` are the choices before and after, compared as in `role_kept`. The choice need not be
    right. Abstentions count one half.

    >>> consistency([0, 0, 1, None], [1, 0, 0, None])
    0.625
    """
    return float(role_kept(unswitched, switched).mean())


def choice_kept(original: arrays.Choices, perturbed: arrays.Choices) -> arrays.BoolArray:
    """Whether a problem and its perturbed version get the same choice.

    False if either is an abstention.
    """
    before, after = _read_choices(original, perturbed)
    same: arrays.BoolArray = before == after
    return _are_answered(before, after) & same


def choice_kept_chance(
    original: arrays.Choices, perturbed: arrays.Choices, candidates: arrays.Counts
) -> arrays.FloatArray:
    """Probability that a guess keeps each choice.

    1/candidates, and 0 if either answer is an abstention. `candidates` are the numbers of candidates.
    """
    arrays.same_length(original=original, candidates=candidates)
    before, after = _read_choices(original, perturbed)
    return np.where(_are_answered(before, after), 1 / arrays.as_candidates(candidates), 0.0)


def stability(original: arrays.Choices, perturbed: arrays.Choices) -> float:
    """Share of problems that keep their choice when the text is perturbed.

    The choice need not be right. It is not kept if either answer is an abstention.

    >>> stability([0, 1, 1, None], [0, 1, 0, None])
    0.5
    """
    return float(choice_kept(original, perturbed).mean())


def order_invariance(original: arrays.Choices, reordered: arrays.Choices, orders: Sequence[Sequence[int]]) -> float:
    """Share of problems with the same choice in another candidate order.

    `reordered` are indices into the candidates in that order, and `orders` are those given to `Problem.with_order`.

    >>> order_invariance([0, 1], [1, 1], [(1, 0), (1, 0)])
    0.5
    """
    return stability(original, in_first_order(reordered, orders))


def choice_turned(original: arrays.Choices, reordered: arrays.Choices) -> arrays.BoolArray:
    """Whether the second answer to each problem is another candidate.

    Both are indices into one order of candidates. False if either is an abstention.
    """
    before, after = _read_choices(original, reordered)
    other: arrays.BoolArray = before != after
    return _are_answered(before, after) & other


def in_first_order(reordered: arrays.Choices, orders: Sequence[Sequence[int]]) -> list[int | None]:
    """Convert indices into reordered candidates to the original order.

    `orders` are those given to `Problem.with_order`. None stays None.
    """
    arrays.same_length(reordered=reordered, orders=orders)
    choices: list[int | None] = []
    for choice, order in zip(reordered, orders, strict=True):
        choices.append(None if choice is None else order[choice])
    return choices


def _read_choices(before: arrays.Choices, after: arrays.Choices) -> tuple[arrays.IntArray, arrays.IntArray]:
    """Choices before and after a change as arrays of equal length."""
    arrays.same_length(before=before, after=after)
    return arrays.as_choices(before), arrays.as_choices(after)


def _are_answered(before: arrays.IntArray, after: arrays.IntArray) -> arrays.BoolArray:
    """Whether neither of the two choices is an abstention."""
    answered: arrays.BoolArray = np.minimum(before, after) > arrays.ABSTAINED
    return answered
