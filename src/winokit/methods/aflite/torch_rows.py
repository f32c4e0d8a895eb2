"""The rows AFLite works on, in torch: the same as `rows.NumpyRows`, all at once, on a GPU or the CPU.

Products of float32 are never rounded to tf32: with its ten bits the solver stalls.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from winokit.methods.aflite.inputs import Floats, Ints, precision
from winokit.methods.aflite.rows import MIXERS, FeatureRows, FitPlan, train_sizes

LOW = 0xFFFFFFFF


class TorchRows(FeatureRows):
    """Rows on a torch device."""

    def __init__(self, X: Floats, y: Ints, units: Ints, numbers: Ints, plan: FitPlan, device: str) -> None:
        self.device = torch.device(device)
        self.dtype: torch.dtype = getattr(torch, precision(X))
        self.width = X.shape[1]
        self.plan = plan
        self.numbers = numbers.copy()
        self.weights = torch.zeros(len(numbers), dtype=self.dtype, device=self.device)
        whole = len(numbers) == len(X) and bool((numbers == np.arange(len(X))).all())
        self._X = self.from_numpy(X if whole and isinstance(X, np.ndarray) else X[numbers])
        self._y = self.from_numpy(y[numbers])
        self._units = torch.as_tensor(units[numbers], device=self.device)
        self._strata = torch.as_tensor(plan.strata_of(y[numbers]), device=self.device)
        self._train = torch.empty(0)
        self._odds = torch.empty(0)

    def zeros(self, height: int, width: int) -> torch.Tensor:
        return torch.zeros(height, width, dtype=self.dtype, device=self.device)

    def to_numpy(self, array: torch.Tensor) -> Any:
        return array.cpu().numpy()

    def from_numpy(self, array: Floats) -> torch.Tensor:
        # A file opened for reading only is not torch's to wrap, so it is copied.
        tensor = torch.as_tensor(array if array.flags.writeable else np.array(array))
        return tensor.to(self.device, self.dtype)

    def inverse(self, matrix: torch.Tensor, ridge: torch.Tensor) -> torch.Tensor:
        full = matrix.to(torch.float64)
        full = full + torch.diag(ridge[:, 0].to(torch.float64) + 1e-10 * full.diagonal().mean())
        return torch.cholesky_inverse(torch.linalg.cholesky(full)).to(self.dtype)

    def draw(self, phase: int) -> None:
        salt = torch.as_tensor(self.plan.salts(phase).astype(np.int64))
        drawn = torch_keys(self._units, salt.to(self.device))
        counts = torch.bincount(self._strata, minlength=self.plan.strata).tolist()
        limits = torch.stack(
            [
                drawn[self._strata == stratum].kthvalue(wanted, dim=0).values if wanted else drawn[0] * 0
                for stratum, wanted in enumerate(train_sizes(counts, self.plan.train_size))
            ]
        )
        self._train = (drawn <= limits[self._strata]).to(self.dtype)

    def gradient(self, theta: torch.Tensor) -> torch.Tensor:
        with exact_products():
            self._odds = torch.addmm(theta[-1], self._X, theta[:-1])
            rest = (torch.sigmoid(self._odds) - self._y[:, None]) * self._train
            self._odds = self._odds.expand_as(rest)
            return torch.cat([self._X.T @ rest, rest.sum(0, keepdim=True)])

    def gram(self, theta: torch.Tensor) -> torch.Tensor:
        chances = torch.sigmoid(self._X @ theta[:-1, 0] + theta[-1, 0])
        self.weights = chances * (1 - chances)
        return self._weighted_gram(slice(None))

    def votes(self) -> tuple[Ints, Ints]:
        held_out = self._train == 0
        right = ((self._odds > 0) == (self._y[:, None] > 0)) & held_out
        return right.sum(1).cpu().numpy(), held_out.sum(1).cpu().numpy()

    def drop(self, positions: Ints) -> torch.Tensor:
        places = torch.as_tensor(positions, device=self.device)
        lost = self._weighted_gram(places)
        stay = torch.ones(self.count, dtype=torch.bool, device=self.device)
        stay[places] = False
        for name in ("weights", "_X", "_y", "_units", "_strata"):
            setattr(self, name, getattr(self, name)[stay])
        self.numbers = np.delete(self.numbers, positions)
        return lost

    def _weighted_gram(self, rows: Any) -> torch.Tensor:
        root = self.weights[rows].sqrt()[:, None]
        with exact_products():
            scaled = torch.cat([self._X[rows] * root, root], dim=1)
            return scaled.T @ scaled


def torch_keys(rows: Any, salt: Any) -> Any:
    """As `rows.keys`, in torch, which has no products of unsigned 32-bit numbers: 64 bits, cut after every product."""
    mixed = (rows[:, None] + salt[0]) & LOW
    mixed = _mix(mixed) ^ salt[1]
    return _mix(mixed)


def _mix(mixed: Any) -> Any:
    mixed = ((mixed ^ (mixed >> 16)) * MIXERS[0]) & LOW
    mixed = ((mixed ^ (mixed >> 13)) * MIXERS[1]) & LOW
    return mixed ^ (mixed >> 16)


@contextmanager
def exact_products() -> Iterator[None]:
    """Products in full float32, whatever the program around has asked for."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
