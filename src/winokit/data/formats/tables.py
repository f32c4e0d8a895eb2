"""Tables, in whatever file they come: csv with any delimiter, JSON, JSON lines, Parquet; and columns by their names.

Files are UTF-8 or UTF-16. What a table is to be read as is said by `--columns role=column,…`.
"""

import io
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import digits
from typing import Any

from winokit.data.formats.fields import shown
from winokit.data.formats.source import Source, decode_head, read_bytes
from winokit.errors import BadInput, Malformed, UnknownName, needing
from winokit.problem import grouped

WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How Excel's files begin, the new and the old ones."""
LIST = "list"
"""The column that says in which of several lists of a JSON object a row stands."""
TableRow = tuple[int | str, dict[str, Any]]
"""Where a row stands, a line's number or "row 3", and its cells by column: texts, or what JSON or Parquet has there."""


@dataclass(frozen=True)
class Table:
    """The columns of a file in their order, and its rows."""

    path: str
    columns: tuple[str, ...]
    rows: Sequence[TableRow]

    def places(self, columns: Mapping[str, str]) -> dict[str, str]:
        """Roles with the columns as the file spells them; upper and lower case count only where they must.

        A column that is not there is an error that lists those that are.
        """
        folded = grouped((name.casefold(), name) for name in self.columns)
        places = {}
        for role, column in columns.items():
            alike = [column] if column in self.columns else folded.get(column.strip().casefold(), [])
            if len(alike) != 1:
                raise BadInput(f"{self.path}: no column {column!r} for {role!r}; it has {', '.join(self.columns)}")
            places[role] = alike[0]
        return places


def parse_columns(given: str | Mapping[str, str], roles: Collection[str], option: str = "--columns") -> dict[str, str]:
    """Columns by their roles, from "text=satz,option1=a" or from a mapping; where there is option1, there is option2.

    A comma inside a column's name is no trouble: only one before another `role=` ends it.

    >>> parse_columns("text=Satz, ganz,option1=a,option2=b", {"text", "option1"})
    {'text': 'Satz, ganz', 'option1': 'a', 'option2': 'b'}
    """
    if isinstance(given, str):
        pairs = [part.partition("=") for part in re.split(r",(?=\s*\w+\s*=)", given)]
        if not all(role.strip() and column.strip() for role, _, column in pairs):
            raise BadInput(f"{option}: expected role=column,role=column, found {given!r}")
        named = [(role.strip(), column.strip()) for role, _, column in pairs]
    else:
        named = [(str(role), str(column)) for role, column in given.items()]
    for role, _ in named:
        if re.sub(r"[1-9]\d?$", "1", role) not in roles:
            raise UnknownName("role of a column", role, roles)
        if [each for each, _ in named].count(role) > 1:
            raise BadInput(f"{option}: {role!r} is given twice")
    return dict(named)


def said_columns(columns: Mapping[str, str]) -> str:
    """Columns as `--columns` takes them."""
    return ",".join(f"{role}={column}" for role, column in columns.items())


def numbered(roles: Iterable[str], kind: str) -> list[str]:
    """The roles of one kind by their number: option1, option2, …"""
    return sorted((role for role in roles if role.rstrip(digits) == kind), key=lambda role: (len(role), role))


def cell_text(value: Any, field: str | None = None) -> str:
    """A cell as text: a number as it is counted with, empty where there is none; a list is refused for a field."""
    if isinstance(value, str):
        return value
    if value is None or value != value:  # pandas writes NaN for an empty cell
        return ""
    if field is not None and isinstance(value, (list, dict)):
        raise Malformed(f"expected a text or a number, found {shown(value)}", field=field)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_table(source: Source) -> Table:
    """The table in a file; a row that is broken is rejected with its place, a file that is no table is an error."""
    head = refuse_workbook(source.path)
    if head.startswith(b"PAR1"):
        rows: list[TableRow] = numbered_rows(_parquet(source))
    elif (start := decode_head(head).lstrip()[:1]) == "[":
        rows = list(source.json_array())
    elif start == "{":
        rows = _json_object(source) or list(source.json_lines())
    elif start:
        return _delimited(source)
    else:
        raise BadInput(f"{source.path}: the file is empty")
    return Table(str(source.path), tuple(dict.fromkeys(str(key) for _, row in rows for key in row)), rows)


