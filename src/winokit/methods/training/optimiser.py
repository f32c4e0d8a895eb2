"""AdamW, a learning rate that rises and falls in straight lines, and the precision a device is good at."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

from winokit.errors import BadInput
from winokit.methods.training.settings import TrainSettings

EPSILON = 1e-8
FUSED = ("cuda", "cpu")
"""Devices on which a step of all weights is one kernel."""


def optimiser(model: torch.nn.Module, settings: TrainSettings) -> torch.optim.AdamW:
    """AdamW over all weights, fused into one kernel where there is one; weight decay is on every weight."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    fused = weights[0].device.type in FUSED
    return torch.optim.AdamW(
        weights, lr=settings.learning_rate, eps=EPSILON, weight_decay=settings.weight_decay, fused=fused
    )


def rate(step: int, steps: int, settings: TrainSettings) -> float:
    """The learning rate of a step: up from zero over the warm-up, then down to zero at the last.

    >>> [round(rate(step, 10, Settings(learning_rate=1.0, warmup=0.2)), 3) for step in (0, 1, 2, 6, 9)]
    [0.0, 0.5, 1.0, 0.5, 0.125]
    """
    rising = int(settings.warmup * steps)
    if step < rising:
        return settings.learning_rate * step / rising
    return settings.learning_rate * (steps - step) / max(1, steps - rising)


def lower_precision(device: torch.device, settings: TrainSettings) -> bool:
    """Whether the encoder trains in bfloat16; asked for where the device has none, that is said."""
    there = device.type == "cuda" and torch.cuda.is_bf16_supported()
    if settings.precision == "bfloat16" and not (there or device.type == "cpu"):
        raise BadInput(f"precision bfloat16: {device} has none; use float32")
    return settings.precision == "bfloat16" or (settings.precision == "auto" and there)


def autocast(device: torch.device, lower: bool) -> AbstractContextManager[object]:
    """Matrix products in bfloat16 inside, everything else and all weights in float32; nothing where not `lower`."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if lower else nullcontext()
