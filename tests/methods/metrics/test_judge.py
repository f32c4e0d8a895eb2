"""The judge's own rows: group scores of any kind, and classifiers that were trained on one another's rows."""

from dataclasses import replace

import numpy as np
import pytest
from support.templates import template_twins, text_noise

from winokit.answers import Answers, Scorer
from winokit.drawing.decision import said, standing
from winokit.methods.aflite.probe import linear_probe
from winokit.methods.metrics.judge import Judge
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset, Problem
from winokit.results import ABOVE, AT

OWN = Judge("data", Scorer("model"))
SCORE = ("groups", "complete", "group_score")


def pairs(count: int) -> Dataset:
    return Dataset(
        Problem(f"Pair {pair} says ", f" {answer}.", ("one", "two"), answer, group=f"g{pair}")
        for pair in range(count)
        for answer in (0, 1)
    )


def test_a_group_is_worth_the_lowest_score_of_its_members_whatever_is_scored():
    answers = Answers.of_choices(pairs(3), [0, 1, 0, 0, 1, None])
    (right,) = OWN.group_score(SCORE, answers)
    assert (right.value, right.n) == (pytest.approx(1 / 3), 3)
    (whole,) = OWN.by_group(("groups", "complete", "group_accuracy"), answers)
    assert (whole.value, whole.low, whole.high) == (right.value, right.low, right.high)
    (shares,) = OWN.group_score(SCORE, answers, [0.9, 0.6, 0.8, 0.1, 0.3, 0.5])
    assert shares.value == pytest.approx((0.6 + 0.1 + 0.3) / 3)
    assert 0 <= shares.low < shares.value < shares.high <= 1
    (logs,) = OWN.group_score(SCORE, answers, [-1.0, -2.0, -3.0, -7.0, -4.0, -2.0])
    assert logs.value == pytest.approx(-13 / 3)
    assert logs.low < logs.value < logs.high


def test_without_complete_groups_there_is_no_group_score():
    alone = Dataset(problem.replace(group=None) for problem in pairs(3))
    assert not list(OWN.group_score(SCORE, Answers.of_choices(alone, [0] * 6)))


def probed(data: Dataset, x: np.ndarray, seed: int):
    answers = [problem.answer for problem in data]
    choices = linear_probe(x, np.array(answers), data.units, seed=seed).choices
    return Answers.of_choices(data, choices)


@pytest.mark.parametrize("width", [5, 60])
def test_noise_that_folds_agree_about_is_rarely_more_than_chance(width):
    """What one fold says of another, the other says of it: as single answers they are claimed in one of ten."""
    data = template_twins()
    claims = {"folds": 0, "single": 0}
    for seed in range(80):
        answers = probed(data, text_noise(data, seed, width), seed)
        (folds,) = OWN.cross_validated(("debias", "all", "probe_accuracy"), answers)
        (single,) = OWN.accuracy(("debias", "all", "probe_accuracy"), answers)
        claims["folds"] += standing(folds) != AT
        claims["single"] += standing(single) != AT
        assert folds.p >= single.p - 1e-9
        assert folds.high - folds.low >= single.high - single.low
        assert (folds.value, folds.level) == (single.value, single.level)
    assert claims["folds"] <= 4
    assert claims["single"] > claims["folds"]


def test_features_that_lean_towards_the_answer_are_still_found():
    data = template_twins()
    x = text_noise(data, 0, 20)
    x[:, 0] += 0.8 * (2 * np.array([problem.answer for problem in data]) - 1)
    (row,) = OWN.cross_validated(("debias", "all", "probe_accuracy"), probed(data, x, 0))
    assert row.value > 0.7
    assert row.p < 0.001


@pytest.mark.parametrize(
    ("choice", "answer", "is_right"),
    [(0, 0, True), (1, 0, False), (None, 0, False), (None, None, False), (0, None, False)],
)
def test_a_prediction_knows_whether_it_is_right(choice, answer, is_right):
    assert Prediction("a", "original", "m", "partial", None, choice, answer).is_right is is_right


def test_fewer_pairs_than_a_coin_gets_are_never_called_above_whatever_is_left_open():
    """Silent on half of the pairs, 40 % of the rest right: above a coin as silent, and below the papers' 25 %."""
    data = pairs(400)
    choices = [None if number < 400 else 0 for number in range(800)]
    for pair in range(200, 280):
        choices[2 * pair + 1] = 1
    (row,) = OWN.by_group(("groups", "complete", "group_accuracy"), Answers.of_choices(data, choices))
    assert (row.value, row.chance, row.coin) == (0.2, 0.125, 0.25)
    assert row.p < 0.001
    assert row.value > row.level
    assert standing(row) == AT
    assert said(row, AT, "pairs") == "20.0\u00a0% of 400 pairs, fewer than guessing gets (25.0\u00a0%)"
    assert standing(replace(row, value=0.26)) == ABOVE


def pairs_and_unbalanced_singles(single_count: int) -> Dataset:
    """Forty pairs, and problems alone of which nine in ten have the first candidate right."""
    alone = [
        Problem(f"Alone {number} says ", " so.", ("one", "two"), int(number % 10 == 0))
        for number in range(single_count)
    ]
    return Dataset([*pairs(40), *alone])


def gap_of_singles(data: Dataset, choices: list[int], *, by_answer: bool = False):
    answers = Answers.of_choices(data, choices)
    is_single = np.array([problem.group is None for problem in data])
    (row,) = OWN.gap(("groups", "all", "single_minus_grouped"), answers, is_single, by_answer=by_answer)
    return row


def test_problems_are_not_easier_because_the_right_answer_is_more_often_at_the_preferred_place():
    data = pairs_and_unbalanced_singles(80)
    row = gap_of_singles(data, [0] * len(data))
    assert (row.value, row.chance, row.level) == (pytest.approx(0.4), 0.0, pytest.approx(0.4))
    assert row.p == 1
    nearly = gap_of_singles(data, [0 if number % 12 else 1 for number in range(len(data))])
    assert nearly.value > 0.25
    assert standing(nearly) == AT


def test_problems_that_are_easier_for_another_reason_are_found():
    data = pairs_and_unbalanced_singles(80)
    reads_singles = [number % 4 // 2 if problem.group else problem.answer for number, problem in enumerate(data)]
    row = gap_of_singles(data, reads_singles)
    assert row.level < 0.4 < row.value
    assert standing(row) == ABOVE


def test_a_gap_between_places_of_the_right_answer_is_tested_against_a_coin():
    data = pairs_and_unbalanced_singles(80)
    row = gap_of_singles(data, [0] * len(data), by_answer=True)
    assert "null" not in row.details
    assert standing(row) == ABOVE


def test_an_estimate_has_an_interval_from_its_error_that_stays_above_zero_or_none():
    sure = OWN.estimate(("p", "all", "kl"), 0.5, 40, 0.1, chance=0.2)
    assert (sure.low, sure.high) == pytest.approx((0.304, 0.696), abs=1e-4)
    assert sure.chance == 0.2
    near_zero = OWN.estimate(("p", "all", "kl"), 0.1, 40, 0.1)
    assert (near_zero.low, near_zero.chance) == (0.0, None)
    unknown = OWN.estimate(("p", "all", "kl"), 0.5, 40, None)
    assert (unknown.value, unknown.low, unknown.high) == (0.5, None, None)
