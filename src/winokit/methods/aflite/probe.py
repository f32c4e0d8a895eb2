"""A linear probe: the accuracy of a linear classifier on rows that it was not trained on.

Near 50 % the features tell a linear classifier nothing about the answer. Below 50 % the filter also removed rows that
were predicted rightly by chance. Rows are dealt into folds by whole units: the twin of a training row has nearly the
same features and the opposite answer, so that it would be predicted wrongly, and a row with the text or template of a
training row would be predicted rightly.
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
"""Remaining change of the log odds of held-out rows, as a root mean square, at which a fit stops."""
BLOCK = 4096


@dataclass(frozen=True)
class Probe:
    """Held-out predictions of a linear probe."""

    accuracy: float
    correct: Bools
    """Whether the answer of each row was predicted rightly."""
    fold: Ints
    """The fold in which each row was held out."""
    error: float
    """Largest remaining error of a classifier, in the unit of `TOLERANCE`."""
    choices: Ints
    """The predicted answer of each row, 0 or 1."""


def linear_probe(
    x: NDArray[Any],
    y: NDArray[Any],
    units: Units | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
    regularisation: float = 1.0,
) -> Probe:
    """Cross-validate a logistic regression of the answers on the features.

    `x` has one row per answer, and each answer of `y` is 0 or 1. `units` are never split between folds: `Dataset.units`
    for problems; None makes every row a unit. `regularisation` is scikit-learn's C. Raises BadInput if a training fold
    has only one of the answers.
    """
    labels = as_labels(y)
    if len(labels) != len(x):
        raise BadInput(f"expected one answer per row, found {len(labels)} for {len(x)} rows")
    names = None if units is None else names_of(require_units(units, len(labels)))
    fold = folds_of(numbered(names, len(labels)), folds, seed)
    is_training = fold[:, None] != np.arange(folds)
    for column in is_training.T:
        if len(np.unique(labels[column])) < 2:
            raise BadInput("expected both answers in every training fold of the probe: there are too few rows")
    theta, error = _fit_classifiers(x, labels, is_training, regularisation)
    products = [block @ theta[:-1] for block in blocks_of(x, BLOCK)]
    margins = np.concatenate(products) + theta[-1]
    held_out_margins = margins[np.arange(len(fold)), fold]
    choices = (held_out_margins > 0).astype(np.int64)
    correct = choices == labels
    return Probe(float(correct.mean()), correct, fold, error, choices)


def folds_of(numbers: Ints, folds: int, seed: int = 0) -> Ints:
    """Deal whole units into folds of about equal size, and return the fold of each row.

    `numbers` has the unit number of each row, from 0. Units are taken in random order, each into the smallest fold so
    far. Raises BadInput if there are fewer units than folds.
    """
    unit_count = int(numbers.max()) + 1
    if not 2 <= folds <= unit_count:
        raise BadInput(
            f"expected 2 folds or more, and no more than the {unit_count} units (--set folds); found {folds}"
        )
    sizes = np.bincount(numbers)
    fold_of_unit = np.empty(unit_count, np.int64)
    fold_sizes = np.zeros(folds, np.int64)
    for unit in np.random.default_rng(seed).permutation(unit_count):
        smallest_fold = int(fold_sizes.argmin())
        fold_of_unit[unit] = smallest_fold
        fold_sizes[smallest_fold] += sizes[unit]
    return fold_of_unit[numbers]


def _fit_classifiers(
    x: NDArray[Any], labels: Ints, is_training: Bools, regularisation: float
) -> tuple[NDArray[Any], float]:
    """Fit one classifier per column of `is_training`, on the rows marked there.

    Returns their weights as columns, with the intercepts in the last row, and the largest remaining error.
    """
    column_count = x.shape[1]
    training_share = float(is_training.mean())

    def compute_gradient(theta: NDArray[Any]) -> NDArray[Any]:
        """Gradient of each classifier's loss, with the L2 penalty."""
        total = np.zeros_like(theta)
        total[:-1] = theta[:-1] / regularisation
        first_row = 0
        for block in blocks_of(x, BLOCK):
            rows = slice(first_row, first_row + len(block))
            weights = theta[:-1].astype(block.dtype)
            chances = expit(block @ weights + theta[-1])
            miss = (chances - labels[rows, None]) * is_training[rows]
            total[:-1] += block.T @ miss.astype(block.dtype)
            total[-1] += miss.sum(axis=0)
            first_row += len(block)
        return total

    curvature = np.zeros((column_count + 1, column_count + 1))
    for block in blocks_of(x, BLOCK):
        curvature[:-1, :-1] += block.T @ block
        curvature[:-1, -1] += block.sum(axis=0, dtype=np.float64)
    curvature[-1] = curvature[:, -1]
    curvature[-1, -1] = len(x)
    curvature *= training_share / 4  # p (1 - p) is at most a quarter
    diagonal = np.arange(column_count)
    curvature[diagonal, diagonal] += 1 / regularisation
    factor = cho_factor(curvature)
    start = np.zeros((column_count + 1, is_training.shape[1]))
    size = training_share * len(x) / 4
    objective = Objective(compute_gradient, lambda g: cho_solve(factor, g), TOLERANCE, size)
    fit = minimise(objective, start)
    return fit.theta, float(fit.error.max())
