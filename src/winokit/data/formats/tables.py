"""Tables in any file (csv, JSON, JSON lines, Parquet), and columns by name.

Files are UTF-8 or UTF-16. `--columns role=column,…` gives the roles of a table's columns.
"""

import io
import json
import re
from collections import Counter
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
"""The first bytes of Excel's files, new and old."""
LIST = "list"
"""The column with the name of a row's list, if a JSON object has several lists."""
TableRow = tuple[int | str, dict[str, Any]]
"""Place of a row, a line's number or "row 3", and its cells by column: texts, or values of JSON or Parquet."""


@dataclass(frozen=True)
class Table:
    """The columns and the rows of a table, in the file's order."""

    path: str
    columns: tuple[str, ...]
    rows: Sequence[TableRow]

    def find_columns(self, columns: Mapping[str, str]) -> dict[str, str]:
        """Find the columns of some roles, in the file's spelling.

        Case is ignored unless two columns differ in nothing else. Raises BadInput for a column that is not in the
        table.

        Parameters
        ----------
        columns
            Column names by role, as the user spelled them.
        """
        folded_names = grouped((name.casefold(), name) for name in self.columns)
        spelled_columns = {}
        for role, column in columns.items():
            if column in self.columns:
                spelled_columns[role] = column
                continue
            alike = folded_names.get(column.strip().casefold(), [])
            if len(alike) != 1:
                raise BadInput(f"{self.path}: no column {column!r} for {role!r}; it has {', '.join(self.columns)}")
            spelled_columns[role] = alike[0]
        return spelled_columns


def parse_columns(
    user_columns: str | Mapping[str, str], roles: Collection[str], option: str = "--columns"
) -> dict[str, str]:
    """Parse "text=satz,option1=a", or a mapping, into columns by role.

    A comma may be part of a column's name: only one before another `role=` ends it. Raises UnknownName for an unknown
    role.

    Parameters
    ----------
    user_columns
        The text or the mapping from the user.
    roles
        The roles that are allowed. If option1 is, so are option2, option3 and so on.
    option
        The option that is named in messages.

    >>> parse_columns("text=Satz, ganz,option1=a,option2=b", {"text", "option1"})
    {'text': 'Satz, ganz', 'option1': 'a', 'option2': 'b'}
    """
    if isinstance(user_columns, str):
        pairs = _split_columns(user_columns, option)
    else:
        pairs = [(str(role), str(column)) for role, column in user_columns.items()]
    role_counts = Counter(role for role, _ in pairs)
    for role, _ in pairs:
        first_of_kind = re.sub(r"[1-9]\d?$", "1", role)
        if first_of_kind not in roles:
            raise UnknownName("role of a column", role, roles)
        if role_counts[role] > 1:
            raise BadInput(f"{option}: {role!r} is given twice")
    return dict(pairs)


def _split_columns(text: str, option: str) -> list[tuple[str, str]]:
    """Split "text=satz,option1=a" into pairs of role and column.

    Raises BadInput if a part is no pair. `option` is named in its message.
    """
    pairs = []
    for part in re.split(r",(?=\s*\w+\s*=)", text):
        role, _, column = part.partition("=")
        if not (role.strip() and column.strip()):
            raise BadInput(f"{option}: expected role=column,role=column, found {text!r}")
        pairs.append((role.strip(), column.strip()))
    return pairs


def format_columns(columns: Mapping[str, str]) -> str:
    """Columns by their roles as text, in the form that `--columns` takes."""
    return ",".join(f"{role}={column}" for role, column in columns.items())


def numbered(roles: Iterable[str], kind: str) -> list[str]:
    """The roles of one kind, in order: option1, option2, …"""
    roles_of_kind = [role for role in roles if role.rstrip(digits) == kind]
    return sorted(roles_of_kind, key=lambda role: (len(role), role))


