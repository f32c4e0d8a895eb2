"""Predictions as Python values: a list, a Series, an array of scores, answers by id, columns of a frame.

A list, a Series and an array are in the order of the problems and have one value for each: what was chosen (a number
from 1, or from 0 if there is a 0; a candidate's text; None for no answer), or a score for each candidate. They are read
as a table of a file is. Those of pandas are put into the order of a data frame's problems by their index labels
(`aligned.py`).
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
"""The name of a model if its values have none."""
LABELS = "labels"
SCORES = "scores"
"""The scorings of values: choices, and scores of candidates."""
HOW = "a list, a Series, an array of scores, or a dict by id"


@runtime_checkable
class HasShape(Protocol):
    """Anything with a shape: a Series, array, tensor or data frame."""

    @property
    def shape(self) -> Any:
        """Sizes of its dimensions."""


Predictions = str | Path | Sequence[Any] | Mapping[str, Any] | HasShape
"""A file, several, or predictions in memory."""


def are_files(predictions: Predictions) -> bool:
    """Whether predictions may name files, by their type.

    They may if they are a text, a path, or a list of these.
    """
    if isinstance(predictions, (str, Path)):
        return True
    return isinstance(predictions, (list, tuple)) and all(isinstance(each, (str, Path)) for each in predictions)


def are_empty(predictions: Predictions) -> bool:
    """Whether predictions were given and have no values.

    The empty tuple is the default of arguments and means that none were given, so it does not count.

    >>> are_empty([]), are_empty({}), are_empty(()), are_empty([1])
    (True, True, False, False)
    """
    if isinstance(predictions, HasShape):
        return 0 in tuple(predictions.shape)
    return isinstance(predictions, (list, Mapping)) and not predictions


def file_paths(predictions: Predictions) -> list[str | Path]:
    """The files that predictions name, empty if they are values in memory."""
    if not are_files(predictions):
        return []
    if isinstance(predictions, (str, Path)):
        return [predictions]
    return list(predictions)  # type: ignore[arg-type]


def is_folder(predictions: Predictions, data: object) -> bool:
    """Whether predictions are a name, of neither a file nor a column.

    Parameters
    ----------
    data
        The data of the run. If it is a data frame, its columns are looked up.
    """
    if not isinstance(predictions, (str, Path)) or Path(predictions).is_file():
        return False
    return columns_of_frame(predictions, data) is predictions


def columns_of_frame(predictions: Predictions, data: object) -> Predictions:
    """The columns of a data frame that predictions name, as lists.

    They are in a dict by name. Predictions in memory are put into the order of the frame's rows, where both have the
    same index labels. Predictions that name no columns of the data are returned as they are.
    """
    names = file_paths(predictions)
    if not isinstance(data, Frame):
        return predictions
    if not names:
        from winokit.data.predictions.aligned import align_predictions

        aligned: Predictions = align_predictions(predictions, data)
        return aligned
    columns, rows = frame_rows(data)
    if not all(name in columns for name in names):
        return predictions
    return {str(name): _get_cells(str(name), rows) for name in names}


def tables_in_memory(predictions: Predictions, dataset: Dataset) -> list[PredictionTable]:
    """Tables of predictions in memory, one for each model.

    Empty if the predictions are files. A list of texts is taken for answers if there is one for each problem and none
    is a file.
    """
    if are_files(predictions):
        return _make_text_tables(file_paths(predictions), dataset)
    if isinstance(predictions, Frame):
        return _make_frame_tables(predictions)
    if isinstance(predictions, Mapping):
        return _make_mapping_tables(predictions, dataset)
    name = getattr(predictions, "name", None)
    has_name = isinstance(name, str) and name
    model = str(name) if has_name else UNNAMED
    return [_make_table_by_order(model, values_of(predictions))]


def _make_text_tables(texts: Sequence[str | Path], dataset: Dataset) -> list[PredictionTable]:
    """Tables of predictions that are texts: one, or none.

    The answers are in the order of the problems. The list is empty if the texts are paths of files, or if there are
    more or fewer than problems.
    """
    if not texts or len(texts) != len(dataset):
        return []
    are_paths = any(Path(text).exists() for text in texts)
    return [] if are_paths else [_make_table_by_order(UNNAMED, texts)]


def _make_mapping_tables(predictions: Mapping[str, Any], dataset: Dataset) -> list[PredictionTable]:
    """Tables of answers by id, or of lists of answers by model.

    They are answers by id if a key is the id of a problem, or if some value is not a list.
    """
    ids = {problem.id for problem in dataset}
    has_ids = not ids.isdisjoint(predictions)
    are_models = all(map(is_column, predictions.values()))
    if has_ids or not are_models:
        return [_make_table_by_id(UNNAMED, predictions.items())]
    return [_make_table_by_order(str(name), values_of(column)) for name, column in predictions.items()]


def run_of_predictions(predictions: Predictions, dataset: Dataset | None) -> Run:
    """Read predictions from files or memory into a run, without scoring anything.

    Raises BadInput if `dataset` is None: predictions are read by their problems.
    """
    paths = file_paths(predictions)
    if dataset is None:
        source_names = ", ".join(map(str, paths)) or UNNAMED
        raise BadInput(f"{source_names}: predictions without their problems; name those with --data DATA")
    sources: Sequence[PredictionSource] = tables_in_memory(predictions, dataset)
    if not sources:
        sources = [PredictionFile(Path(path)) for path in paths]
    reads, _ = read_files(sources, dataset)
    rows: list[Prediction] = []
    for results in reads.values():
        for result in results:
            tell(result.notes)
            rows += result.predictions
    return Run({}, [], rows, dataset)


def _get_cells(column: str, rows: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The cells of one column, one for each row."""
    return [row[column] for row in rows]


