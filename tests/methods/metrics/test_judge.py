"""The judge's rows on group scores of any kind and on cross-validated classifiers."""

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


GROUP_ACCURACY = ("groups", "complete", "group_accuracy")
PROBE_ACCURACY = ("debias", "all", "probe_accuracy")
KL = ("p", "all", "kl")


def pairs(count: int) -> Dataset:
    problems = []
    for pair in range(count):
        before = f"Pair {pair} says "
        group = f"g{pair}"
        problems.append(Problem(before, " 0.", ("one", "two"), 0, group=group))
        problems.append(Problem(before, " 1.", ("one", "two"), 1, group=group))
    return Dataset(problems)


THREE_PAIRS = Answers.of_choices(pairs(3), [0, 1, 0, 0, 1, None])
"""Answers to three pairs, of which the first is right."""


def test_a_group_is_worth_the_lowest_score_of_its_members_whatever_is_scored():
    (right,) = OWN.group_score(SCORE, THREE_PAIRS)
    (row,) = OWN.by_group(GROUP_ACCURACY, THREE_PAIRS)
    assert right.value == pytest.approx(1 / 3)
    assert right.n == 3
    assert row.value == right.value
    assert row.low == right.low
    assert row.high == right.high


def test_the_interval_of_scores_that_are_shares_stays_between_zero_and_one():
    (shares,) = OWN.group_score(SCORE, THREE_PAIRS, [0.9, 0.6, 0.8, 0.1, 0.3, 0.5])
    assert shares.value == pytest.approx((0.6 + 0.1 + 0.3) / 3)
    assert 0 <= shares.low < shares.value < shares.high <= 1


def test_group_scores_may_be_negative():
    (logs,) = OWN.group_score(SCORE, THREE_PAIRS, [-1.0, -2.0, -3.0, -7.0, -4.0, -2.0])
    assert logs.value == pytest.approx(-13 / 3)
    assert logs.low < logs.value < logs.high


def test_without_complete_groups_there_is_no_group_score():
    alone = Dataset(problem.replace(group=None) for problem in pairs(3))
    rows = list(OWN.group_score(SCORE, Answers.of_choices(alone, [0] * 6)))
    assert not rows


def probe_answers(data: Dataset, x: np.ndarray, seed: int):
    """Answers of a classifier that is cross-validated on these features."""
    answers = np.array([problem.answer for problem in data])
    probe = linear_probe(x, answers, data.units, seed=seed)
    return Answers.of_choices(data, probe.choices)


@pytest.mark.parametrize("width", [5, 60])
def test_noise_that_folds_agree_about_is_rarely_more_than_chance(width):
    """Folds lean on each other, so that tests of single answers claim too much: in one of ten."""
    data = template_twins()
    fold_claims = 0
    single_claims = 0
    for seed in range(80):
        answers = probe_answers(data, text_noise(data, seed, width), seed)
        (folds,) = OWN.cross_validated(PROBE_ACCURACY, answers)
        (single,) = OWN.accuracy(PROBE_ACCURACY, answers)
        fold_claims += standing(folds) != AT
        single_claims += standing(single) != AT
        assert folds.p >= single.p - 1e-9
        assert folds.high - folds.low >= single.high - single.low
        assert folds.value == single.value
        assert folds.level == single.level
    assert fold_claims <= 4
    assert single_claims > fold_claims


def test_features_that_lean_towards_the_answer_are_still_found():
    data = template_twins()
    answers = np.array([problem.answer for problem in data])
    x = text_noise(data, 0, 20)
    x[:, 0] += 0.8 * (2 * answers - 1)
    (row,) = OWN.cross_validated(PROBE_ACCURACY, probe_answers(data, x, 0))
    assert row.value > 0.7
    assert row.p < 0.001


@pytest.mark.parametrize(
    ("choice", "answer", "is_right"),
    [(0, 0, True), (1, 0, False), (None, 0, False), (None, None, False), (0, None, False)],
)
def test_a_prediction_knows_whether_it_is_right(choice, answer, is_right):
    prediction = Prediction("a", "original", "m", "partial", None, choice, answer)
    assert prediction.is_right is is_right


def test_fewer_pairs_than_a_coin_gets_are_never_called_above_whatever_is_left_open():
    """Silent on half of the pairs, 40 % of the rest right: above a coin as silent, and below the papers' 25 %."""
    choices = [None] * 400 + [0] * 400
    choices[401:560:2] = [1] * 80
    (row,) = OWN.by_group(GROUP_ACCURACY, Answers.of_choices(pairs(400), choices))
    assert row.value == 0.2
    assert row.chance == 0.125
    assert row.coin == 0.25
    assert row.p < 0.001
    assert row.value > row.level
    assert standing(row) == AT
    assert said(row, AT, "pairs") == "20.0\u00a0% of 400 pairs, fewer than guessing gets (25.0\u00a0%)"
    assert standing(replace(row, value=0.26)) == ABOVE


def pairs_and_unbalanced_singles(single_count: int) -> Dataset:
    """Forty pairs, and problems alone of which nine in ten have the first candidate right."""
    singles = []
    for index in range(single_count):
        answer = int(index % 10 == 0)
        singles.append(Problem(f"Alone {index} says ", " so.", ("one", "two"), answer))
    return Dataset([*pairs(40), *singles])


def gap_of_singles(data: Dataset, choices: list[int], *, by_answer: bool = False):
    """Row on the gap between problems alone and members of pairs."""
    answers = Answers.of_choices(data, choices)
    is_single = np.array([problem.group is None for problem in data])
    (row,) = OWN.gap(("groups", "all", "single_minus_grouped"), answers, is_single, by_answer=by_answer)
    return row


def test_problems_are_not_easier_because_the_right_answer_is_more_often_at_the_preferred_place():
    data = pairs_and_unbalanced_singles(80)
    always_first = gap_of_singles(data, [0] * len(data))
    assert always_first.value == pytest.approx(0.4)
    assert always_first.chance == 0.0
    assert always_first.level == pytest.approx(0.4)
    assert always_first.p == 1
    mostly_first = gap_of_singles(data, [int(row % 12 == 0) for row in range(len(data))])
    assert mostly_first.value > 0.25
    assert standing(mostly_first) == AT


def test_problems_that_are_easier_for_another_reason_are_found():
    data = pairs_and_unbalanced_singles(80)
    choices = [problem.answer for problem in data]
    choices[:80] = [row % 4 // 2 for row in range(80)]
    row = gap_of_singles(data, choices)
    assert row.level < 0.4 < row.value
    assert standing(row) == ABOVE


def test_a_gap_between_places_of_the_right_answer_is_tested_against_a_coin():
    data = pairs_and_unbalanced_singles(80)
    row = gap_of_singles(data, [0] * len(data), by_answer=True)
    assert "null" not in row.details
    assert standing(row) == ABOVE


def test_an_estimate_has_an_interval_from_its_error():
    row = OWN.estimate(KL, 0.5, 40, 0.1, chance=0.2)
    assert (row.low, row.high) == pytest.approx((0.304, 0.696), abs=1e-4)
    assert row.chance == 0.2


def test_the_interval_of_an_estimate_stays_above_zero():
    row = OWN.estimate(KL, 0.1, 40, 0.1)
    assert row.low == 0.0
    assert row.chance is None


def test_an_estimate_without_an_error_has_no_interval():
    row = OWN.estimate(KL, 0.5, 40, None)
    assert row.value == 0.5
    assert row.low is None
    assert row.high is None
