"""Problems from a data frame of pandas or polars: `Dataset.from_frame`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winokit.data.checks.groups import with_groups
from winokit.data.formats.columns import ROLES, checked_columns, read_columns
from winokit.data.formats.source import Source
from winokit.data.formats.tables import Table, numbered, numbered_rows
from winokit.data.loading import in_language
from winokit.errors import BadInput
from winokit.notebook import frame_rows
from winokit.problem import Card, Dataset


def from_frame(
    frame: Any,
    columns: str | Mapping[str, str] | None = None,
    *,
    name: str = "frame",
    language: str | None = None,
    lenient: bool = False,
) -> Dataset:
    """The problems in a data frame, with their groups.

    Parameters
    ----------
    frame
        A data frame of pandas, polars, or any eager one that narwhals knows.
    columns
        What its columns are, as `--columns` takes them: `{"text": "satz", "option1": "a", "option2": "b"}`. Default:
        each column whose name is a role (`text`, `option1`, `answer`, `group` …), as `Dataset.to_frame` writes them.
    name
        What the dataset is called.
    language
        BCP 47; recognised from the texts by default.
    lenient
        Skip malformed rows and note them, instead of raising.

    Returns
    -------
    Dataset
        One problem per row.

    Raises
    ------
    BadInput
        Where it is no data frame, or has no column for what a problem needs.
    Malformed
        Where a row is no problem; the message names the row and the column.
    """
    rows = frame_rows(frame)
    if rows is None:
        raise BadInput(f"a data frame of pandas or polars expected, found a {type(frame).__name__}")
    names = tuple(str(each) for each in (rows[0] if rows else ()))
    if columns is None:
        options = {*numbered(names, "option"), *numbered(names, "text")}
        columns = {each: each for each in names if each in ROLES or each in options}
    source = Source(Path(name), lenient=lenient)
    table = Table(name, names, numbered_rows(rows))
    problems = list(read_columns(source, checked_columns(columns), table))
    notes = [*source.notes, *(f"skipped: {why}" for why in source.skipped)]
    return with_groups(in_language(Dataset(problems, Card(name), notes), language))