def cell_text(value: Any, field: str | None = None) -> str:
    """A cell as text.

    A whole number has no decimals, a truth value is "true" or "false", and an empty cell gives an empty text. Raises
    Malformed for a list or an object if `field` is named.
    """
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
    """Read the table in a file: csv, JSON or Parquet.

    A broken row is raised as malformed, or in lenient mode stored in the source. Raises BadInput or Malformed if the
    file is no table.
    """
    head = refuse_workbook(source.path)
    start = decode_head(head).lstrip()[:1]
    if head.startswith(b"PAR1"):
        rows: list[TableRow] = numbered_rows(_read_parquet(source))
    elif start == "[":
        rows = list(source.json_array())
    elif start == "{":
        rows = _read_json_object(source) or list(source.json_lines())
    elif start:
        return _read_delimited(source)
    else:
        raise BadInput(f"{source.path}: the file is empty")
    columns: dict[str, None] = {}
    for _, row in rows:
        columns |= dict.fromkeys(map(str, row))
    return Table(str(source.path), tuple(columns), rows)


def selected(
    table: Table, user_columns: Mapping[str, str] | None, option: str = "--columns"
) -> tuple[Table, dict[str, str] | None]:
    """Select the rows of a table that `where` names.

    Returns the table, and the roles without `where`. `where=Split=dev` selects one value, `where=Split=dev|test`
    several. Case is ignored in values. Raises BadInput if it selects no row.

    Parameters
    ----------
    user_columns
        Columns by their roles, as the user gave them. None if there are none.
    option
        The option that is named in messages.
    """
    if user_columns is None:
        return table, None
    if "where" not in user_columns:
        return table, dict(user_columns)
    column, _, value = user_columns["where"].partition("=")
    if not value:
        raise BadInput(f"{option}: where: expected COLUMN=VALUE, as where=Split=dev, found {user_columns['where']!r}")
    name = table.find_columns({"where": column})["where"]
    selected_values = {part.strip().casefold() for part in value.split("|")}
    cells = [cell_text(row.get(name)).strip() for _, row in table.rows]
    rows = [row for row, cell in zip(table.rows, cells, strict=True) if cell.casefold() in selected_values]
    if not rows:
        values = list(dict.fromkeys(cells))[:5]
        raise BadInput(f"{table.path}: no row has {value!r} in column {name!r}; there are {', '.join(values)}")
    other_roles = dict(user_columns)
    del other_roles["where"]
    return Table(table.path, table.columns, rows), other_roles or None


def refuse_workbook(path: Path) -> bytes:
    """Read a file's first bytes.

    There are 1,024 at most. Raises BadInput for an Excel workbook or any other zip archive.
    """
    head = read_bytes(path, 1 << 10)
    if head.startswith(WORKBOOKS):
        raise BadInput(f"{path}: an Excel workbook, or another archive; save the table in it as csv (UTF-8)")
    return head


def numbered_rows(rows: Iterable[dict[str, Any]]) -> list[TableRow]:
    """Pair each row with its position, "row 1", "row 2", …

    It is used for files without lines.
    """
    return [(f"row {number}", row) for number, row in enumerate(rows, 1)]


def _read_delimited(source: Source) -> Table:
    """Read a table with commas, semicolons, tabs or bars between its cells.

    Empty rows and columns without a name are left out. A row with more or fewer cells than the header is raised as
    malformed, or in lenient mode stored in the source.
    """
    rows_of_cells = source.csv_rows()
    line, header = next(rows_of_cells, (1, []))
    columns = [cell.strip() for cell in header]
    _check_header(source, columns, line)
    rows: list[TableRow] = []
    for line, cells in rows_of_cells:
        while len(cells) > len(columns) and not cells[-1].strip():
            cells.pop()
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) == len(columns):
            named_cells = {name: cell for name, cell in zip(columns, cells, strict=True) if name}
            rows.append((line, named_cells))
            continue
        message = f"expected {len(columns)} cells, found {len(cells)}"
        if len(cells) > len(columns):
            message += " (a cell with the delimiter in it needs quotes around it)"
        source.reject(Malformed(message), line)
    return Table(str(source.path), tuple(filter(None, columns)), rows)


