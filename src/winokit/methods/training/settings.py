"""How to train: everything but the data and the model.

The defaults are those the WinoGrande authors give for RoBERTa-large (8 epochs at 1e-5, 16 problems a batch, warm-up
over a tenth of the steps, no weight decay, gradients clipped at 1). Liu et al. search over 1e-5 to 3e-5, 8 to 64
problems and 10 to 40 epochs, with a weight decay of 0.001 on every weight. Small models want a higher rate.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from winokit.errors import BadInput, UnknownName

PRECISIONS = ("auto", "float32", "bfloat16")
KEEP = ("best", "last")
SEEDS = 2**63
"""Seeds are below this: torch takes none that is higher."""


@dataclass(frozen=True)
class TrainSettings:
    """One training run."""

    formalization: str = "mc-mlm"
    learning_rate: float = 1e-5
    epochs: int = 8
    steps: int | None = None
    """At most this many steps; the learning rate falls to zero over these."""
    batch_size: int = 16
    """Problems in a batch (single options, for formalizations that train pointwise)."""
    tokens: int | None = None
    """Tokens in a batch, padding counted, in place of a number of problems."""
    accumulate: int = 1
    """Batches whose gradients are added up before a step."""
    warmup: float = 0.1
    """Share of the steps over which the learning rate rises."""
    weight_decay: float = 0.0
    clip: float = 1.0
    """Longest gradient; 0 for no limit."""
    seed: int = 0
    """Of the head's first weights, of dropout and of the order of batches."""
    evaluate_every: int | None = None
    """Steps between evaluations on the dev set; None for once an epoch."""
    patience: int | None = None
    """Evaluations without a better one after which training stops."""
    keep: str = "best"
    """The weights that are best on the dev set, or the last."""
    precision: str = "auto"
    """Of the encoder in training; `auto` is bfloat16 on a GPU that has it, else float32."""
    checkpoint_every: int | None = None
    """Steps between checkpoints; None for every few minutes, 0 for none."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "accumulate"):
            _at_least(name, getattr(self, name), 1)
        for name in ("steps", "tokens", "evaluate_every", "patience"):
            if getattr(self, name) is not None:
                _at_least(name, getattr(self, name), 1)
        for name in ("clip", "weight_decay", "seed"):
            _at_least(name, getattr(self, name), 0)
        if self.seed >= SEEDS:
            raise BadInput(f"seed: a number below 2^63 expected, found {self.seed}")
        if not (self.learning_rate > 0 and math.isfinite(self.learning_rate)):
            raise BadInput(f"learning_rate: a number above 0 expected, found {self.learning_rate}")
        if not 0 <= self.warmup < 1:
            raise BadInput(f"warmup: a share of the steps below 1 expected, found {self.warmup}")
        if self.precision not in PRECISIONS:
            raise UnknownName("precision", self.precision, PRECISIONS)
        if self.keep not in KEEP:
            raise UnknownName("choice of weights", self.keep, KEEP)

    def identity(self) -> dict[str, Any]:
        """Whatever decides the weights; how often a checkpoint is written does not."""
        told = asdict(self)
        del told["checkpoint_every"]
        return told


def _at_least(name: str, value: float, least: int) -> None:
    if not (value >= least and math.isfinite(value)):
        raise BadInput(f"{name}: {least} or more expected, found {value}")
