"""Predictions as Python values: a list, a Series, an array of scores, answers by id, columns of a frame.

A list, a Series and an array are in the order of the problems and have one value for each: what was chosen (a number
from 1, or from 0 if there is a 0; a candidate's text; None for no answer), or a score for each candidate. They are read
as a table of a file is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from winokit.data.formats.source import Source
from winokit.data.predictions.match import Matcher, PredictionRow
from winokit.data.predictions.read import PredictionFile, PredictionSource, PredictionTable, read_files
from winokit.data.runs import Run
from winokit.errors import BadInput, Malformed
from winokit.methods.scoring.scorer import Prediction
from winokit.notebook import Frame, frame_rows
from winokit.problem import Dataset
from winokit.progress import tell

if TYPE_CHECKING:
    from winokit.data.formats.tables import Table
    from winokit.data.predictions.columns import PredictionColumns

UNNAMED = "predictions"
"""The model's name if the values have none."""
LABELS, SCORES = "labels", "scores"
"""The scorings of values: choices, and scores of candidates."""
HOW = "a list, a Series, an array of scores, or a dict by id"


@runtime_checkable
class HasShape(Protocol):
    """A Series, an array, a tensor or a data frame."""

    @property
    def shape(self) -> Any:
        """Its sizes."""


Predictions = str | Path | Sequence[Any] | Mapping[str, Any] | HasShape
"""A file, several, or predictions in memory."""


def are_files(given: Predictions) -> bool:
    """Whether predictions are files by their type: a text, a path, or several of them."""
    if isinstance(given, (str, Path)):
        return True
    return isinstance(given, (list, tuple)) and all(isinstance(each, (str, Path)) for each in given)


def are_empty(given: Predictions) -> bool:
    """Whether predictions are given and empty.

    The empty tuple says that none are given.

    >>> are_empty([]), are_empty({}), are_empty(()), are_empty([1])
    (True, True, False, False)
    """
    if isinstance(given, HasShape):
        return 0 in tuple(given.shape)
    return isinstance(given, (list, Mapping)) and not given


def file_paths(given: Predictions) -> list[str | Path]:
    """The files that predictions name, if they are no values."""
    if not are_files(given):
        return []
    return [given] if isinstance(given, (str, Path)) else list(given)  # type: ignore[arg-type]


def is_folder(given: Predictions, data: object) -> bool:
    """Whether predictions are named by a text or path that is neither a file nor a column of a data frame."""
    if not isinstance(given, (str, Path)) or Path(given).is_file():
        return False
    return columns_of_frame(given, data) is given


def columns_of_frame(given: Predictions, data: object) -> Predictions:
    """The columns that predictions name in a data frame of problems. Other predictions are returned as they are."""
    names = file_paths(given)
    if not names or not isinstance(data, Frame):
        return given
    columns, rows = frame_rows(data)
    if not all(name in columns for name in names):
        return given
    return {str(name): _cells_of(str(name), rows) for name in names}


def tables_in_memory(given: Predictions, dataset: Dataset) -> list[PredictionTable]:
    """The tables of values, one for each model.

    There are none if they are files. Texts are files unless there is one for each problem, and none of them is a file.
    """
    if are_files(given):
        paths = file_paths(given)
        are_answers = len(paths) == len(dataset) and not any(Path(path).exists() for path in paths)
        return [_table_by_order(UNNAMED, paths)] if paths and are_answers else []
    if isinstance(given, Frame):
        return _tables_of_frame(given)
    if isinstance(given, Mapping):
        ids = set(given) & {problem.id for problem in dataset}
        if ids or not all(map(is_column, given.values())):
            return [_table_by_id(UNNAMED, given.items())]
        return [_table_by_order(str(name), values_of(column)) for name, column in given.items()]
    name = getattr(given, "name", None)
    return [_table_by_order(name if isinstance(name, str) and name else UNNAMED, values_of(given))]


