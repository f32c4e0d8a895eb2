import numpy as np

from winokit.debias.aflite import AFLite
from winokit.debias.null import null_runs, q_values, relabelled


def test_without_bias_a_run_removes_what_its_null_removes():
    inside = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((900, 16)), rng.integers(2, size=900)
        null = null_runs(AFLite(32, 300, 10, seed=seed).fit(X, y), X, y, runs=8)
        low, high = null.interval
        inside += low <= null.removed <= high
        assert null.expected > 0
        assert null.q_values.min() > 0.3
    assert inside >= 3


def test_planted_bias_stands_out_of_its_null(planted):
    X, y, chosen = planted(1000)
    null = null_runs(AFLite(32, 400, 10).fit(X, y), X, y, runs=6)
    assert null.removed > null.interval[1]
    assert null.excess > 0.1 * len(y)
    assert null.p_value == 1 / 7
    assert null.q_values[chosen].mean() < null.q_values[~chosen].mean()


def test_twins_keep_opposite_answers_when_relabelled():
    y, units = np.tile([0, 1], 100), np.repeat(np.arange(0, 200, 2), 2)
    found = relabelled(y, units, seed=1)
    assert (found[::2] != found[1::2]).all()
    assert 30 < (found != y).sum() / 2 < 70


def test_near_identical_twins_do_not_drown_the_null(planted):
    """A plain permutation gives such twins equal answers half the time, and filters on."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((400, 60)), 2, axis=0) + 0.05 * rng.standard_normal((800, 60))
    y = np.tile([0, 1], 400)
    real = AFLite(16, 300, 10).fit(X, y)
    null = null_runs(real, X, y, np.arange(800) // 2, runs=3)
    permuted = AFLite(16, 300, 10).fit(X, rng.permutation(y))
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
