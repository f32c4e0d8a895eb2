"""Random reduction: the baseline that removes as much and knows nothing (Sakaguchi et al., 2019, section 4)."""

from __future__ import annotations

import numpy as np

from winokit.methods.aflite.inputs import Bools, Groups, check_seed, numbered, taken_whole


def random_reduction(rows: int, size: int, *, seed: int = 0, groups: Groups | None = None) -> Bools:
    """A mask that keeps `size` of the rows, drawn at random.

    With `groups` whole groups are drawn, in random order until the next would exceed the size: of pairs alone and an
    odd size one row fewer is kept.

    >>> int(random_reduction(10, 4, seed=1).sum())
    4
    """
    numbers = numbered(groups, rows)
    order = np.random.default_rng(check_seed(seed)).permutation(int(numbers.max(initial=-1)) + 1)
    return taken_whole(order, numbers, size)
