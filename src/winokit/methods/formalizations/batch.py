"""Encoded cases side by side as tensors."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from winokit.methods.formalizations.inputs import Encoded

NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to read and options to give numbers to, each with its place among the cases."""

    ids: Tensor
    attention: Tensor
    segments: Tensor | None
    row: Tensor
    """Of each option, its row."""
    places: Tensor
    """[option, span, position], filled up with `NOWHERE`."""
    tokens: Tensor
    """[option, position]: what the first span hides."""
    case: Tensor
    """Of each option, its case."""
    column: Tensor
    """Of each option, its index among those of its case."""
    right: Tensor
    """Of each option, 1 if it is right."""
    gold: Tensor
    """Of each case, the index of its right option; `NOWHERE` where none is known to be."""
    widest: int
    """Options of the case that has most."""

    def to(self, device: torch.device) -> "Batch":
        """The same on another device."""
        if device.type == "cpu":
            return self
        # One copy for all: each by itself would cost as much as the largest.
        flat = self.flat()
        if device.type == "cuda":
            flat = flat.pin_memory()
        return self.over(flat.to(device, non_blocking=True))

    def flat(self) -> Tensor:
        """All its tensors in a row, as whole numbers."""
        return torch.cat([tensor.flatten().long() for tensor in self._tensors().values()])

    def over(self, flat: Tensor) -> "Batch":
        """The batch that a row like `flat()` holds, of the shapes of this one and with no copy made but of `right`."""
        tensors = self._tensors()
        parts = torch.split(flat, [tensor.numel() for tensor in tensors.values()])
        pairs = zip(tensors.items(), parts, strict=True)
        moved: dict[str, Any] = {name: part.view(tensor.shape) for (name, tensor), part in pairs}
        return replace(self, **{**moved, "right": moved["right"].float()})

    def _tensors(self) -> dict[str, Tensor]:
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in named if isinstance(value, Tensor)}

    @property
    def texts(self) -> dict[str, Tensor]:
        """The arguments of the encoder."""
        texts = {"input_ids": self.ids, "attention_mask": self.attention}
        return texts if self.segments is None else {**texts, "token_type_ids": self.segments}

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return len(self.gold)


def collate(examples: Sequence[Encoded], pad: int, *, segments: bool = False) -> Batch:
    """Put examples into one batch, rows padded to the longest."""
    rows = [row for example in examples for row in example.rows]
    options = [option for example in examples for option in example.options]
    length = max(len(row.ids) for row in rows)
    ids = np.full((len(rows), length), pad, np.int64)
    attention = np.zeros((len(rows), length), np.int64)
    second = np.zeros((len(rows), length), np.int64)
    for at, row in enumerate(rows):
        ids[at, : len(row.ids)] = row.ids
        attention[at, : len(row.ids)] = 1
        second[at, row.second : len(row.ids)] = 1
    counts = [len(example.options) for example in examples]
    rights = [[option.right for option in example.options] for example in examples]
    starts = np.cumsum([0, *[len(example.rows) for example in examples[:-1]]])
    case = np.repeat(np.arange(len(examples)), counts)
    spans = len(options[0].places)
    places = _padded([span for option in options for span in option.places])
    places = places.reshape(len(options), spans, -1) if spans else np.zeros((len(options), 0, 0), np.int64)
    return Batch(
        ids=torch.from_numpy(ids),
        attention=torch.from_numpy(attention),
        segments=torch.from_numpy(second) if segments else None,
        row=torch.from_numpy(starts[case] + [option.row for option in options]),
        places=torch.from_numpy(places),
        tokens=torch.from_numpy(_padded([option.tokens for option in options])),
        case=torch.from_numpy(case),
        column=torch.from_numpy(np.concatenate([np.arange(count) for count in counts])),
        right=torch.tensor([float(option.right or 0) for option in options]),
        gold=torch.tensor([own.index(True) if True in own else NOWHERE for own in rights]),
        widest=max(counts),
    )


def _padded(lists: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
    table = np.full((len(lists), max(map(len, lists), default=0)), NOWHERE, np.int64)
    for row, values in zip(table, lists, strict=True):
        row[: len(values)] = values
    return table
