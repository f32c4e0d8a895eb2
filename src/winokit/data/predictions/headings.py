"""Whether the first line of a table names its columns, or is a row like the others.

Many files of predictions have no header: `1;[ 5.02 -5.83 ]`. Read as one, the first row would be lost, and every other
row would be about the problem after its own.
"""

from collections.abc import Sequence
from itertools import islice

from winokit.data.formats import tables
from winokit.data.formats.source import Source, decode_head
from winokit.data.formats.tables import Table, TableRow
from winokit.data.predictions.answers import is_fraction
from winokit.data.predictions.columns import FLOAT
from winokit.data.predictions.match import Matcher, Unmatched

UNNAMED = "column "
"""How columns without a name are called, with their number."""
LOOKED_AT = 200
"""Rows in which a cell of the first line is looked for."""


def read_headed(source: Source, matcher: Matcher) -> Table:
    """The table in a file; columns without names are called "column 1" and so on, and a note says so."""
    head = tables.refuse_workbook(source.path)
    if not head.startswith(b"PAR1"):
        from winokit.data.predictions.labels import is_labels, label_table

        if is_labels(decode_head(head).split("\n")):
            return label_table(source)
    if head.startswith(b"PAR1") or decode_head(head).lstrip()[:1] in ("[", "{", ""):
        return tables.read_table(source)
    first, *others = [cells for _, cells in islice(Source(source.path, lenient=True).csv_rows(), LOOKED_AT)] or [[]]
    if not others or not _is_data([*map(str.strip, first)], others, matcher):
        return tables.read_table(source)
    lines = list(source.csv_rows())
    width = max(len(cells) for _, cells in lines)
    names = tuple(f"{UNNAMED}{number}" for number in range(1, width + 1))
    rows: list[TableRow] = [
        (line, dict(zip(names, cells, strict=False))) for line, cells in lines if any(map(str.strip, cells))
    ]
    source.note(f"its first line is data, not names: columns are called {names[0]!r} to {names[-1]!r}")
    return Table(str(source.path), names, rows)


def _is_data(cells: Sequence[str], rows: Sequence[Sequence[str]], matcher: Matcher) -> bool:
    """Whether the first line of a table is about a problem, or says what the lines below it say."""
    if any(_names_problem(cell, matcher) or is_fraction(cell) or _is_list(cell) for cell in cells):
        return True
    repeats = []
    for at, cell in enumerate(cells):
        column = [_cell(row, at) for row in rows]
        if cell:
            repeats.append(column.count(cell) > 1)
    return bool(repeats) and all(repeats)


def _names_problem(cell: str, matcher: Matcher) -> bool:
    """Whether a cell is the text or the id of a problem; a bare number may be the name of a column."""
    if not cell or cell.isdecimal():
        return False
    if cell in matcher.by_id or cell in matcher.by_source_id:
        return True
    try:
        return bool(matcher.find(cell)) and " " in cell
    except Unmatched:
        return False


def _is_list(cell: str) -> bool:
    """Whether a cell is numbers in brackets."""
    return cell[:1] in "[(" and cell[-1:] in "])" and len(FLOAT.findall(cell)) > 1


def _cell(row: Sequence[str], at: int) -> str:
    return row[at].strip() if at < len(row) else ""
