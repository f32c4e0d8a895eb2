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
    """Encoded cases as tensors: rows of tokens, and options with their row and case."""

    ids: Tensor
    """Token ids as [row, position], padded."""
    attention: Tensor
    """1 for each token, 0 for padding."""
    segments: Tensor | None
    """1 for each token of a row's second segment; None for models without segments."""
    row: Tensor
    """Index of each option's row."""
    places: Tensor
    """Token positions as [option, span, index], padded with `NOWHERE`."""
    tokens: Tensor
    """Ids of the hidden tokens as [option, index], padded with `NOWHERE`."""
    case: Tensor
    """Index of each option's case."""
    column: Tensor
    """Index of each option among those of its case."""
    right: Tensor
    """1 for each option that is right, else 0."""
    gold: Tensor
    """Index of each case's right option, or `NOWHERE` if none is known to be right."""
    widest: int
    """Largest number of options of a case."""

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
        """Return all tensors one after the other, as one row of integers."""
        tensors = self._tensors_by_name().values()
        return torch.cat([tensor.flatten().long() for tensor in tensors])

    def over(self, flat: Tensor) -> "Batch":
        """Return a batch of the same shapes with the values of a row made by `flat`.

        Its tensors are views of the row, except `right`, which is a copy.
        """
        tensors = self._tensors_by_name()
        sizes = [tensor.numel() for tensor in tensors.values()]
        parts = torch.split(flat, sizes)
        views: dict[str, Any] = {}
        for name, part in zip(tensors, parts, strict=True):
            views[name] = part.view(tensors[name].shape)
        views["right"] = views["right"].float()
        return replace(self, **views)

    def _tensors_by_name(self) -> dict[str, Tensor]:
        """Return the tensors of all fields, in the order of the fields."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in values if isinstance(value, Tensor)}

    @property
    def texts(self) -> dict[str, Tensor]:
        """The encoder's arguments by name."""
        texts = {"input_ids": self.ids, "attention_mask": self.attention}
        if self.segments is not None:
            texts["token_type_ids"] = self.segments
        return texts

    @property
    def cases(self) -> int:
        """Number of cases."""
        return len(self.gold)


def collate(examples: Sequence[Encoded], pad: int, *, segments: bool = False) -> Batch:
    """Put examples into one batch on the CPU, rows padded to the longest.

    `pad` is the id of the padding token. With `segments`, the batch has the second segment of each row.
    """
    rows = list(chain.from_iterable(example.rows for example in examples))
    options = list(chain.from_iterable(example.options for example in examples))
    ids, attention, second = _pad_rows(rows, pad)
    row_counts = [len(example.rows) for example in examples]
    option_counts = [len(example.options) for example in examples]
    first_rows = np.cumsum([0, *row_counts[:-1]])
    case = np.repeat(np.arange(len(examples)), option_counts)
    column = np.concatenate([np.arange(count) for count in option_counts])
    row_in_case = [option.row for option in options]
    row = first_rows[case] + row_in_case
    places = _pad_places(options)
    tokens = _pad_lists([option.tokens for option in options])
    right = [float(option.right or 0) for option in options]
    gold = [_gold_index(example) for example in examples]
    return Batch(
        ids=torch.from_numpy(ids),
        attention=torch.from_numpy(attention),
        segments=torch.from_numpy(second) if segments else None,
        row=torch.from_numpy(row),
        places=torch.from_numpy(places),
        tokens=torch.from_numpy(tokens),
        case=torch.from_numpy(case),
        column=torch.from_numpy(column),
        right=torch.tensor(right),
        gold=torch.tensor(gold),
        widest=max(option_counts),
    )


def _pad_rows(rows: Sequence[InputRow], pad: int) -> tuple[Table, Table, Table]:
    """Return token ids, attention and second segment of rows, padded to the longest."""
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
    """Return token positions as [option, span, index], padded with `NOWHERE`.

    All options have the same number of spans.
    """
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
    """Return the lists as rows of a table, padded with `NOWHERE`."""
    length = max(map(len, lists), default=0)
    table = np.full((len(lists), length), NOWHERE, np.int64)
    for row, values in zip(table, lists, strict=True):
        row[: len(values)] = values
    return table
