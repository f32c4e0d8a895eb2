import numpy as np
import pytest
from scipy import stats
from support.copies import repeated, thrice

from winokit.answers import Answers
from winokit.data.synthetic import synthetic
from winokit.methods.metrics.judge_solved import p_solved
from winokit.problem import Dataset, Problem


def choose_for_pairs(data: Dataset, kinds: list[str]) -> list[int | None]:
    """A choice for each twin of each pair: both right, both wrong, one candidate for both, or none."""
    choices = []
    for pair, kind in enumerate(kinds):
        for problem in data[2 * pair : 2 * pair + 2]:
            by_kind = {"right": problem.answer, "wrong": 1 - problem.answer, "same": 0, "silent": None}
            choices.append(by_kind[kind])
    return choices


def p_of_choices(data: Dataset, choices) -> float:
    return p_solved(Answers.of_choices(data, choices))


def test_pairs_are_tested_as_fair_coins_between_those_solved_and_those_turned():
    data = synthetic(20, bias=0.0, seed=4)
    kinds = ["right"] * 9 + ["wrong"] * 2 + ["same"] * 6 + ["silent"] * 3
    expected = stats.binomtest(9, 11, alternative="greater").pvalue
    assert p_of_choices(data, choose_for_pairs(data, kinds)) == pytest.approx(expected)


def test_pairs_written_three_times_are_solved_no_more_surely():
    data = synthetic(12, bias=0.0, seed=4)
    choices = choose_for_pairs(data, ["right"] * 7 + ["wrong"] * 2 + ["same"] * 3)
    p_once = p_of_choices(data, choices)
    p_thrice = p_of_choices(thrice(data), repeated(choices))
    assert p_thrice == pytest.approx(p_once)


def alone(answers: list[int]) -> Dataset:
    """Problems without twins that have these right answers."""
    problems = []
    for index, answer in enumerate(answers):
        problems.append(Problem(f"Ann met Bea {index} times as ", " ran.", ("Ann", "Bea"), answer))
    return Dataset(problems)


def test_the_commonest_answer_to_problems_alone_solves_nothing():
    """By coins, 65 solved and 35 turned would be beyond chance (p = 0.002)."""
    data = alone([0] * 65 + [1] * 35)
    assert p_of_choices(data, [0] * 100) == 1
    assert p_of_choices(data, [0] * 99 + [1]) > 0.3


def test_who_tells_problems_alone_apart_solves_them():
    answers = np.random.default_rng(0).integers(2, size=60)
    choices = answers.copy()
    choices[45:] = 1 - answers[45:]
    assert p_of_choices(alone(answers.tolist()), choices) < 0.001


def test_nothing_asked_is_nothing_solved():
    data = alone([0, 1])
    no_answers = Answers.of_choices(data, [0, 1]).take([])
    assert p_solved(no_answers) == 1
    assert p_of_choices(data, [None, None]) == 1
