"""Rows of features in memory, and AFLite's operations on them, block by block on all cores.

Rows that leave are overwritten by the last ones, so that matrix products always run over one block of memory without
copying it. Results are sums over a fixed number of stripes, added in order: they do not depend on the threads.

Which rows train which classifier is drawn from a counter instead of a state. Row r of classifier c in phase p has the
key K = h(h(r + a) ^ b), where a and b are 32 bits each of the SHA-256 of (seed, p, c), and h is the finalizer of
MurmurHash3. h maps 32 bits onto 32 bits one to one, so no two rows of a classifier share a key. A classifier trains on
the m rows with the smallest keys. Every backend computes the keys where its rows are, in integers, and so draws the
same partition however rows are stored, ordered or split.
"""

import hashlib
import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import islice, pairwise
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController

from winokit.errors import BadInput, MissingExtra
from winokit.methods.aflite.inputs import Floats, Ints, precision

T = TypeVar("T")
Keys = npt.NDArray[np.uint32]
Backend = Literal["auto", "numpy", "torch", "torch:cpu", "torch:cuda", "ray"]
STRIPES = 8
MANY = 4096  # columns; narrower matrices are factorised in one thread
SMALL = 20_000_000  # products; below it threads cost more than they save
BLOCK = 1024  # rows at a time: a block of a usual width and its products stay in a core's cache
MIXERS = 0x85EBCA6B, 0xC2B2AE35  # the two multipliers of the finalizer


def salts(seed: int, phase: int, classifiers: Sequence[int]) -> Keys:
    """Return two random numbers per classifier, as an array of two rows.

    They depend on the seed, the phase and the classifier's number alone.

    >>> salts(0, 1, range(3)).shape
    (2, 3)
    """
    pairs = []
    for classifier in classifiers:
        digest = hashlib.sha256(f"{seed} {phase} {classifier}".encode()).digest()
        pairs.append(np.frombuffer(digest[:8], dtype="<u4"))
    return np.array(pairs, dtype=np.uint32).T


def keys(rows: Keys, salt: Keys) -> Keys:
    """Return the random key of each row for each classifier, as a row per row number.

    `rows` are row numbers, and `salt` is what `salts` returned for the classifiers.

    >>> mixed = keys(np.arange(100_000, dtype=np.uint32), salts(0, 1, [0]))
    >>> len(np.unique(mixed)), round(float((mixed < 2**31).mean()), 2)
    (100000, 0.5)
    """
    mixed: Keys = rows[:, None] + salt[0]
    _mix_bits(mixed)
    mixed ^= salt[1]
    _mix_bits(mixed)
    return mixed


def _mix_bits(mixed: Keys) -> None:
    """Apply the finalizer of MurmurHash3 in place."""
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(MIXERS[0])
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(MIXERS[1])
    mixed ^= mixed >> np.uint32(16)


@dataclass(frozen=True)
class FitPlan:
    """Settings from which the training subset of each classifier is drawn."""

    seed: int
    classifiers: int
    train_size: int
    strata: int = 1
    """2 if subsets keep the proportion of the answers, else 1."""

    def strata_of(self, y: Ints) -> Ints:
        """Stratum of each row: its answer, or 0 if there is only one stratum."""
        return y if self.strata > 1 else np.zeros_like(y)

    def salts(self, phase: int) -> Keys:
        """Return the salts of all classifiers in a phase."""
        return salts(self.seed, phase, range(self.classifiers))


