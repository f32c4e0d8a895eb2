"""Ranks of many scorers have intervals that hold all at once, without comparing every two."""

import numpy as np

from winokit.methods.metrics.judge_board import rank_intervals, rank_scorers
from winokit.units import Units

from .test_judge_items import answers_of, judge_items, right_flags


def test_far_apart_scorers_have_their_rank_and_close_ones_share_it():
    rng = np.random.default_rng(0)
    shares = np.array([0.2, 0.5, 0.8, 0.8])[:, None]
    best, worst, ranks = rank_intervals(rng.random((4, 600)) < shares, Units.alone(600))
    assert best.tolist() == [4, 3, 1, 1]
    assert worst.tolist() == [4, 3, 2, 2]
    assert sorted(ranks.tolist()) == [1, 2, 3, 4]


def test_the_true_ranks_of_all_are_inside_in_nearly_every_board():
    rng = np.random.default_rng(1)
    misses = 0
    for draw in range(60):
        abilities = rng.normal(1, 0.5, 20)
        difficulties = rng.normal(0, 1.2, (1, 200))
        chances = 1 / (1 + np.exp(difficulties - abilities[:, None]))
        right = rng.random((20, 200)) < chances
        best, worst, _ = rank_intervals(right, Units.alone(200), seed=draw)
        true_ranks = np.argsort(np.argsort(-abilities)) + 1
        is_outside = (true_ranks < best) | (true_ranks > worst)
        misses += is_outside.any()
    assert misses <= 4


def test_problems_written_three_times_tell_no_more_apart():
    rng = np.random.default_rng(2)
    right = rng.random((6, 120)) < np.linspace(0.4, 0.9, 6)[:, None]
    units_of_three = Units(np.repeat(np.arange(120), 3))
    once = rank_intervals(right, Units.alone(120))
    thrice = rank_intervals(np.repeat(right, 3, axis=1), units_of_three)
    for ranks, ranks_of_copies in zip(once, thrice, strict=True):
        assert ranks.tolist() == ranks_of_copies.tolist()


def test_equal_shares_have_one_rank():
    right = np.array([[True, False, True], [False, True, True], [False, False, True]])
    ranks = rank_intervals(right, Units.alone(3))[2]
    assert ranks.tolist() == [1, 1, 3]


def test_the_only_scorer_is_first():
    best, worst, ranks = rank_intervals(np.array([[True, False, True]]), Units.alone(3))
    assert best.tolist() == [1]
    assert worst.tolist() == [1]
    assert ranks.tolist() == [1]


def ranked_without_first_answer(right: np.ndarray):
    """Rank scorers with these flags, of whom the first was asked one problem less."""
    answers = answers_of(right)
    without_first = answers.take(np.arange(1, len(answers)))
    return rank_scorers(judge_items(without_first, np.arange(len(right))).matrix)


def test_who_was_asked_less_has_no_rank():
    ranked = ranked_without_first_answer(right_flags())
    assert ranked[-1].scorer == 0
    assert ranked[-1].rank is None


def test_shares_of_pairs_stand_beside_the_rank():
    right = right_flags()
    ranked = ranked_without_first_answer(right)
    leader = ranked[0]
    pair_flags = right[leader.scorer, :40].reshape(20, 2)
    is_told_apart = pair_flags[:, 0] == pair_flags[:, 1]
    is_right = pair_flags[is_told_apart].all(axis=1)
    assert leader.told_apart == is_told_apart.mean()
    assert leader.right_way_round == is_right.mean()
