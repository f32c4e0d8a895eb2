"""Float32 matrix products on x86 processors by oneDNN.

torch ships two libraries for them and takes MKL by default. On an AMD EPYC, oneDNN takes a seventh less time to score
WinoGrande with SmolLM2 (`benchmarks/scoring.py`), and answers differ by rounding alone.
"""

from __future__ import annotations

import platform
from functools import partial
from typing import Any

import torch


def multiply_with_onednn(network: torch.nn.Module) -> None:
    """Have the linear layers of a network multiply with oneDNN, where processor and precision allow it."""
    if platform.machine() not in ("x86_64", "AMD64") or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return
    for layer in network.modules():
        # Subclasses have their own ways with weights: quantised layers, adapters.
        if type(layer) is torch.nn.Linear and layer.weight.dtype == torch.float32 and layer.weight.device.type == "cpu":
            vars(layer)["forward"] = partial(_product, layer)


def _product(layer: Any, states: torch.Tensor) -> torch.Tensor:
    # The operation is the one that torch.compile emits for a linear layer; "none" is the activation after it.
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(states, layer.weight, layer.bias, "none", [], "")
    return product
