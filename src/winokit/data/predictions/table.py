"""A csv of predictions: sentence, option1, option2 … and prediction (1, 2 … or the candidate itself); matched by text.

Where there is no sentence, an `id` (winokit's) or a `qID` (WinoGrande's) will do. A row that names no problem at all,
as the totals at the end of some published files, is passed over with a note. An empty prediction is an abstention.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence

from winokit.data.formats import fields
from winokit.data.formats.source import Source
from winokit.data.predictions.match import Matcher, Unmatched, which
from winokit.data.predictions.row import PredictionRow
from winokit.errors import Malformed

PREDICTION = "prediction"
NAMES = ("sentence", "text", "qID", "id")
OPTION = re.compile(r"option([1-9]\d?)$")
NUMBER = re.compile(r"(\d{1,3})(?:\.0*)?$", re.ASCII)


def is_table(columns: Sequence[str]) -> bool:
    """Whether these columns can be predictions."""
    return PREDICTION in columns and any(name in columns for name in NAMES)


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """The rows of the table."""
    for line, cells in _cells(source):
        if not any(cells.get(name, "").strip() for name in NAMES):
            source.note(f"line {line} names no problem; passed over")
            continue
        try:
            yield _row(cells, line, matcher, source.path.stem)
        except Malformed as error:
            source.reject(error, line)


def _cells(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and cells by column of each row that is not empty."""
    reader = csv.reader(io.StringIO(source.text(), newline=""), strict=True)
    columns: list[str] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            source.reject(Malformed(f"a well-formed row expected ({error})"), line)
            return
        if columns is None:
            columns = [cell.strip() for cell in cells]
        elif len(cells) == len(columns):
            yield line, dict(zip(columns, cells, strict=True))
        elif any(cell.strip() for cell in cells):
            source.reject(Malformed(f"{len(columns)} cells expected, found {len(cells)}"), line)


def _row(cells: Mapping[str, str], line: int, matcher: Matcher, model: str) -> PredictionRow:
    options = tuple(cells[key] for key in sorted(filter(OPTION.match, cells), key=_number) if cells[key].strip())
    place, candidates = f"line {line}", options if len(options) > 1 else None
    try:
        hits = _hits(cells, candidates, matcher)
    except Unmatched as reason:
        return PredictionRow(place, model, "csv", reason=str(reason))
    names = candidates or matcher.dataset[hits[0]].candidates
    prediction = _choice(cells, PREDICTION, names)
    return PredictionRow(
        place,
        model,
        "csv",
        hits=hits,
        candidates=candidates,
        prediction=prediction,
        why="an empty cell" if prediction is None else None,
        gold=_choice(cells, "answer", names),
    )


def _number(column: str) -> int:
    return int(column.removeprefix("option"))


def _hits(cells: Mapping[str, str], candidates: Sequence[str] | None, matcher: Matcher) -> tuple[int, ...]:
    """The problem a row names, by the best name it has."""
    text = cells.get("sentence") or cells.get("text")
    if text and text.strip():
        return matcher.find(text, candidates)
    name = cells.get("id", "").strip()
    if name in matcher.by_id:
        return (matcher.by_id[name],)
    qid = cells.get("qID", "").strip()
    hits = matcher.by_source_id.get(qid, [])
    if len(hits) != 1:
        raise Unmatched(f"{len(hits) or 'no'} problem{'s' * (len(hits) > 1)} with the id {qid or name!r}")
    return (hits[0],)


def _choice(cells: Mapping[str, str], key: str, names: Sequence[str]) -> int | None:
    """A candidate's place, from its number or its name; None for an empty cell."""
    value = cells.get(key, "").strip()
    if not value:
        return None
    named = which(value, names)
    if named is not None:
        return named
    number = NUMBER.match(value)
    return fields.numbered_answer({key: number.group(1) if number else value}, key, len(names))
