"""Count problems that vary together once, in intervals, tests, folds and nulls.

Problems of one group, of one text around the blank, of one sentence or made from one template are one unit, and so is
whatever they link (METHODS M.2). A dataset makes its units once, `Dataset.units`; whatever counts takes them, so that a
bare list of groups cannot stand in for them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput

DENSE = 8
"""Unit numbers up to this many times the number of rows are counted; larger ones are sorted."""


class Units:
    """Unit of each row, as numbers from 0 in order of appearance.

    Rows with equal numbers vary together. `Units.of_names` makes them from names, `Units.alone` for rows that are
    independent of one another.

    >>> units = Units.of_names(["a", None, "a", None])
    >>> units.numbers.tolist(), units.count, units.sizes.tolist()
    ([0, 1, 0, 2], 3, [2, 1, 1])
    """

    def __init__(self, numbers: NDArray[np.integer[Any]]) -> None:
        self.numbers: NDArray[np.int64] = _renumber_units(np.asarray(numbers))

    @classmethod
    def of_names(cls, names: Iterable[Hashable | None]) -> Units:
        """Make units from the name of each row's unit.

        A row whose name is None is its own unit.
        """
        numbers: dict[Hashable, int] = {}
        free = count()
        unit_numbers = []
        for name in names:
            key: Hashable = object() if name is None else name
            if key not in numbers:
                numbers[key] = next(free)
            unit_numbers.append(numbers[key])
        return cls(np.array(unit_numbers, np.int64))

    @classmethod
    def alone(cls, rows: int) -> Units:
        """Make units for independent rows. `rows` is their number."""
        return cls(np.arange(rows))

    def __len__(self) -> int:
        return len(self.numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Units) and np.array_equal(self.numbers, other.numbers)

    def __hash__(self) -> int:
        return hash(self.numbers.tobytes())

    def __repr__(self) -> str:
        return f"Units({len(self):,} rows, {self.count:,} units)"

    @cached_property
    def count(self) -> int:
        """Number of units."""
        return int(self.numbers.max()) + 1 if len(self.numbers) else 0

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows in each unit."""
        return np.bincount(self.numbers, minlength=self.count).astype(np.int64)

    @property
    def all_alone(self) -> bool:
        """Whether every row is a unit of its own."""
        return self.count == len(self)

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Units:
        """Units of some rows, in the order given.

        `rows` are indices, or a flag for each row.
        """
        if not len(rows):
            return Units(self.numbers[:0])
        return Units(self.numbers[np.asarray(rows)])

    def sums(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sum of the values of each unit's rows."""
        return np.bincount(self.numbers, weights=values, minlength=self.count).astype(np.float64)

    def largest(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Largest value of each unit's rows, at least 0."""
        largest = np.zeros(self.count)
        np.maximum.at(largest, self.numbers, values)
        return largest

    def rows(self) -> list[NDArray[np.int64]]:
        """Row indices of each unit, in order."""
        order = np.argsort(self.numbers, kind="stable")
        ends = np.cumsum(self.sizes)[:-1]
        return np.split(order.astype(np.int64), ends)


def require_units(units: Units, rows: int) -> Units:
    """Return `units` if they are Units of `rows` rows.

    Raises TypeError for anything else than `Units`, such as a list of groups, and BadInput for another length.
    """
    if not isinstance(units, Units):
        kind = type(units).__name__
        raise TypeError(f"expected Units, found {kind}: use Dataset.units, or Units.of_names(names)")
    if len(units) != rows:
        raise BadInput(f"expected columns of equal length, found {rows:,} values and {len(units):,} units")
    return units


def _renumber_units(numbers: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Renumber units from 0 in the order of appearance."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    if numbers.min() >= 0 and numbers.max() < DENSE * len(numbers):
        first_row = np.full(int(numbers.max()) + 1, len(numbers))
        np.minimum.at(first_row, numbers, np.arange(len(numbers)))
        present = np.flatnonzero(first_row < len(numbers))
        in_order = present[np.argsort(first_row[present], kind="stable")]
        new_number = np.empty(len(first_row), np.int64)
        new_number[in_order] = np.arange(len(in_order))
        renumbered: NDArray[np.int64] = new_number[numbers]
        return renumbered
    _, first_row, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first_row), np.int64)
    rank[np.argsort(first_row, kind="stable")] = np.arange(len(first_row))
    return rank[inverse].astype(np.int64)
