"""Kullback-Leibler divergence of the two answers along one direction, by three estimators.

Sakaguchi et al., "WinoGrande" (2019), https://arxiv.org/abs/1907.10641, Figure 1, report KL(p(d1 | first answer) ||
p(d1 | second)) along the first principal component d1, and not how they estimate it. Each estimator errs in its own
way, so all three are offered:

- `histogram`: equal bins from the least to the greatest value of both answers, a constant added to every bin;
- `knn`: distances to the k-th neighbour in the same and in the other answer (Wang, Kulkarni and Verdú, "Divergence
  Estimation for Multidimensional Densities via k-Nearest-Neighbor Distances", 2009);
- `gaussian`: the closed form for two normal distributions with the means and variances found.

Where one answer has rows far out and the other none, the first two fall short of the truth. All are in nats, and above
zero even where the answers do not differ at all; `by_chance` says by how much.

Components come from a covariance that is summed over blocks in float64 (products within a block in the rows' own
precision): d x d numbers, whatever the number of rows, which may lie in files.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from winokit.errors import BadInput
from winokit.methods.aflite.defaults import NEIGHBOURS, SMOOTHING
from winokit.methods.aflite.inputs import Bools, Doubles, Ints, Matrix, as_labels, blocks_of, precision

Values: TypeAlias = NDArray[Any]
MOST_BINS = 100
BLOCK_BYTES = 32_000_000


@dataclass(frozen=True)
class Components:
    """Principal components: a mean, and axes with their shares of the variance."""

    mean: Doubles
    axes: Doubles
    """One row per component, of length 1."""
    shares: Doubles

    def project(self, x: Matrix, rows: Bools | None = None) -> Doubles:
        """Coordinates of rows along the components, one column per component.

        `rows` is a mask of the rows to project; None projects all.
        """
        mean = self.mean.astype(precision(x))
        axes = self.axes.T.astype(precision(x))
        coordinates = [(block - mean) @ axes for block in _iterate_blocks(x, rows)]
        return np.concatenate(coordinates).astype(np.float64)


def principal_components(x: Matrix, rows: Bools | None = None, count: int = 2) -> Components:
    """Find the first `count` principal components of the rows.

    `rows` is a mask of the rows to use, or None for all. The sign of a component means nothing: here its largest weight
    is positive, so that the same rows always give the same picture. If `x` has fewer columns than `count`, the missing
    components are zero.
    """
    if len(x.shape) != 2 or 0 in x.shape:
        raise BadInput(f"expected rows and columns of features, found an array of shape {x.shape}")
    n = len(x) if rows is None else int(rows.sum())
    if n < 2:
        raise BadInput(f"expected two rows or more for principal components, found {n}")
    column_count = x.shape[1]
    total_of_rows = sum(block.sum(axis=0, dtype=np.float64) for block in _iterate_blocks(x, rows))
    mean = total_of_rows / n
    if not np.isfinite(mean).all():
        raise BadInput("features must be finite numbers, and some are not")
    scatter = np.zeros((column_count, column_count))
    near = mean.astype(precision(x))
    for block in _iterate_blocks(x, rows):
        centred = block - near
        scatter += centred.T @ centred
    total_variance = float(np.trace(scatter))
    component_count = min(count, column_count)
    if not total_variance > 0:
        raise BadInput("all rows of features are the same: they have no components")
    values, vectors = eigh(scatter, subset_by_index=[column_count - component_count, column_count - 1])
    axes = np.zeros((count, column_count))
    shares = np.zeros(count)
    axes[:component_count] = vectors.T[::-1]
    shares[:component_count] = values[::-1] / total_variance
    largest_columns = np.abs(axes).argmax(axis=1)
    largest_weights = axes[np.arange(count), largest_columns]
    signs = np.where(largest_weights < 0, -1.0, 1.0)
    return Components(mean, axes * signs[:, None], shares)


def _iterate_blocks(x: Matrix, rows: Bools | None) -> Iterator[Values]:
    """Yield the rows of a mask, or all for None, some megabytes at a time."""
    row_bytes = 8 * x.shape[1]
    block_size = max(1, BLOCK_BYTES // row_bytes)
    return blocks_of(x, block_size, rows)


class Divergence(NamedTuple):
    """Divergence in both directions, in nats."""

    forward: float
    """KL(first answer || second answer)."""
    reverse: float
    """KL(second answer || first answer)."""


def bins_for(rows: int) -> int:
    """Number of histogram bins for a number of rows, by the Rice rule.

    It is twice the cube root of the number, at least 2 and at most 100.

    >>> bins_for(400), bins_for(25_000)
    (15, 58)
    """
    bins = round(2 * math.cbrt(rows))
    return max(2, min(MOST_BINS, bins))


def kl_histogram(p: Values, q: Values, bins: int = 50, smoothing: float = SMOOTHING) -> float:
    """KL(p || q) of two samples, from histograms with the same equal bins.

    `smoothing` is added to the count of every bin.
    """
    if bins < 2 or not smoothing > 0:
        raise BadInput(f"expected two bins or more and a smoothing above 0, found {bins} and {smoothing}")
    low = min(p.min(), q.min())
    high = max(p.max(), q.max())
    count_p = np.histogram(p, bins, (low, high))[0] + smoothing
    count_q = np.histogram(q, bins, (low, high))[0] + smoothing
    share_p = count_p / count_p.sum()
    share_q = count_q / count_q.sum()
    return float(share_p @ np.log(share_p / share_q))


def kl_knn(p: Values, q: Values, k: int = NEIGHBOURS) -> float:
    """KL(p || q) of two samples, from distances to the k-th neighbour.

    Points that coincide with k others are left out. The estimate can be slightly below zero.
    """
    k = min(k, len(p) - 1, len(q))
    if k < 1:
        raise BadInput(f"expected two values of one answer and one of the other, found {len(p)} and {len(q)}")
    p = np.sort(p)
    q = np.sort(q)
    within = _find_kth_distance(p, p, k + 1)  # a point is its own nearest neighbour
    across = _find_kth_distance(p, q, k)
    is_usable = np.minimum(within, across) > 0
    if not is_usable.any():
        raise BadInput("the values of one answer are all the same: choose an estimator other than knn")
    mean_log_ratio = np.log(across[is_usable] / within[is_usable]).mean()
    return float(mean_log_ratio + np.log(len(q) / (len(p) - 1)))


def _find_kth_distance(points: Doubles, others: Doubles, k: int) -> Doubles:
    """Distance from each point to the k-th nearest of the others.

    `others` are sorted.
    """
    insertion_indices = np.searchsorted(others, points)
    window = insertion_indices[:, None] + np.arange(-k, k)
    nearest_inside = np.clip(window, 0, len(others) - 1)
    distances = np.abs(others[nearest_inside] - points[:, None])
    distances[window != nearest_inside] = np.inf
    return np.partition(distances, k - 1, axis=1)[:, k - 1]


def kl_gaussian(p: Values, q: Values) -> float:
    """KL(p || q) of two samples, as if both were normally distributed."""
    var_p = float(np.var(p))
    var_q = float(np.var(q))
    if not (var_p > 0 and var_q > 0):
        raise BadInput("the values of one answer are all the same: choose an estimator other than gaussian")
    squared_distance = (np.mean(p) - np.mean(q)) ** 2
    log_ratio = np.log(var_q / var_p)
    return 0.5 * float(log_ratio + (var_p + squared_distance) / var_q - 1)


Estimator: TypeAlias = Callable[[Values, Values], float]


def estimators(bins: int = 50, smoothing: float = SMOOTHING, neighbours: int = NEIGHBOURS) -> Mapping[str, Estimator]:
    """Return the three estimators of KL(p || q) by name.

    `bins` and `smoothing` are settings of `histogram`, `neighbours` of `knn`.
    """
    return {
        "histogram": lambda p, q: kl_histogram(p, q, bins, smoothing),
        "knn": lambda p, q: kl_knn(p, q, neighbours),
        "gaussian": kl_gaussian,
    }


def divergence(values: Values, y: Values, estimate: Estimator) -> Divergence:
    """Divergence between the values of the two answers, in both directions.

    `y` has the answer of each value, 0 or 1. `estimate` is one of `estimators`. Raises BadInput if all answers are the
    same.
    """
    labels = as_labels(y)
    first = values[labels == 0]
    second = values[labels == 1]
    if not (len(first) and len(second)):
        raise BadInput("every row has the same answer: there is nothing to compare")
    return Divergence(estimate(first, second), estimate(second, first))


def by_chance(
    values: Values, y: Values, estimate: Estimator, numbers: Ints, *, draws: int = 20, seed: int = 0
) -> Divergence:
    """Mean divergence over draws in which random units exchange their answers.

    `numbers` are the unit numbers of the rows. A unit's rows are flipped together, so that the answers of twins stay
    opposite.
    """
    rng = np.random.default_rng(seed)
    unit_count = int(numbers.max()) + 1
    estimates = []
    for _ in range(draws):
        flips = rng.integers(2, size=unit_count)
        flipped_answers = y ^ flips[numbers]
        estimates.append(divergence(values, flipped_answers, estimate))
    forward = np.mean([drawn.forward for drawn in estimates])
    reverse = np.mean([drawn.reverse for drawn in estimates])
    return Divergence(float(forward), float(reverse))


def standard_error(
    values: Values, y: Values, estimate: Estimator, numbers: Ints, *, draws: int = 200, seed: int = 0
) -> Divergence:
    """Standard error of a divergence, by bootstrap over units.

    `numbers` are the unit numbers of the rows. Draws in which all rows have one answer are left out. Not for `knn`: a
    draw repeats rows, whose distance is then 0.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(numbers, kind="stable")
    sizes = np.bincount(numbers)
    unit_count = len(sizes)
    estimates = []
    for _ in range(draws):
        drawn_units = rng.integers(unit_count, size=unit_count)
        unit_times = np.bincount(drawn_units, minlength=unit_count)
        row_times = np.repeat(unit_times, sizes)
        rows = np.repeat(order, row_times)
        has_both_answers = 0 < y[rows].sum() < len(rows)
        if has_both_answers:
            estimates.append(divergence(values[rows], y[rows], estimate))
    forward = np.std([drawn.forward for drawn in estimates])
    reverse = np.std([drawn.reverse for drawn in estimates])
    return Divergence(float(forward), float(reverse))