def _check_header(source: Source, columns: Sequence[str], line: int) -> None:
    """Raise Malformed for a header without two different columns.

    Two columns of one name are refused too.
    """
    if len(columns) < 2:
        raise Malformed(
            f"expected a header of two columns or more, with , ; tab or | between, found {', '.join(columns)[:60]!r}",
            file=str(source.path),
            line=line,
        )
    for name in columns:
        if name and columns.count(name) > 1:
            raise Malformed(f"two columns are called {name!r}: rename one", file=str(source.path), line=line)


def _read_json_object(source: Source) -> list[TableRow]:
    """The rows of a table that is one JSON object.

    They are a list of objects under some key, or lists of cells by column, or the object itself as the only row.
    Empty if the file is JSON lines.
    """
    text = source.text()
    try:
        content = json.loads(text, object_pairs_hook=partial(_make_object, path=source.path))
    except BadInput:
        raise
    except (ValueError, RecursionError):
        return []  # several objects, or none: as JSON lines they are read, or refused with a line
    if not source.is_sound(content, text, 1):
        return []
    lists = {name: part for name, part in content.items() if isinstance(part, list)}
    lists_of_rows = {name: part for name, part in lists.items() if _is_list_of_rows(part)}
    if len(lists_of_rows) == 1:
        (only_rows,) = lists_of_rows.values()
        return numbered_rows(only_rows)
    if len(lists_of_rows) == len(lists) > 1:
        rows = []
        for name, part in lists_of_rows.items():
            rows += [{LIST: name, **row} for row in part]
        return numbered_rows(rows)
    return _read_cells_by_column(source, content)


def _is_list_of_rows(part: Sequence[Any]) -> bool:
    """Whether a list has only objects, and at least one."""
    return len(part) > 0 and all(isinstance(row, dict) for row in part)


def _read_cells_by_column(source: Source, content: Mapping[str, Any]) -> list[TableRow]:
    """The rows of a JSON object with cells for each column.

    The cells of a column are in a list. An object without such lists is the only row. Raises BadInput if the lists
    differ in length. The result is empty if only some columns have such lists.
    """
    if not content:
        return []
    columns = _get_columns_of_cells(content)
    if len(columns) < len(content):
        return [] if columns else [(1, dict(content))]
    if len({len(cells) for cells in columns}) > 1:
        lengths = [f"{name} {len(cells)}" for name, cells in zip(content, columns, strict=True)]
        raise BadInput(f"{source.path}: expected columns of one length, found {', '.join(lengths)}")
    return numbered_rows([dict(zip(content, cells, strict=True)) for cells in zip(*columns, strict=True)])


def _get_columns_of_cells(content: Mapping[str, Any]) -> list[list[Any]]:
    """The lists of cells in a JSON object, one for each column.

    If not all values are lists, those that are objects are taken: pandas writes {"satz": {"0": …, "1": …}}.
    """
    lists = [part for part in content.values() if isinstance(part, list)]
    if len(lists) == len(content):
        return lists
    return [list(part.values()) for part in content.values() if isinstance(part, dict)]


def _make_object(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    """A JSON object from its pairs of key and value.

    Raises BadInput if a key has two values, since a reader would keep only the last.
    """
    content = dict(pairs)
    if len(content) == len(pairs):
        return content
    first: dict[str, Any] = {}
    for key, value in pairs:
        first_value = first.setdefault(key, value)
        if first_value != value:
            values = f"{shown(first_value)} and {shown(value)}"
            raise BadInput(f"{path}: key {key!r} is there twice, with {values}: keep the one that counts")
    return content


def _read_parquet(source: Source) -> list[dict[str, Any]]:
    """The rows of a Parquet file."""
    with needing("reading Parquet", "release"):
        import pyarrow
        import pyarrow.parquet
    file = io.BytesIO(source.raw())
    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(file).to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:100]
        raise BadInput(f"{source.path}: cannot be read as Parquet ({reason})") from None
    return rows
