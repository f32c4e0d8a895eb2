"""What a step does to the weights: gradients of its batches added up, clipped, and one move of the optimiser.

The optimiser is AdamW, under a learning rate that rises and falls in straight lines, in the precision a device is good
at.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.nn.utils import clip_grad_norm_

from winokit.errors import BadInput
from winokit.methods.formalizations.batch import Batch
from winokit.methods.formalizations.network import Network
from winokit.methods.training.settings import TrainSettings

EPSILON = 1e-8
FUSED = ("cuda", "cpu")
"""Devices on which a step of all weights is one kernel."""


class Stepper:
    """A network and its optimiser, launched operation by operation."""

    def __init__(self, network: Network, settings: TrainSettings) -> None:
        self.network, self.settings = network, settings
        weights = [weight for weight in network.parameters() if weight.requires_grad]
        self.optimiser = torch.optim.AdamW(
            weights,
            lr=settings.learning_rate,
            eps=EPSILON,
            weight_decay=settings.weight_decay,
            fused=network.device.type in FUSED,
        )
        self.lower = lower_precision(network.device, settings)
        self.running = torch.zeros((), device=network.device)
        """The loss since it was last set to zero, summed; asking for it waits for the device."""
        self.notes: list[str] = []
        self._make_ready()

    def working(self) -> AbstractContextManager[object]:
        """Where steps are to be taken."""
        return nullcontext()

    def load(self, state: dict[str, Any]) -> None:
        """Put the optimiser where a checkpoint says it stood."""
        self.optimiser.load_state_dict(state)
        self._make_ready()

    def count(self, batch: Batch) -> int:
        """Over how many a batch's loss is a mean, told before anything is read."""
        return self._loss(torch.zeros(len(batch.row), device=batch.row.device), batch)[1]

    def add(self, batch: Batch, over: int | None = None) -> int:
        """Add the gradients of a batch's loss, a mean over `over` if it is part of a step; says over how many it is.

        The batch may lie on the CPU.
        """
        return self._read(batch.to(self.network.device), over)

    def move(self, learning_rate: float) -> None:
        """Move the weights, and forget the gradients."""
        self._set_rate(learning_rate)
        self._clip()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)

    def _read(self, batch: Batch, over: int | torch.Tensor | None) -> int:
        """Forward and backward; `over` may be a share on the device, for a pass that is used again and again."""
        # Matrix products in bfloat16 where that is wanted, everything else and all weights in float32.
        with torch.autocast(self.network.device.type, dtype=torch.bfloat16, enabled=self.lower):
            numbers = self.network(batch)
        total, count = self._loss(numbers, batch)
        mean = total * over if isinstance(over, torch.Tensor) else total / (over or count)
        mean.backward()  # type: ignore[no-untyped-call]
        self.running += total.detach()
        return count

    def _loss(self, numbers: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, int]:
        formalization = self.network.formalization
        return formalization.definition.loss(numbers, batch, formalization.switches)

    def _make_ready(self) -> None:
        """Set what is a matter of the device, which need not be the one a checkpoint was written on."""
        for group in self.optimiser.param_groups:
            group["capturable"] = False

    def _set_rate(self, learning_rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate

    def _clip(self) -> None:
        if self.settings.clip:
            clip_grad_norm_(self.network.parameters(), self.settings.clip)


def rate(step: int, steps: int, settings: TrainSettings) -> float:
    """The learning rate of a step: up from zero over the warm-up, then down to zero at the last.

    >>> [round(rate(step, 10, TrainSettings(learning_rate=1.0, warmup=0.2)), 3) for step in (0, 1, 2, 6, 9)]
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
