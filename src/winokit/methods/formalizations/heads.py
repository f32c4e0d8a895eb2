"""From what the encoder makes of a batch to one number per option, and from these to the losses that several share.

`FirstToken` and `Spans` are linear layers on the encoder's last states, without dropout or a layer between, as in Liu
et al.'s code; `head=dense` is allenai/winogrande's for RoBERTa: dropout, dense, tanh, dropout, linear. `MaskedWords`
has no weights of its own: it asks the language-modelling head. The last step is done in float32 whatever the encoder's
precision: options that differ by less than bfloat16 can tell would all be ties.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from winokit.methods.formalizations.base import Loss, Switches
from winokit.methods.formalizations.batch import NOWHERE, Batch
from winokit.models.hf_masked import only_at


class FirstToken(nn.Module):
    """A number from the state of a row's first token."""

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        width = config.hidden_size
        linear = nn.Linear(width, 1)
        if switches.get("head") == "dense":
            dropout = getattr(config, "hidden_dropout_prob", 0.1)
            layers = (nn.Dropout(dropout), nn.Linear(width, width), nn.Tanh(), nn.Dropout(dropout), linear)
            self.layers: nn.Module = nn.Sequential(*layers)
        else:
            self.layers = linear

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Numbers of shape (options,)."""
        first = encoder(**batch.texts).last_hidden_state[:, 0]
        return in_float32(self.layers, first[batch.row])


class Spans(nn.Module):
    """A number from the first token's state and the mean states of two spans, side by side."""

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        self.layers = nn.Linear(3 * config.hidden_size, 1)

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Numbers of shape (options,)."""
        states = encoder(**batch.texts).last_hidden_state[batch.row]
        found = batch.places != NOWHERE
        at = batch.places.clamp(min=0).flatten(1).unsqueeze(-1).expand(-1, -1, states.shape[-1])
        tokens = states.gather(1, at).view(*batch.places.shape, -1)
        means = (tokens * found.unsqueeze(-1)).sum(2) / found.sum(2, keepdim=True)
        return in_float32(self.layers, torch.cat([states[:, 0], means.flatten(1)], -1))


class MaskedWords(nn.Module):
    """The mean (or summed) log-probability of an option's pieces, all of them masked."""

    def __init__(self, config: Any, switches: Switches) -> None:
        super().__init__()
        self.mean = switches["reduce"] == "mean"
        self.gathers = True
        """Whether the language-modelling head may be given the masked positions only; told when a model is loaded."""

    def forward(self, encoder: Any, batch: Batch) -> Tensor:
        """Numbers of shape (options,)."""
        found = batch.tokens != NOWHERE
        rows = batch.row.unsqueeze(-1).expand_as(batch.tokens)
        places, tokens = batch.places[:, 0].clamp(min=0), batch.tokens.clamp(min=0)
        # Every option takes as many positions as the longest: a shape that is known without asking the device.
        flat = rows.flatten(), places.flatten()
        logits = self._logits(encoder, batch, *flat).float().view(*tokens.shape, -1)
        guessed = logits.gather(-1, tokens.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)
        total = (guessed * found).sum(-1)
        return total / found.sum(-1) if self.mean else total

    def _logits(self, encoder: Any, batch: Batch, rows: Tensor, places: Tensor) -> Tensor:
        logits: Tensor
        if self.gathers:
            with only_at(encoder.base_model, rows, places):  # type: ignore[arg-type]
                logits = encoder(**batch.texts).logits[0]
        else:
            logits = encoder(**batch.texts).logits[rows, places]
        return logits


def in_float32(layers: nn.Module, states: Tensor) -> Tensor:
    """One number per state, computed in float32."""
    with torch.autocast(states.device.type, enabled=False):
        numbers: Tensor = layers(states.float()).squeeze(-1)
    return numbers


def softmax(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Cross entropy of the right option against all options of its case."""
    # (cases, options); minus infinity where a case has fewer options than others
    table = torch.full((batch.cases, batch.widest), -math.inf, device=numbers.device, dtype=numbers.dtype)
    table = table.index_put((batch.case, batch.column), numbers)
    return functional.cross_entropy(table, batch.gold, reduction="sum"), batch.cases


def binary(numbers: Tensor, batch: Batch, switches: Switches) -> Loss:
    """Binary cross entropy of each option, right or wrong by itself."""
    return functional.binary_cross_entropy_with_logits(numbers, batch.right, reduction="sum"), len(numbers)
