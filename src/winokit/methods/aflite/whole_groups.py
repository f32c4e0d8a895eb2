"""Groups as numbers, and taking whole groups up to a size."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput

BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
Groups: TypeAlias = Sequence[Hashable | None] | NDArray[Any]
"""One group id a row, None for a row alone."""


def numbered(groups: Groups | None, rows: int) -> IntArray:
    """Groups as numbers from 0; a row alone is a group of its own, and so is every row where there are no groups.

    >>> numbered(["a", None, "a", None], 4).tolist()
    [0, 1, 0, 2]
    """
    if groups is None:
        return np.arange(rows)
    if len(groups) != rows:
        raise BadInput(f"one group id a row expected, found {len(groups)} for {rows} rows")
    if isinstance(groups, np.ndarray) and np.issubdtype(groups.dtype, np.integer):
        return np.unique(groups, return_inverse=True)[1].astype(np.int64)
    known = {group: number for number, group in enumerate(dict.fromkeys(g for g in groups if g is not None))}
    free = count(len(known))
    return np.fromiter((next(free) if group is None else known[group] for group in groups), np.int64, rows)


def as_labels(y: Sequence[int] | NDArray[Any]) -> IntArray:
    """One answer a row, 0 or 1."""
    found = np.asarray(y)
    if found.ndim != 1 or not len(found) or not np.isin(found, (0, 1)).all():
        raise BadInput("one answer a row expected, 0 for the first candidate or 1 for the second")
    return found.astype(np.int64)


def check_size(size: int, rows: int) -> int:
    """The size to reduce to, which must lie between 1 and the number of rows."""
    if not 1 <= size <= rows:
        raise BadInput(f"a size from 1 to {rows} expected, the number of rows there are; found {size}")
    return int(size)


def check_seed(seed: int) -> int:
    """A seed that NumPy can draw from."""
    if seed < 0:
        raise BadInput(f"a seed of 0 or more expected, found {seed}")
    return seed


def taken_whole(order: IntArray, numbers: IntArray, size: int) -> BoolArray:
    """The rows of the groups that come first in `order`, as many as fit into `size`; none is cut.

    >>> taken_whole(np.array([1, 0, 2]), np.array([0, 0, 1, 1, 2]), 3).tolist()
    [False, False, True, True, False]
    """
    sizes = np.bincount(numbers)
    taken = np.zeros(len(sizes), np.bool_)
    taken[order[np.cumsum(sizes[order]) <= size]] = True
    return taken[numbers]
