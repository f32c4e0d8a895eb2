"""Is the choice the same where it should be: candidates switched, text perturbed, candidates listed in another order?

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
    """1 where the predicted role is the same after the candidates changed places in the text, 0 where it is not.

    Both predictions are indices into one and the same pair of candidates, so a kept role is a *changed* index. An
    abstention counts one half, as if settled by a coin (Trichelair et al., 2018, footnote 7).
    """
    before, after = _two(unswitched, switched)
    if max(before.max(), after.max()) > 1:
        raise BadInput("switching is defined for problems with two candidates")
    return np.where(_answered(before, after), (before != after).astype(np.float64), CONSISTENCY_CHANCE)


def consistency(unswitched: arrays.Choices, switched: arrays.Choices) -> float:
    """Share of switchable problems whose predicted candidate changes with the switch; it need not be right.

    >>> consistency([0, 0, 1, None], [1, 0, 0, None])
    0.625
    """
    return float(role_kept(unswitched, switched).mean())


def choice_kept(original: arrays.Choices, perturbed: arrays.Choices) -> arrays.BoolArray:
    """Whether the same candidate is chosen for a problem and its perturbed version; an abstention chooses none."""
    before, after = _two(original, perturbed)
    same: arrays.BoolArray = before == after
    return _answered(before, after) & same


def choice_kept_chance(
    original: arrays.Choices, perturbed: arrays.Choices, candidates: arrays.Counts
) -> arrays.FloatArray:
    """How likely guessing with the same abstentions keeps each choice: 1/candidates, and not where nobody chose."""
    arrays.same_length(original=original, candidates=candidates)
    return np.where(_answered(*_two(original, perturbed)), 1 / arrays.as_candidates(candidates), 0.0)


def stability(original: arrays.Choices, perturbed: arrays.Choices) -> float:
    """Share of problems that keep their prediction when the text is perturbed; it need not be right.

    Where either is an abstention nothing is kept.

    >>> stability([0, 1, 1, None], [0, 1, 0, None])
    0.5
    """
    return float(choice_kept(original, perturbed).mean())


def order_invariance(original: arrays.Choices, reordered: arrays.Choices, orders: Sequence[Sequence[int]]) -> float:
    """Share of problems with the same choice when the candidates are listed in another order.

    `orders` are those given to `Problem.with_order`; `reordered` are indices into the candidates in that order.

    >>> order_invariance([0, 1], [1, 1], [(1, 0), (1, 0)])
    0.5
    """
    return stability(original, in_first_order(reordered, orders))


def choice_turned(original: arrays.Choices, reordered: arrays.Choices) -> arrays.BoolArray:
    """Whether another candidate is chosen, both indices being into one order; an abstention is no other choice."""
    before, after = _two(original, reordered)
    other: arrays.BoolArray = before != after
    return _answered(before, after) & other


def in_first_order(reordered: arrays.Choices, orders: Sequence[Sequence[int]]) -> list[int | None]:
    """Indices into reordered candidates as indices into the candidates as they stood before."""
    arrays.same_length(reordered=reordered, orders=orders)
    return [None if choice is None else order[choice] for choice, order in zip(reordered, orders, strict=True)]


def _two(before: arrays.Choices, after: arrays.Choices) -> tuple[arrays.IntArray, arrays.IntArray]:
    arrays.same_length(before=before, after=after)
    return arrays.as_choices(before), arrays.as_choices(after)


def _answered(before: arrays.IntArray, after: arrays.IntArray) -> arrays.BoolArray:
    answered: arrays.BoolArray = np.minimum(before, after) > arrays.ABSTAINED
    return answered