class FeatureRows(Protocol):
    """Rows of features and answers, and their classifiers, on one kind of hardware.

    The rows are in memory, on a GPU, or on other machines. Arrays in arguments and results are of the kind that the
    hardware works with (NumPy's or torch's), unless they are Ints.

    A gram is the curvature (Hessian) of the logistic loss over all rows. A row's weight is its curvature p(1 - p), and
    no weight that a user gives. A vote is a prediction of a classifier on a row that it did not train on.
    """

    plan: FitPlan
    width: int
    dtype: Any
    numbers: Ints  # of the rows that are left, in the order of memory
    weights: Any  # p(1 - p) of each row where the gram was made
    runs_ahead: bool = False  # whether looking at a number costs more than a step that turns out not to be needed

    @property
    def count(self) -> int:
        """Number of rows left."""
        return len(self.numbers)

    def zeros(self, height: int, width: int) -> Any:
        """Return an array of zeros."""
        return np.zeros((height, width), dtype=self.dtype)

    def to_numpy(self, array: Any) -> Any:
        """Convert one of this hardware's arrays to a NumPy array."""
        return array

    def from_numpy(self, array: Floats) -> Any:
        """Convert a NumPy array to one of this hardware's."""
        return array

    def inverse(self, matrix: Any, ridge: Any) -> Any:
        """Return the inverse of a positive matrix with a ridge added to its diagonal.

        `ridge` is a column.
        """
        with blas_threads(1 if self.width < MANY else cores()):
            return inverse(matrix, ridge)

    def refined_inverse(self, matrix: Any, ridge: Any) -> tuple[Any, Any]:
        """Return an inverse like `inverse`, computed faster from the one before, and its error.

        The error is the squared distance of the product of matrix and inverse from the identity.
        """
        return self.inverse(matrix, ridge), 0.0

    def recorded(self, work: Callable[..., Iterator[T]], steps: int, *arrays: Any) -> T:
        """Return what an iterator yields after a number of steps.

        `work` returns the iterator for these arrays. On a GPU the steps are recorded once, and replayed for other
        arrays of the same shapes.
        """
        return next(islice(work(*arrays), steps, None))

    def look(self, numbers: Sequence[Any]) -> list[float]:
        """Convert arrays of one number to Python's floats, all at once."""
        return [float(number) for number in numbers]

    def draw(self, phase: int) -> None:
        """Draw the training rows of each classifier for a phase, and store them."""

    def gradient(self, theta: Any) -> Any:
        """Sum of (p - y) x over each classifier's training rows, with the intercept at the end.

        `theta` has one column per classifier, or one for all. The log-odds of all rows are kept for `votes`.
        """

    def curvature(self, theta: Any) -> Any:
        """Product of the gram at the column `theta` with this column.

        None if fits do without it.
        """
        return None

    def gram(self, theta: Any) -> Any:
        """Sum of p(1 - p) x xᵀ over all rows left, at the column `theta`.

        x has a 1 at its end. The weights p(1 - p) are kept.
        """

    def votes(self) -> tuple[Ints, Ints]:
        """Return the numbers of right and of all held-out predictions of each row.

        Predictions are those at the last gradient of each classifier.
        """

    def drop(self, positions: Ints) -> Any:
        """Remove rows by their positions in `numbers`, and return their part of the gram."""


