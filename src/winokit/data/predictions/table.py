"""Predictions as a table of whatever columns: csv with any delimiter, JSON, JSON lines or Parquet.

Numbers count from 1; from 0 where a 0 is among them and no number is too high for that, or as `prediction=COLUMN:0`
says. A row that names no problem, as the totals at the end of some published files, is passed over with a note. A text
that is no candidate is read as replies of chat models are; one from which no answer can be read is an abstention.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from winokit.data.formats import fields, tables
from winokit.data.formats.source import Source
from winokit.data.formats.tables import Table, cell_text
from winokit.data.predictions.answers import NUMBER, SILENT, UNREAD, choose, named_in
from winokit.data.predictions.columns import FLOAT, LINE, PROMPTS, PredictionColumns, check_columns, columns_of
from winokit.data.predictions.match import Matcher, PredictionRow, Unmatched, align, listed, shown
from winokit.errors import BadInput, Malformed
from winokit.results import decide

COMMA = re.compile(r"(-?\d+),(\d+)$")
POSITION = re.compile(r"(\d{1,9})(?:\.0*)?$", re.ASCII)
JSON = frozenset((".json", ".jsonl", ".parquet"))
OTHER_IDS = "; ids are those of --columns id=COLUMN; row numbers: --prediction-columns order=COLUMN,prediction=COLUMN"
REPLY = 3
"""So many words are a reply; fewer, among numbers, are a slip."""


def read_table(source: Source, matcher: Matcher, given: Mapping[str, str] | None = None) -> Iterator[PredictionRow]:
    """The rows of a table."""
    table = tables.read_table(source)
    ids = [column for column in table.columns if column in matcher.by_id or column in matcher.by_source_id]
    if len(table.rows) == 1 and 2 * len(ids) > len(table.columns):  # one JSON object has them all, by their ids
        rows = [(f"key {key!r}", {"id": key, "prediction": value}) for key, value in table.rows[0][1].items()]
        table = Table(table.path, ("id", "prediction"), rows)
    columns = columns_of(table, given)
    check_columns(table, columns, matcher.dataset)
    reading = TableReading(table, columns, matcher, source)
    for number, (line, cells) in enumerate(table.rows):
        place = f"line {line}" if isinstance(line, int) else line
        if columns.order != LINE and not any(said(cells.get(name)) for name in columns.names):
            source.note(f"{place} names no problem; skipped")
            continue
        try:
            yield reading.row(cells, place, number)
        except Malformed as error:
            source.reject(error, line)
    reading.finish()


@dataclass
class TableReading:
    """A table being read: how its numbers count, and what was noticed."""

    table: Table
    columns: PredictionColumns
    matcher: Matcher
    source: Source
    unread: list[str] = field(default_factory=list)
    read: int = 0
    other_choice: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        path = self.source.path
        self.stem, self.scoring = path.stem, "csv" if JSON.isdisjoint(path.suffixes) else "table"
        most = max((len(problem.candidates) for problem in self.matcher.dataset), default=2)
        chosen, gold = ({*self._numbers(column)} for column in (self.columns.prediction, self.columns.answer))
        # SuperGLUE's label counts from 0, whatever a model chose; a 0 beside the predictions tells how they count.
        zero = 0 in chosen | gold or str(self.columns.prediction).casefold() == "label"
        from_0 = bool(chosen) and zero and max(chosen) < most
        self.in_words = not chosen
        if self.columns.base is not None:
            from_0 = self.columns.base == 0
        elif from_0:
            self.source.note(f"predictions in {self.columns.prediction!r} count from 0")
        self.bases = int(not from_0), int(not (0 in gold and max(gold) < most))
        """What predictions and answers count from."""
        if self.columns.order not in (None, LINE):
            self.positions = self._positions()

    def _numbers(self, column: str | None, pattern: re.Pattern[str] = NUMBER) -> list[int]:
        """The numbers in a column."""
        matches = (pattern.match(said(cells.get(column))) for _, cells in self.table.rows) if column else ()
        return [int(number[1]) for number in matches if number]

    def _positions(self) -> list[int]:
        """The place in the dataset of each row, by a column that counts."""
        column = str(self.columns.order)
        numbers = self._numbers(column, POSITION)
        start = min(numbers, default=0)
        if sorted(numbers) != [*range(start, start + len(self.matcher.dataset))] or start > 1:
            raise BadInput(
                f"{self.table.path}: column {column!r}: the numbers of {len(self.matcher.dataset):,} problems, from "
                "0 or 1 and each once, expected"
            )
        return [number - start for number in numbers]

    def row(self, cells: Mapping[str, Any], place: str, number: int) -> PredictionRow:
        """What a row says."""
        columns = self.columns
        options = tuple(option for name in columns.options if (option := said(cells.get(name))))
        candidates = options if len(options) > 1 else None
        model = said(cells.get(columns.model)) if columns.model else ""
        named = place, model or self.stem, self.scoring
        try:
            hits = self._hits(cells, candidates, number)
            own, language = self.matcher.dataset[hits[0]].candidates, self.matcher.dataset[hits[0]].language
            if candidates is not None and align(candidates, own, language) is None:
                raise Unmatched(f"its problem has the candidates {listed(own)}, not {listed(candidates)}")
        except Unmatched as reason:
            return PredictionRow(*named, reason=str(reason))
        names = candidates or own
        scores = self._scores(cells, len(names))
        prediction, why = (None, "a score is missing") if scores is None else decide(scores)
        if columns.prediction is not None:
            chosen, silent = self._choice(self._said(cells.get(columns.prediction)), names, place, language)
            if scores is not None and chosen is not None and prediction not in (None, chosen):
                self.other_choice.append(place)
            prediction, why = chosen, silent
        gold = None
        if columns.answer is not None:
            with suppress(Malformed):
                gold, _ = choose(said(cells.get(columns.answer)), columns.answer, names, self.bases[1], language)
        kept = scores if scores is not None and all(abs(score) < float("inf") for score in scores) else None
        return PredictionRow(
            *named, hits=hits, candidates=candidates, scores=kept, prediction=prediction, why=why, gold=gold
        )

    def _hits(self, cells: Mapping[str, Any], candidates: Sequence[str] | None, number: int) -> tuple[int, ...]:
        """The problem a row names, by the best name it has."""
        matcher, refused = self.matcher, ""
        if self.columns.order is not None:
            return (number if self.columns.order == LINE else self.positions[number],)
        for column in () if self.columns.is_given else self.columns.texts:
            if column.casefold() not in PROMPTS and (text := cell_text(cells.get(column))):
                return matcher.find(text, candidates)
        for name in filter(None, (said(cells.get(column)) for column in self.columns.ids)):
            if name in matcher.by_id:
                return (matcher.by_id[name],)
            hits = matcher.by_source_id.get(name, [])
            if len(hits) == 1:
                return (hits[0],)
            refused = refused or f"{len(hits) or 'no'} problem{'s' * (len(hits) > 1)} with the id {name!r}"
        for column in self.columns.texts:
            if text := cell_text(cells.get(column)):
                try:
                    return matcher.find(text, candidates)
                except Unmatched as reason:
                    with suppress(Unmatched):
                        return matcher.find_inside(text, candidates)
                    refused = refused or str(reason)
        raise Unmatched(refused)

    def _said(self, value: Any) -> str:
        """A prediction as text; one that stands in a list by itself is meant."""
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        return cell_text(value, self.columns.prediction).strip()

    def _choice(self, text: str, names: tuple[str, ...], place: str, language: str) -> tuple[int | None, str | None]:
        """The chosen candidate; or None and why nothing was chosen."""
        column = str(self.columns.prediction)
        try:
            chosen, why = choose(text, column, names, self.bases[0], language)
        except Malformed:
            if NUMBER.match(text):
                raise
            chosen, why = named_in(text, names, language), None
            if chosen is None:
                if not self.in_words and len(text.split()) < REPLY:
                    raise
                why = f"{UNREAD}: {shown(text)}"
                self.unread.append(f"{place}: {shown(text)}")
        self.read += chosen is not None
        return chosen, why

    def _scores(self, cells: Mapping[str, Any], count: int) -> tuple[float, ...] | None:
        """The scores of a row, one for each candidate; None where its cells are empty."""
        columns = self.columns.scores
        texts = [COMMA.sub(r"\1.\2", said(cells.get(name))) for name in columns]
        if len(columns) == 1:
            texts = FLOAT.findall(texts[0])
        if not any(texts) or (len(columns) > 1 and any(text.casefold() in SILENT for text in texts)):
            return None
        if len(columns) > 1:
            texts = [text for text, name in zip(texts, columns, strict=True) if text]
        if len(texts) != count:
            raise Malformed(f"{count} scores expected, one per candidate, found {len(texts)}", field=columns[0])
        try:
            return tuple(float(text) for text in texts)
        except ValueError:
            raise Malformed(f"numbers expected, found {fields.shown(' '.join(texts))}", field=columns[0]) from None

    def finish(self) -> None:
        """Say what was noticed; a column in which nothing could be read is the wrong one."""
        if self.unread and not self.read:
            raise BadInput(
                f"{self.table.path}: in column {self.columns.prediction!r} no answer could be read; "
                f"the first: {self.unread[0]}"
            )
        for places, what in (
            (self.unread, "no answer could be read; they are abstentions"),
            (self.other_choice, "the prediction is not the candidate with the highest score; the prediction counts"),
        ):
            if places:
                self.source.note(f"in {len(places):,} rows {what}; the first: {places[0]}")


def said(value: Any) -> str:
    """A cell as text, stripped."""
    return cell_text(value).strip()
