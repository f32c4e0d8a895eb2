"""Fine-tuned features know something only if the model beats chance on the problems that chose the weights."""

import numpy as np
import pytest

from winokit.answers import Answers
from winokit.methods.metrics.judge import judge
from winokit.problem import Dataset, Problem
from winokit.stages.embed.run import Embedding, dev_verdict, uninformed_note
from winokit.stages.embed.table import lines

UNEVEN = [0] * 65 + [1] * 35
"""Right answers of a dev set."""


def make_problems(answers: list[int]) -> Dataset:
    """Problems in no group with these right answers."""
    problems = []
    for number, answer in enumerate(answers):
        before = f"Ann met Bea {number} times as "
        problems.append(Problem(before, " ran.", ("Ann", "Bea"), answer))
    return Dataset(problems)


def judge_choices(choices: list[int]) -> dict:
    """The verdict that is stored of a model that chose so on the uneven dev set."""
    answers = Answers.of_choices(make_problems(UNEVEN), choices)
    return dev_verdict(judge(answers, by=(), subset="dev"))


def test_a_model_that_gives_one_answer_knows_nothing_however_often_it_is_right():
    verdict = judge_choices([0] * 100)
    assert verdict == {"dev_accuracy": 0.65, "dev_null": 0.65, "dev_p": None, "informed": False}


def test_one_answer_changed_makes_no_model_that_knows():
    """By a coin, 64 right of 100 would be above chance."""
    verdict = judge_choices([0] * 99 + [1])
    assert verdict["dev_accuracy"] == 0.66
    assert verdict["informed"] is False


def test_a_model_that_tells_answers_apart_knows_something():
    first_part = [0] * 50 + [1] * 15
    second_part = [0] * 12 + [1] * 23
    verdict = judge_choices(first_part + second_part)
    assert verdict["dev_p"] < 0.001
    assert verdict["informed"] is True


def test_below_chance_is_nothing_known():
    first_part = [1] * 50 + [0] * 15
    second_part = [1] * 12 + [0] * 23
    verdict = judge_choices(first_part + second_part)
    assert verdict["informed"] is False


@pytest.mark.parametrize("informed", [True, False])
def test_what_comes_next_is_said_with_what_it_needs(informed):
    finetuned = {"trained_on": 50, "chosen_on": 10, "dev_accuracy": 0.5, "dev_null": 0.6, "informed": informed}
    features = np.zeros((4, 2), np.float32)
    embedding = Embedding(features, make_problems([0, 1]), "data", finetuned=finetuned)
    *_, last_line = lines(embedding)
    needs_permission = not informed
    assert last_line.endswith(" --set allow_uninformed=on") == needs_permission
    assert "50.0\u00a0% of 10 dev problems right, not above the 60.0\u00a0%" in uninformed_note(finetuned)
