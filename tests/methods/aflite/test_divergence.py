"""Components are those of a singular value decomposition, and divergences those of closed forms."""

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
    """Two samples of n normal numbers, the second shifted and scaled."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=n)
    second = rng.normal(shift, scale, size=n)
    return first, second


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
    numbers = rng.normal(size=(300, 12)) * np.geomspace(3, 0.1, 12)
    rotation = rng.normal(size=(12, 12))
    return (numbers @ rotation + 5).astype(np.float32)


@pytest.mark.parametrize("block", [10**9, 1000])
def test_components_are_those_of_a_singular_value_decomposition(x, block, monkeypatch):
    monkeypatch.setattr(components_module, "BLOCK_BYTES", block)
    components = principal_components(x)
    exact = x.astype(np.float64)
    centred = exact - exact.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    variances = sizes**2
    shares = variances / variances.sum()
    cosines = (components.axes * axes[:2]).sum(axis=1)
    projected = centred @ components.axes.T
    assert np.abs(cosines) == pytest.approx([1, 1], abs=1e-5)
    assert components.shares == pytest.approx(shares[:2], rel=1e-4)
    assert components.project(x) == pytest.approx(projected, abs=1e-3)


def test_components_of_a_mask_are_those_of_its_rows(x):
    mask = np.arange(len(x)) % 3 > 0
    of_mask = principal_components(x, mask)
    of_rows = principal_components(x[mask])
    assert of_mask.axes == pytest.approx(of_rows.axes, abs=1e-5)


def test_a_projection_of_a_mask_is_that_of_its_rows(x):
    mask = np.arange(len(x)) % 3 > 0
    components = principal_components(x)
    projected = components.project(x)
    assert components.project(x, mask) == pytest.approx(projected[mask], abs=1e-4)


def test_the_sign_of_a_component_is_that_of_its_largest_weight(x):
    for rows in (x, x[::-1], -x, x[:, ::-1]):
        axes = principal_components(rows).axes
        largest = np.abs(axes).argmax(axis=1)
        assert (axes[[0, 1], largest] > 0).all()


def test_a_single_column_has_one_component(x):
    column = x[:, :1]
    components = principal_components(column)
    projected = components.project(column)
    assert components.shares.tolist() == pytest.approx([1, 0])
    assert (projected[:, 1] == 0).all()


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
    estimate = estimators(bins_for(40_000))[name]
    assert estimate(p, q) == pytest.approx(shift**2 / 2, rel=0.1)


@pytest.mark.parametrize("name", ALL)
def test_the_two_directions_differ_where_the_widths_do(name):
    p, q = normals(20_000, scale=2.0)
    values = np.concatenate([p, q])
    y = np.repeat([0, 1], 20_000)
    measured = divergence(values, y, estimators(60)[name])
    assert measured.forward == pytest.approx(np.log(2) + 1 / 8 - 0.5, rel=0.1)
    # Where the wide one has rows and the narrow one none, only the closed form knows how unlikely they are.
    truth = 2 - 0.5 - np.log(2)
    if name == "gaussian":
        assert measured.reverse == pytest.approx(truth, rel=0.05)
    else:
        assert 0.6 < measured.reverse < truth


def test_a_histogram_by_hand():
    p = np.array([0.0, 0.1, 0.9])
    q = np.array([0.2, 0.8, 1.0])
    shares_of_p = np.array([2.5, 1.5]) / 4
    shares_of_q = np.array([1.5, 2.5]) / 4
    terms = shares_of_p * np.log(shares_of_p / shares_of_q)
    assert kl_histogram(p, q, bins=2, smoothing=0.5) == pytest.approx(terms.sum())


def test_neighbours_by_hand():
    p = np.array([0.0, 1.0, 3.0])
    q = np.array([0.5, 5.0])
    within = np.array([1.0, 1.0, 2.0])
    across = np.array([0.5, 0.5, 2.0])
    expected = np.log(across / within).mean() + np.log(2 / 2)
    assert kl_knn(p, q, k=1) == pytest.approx(expected)


def test_neighbours_leave_out_points_that_coincide():
    p, q = normals(500, 1.0)
    p_with_copies = np.append(p, [9.0, 9.0])
    q_with_copy = np.append(q, 9.0)
    without_copies = kl_knn(p, q, k=1)
    assert kl_knn(p_with_copies, q_with_copy, k=1) == pytest.approx(without_copies, abs=0.05)


@pytest.mark.parametrize("name", ALL)
def test_turned_answers_give_what_chance_gives(name):
    values, y, groups = answers(1.0)
    estimate = estimators(bins_for(len(y)))[name]
    measured = divergence(values, y, estimate)
    chance = by_chance(values, y, estimate, groups, draws=5)
    assert measured.forward > 0.4
    assert abs(chance.forward) < 0.03


@pytest.mark.parametrize("name", ALL)
def test_answers_that_do_not_differ_are_as_far_apart_as_by_chance(name):
    values, y, groups = answers(0.0, seed=3)
    estimate = estimators(bins_for(len(y)))[name]
    measured = divergence(values, y, estimate)
    chance = by_chance(values, y, estimate, groups)
    assert measured.forward == pytest.approx(chance.forward, abs=0.03)


def test_turning_keeps_twins_opposite():
    values_seen = []

    def remember(first, second):
        both = np.concatenate([first, second + 0.5])
        values_seen.append(np.sort(both))
        return 0.0

    values = np.repeat(np.arange(50.0), 2)
    y = np.tile([0, 1], 50)
    groups = np.arange(100) // 2
    by_chance(values, y, remember, groups, draws=3)
    # Each group is one value twice: once with either answer, whichever way it was turned.
    expected = np.arange(100) / 2
    assert values_seen
    for values_of_draw in values_seen:
        assert (values_of_draw == expected).all()


@pytest.mark.parametrize("name", ["histogram", "gaussian"])
def test_the_standard_error_is_that_of_new_samples(name):
    estimate = estimators(15)[name]
    values, y, groups = answers(1.0, n=400)
    error = standard_error(values, y, estimate, groups, draws=200).forward
    divergences = []
    for seed in range(200):
        new_values, new_y, _ = answers(1.0, n=400, seed=seed)
        divergences.append(divergence(new_values, new_y, estimate).forward)
    spread = np.std(divergences)
    assert 0.8 * spread < error < 1.4 * spread  # a resample has emptier bins, and so a little more spread


def test_twins_that_move_together_make_it_less_certain():
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 500)
    values = rng.normal(size=1000) + y
    copied_values = np.tile(values, 4)
    copied_y = np.tile(y, 4)
    copied_groups = np.tile(np.arange(1000), 4)
    alone = standard_error(copied_values, copied_y, kl_gaussian, np.arange(4000), draws=100)
    together = standard_error(copied_values, copied_y, kl_gaussian, copied_groups, draws=100)
    assert together.forward == pytest.approx(2 * alone.forward, rel=0.3)


@pytest.mark.parametrize("estimate", [kl_knn, kl_gaussian])
def test_values_without_spread_are_refused(estimate):
    with pytest.raises(BadInput, match="choose an estimator other than"):
        estimate(np.ones(9), np.ones(9))


def test_one_answer_alone_cannot_be_compared():
    same_answers = np.zeros(5, int)
    with pytest.raises(BadInput, match="the same answer"):
        divergence(np.arange(5.0), same_answers, kl_gaussian)
