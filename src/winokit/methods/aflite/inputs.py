"""What filtering is given, checked: arrays of numbers, two answers, groups by any name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from winokit.errors import BadInput
from winokit.methods.aflite.partitions import MOST_ROWS
from winokit.methods.aflite.rows import Ints
from winokit.methods.aflite.shards import Shards

BLOCK = 8192  # rows looked through at a time, so that a file on disk is never read whole


def checked_features(X: npt.ArrayLike | Shards) -> Any:
    """The features as a matrix of finite numbers; files stay files."""
    found: Any = X if isinstance(X, np.ndarray | Shards) else np.asarray(X)
    if len(found.shape) != 2:
        raise BadInput(f"features must be a matrix with a row for each problem; found shape {found.shape}")
    if not (np.issubdtype(found.dtype, np.floating) or np.issubdtype(found.dtype, np.integer)):
        raise BadInput(f"features must be numbers; found {found.dtype}")
    if found.shape[1] == 0:
        raise BadInput("features have no columns")
    if len(found) > MOST_ROWS:
        raise BadInput(f"found {len(found):,} rows; partitions have keys for {MOST_ROWS:,}")
    varies = False
    for start in range(0, len(found), BLOCK):
        block = found[start : start + BLOCK]
        wrong = ~np.isfinite(block).all(axis=1)
        if wrong.any():
            row = start + int(np.flatnonzero(wrong)[0])
            raise BadInput(f"row {row} of the features holds a number that is not finite; remove it or embed it anew")
        varies = varies or bool((block != found[0]).any())
    if not varies:
        raise BadInput("every row of the features is the same: there is nothing to tell problems apart by")
    return found


def checked_answers(y: npt.ArrayLike, count: int) -> Ints:
    """The answers as 0 and 1, the smaller of the two values first."""
    found = np.asarray(y)
    if found.shape != (count,):
        raise BadInput(f"found {count:,} rows of features and answers of shape {found.shape}: one each is needed")
    values = np.unique(found)
    if len(values) != 2:
        shown = ", ".join(str(value) for value in values[:5])
        raise BadInput(f"filtering needs two different answers; found {len(values)} ({shown})")
    answers: Ints = (found == values[1]).astype(np.int64)
    return answers


def unit_numbers(groups: Sequence[Any] | npt.NDArray[Any] | None, count: int) -> Ints:
    """For each row the number of the first row of its group; its own where it has none.

    >>> unit_numbers(["a", None, "a", "b"], 4).tolist()
    [0, 1, 0, 3]
    """
    if groups is None:
        return np.arange(count)
    if len(groups) != count:
        raise BadInput(f"found {count:,} rows of features and {len(groups):,} groups: one each is needed")
    first: dict[Any, int] = {}
    names = groups.tolist() if isinstance(groups, np.ndarray) else groups
    return np.array([row if name is None else first.setdefault(name, row) for row, name in enumerate(names)])
