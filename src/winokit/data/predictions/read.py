"""A file of predictions, whoever made it: recognised from its content, read, and matched to a dataset's problems."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from winokit.data.formats.source import HEAD_BYTES, Source, read_bytes
from winokit.data.predictions import inspect_log, labels, lmeval_log, table, winokit_rows
from winokit.data.predictions.match import Matcher, align
from winokit.data.predictions.row import ORIGINAL, PredictionRow
from winokit.errors import BadInput
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset

Reader = Callable[[Source, Matcher], Iterator[PredictionRow]]
KINDS = (
    "winokit's predictions.jsonl, a list of labels, a csv with a prediction column, "
    "an lm-evaluation-harness samples_*.jsonl, or an Inspect log"
)


@dataclass(slots=True)
class ReadPredictions:
    """What a file says about one model under one scoring on one variant of a dataset."""

    model: str
    scoring: str
    variant: str
    predictions: list[Prediction] = field(default_factory=list)
    """One for each matched problem, in the order of the dataset; none for a problem the file says nothing about."""
    unmatched: list[str] = field(default_factory=list)
    """The rows that were not used, with the reason: "line 12: no problem has the text …"."""
    missing: int = 0
    """How many problems of the dataset have no prediction."""
    notes: list[str] = field(default_factory=list)


def read_predictions(path: str | Path, dataset: Dataset, *, lenient: bool = False) -> list[ReadPredictions]:
    """Read a file of predictions: one Read for each model, scoring and variant in it, in order of appearance.

    A row that fits no problem, or more than one, is listed as unmatched; a malformed one is an error that names it, or
    is skipped and noted when lenient. A file of which nothing matches is an error.
    """
    path = Path(path)
    reader = recognise(path)
    source = Source(path, lenient=lenient)
    matcher = Matcher(dataset)
    gathered: dict[tuple[str, str, str], _Gathering] = {}
    for row in reader(source, matcher):
        key = (row.model, row.scoring, row.variant)
        if key not in gathered:
            gathered[key] = _Gathering(matcher, ReadPredictions(*key))
        gathered[key].add(row)
    reads = [gathering.finish() for gathering in gathered.values()]
    return _told(reads, source, dataset)


def recognise(path: Path) -> Reader:
    """The reader for a file, told from its content."""
    if path.is_dir():
        raise BadInput(f"{path}: a folder; name a file in it")
    head = read_bytes(path, HEAD_BYTES)
    if b"\n" not in head.strip() and len(head) == HEAD_BYTES:
        head = read_bytes(path)
    if head.startswith(b"PK"):
        return inspect_log.read
    text = head.decode("latin-1").removeprefix("\xef\xbb\xbf").lstrip()
    first = text.split("\n", 1)[0]
    if not first:
        raise BadInput(f"{path}: the file is empty")
    if text.startswith("{"):
        return _json_reader(path, first, text)
    if labels.LINE.match(first):
        return labels.read
    columns = _columns(first)
    if table.is_table(columns):
        return table.read
    if len(columns) > 1 and not {*columns}.isdisjoint(table.NAMES):
        raise BadInput(f"{path}: a column {table.PREDICTION!r} expected, found {', '.join(filter(None, columns))}")
    raise BadInput(f"{path}: no predictions of a known kind; {KINDS} expected")


def _json_reader(path: Path, first: str, text: str) -> Reader:
    try:
        keys = frozenset(json.loads(first))
    except (ValueError, RecursionError):
        keys = frozenset(re.findall(r'"(\w+)"\s*:', text))
    if keys >= lmeval_log.KEYS:
        return lmeval_log.read
    if "eval" in keys:
        return inspect_log.read
    if keys >= winokit_rows.KEYS:
        return winokit_rows.read
    if keys >= {"results", "configs"}:
        raise BadInput(f"{path}: the harness's totals; run it with --log_samples and name its samples_*.jsonl")
    raise BadInput(f"{path}: no predictions of a known kind; {KINDS} expected")


def _columns(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line]))]
    except (csv.Error, StopIteration):
        return []


def _told(reads: list[ReadPredictions], source: Source, dataset: Dataset) -> list[ReadPredictions]:
    """The reads that have something, with the file's notes; an error where none has."""
    useful = [read for read in reads if read.predictions]
    notes = list(source.notes)
    if source.skipped:
        notes.append(f"{source.path}: skipped {len(source.skipped):,} malformed rows; the first: {source.skipped[0]}")
    if not useful:
        rows = [reason for read in reads for reason in read.unmatched]
        first = rows[0] if rows else notes[0] if notes else "it has no rows"
        raise BadInput(f"{source.path}: nothing in it matches a problem of {dataset.card.name}; the first: {first}")
    for read in reads:
        if not read.predictions:
            notes.append(f"{source.path}: nothing by {read.model} ({read.scoring}) could be used: {read.unmatched[0]}")
    for read in useful:
        read.notes = notes + [f"{source.path}: {note}" for note in read.notes]
    return useful


