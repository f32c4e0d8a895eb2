"""Predictions as they are understood before anything is scored: roles of columns, and matched rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from winokit.data.formats.source import Source
from winokit.data.formats.tables import Table, numbered_rows
from winokit.data.loading import DataLike, load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.in_memory import UNNAMED, Predictions, file_paths, tables_in_memory
from winokit.data.predictions.match import Matcher
from winokit.data.predictions.read import ReadPredictions, reader_of, recognise, rows_read
from winokit.data.predictions.table import read_rows
from winokit.errors import BadInput
from winokit.notebook import Frame, frame_rows
from winokit.problem import Dataset
from winokit.results import Brief

IN_MEMORY = "values in memory"


@dataclass(frozen=True)
class UnderstoodModel:
    """Counts and lists for one model under one scoring on one variant."""

    model: str
    scoring: str
    variant: str
    problems: int
    """How many the dataset has."""
    matched: int
    """Problems for which there is a prediction or an abstention."""
    right: int | None
    """Right predictions; None if the dataset has no answers."""
    unmatched: list[str] = field(default_factory=list)
    """Rows that are about no problem, with the reason."""
    abstentions: list[str] = field(default_factory=list)
    """Ids of the problems for which nothing is chosen, with the reason."""
    contradictions: list[str] = field(default_factory=list)
    """Rows that contradict each other; their problems are left out."""

    @property
    def accuracy(self) -> float | None:
        """Share of right predictions among the matched problems.

        None without answers.
        """
        if self.right is None or not self.matched:
            return None
        return self.right / self.matched


@dataclass(frozen=True, repr=False)
class UnderstoodPredictions(Brief):
    """The roles, matches and notes that were found in predictions.

    A notebook shows it.
    """

    name: str
    dataset: str
    kind: str
    """What sort of file it is: table, labels, lmeval, inspect, winokit, or values in memory."""
    roles: Mapping[str, str]
    """Columns of a table by what they were taken for."""
    models: list[UnderstoodModel]
    notes: list[str]
    readings: Mapping[str, float]
    """Shares of right replies by each way to read them; empty if none is more than a label."""

    @property
    def matched(self) -> int:
        """Number of problems with a prediction or abstention, summed over all models."""
        return sum(model.matched for model in self.models)

    @property
    def unmatched(self) -> list[str]:
        """Rows that belong to no problem, with the reason."""
        return self._collect_rows("unmatched")

    @property
    def abstentions(self) -> list[str]:
        """Problems for which nothing is chosen, with the reason."""
        return self._collect_rows("abstentions")

    @property
    def contradictions(self) -> list[str]:
        """Rows that contradict each other, as sentences."""
        return self._collect_rows("contradictions")

    def _collect_rows(self, kind: str) -> list[str]:
        """The rows in one list of each model.

        `kind` is the name of the list, such as "unmatched".
        """
        rows: list[str] = []
        for model in self.models:
            rows += getattr(model, kind)
        return rows

    def to_json(self) -> dict[str, Any]:
        """The object that `winokit check PREDICTIONS --data DATA --json` prints."""
        models = [{**vars(model), "accuracy": model.accuracy} for model in self.models]
        return {**vars(self), "roles": dict(self.roles), "readings": dict(self.readings), "models": models}


def read_predictions(
    predictions: Predictions, data: DataLike, *, columns: str | Mapping[str, str] | None = None
) -> UnderstoodPredictions:
    """Read predictions about a dataset, and return what was understood of them.

    Nothing is scored. Rows that cannot be read are left out and listed, where an audit refuses them.

    Parameters
    ----------
    predictions
        A file, a data frame that names its columns as a file does, or values as `winokit.audit` takes them.
    columns
        What the columns of a table are, as `--prediction-columns` takes it.

    Returns
    -------
    UnderstoodPredictions
        Roles of columns, and for each model what matches, abstains or contradicts itself.

    Raises
    ------
    BadInput
        If nothing of it is about a problem of the dataset, or it is not clear which column is the prediction.
    """
    dataset = data if isinstance(data, Dataset) else load(data)
    roles_given = None if columns is None else checked_columns(columns)
    source_name, reader, kind = _find_reader(predictions, dataset, roles_given)
    source = Source(Path(source_name), lenient=True)
    reads = rows_read(source, Matcher(dataset), reader)
    notes: dict[str, None] = {}
    models: list[UnderstoodModel] = []
    for model in reads:
        notes |= dict.fromkeys(model.notes)
        models.append(_describe_model(model, dataset))
    return UnderstoodPredictions(
        source_name,
        dataset.card.name,
        kind,
        source.roles,
        models,
        list(notes),
        source.readings,
    )


def _find_reader(predictions: Predictions, dataset: Dataset, columns: Mapping[str, str] | None) -> tuple[str, Any, str]:
    """Name, reader and kind of predictions in a file or in memory.

    Raises BadInput for several files or models.
    """
    paths = file_paths(predictions)
    if len(paths) == 1:
        path = Path(paths[0])
        return str(path), reader_of(path, columns), recognise(path)
    if isinstance(predictions, Frame):
        names, rows = frame_rows(predictions)
        table = Table(UNNAMED, tuple(names), numbered_rows(rows))
        return UNNAMED, partial(read_rows, table, user_columns=columns), IN_MEMORY
    tables = tables_in_memory(predictions, dataset)
    if len(tables) != 1:
        raise BadInput("predictions: expected one file, one data frame or the values of one model")
    return tables[0].name, tables[0].read_rows, IN_MEMORY


def _describe_model(read: ReadPredictions, dataset: Dataset) -> UnderstoodModel:
    """Counts and lists for one model."""
    matched_ids = {row.id for row in read.predictions}
    return UnderstoodModel(
        read.model,
        read.scoring,
        read.variant,
        problems=len(dataset),
        matched=len(matched_ids),
        right=read.right,
        unmatched=read.unmatched,
        abstentions=list(_list_abstentions(read)),
        contradictions=read.contradictions,
    )


def _list_abstentions(read: ReadPredictions) -> Iterator[str]:
    """Yield the problems for which nothing is chosen, with the reason."""
    for row in read.predictions:
        if row.prediction is None:
            reason = row.why or "nothing is chosen"
            yield f"{row.id}: {reason}"
