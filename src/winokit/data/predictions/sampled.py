"""Tables that have several answers to each problem: a row for each, or a column for each.

A column numbers the rows of a problem (`sample=COLUMN`), whatever its values are: seeds do as well. Several
columns (`prediction1=…,prediction2=…`, or sample_1, sample_2 … by their names) become as many rows.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from winokit.data.formats.tables import Table, TableRow, cell_text, format_columns, numbered
from winokit.data.predictions.columns import LINE, OPTION, PredictionColumns, columns_in_a_row, columns_of
from winokit.errors import BadInput, Malformed

COLUMNS = re.compile(r"(?:sample|run|trial|repeat|epoch|attempt)[_ .-]?(?P<n>\d{1,3})")
"""Names of columns of which each has the answers of one sample."""
NUMBERS = re.compile(
    r"(?:sample|run|trial|repeat|repetition|epoch|attempt|seed)(?:[_ -]?(?:id|index|idx|number|nr|no))?"
)
"""Names of a column that numbers the answers to each problem."""
SAMPLE_NUMBER = re.compile(r"(?:(?:sample|run|trial|repeat|repetition|epoch|attempt|seed)[_ -]?)?[0-9]+")
"""A value of such a column: `2`, `run 2` or `seed-42`. The name of a model (`gpt-4`) is none."""
LEAST_PROBLEMS = 5
"""The number of problems from which equally many rows for each are no accident."""
OF_SAMPLE = "prediction"
SAMPLE = "sample"
"""The names of the two columns that several become."""


def expand_samples(table: Table, user_columns: Mapping[str, str] | None) -> tuple[Table, PredictionColumns]:
    """The table with a row for each answer, and its columns.

    Several columns of predictions, one for each sample, are put one below the other. Any other table is unchanged.

    Parameters
    ----------
    user_columns
        Columns by their roles, as the user gave them. None if they are to be guessed.
    """
    if user_columns is None:
        return _infer_samples(table)
    sample_roles = numbered(user_columns, "prediction")
    if len(sample_roles) < 2:
        return table, columns_of(table, user_columns)
    if SAMPLE in user_columns:
        raise BadInput(f"{OPTION}: expected a column for each sample, or sample=COLUMN; found both")
    names = [table.find_columns({role: user_columns[role]})[role] for role in sample_roles]
    others = {role: name for role, name in user_columns.items() if role not in sample_roles}
    long_table = _join_columns(table, names)
    prediction, sample = long_table.columns[-2:]
    roles = {**others, "prediction": prediction, SAMPLE: sample}
    return long_table, replace(columns_of(long_table, roles), copies=len(names))


def _infer_samples(table: Table) -> tuple[Table, PredictionColumns]:
    """The table with a row for each answer, and its columns.

    The columns are guessed from their names.
    """
    columns = columns_of(table)
    if columns.prediction is not None or columns.scores:
        return table, replace(columns, sample=_find_numbering(table, columns))
    names = columns_in_a_row(table, COLUMNS)
    if len(names) < 2:
        return table, columns
    long_table = _join_columns(table, names)
    sample = long_table.columns[-1]
    return long_table, replace(columns_of(long_table), sample=sample, copies=len(names))


def _join_columns(table: Table, names: Sequence[str]) -> Table:
    """Put some columns of a table one below the other.

    The result has the column of predictions and that of sample numbers at its end.
    """
    others = tuple(name for name in table.columns if name not in names)
    prediction = _make_column_name(OF_SAMPLE, others)
    sample = _make_column_name(SAMPLE, others)
    rows: list[TableRow] = []
    for number, column in enumerate(names, 1):
        for line, cells in table.rows:
            shared = {name: cells.get(name) for name in others}
            rows.append((line, {**shared, prediction: cells.get(column), sample: number}))
    return Table(table.path, (*others, prediction, sample), rows)


def _make_column_name(name: str, others: Sequence[str]) -> str:
    """A name for a column that no other column has."""
    return f"{name} (of samples)" if name in others else name


def _find_numbering(table: Table, columns: PredictionColumns) -> str | None:
    """The column that numbers the answers to a problem, or None.

    Its name and its cells must fit.
    """
    for name in table.columns:
        is_likely = NUMBERS.fullmatch(name.casefold()) and name not in columns.names
        if is_likely and _is_numbering(table, columns, name):
            return name
    return None


def _list_row_keys(table: Table, columns: PredictionColumns) -> list[tuple[str, ...]]:
    """For each row, the cells that name its problem and its model."""
    names = [*columns.names]
    if columns.model:
        names.append(columns.model)
    keys = []
    for _, cells in table.rows:
        keys.append(tuple(cell_text(cells.get(name)).strip() for name in names))
    return keys


def _is_numbering(table: Table, columns: PredictionColumns, name: str) -> bool:
    """Whether a column numbers the rows of each problem and model.

    There must be as many different values as the most rows of one problem and model, and none twice for one of them.
    Each is a number, perhaps after a word such as "run".
    """
    keys = _list_row_keys(table, columns)
    values = [cell_text(cells.get(name)).strip() for _, cells in table.rows]
    most_rows = max(Counter(keys).values(), default=0)
    are_numbers = all(SAMPLE_NUMBER.fullmatch(value.casefold()) for value in set(values))
    if most_rows < 2 or not are_numbers:
        return False
    numbered_keys = set(zip(keys, values, strict=True))
    return len(set(values)) == most_rows and len(numbered_keys) == len(keys)


def sample_numbers(table: Table, columns: PredictionColumns) -> list[int | None]:
    """For each row, the number of its sample from 0.

    All are None if the table has one answer for each problem.
    """
    if columns.sample is None:
        return [None] * len(table.rows)
    if columns.sample == LINE:
        counts: Counter[tuple[str, ...]] = Counter()
        counted = []
        for key in _list_row_keys(table, columns):
            counted.append(counts[key])
            counts[key] += 1
        return list(counted)
    values = [cell_text(cells.get(columns.sample)).strip() for _, cells in table.rows]
    if "" in values:
        raise Malformed("expected the number of a sample, found nothing", field=columns.sample, file=table.path)
    number_of = _index_values(values)
    return [number_of[value] for value in values]


def _index_values(values: Sequence[str]) -> dict[str, int]:
    """For each value, its index in sorted order.

    Values that are not all numbers are in order of appearance.
    """
    distinct: list[Any] = list(dict.fromkeys(values))
    if all(value.isdecimal() for value in distinct):
        distinct.sort(key=int)
    return {value: index for index, value in enumerate(distinct)}


def sample_hint(table: Table, columns: PredictionColumns) -> str:
    """A sentence with the option that reads rows as samples.

    They are several rows of one problem. Empty unless the most common number of rows for a problem is two or more,
    for at least five problems.
    """
    if columns.sample is not None or columns.order is not None:
        return ""
    rows_by_key = Counter(_list_row_keys(table, columns))
    counts = Counter(rows_by_key.values())
    rows_each, problems = counts.most_common(1)[0] if counts else (1, 0)
    if rows_each < 2 or problems < LEAST_PROBLEMS:
        return ""
    used = {*columns.names, columns.prediction, columns.answer}
    others = [name for name in table.columns if name not in used]
    numbering = next((name for name in others if _is_numbering(table, columns, name)), LINE)
    roles = format_columns({**columns.roles(), "sample": numbering})
    as_listed = " (numbered as they are listed)" if numbering == LINE else ""
    return f"{problems:,} problems have {rows_each} rows each: if these are samples{as_listed}: {OPTION} {roles}"
