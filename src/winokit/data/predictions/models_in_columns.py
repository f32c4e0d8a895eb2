"""Tables with a column per model: `prediction=gpt-*` or `correct=a|b` take each column as a model."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any

from winokit.data.formats.tables import Table, TableRow
from winokit.errors import BadInput

ROLES = ("prediction", "correct")
MODEL, VALUE = "model of the column", "cell of the model"
"""The columns of the table with a row per answer."""
LEAST_PREFIX = 2
"""Letters that names must share to be named by what they begin with."""


def one_row_per_answer(table: Table, given: Mapping[str, str] | None) -> tuple[Table, dict[str, str] | None]:
    """The table with a row for each model, if a role names several columns, and the roles in it."""
    if given is None:
        return table, None
    role = next((role for role in ROLES if _names_several(table, given.get(role, ""))), None)
    if role is None:
        return table, dict(given)
    if "model" in given or given.get("order") is not None:
        raise BadInput(
            f"{table.path}: --columns {role}={given[role]}: several columns are several models; name ids too"
        )
    names = _named_columns(table, given[role])
    rows: list[TableRow] = []
    for name in names:
        for line, cells in table.rows:
            answer: dict[str, Any] = {**cells, MODEL: name, VALUE: cells.get(name)}
            rows.append((line, answer))
    columns = (*table.columns, MODEL, VALUE)
    return Table(table.path, columns, rows), {**given, role: VALUE, "model": MODEL}


def _names_several(table: Table, value: str) -> bool:
    return value not in table.columns and ("|" in value or "*" in value)


def _named_columns(table: Table, value: str) -> list[str]:
    """The columns of a pattern, in the order of the table."""
    patterns = [part.strip() for part in value.split("|")]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in table.columns):
            raise BadInput(f"{table.path}: no column {pattern!r}; it has {', '.join(table.columns[:20])}")
    return [name for name in table.columns if any(fnmatchcase(name, pattern) for pattern in patterns)]


def pattern_of(table: Table, names: list[str]) -> str:
    """The shortest pattern of these columns alone: their common beginning, else all names.

    >>> pattern_of(Table("t", ("id", "gpt-3", "gpt-4"), []), ["gpt-3", "gpt-4"])
    'gpt-*'
    """
    shared = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    prefix = "".join(letters[0] for letters in shared)
    alike = [name for name in table.columns if name.startswith(prefix)]
    if len(prefix) >= LEAST_PREFIX and sorted(alike) == sorted(names):
        return f"{prefix}*"
    return "|".join(names)
