"""How far apart the two answers lie along one direction: Kullback-Leibler divergence, by three estimators.

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
    """The directions in which rows differ most: a mean, one axis per component, each with its share of the variance."""

    mean: Doubles
    axes: Doubles
    shares: Doubles

    def project(self, x: Matrix, rows: Bools | None = None) -> Doubles:
        """Coordinates of the rows (all, or those of a mask) along the components."""
        mean = self.mean.astype(precision(x))
        axes = self.axes.T.astype(precision(x))
        return np.concatenate([(block - mean) @ axes for block in _blocks(x, rows)]).astype(np.float64)


def principal_components(x: Matrix, rows: Bools | None = None, count: int = 2) -> Components:
    """Find the first components of the rows (all, or those of a mask).

    The sign of a component means nothing; here its largest weight is positive, so that the same rows always give the
    same picture. Where rows have fewer columns than `count`, the missing components are zero.
    """
    if len(x.shape) != 2 or 0 in x.shape:
        raise BadInput(f"expected rows and columns of features, found an array of shape {x.shape}")
    n = len(x) if rows is None else int(rows.sum())
    if n < 2:
        raise BadInput(f"expected two rows or more for principal components, found {n}")
    mean = sum(block.sum(axis=0, dtype=np.float64) for block in _blocks(x, rows)) / n
    if not np.isfinite(mean).all():
        raise BadInput("features must be finite numbers, and some are not")
    scatter = np.zeros((x.shape[1], x.shape[1]))
    near = mean.astype(precision(x))
    for block in _blocks(x, rows):
        apart = block - near
        scatter += apart.T @ apart
    total = float(np.trace(scatter))
    known = min(count, x.shape[1])
    if not total > 0:
        raise BadInput("all rows of features are the same: they have no components")
    values, vectors = eigh(scatter, subset_by_index=[x.shape[1] - known, x.shape[1] - 1])
    axes = np.zeros((count, x.shape[1]))
    shares = np.zeros(count)
    axes[:known], shares[:known] = vectors.T[::-1], values[::-1] / total
    largest = axes[np.arange(count), np.abs(axes).argmax(axis=1)]
    return Components(mean, axes * np.where(largest < 0, -1.0, 1.0)[:, None], shares)


def _blocks(x: Matrix, rows: Bools | None) -> Iterator[Values]:
    """The rows, some megabytes at a time."""
    return blocks_of(x, max(1, BLOCK_BYTES // (8 * x.shape[1])), rows)


class Divergence(NamedTuple):
    """Both directions: `forward` from the first answer to the second, `reverse` from the second to the first."""

    forward: float
    reverse: float


def bins_for(rows: int) -> int:
    """The number of bins for so many rows: twice their cube root, up to 100 (the Rice rule).

    >>> bins_for(400), bins_for(25_000)
    (15, 58)
    """
    return max(2, min(MOST_BINS, round(2 * math.cbrt(rows))))


def kl_histogram(p: Values, q: Values, bins: int = 50, smoothing: float = SMOOTHING) -> float:
    """KL(p || q) from histograms with shared, equal bins; `smoothing` is added to the count of every bin."""
    if bins < 2 or not smoothing > 0:
        raise BadInput(f"expected two bins or more and a smoothing above 0, found {bins} and {smoothing}")
    ends = (min(p.min(), q.min()), max(p.max(), q.max()))
    counts = [np.histogram(values, bins, ends)[0] + smoothing for values in (p, q)]
    share_p, share_q = (count / count.sum() for count in counts)
    return float(share_p @ np.log(share_p / share_q))


def kl_knn(p: Values, q: Values, k: int = NEIGHBOURS) -> float:
    """KL(p || q) from distances to the k-th neighbour; points that coincide with k others say nothing and are left out.

    It can be slightly below zero.
    """
    k = min(k, len(p) - 1, len(q))
    if k < 1:
        raise BadInput(f"expected two values of one answer and one of the other, found {len(p)} and {len(q)}")
    p = np.sort(p)
    q = np.sort(q)
    within, across = _kth_distance(p, p, k + 1), _kth_distance(p, q, k)  # a point is its own nearest neighbour
    apart = (within > 0) & (across > 0)
    if not apart.any():
        raise BadInput("the values of one answer are all the same: choose an estimator other than knn")
    return float(np.log(across[apart] / within[apart]).mean() + np.log(len(q) / (len(p) - 1)))


def _kth_distance(points: Doubles, others: Doubles, k: int) -> Doubles:
    """Distance from each point to the k-th nearest of the others, which are sorted."""
    window = np.searchsorted(others, points)[:, None] + np.arange(-k, k)
    outside = (window < 0) | (window >= len(others))
    distances = np.abs(others[np.clip(window, 0, len(others) - 1)] - points[:, None])
    distances[outside] = np.inf
    return np.partition(distances, k - 1, axis=1)[:, k - 1]


def kl_gaussian(p: Values, q: Values) -> float:
    """KL(p || q) of two normal distributions with the means and variances of the values."""
    var_p = float(np.var(p))
    var_q = float(np.var(q))
    if not (var_p > 0 and var_q > 0):
        raise BadInput("the values of one answer are all the same: choose an estimator other than gaussian")
    return 0.5 * float(np.log(var_q / var_p) + (var_p + (np.mean(p) - np.mean(q)) ** 2) / var_q - 1)


Estimator: TypeAlias = Callable[[Values, Values], float]


def estimators(bins: int = 50, smoothing: float = SMOOTHING, neighbours: int = NEIGHBOURS) -> Mapping[str, Estimator]:
    """The three estimators by name, with their settings."""
    return {
        "histogram": lambda p, q: kl_histogram(p, q, bins, smoothing),
        "knn": lambda p, q: kl_knn(p, q, neighbours),
        "gaussian": kl_gaussian,
    }


def divergence(values: Values, y: Values, estimate: Estimator) -> Divergence:
    """How far apart the values of the two answers are, in both directions."""
    labels = as_labels(y)
    first = values[labels == 0]
    second = values[labels == 1]
    if not (len(first) and len(second)):
        raise BadInput("every row has the same answer: there is nothing to compare")
    return Divergence(estimate(first, second), estimate(second, first))


def by_chance(
    values: Values, y: Values, estimate: Estimator, numbers: Ints, *, draws: int = 20, seed: int = 0
) -> Divergence:
    """What the estimator gives when answers mean nothing: the mean over draws in which whole units are turned.

    `numbers` are the units of the rows. Turning whole units keeps the answers of twins opposite.
    """
    rng = np.random.default_rng(seed)
    unit_count = int(numbers.max()) + 1
    estimates = [divergence(values, y ^ rng.integers(2, size=unit_count)[numbers], estimate) for _ in range(draws)]
    return Divergence(*(float(np.mean(way)) for way in zip(*estimates, strict=True)))


def standard_error(
    values: Values, y: Values, estimate: Estimator, numbers: Ints, *, draws: int = 200, seed: int = 0
) -> Divergence:
    """The standard error of an estimate, from draws of whole units with replacement; `numbers` are those of the rows.

    Not for `knn`: a draw repeats rows, and repeated rows are at no distance from each other.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(numbers, kind="stable")
    sizes = np.bincount(numbers)
    estimates = []
    for _ in range(draws):
        times = np.bincount(rng.integers(len(sizes), size=len(sizes)), minlength=len(sizes))
        rows = np.repeat(order, np.repeat(times, sizes))
        if 0 < y[rows].sum() < len(rows):
            estimates.append(divergence(values[rows], y[rows], estimate))
    return Divergence(*(float(np.std(way)) for way in zip(*estimates, strict=True)))
