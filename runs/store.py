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
        """First row with these names, or None; None as subset or protocol matches every one."""
        for row in self.rows:
            if row.metric == metric and subset in (None, row.subset) and protocol in (None, row.protocol):
                return row
        return None

    def row(self, metric: str, subset: str | None = None, protocol: str | None = None) -> Metric:
        """First row with these names. Raises KeyError if there is none; None matches every subset or protocol."""
        row = self.find(metric, subset, protocol)
        if row is None:
            raise KeyError(f"{self.key}: no {metric} of {subset or 'any subset'}")
        return row

    def value(self, metric: str, subset: str | None = None, protocol: str | None = None) -> float:
        """Value of the first row with these names. Raises KeyError if there is none."""
        return self.row(metric, subset, protocol).value


class Store:
    """The records of one file, by key, in the order they were put."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, Record] = {}
        if path.exists():
            content = read_object(path)
            rows: dict[str, list[Metric]] = {key: [] for key in content["runs"]}
            for row in content["metrics"]:
                named = dict.fromkeys(NAMING, "")
                rows[row["run"]].append(Metric.from_json({**named, **_without(row, "run")}))
            self.records = {key: Record(key, rows=tuple(rows[key]), **run) for key, run in content["runs"].items()}

    def __getitem__(self, key: str) -> Record:
        if key not in self.records:
            raise BadInput(f"{self.path}: no result for {key!r} yet; run its table again to go on")
        return self.records[key]

    def __contains__(self, key: str) -> bool:
        return key in self.records

    def has(self, key: str, settings: Mapping[str, Any]) -> bool:
        """Whether this very work is done."""
        return key in self.records and _plain(self.records[key].settings) == _plain(settings)

    def put(self, *records: Record) -> None:
        """Add records, each in the place of the one with its key, and write the file."""
        self.records |= {record.key: record for record in records}
        write_whole(self.path, self.to_json().encode())

    def merge(self, others: Iterable[Store]) -> None:
        """Take in the records of other files, and write this one."""
        self.put(*(record for other in others for record in other.records.values()))

    def to_json(self) -> str:
        """The file: a line per run and per row, so that changes can be read."""
        runs = (f"{_line(record.key)}: {_line(_run(record))}" for record in self.records.values())
        rows = (
            _line({"run": record.key, **{name: _short(cell) for name, cell in row.to_json().items() if _said(cell)}})
            for record in self.records.values()
            for row in record.rows
        )
        return '{"runs": {\n' + ",\n".join(runs) + '\n},\n"metrics": [\n' + ",\n".join(rows) + "\n]}\n"


def letters(chosen: Iterable[int | None]) -> str:
    """Predictions as one character per problem: the candidate's index, `-` for an abstention.

    >>> letters([0, 1, None])
    '01-'
    """
    return "".join(ABSTAINED if choice is None else str(choice) for choice in chosen)


def chosen(letters: str) -> list[int | None]:
    """The predictions that `letters` wrote.

    >>> chosen("01-")
    [0, 1, None]
    """
    return [None if letter == ABSTAINED else int(letter) for letter in letters]


def made_with(*packages: str, machine: str = "CPU") -> dict[str, str]:
    """What the work was done with: versions of winokit, Python and the packages named, and the kind of machine."""
    known = {"winokit": winokit.__version__, "python": platform.python_version(), "machine": machine}
    for package in packages:
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            continue
    return known


def _run(record: Record) -> dict[str, Any]:
    whole = {name: getattr(record, name) for name in ("settings", "seconds", "made_with", "predictions", "texts")}
    if record.seconds is not None:
        whole["seconds"] = round(record.seconds, 1)
    return {name: value for name, value in whole.items() if value or name == "settings"}


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _plain(settings: Mapping[str, Any]) -> Any:
    """Settings as they come back from a file."""
    return json.loads(_line(settings))


def _said(cell: Any) -> bool:
    return cell is not None and cell != ""


def _short(cell: Any) -> Any:
    """A number with the seven digits that no table needs more of."""
    return float(f"{cell:.7g}") if isinstance(cell, float) else cell


def _without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}
