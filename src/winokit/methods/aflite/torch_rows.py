"""The rows AFLite works on, in torch: the same as `rows.NumpyRows`, all at once, on a GPU or the CPU.

Products of float32 are never rounded to tf32: with its ten bits the solver stalls.
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
"""Share of the rows held that are still in use, below which a GPU lets the others go and records again."""
REFINEMENTS = 2  # of an inverse, from one phase to the next


class TorchRows(FeatureRows):
    """Rows on a torch device.

    The rows in use lie at the front. On a GPU some that have left may lie behind them, as rows that train nothing, so
    that arrays keep their shapes and a recorded fit can be played again.
    """

    def __init__(self, X: Floats, y: Ints, units: Ints, numbers: Ints, plan: FitPlan, device: str) -> None:
        self.device = torch.device(device)
        self.runs_ahead = self.device.type == "cuda"
        self.dtype: torch.dtype = getattr(torch, precision(X))
        self.width = X.shape[1]
        self.plan = plan
        self.numbers = numbers.copy()
        self.weights = torch.zeros(len(numbers), dtype=self.dtype, device=self.device)
        whole = len(numbers) == len(X) and bool((numbers == np.arange(len(X))).all())
        self._X = self.from_numpy(X if whole and isinstance(X, np.ndarray) else X[numbers])
        self._y = self.from_numpy(y[numbers])
        self._units = torch.as_tensor(units[numbers].astype(np.uint32).view(np.int32), device=self.device)
        self._strata = torch.as_tensor(plan.strata_of(y[numbers]), device=self.device)
        self._train = self.zeros(plan.classifiers, len(numbers))
        self._odds = self.zeros(plan.classifiers, len(numbers))
        self._inverse = self.zeros(0, 0)  # the last one, in float64
        self._recording: _Recording | None = None

    def zeros(self, height: int, width: int) -> torch.Tensor:
        return torch.zeros(height, width, dtype=self.dtype, device=self.device)

    def to_numpy(self, array: torch.Tensor) -> Any:
        return array.cpu().numpy()

    def from_numpy(self, array: Floats) -> torch.Tensor:
        # A file opened for reading only is not torch's to wrap, so it is copied; rows move when others leave.
        tensor = torch.as_tensor(array if array.flags.writeable else np.array(array))
        return tensor.to(self.device, self.dtype, copy=True)

    def inverse(self, matrix: torch.Tensor, ridge: torch.Tensor) -> torch.Tensor:
        self._inverse = torch.cholesky_inverse(torch.linalg.cholesky(_add_ridge(matrix, ridge)))
        return self._inverse.to(self.dtype)

    def refined_inverse(self, matrix: torch.Tensor, ridge: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # From the inverse of the phase before, Newton's iteration (Schulz, 1933) takes a few products.
        full = _add_ridge(matrix, ridge)
        for _ in range(REFINEMENTS):
            rest = -(full @ self._inverse)
            rest.diagonal().add_(1)
            self._inverse = self._inverse + self._inverse @ rest
        return self._inverse.to(self.dtype), rest.square().sum()

    def recorded(self, work: Callable[..., Iterator[T]], steps: int, *arrays: Any) -> T:
        if self.device.type != "cuda":
            return super().recorded(work, steps, *arrays)
        if self._recording is None:
            self._recording = _Recording(work, arrays)
        result: T = self._recording.play(steps, arrays)
        return result

    def look(self, numbers: Sequence[torch.Tensor]) -> list[float]:
        looked: list[float] = torch.stack([number.double() for number in numbers]).tolist()
        return looked

    def draw(self, phase: int) -> None:
        salt = self._send_integers(self.plan.salts(phase).view(np.int32))
        drawn = torch_keys(self._units[: self.count], salt)
        if self.plan.strata == 1:
            limits = drawn.kthvalue(self.plan.train_size, dim=1, keepdim=True).values
        else:
            strata = self._strata[: self.count]
            sizes = train_sizes(torch.bincount(strata, minlength=self.plan.strata).tolist(), self.plan.train_size)
            none = torch.full_like(drawn[:, 0], torch.iinfo(torch.int32).min)
            of_stratum = [drawn[:, strata == stratum] for stratum in range(self.plan.strata)]
            thresholds = [
                own.kthvalue(wanted, dim=1).values if wanted else none
                for own, wanted in zip(of_stratum, sizes, strict=True)
            ]
            limits = torch.stack(thresholds, dim=1)[:, strata]
        self._train[:, : self.count] = drawn <= limits
        self._train[:, self.count :] = 0

    def gradient(self, theta: torch.Tensor) -> torch.Tensor:
        with exact_products():
            odds = torch.addmm(theta[-1][:, None], theta[:-1].T, self._X.T)
            rest = (torch.sigmoid(odds) - self._y) * self._train
            self._odds.copy_(odds)
            return torch.cat([rest @ self._X, rest.sum(1, keepdim=True)], dim=1).T.contiguous()

    def gram(self, theta: torch.Tensor) -> torch.Tensor:
        chances = torch.sigmoid(self._X[: self.count] @ theta[:-1, 0] + theta[-1, 0])
        self.weights = chances * (1 - chances)
        return self._compute_weighted_gram(slice(self.count))

    def votes(self) -> tuple[Ints, Ints]:
        held_out = self._train[:, : self.count] == 0
        right = ((self._odds[:, : self.count] > 0) == (self._y[: self.count] > 0)) & held_out
        right_votes, made = torch.stack([right.sum(0), held_out.sum(0)]).int().cpu().numpy().astype(np.int64)
        return right_votes, made

    def drop(self, positions: Ints) -> torch.Tensor:
        gaps, movers = moves(self.count, positions)
        places = self._send_integers(np.concatenate([positions, gaps, movers]))
        gone, to, of = torch.tensor_split(places, [len(positions), len(positions) + len(gaps)])
        lost = self._compute_weighted_gram(gone)
        for rows in (self.weights, self._X, self._y, self._units, self._strata):
            rows[to] = rows[of]
        self.numbers[gaps] = self.numbers[movers]
        self.numbers = self.numbers[: self.count - len(positions)]
        self.weights = self.weights[: self.count]
        if not self.runs_ahead or self.count < LEAST_FILLED * len(self._X):
            self._trim_arrays()
        return lost

    def _trim_arrays(self) -> None:
        """Let go of the rows that have left."""
        self._recording = None
        for name in ("_X", "_y", "_units", "_strata"):
            setattr(self, name, getattr(self, name)[: self.count])
        self._train, self._odds = (torch.zeros_like(rows[:, : self.count]) for rows in (self._train, self._odds))

    def _send_integers(self, array: npt.NDArray[Any]) -> torch.Tensor:
        """Return integers on the device, without waiting for a GPU."""
        tensor = torch.from_numpy(array)
        return tensor.pin_memory().to(self.device, non_blocking=True) if self.device.type == "cuda" else tensor

    def _compute_weighted_gram(self, rows: Any) -> torch.Tensor:
        root = self.weights[rows].sqrt()[:, None]
        with exact_products():
            scaled = torch.cat([self._X[rows] * root, root], dim=1)
            return scaled.T @ scaled


class _Recording:
    """Steps on a GPU, recorded once as CUDA graphs and replayed.

    Results stay valid until the next replay.
    """

    def __init__(self, work: Callable[..., Iterator[Any]], arrays: Sequence[torch.Tensor]) -> None:
        self._inputs = [array.clone() for array in arrays]
        self._work = work(*self._inputs)
        self._steps: list[tuple[torch.cuda.CUDAGraph, Any]] = []
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def play(self, steps: int, arrays: Sequence[torch.Tensor]) -> Any:
        """Run the start and so many steps on these arrays."""
        for held, array in zip(self._inputs, arrays, strict=True):
            held.copy_(array)
        while len(self._steps) <= steps:
            self._record_steps()
        for graph, _ in self._steps[: steps + 1]:
            graph.replay()
        return self._steps[steps][1]

    def _record_steps(self) -> None:
        # Not torch.cuda.graph, which first collects all garbage and gives all memory back, and takes ten times as long.
        here = torch.cuda.current_stream()
        graph = torch.cuda.CUDAGraph()
        self._stream.wait_stream(here)
        collecting = gc.isenabled()
        gc.disable()  # a graph of somebody else's that is let go on the way would break the recording off
        try:
            with torch.cuda.stream(self._stream):
                graph.capture_begin(pool=self._pool, capture_error_mode="relaxed")
                self._steps.append((graph, next(self._work)))
                graph.capture_end()
        finally:
            if collecting:
                gc.enable()
        here.wait_stream(self._stream)


def _add_ridge(matrix: torch.Tensor, ridge: torch.Tensor) -> torch.Tensor:
    full = matrix.to(torch.float64)
    full.diagonal().add_(ridge[:, 0] + 1e-10 * full.diagonal().mean())
    return full


def torch_keys(rows: torch.Tensor, salt: torch.Tensor) -> torch.Tensor:
    """As `rows.keys`, one row per classifier, less 2³¹: torch has no unsigned products, but signed ones wrap the same.

    >>> from winokit.methods.aflite.rows import keys, salts
    >>> rows, salt = np.arange(9, dtype=np.uint32), salts(0, 1, range(4))
    >>> mixed = torch_keys(torch.as_tensor(rows.view(np.int32)), torch.as_tensor(salt.view(np.int32)))
    >>> bool((mixed.numpy().astype(np.int64) + 2**31 == keys(rows, salt).T).all())
    True
    """
    mixed = _mix_bits(rows + salt[0][:, None]) ^ salt[1][:, None]
    return _mix_bits(mixed) ^ torch.iinfo(torch.int32).min


def _mix_bits(mixed: torch.Tensor) -> torch.Tensor:
    """Mix the bits of a key. Copies of the sign that shifts bring in are cut off."""
    first, second = np.array(MIXERS, dtype=np.uint32).view(np.int32).tolist()
    mixed = (mixed ^ ((mixed >> 16) & 0xFFFF)) * first
    mixed = (mixed ^ ((mixed >> 13) & 0x7FFFF)) * second
    return mixed ^ ((mixed >> 16) & 0xFFFF)


@contextmanager
def exact_products() -> Iterator[None]:
    """Products in full float32, whatever the program around has asked for."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
