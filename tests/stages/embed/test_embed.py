"""Fine-tuned features are informed only if the judge says so of the problems that chose the weights."""

import numpy as np
import pytest

from winokit.answers import Answers
from winokit.methods.metrics.judge import judge
from winokit.problem import Dataset, Problem
from winokit.stages.embed.run import Embedding, dev_verdict, uninformed_note
from winokit.stages.embed.table import lines


def dev_of(answers: list[int]) -> Dataset:
    """Single problems with these answers."""
    problems = []
    for number, answer in enumerate(answers):
        problems.append(Problem(f"Ann met Bea {number} times as ", " ran.", ("Ann", "Bea"), answer))
    return Dataset(problems)


def verdict_on(answers: list[int], choices: list[int]) -> dict:
    """The stored verdict on a model with these choices."""
    judgement = judge(Answers.of_choices(dev_of(answers), choices), by=(), subset="dev")
    return dev_verdict(judgement)


def choices_with(right_first: int, right_second: int) -> list[int]:
    """Choices for UNEVEN, with this many right of the 65 first answers and of the 35 second ones."""
    first = [0] * right_first + [1] * (65 - right_first)
    second = [0] * (35 - right_second) + [1] * right_second
    return first + second


UNEVEN = [0] * 65 + [1] * 35


def test_a_model_that_gives_one_answer_knows_nothing_however_often_it_is_right():
    verdict = verdict_on(UNEVEN, [0] * 100)
    assert verdict == {"dev_accuracy": 0.65, "dev_null": 0.65, "dev_p": None, "informed": False}


def test_one_answer_changed_makes_no_model_that_knows():
    """By a coin, 64 right of 100 would be above chance."""
    verdict = verdict_on(UNEVEN, choices_with(65, 1))
    assert verdict["dev_accuracy"] == 0.66
    assert verdict["informed"] is False


def test_a_model_that_tells_answers_apart_knows_something():
    verdict = verdict_on(UNEVEN, choices_with(50, 23))
    assert verdict["dev_p"] < 0.001
    assert verdict["informed"] is True


def test_below_chance_is_nothing_known():
    verdict = verdict_on(UNEVEN, [1] * 50 + [0] * 15 + [1] * 12 + [0] * 23)
    assert verdict["informed"] is False


@pytest.mark.parametrize("informed", [True, False])
def test_what_comes_next_is_said_with_what_it_needs(informed):
    finetuned = {"trained_on": 50, "chosen_on": 10, "dev_accuracy": 0.5, "dev_null": 0.6, "informed": informed}
    features = np.zeros((4, 2), np.float32)
    embedding = Embedding(features, dev_of([0, 1]), "data", finetuned=finetuned)
    *_, last_line = lines(embedding)
    assert last_line.endswith(" --set allow_uninformed=on") is not informed
    assert "50.0\u00a0% of 10 dev problems right, not above the 60.0\u00a0%" in uninformed_note(finetuned)
