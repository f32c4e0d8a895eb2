"""Tables that have several answers to each problem: a row for each, or a column for each.

Rows are told apart by a column that numbers them (`sample=COLUMN`), whatever its values are: seeds do as well. Several
columns (`prediction1=…,prediction2=…`, or sample_1, sample_2 … by their names) become as many rows.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from winokit.data.formats.tables import Table, cell_text, numbered, said_columns
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
"""So many problems with equally many rows may be no accident."""
OF_SAMPLE, SAMPLE = "prediction", "sample"
"""What the two columns are called that several become."""


def told_columns(table: Table, given: Mapping[str, str] | None) -> tuple[Table, PredictionColumns]:
    """The table with a row for each answer, and its columns."""
    several = [] if given is None else numbered(given, "prediction")
    if given is not None and len(several) > 1:
        if SAMPLE in given:
            raise BadInput(f"{OPTION}: expected a column for each sample, or sample=COLUMN; found both")
        names = [table.places({role: given[role]})[role] for role in several]
        others = {role: name for role, name in given.items() if role not in several}
        long = _stack_columns(table, names)
        places = {**others, "prediction": long.columns[-2], SAMPLE: long.columns[-1]}
        return long, replace(columns_of(long, places), copies=len(names))
    columns = columns_of(table, given)
    if given is not None or columns.prediction is not None or columns.scores:
        return table, columns if given is not None else replace(columns, sample=_find_numbering(table, columns))
    names = list(columns_in_a_row(table, COLUMNS))
    if len(names) < 2:
        return table, columns
    long = _stack_columns(table, names)
    return long, replace(columns_of(long), sample=long.columns[-1], copies=len(names))


def _stack_columns(table: Table, names: Sequence[str]) -> Table:
    """The table once for each of some columns, one under the other."""
    others = tuple(name for name in table.columns if name not in names)
    head = [f"{name} (of samples)" if name in others else name for name in (OF_SAMPLE, SAMPLE)]
    rows = []
    for number, column in enumerate(names, 1):
        for line, cells in table.rows:
            shared = {name: cells.get(name) for name in others}
            rows.append((line, {**shared, head[0]: cells.get(column), head[1]: number}))
    return Table(table.path, (*others, *head), rows)


def _find_numbering(table: Table, columns: PredictionColumns) -> str | None:
    """The column that numbers the answers to each problem, by its name."""
    likely = [name for name in table.columns if NUMBERS.fullmatch(name.casefold())]
    return next((name for name in likely if name not in columns.names and _numbers_rows(table, columns, name)), None)


def _row_keys(table: Table, columns: PredictionColumns) -> list[tuple[str, ...]]:
    """The cells of each row that name its problem and its model."""
    names = [*columns.names, *((columns.model,) if columns.model else ())]
    keys = []
    for _, cells in table.rows:
        keys.append(tuple(cell_text(cells.get(name)).strip() for name in names))
    return keys


def _numbers_rows(table: Table, columns: PredictionColumns, name: str) -> bool:
    """Whether a column tells the rows of each problem apart."""
    keys = _row_keys(table, columns)
    values = [cell_text(cells.get(name)).strip() for _, cells in table.rows]
    most = max(Counter(keys).values(), default=0)
    is_unique = len(set(zip(keys, values, strict=True))) == len(keys)
    are_numbers = all(SAMPLE_NUMBER.fullmatch(value.casefold()) for value in set(values))
    return most > 1 and are_numbers and len(set(values)) == most and is_unique


def sample_numbers(table: Table, columns: PredictionColumns) -> list[int | None]:
    """The number of the sample of each row, from 0, or None."""
    if columns.sample is None:
        return [None] * len(table.rows)
    if columns.sample == LINE:
        counts: Counter[tuple[str, ...]] = Counter()
        counted = []
        for key in _row_keys(table, columns):
            counted.append(counts[key])
            counts[key] += 1
        return list(counted)
    values = [cell_text(cells.get(columns.sample)).strip() for _, cells in table.rows]
    if "" in values:
        raise Malformed("expected the number of a sample, found nothing", field=columns.sample, file=table.path)
    number_of = _place_by_value(values)
    return [number_of[value] for value in values]


def _place_by_value(values: Sequence[str]) -> dict[str, int]:
    """The number of each value, by size if all are numbers."""
    distinct: list[Any] = list(dict.fromkeys(values))
    if all(value.isdecimal() for value in distinct):
        distinct.sort(key=int)
    return {value: place for place, value in enumerate(distinct)}


def sample_hint(table: Table, columns: PredictionColumns) -> str:
    """The option that reads the rows of each problem as samples."""
    if columns.sample is not None or columns.order is not None:
        return ""
    counts = Counter(Counter(_row_keys(table, columns)).values())
    rows_each, problems = counts.most_common(1)[0] if counts else (1, 0)
    if rows_each < 2 or problems < LEAST_PROBLEMS:
        return ""
    others = [name for name in table.columns if name not in {*columns.names, columns.prediction, columns.answer}]
    numbering = next((name for name in others if _numbers_rows(table, columns, name)), LINE)
    roles = said_columns({**columns.roles(), "sample": numbering})
    as_listed = " (numbered as they are listed)" if numbering == LINE else ""
    return f"{problems:,} problems have {rows_each} rows each: if these are samples{as_listed}: {OPTION} {roles}"
