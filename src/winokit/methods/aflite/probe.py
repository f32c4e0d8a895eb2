"""A linear probe: how often a linear classifier of the features gets the answer of rows it has not seen.

Near 50 % the features say nothing about the answer that a linear classifier could use; below it the filter has
removed what chance got right as well. Rows are dealt into folds by whole units: a classifier that has seen a twin would
know the other's features and take its answer, which is the wrong one; and one that has seen a text or a template would
know its answer from there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from winokit.errors import BadInput
from winokit.methods.aflite.inputs import Bools, Ints, as_labels, blocks_of, names_of, numbered
from winokit.methods.aflite.logistic import Objective, minimise
from winokit.units import Units, require_units

TOLERANCE = 1e-4
"""How much the log odds of held-out rows may still change, as a root mean square."""
BLOCK = 4096


@dataclass(frozen=True)
class Probe:
    """Held-out predictions of a linear probe."""

    accuracy: float
    correct: Bools
    """One flag per row that was probed, in the rows' order."""
    fold: Ints
    """The fold each was held out in."""
    error: float
    """What is left to solve for, in the unit of `TOLERANCE`: how far the log odds would still move."""
    choices: Ints
    """The answer that was predicted for each, 0 or 1."""


def linear_probe(
    x: NDArray[Any],
    y: NDArray[Any],
    units: Units | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
    regularisation: float = 1.0,
) -> Probe:
    """Cross-validated accuracy of logistic regression (L2, `regularisation` as scikit-learn's C).

    `units` say what varies together and is never split between folds: `Dataset.units` for problems. By default every
    row varies by itself.
    """
    labels = as_labels(y)
    if len(labels) != len(x):
        raise BadInput(f"expected one answer per row, found {len(labels)} for {len(x)} rows")
    names = None if units is None else names_of(require_units(units, len(labels)))
    fold = folds_of(numbered(names, len(labels)), folds, seed)
    seen = fold[:, None] != np.arange(folds)
    if any(len(np.unique(labels[column])) < 2 for column in seen.T):
        raise BadInput("expected both answers in every training fold of the probe: there are too few rows")
    theta, error = _fit_classifiers(x, labels, seen, regularisation)
    margins = np.concatenate([part @ theta[:-1] for part in blocks_of(x, BLOCK)]) + theta[-1]
    choices = (margins[np.arange(len(fold)), fold] > 0).astype(np.int64)
    correct = choices == labels
    return Probe(float(correct.mean()), correct, fold, error, choices)


def folds_of(numbers: Ints, folds: int, seed: int = 0) -> Ints:
    """A fold for each row: whole units, in random order, always into the fold that has fewest rows.

    `numbers` are the units of the rows, from 0.
    """
    unit_count = int(numbers.max()) + 1
    if not 2 <= folds <= unit_count:
        raise BadInput(
            f"expected 2 folds or more, and no more than the {unit_count} units (--set folds); found {folds}"
        )
    sizes = np.bincount(numbers)
    fold_of_unit = np.empty(unit_count, np.int64)
    filled = np.zeros(folds, np.int64)
    for unit in np.random.default_rng(seed).permutation(unit_count):
        least = int(filled.argmin())
        fold_of_unit[unit] = least
        filled[least] += sizes[unit]
    return fold_of_unit[numbers]


def _fit_classifiers(x: NDArray[Any], labels: Ints, seen: Bools, regularisation: float) -> tuple[NDArray[Any], float]:
    """Fit one classifier per column of `seen`.

    Returns weights with the intercept below them, and the largest remaining error.
    """
    columns = x.shape[1]
    share = float(seen.mean())

    def gradient(theta: NDArray[Any]) -> NDArray[Any]:
        total = np.zeros_like(theta)
        total[:-1] = theta[:-1] / regularisation
        for at, part in zip(range(0, len(x), BLOCK), blocks_of(x, BLOCK), strict=True):
            rows, weights = slice(at, at + BLOCK), theta[:-1].astype(part.dtype)
            miss = (expit(part @ weights + theta[-1]) - labels[rows, None]) * seen[rows]
            total[:-1] += part.T @ miss.astype(part.dtype)
            total[-1] += miss.sum(axis=0)
        return total

    curvature = np.zeros((columns + 1, columns + 1))
    for part in blocks_of(x, BLOCK):
        curvature[:-1, :-1] += part.T @ part
        curvature[:-1, -1] += part.sum(axis=0, dtype=np.float64)
    curvature[-1] = curvature[:, -1]
    curvature[-1, -1] = len(x)
    curvature *= share / 4  # p (1 - p) is at most a quarter
    curvature[np.arange(columns), np.arange(columns)] += 1 / regularisation
    factor = cho_factor(curvature)
    start = np.zeros((columns + 1, seen.shape[1]))
    size = share * len(x) / 4
    fit = minimise(Objective(gradient, lambda g: cho_solve(factor, g), TOLERANCE, size), start)
    return fit.theta, float(fit.error.max())
