"""Data of a board: many models ranked on one page that opens offline.

The page can be searched, and the models of a family are folded into one line.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One model on a board.

    `single` is its share of problems right, with the interval from `low` to `high`. Any other share is None if there is
    nothing to compute it from.
    """

    name: str
    family: str
    """Rows of one family are folded below the first of them."""
    rank: int | None
    ranks: str
    """Its possible ranks among all: "4th to 9th"."""
    single: float
    low: float
    high: float
    told_apart: float | None = None
    right_way_round: float | None = None
    switched: float | None = None
    bounds: tuple[float, float] | None = None
    """Bounds of the share of pairs right, if only its share right is known."""
    link: str | None = None
    """Link from the page to its audit."""


@dataclass(frozen=True, slots=True)
class BoardFamily:
    """The rows of one family, the best first."""

    name: str
    rows: tuple[BoardRow, ...]


@dataclass(frozen=True, slots=True)
class DrawnBoard:
    """A board's families and columns, for the template.

    Families are in the order of their best row. `columns` are the optional columns in which any row has a value.
    """

    title: str
    families: tuple[BoardFamily, ...]
    columns: tuple[str, ...]
    first: int = 100
    """Number of families that the page shows at first."""

    @property
    def row_count(self) -> int:
        """Number of models on the board."""
        return sum(len(family.rows) for family in self.families)


COLUMNS = {
    "told_apart": "Told apart",
    "right_way_round": "Right way round",
    "switched": "Switched",
    "bounds": "Pairs, bounds",
}
"""Columns beside the share right, by the field of a row."""


def drawn_board(title: str, rows: Iterable[BoardRow]) -> DrawnBoard:
    """Build a board from rows, the best first.

    Rows of one family are put together, at the place of the first.
    """
    rows_by_family: dict[str, list[BoardRow]] = {}
    for row in rows:
        rows_by_family.setdefault(row.family, []).append(row)
    families = tuple(BoardFamily(name, tuple(members)) for name, members in rows_by_family.items())
    all_rows = list(chain.from_iterable(rows_by_family.values()))
    columns = tuple(name for name in COLUMNS if has_column(all_rows, name))
    return DrawnBoard(title, families, columns)


def has_column(rows: Sequence[BoardRow], name: str) -> bool:
    """Whether any row has a value in a column."""
    return any(getattr(row, name) is not None for row in rows)


def rank_words(best: int | None, worst: int | None) -> str:
    """Possible ranks of a model, in words.

    `best` and `worst` are None for a model without a rank.

    >>> rank_words(4, 9), rank_words(1, 1), rank_words(None, None)
    ('4th to 9th', '1st', '–')
    """
    if best is None or worst is None:
        return "–"
    if best == worst:
        return ordinal(best)
    return f"{ordinal(best)} to {ordinal(worst)}"


def ordinal(number: int) -> str:
    """Number with its ordinal ending, as ranks are written.

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 22, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd', '113th']
    """
    is_teen = 10 <= number % 100 <= 20
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if is_teen else endings.get(number % 10, "th")
    return f"{number:,}{ending}"
