"""Symptoms tell a run that learned nothing from one that did."""

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


def predict(dev, choices):
    """Predictions with these choices for the problems of a dev set."""
    predictions = []
    for problem, choice in zip(dev, choices, strict=True):
        predictions.append(Prediction(problem.id, "original", "m", "mc-sent", None, choice, problem.answer))
    return predictions


def answer_rightly(count: int, total: int = 60):
    """A dev set, predictions that have its first `count` problems right, and their rows."""
    dev = load("open")[:total]
    choices = [problem.answer for problem in dev[:count]]
    choices += [1 - problem.answer for problem in dev[count:]]
    predictions = predict(dev, choices)
    return dev, predictions, rows(dev, predictions, "dev")


def test_a_loss_that_never_fell_is_told():
    (symptom,) = symptoms(STUCK, GUESSING, None, [])
    assert "not below that of guessing" in symptom


def test_a_loss_that_fell_says_nothing():
    assert symptoms(FALLING, GUESSING, None, []) == []


def test_a_dev_set_that_was_answered_has_the_last_word_over_the_loss():
    assert symptoms(STUCK, GUESSING, *answer_rightly(45)) == []


@pytest.mark.parametrize("right", [28, 33])
def test_a_dev_set_at_chance_is_told_beside_the_loss(right):
    loss_symptom, dev_symptom = symptoms(STUCK, GUESSING, *answer_rightly(right))
    assert "not below that of guessing" in loss_symptom
    assert "not significantly above what its own preferences" not in loss_symptom
    assert "not significantly above what its own preferences" in dev_symptom
    assert "not below that of guessing" not in dev_symptom


@pytest.mark.parametrize("right", [28, 33])
def test_a_dev_set_at_chance_is_told_where_the_loss_fell(right):
    assert len(symptoms(FALLING, GUESSING, *answer_rightly(right))) == 1


def test_one_answer_for_everything_is_a_degenerate_run():
    dev = load("open")[:60]
    predictions = predict(dev, [0] * len(dev))
    (symptom,) = symptoms(FALLING, GUESSING, dev, predictions)
    assert "degenerate" in symptom


def lone_problems(answers):
    """Problems without twins, with these answers."""
    problems = []
    for index, answer in enumerate(answers):
        problems.append(Problem(f"Text {index} says ", ".", ("one", "two"), answer))
    return Dataset(problems)


def only_symptom(dev, choices):
    """The one symptom of a run whose loss fell and whose dev set was answered with these choices."""
    predictions = predict(dev, choices)
    (symptom,) = symptoms(FALLING, GUESSING, dev, predictions, rows(dev, predictions, "dev"))
    return symptom


def test_a_run_that_nearly_always_gives_the_commonest_answer_has_learned_nothing():
    dev = lone_problems([0] * 130 + [1] * 70)
    symptom = only_symptom(dev, [0] * 199 + [1])
    assert "65.5 % of 200 dev problems right is not significantly above what its own preferences would get" in symptom
    assert symptom.endswith("(64.8 %)")


def test_nothing_is_told_from_a_dev_set_whose_right_answer_is_always_in_one_place():
    dev = lone_problems([0] * 40)
    symptom = only_symptom(dev, [0] * 39 + [1])
    assert "nothing can be told from it: the right answer is always in one place" in symptom


def test_a_dev_set_whose_answers_are_in_both_places_is_not_said_to_have_them_in_one():
    """Half of the twins that are never told apart are right, wherever the right answers are."""
    dev = load("open")[:60]
    choices = [0, 0, 1, 1] * 15
    symptom = only_symptom(dev, choices)
    assert symptom == "50.0 % of 60 dev problems right, which its choices get wherever the right answers are"


def test_a_mark_counts_what_hangs_together_once():
    once = lone_problems([0, 1] * 20)
    copied = thrice(once)
    mark_once = mark(once, predict(once, [0] * 40), 1, 1.0)
    mark_copied = mark(copied, predict(copied, [0] * 120), 1, 1.0)
    width_once = mark_once["high"] - mark_once["low"]
    width_copied = mark_copied["high"] - mark_copied["low"]
    assert mark_once["accuracy"] == 0.5
    assert mark_copied["accuracy"] == 0.5
    assert width_copied >= width_once
