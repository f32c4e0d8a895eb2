"""What tells a run that learned nothing from one that did."""

from __future__ import annotations

import pytest
from support.copies import thrice

from winokit.data.loading import load
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.training.evaluation import mark, rows, symptoms
from winokit.problem import Dataset, Problem

GUESSING = 0.693
STUCK = [0.70, 0.69, 0.69, 0.69]
FALLING = [0.70, 0.5, 0.3, 0.2]


def answered(right: int, total: int = 60):
    """A dev set, and predictions that have so many of it right."""
    dev = load("open")[:total]
    made = [
        Prediction(one.id, "original", "m", "s", None, one.answer if at < right else 1 - one.answer, one.answer)
        for at, one in enumerate(dev)
    ]
    return dev, made, rows(dev, made, "dev")


def test_a_loss_that_never_fell_is_told():
    assert ["not below that of guessing" in told for told in symptoms(STUCK, GUESSING, None, [])] == [True]


def test_a_loss_that_fell_says_nothing():
    assert symptoms(FALLING, GUESSING, None, []) == []


def test_a_dev_set_that_was_answered_has_the_last_word_over_the_loss():
    assert symptoms(STUCK, GUESSING, *answered(45)) == []


@pytest.mark.parametrize("right", [28, 33])
def test_a_dev_set_at_chance_is_told_beside_the_loss(right):
    told = symptoms(STUCK, GUESSING, *answered(right))
    assert [
        ("not below that of guessing" in one, "not significantly above what its own preferences" in one) for one in told
    ] == [
        (True, False),
        (False, True),
    ]
    assert len(symptoms(FALLING, GUESSING, *answered(right))) == 1


def test_one_answer_for_everything_is_a_degenerate_run():
    dev, predictions, _ = answered(60)
    same = [Prediction(one.id, "original", "m", "s", None, 0, one.answer) for one in predictions]
    assert ["degenerate" in one for one in symptoms(FALLING, GUESSING, dev, same)] == [True]


def predicted(dev, choices):
    return [
        Prediction(problem.id, "original", "m", "mc-sent", None, choice, problem.answer)
        for problem, choice in zip(dev, choices, strict=True)
    ]


def lone_problems(answers):
    return Dataset([Problem(f"Text {at} says ", ".", ("one", "two"), answer) for at, answer in enumerate(answers)])


def test_a_run_that_nearly_always_gives_the_commonest_answer_has_learned_nothing():
    dev = lone_problems([0] * 130 + [1] * 70)
    predictions = predicted(dev, [0] * 199 + [1])
    (symptom,) = symptoms(FALLING, GUESSING, dev, predictions, rows(dev, predictions, "dev"))
    assert "65.5 % of 200 dev problems right is not significantly above what its own preferences would get" in symptom
    assert symptom.endswith("(64.8 %)")


def test_nothing_is_told_from_a_dev_set_whose_right_answer_is_always_in_one_place():
    dev = lone_problems([0] * 40)
    predictions = predicted(dev, [0] * 39 + [1])
    (symptom,) = symptoms(FALLING, GUESSING, dev, predictions, rows(dev, predictions, "dev"))
    assert "nothing can be told from it: the right answer is always in one place" in symptom


def test_a_dev_set_whose_answers_are_in_both_places_is_not_said_to_have_them_in_one():
    """Twins that are never told apart: half of them are right, wherever the right answers are."""
    dev, _, _ = answered(60)
    choices = [at // 2 % 2 for at in range(len(dev))]
    predictions = predicted(dev, choices)
    (symptom,) = symptoms(FALLING, GUESSING, dev, predictions, rows(dev, predictions, "dev"))
    assert symptom == "50.0 % of 60 dev problems right, which its choices get wherever the right answers are"


def test_a_mark_counts_what_hangs_together_once():
    once = lone_problems([0, 1] * 20)
    marks = [mark(dev, predicted(dev, [0] * len(dev)), 1, 1.0) for dev in (once, thrice(once))]
    assert marks[0]["accuracy"] == marks[1]["accuracy"] == 0.5
    assert marks[1]["high"] - marks[1]["low"] >= marks[0]["high"] - marks[0]["low"]
