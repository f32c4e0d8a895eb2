"""A file of predictions, whoever made it: recognised from its content, read, and matched to a dataset's problems."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from winokit.data.formats.source import DELIMITERS, HEAD_BYTES, Source, decode_head, read_bytes
from winokit.data.predictions import inspect_log, labels, lmeval_log, table, winokit_rows
from winokit.data.predictions.match import Matcher, PredictionRow, align
from winokit.errors import BadInput
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.transforms.variants import ORIGINAL, Variant
from winokit.problem import Dataset, grouped

Reader = Callable[[Source, Matcher], Iterator[PredictionRow]]
KINDS = (
    "winokit's predictions.jsonl, a list of labels, a table with a prediction column, a JSON object of them by id, "
    "an lm-evaluation-harness samples_*.jsonl, or an Inspect log"
)
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
LOGS: tuple[Reader, ...] = (lmeval_log.read, inspect_log.read, labels.read_labels)
"""The readers of files that have no columns to be named."""


@dataclass(frozen=True)
class PredictionFile:
    """A file of predictions, and the folder it was found in where it was not named itself."""

    path: Path
    folder: Path | None = None


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
    surprisals: dict[str, float] = field(default_factory=dict)
    """Per-word surprisal of solved texts, by problem id, where those were scored."""
    notes: list[str] = field(default_factory=list)


def read_predictions(
    path: str | Path,
    dataset: Dataset,
    *,
    versions: Mapping[str, Variant] | None = None,
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
) -> list[ReadPredictions]:
    """Read a file of predictions: one result for each model, scoring and variant in it, in order of appearance.

    A row that fits no problem, or more than one, is listed as unmatched; a malformed one is an error that names it, or
    is skipped and noted when lenient. A file of which nothing matches is an error.

    Parameters
    ----------
    versions
        Variants of the dataset that are read, and not made of it: perturbed ones.
    columns
        What the columns of a table are, by their roles; else their names tell.
    """
    return _read(Source(Path(path), lenient=lenient), Matcher(dataset, versions), columns)


def read_files(
    files: Iterable[PredictionFile],
    dataset: Dataset,
    versions: Mapping[str, Variant] | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    lenient: bool = False,
) -> tuple[dict[Path, list[ReadPredictions]], list[str]]:
    """Read several files of predictions, and say which of a folder are about other problems and were passed over."""
    matcher, reads, strange = Matcher(dataset, versions), {}, []
    for file in files:
        try:
            reads[file.path] = _read(Source(file.path, lenient=lenient), matcher, columns)
        except NothingMatches as error:
            if file.folder is None:
                raise
            strange.append(error)
    if strange and not reads:
        raise strange[0]
    return reads, [f"skipped: {error}" for error in strange]


class NothingMatches(BadInput):
    """A file of predictions is about other problems than those of the dataset."""


def _read(source: Source, matcher: Matcher, columns: Mapping[str, str] | None = None) -> list[ReadPredictions]:
    path, reader = source.path, recognise(source.path)
    if columns and reader not in LOGS:
        reader = partial(table.read_table, given=columns)
    rows = grouped(((row.model, row.scoring, row.variant), row) for row in reader(source, matcher))
    reads = [_matched(ReadPredictions(*key), own, matcher) for key, own in rows.items()]
    notes = list(source.notes)
    if source.skipped:
        notes.append(f"{path}: skipped {len(source.skipped):,} malformed rows; the first: {source.skipped[0]}")
    useful = [read for read in reads if read.predictions or read.surprisals]
    if not useful:
        reasons = [*(reason for read in reads for reason in read.unmatched), *notes, "it has no rows"]
        name = matcher.dataset.card.name
        hint = table.OTHER_IDS if "no problem with the id" in reasons[0] else ""
        raise NothingMatches(f"{path}: nothing in it matches a problem of {name}; the first: {reasons[0]}{hint}")
    for read in reads:
        if read not in useful:
            notes.append(f"{path}: nothing by {read.model} ({read.scoring}) could be used: {read.unmatched[0]}")
    for read in useful:
        read.notes = notes + [f"{path}: {note}" for note in read.notes]
    return useful


def recognise(path: Path) -> Reader:
    """The reader for a file, told from its content."""
    if path.is_dir():
        raise BadInput(f"{path}: a folder; name a file in it")
    head = read_bytes(path, HEAD_BYTES)
    if b"\n" not in head.strip() and len(head) == HEAD_BYTES:
        head = read_bytes(path)
    if path.suffix.lower() in WORKBOOKS:
        raise BadInput(f"{path}: a workbook; save the table in it as csv")
    if head.startswith(b"PK"):
        return inspect_log.read
    if head.startswith(b"PAR1"):
        return table.read_table
    text = decode_head(head)
    first = text.lstrip().split("\n", 1)[0]
    if not first:
        raise BadInput(f"{path}: the file is empty")
    if first.startswith("{"):
        return _json_reader(path, first, text)
    keys = frozenset(re.findall(r'"(\w+)"\s*:', text)) if first.startswith("[") else frozenset()
    if keys >= lmeval_log.KEYS:
        return lmeval_log.read
    if labels.is_labels(text.split("\n")):
        return labels.read_labels
    if keys or (not first.startswith("[") and any(delimiter in first for delimiter in DELIMITERS)):
        return table.read_table
    raise BadInput(f"{path}: no predictions of a known kind; {KINDS} expected")


def _json_reader(path: Path, first: str, text: str) -> Reader:
    row: dict[str, object] = {}
    try:
        row = json.loads(first)
        keys = frozenset(row)
    except (ValueError, RecursionError):
        keys = frozenset(re.findall(r'"(\w+)"\s*:', text))
    if keys >= lmeval_log.KEYS:
        return lmeval_log.read
    if "eval" in keys:
        return inspect_log.read
    if keys >= winokit_rows.KEYS and winokit_rows.are_own(keys, row):
        return winokit_rows.read
    if keys >= {"results", "configs"}:
        raise BadInput(f"{path}: the harness's totals; run it with --log_samples and name its samples_*.jsonl")
    return table.read_table


SECOND = "a second row for problem"


def _matched(read: ReadPredictions, rows: Iterable[PredictionRow], matcher: Matcher) -> ReadPredictions:
    """Fill in the predictions of one model, scoring and variant, in the dataset's terms and order."""
    made: dict[int, Prediction] = {}
    other_gold, other_verdict = [], []
    problems, ids, surprisals = matcher.dataset.problems, matcher.ids, read.surprisals
    for row in rows:
        for place in row.hits:
            if place not in made and ids[place] not in surprisals:
                break
        else:
            reason = f"{SECOND} {ids[row.hits[0]]}" if row.hits else row.reason
            read.unmatched.append(f"{row.place}: {reason}")
            continue
        if row.surprisal is not None:
            surprisals[ids[place]] = row.surprisal
            continue
        problem, known = problems[place], row.variant == ORIGINAL
        if not known and row.candidates is not None:  # else the row is in terms of a variant that it alone knows
            at, known = matcher.of(row.variant), True
            problem = at.dataset[at.by_origin[ids[place]]]
        order, prediction, gold = None, row.prediction, row.gold
        if row.candidates is not None:
            order = align(row.candidates, problem.candidates, problem.language)
        if order is not None:
            prediction, gold = (index if index is None else order[index] for index in (prediction, gold))
        if known and gold is not None and problem.answer is not None and gold != problem.answer:
            if order is None:
                read.unmatched.append(
                    f"{row.place}: its answer differs from that of problem {ids[place]}: "
                    "the candidates were in another order, or the labels were different"
                )
                continue
            other_gold.append(row.place)
        right = problem.answer if gold is None else gold
        if row.verdict is not None and None not in (prediction, right) and row.verdict != (prediction == right):
            other_verdict.append(row.place)
        scores = row.scores
        if scores is not None and order is not None:
            scores = tuple(score for _, score in sorted(zip(order, scores, strict=True)))
        answer = problem.answer if known else gold
        made[place] = Prediction(ids[place], row.variant, row.model, row.scoring, scores, prediction, answer, row.why)
    read.predictions = [made[place] for place in sorted(made)]
    for places, what in (
        (other_gold, "the file's answer differs from the dataset's, which counts"),
        (other_verdict, "the file's own verdict does not follow from its prediction and answer"),
    ):
        if places:
            read.notes.append(f"in {len(places):,} rows {what}; the first: {places[0]}")
    return read
