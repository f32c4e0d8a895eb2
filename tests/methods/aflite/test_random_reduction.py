"""Random reduction keeps as many rows as asked, and groups whole."""

import numpy as np
import pytest

from winokit.errors import BadInput
from winokit.methods.aflite.random_reduction import random_reduction

TWINS = [f"g{row // 2}" for row in range(100)]


def test_keeps_exactly_the_size():
    assert random_reduction(100, 37).sum() == 37


def test_the_seed_decides():
    first = random_reduction(100, 50, seed=3)
    again = random_reduction(100, 50, seed=3)
    other = random_reduction(100, 50, seed=4)
    assert (first == again).all()
    assert (first != other).any()


def test_every_row_is_as_likely_as_any_other():
    masks = [random_reduction(40, 10, seed=seed) for seed in range(2000)]
    shares_kept = np.mean(masks, axis=0)
    assert np.abs(shares_kept - 0.25).max() < 0.05


def test_whole_groups_stay_or_go():
    keep = random_reduction(100, 40, groups=TWINS)
    assert keep.sum() == 40
    assert (keep[::2] == keep[1::2]).all()


def test_a_group_that_does_not_fit_is_not_cut():
    keep = random_reduction(100, 41, groups=TWINS)
    assert keep.sum() == 40


def test_rows_alone_are_groups_of_their_own():
    groups = [None] * 50 + ["big"] * 50
    keep = random_reduction(100, 99, groups=groups, seed=1)
    assert keep[50:].sum() in (0, 50)
    assert 0 < keep.sum() <= 99


@pytest.mark.parametrize("size", [0, -1, 101])
def test_an_impossible_size_is_refused(size):
    with pytest.raises(BadInput, match=f"expected a size from 1 to 100.*found {size}"):
        random_reduction(100, size)


def test_groups_of_other_rows_are_refused():
    with pytest.raises(BadInput, match="found 99 for 100 rows"):
        random_reduction(100, 50, groups=TWINS[1:])
