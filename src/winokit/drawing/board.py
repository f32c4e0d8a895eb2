"""A board of many models that can be read: ranked, families folded, searchable, on one page that opens offline."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One model on a board. Shares are None where there is nothing to take them from."""

    name: str
    family: str
    """Rows of one family are folded below the first of them."""
    rank: int | None
    ranks: str
    """Where it may be among all: "4th to 9th"."""
    single: float
    low: float
    high: float
    told_apart: float | None = None
    right_way_round: float | None = None
    switched: float | None = None
    bounds: tuple[float, float] | None = None
    """Between what the share of pairs right must be, if only its share right is known."""
    link: str | None = None
    """Its audit, seen from the page."""


@dataclass(frozen=True, slots=True)
class BoardFamily:
    """The rows of one family, the best first."""

    name: str
    rows: tuple[BoardRow, ...]


@dataclass(frozen=True, slots=True)
class DrawnBoard:
    """A board as its template draws it: which columns have anything, and the families by their best row."""

    title: str
    families: tuple[BoardFamily, ...]
    columns: tuple[str, ...]
    first: int = 100
    """Families that the page shows at first."""

    @property
    def row_count(self) -> int:
        """How many models there are."""
        return sum(len(family.rows) for family in self.families)


COLUMNS = {
    "told_apart": "Told apart",
    "right_way_round": "Right way round",
    "switched": "Switched",
    "bounds": "Pairs, bounds",
}
"""Columns beside the share right, by the field of a row."""


def drawn_board(title: str, rows: Iterable[BoardRow]) -> DrawnBoard:
    """The board of some rows, which come in order."""
    by_family: dict[str, list[BoardRow]] = {}
    for row in rows:
        by_family.setdefault(row.family, []).append(row)
    families = tuple(BoardFamily(name, tuple(own)) for name, own in by_family.items())
    columns = tuple(name for name in COLUMNS if any(has_column(family.rows, name) for family in families))
    return DrawnBoard(title, families, columns)


def has_column(rows: Sequence[BoardRow], name: str) -> bool:
    """Whether any row has a value in a column."""
    return any(getattr(row, name) is not None for row in rows)


def rank_words(best: int | None, worst: int | None) -> str:
    """Where a model may be among all, in words.

    >>> rank_words(4, 9), rank_words(1, 1), rank_words(None, None)
    ('4th to 9th', '1st', '–')
    """
    if best is None or worst is None:
        return "–"
    return ordinal(best) if best == worst else f"{ordinal(best)} to {ordinal(worst)}"


def ordinal(number: int) -> str:
    """A number as a place.

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 22, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd', '113th']
    """
    is_teen = 10 <= number % 100 <= 20
    ending = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
