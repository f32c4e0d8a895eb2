"""Small pieces of linear algebra on NumPy arrays, in double precision where it matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from winokit.errors import BadInput

Floats = npt.NDArray[Any]


def inverse(matrix: npt.NDArray[np.float64], ridge: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The inverse of a positive matrix plus a ridge on its diagonal, by Cholesky, in the ridge's precision."""
    full = np.array(matrix, dtype=np.float64, order="F")  # as LAPACK wants it, to work in place
    # Constant rows leave nothing but the ridge to hold a direction, and nothing at all the intercept beside them.
    full[np.diag_indices_from(full)] += ridge[:, 0] + 1e-10 * np.trace(full) / len(full)
    factor, failed = lapack.dpotrf(full, lower=True, overwrite_a=True)
    if failed:
        raise BadInput("the features are too large or too nearly dependent for logistic regression: scale them")
    found, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    half: Floats = np.tril(found).astype(ridge.dtype)
    return half + np.tril(half, -1).T


def logistic(odds: Floats) -> Floats:
    """1 / (1 + exp(-odds)) in a new array; where exp overflows, 0 is right.

    >>> logistic(np.array([0.0, 1e4, -1e4]))
    array([0.5, 1. , 0. ])
    """
    with np.errstate(over="ignore"):
        found = np.exp(-odds)
    found += 1
    return np.reciprocal(found, out=found)


def weighted_gram(X: Floats, weights: Floats) -> Floats:
    """Sum of w x xᵀ, each x with a 1 at its end."""
    root = np.sqrt(weights)
    scaled = np.empty((len(X), X.shape[1] + 1), dtype=X.dtype)
    np.multiply(X, root[:, None], out=scaled[:, :-1])
    scaled[:, -1] = root
    return scaled.T @ scaled