class NumpyRows(FeatureRows):
    """Rows as NumPy arrays in memory.

    `numbers` are the rows to use, in this order. `threads` is 0 for one per core.
    """

    def __init__(self, X: Floats, y: Ints, units: Ints, numbers: Ints, plan: FitPlan, threads: int = 0) -> None:
        self.dtype = dtype = precision(X)
        self.width = X.shape[1]
        self.plan = plan
        self.numbers = numbers.copy()
        self.weights = np.zeros(len(numbers), dtype=dtype)
        self._X = X[numbers].astype(dtype, copy=False)
        self._y = y[numbers].astype(dtype)
        self._units = units[numbers].astype(np.uint32)
        self._strata = plan.strata_of(y[numbers])
        self._train = np.zeros((len(numbers), plan.classifiers), dtype=dtype)
        self._odds = np.zeros((len(numbers), plan.classifiers), dtype=dtype)
        self._pool = ThreadPoolExecutor(threads or cores())
        self._clear_cache()

    def _clear_cache(self) -> None:
        """Invalidate the cached gradient: it belongs to other rows."""
        self._theta = np.full((self.width + 1, 1), np.nan, dtype=self.dtype)
        self._gradient: Floats = self.zeros(self.width + 1, self.plan.classifiers)

    def draw(self, phase: int) -> None:
        sizes = train_sizes(self.strata_counts(), self.plan.train_size)
        salt = self.plan.salts(phase)

        def find_limit(units: Keys, size: int, column: int) -> np.uint32:
            """Return the `size`-th smallest key of a classifier, or 0 for none."""
            if not size:
                return np.uint32(0)
            unit_keys = keys(units, salt[:, column : column + 1])[:, 0]
            limit: np.uint32 = np.partition(unit_keys, size - 1)[size - 1]
            return limit

        limits = []
        for stratum, size in enumerate(sizes):
            units = self._units[self._strata == stratum]
            find_column_limit = partial(find_limit, units, size)
            stratum_limits = self._pool.map(find_column_limit, range(self.plan.classifiers))
            limits.append(list(stratum_limits))
        self.mark(phase, np.array(limits, dtype=np.uint32))

    def mark(self, phase: int, limits: Keys) -> None:
        """Store the training rows of each classifier: those whose keys are within the limit.

        `limits` has one number per stratum and classifier.
        """
        salt = self.plan.salts(phase)
        self._clear_cache()

        def mark_stripe(rows: slice) -> None:
            """Mark the rows of one stripe."""
            for block in blocks(rows):
                block_keys = keys(self._units[block], salt)
                block_limits = limits[self._strata[block]]
                self._train[block] = block_keys <= block_limits

        list(self._map_stripes(mark_stripe))

    def strata_counts(self) -> Ints:
        """Number of rows in each stratum."""
        return np.bincount(self._strata, minlength=self.plan.strata)

    def tally(self, phase: int, prefix: Keys, bits: int) -> Ints:
        """Count the bytes that follow a prefix in the keys of the rows.

        `prefix` has the first `bits` bits for each stratum and classifier. Returns counts by stratum, classifier and
        byte.
        """
        row_keys = keys(self._units, self.plan.salts(phase))
        counts = np.zeros((self.plan.strata, self.plan.classifiers, 256), dtype=np.int64)
        prefix_shift = np.uint64(32 - bits)
        byte_shift = np.uint64(24 - bits)
        for stratum, column in np.ndindex(counts.shape[:2]):
            stratum_keys = row_keys[self._strata == stratum, column].astype(np.uint64)
            has_prefix = stratum_keys >> prefix_shift == prefix[stratum, column]
            next_bytes = (stratum_keys[has_prefix] >> byte_shift) & np.uint64(255)
            counts[stratum, column] = np.bincount(next_bytes, minlength=256)
        return counts

    def gradient(self, theta: Floats) -> Floats:
        columns = self._find_moved_columns(theta)
        weights = np.ascontiguousarray(theta[:-1, columns])
        intercept = theta[-1, columns]
        shape = self._gradient[:, columns].shape

        def sum_stripe(rows: slice) -> Floats:
            """Gradient over the rows of one stripe, for the columns that moved."""
            total = np.zeros(shape, dtype=theta.dtype)
            for block in blocks(rows):
                odds = self._X[block] @ weights
                odds += intercept
                self._odds[block, columns] = odds
                residual = logistic(odds)
                residual -= self._y[block, None]
                residual = residual * self._train[block, columns]
                total[:-1] += self._X[block].T @ residual
                total[-1] += residual.sum(0)
            return total

        no_gradient = np.zeros(shape, dtype=theta.dtype)
        self._gradient = self._gradient.copy()
        self._gradient[:, columns] = sum(self._map_stripes(sum_stripe), no_gradient)
        self._theta = theta
        return self._gradient

    def _find_moved_columns(self, theta: Floats) -> Any:
        """Return an index of the columns that differ from those of the cached gradient."""
        is_moved = (theta != self._theta).any(0)
        has_fewer_columns = len(is_moved) > theta.shape[1]
        if is_moved.all() or has_fewer_columns:
            return slice(None)
        return np.flatnonzero(is_moved)

    def curvature(self, theta: Floats) -> Floats:
        def sum_stripe(rows: slice) -> Floats:
            """Curvature over the rows of one stripe."""
            total = np.zeros_like(theta)
            for block in blocks(rows):
                odds = self._X[block] @ theta[:-1] + theta[-1]
                chances = logistic(odds)
                odds *= chances * (1 - chances)
                total[:-1] += self._X[block].T @ odds
                total[-1] += odds.sum()
            return total

        return sum(self._map_stripes(sum_stripe), np.zeros_like(theta))

    def gram(self, theta: Floats) -> Floats:
        def sum_stripe(rows: slice) -> Floats:
            """Gram over the rows of one stripe."""
            total = np.zeros((self.width + 1, self.width + 1))
            for block in blocks(rows, 4 * BLOCK):
                odds = self._X[block] @ theta[:-1, 0] + theta[-1, 0]
                chances = logistic(odds)
                self.weights[block] = chances * (1 - chances)
                total += weighted_gram(self._X[block], self.weights[block])
            return total

        return reduce(np.add, self._map_stripes(sum_stripe))

    def votes(self) -> tuple[Ints, Ints]:
        right_counts = np.zeros(self.count, dtype=np.int64)
        vote_counts = np.zeros(self.count, dtype=np.int64)

        def count_stripe(rows: slice) -> None:
            """Count the votes on the rows of one stripe."""
            for block in blocks(rows):
                is_held_out = self._train[block] == 0
                vote_counts[block] = is_held_out.sum(1)
                guess = np.greater(self._odds[block], 0)
                answer = np.greater(self._y[block, None], 0)
                is_right = (guess == answer) & is_held_out
                right_counts[block] = is_right.sum(1)

        list(self._map_stripes(count_stripe))
        return right_counts, vote_counts

    def drop(self, positions: Ints) -> Floats:
        lost_gram = weighted_gram(self._X[positions], self.weights[positions]).astype(np.float64)
        fill_gaps = filling(self.count, positions)
        for name in ("numbers", "weights", "_X", "_y", "_units", "_strata", "_train", "_odds"):
            array = getattr(self, name)
            setattr(self, name, fill_gaps(array))
        self._clear_cache()
        return lost_gram

    def _map_stripes(self, work: Callable[[slice], T]) -> Iterator[T]:
        """Call a function on every stripe of rows, and yield its results in order.

        Large stripes are worked on in threads.
        """
        edges = np.linspace(0, self.count, STRIPES + 1).astype(int)
        stripes = [slice(start, stop) for start, stop in pairwise(edges)]
        is_small = self.count * self.width * self.plan.classifiers < SMALL
        with blas_threads(1):
            if is_small:
                yield from map(work, stripes)
            else:
                yield from self._pool.map(work, stripes)