def run_of_predictions(given: Predictions, dataset: Dataset | None) -> Run:
    """A run of what files or values in memory say about a dataset's problems."""
    named = ", ".join(map(str, file_paths(given))) or UNNAMED
    if dataset is None:
        raise BadInput(f"{named}: predictions without their problems; name those with --data DATA")
    tables = tables_in_memory(given, dataset)
    sources: Sequence[PredictionSource] = tables or [PredictionFile(Path(path)) for path in file_paths(given)]
    reads, _ = read_files(sources, dataset)
    rows: list[Prediction] = []
    for parts in reads.values():
        for part in parts:
            tell(part.notes)
            rows += part.predictions
    return Run({}, [], rows, dataset)


def _cells_of(column: str, rows: Iterable[Mapping[str, Any]]) -> list[Any]:
    return [row[column] for row in rows]


def is_column(value: object) -> bool:
    """Whether a value is a model's predictions, and not one prediction."""
    return isinstance(value, (list, tuple, HasShape)) and not isinstance(value, Number)


def values_of(column: Any) -> list[Any]:
    """The values of a column as Python's own."""
    for method in ("tolist", "to_list"):
        if hasattr(column, method):
            values = getattr(column, method)()
            return values if isinstance(values, list) else [values]
    if not isinstance(column, Sequence):
        raise BadInput(f"expected predictions: {HOW}, found a {type(column).__name__}")
    return list(column)


def _table_by_order(name: str, values: Sequence[Any]) -> PredictionTable:
    from winokit.data.predictions.columns import LINE

    return _table(name, [{"model": name, "value": value} for value in values], order=LINE)


def _table_by_id(name: str, values: Iterable[tuple[Any, Any]]) -> PredictionTable:
    rows = [{"model": name, "id": str(problem_id), "value": value} for problem_id, value in values]
    return _table(name, rows, ids=("id",))


def _tables_of_frame(frame: Frame) -> list[PredictionTable]:
    """The tables of a frame: every column is a model, except one of ids, by which its rows are found."""
    from winokit.data.predictions.columns import IDS

    columns, rows = frame_rows(frame)
    id_column = next((name for name in columns if name.casefold() in IDS), None)
    if id_column is None:
        return [_table_by_order(name, _cells_of(name, rows)) for name in columns]
    ids = _cells_of(id_column, rows)
    models = [name for name in columns if name != id_column]
    return [_table_by_id(name, zip(ids, _cells_of(name, rows), strict=True)) for name in models]


def _table(name: str, rows: list[dict[str, Any]], **places: Any) -> PredictionTable:
    """A table of choices or of scores, whichever the values are."""
    from winokit.data.formats.tables import Table, numbered_rows
    from winokit.data.predictions.columns import PredictionColumns

    are_scores = any(is_column(row["value"]) for row in rows)
    if are_scores:
        columns = PredictionColumns(scores=("value",), model="model", is_given=True, **places)
        rows = [{**row, "value": _scores_text(row["value"])} for row in rows]
    else:
        columns = PredictionColumns(prediction="value", model="model", is_given=True, **places)
    table = Table(name, ("model", *places.get("ids", ()), "value"), numbered_rows(rows))
    reading = partial(_read_memory_rows, table, columns, SCORES if are_scores else LABELS)
    return PredictionTable(name, reading)


def _scores_text(scores: Any) -> str | None:
    """The scores of a problem's candidates as a cell of a file has them."""
    if not is_column(scores):
        return None if scores is None or scores != scores else str(scores)
    numbers = values_of(scores)
    if not numbers or not all(isinstance(score, (int, float)) for score in numbers):
        raise BadInput(f"predictions: expected a score for each candidate, found {scores!r}")
    return " ".join(repr(float(score)) for score in numbers)


def _read_memory_rows(
    table: "Table", columns: "PredictionColumns", scoring: str, source: Source, matcher: Matcher
) -> Iterator[PredictionRow]:
    """The rows of a table in memory."""
    from winokit.data.predictions.columns import check_order
    from winokit.data.predictions.table import TableReading

    check_order(table, columns, matcher.dataset)
    reading = TableReading(table, columns, matcher, source)
    reading.scoring = scoring
    for index, (place, cells) in enumerate(table.rows):
        try:
            yield reading.row(cells, str(place), index)
        except Malformed as error:
            source.reject(error, place)
    reading.finish()
