"""Encoded cases as tensors of one batch."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from winokit.methods.formalizations.inputs import Encoded, InputOption, InputRow

NOWHERE = -1
Table: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to read and options to score, each option with its row and case."""

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
        """Return the batch on another device."""
        if device.type == "cpu":
            return self
        # One copy for all: each by itself would cost as much as the largest.
        flat = self.flat()
        if device.type == "cuda":
            flat = flat.pin_memory()
        return self.over(flat.to(device, non_blocking=True))

    def flat(self) -> Tensor:
        """Return all tensors in one row of integers."""
        return torch.cat([tensor.flatten().long() for tensor in self._tensors_by_name().values()])

    def over(self, flat: Tensor) -> "Batch":
        """Return the batch that a row like `flat()` holds, in the shapes of this one.

        Only `right` is copied.
        """
        tensors = self._tensors_by_name()
        parts = torch.split(flat, [tensor.numel() for tensor in tensors.values()])
        moved: dict[str, Any] = {}
        for name, part in zip(tensors, parts, strict=True):
            moved[name] = part.view(tensors[name].shape)
        moved["right"] = moved["right"].float()
        return replace(self, **moved)

    def _tensors_by_name(self) -> dict[str, Tensor]:
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in values if isinstance(value, Tensor)}

    @property
    def texts(self) -> dict[str, Tensor]:
        """The arguments of the encoder."""
        texts = {"input_ids": self.ids, "attention_mask": self.attention}
        return texts if self.segments is None else {**texts, "token_type_ids": self.segments}

    @property
    def cases(self) -> int:
        """Number of cases."""
        return len(self.gold)


def collate(examples: Sequence[Encoded], pad: int, *, segments: bool = False) -> Batch:
    """Put examples into one batch, rows padded to the longest."""
    rows = list(chain.from_iterable(example.rows for example in examples))
    options = list(chain.from_iterable(example.options for example in examples))
    ids, attention, second = _pad_rows(rows, pad)
    row_counts = [len(example.rows) for example in examples]
    option_counts = [len(example.options) for example in examples]
    first_rows = np.cumsum([0, *row_counts[:-1]])
    case = np.repeat(np.arange(len(examples)), option_counts)
    column = np.concatenate([np.arange(count) for count in option_counts])
    row_in_case = [option.row for option in options]
    gold = [_gold_index(example) for example in examples]
    return Batch(
        ids=torch.from_numpy(ids),
        attention=torch.from_numpy(attention),
        segments=torch.from_numpy(second) if segments else None,
        row=torch.from_numpy(first_rows[case] + row_in_case),
        places=torch.from_numpy(_pad_places(options)),
        tokens=torch.from_numpy(_pad_lists([option.tokens for option in options])),
        case=torch.from_numpy(case),
        column=torch.from_numpy(column),
        right=torch.tensor([float(option.right or 0) for option in options]),
        gold=torch.tensor(gold),
        widest=max(option_counts),
    )


def _pad_rows(rows: Sequence[InputRow], pad: int) -> tuple[Table, Table, Table]:
    """Token ids, attention, and the second segment of rows, padded to the longest."""
    shape = (len(rows), max(len(row.ids) for row in rows))
    ids = np.full(shape, pad, np.int64)
    attention = np.zeros(shape, np.int64)
    second = np.zeros(shape, np.int64)
    for index, row in enumerate(rows):
        length = len(row.ids)
        ids[index, :length] = row.ids
        attention[index, :length] = 1
        second[index, row.second : length] = 1
    return ids, attention, second


def _pad_places(options: Sequence[InputOption]) -> Table:
    """Token positions as [option, span, position]; every option has as many spans."""
    span_count = len(options[0].places)
    if not span_count:
        return np.zeros((len(options), 0, 0), np.int64)
    spans = list(chain.from_iterable(option.places for option in options))
    return _pad_lists(spans).reshape(len(options), span_count, -1)


def _gold_index(example: Encoded) -> int:
    """Index of an example's right option, or `NOWHERE`."""
    rights = [option.right for option in example.options]
    return rights.index(True) if True in rights else NOWHERE


def _pad_lists(lists: Sequence[Sequence[int]]) -> Table:
    """The lists as rows of a table, padded with `NOWHERE`."""
    length = max(map(len, lists), default=0)
    table = np.full((len(lists), length), NOWHERE, np.int64)
    for row, values in zip(table, lists, strict=True):
        row[: len(values)] = values
    return table