def filling(count: int, removed: Ints) -> Callable[[Floats], Floats]:
    """Return a function that removes rows from an array, filling the gaps with its last rows.

    `count` is the number of rows of the array, and `removed` are the positions to remove. The function changes the
    array in place, and returns a view of the remaining rows.

    >>> filling(5, np.array([0, 3]))(np.array([10, 11, 12, 13, 14])).tolist()
    [14, 11, 12]
    """
    gaps, movers = moves(count, removed)
    remaining_count = count - len(removed)

    def fill_gaps(rows: Floats) -> Floats:
        """Remove the rows from one array."""
        rows[gaps] = rows[movers]
        return rows[:remaining_count]

    return fill_gaps


def moves(count: int, removed: Ints) -> tuple[Ints, Ints]:
    """Return the gaps to fill when rows are removed, and the positions of the rows to fill them.

    `count` is the number of rows, and `removed` are the positions to remove. Gaps are before the end of the remaining
    rows, and the rows that fill them are behind it.
    """
    is_removed = np.zeros(count, dtype=bool)
    is_removed[removed] = True
    remaining_count = count - len(removed)
    gaps = np.flatnonzero(is_removed[:remaining_count])
    movers = remaining_count + np.flatnonzero(~is_removed[remaining_count:])
    return gaps, movers


def train_sizes(counts: Sequence[int] | Ints, train_size: int) -> list[int]:
    """Number of training rows of each stratum, in proportion to its rows.

    `counts` are the rows of the strata. The sizes add up to `train_size`.

    >>> train_sizes([30, 10], 21), train_sizes([40], 21)
    ([16, 5], [21])
    """
    total = sum(counts)
    sizes = []
    previous_edge = 0
    for rows_so_far in np.cumsum(counts):
        edge = round(train_size * float(rows_so_far) / total)
        sizes.append(edge - previous_edge)
        previous_edge = edge
    return sizes


