"""Is the choice the same where it should be: candidates switched, text perturbed, candidates listed in another order?

Consistency is of Trichelair et al., "On the Evaluation of Common-Sense Reasoning in Natural Language Understanding"
(2018); stability of Abdou et al., "The Sensitivity of Language Models and Humans to Winograd Schema Perturbations"
(ACL 2020). None of them asks whether the choice is right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winokit.errors import BadInput
from winokit.metrics.arrays import (
    ABSTAINED,
    BoolArray,
    Choices,
    Counts,
    FloatArray,
    IntArray,
    as_candidates,
    as_choices,
    same_length,
)

CONSISTENCY_CHANCE = 0.5


def role_kept(unswitched: Choices, switched: Choices) -> BoolArray:
    """Whether the predicted role is the same after the candidates changed places in the text.

    Both predictions are indices into one and the same pair of candidates, so a kept role is a *changed* index. An
    abstention keeps nothing.
    """
    before, after = _two(unswitched, switched)
    if max(before.max(), after.max()) > 1:
        raise BadInput("switching is defined for problems with two candidates")
    changed: BoolArray = before != after
    return _answered(before, after) & changed


def consistency(unswitched: Choices, switched: Choices) -> float:
    """Share of switchable problems whose predicted candidate changes with the switch; it need not be right.

    >>> consistency([0, 0, 1, None], [1, 0, 0, None])
    0.5
    """
    return float(role_kept(unswitched, switched).mean())


def expected_role_kept(unswitched: Choices, switched: Choices) -> FloatArray:
    """Like `role_kept`, with 0.5 where either prediction is an abstention settled by a coin."""
    answered = _answered(*_two(unswitched, switched))
    return np.where(answered, role_kept(unswitched, switched).astype(np.float64), CONSISTENCY_CHANCE)


def expected_consistency(unswitched: Choices, switched: Choices) -> float:
    """Consistency with each abstention counted as a half (Trichelair et al., 2018, footnote 7).

    >>> expected_consistency([0, 0, 1, None], [1, 0, 0, None])
    0.625
    """
    return float(expected_role_kept(unswitched, switched).mean())


def choice_kept(original: Choices, perturbed: Choices) -> BoolArray:
    """Whether the same candidate is chosen for a problem and its perturbed version; an abstention chooses none."""
    before, after = _two(original, perturbed)
    same: BoolArray = before == after
    return _answered(before, after) & same


def stability(original: Choices, perturbed: Choices) -> float:
    """Share of problems that keep their prediction when the text is perturbed; it need not be right.

    >>> stability([0, 1, 1], [0, 1, 0])
    0.6666666666666666
    """
    return float(choice_kept(original, perturbed).mean())


def expected_stability(original: Choices, perturbed: Choices, candidates: Counts) -> float:
    """Stability with 1/candidates where either prediction is an abstention settled by guessing."""
    same_length(original=original, candidates=candidates)
    answered = _answered(*_two(original, perturbed))
    kept = choice_kept(original, perturbed).astype(np.float64)
    return float(np.where(answered, kept, 1 / as_candidates(candidates)).mean())


def order_invariance(original: Choices, reordered: Choices, orders: Sequence[Sequence[int]]) -> float:
    """Share of problems with the same choice when the candidates are listed in another order.

    `orders` are those given to `Problem.with_order`; `reordered` are indices into the candidates in that order.

    >>> order_invariance([0, 1], [1, 1], [(1, 0), (1, 0)])
    0.5
    """
    return stability(original, in_first_order(reordered, orders))


def in_first_order(reordered: Choices, orders: Sequence[Sequence[int]]) -> list[int | None]:
    """Indices into reordered candidates as indices into the candidates as they stood before."""
    same_length(reordered=reordered, orders=orders)
    return [None if choice is None else order[choice] for choice, order in zip(reordered, orders, strict=True)]


def _two(one: Choices, other: Choices) -> tuple[IntArray, IntArray]:
    same_length(before=one, after=other)
    return as_choices(one), as_choices(other)


def _answered(before: IntArray, after: IntArray) -> BoolArray:
    answered: BoolArray = np.minimum(before, after) > ABSTAINED
    return answered
