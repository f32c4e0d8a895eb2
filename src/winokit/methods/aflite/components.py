"""Principal components of many rows, without a second copy of them.

The covariance is summed over blocks in float64 (products within a block in the rows' own precision) and its leading
eigenvectors are the components: d x d numbers, whatever the number of rows. Rows may lie in files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from winokit.errors import BadInput
from winokit.methods.aflite.shards import Shards
from winokit.methods.aflite.whole_groups import BoolArray, FloatArray, IntArray

Matrix: TypeAlias = NDArray[Any] | Shards
BLOCK_BYTES = 32_000_000


@dataclass(frozen=True)
class Components:
    """The directions in which rows differ most: a mean, one axis a component, and each one's share of the variance."""

    mean: FloatArray
    axes: FloatArray
    shares: FloatArray

    def project(self, x: Matrix, rows: BoolArray | None = None) -> FloatArray:
        """Coordinates of the rows (all, or those of a mask) along the components."""
        mean, axes = self.mean.astype(_working(x)), self.axes.T.astype(_working(x))
        return np.concatenate([(block - mean) @ axes for block in _blocks(x, rows)]).astype(np.float64)


def principal_components(x: Matrix, rows: BoolArray | None = None, count: int = 2) -> Components:
    """Find the first components of the rows (all, or those of a mask).

    The sign of a component means nothing; here its largest weight is positive, so that the same rows always give the
    same picture. Where rows have fewer columns than `count`, the missing components are nought.
    """
    if len(x.shape) != 2 or 0 in x.shape:
        raise BadInput(f"rows and columns of features expected, found an array of shape {x.shape}")
    n = len(x) if rows is None else int(rows.sum())
    if n < 2:
        raise BadInput(f"two rows or more expected for principal components, found {n}")
    mean = sum(block.sum(axis=0, dtype=np.float64) for block in _blocks(x, rows)) / n
    if not np.isfinite(mean).all():
        raise BadInput("features must be finite numbers, and some are not")
    scatter, near = np.zeros((x.shape[1], x.shape[1])), mean.astype(_working(x))
    for block in _blocks(x, rows):
        apart = block - near
        scatter += apart.T @ apart
    total, found = float(np.trace(scatter)), min(count, x.shape[1])
    if not total > 0:
        raise BadInput("all rows of features are the same: there is nothing to look at")
    values, vectors = eigh(scatter, subset_by_index=[x.shape[1] - found, x.shape[1] - 1])
    axes, shares = np.zeros((count, x.shape[1])), np.zeros(count)
    axes[:found], shares[:found] = vectors.T[::-1], values[::-1] / total
    largest = axes[np.arange(count), np.abs(axes).argmax(axis=1)]
    return Components(mean, axes * np.where(largest < 0, -1.0, 1.0)[:, None], shares)


def _blocks(x: Matrix, rows: BoolArray | None) -> Iterator[NDArray[Any]]:
    """The rows, some megabytes at a time, in a precision fit for sums."""
    step = max(1, BLOCK_BYTES // (8 * x.shape[1]))
    if rows is None:
        yield from (np.asarray(x[at : at + step], _working(x)) for at in range(0, len(x), step))
        return
    chosen: IntArray = np.flatnonzero(rows)
    for at in range(0, len(chosen), step):
        yield np.asarray(x[chosen[at : at + step]], _working(x))


def _working(x: Matrix) -> type[np.floating[Any]]:
    return np.float64 if x.dtype == np.float64 else np.float32
