import math

import pytest

from winokit.errors import BadInput
from winokit.methods.metrics.consistency import (
    choice_kept_chance,
    choice_turned,
    consistency,
    in_first_order,
    order_invariance,
    role_kept,
    stability,
)
from winokit.problem import Problem


def test_the_knowledge_hunters_expected_consistency_comes_out():
    """105 of 131 answered, all in the same role, and 26 without evidence.

    118/131 is 0.90076, of which the paper cuts the digits.
    """
    before = [0] * 105 + [None] * 26
    after = [1] * 105 + [None] * 26
    percentage = 100 * consistency(before, after)
    assert math.floor(100 * percentage) / 100 == 90.07


def test_the_single_lms_consistency_does_not_ask_for_right_answers():
    """72 right before and 71 right after the switch, and 74 choices that change with it: 56.49 %."""
    answer_before = 0
    answer_after = 1
    before = [0] * 72 + [1] * 59
    after = [1] * 43 + [0] * 29 + [0] * 31 + [1] * 28
    assert before.count(answer_before) == 72
    assert after.count(answer_after) == 71
    assert round(100 * consistency(before, after), 2) == 56.49


def test_one_abstention_of_the_two_is_settled_by_a_coin():
    before = [0, None, None]
    after = [None, 1, None]
    assert role_kept(before, after).tolist() == [0.5, 0.5, 0.5]
    assert consistency(before, after) == 0.5


def test_a_model_that_likes_a_candidate_for_its_name_is_not_consistent():
    same_name = role_kept([0, 1], [0, 1])
    same_role = role_kept([0, 1], [1, 0])
    assert same_name.tolist() == [0, 0]
    assert same_role.tolist() == [1, 1]


def test_stability_does_not_ask_for_right_answers():
    assert stability([1, 1, 0, 0], [1, 1, 0, 1]) == 0.75


def test_an_abstention_is_no_stable_choice():
    assert stability([None, None], [None, 0]) == 0
    assert stability([None, 0, 1], [None, 0, None]) == pytest.approx(1 / 3)
    chances = choice_kept_chance([None, 0, 1], [None, 0, 1], [2, 4, 2])
    assert chances.tolist() == [0, 0.25, 0.5]


def test_order_invariance_follows_the_candidate_not_its_index():
    order = (2, 0, 1)
    problem = Problem("Nora, Ines and Ada sang because ", " won.", ("Nora", "Ines", "Ada"), 0)
    reordered = problem.with_order(order)
    for name in problem.candidates:
        before = problem.candidates.index(name)
        after = reordered.candidates.index(name)
        assert in_first_order([after], [order]) == [before]
        assert order_invariance([before], [after], [order]) == 1


def test_a_model_that_always_takes_the_first_candidate_depends_on_their_order():
    first_choices = [0] * 4
    orders = [(1, 0)] * 4
    assert order_invariance(first_choices, first_choices, orders) == 0


def test_an_abstention_is_neither_the_same_choice_in_the_other_order_nor_another():
    orders = [(1, 0)] * 3
    invariance = order_invariance([0, None, 1], [1, None, None], orders)
    is_turned = choice_turned([0, None, 1, 1], [0, None, None, 0])
    assert invariance == pytest.approx(1 / 3)
    assert is_turned.tolist() == [False, False, False, True]


def test_switching_three_candidates_is_refused():
    with pytest.raises(BadInput, match="two candidates"):
        consistency([0, 2], [1, 0])
