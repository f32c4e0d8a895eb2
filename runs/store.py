"""Results in the open: what was run, what came out and every prediction, in one small JSON file per table.

    {"runs":    {KEY: {"settings", "seconds", "made_with", "predictions", "texts"}},
     "metrics": [{"run": KEY, "dataset", "model", …, "value", "n", "low", "high", "chance"}]}

`metrics` is flat, as in every `results.json` of winokit; columns without a value are left out. Nothing in a file
depends on the day or the folder it was made in.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import winokit
from winokit.errors import BadInput
from winokit.files import read_object, write_whole
from winokit.results import NAMING, Metric

ABSTAINED = "-"


@dataclass(frozen=True)
class Record:
    """One piece of work: a model on a dataset, a training run, a count."""

    key: str
    settings: Mapping[str, Any]
    """All that determines the outcome; other settings mean that the work must be done again."""
    rows: tuple[Metric, ...] = ()
    predictions: Mapping[str, str] = field(default_factory=dict)
    """By dataset or variant, one character per problem in order: see `letters`."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """What is not a number: an example's text, a note."""
    seconds: float | None = None
    made_with: Mapping[str, str] = field(default_factory=dict)

    def find(self, metric: str, subset: str | None = None, protocol: str | None = None) -> Metric | None:
        """First row of a metric, or None if there is none.

        Without a subset or a protocol, rows of every one are looked at.
        """
        for row in self.rows:
            if row.metric == metric and subset in (None, row.subset) and protocol in (None, row.protocol):
                return row
        return None

    def row(self, metric: str, subset: str | None = None, protocol: str | None = None) -> Metric:
        """First row of a metric, as `find` finds it. Raises KeyError if there is none."""
        row = self.find(metric, subset, protocol)
        if row is None:
            raise KeyError(f"{self.key}: no {metric} of {subset or 'any subset'}")
        return row

    def value(self, metric: str, subset: str | None = None, protocol: str | None = None) -> float:
        """Value of the first row of a metric. Raises KeyError if there is none."""
        return self.row(metric, subset, protocol).value


class Store:
    """The records of one file, by key, in the order they were put."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, Record] = {}
        if path.exists():
            content = read_object(path)
            rows: dict[str, list[Metric]] = {key: [] for key in content["runs"]}
            for row_cells in content["metrics"]:
                run_key = row_cells.pop("run")
                empty_names = dict.fromkeys(NAMING, "")
                rows[run_key].append(Metric.from_json({**empty_names, **row_cells}))
            self.records = {key: Record(key, rows=tuple(rows[key]), **run) for key, run in content["runs"].items()}

    def __getitem__(self, key: str) -> Record:
        if key not in self.records:
            raise BadInput(f"{self.path}: no result for {key!r} yet; run its table again to go on")
        return self.records[key]

    def __contains__(self, key: str) -> bool:
        return key in self.records

    def has(self, key: str, settings: Mapping[str, Any]) -> bool:
        """Whether there is a record of this key with the same settings, so that the work need not be done again."""
        return key in self.records and as_stored(self.records[key].settings) == as_stored(settings)

    def put(self, *records: Record) -> None:
        """Add records, replacing those with the same keys, and write the file."""
        self.records |= {record.key: record for record in records}
        write_whole(self.path, self.to_json().encode())

    def merge(self, others: Iterable[Store]) -> None:
        """Add the records of other files, and write this one."""
        for other in others:
            self.records |= other.records
        self.put()

    def to_json(self) -> str:
        """Text of the file, with a line per run and per row, so that changes can be read."""
        run_lines = []
        metric_lines = []
        for record in self.records.values():
            run_lines.append(f"{json_line(record.key)}: {json_line(run_object(record))}")
            metric_lines += [json_line(row_object(record.key, row)) for row in record.rows]
        runs = ",\n".join(run_lines)
        metrics = ",\n".join(metric_lines)
        return f'{{"runs": {{\n{runs}\n}},\n"metrics": [\n{metrics}\n]}}\n'


def letters(predictions: Iterable[int | None]) -> str:
    """Write predictions as one character per problem: the candidate's index, `-` for an abstention (None).

    >>> letters([0, 1, None])
    '01-'
    """
    return "".join(map(letter_of, predictions))


def letter_of(prediction: int | None) -> str:
    """Character of one prediction."""
    return ABSTAINED if prediction is None else str(prediction)


def chosen(letters: str) -> list[int | None]:
    """Read the predictions that `letters` wrote, None for an abstention.

    >>> chosen("01-")
    [0, 1, None]
    """
    predictions: list[int | None] = []
    for letter in letters:
        predictions.append(None if letter == ABSTAINED else int(letter))
    return predictions


def made_with(*packages: str, machine: str = "CPU") -> dict[str, str]:
    """Versions of winokit, Python and the given packages, and the kind of machine.

    A package that is not installed is left out.
    """
    versions = {"winokit": winokit.__version__, "python": platform.python_version(), "machine": machine}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def run_object(record: Record) -> dict[str, Any]:
    """Entry of a record under `runs` in the file, without its rows and empty fields."""
    run: dict[str, Any] = {"settings": record.settings}
    seconds = None if record.seconds is None else round(record.seconds, 1)
    if seconds:
        run["seconds"] = seconds
    for name in ("made_with", "predictions", "texts"):
        value = getattr(record, name)
        if value:
            run[name] = value
    return run


def row_object(run_key: str, row: Metric) -> dict[str, Any]:
    """Entry of a row under `metrics` in the file, without empty cells, numbers with seven digits."""
    cells: dict[str, Any] = {"run": run_key}
    for name, cell in row.to_json().items():
        if cell is not None and cell != "":
            cells[name] = float(f"{cell:.7g}") if isinstance(cell, float) else cell
    return cells


def json_line(value: Any) -> str:
    """Write a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)


def as_stored(settings: Mapping[str, Any]) -> Any:
    """Settings as they are read back from a file."""
    return json.loads(json_line(settings))
