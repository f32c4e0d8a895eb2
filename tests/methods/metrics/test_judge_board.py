"""Ranks of many scorers: intervals that hold all at once, without comparing every two."""

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
        right = rng.random((20, 200)) < 1 / (1 + np.exp(-(abilities[:, None] - difficulties)))
        best, worst, _ = rank_intervals(right, Units.alone(200), seed=draw)
        true_ranks = np.argsort(np.argsort(-abilities)) + 1
        misses += int(((true_ranks < best) | (true_ranks > worst)).any())
    assert misses <= 4


def test_problems_written_three_times_tell_no_more_apart():
    rng = np.random.default_rng(2)
    right = rng.random((6, 120)) < np.linspace(0.4, 0.9, 6)[:, None]
    once = rank_intervals(right, Units.alone(120))
    thrice = rank_intervals(np.repeat(right, 3, axis=1), Units(np.repeat(np.arange(120), 3)))
    for one, other in zip(once, thrice, strict=True):
        assert one.tolist() == other.tolist()


def test_equal_shares_have_one_rank_and_one_scorer_is_first():
    right = np.array([[True, False, True], [False, True, True], [False, False, True]])
    assert rank_intervals(right, Units.alone(3))[2].tolist() == [1, 1, 3]
    assert [part.tolist() for part in rank_intervals(right[:1], Units.alone(3))] == [[1], [1], [1]]


def test_pairs_stand_beside_the_share_and_who_was_asked_less_has_no_rank():
    right = right_flags()
    answers = answers_of(right)
    less = answers.take(np.arange(1, len(answers)))
    ranked = rank_scorers(judge_items(less, np.arange(len(right))).matrix)
    assert ranked[-1].scorer == 0
    assert ranked[-1].rank is None
    first = ranked[0]
    own = right[first.scorer, :40].reshape(20, 2)
    told = own[:, 0] == own[:, 1]
    assert first.told_apart == told.mean()
    assert first.right_way_round == own[told].all(axis=1).mean()
