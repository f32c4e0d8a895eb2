import numpy as np
import pytest
from scipy import stats

from winokit.errors import BadInput
from winokit.methods.aflite.aflite import AFLite
from winokit.methods.aflite.null import null_runs, q_values, relabelled
from winokit.methods.metrics.judge_ranks import BEYOND, LEVEL, UNDECIDED, SequentialRank, rank
from winokit.units import Units


def noise(seed):
    """A run on rows with nothing to find, and these: how many it removes is right-skewed."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((150, 6)).astype(np.float32)
    y = rng.integers(2, size=150)
    return AFLite(16, 50, 20, 0.9, seed=seed).fit(X, y), X, y


def test_noise_is_called_beyond_chance_in_one_of_twenty_runs_at_most():
    """`benchmarks/relabelled.py` does the same at length, on twins."""
    trials = 80
    found = [null_runs(*noise(trial), runs=19, seed=500 * trial).ranks[0] for trial in range(trials)]
    wrong = sum(rank.outcome == BEYOND for rank in found)
    assert stats.binomtest(wrong, trials, LEVEL, alternative="greater").pvalue > 0.01
    assert np.mean([rank.draws for rank in found]) < 8  # noise is let go early


def test_planted_bias_stands_out_of_its_null(planted):
    X, y, chosen = planted(1000, dtype=np.float32)
    null = null_runs(AFLite(32, 400, 10).fit(X, y), X, y, runs=19)
    assert null.removed > max(null.null_removed)
    assert null.excess > 0.1 * len(y)
    assert null.ranks == (SequentialRank(1 / 20, 19),)
    assert null.q_values[chosen].mean() < null.q_values[~chosen].mean()


def test_few_relabelled_runs_decide_nothing_however_clear_the_bias(planted):
    X, y, _ = planted(1000, dtype=np.float32)
    null = null_runs(AFLite(32, 400, 10).fit(X, y), X, y, runs=3)
    assert null.removed > max(null.null_removed)
    assert null.ranks[0].outcome == UNDECIDED


def test_other_seeds_are_ranked_among_the_same_relabelled_runs():
    real, X, y = noise(1)
    others = [real.again(seed).fit(X, y) for seed in (8, 9)]
    null = null_runs(real, X, y, others=others, runs=19)
    assert len(null.null_removed) == max(found.draws for found in null.ranks)
    for fitted, found in zip((real, *others), null.ranks, strict=True):
        assert found == rank((drawn >= (~fitted.keep_).sum() for drawn in null.null_removed), 19)


def test_no_relabelled_run_is_too_few():
    with pytest.raises(BadInput, match="1 relabelled run or more"):
        null_runs(*noise(0), runs=0)


def test_twins_keep_opposite_answers_when_relabelled():
    y = np.tile([0, 1], 100)
    units = np.repeat(np.arange(0, 200, 2), 2)
    found = relabelled(y, units, seed=1)
    assert (found[::2] != found[1::2]).all()
    assert 30 < (found != y).sum() / 2 < 70


def test_near_identical_twins_do_not_drown_the_null(planted):
    """A plain permutation gives such twins equal answers half the time, and filters on."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((400, 60)), 2, axis=0) + 0.05 * rng.standard_normal((800, 60))
    y = np.tile([0, 1], 400)
    real = AFLite(16, 300, 100).fit(X, y)
    null = null_runs(real, X, y, Units(np.arange(800) // 2), runs=3)
    permuted = AFLite(16, 300, 100).fit(X, rng.permutation(y))
    assert max(null.null_removed) < (~permuted.keep_).sum()


def test_a_better_score_never_has_a_worse_q_value():
    rng = np.random.default_rng(3)
    scores = np.round(rng.random(300), 2)
    found = q_values(scores, [np.round(rng.random(300) * 0.9, 2) for _ in range(4)])
    order = np.argsort(scores)
    assert (np.diff(found[order]) <= 1e-12).all()
    assert ((found >= 0) & (found <= 1)).all()


def test_a_row_without_a_score_has_a_q_value_of_one():
    assert q_values(np.array([np.nan, 0.9]), [np.array([0.1, 0.2])])[0] == 1
