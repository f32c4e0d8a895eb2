"""Components against a singular value decomposition, divergences against what is known in closed form."""

import numpy as np
import pytest

from winokit.errors import BadInput
from winokit.methods.aflite import divergence as components_module
from winokit.methods.aflite.divergence import (
    bins_for,
    by_chance,
    divergence,
    estimators,
    kl_gaussian,
    kl_histogram,
    kl_knn,
    principal_components,
    standard_error,
)

ALL = ["histogram", "knn", "gaussian"]


def normals(n, shift=0.0, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.normal(shift, scale, size=n)


def answers(shift, n=4000, seed=0):
    """Values of twins side by side, the second answer's shifted, and their groups."""
    first, second = normals(n, shift, seed=seed)
    values = np.empty(2 * n)
    y = np.tile([0, 1], n)
    values[::2] = first
    values[1::2] = second
    return values, y, np.arange(2 * n) // 2


@pytest.fixture
def x():
    rng = np.random.default_rng(1)
    return (rng.normal(size=(300, 12)) * np.geomspace(3, 0.1, 12) @ rng.normal(size=(12, 12)) + 5).astype(np.float32)


@pytest.mark.parametrize("block", [10**9, 1000])
def test_components_are_those_of_a_singular_value_decomposition(x, block, monkeypatch):
    monkeypatch.setattr(components_module, "BLOCK_BYTES", block)
    found = principal_components(x)
    centred = x.astype(np.float64) - x.astype(np.float64).mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    assert np.abs((found.axes * axes[:2]).sum(axis=1)) == pytest.approx([1, 1], abs=1e-5)
    assert found.shares == pytest.approx((sizes**2 / (sizes**2).sum())[:2], rel=1e-4)
    assert found.project(x) == pytest.approx(centred @ found.axes.T, abs=1e-3)


def test_components_of_a_mask_are_those_of_its_rows(x):
    mask = np.arange(len(x)) % 3 > 0
    assert principal_components(x, mask).axes == pytest.approx(principal_components(x[mask]).axes, abs=1e-5)
    assert principal_components(x).project(x, mask) == pytest.approx(principal_components(x).project(x)[mask], abs=1e-4)


def test_the_sign_of_a_component_is_that_of_its_largest_weight(x):
    for rows in (x, x[::-1], -x, x[:, ::-1]):
        axes = principal_components(rows).axes
        assert (axes[[0, 1], np.abs(axes).argmax(axis=1)] > 0).all()


def test_a_single_column_has_one_component(x):
    found = principal_components(x[:, :1])
    assert found.shares.tolist() == pytest.approx([1, 0])
    assert (found.project(x[:, :1])[:, 1] == 0).all()


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (np.ones((5, 3)), "all rows of features are the same"),
        (np.full((5, 3), np.nan), "must be finite"),
        (np.ones((1, 3)), "two rows or more"),
        (np.ones(5), "rows and columns"),
    ],
)
def test_features_without_components_are_refused(rows, says):
    with pytest.raises(BadInput, match=says):
        principal_components(rows)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shift", [0.5, 1.15])
def test_estimators_find_the_divergence_of_two_normal_distributions(name, shift):
    p, q = normals(20_000, shift)
    assert estimators(bins_for(40_000))[name](p, q) == pytest.approx(shift**2 / 2, rel=0.1)


@pytest.mark.parametrize("name", ALL)
def test_the_two_directions_differ_where_the_widths_do(name):
    p, q = normals(20_000, scale=2.0)
    found = divergence(np.concatenate([p, q]), np.repeat([0, 1], 20_000), estimators(60)[name])
    assert found.forward == pytest.approx(np.log(2) + 1 / 8 - 0.5, rel=0.1)
    # Where the wide one has rows and the narrow one none, only the closed form knows how unlikely they are.
    truth = 2 - 0.5 - np.log(2)
    assert found.reverse == pytest.approx(truth, rel=0.05) if name == "gaussian" else 0.6 < found.reverse < truth


def test_a_histogram_by_hand():
    p = np.array([0.0, 0.1, 0.9])
    q = np.array([0.2, 0.8, 1.0])
    one = np.array([2.5, 1.5]) / 4
    other = np.array([1.5, 2.5]) / 4
    assert kl_histogram(p, q, bins=2, smoothing=0.5) == pytest.approx((one * np.log(one / other)).sum())


def test_neighbours_by_hand():
    p = np.array([0.0, 1.0, 3.0])
    q = np.array([0.5, 5.0])
    within = np.array([1.0, 1.0, 2.0])
    across = np.array([0.5, 0.5, 2.0])
    assert kl_knn(p, q, k=1) == pytest.approx(np.log(across / within).mean() + np.log(2 / 2))


def test_neighbours_leave_out_points_that_coincide():
    p, q = normals(500, 1.0)
    assert kl_knn(np.append(p, [9.0, 9.0]), np.append(q, 9.0), k=1) == pytest.approx(kl_knn(p, q, k=1), abs=0.05)


@pytest.mark.parametrize("name", ALL)
def test_turned_answers_give_what_chance_gives(name):
    values, y, groups = answers(1.0)
    estimate = estimators(bins_for(len(y)))[name]
    found = divergence(values, y, estimate)
    chance = by_chance(values, y, estimate, groups, draws=5)
    assert found.forward > 0.4
    assert abs(chance.forward) < 0.03
    same, same_y, _ = answers(0.0, seed=3)
    assert divergence(same, same_y, estimate).forward == pytest.approx(
        by_chance(same, same_y, estimate, groups).forward, abs=0.03
    )


def test_turning_keeps_twins_opposite():
    seen = []

    def remember(first, second):
        seen.append(np.sort(np.concatenate([first, second + 0.5])))
        return 0.0

    values = np.repeat(np.arange(50.0), 2)
    y = np.tile([0, 1], 50)
    by_chance(values, y, remember, np.arange(100) // 2, draws=3)
    # Each group is one value twice: once with either answer, whichever way it was turned.
    assert all((one == np.arange(100) / 2).all() for one in seen)


@pytest.mark.parametrize("name", ["histogram", "gaussian"])
def test_the_standard_error_is_that_of_new_samples(name):
    estimate = estimators(15)[name]
    values, y, groups = answers(1.0, n=400)
    found = standard_error(values, y, estimate, groups, draws=200).forward
    anew = np.std([divergence(*answers(1.0, n=400, seed=seed)[:2], estimate).forward for seed in range(200)])
    assert 0.8 * anew < found < 1.4 * anew  # a resample has emptier bins, and so a little more spread


def test_twins_that_move_together_make_it_less_certain():
    rng = np.random.default_rng(0)
    values = rng.normal(size=1000) + np.tile([0, 1], 500)
    y = np.tile([0, 1], 500)
    copied = np.tile(values, 4)
    twice = np.tile(y, 4)
    alone = standard_error(copied, twice, kl_gaussian, np.arange(4000), draws=100).forward
    together = standard_error(copied, twice, kl_gaussian, np.tile(np.arange(1000), 4), draws=100).forward
    assert together == pytest.approx(2 * alone, rel=0.3)


@pytest.mark.parametrize("estimate", [kl_knn, kl_gaussian])
def test_values_without_spread_are_refused(estimate):
    with pytest.raises(BadInput, match="choose an estimator other than"):
        estimate(np.ones(9), np.ones(9))


def test_one_answer_alone_cannot_be_compared():
    with pytest.raises(BadInput, match="the same answer"):
        divergence(np.arange(5.0), np.zeros(5, int), kl_gaussian)
