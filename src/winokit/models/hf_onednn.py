"""Float32 matrix products on x86 processors by oneDNN, whose weights are laid out for it once, when a model is loaded.

torch multiplies float32 matrices with MKL by default. On an AMD EPYC the same products by oneDNN, which torch ships too,
take a sixth less time (`benchmarks/scoring.py`); answers differ by rounding alone.
"""

from __future__ import annotations

import platform
from functools import partial
from typing import Any

import torch

ROWS = 512
"""How many tokens a product is laid out for; others are multiplied as well, if a little slower."""


def multiply_with_onednn(network: torch.nn.Module) -> None:
    """Change the linear layers of a network in place, where processor and precision allow it.

    The network can then be asked, and no longer saved or trained.
    """
    if platform.machine() not in ("x86_64", "AMD64") or not torch.backends.mkldnn.is_available():
        return
    for layer in network.modules():
        # Subclasses have their own ways with weights: quantised layers, adapters.
        if type(layer) is torch.nn.Linear and layer.weight.dtype == torch.float32 and layer.weight.device.type == "cpu":
            _repack(layer)


@torch.no_grad()
def _repack(layer: Any) -> None:
    """Keep the weight in oneDNN's layout only; an embedding tied to it keeps its own."""
    weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.data, ROWS)
    layer.weight = torch.nn.Parameter(weight, requires_grad=False)
    layer.forward = partial(_product, layer)


def _product(layer: Any, states: torch.Tensor) -> torch.Tensor:
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(states, layer.weight, layer.bias, "none", [], "")
    return product
