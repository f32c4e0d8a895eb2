"""Rows of features in torch, for AFLite on a GPU or the CPU.

Operations are those of `rows.NumpyRows`, on all rows at once. Products of float32 are never rounded to tf32: with its
ten bits the solver stalls.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from winokit.methods.aflite.inputs import Floats, Ints, precision
from winokit.methods.aflite.rows import MIXERS, FeatureRows, FitPlan, moves, train_sizes

T = TypeVar("T")

LEAST_FILLED = 0.8
"""Minimum share of rows in use on a GPU: below it, removed rows are freed and steps are recorded again."""
REFINEMENTS = 2  # of an inverse, from one phase to the next


class TorchRows(FeatureRows):
    """Rows on a torch device.

    The rows in use are at the front. On a GPU, removed rows may stay behind them as rows that train no classifier, so
    that arrays keep their shapes and a recorded fit can be replayed. `device` is `cpu` or `cuda`.
    """

    def __init__(self, X: Floats, y: Ints, units: Ints, numbers: Ints, plan: FitPlan, device: str) -> None:
        self.device = torch.device(device)
        self.runs_ahead = self.device.type == "cuda"
        self.dtype: torch.dtype = getattr(torch, precision(X))
        self.width = X.shape[1]
        self.plan = plan
        self.numbers = numbers.copy()
        self.weights = torch.zeros(len(numbers), dtype=self.dtype, device=self.device)
        has_all_rows = len(numbers) == len(X) and bool((numbers == np.arange(len(X))).all())
        is_usable_as_is = has_all_rows and isinstance(X, np.ndarray)
        features = X if is_usable_as_is else X[numbers]
        answers = y[numbers]
        unit_numbers = units[numbers].astype(np.uint32)
        self._X = self.from_numpy(features)
        self._y = self.from_numpy(answers)
        self._units = torch.as_tensor(unit_numbers.view(np.int32), device=self.device)
        self._strata = torch.as_tensor(plan.strata_of(answers), device=self.device)
        self._train = self.zeros(plan.classifiers, len(numbers))
        self._odds = self.zeros(plan.classifiers, len(numbers))
        self._inverse = self.zeros(0, 0)  # the last one, in float64
        self._recording: _Recording | None = None

    def zeros(self, height: int, width: int) -> torch.Tensor:
        return torch.zeros(height, width, dtype=self.dtype, device=self.device)

    def to_numpy(self, array: torch.Tensor) -> Any:
        return array.cpu().numpy()

    def from_numpy(self, array: Floats) -> torch.Tensor:
        # Torch cannot wrap a file that is opened for reading. The tensor is a copy, since rows move when others leave.
        writeable_array = array if array.flags.writeable else np.array(array)
        tensor = torch.as_tensor(writeable_array)
        return tensor.to(self.device, self.dtype, copy=True)

    def inverse(self, matrix: torch.Tensor, ridge: torch.Tensor) -> torch.Tensor:
        factor = torch.linalg.cholesky(_add_ridge(matrix, ridge))
        self._inverse = torch.cholesky_inverse(factor)
        return self._inverse.to(self.dtype)

    def refined_inverse(self, matrix: torch.Tensor, ridge: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # From the inverse of the phase before, Newton's iteration (Schulz, 1933) takes a few products.
        full = _add_ridge(matrix, ridge)
        for _ in range(REFINEMENTS):
            residual = -(full @ self._inverse)
            residual.diagonal().add_(1)
            self._inverse = self._inverse + self._inverse @ residual
        return self._inverse.to(self.dtype), residual.square().sum()

    def recorded(self, work: Callable[..., Iterator[T]], steps: int, *arrays: Any) -> T:
        if self.device.type != "cuda":
            return super().recorded(work, steps, *arrays)
        if self._recording is None:
            self._recording = _Recording(work, arrays)
        result: T = self._recording.play(steps, arrays)
        return result

    def look(self, numbers: Sequence[torch.Tensor]) -> list[float]:
        values = torch.stack([number.double() for number in numbers])
        floats: list[float] = values.tolist()
        return floats

    def draw(self, phase: int) -> None:
        salt = self._send_integers(self.plan.salts(phase).view(np.int32))
        row_keys = torch_keys(self._units[: self.count], salt)
        if self.plan.strata == 1:
            limits = row_keys.kthvalue(self.plan.train_size, dim=1, keepdim=True).values
        else:
            limits = self._find_stratum_limits(row_keys)
        self._train[:, : self.count] = row_keys <= limits
        self._train[:, self.count :] = 0

    def _find_stratum_limits(self, row_keys: torch.Tensor) -> torch.Tensor:
        """Return the largest key of a training row, for each classifier and row.

        Rows of the same stratum have the same limit.
        """
        strata = self._strata[: self.count]
        counts = torch.bincount(strata, minlength=self.plan.strata)
        sizes = train_sizes(counts.tolist(), self.plan.train_size)
        limits = []
        for stratum, size in enumerate(sizes):
            limit = torch.full_like(row_keys[:, 0], torch.iinfo(torch.int32).min)
            if size:
                limit = row_keys[:, strata == stratum].kthvalue(size, dim=1).values
            limits.append(limit)
        return torch.stack(limits, dim=1)[:, strata]

    def gradient(self, theta: torch.Tensor) -> torch.Tensor:
        with exact_products():
            odds = torch.addmm(theta[-1][:, None], theta[:-1].T, self._X.T)
            residual = (torch.sigmoid(odds) - self._y) * self._train
            self._odds.copy_(odds)
            weights = residual @ self._X
            intercepts = residual.sum(1, keepdim=True)
            return torch.cat([weights, intercepts], dim=1).T.contiguous()

    def gram(self, theta: torch.Tensor) -> torch.Tensor:
        odds = self._X[: self.count] @ theta[:-1, 0] + theta[-1, 0]
        chances = torch.sigmoid(odds)
        self.weights = chances * (1 - chances)
        return self._compute_weighted_gram(slice(self.count))

    def votes(self) -> tuple[Ints, Ints]:
        is_held_out = self._train[:, : self.count] == 0
        is_predicted_positive = self._odds[:, : self.count] > 0
        is_positive = self._y[: self.count] > 0
        is_right = (is_predicted_positive == is_positive) & is_held_out
        counts = torch.stack([is_right.sum(0), is_held_out.sum(0)])
        right_counts, vote_counts = counts.int().cpu().numpy().astype(np.int64)
        return right_counts, vote_counts

    def drop(self, positions: Ints) -> torch.Tensor:
        gaps, movers = moves(self.count, positions)
        indices = self._send_integers(np.concatenate([positions, gaps, movers]))
        removed_end = len(positions)
        gaps_end = removed_end + len(gaps)
        removed, targets, sources = torch.tensor_split(indices, [removed_end, gaps_end])
        lost_gram = self._compute_weighted_gram(removed)
        for rows in (self.weights, self._X, self._y, self._units, self._strata):
            rows[targets] = rows[sources]
        self.numbers[gaps] = self.numbers[movers]
        self.numbers = self.numbers[: self.count - len(positions)]
        self.weights = self.weights[: self.count]
        is_sparse = self.count < LEAST_FILLED * len(self._X)
        if is_sparse or not self.runs_ahead:
            self._trim_arrays()
        return lost_gram

    def _trim_arrays(self) -> None:
        """Free the memory of removed rows. Steps must then be recorded again."""
        self._recording = None
        for name in ("_X", "_y", "_units", "_strata"):
            rows = getattr(self, name)
            setattr(self, name, rows[: self.count])
        self._train = torch.zeros_like(self._train[:, : self.count])
        self._odds = torch.zeros_like(self._odds[:, : self.count])

    def _send_integers(self, array: npt.NDArray[Any]) -> torch.Tensor:
        """Return integers on the device, without waiting for a GPU."""
        tensor = torch.from_numpy(array)
        if self.device.type != "cuda":
            return tensor
        return tensor.pin_memory().to(self.device, non_blocking=True)

    def _compute_weighted_gram(self, rows: Any) -> torch.Tensor:
        """Sum of w x xᵀ over the indexed rows, each x with a 1 at its end.

        w is the row's curvature p(1 - p).
        """
        root = self.weights[rows].sqrt()[:, None]
        with exact_products():
            scaled = torch.cat([self._X[rows] * root, root], dim=1)
            return scaled.T @ scaled


class _Recording:
    """Steps of an iterator on a GPU, recorded once as CUDA graphs and replayed.

    `work` makes the iterator from copies of the arrays. A result is valid until the next replay.
    """

    def __init__(self, work: Callable[..., Iterator[Any]], arrays: Sequence[torch.Tensor]) -> None:
        self._inputs = [array.clone() for array in arrays]
        self._work = work(*self._inputs)
        self._steps: list[tuple[torch.cuda.CUDAGraph, Any]] = []
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def play(self, steps: int, arrays: Sequence[torch.Tensor]) -> Any:
        """Run the start and a number of steps on these arrays, and return the last result."""
        for graph_input, array in zip(self._inputs, arrays, strict=True):
            graph_input.copy_(array)
        while len(self._steps) <= steps:
            self._record_steps()
        for graph, _ in self._steps[: steps + 1]:
            graph.replay()
        return self._steps[steps][1]

    def _record_steps(self) -> None:
        """Record the next step as a graph."""
        # torch.cuda.graph would collect all garbage and free all memory first, which takes ten times as long.
        current_stream = torch.cuda.current_stream()
        graph = torch.cuda.CUDAGraph()
        self._stream.wait_stream(current_stream)
        is_collecting = gc.isenabled()
        gc.disable()  # if another graph were freed meanwhile, the recording would fail
        try:
            with torch.cuda.stream(self._stream):
                graph.capture_begin(pool=self._pool, capture_error_mode="relaxed")
                self._steps.append((graph, next(self._work)))
                graph.capture_end()
        finally:
            if is_collecting:
                gc.enable()
        current_stream.wait_stream(self._stream)


def _add_ridge(matrix: torch.Tensor, ridge: torch.Tensor) -> torch.Tensor:
    """Return the matrix in float64 with a ridge on its diagonal.

    A small multiple of the diagonal's mean is added too.
    """
    full = matrix.to(torch.float64)
    full.diagonal().add_(ridge[:, 0] + 1e-10 * full.diagonal().mean())
    return full


def torch_keys(rows: torch.Tensor, salt: torch.Tensor) -> torch.Tensor:
    """Return the keys of `rows.keys`, transposed and less 2³¹.

    Torch has no unsigned integers of 32 bits, but products of signed ones overflow to the same bits.

    >>> from winokit.methods.aflite.rows import keys, salts
    >>> rows, salt = np.arange(9, dtype=np.uint32), salts(0, 1, range(4))
    >>> mixed = torch_keys(torch.as_tensor(rows.view(np.int32)), torch.as_tensor(salt.view(np.int32)))
    >>> bool((mixed.numpy().astype(np.int64) + 2**31 == keys(rows, salt).T).all())
    True
    """
    mixed = _mix_bits(rows + salt[0][:, None]) ^ salt[1][:, None]
    return _mix_bits(mixed) ^ torch.iinfo(torch.int32).min


def _mix_bits(mixed: torch.Tensor) -> torch.Tensor:
    """Return the keys after the finalizer of MurmurHash3.

    Shifts of signed integers repeat the sign, and masks remove these bits.
    """
    first, second = np.array(MIXERS, dtype=np.uint32).view(np.int32).tolist()
    mixed = (mixed ^ ((mixed >> 16) & 0xFFFF)) * first
    mixed = (mixed ^ ((mixed >> 13) & 0x7FFFF)) * second
    return mixed ^ ((mixed >> 16) & 0xFFFF)


@contextmanager
def exact_products() -> Iterator[None]:
    """Compute matrix products in full float32 within a `with` block.

    Afterwards the program's own precision is set again.
    """
    previous_precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(previous_precision)
