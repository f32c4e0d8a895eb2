"""The rows AFLite works on, held in memory: what a phase asks of them, done block by block on all cores.

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
    """Two numbers per classifier, as two rows.

    >>> salts(0, 1, range(3)).shape
    (2, 3)
    """
    digests = [hashlib.sha256(f"{seed} {phase} {classifier}".encode()).digest() for classifier in classifiers]
    return np.array([np.frombuffer(digest[:8], dtype="<u4") for digest in digests], dtype=np.uint32).T


def keys(rows: Keys, salt: Keys) -> Keys:
    """One key for each row and classifier.

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
    """The finalizer, in place."""
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(MIXERS[0])
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(MIXERS[1])
    mixed ^= mixed >> np.uint32(16)


@dataclass(frozen=True)
class FitPlan:
    """Settings from which rows draw partitions."""

    seed: int
    classifiers: int
    train_size: int
    strata: int = 1

    def strata_of(self, y: Ints) -> Ints:
        """The stratum of each row: its answer, or the one there is."""
        return y if self.strata > 1 else np.zeros_like(y)

    def salts(self, phase: int) -> Keys:
        """Salts of the keys of a phase."""
        return salts(self.seed, phase, range(self.classifiers))


class FeatureRows(Protocol):
    """Rows somewhere: in memory, on a GPU, on other machines. Arrays are of the kind the place works with."""

    plan: FitPlan
    width: int
    dtype: Any
    numbers: Ints  # of the rows that are left, in the order they lie in
    weights: Any  # p(1 - p) of each row where the gram was made
    runs_ahead: bool = False  # whether looking at a number costs more than a step that turns out not to be needed

    @property
    def count(self) -> int:
        """Number of rows left."""
        return len(self.numbers)

    def zeros(self, height: int, width: int) -> Any:
        """An array of zeros."""
        return np.zeros((height, width), dtype=self.dtype)

    def to_numpy(self, array: Any) -> Any:
        """The array as one of NumPy's."""
        return array

    def from_numpy(self, array: Floats) -> Any:
        """One of NumPy's arrays as one of this kind."""
        return array

    def inverse(self, matrix: Any, ridge: Any) -> Any:
        """The inverse of a positive matrix plus a ridge on its diagonal."""
        with blas_threads(1 if self.width < MANY else cores()):
            return inverse(matrix, ridge)

    def refined_inverse(self, matrix: Any, ridge: Any) -> tuple[Any, Any]:
        """The inverse by the quickest way without a look at a number, and how far from the identity it may lead."""
        return self.inverse(matrix, ridge), 0.0

    def recorded(self, work: Callable[..., Iterator[T]], steps: int, *arrays: Any) -> T:
        """Yield the results of some steps, recorded and replayed where that is faster."""
        return next(islice(work(*arrays), steps, None))

    def look(self, numbers: Sequence[Any]) -> list[float]:
        """Single numbers as Python's, in one question."""
        return [float(number) for number in numbers]

    def draw(self, phase: int) -> None:
        """Draw which rows train which classifier."""

    def gradient(self, theta: Any) -> Any:
        """Sum over each classifier's rows of (p - y) x, with the intercept at the end.

        One column serves for all.
        """

    def curvature(self, theta: Any) -> Any:
        """Product of the gram with the column `theta`, or None if fits do without it."""
        return None

    def gram(self, theta: Any) -> Any:
        """Sum over rows of p(1 - p) x xᵀ at the column `theta`.

        x has a 1 at its end. The weights are kept.
        """

    def votes(self) -> tuple[Ints, Ints]:
        """Of each row, predictions that were right where columns moved last, and those made while it was held out."""

    def drop(self, positions: Ints) -> Any:
        """Remove rows by their places in `numbers`, and return what they added to the gram."""


