"""Names for the columns of tables whose first line is a row like the others.

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
"""The name of a column without one, before its number."""
LOOKED_AT = 200
"""Rows in which a cell of the first line is looked for."""


def read_headed(source: Source, matcher: Matcher) -> Table:
    """Read a table, and name its columns if it has no header.

    They are called "column 1" and so on, and a note says so. A bare list of labels becomes a table with one column.

    Parameters
    ----------
    matcher
        Finds problems, by which a header is distinguished from a first row of data.
    """
    head = tables.refuse_workbook(source.path)
    if head.startswith(b"PAR1"):
        return tables.read_table(source)
    from winokit.data.predictions.labels import is_labels, label_table

    text = decode_head(head)
    if is_labels(text.split("\n")):
        return label_table(source)
    if text.lstrip()[:1] in ("[", "{", ""):
        return tables.read_table(source)
    if not _is_headless(source, matcher):
        return tables.read_table(source)
    return _read_headless(source)


def _is_headless(source: Source, matcher: Matcher) -> bool:
    """Whether a table with delimiters begins with data and no header.

    The first 200 rows are looked at. A table of fewer than two rows is taken to have a header.
    """
    lines = Source(source.path, lenient=True).csv_rows()
    rows = [cells for _, cells in islice(lines, LOOKED_AT)]
    if len(rows) < 2:
        return False
    first_cells = [cell.strip() for cell in rows[0]]
    return _is_data(first_cells, rows[1:], matcher)


def _read_headless(source: Source) -> Table:
    """Read a table that has no header.

    Its columns are called "column 1" and so on.
    """
    lines = list(source.csv_rows())
    width = max(len(cells) for _, cells in lines)
    names = tuple(f"{UNNAMED}{number}" for number in range(1, width + 1))
    rows: list[TableRow] = []
    for line, cells in lines:
        is_filled = any(cell.strip() for cell in cells)
        if is_filled:
            rows.append((line, dict(zip(names, cells, strict=False))))
    source.note(f"its first line is data, not names: columns are called {names[0]!r} to {names[-1]!r}")
    return Table(str(source.path), names, rows)


def _is_data(cells: Sequence[str], rows: Sequence[Sequence[str]], matcher: Matcher) -> bool:
    """Whether the first line of a table is data and no header.

    It is if a cell is a problem's text or id, a fraction or a list, or if every cell that is not empty occurs at
    least twice below it.

    Parameters
    ----------
    cells
        The cells of the first line.
    rows
        The cells of the lines below it.
    """
    for cell in cells:
        if _is_problem_name(cell, matcher) or is_fraction(cell) or _is_list(cell):
            return True
    repeats = []
    for index, cell in enumerate(cells):
        if cell:
            column = [_get_cell(row, index) for row in rows]
            repeats.append(column.count(cell) > 1)
    return bool(repeats) and all(repeats)


def _is_problem_name(cell: str, matcher: Matcher) -> bool:
    """Whether a cell is the text or the id of a problem.

    A whole number is not, because it may be the name of a column.
    """
    if not cell or cell.isdecimal():
        return False
    if cell in matcher.by_id or cell in matcher.by_source_id:
        return True
    try:
        return bool(matcher.find(cell)) and " " in cell
    except Unmatched:
        return False


def _is_list(cell: str) -> bool:
    """Whether a cell is two or more numbers in brackets."""
    is_bracketed = cell[:1] in "[(" and cell[-1:] in "])"
    return is_bracketed and len(FLOAT.findall(cell)) > 1


def _get_cell(row: Sequence[str], at: int) -> str:
    """The stripped cell at an index, empty if the row is shorter."""
    return row[at].strip() if at < len(row) else ""