def is_column(value: object) -> bool:
    """Whether a value is a list of predictions, not a single one.

    A list, a tuple and anything with a shape is one, except a number of numpy's.
    """
    return isinstance(value, (list, tuple, HasShape)) and not isinstance(value, Number)


def values_of(column: Any) -> list[Any]:
    """The values of a list, array or Series as Python objects.

    Raises BadInput for anything else, and for a Series whose index numbers the rows in another order.
    """
    if hasattr(column, "index") and not isinstance(column, list | tuple):  # a Series, say of pandas
        from winokit.data.predictions.aligned import check_index_order

        check_index_order(column)
    for method_name in ("tolist", "to_list"):
        method = getattr(column, method_name, None)
        if method is not None:
            values = method()
            return values if isinstance(values, list) else [values]
    if not isinstance(column, Sequence):
        raise BadInput(f"expected predictions: {HOW}, found a {type(column).__name__}")
    return list(column)


def _make_table_by_order(name: str, values: Sequence[Any]) -> PredictionTable:
    """A table of one model's answers in the order of problems."""
    from winokit.data.predictions.columns import LINE

    rows = [{"model": name, "value": value} for value in values]
    return _make_table(name, rows, order=LINE)


def _make_table_by_id(name: str, values: Iterable[tuple[Any, Any]]) -> PredictionTable:
    """A table of one model's answers by the problem's id."""
    rows = [{"model": name, "id": str(problem_id), "value": value} for problem_id, value in values]
    return _make_table(name, rows, ids=("id",))


def _make_frame_tables(frame: Frame) -> list[PredictionTable]:
    """Tables of a data frame of predictions, one for each column.

    A column that is called like an id is no model: its ids say which problem each row is about.
    """
    from winokit.data.predictions.aligned import check_index_order
    from winokit.data.predictions.columns import IDS

    columns, rows = frame_rows(frame)
    id_column = next((name for name in columns if name.casefold() in IDS), None)
    if id_column is None:
        check_index_order(frame)
        return [_make_table_by_order(name, _get_cells(name, rows)) for name in columns]
    ids = _get_cells(id_column, rows)
    tables = []
    for name in columns:
        if name != id_column:
            answers = zip(ids, _get_cells(name, rows), strict=True)
            tables.append(_make_table_by_id(name, answers))
    return tables


def _make_table(name: str, rows: list[dict[str, Any]], **places: Any) -> PredictionTable:
    """A table with choices, or lists of scores, in the column `value`.

    Parameters
    ----------
    name
        The name of the model.
    rows
        The cells of each row: `model`, `value` and perhaps `id`.
    places
        Columns that say which problem a row is about, as fields of `PredictionColumns`.
    """
    from winokit.data.formats.tables import Table, numbered_rows
    from winokit.data.predictions.columns import PredictionColumns

    are_scores = any(is_column(row["value"]) for row in rows)
    if are_scores:
        scoring = SCORES
        columns = PredictionColumns(scores=("value",), model="model", is_given=True, **places)
        rows = [{**row, "value": _render_scores(row["value"])} for row in rows]
    else:
        scoring = LABELS
        columns = PredictionColumns(prediction="value", model="model", is_given=True, **places)
    names = ("model", *columns.ids, "value")
    table = Table(name, names, numbered_rows(rows))
    reading = partial(_read_memory_rows, table, columns, scoring)
    return PredictionTable(name, reading)


def _render_scores(scores: Any) -> str | None:
    """The scores of one problem's candidates as the text of a cell.

    None if they are missing. Raises BadInput if they are not numbers. A single value is returned as text, whatever it
    is.
    """
    if not is_column(scores):
        is_missing = scores is None or scores != scores
        return None if is_missing else str(scores)
    numbers = values_of(scores)
    are_numbers = all(isinstance(score, (int, float)) for score in numbers)
    if not numbers or not are_numbers:
        raise BadInput(f"predictions: expected a score for each candidate, found {scores!r}")
    return " ".join(repr(float(score)) for score in numbers)


def _read_memory_rows(
    table: "Table", columns: "PredictionColumns", scoring: str, source: Source, matcher: Matcher
) -> Iterator[PredictionRow]:
    """Yield the rows of a table in memory, as a reader does."""
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