class NumpyRows(FeatureRows):
    """Rows in memory."""

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
        """Let no gradient made before stand for one of other rows."""
        self._theta = np.full((self.width + 1, 1), np.nan, dtype=self.dtype)
        self._gradient: Floats = self.zeros(self.width + 1, self.plan.classifiers)

    def draw(self, phase: int) -> None:
        sizes = train_sizes(self.strata_counts(), self.plan.train_size)
        salt = self.plan.salts(phase)

        def limit(units: Keys, wanted: int, column: int) -> np.uint32:
            drawn = keys(units, salt[:, column : column + 1])[:, 0]
            return np.partition(drawn, wanted - 1)[wanted - 1] if wanted else np.uint32(0)

        limits = []
        for stratum, wanted in enumerate(sizes):
            of_column = partial(limit, self._units[self._strata == stratum], wanted)
            limits.append(list(self._pool.map(of_column, range(self.plan.classifiers))))
        self.mark(phase, np.array(limits, dtype=np.uint32))

    def mark(self, phase: int, limits: Keys) -> None:
        """Let rows train whose keys are at most the limit of their stratum and classifier."""
        salt = self.plan.salts(phase)
        self._clear_cache()

        def part(rows: slice) -> None:
            for block in blocks(rows):
                self._train[block] = keys(self._units[block], salt) <= limits[self._strata[block]]

        list(self._map_stripes(part))

    def strata_counts(self) -> Ints:
        """Rows of each stratum."""
        return np.bincount(self._strata, minlength=self.plan.strata)

    def tally(self, phase: int, prefix: Keys, bits: int) -> Ints:
        """Of the keys whose first `bits` bits are `prefix`, how many go on with each of the 256 next bytes.

        Counts are by stratum, classifier and byte.
        """
        drawn = keys(self._units, self.plan.salts(phase))
        counts = np.zeros((self.plan.strata, self.plan.classifiers, 256), dtype=np.int64)
        for stratum, column in np.ndindex(counts.shape[:2]):
            own = drawn[self._strata == stratum, column].astype(np.uint64)
            own = own[own >> np.uint64(32 - bits) == prefix[stratum, column]]
            counts[stratum, column] = np.bincount((own >> np.uint64(24 - bits)) & np.uint64(255), minlength=256)
        return counts

    def gradient(self, theta: Floats) -> Floats:
        columns = self._find_moved_columns(theta)
        weights = np.ascontiguousarray(theta[:-1, columns])
        intercept = theta[-1, columns]
        shape = self._gradient[:, columns].shape

        def part(rows: slice) -> Floats:
            total = np.zeros(shape, dtype=theta.dtype)
            for block in blocks(rows):
                odds = self._X[block] @ weights
                odds += intercept
                self._odds[block, columns] = odds
                rest = logistic(odds)
                rest -= self._y[block, None]
                rest = rest * self._train[block, columns]
                total[:-1] += self._X[block].T @ rest
                total[-1] += rest.sum(0)
            return total

        self._gradient = self._gradient.copy()
        self._gradient[:, columns] = sum(self._map_stripes(part), np.zeros(shape, dtype=theta.dtype))
        self._theta = theta
        return self._gradient

    def _find_moved_columns(self, theta: Floats) -> Any:
        """Columns that differ from the last gradient's. The others need no new one."""
        moved = (theta != self._theta).any(0)
        return slice(None) if moved.all() or len(moved) > theta.shape[1] else np.flatnonzero(moved)

    def curvature(self, theta: Floats) -> Floats:
        def part(rows: slice) -> Floats:
            total = np.zeros_like(theta)
            for block in blocks(rows):
                odds = self._X[block] @ theta[:-1] + theta[-1]
                chances = logistic(odds)
                odds *= chances * (1 - chances)
                total[:-1] += self._X[block].T @ odds
                total[-1] += odds.sum()
            return total

        return sum(self._map_stripes(part), np.zeros_like(theta))

    def gram(self, theta: Floats) -> Floats:
        def part(rows: slice) -> Floats:
            total = np.zeros((self.width + 1, self.width + 1))
            for block in blocks(rows, 4 * BLOCK):
                chances = logistic(self._X[block] @ theta[:-1, 0] + theta[-1, 0])
                self.weights[block] = chances * (1 - chances)
                total += weighted_gram(self._X[block], self.weights[block])
            return total

        return reduce(np.add, self._map_stripes(part))

    def votes(self) -> tuple[Ints, Ints]:
        right = np.zeros(self.count, dtype=np.int64)
        made = np.zeros(self.count, dtype=np.int64)

        def count(rows: slice) -> None:
            for block in blocks(rows):
                held_out = self._train[block] == 0
                made[block] = held_out.sum(1)
                guess, answer = np.greater(self._odds[block], 0), np.greater(self._y[block, None], 0)
                right[block] = ((guess == answer) & held_out).sum(1)

        list(self._map_stripes(count))
        return right, made

    def drop(self, positions: Ints) -> Floats:
        lost = weighted_gram(self._X[positions], self.weights[positions]).astype(np.float64)
        filled = filling(self.count, positions)
        for name in ("numbers", "weights", "_X", "_y", "_units", "_strata", "_train", "_odds"):
            setattr(self, name, filled(getattr(self, name)))
        self._clear_cache()
        return lost

    def _map_stripes(self, work: Callable[[slice], T]) -> Iterator[T]:
        """Run the work on every stripe, in threads, and yield results in order."""
        edges = np.linspace(0, self.count, STRIPES + 1).astype(int)
        stripes = [slice(*pair) for pair in pairwise(edges)]
        small = self.count * self.width * self.plan.classifiers < SMALL
        with blas_threads(1):
            yield from (map if small else self._pool.map)(work, stripes)


