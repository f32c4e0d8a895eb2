"""What tells a run that learned nothing from one that did."""

from __future__ import annotations

import pytest

from winokit.data.loading import load
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.training.evaluation import rows, symptoms

GUESSING = 0.693
STUCK, FALLING = [0.70, 0.69, 0.69, 0.69], [0.70, 0.5, 0.3, 0.2]


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
    assert [("not below that of guessing" in one, "not significantly above guessing" in one) for one in told] == [
        (True, False),
        (False, True),
    ]
    assert len(symptoms(FALLING, GUESSING, *answered(right))) == 1


def test_one_answer_for_everything_is_a_degenerate_run():
    dev, predictions, _ = answered(60)
    same = [Prediction(one.id, "original", "m", "s", None, 0, one.answer) for one in predictions]
    assert ["degenerate" in one for one in symptoms(FALLING, GUESSING, dev, same)] == [True]
