"""Relabelled runs say how many rows a run removes by chance alone."""

import numpy as np
import pytest
from scipy import stats

from winokit.errors import BadInput
from winokit.methods.aflite.aflite import AFLite
from winokit.methods.aflite.null import null_runs, q_values, relabelled
from winokit.methods.metrics.judge_ranks import BEYOND, LEVEL, UNDECIDED, SequentialRank, rank
from winokit.units import Units


def noise(seed):
    """A run on rows with nothing to find, with their features and answers.

    The number of rows that such runs remove is right-skewed.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 6)).astype(np.float32)
    y = rng.integers(2, size=150)
    run = AFLite(16, 50, 20, 0.9, seed=seed).fit(X, y)
    return run, X, y


def test_noise_is_called_beyond_chance_in_one_of_twenty_runs_at_most():
    """`benchmarks/relabelled.py` does the same at length, on twins."""
    trials = 80
    ranks = []
    for trial in range(trials):
        null = null_runs(*noise(trial), runs=19, seed=500 * trial)
        ranks.append(null.ranks[0])
    wrong = sum(rank.outcome == BEYOND for rank in ranks)
    assert stats.binomtest(wrong, trials, LEVEL, alternative="greater").pvalue > 0.01
    mean_draws = np.mean([rank.draws for rank in ranks])
    assert mean_draws < 8  # noise is let go early


def test_planted_bias_stands_out_of_its_null(planted):
    X, y, chosen = planted(1000, dtype=np.float32)
    run = AFLite(32, 400, 10).fit(X, y)
    null = null_runs(run, X, y, runs=19)
    assert null.removed > max(null.null_removed)
    assert null.excess > 0.1 * len(y)
    assert null.ranks == (SequentialRank(1 / 20, 19),)
    mean_of_planted = null.q_values[chosen].mean()
    mean_of_others = null.q_values[~chosen].mean()
    assert mean_of_planted < mean_of_others


def test_few_relabelled_runs_decide_nothing_however_clear_the_bias(planted):
    X, y, _ = planted(1000, dtype=np.float32)
    run = AFLite(32, 400, 10).fit(X, y)
    null = null_runs(run, X, y, runs=3)
    assert null.removed > max(null.null_removed)
    assert null.ranks[0].outcome == UNDECIDED


def test_other_seeds_are_ranked_among_the_same_relabelled_runs():
    real, X, y = noise(1)
    others = [real.again(seed).fit(X, y) for seed in (8, 9)]
    null = null_runs(real, X, y, others=others, runs=19)
    draws = [rank_of_run.draws for rank_of_run in null.ranks]
    assert len(null.null_removed) == max(draws)
    for run, rank_of_run in zip((real, *others), null.ranks, strict=True):
        removed = (~run.keep_).sum()
        is_as_many = (null_removed >= removed for null_removed in null.null_removed)
        assert rank_of_run == rank(is_as_many, 19)


def test_no_relabelled_run_is_too_few():
    with pytest.raises(BadInput, match="1 relabelled run or more"):
        null_runs(*noise(0), runs=0)


def test_twins_keep_opposite_answers_when_relabelled():
    y = np.tile([0, 1], 100)
    units = np.repeat(np.arange(0, 200, 2), 2)
    new_y = relabelled(y, units, seed=1)
    turned_pairs = (new_y != y).sum() / 2
    assert (new_y[::2] != new_y[1::2]).all()
    assert 30 < turned_pairs < 70


def test_near_identical_twins_do_not_drown_the_null(planted):
    """A plain permutation gives such twins equal answers half the time, and filters on."""
    rng = np.random.default_rng(0)
    of_pairs = np.repeat(rng.standard_normal((400, 60)), 2, axis=0)
    X = of_pairs + 0.05 * rng.standard_normal((800, 60))
    y = np.tile([0, 1], 400)
    real = AFLite(16, 300, 100).fit(X, y)
    pairs = Units(np.arange(800) // 2)
    null = null_runs(real, X, y, pairs, runs=3)
    permuted = AFLite(16, 300, 100).fit(X, rng.permutation(y))
    removed_of_permuted = (~permuted.keep_).sum()
    assert max(null.null_removed) < removed_of_permuted


def test_a_better_score_never_has_a_worse_q_value():
    rng = np.random.default_rng(3)
    scores = np.round(rng.random(300), 2)
    null_scores = [np.round(rng.random(300) * 0.9, 2) for _ in range(4)]
    values = q_values(scores, null_scores)
    in_order = values[np.argsort(scores)]
    assert (np.diff(in_order) <= 1e-12).all()
    assert values.min() >= 0
    assert values.max() <= 1


def test_a_row_without_a_score_has_a_q_value_of_one():
    scores = np.array([np.nan, 0.9])
    null_scores = [np.array([0.1, 0.2])]
    assert q_values(scores, null_scores)[0] == 1
