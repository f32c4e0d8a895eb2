"""Where rows are worked on: NumPy on this machine's cores, torch on cpu or cuda."""

from __future__ import annotations

import importlib.util
import shutil
from typing import Any

import numpy as np

from winokit.errors import BadInput, MissingExtra, UnknownName
from winokit.methods.aflite.algebra import Floats
from winokit.methods.aflite.rows import FeatureRows, FitPlan, Ints, NumpyRows

BACKENDS = ("auto", "numpy", "torch", "torch:cpu", "torch:cuda", "ray")


def chosen(backend: str) -> str:
    """The backend that "auto" means here: torch where it sees a GPU, else NumPy."""
    if backend not in BACKENDS:
        raise UnknownName("backend", backend, BACKENDS)
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


def hold(
    X: Floats, y: Ints, units: Ints, strata: Ints, numbers: Ints, plan: FitPlan, backend: str, **options: Any
) -> FeatureRows:
    """The rows with these numbers, in this order, on the backend; `options` are Ray's workers and address."""
    if backend == "ray":
        from winokit.methods.aflite.ray_rows import RayRows

        return RayRows(X, y, units, strata, numbers, plan, **options)
    if backend == "numpy":
        return NumpyRows(X, y, units, strata, numbers, plan)
    from winokit.methods.aflite.torch_rows import TorchRows

    return TorchRows(X, y, units, strata, numbers, plan, backend.removeprefix("torch:"))


def precision(X: Floats) -> str:
    """Doubles are worked on as doubles, everything else as float32."""
    return "float64" if X.dtype == np.float64 else "float32"