class _Gathering:
    """The rows of one model, scoring and variant, turned into the dataset's terms as they come."""

    def __init__(self, matcher: Matcher, read: ReadPredictions) -> None:
        self.dataset, self.ids, self.read = matcher.dataset, matcher.ids, read
        self.made: dict[int, Prediction] = {}
        self.other_gold: list[str] = []
        self.other_verdict: list[str] = []

    def add(self, row: PredictionRow) -> None:
        """Take one row: a prediction, or a reason why it is none."""
        free = next((hit for hit in row.hits if hit not in self.made), None)
        if row.hits and free is None:
            self.read.unmatched.append(f"{row.place}: a second row for problem {self.ids[row.hits[0]]}")
        elif free is None:
            self.read.unmatched.append(f"{row.place}: {row.reason}")
        else:
            self._place(row, free)

    def _place(self, row: PredictionRow, place: int) -> None:
        problem = self.dataset[place]
        order = None if row.candidates is None else align(row.candidates, problem.candidates)
        gold = _moved(row.gold, order)
        original = row.variant == ORIGINAL
        differs = original and gold is not None and problem.answer is not None and gold != problem.answer
        if differs and order is None:
            self.read.unmatched.append(
                f"{row.place}: its answer is not that of problem {self.ids[place]}: "
                "the candidates stood in another order, or the labels were others"
            )
            return
        if differs:
            self.other_gold.append(row.place)
        prediction = _moved(row.prediction, order)
        right = problem.answer if gold is None else gold
        if None not in (row.verdict, prediction, right) and row.verdict != (prediction == right):
            self.other_verdict.append(row.place)
        self.made[place] = Prediction(
            self.ids[place],
            row.variant,
            row.model,
            row.scoring,
            _reordered(row.scores, order),
            prediction,
            problem.answer if original else gold,
            row.why,
        )

    def finish(self) -> ReadPredictions:
        """The whole read, in the order of the dataset."""
        self.read.predictions = [self.made[place] for place in sorted(self.made)]
        self.read.missing = len(self.dataset) - len(self.made)
        for places, what in (
            (self.other_gold, "the file's answer is not the dataset's, which counts"),
            (self.other_verdict, "the file's own verdict does not follow from its prediction and answer"),
        ):
            if places:
                self.read.notes.append(f"in {len(places):,} rows {what}; the first: {places[0]}")
        return self.read


def _moved(place: int | None, order: tuple[int, ...] | None) -> int | None:
    """A candidate's place in the dataset's order."""
    return place if place is None or order is None else order[place]


def _reordered(scores: Iterable[float] | None, order: tuple[int, ...] | None) -> tuple[float, ...] | None:
    """Scores in the dataset's order."""
    if scores is None or order is None:
        return None if scores is None else tuple(scores)
    moved = dict(zip(order, scores, strict=True))
    return tuple(moved[place] for place in range(len(moved)))