def selected(
    table: Table, given: Mapping[str, str] | None, option: str = "--columns"
) -> tuple[Table, dict[str, str] | None]:
    """The rows that `where` selects (`where=Split=dev`, or `dev|test` for several), and the other roles."""
    if given is None or "where" not in given:
        return table, None if given is None else dict(given)
    column, _, value = given["where"].partition("=")
    if not value:
        raise BadInput(f"{option}: where: expected COLUMN=VALUE, as where=Split=dev, found {given['where']!r}")
    name = table.places({"where": column})["where"]
    values = {part.strip().casefold() for part in value.split("|")}
    rows = [row for row in table.rows if cell_text(row[1].get(name)).strip().casefold() in values]
    if not rows:
        there = list(dict.fromkeys(cell_text(cells.get(name)).strip() for _, cells in table.rows))
        raise BadInput(f"{table.path}: no row has {value!r} in column {name!r}; there are {', '.join(there[:5])}")
    others = dict(given)
    del others["where"]
    return Table(table.path, table.columns, rows), others or None


def refuse_workbook(path: Path) -> bytes:
    """How a file begins, unless it is one of Excel's."""
    head = read_bytes(path, 1 << 10)
    if head.startswith(WORKBOOKS):
        raise BadInput(f"{path}: an Excel workbook, or another archive; save the table in it as csv (UTF-8)")
    return head


def numbered_rows(rows: Iterable[dict[str, Any]]) -> list[TableRow]:
    """Rows without lines, by their number."""
    return [(f"row {number}", row) for number, row in enumerate(rows, 1)]


def _delimited(source: Source) -> Table:
    cells_of = source.csv_rows()
    line, header = next(cells_of, (1, []))
    columns = [cell.strip() for cell in header]
    twice = [name for name in columns if name and columns.count(name) > 1]
    if len(columns) < 2:
        raise Malformed(
            f"expected a header of two columns or more, with , ; tab or | between, found {', '.join(columns)[:60]!r}",
            file=str(source.path),
            line=line,
        )
    if twice:
        raise Malformed(f"two columns are called {twice[0]!r}: rename one", file=str(source.path), line=line)
    rows: list[TableRow] = []
    for line, cells in cells_of:
        while len(cells) > len(columns) and not cells[-1].strip():
            cells.pop()
        if len(cells) == len(columns):
            if any(cell.strip() for cell in cells):
                rows.append((line, {name: cell for name, cell in zip(columns, cells, strict=True) if name}))
        elif any(cell.strip() for cell in cells):
            hint = " (a cell with the delimiter in it needs quotes around it)" * (len(cells) > len(columns))
            source.reject(Malformed(f"expected {len(columns)} cells, found {len(cells)}{hint}"), line)
    return Table(str(source.path), tuple(filter(None, columns)), rows)


def _json_object(source: Source) -> list[TableRow]:
    """The rows of one JSON object: a list of them under some key, cells by column, or one; none for JSON lines."""
    text = source.text()
    try:
        value = json.loads(text, object_pairs_hook=partial(_object_of, path=source.path))
    except BadInput:
        raise
    except (ValueError, RecursionError):
        return []  # several objects, or none: as JSON lines they are read, or refused with a line
    if not source.is_sound(value, text, 1):
        return []
    lists = [part for part in value.values() if isinstance(part, list)]
    of_rows = [part for part in lists if part and all(isinstance(row, dict) for row in part)]
    if len(of_rows) == 1:
        return numbered_rows(of_rows[0])
    if len(of_rows) == len(lists) > 1:
        named = ((name, rows) for name, rows in value.items() if rows in of_rows)
        return numbered_rows({LIST: name, **row} for name, rows in named for row in rows)
    if len(lists) < len(value):  # pandas writes {"satz": {"0": …, "1": …}}
        lists = [list(part.values()) for part in value.values() if isinstance(part, dict)]
    if not value or len(lists) < len(value):
        return [] if lists or not value else [(1, value)]
    if len({len(part) for part in lists}) > 1:
        lengths = ", ".join(f"{name} {len(part)}" for name, part in zip(value, lists, strict=True))
        raise BadInput(f"{source.path}: expected columns of one length, found {lengths}")
    return numbered_rows([dict(zip(value, cells, strict=True)) for cells in zip(*lists, strict=True)])


def _object_of(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    """A JSON object. Raises BadInput if it says two things under one key, of which a reader would keep the last."""
    content = dict(pairs)
    if len(content) == len(pairs):
        return content
    first: dict[str, Any] = {}
    for key, value in pairs:
        if first.setdefault(key, value) != value:
            raise BadInput(
                f"{path}: key {key!r} is there twice, with {shown(first[key])} and {shown(value)}: keep the one that "
                "counts"
            )
    return content


def _parquet(source: Source) -> list[dict[str, Any]]:
    with needing("reading Parquet", "release"):
        import pyarrow
        import pyarrow.parquet
    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(io.BytesIO(source.raw())).to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"{source.path}: cannot be read as Parquet ({' '.join(str(error).split())[:100]})") from None
    return rows
