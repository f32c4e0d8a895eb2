"""Whether fine-tuned features know anything: the judge's word on the problems that chose the weights."""

import numpy as np
import pytest

from winokit.answers import Answers
from winokit.methods.metrics.judge import judge
from winokit.problem import Dataset, Problem
from winokit.stages.embed.run import Embedding, dev_verdict, uninformed_note
from winokit.stages.embed.table import lines


def dev_of(answers: list[int]) -> Dataset:
    """Problems alone with these answers."""
    return Dataset(
        Problem(f"Ann met Bea {number} times as ", " ran.", ("Ann", "Bea"), a) for number, a in enumerate(answers)
    )


def verdict_on(answers: list[int], choices: list[int]) -> dict:
    """What is stored of a model that chose so."""
    return dev_verdict(judge(Answers.of_choices(dev_of(answers), choices), by=(), subset="dev"))


UNEVEN = [0] * 65 + [1] * 35


def test_a_model_that_gives_one_answer_knows_nothing_however_often_it_is_right():
    found = verdict_on(UNEVEN, [0] * 100)
    assert found == {"dev_accuracy": 0.65, "dev_null": 0.65, "dev_p": None, "informed": False}


def test_one_answer_changed_makes_no_model_that_knows():
    """By a coin, 64 right of 100 would be above chance."""
    found = verdict_on(UNEVEN, [0] * 99 + [1])
    assert found["dev_accuracy"] == 0.66
    assert found["informed"] is False


def test_a_model_that_tells_answers_apart_knows_something():
    found = verdict_on(UNEVEN, [0] * 50 + [1] * 15 + [0] * 12 + [1] * 23)
    assert found["dev_p"] < 0.001
    assert found["informed"] is True


def test_below_chance_is_nothing_known():
    assert verdict_on(UNEVEN, [1] * 50 + [0] * 15 + [1] * 12 + [0] * 23)["informed"] is False


@pytest.mark.parametrize("informed", [True, False])
def test_what_comes_next_is_said_with_what_it_needs(informed):
    finetuned = {"trained_on": 50, "chosen_on": 10, "dev_accuracy": 0.5, "dev_null": 0.6, "informed": informed}
    shown = list(lines(Embedding(np.zeros((4, 2), np.float32), dev_of([0, 1]), "data", finetuned=finetuned)))
    assert shown[-1].endswith(" --set allow_uninformed=on") is not informed
    assert "50.0\u00a0% of 10 dev problems right, not above the 60.0\u00a0%" in uninformed_note(finetuned)
