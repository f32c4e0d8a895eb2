"""The losses that several formalizations share: a sum over a batch, and of how many."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from winokit.methods.formalizations.base import Loss
from winokit.methods.formalizations.batch import Batch


def softmax(numbers: Tensor, batch: Batch) -> Loss:
    """Cross entropy of the right option against all options of its case."""
    return functional.cross_entropy(side_by_side(numbers, batch), batch.gold, reduction="sum"), batch.cases


def binary(numbers: Tensor, batch: Batch) -> Loss:
    """Cross entropy of right against wrong, of each option by itself."""
    return functional.binary_cross_entropy_with_logits(numbers, batch.right, reduction="sum"), len(numbers)


def side_by_side(numbers: Tensor, batch: Batch) -> Tensor:
    """[case, option]; minus infinity where a case has fewer options than others."""
    table = torch.full((batch.cases, batch.widest), -math.inf, device=numbers.device, dtype=numbers.dtype)
    return table.index_put((batch.case, batch.column), numbers)