def blocks(rows: slice, size: int = BLOCK) -> Iterator[slice]:
    """Yield consecutive slices of at most `size` rows that make up a slice."""
    for start in range(rows.start, rows.stop, size):
        stop = min(start + size, rows.stop)
        yield slice(start, stop)


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _get_blas() -> ThreadpoolController:
    """Return the controller of the linear algebra library's threads."""
    return ThreadpoolController()


def blas_threads(count: int) -> Any:
    """Limit each matrix product to `count` threads, in a `with` block or from now on.

    A thread that has helped with a product waits for the next in a loop, for some 25 ms: small products between large
    ones that have threads of their own cost a quarter of the CPU time of a run. Beside a busy process, two threads that
    wait for one another take a hundred times as long: 1.06 s instead of 0.01 s to invert 512 columns.
    """
    return _get_blas().limit(limits=count, user_api="blas")


def inverse(matrix: Floats, ridge: Floats) -> Floats:
    """Return the inverse of a positive matrix with a ridge added to its diagonal, by Cholesky.

    `ridge` is a column, and the inverse has its precision. Raises BadInput if the matrix is not positive enough.
    """
    full = np.array(matrix, dtype=np.float64, order="F")  # the order in which LAPACK can work in place
    # Constant rows have no curvature except the ridge, and the intercept beside them has none at all.
    full[np.diag_indices_from(full)] += ridge[:, 0] + 1e-10 * np.trace(full) / len(full)
    factor, failed = lapack.dpotrf(full, lower=True, overwrite_a=True)
    if failed:
        raise BadInput("the features are too large or too nearly dependent for logistic regression: scale them")
    lower, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    half: Floats = np.tril(lower).astype(ridge.dtype)
    return half + np.tril(half, -1).T


def logistic(odds: Floats) -> Floats:
    """Return 1 / (1 + exp(-odds)) in a new array.

    If exp overflows, the result is rightly 0.

    >>> logistic(np.array([0.0, 1e4, -1e4]))
    array([0.5, 1. , 0. ])
    """
    with np.errstate(over="ignore"):
        chances = np.exp(-odds)
    chances += 1
    return np.reciprocal(chances, out=chances)


def weighted_gram(X: Floats, weights: Floats) -> Floats:
    """Sum of w x xᵀ over rows, each x with a 1 at its end.

    `weights` has w of each row, its curvature p(1 - p).
    """
    root = np.sqrt(weights)
    scaled = np.empty((len(X), X.shape[1] + 1), dtype=X.dtype)
    np.multiply(X, root[:, None], out=scaled[:, :-1])
    scaled[:, -1] = root
    return scaled.T @ scaled


def chosen(backend: str) -> str:
    """Return the backend to use: `auto` is torch if it sees a GPU, else NumPy.

    Raises MissingExtra or BadInput if torch, or its GPU, is asked for and missing.
    """
    if backend in ("numpy", "ray"):
        return backend
    has_torch = importlib.util.find_spec("torch") is not None
    if backend == "auto" and not (has_torch and shutil.which("nvidia-smi")):
        return "numpy"
    if not has_torch:
        raise MissingExtra("filtering with torch", "hf")
    import torch

    if torch.cuda.is_available() and backend != "torch:cpu":
        return "torch:cuda"
    if backend == "torch:cuda":
        raise BadInput("torch sees no GPU here; use --backend numpy")
    return "numpy" if backend == "auto" else "torch:cpu"


def hold(X: Floats, y: Ints, units: Ints, numbers: Ints, plan: FitPlan, backend: str, **options: Any) -> FeatureRows:
    """Put rows of X, y and units on a backend: those of these numbers, in this order.

    `options` are Ray's `workers` and `address`.
    """
    if backend == "ray":
        from winokit.methods.aflite.ray_rows import RayRows

        return RayRows(X, y, units, numbers, plan, **options)
    if backend == "numpy":
        return NumpyRows(X, y, units, numbers, plan)
    from winokit.methods.aflite.torch_rows import TorchRows

    return TorchRows(X, y, units, numbers, plan, backend.removeprefix("torch:"))
