"""Predictions in plain text: a csv matched by text, or a bare list of labels matched by order.

A csv has sentence, option1, option2 … and prediction (1, 2 … or the candidate itself). Where there is no sentence, an
`id` (winokit's) or a `qID` (WinoGrande's) will do. A row that names no problem at all, as the totals at the end of some
published files, is passed over with a note. An empty prediction is an abstention.

A list has one label a line, `1` or `2`, or WinoGrande's five (xs, s, m, l, xl). Order is all it has, so it is refused
unless it has one line for each problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from winokit.data.formats import fields
from winokit.data.formats.source import Source
from winokit.data.predictions.match import Matcher, PredictionRow, Unmatched, which
from winokit.errors import BadInput, Malformed

PREDICTION = "prediction"
NAMES = ("sentence", "text", "qID", "id")
OPTION = re.compile(r"option([1-9]\d?)$")
NUMBER = re.compile(r"(\d{1,3})(?:\.0*)?$", re.ASCII)
SIZES = ("xs", "s", "m", "l", "xl")
NUMBERS = {1: "one label", len(SIZES): "five labels"}
LABELS = re.compile(r"\s*\d+\s*(?:,\s*\d+\s*)*$", re.ASCII)
"""A line of labels."""


def read_table(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """The rows of a csv."""
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
    rows = source.csv_rows()
    columns = [cell.strip() for cell in next(rows, (1, []))[1]]
    for line, cells in rows:
        if len(cells) == len(columns):
            yield line, dict(zip(columns, cells, strict=True))
        elif any(cell.strip() for cell in cells):
            source.reject(Malformed(f"{len(columns)} cells expected, found {len(cells)}"), line)


def _row(cells: Mapping[str, str], line: int, matcher: Matcher, model: str) -> PredictionRow:
    numbered = sorted(filter(OPTION.match, cells), key=lambda key: int(key.removeprefix("option")))
    options = tuple(cells[key] for key in numbered if cells[key].strip())
    named, candidates = (f"line {line}", model, "csv"), options if len(options) > 1 else None
    try:
        hits = _hits(cells, candidates, matcher)
    except Unmatched as reason:
        return PredictionRow(*named, reason=str(reason))
    names = candidates or matcher.dataset[hits[0]].candidates
    prediction = _choice(cells, PREDICTION, names)
    return PredictionRow(
        *named,
        hits=hits,
        candidates=candidates,
        prediction=prediction,
        why="an empty cell" if prediction is None else None,
        gold=_choice(cells, "answer", names),
    )


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


def read_labels(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """One row a line, or five; a line that is no label keeps its place when lenient."""
    lines = source.text().rstrip().split("\n")
    if len(lines) != len(matcher.dataset):
        raise BadInput(
            f"{source.path}: {len(lines):,} labels for the {len(matcher.dataset):,} problems of "
            f"{matcher.dataset.card.name}: a bare list is matched by order, so the counts must agree"
        )
    count = lines[0].count(",") + 1
    if count not in NUMBERS:
        raise Malformed(f"one label or five expected, found {count}", field="label", file=str(source.path), line=1)
    models = SIZES if count == len(SIZES) else (source.path.stem,)
    for place, line in enumerate(lines):
        cells, candidates = line.split(","), len(matcher.dataset[place].candidates)
        try:
            if len(cells) != count:
                raise Malformed(
                    f"{NUMBERS[count]} expected, as the first line has it, found {len(cells)}", field="label"
                )
            labels = [fields.numbered_answer({"label": one.strip() or "nothing"}, "label", candidates) for one in cells]
        except Malformed as error:
            source.reject(error, place + 1)
            continue
        for model, label in zip(models, labels, strict=True):
            yield PredictionRow(f"line {place + 1}", model, "labels", hits=(place,), prediction=label)
