"""Tables with a column per model: `prediction=gpt-*` or `correct=a|b` take each column as a model."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any

from winokit.data.formats.tables import Table, TableRow
from winokit.errors import BadInput

ROLES = ("prediction", "correct")
MODEL = "model of the column"
VALUE = "cell of the model"
"""The columns of the table with a row per answer."""
LEAST_PREFIX = 2
"""Letters that names must share to be named by what they begin with."""


def one_row_per_answer(table: Table, user_columns: Mapping[str, str] | None) -> tuple[Table, dict[str, str] | None]:
    """Turn columns of models into rows, one for each answer.

    Returns the table and its roles. Both are unchanged unless a role names several columns, as in `prediction=gpt-*`.

    Parameters
    ----------
    user_columns
        Columns by their roles, as the user gave them, or None.
    """
    if user_columns is None:
        return table, None
    role = next((role for role in ROLES if _is_pattern(table, user_columns.get(role, ""))), None)
    if role is None:
        return table, dict(user_columns)
    if "model" in user_columns or user_columns.get("order") is not None:
        raise BadInput(
            f"{table.path}: --columns {role}={user_columns[role]}: several columns are several models; name ids too"
        )
    rows: list[TableRow] = []
    for name in _find_columns(table, user_columns[role]):
        for line, cells in table.rows:
            answer: dict[str, Any] = {**cells, MODEL: name, VALUE: cells.get(name)}
            rows.append((line, answer))
    long_table = Table(table.path, (*table.columns, MODEL, VALUE), rows)
    return long_table, {**user_columns, role: VALUE, "model": MODEL}


def _is_pattern(table: Table, value: str) -> bool:
    """Whether a value of a role is a pattern for several columns.

    It is if it has a bar or a star, and no column is called so.
    """
    has_mark = "|" in value or "*" in value
    return has_mark and value not in table.columns


def _find_columns(table: Table, value: str) -> list[str]:
    """The columns that a pattern names, in the order of the table.

    Raises BadInput if a part of the pattern fits no column.
    """
    found: set[str] = set()
    for part in value.split("|"):
        pattern = part.strip()
        fitting = [name for name in table.columns if fnmatchcase(name, pattern)]
        if not fitting:
            raise BadInput(f"{table.path}: no column {pattern!r}; it has {', '.join(table.columns[:20])}")
        found.update(fitting)
    return [name for name in table.columns if name in found]


def pattern_of(table: Table, names: list[str]) -> str:
    """The shortest pattern that names these columns and no others.

    It is their common beginning and `*`, or else all names with bars between.

    >>> pattern_of(Table("t", ("id", "gpt-3", "gpt-4"), []), ["gpt-3", "gpt-4"])
    'gpt-*'
    """
    columns_of_letters = zip(*names, strict=False)
    shared = takewhile(lambda letters: len(set(letters)) == 1, columns_of_letters)
    prefix = "".join(letters[0] for letters in shared)
    alike = [name for name in table.columns if name.startswith(prefix)]
    if len(prefix) >= LEAST_PREFIX and sorted(alike) == sorted(names):
        return f"{prefix}*"
    return "|".join(names)
