"""Problems from a data frame of pandas or polars: `Dataset.from_frame`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winokit.data.checks.groups import with_groups
from winokit.data.formats.columns import ROLES, checked_columns, read_columns
from winokit.data.formats.source import Source
from winokit.data.formats.tables import Table, numbered, numbered_rows, parse_columns
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
        What its columns are, as `--columns` takes them: `{"text": "satz", "option1": "a", "option2": "b"}`. A role
        that is not named has the column of its name (`text`, `option1`, `answer`, `group` …), as `Dataset.to_frame`
        writes them; `sentence` stands for `text`, as in WinoGrande's files.
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
        It is not a data frame, or lacks a column that a problem needs.
    Malformed
        A row is not a problem; the message names the row and the column.
    """
    roles = parse_columns(columns, ROLES) if columns else None
    dataset = problems_of_frame(frame, roles, name=name, lenient=lenient)
    return with_groups(in_language(dataset, language))


def problems_of_frame(
    frame: Any, columns: Mapping[str, str] | None = None, *, name: str = "frame", lenient: bool = False
) -> Dataset:
    """The problems in a data frame, with its own languages and groups.

    Neither is searched for. Parameters are those of `from_frame`.
    """
    names, rows = frame_rows(frame)
    roles = dict(columns or {})
    if roles.keys().isdisjoint({"options", "text1", "good"}):  # these take the place of the others
        numbers = {*numbered(names, "option"), *numbered(names, "text")}
        alone = {"text": "sentence"} if "sentence" in names else {}
        own_names = {name: name for name in names if name in ROLES or name in numbers}
        roles = {**alone, **own_names, **roles}
    try:
        roles = checked_columns(roles)
    except BadInput as error:
        missing = str(error).removeprefix("--columns: ")
        present = ", ".join(names) or "none"
        raise BadInput(f"{name}: {missing}; name them with columns=; it has {present}") from None
    source = Source(Path(name), lenient=lenient)
    table = Table(name, tuple(names), numbered_rows(rows))
    problems = list(read_columns(source, roles, table))
    notes = [*source.notes, *(f"skipped: {why}" for why in source.skipped)]
    return Dataset(problems, Card(name), notes)
