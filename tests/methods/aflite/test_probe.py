"""A linear probe predicts as a plain logistic regression does, and never sees a twin of what it predicts."""

import numpy as np
import pytest

from winokit.errors import BadInput
from winokit.methods.aflite.probe import folds_of, linear_probe
from winokit.units import Units


def newton(x, y, c=1.0):
    """Weights and free intercept of a logistic regression by Newton's method, as a second opinion."""
    design = np.column_stack([x, np.ones(len(x))])
    penalty = np.diag([1 / c] * x.shape[1] + [0.0])
    theta = np.zeros(design.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ theta))
        variances = p * (1 - p)
        hessian = (design * variances[:, None]).T @ design + penalty
        gradient = design.T @ (p - y) + penalty @ theta
        theta -= np.linalg.solve(hessian, gradient)
    return theta


@pytest.fixture
def biased():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    scales = np.geomspace(5, 0.2, 10)
    x = rng.normal(size=(600, 10)) * scales
    signs = 2 * y - 1
    x[:, 9] += 0.3 * signs
    return x.astype(np.float32), y


@pytest.mark.parametrize("regularisation", [1.0, 0.01])
def test_the_probe_predicts_as_a_plain_logistic_regression(biased, regularisation):
    x, y = biased
    probe = linear_probe(x, y, folds=3, regularisation=regularisation)
    for fold in range(3):
        is_out = probe.fold == fold
        theta = newton(x[~is_out].astype(np.float64), y[~is_out], regularisation)
        log_odds = x[is_out] @ theta[:-1] + theta[-1]
        is_right = (log_odds > 0) == (y[is_out] == 1)
        assert (is_right == probe.correct[is_out]).all()
    assert probe.accuracy == probe.correct.mean()
    assert (probe.correct == (probe.choices == y)).all()
    assert probe.accuracy > 0.75


def test_noise_is_at_chance():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2000, 5))
    y = rng.integers(2, size=2000)
    probe = linear_probe(x, y)
    assert 0.46 < probe.accuracy < 0.54


def test_twins_never_straddle_folds():
    units = Units.of_names(f"g{row // 2}" for row in range(100))
    x = np.random.default_rng(0).normal(size=(100, 3))
    y = np.tile([0, 1], 50)
    fold = linear_probe(x, y, units).fold
    assert (fold[::2] == fold[1::2]).all()
    assert len(set(fold.tolist())) == 5


def test_a_probe_that_sees_a_twin_is_misled_and_ours_is_not():
    rng = np.random.default_rng(2)
    shared = rng.normal(size=(200, 300)).repeat(2, axis=0)
    x = shared + 0.01 * rng.normal(size=shared.shape)
    y = np.tile([0, 1], 200)
    apart = linear_probe(x, y, Units.alone(400)).accuracy
    pairs = Units(np.arange(400) // 2)
    together = linear_probe(x, y, pairs).accuracy
    assert apart < 0.3
    assert 0.4 < together < 0.6


def test_folds_are_about_equally_large():
    draws = np.random.default_rng(0).integers(50, size=200)
    _, numbers = np.unique(draws, return_inverse=True)
    sizes = np.bincount(folds_of(numbers, 5))
    largest_unit = np.bincount(numbers).max()
    assert sizes.max() - sizes.min() <= largest_unit


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x, y: linear_probe(x, y[1:]), "found 599 for 600"),
        (lambda x, y: linear_probe(x, y, folds=1), "2 folds or more"),
        (lambda x, y: linear_probe(x[:3], y[:3], folds=5), "no more than the 3 units"),
        (lambda x, y: linear_probe(x[:4], np.array([0, 0, 0, 1]), folds=4), "expected both answers"),
    ],
)
def test_bad_input_is_one_clear_line(biased, call, says):
    with pytest.raises(BadInput, match=says):
        call(*biased)