def filling(count: int, gone: Ints) -> Callable[[Floats], Floats]:
    """Moves that close the gaps when an array loses rows: the last rows fill them.

    >>> filling(5, np.array([0, 3]))(np.array([10, 11, 12, 13, 14])).tolist()
    [14, 11, 12]
    """
    gaps, movers = moves(count, gone)

    def filled(rows: Floats) -> Floats:
        rows[gaps] = rows[movers]
        return rows[: count - len(gone)]

    return filled


def moves(count: int, gone: Ints) -> tuple[Ints, Ints]:
    """Places that become free among those that stay, and the places behind them whose rows move there."""
    leaves = np.zeros(count, dtype=bool)
    leaves[gone] = True
    left = count - len(gone)
    return np.flatnonzero(leaves[:left]), left + np.flatnonzero(~leaves[left:])


def train_sizes(counts: Sequence[int] | Ints, train_size: int) -> list[int]:
    """Training rows of each stratum, in proportion, adding up to `train_size`.

    >>> train_sizes([30, 10], 21), train_sizes([40], 21)
    ([16, 5], [21])
    """
    edges = [round(train_size * float(edge) / sum(counts)) for edge in np.cumsum(counts)]
    return [edge - before for before, edge in zip([0, *edges], edges, strict=False)]


def blocks(rows: slice, size: int = BLOCK) -> Iterator[slice]:
    """The slice in pieces of at most `size` rows."""
    for start in range(rows.start, rows.stop, size):
        yield slice(start, min(start + size, rows.stop))


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _get_blas() -> ThreadpoolController:
    return ThreadpoolController()


def blas_threads(count: int) -> Any:
    """So many threads for each matrix product.

    One that has helped with a product waits for the next in a loop, for some 25 ms: small products between large ones
    that have threads of their own cost a quarter of the CPU time of a run. Beside a busy process two that wait for one
    another take a hundred times as long: 1.06 s instead of 0.01 to invert 512 columns.
    """
    return _get_blas().limit(limits=count, user_api="blas")


def inverse(matrix: Floats, ridge: Floats) -> Floats:
    """The inverse of a positive matrix plus a ridge on its diagonal, by Cholesky, in the ridge's precision."""
    full = np.array(matrix, dtype=np.float64, order="F")  # as LAPACK wants it, to work in place
    # Constant rows leave nothing but the ridge to hold a direction, and nothing at all the intercept beside them.
    full[np.diag_indices_from(full)] += ridge[:, 0] + 1e-10 * np.trace(full) / len(full)
    factor, failed = lapack.dpotrf(full, lower=True, overwrite_a=True)
    if failed:
        raise BadInput("the features are too large or too nearly dependent for logistic regression: scale them")
    lower, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    half: Floats = np.tril(lower).astype(ridge.dtype)
    return half + np.tril(half, -1).T


def logistic(odds: Floats) -> Floats:
    """Return 1 / (1 + exp(-odds)) in a new array. Where exp overflows, 0 is right.

    >>> logistic(np.array([0.0, 1e4, -1e4]))
    array([0.5, 1. , 0. ])
    """
    with np.errstate(over="ignore"):
        chances = np.exp(-odds)
    chances += 1
    return np.reciprocal(chances, out=chances)


def weighted_gram(X: Floats, weights: Floats) -> Floats:
    """Sum of w x xᵀ, each x with a 1 at its end."""
    root = np.sqrt(weights)
    scaled = np.empty((len(X), X.shape[1] + 1), dtype=X.dtype)
    np.multiply(X, root[:, None], out=scaled[:, :-1])
    scaled[:, -1] = root
    return scaled.T @ scaled


def chosen(backend: str) -> str:
    """The backend that "auto" means here: torch where it sees a GPU, else NumPy."""
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
    """Return the rows with these numbers, in this order, on the backend.

    `options` are Ray's workers and address.
    """
    if backend == "ray":
        from winokit.methods.aflite.ray_rows import RayRows

        return RayRows(X, y, units, numbers, plan, **options)
    if backend == "numpy":
        return NumpyRows(X, y, units, numbers, plan)
    from winokit.methods.aflite.torch_rows import TorchRows

    return TorchRows(X, y, units, numbers, plan, backend.removeprefix("torch:"))
