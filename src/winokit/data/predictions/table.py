"""Predictions as a table of whatever columns, or as a bare list of labels matched by order.

A table is csv with any delimiter, JSON, JSON lines or Parquet. Which column says what is told by their names, or by
`--prediction-columns id=nr,prediction=reply`:

| role | what its column has |
|---|---|
| `text` | the problem's text (also COPA's premise), or a prompt that has it in it |
| `id` | winokit's id, or that of the source: WinoGrande's qID, SuperGLUE's idx |
| `order` | the problem's number; `order=line` where the rows themselves are in the order of the problems |
| `option1`, `option2` … | the candidates in the row's own order; else the dataset's counts |
| `prediction` | a candidate, its number or letter, true or false of a yes/no question, or a text that names one |
| `scores1`, `scores2` …, or `scores` | a number for each candidate, the highest is chosen; or all of them in one cell |
| `answer` | the right candidate according to the file, to be compared |
| `model` | who made the prediction; else the file's name |

Numbers count from 1; from 0 where a 0 is among them and no number is too high for that, or as `prediction=COLUMN:0`
says. A row that names no problem, as the totals at the end of some published files, is passed over with a note. A list
has one label a line, or WinoGrande's five (xs, s, m, l, xl), and is refused unless it has one line for each problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from shlex import quote
from typing import Any

from winokit.data.formats import fields, tables
from winokit.data.formats.source import DELIMITERS, Source
from winokit.data.formats.tables import Table, parse_columns, said_columns
from winokit.data.predictions.answers import UNREAD
from winokit.data.predictions.match import Matcher, PredictionRow, Unmatched, shown, which
from winokit.errors import BadInput, Malformed
from winokit.methods.scoring.ask import LETTERS
from winokit.models.chat import choice_in
from winokit.results import decide
from winokit.text.language import language_of

OPTION = "--prediction-columns"
LINE = "line"
ROLES = frozenset("text id order option1 prediction scores scores1 answer model".split())
TEXTS, PROMPTS = ("sentence", "text", "premise"), ("input", "prompt", "question", "context", "query")
IDS = ("id", "qid", "idx", "guid", "uid", "example_id", "problem_id", "question_id")
GOLD = ("answer", "gold", "label", "gold_label", "gold_answer", "correct_answer", "correct", "target")
PREDICTED = re.compile(
    r"(?:.*[_ -])?(?:predictions?|preds?|predicted|outputs?|responses?|completions?|generat(?:ed|ion)|repl(?:y|ies))"
    r"|(?:predicted|generated|model|chat_?gpt|gpt\S*|llm|flan\S*|t5\S*)[_ -]?(?:answer|label|choice|option|text|class)"
)
NUMBERED = r"[_ .-]?(?P<n>\d{1,2}|[a-e])"
OPTIONS = re.compile(rf"(?:option|opt|choice|candidate|cand|alternative|hypothesis){NUMBERED}")
SCORE = r"(?:score|logit|log_?prob(?:abilitie|ability)?|log_?likelihood|ll|prob(?:abilitie|ability)?)s?"
SCORES = re.compile(rf"{SCORE}(?:[_ .-]?(?:option|opt|choice|candidate|cand|answer|label|class))?{NUMBERED}|(?P<m>\d)")
ALL_SCORES = re.compile(SCORE)
FLOAT = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|inf(?:inity)?|nan)", re.IGNORECASE)
COMMA = re.compile(r"(-?\d+),(\d+)$")
JSON = frozenset((".json", ".jsonl", ".parquet"))
NUMBER = re.compile(r"(\d{1,3})(?:\.0*)?$", re.ASCII)
SILENT = frozenset(("", "-", "–", "?", "-1", "none", "null", "nan", "na", "n/a", "abstain", "abstained"))
"""What says that nothing is chosen."""
SIZES = ("xs", "s", "m", "l", "xl")
NUMBERS = {1: "one label", len(SIZES): "five labels"}
LABELS = re.compile(r"\s*(?:\d+\s*(?:,\s*\d+\s*)*|[A-E]\s*)$", re.ASCII)
"""A line of labels."""


def is_labels(lines: Sequence[str]) -> bool:
    """Whether the first lines of a file are labels, perhaps under a heading, and some of them perhaps abstentions."""
    told = [line for line in lines[_heading(lines) :] if line.strip().casefold() not in SILENT]
    return bool(told) and LABELS.match(told[0]) is not None


def _heading(lines: Sequence[str]) -> int:
    """How many lines stand above a list of labels: one that says what they are, or none."""
    first = lines[0].strip().casefold()
    is_named = first in ("label", "labels", "answer") or PREDICTED.fullmatch(first) is not None
    return int(is_named and not any(delimiter in first for delimiter in DELIMITERS))


@dataclass(frozen=True)
class PredictionColumns:
    """Which columns of a table say what; none where the table does not say it."""

    texts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    order: str | None = None
    options: tuple[str, ...] = ()
    prediction: str | None = None
    scores: tuple[str, ...] = ()
    answer: str | None = None
    model: str | None = None
    base: int | None = None
    """What predictions count from, where that was said."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that name a problem."""
        return (*self.texts, *self.ids, *((self.order,) if self.order not in (None, LINE) else ()))


def are_of_predictions(given: str | Mapping[str, str]) -> bool:
    """Whether columns are those of predictions, and not of problems."""
    roles = re.findall(r"(\w+)\s*=", given) if isinstance(given, str) else given
    return any(role == "prediction" or role.startswith("scores") for role in roles)


def checked_columns(given: str | Mapping[str, str]) -> dict[str, str]:
    """Columns of predictions by their roles, as a user gives them."""
    columns = parse_columns(given, ROLES)
    if not are_of_predictions(columns):
        raise BadInput(f"{OPTION}: 'prediction' is missing, or 'scores1' and 'scores2': what the model chose")
    return columns


def columns_of(table: Table, given: Mapping[str, str] | None = None) -> PredictionColumns:
    """The columns of a table as they were given, else as their names tell."""
    if given is None:
        return _told_by_names(table)
    column, _, base = given.get("prediction", "").rpartition(":")
    is_told = base in ("0", "1") and given["prediction"] not in table.columns
    wanted = {**given, "prediction": column} if is_told else dict(given)
    order = wanted.pop("order", None)
    places = table.places({**wanted, "order": order} if order not in (None, LINE) else wanted)

    def numbered(role: str) -> tuple[str, ...]:
        found = {int(name.removeprefix(role) or 0): place for name, place in places.items() if name.startswith(role)}
        return tuple(place for _, place in sorted(found.items()))

    return PredictionColumns(
        numbered("text"),
        numbered("id"),
        order if order == LINE else places.get("order"),
        numbered("option"),
        places.get("prediction"),
        numbered("scores"),
        places.get("answer"),
        places.get("model"),
        int(base) if is_told else None,
    )


def _told_by_names(table: Table) -> PredictionColumns:
    folded = {name.casefold().strip(): name for name in reversed(table.columns)}
    ids = tuple(folded[name] for name in IDS if name in folded)
    texts = tuple(folded[name] for name in TEXTS if name in folded)
    scores = _in_a_row(table, SCORES)
    lists = tuple(name for name in table.columns if ALL_SCORES.fullmatch(name.casefold()))
    gold = next((folded[name] for name in GOLD if name in folded), None)
    used = {*ids, *texts, *scores, gold}
    likely = [name for name in table.columns if name not in used and PREDICTED.fullmatch(name.casefold())]
    chosen = folded.get("prediction")
    if chosen is None and len(likely) > 1:
        say = _option({**_names_of(ids, texts), "prediction": likely[0]})
        raise BadInput(f"{table.path}: {', '.join(likely)}: which is the prediction? {say}")
    chosen = chosen or next(iter(likely), None)
    if chosen is None and gold is not None and {*table.columns} == {*ids, gold}:  # as SuperGLUE has it
        chosen, gold = gold, None
    scores = scores or (lists if len(lists) == 1 else ())
    prompts = tuple(folded[name] for name in PROMPTS if name in folded and folded[name] != chosen)
    return PredictionColumns((*texts, *prompts), ids, None, _in_a_row(table, OPTIONS), chosen, scores, gold)


def _option(columns: Mapping[str, str]) -> str:
    return f"{OPTION} {quote(said_columns(columns))}"


def _names_of(ids: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """What names a problem, as an option would say it."""
    return {"text": texts[0]} if texts else {"id": ids[0]} if ids else {"order": LINE}


def _in_a_row(table: Table, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """The columns that are numbered from 0 or 1, or lettered from A, two or more, and nothing between them missing."""
    numbers: dict[int, str] = {}
    for name in table.columns:
        if match := pattern.fullmatch(name.casefold()):
            digit = next(filter(None, match.groups()))
            numbers.setdefault(int(digit) if digit.isdigit() else ord(digit) - ord("a"), name)
    start = min(numbers, default=0)
    whole = len(numbers) > 1 and start < 2 and sorted(numbers) == [*range(start, start + len(numbers))]
    return tuple(name for _, name in sorted(numbers.items())) if whole else ()


def read_table(source: Source, matcher: Matcher, given: Mapping[str, str] | None = None) -> Iterator[PredictionRow]:
    """The rows of a table."""
    table = tables.read_table(source)
    columns = columns_of(table, given)
    _check(table, columns, matcher)
    reading = TableReading(table, columns, matcher, source)
    for number, (line, cells) in enumerate(table.rows):
        place = f"line {line}" if isinstance(line, int) else line
        if columns.order != LINE and not any(said(cells.get(name)) for name in columns.names):
            source.note(f"{place} names no problem; passed over")
            continue
        try:
            yield reading.row(cells, place, number)
        except Malformed as error:
            source.reject(error, line)
    reading.finish()


def _check(table: Table, columns: PredictionColumns, matcher: Matcher) -> None:
    """Refuse a table that does not say what was chosen, or of which problem, with the option that would."""
    found, hint = ", ".join(table.columns) or "none", _names_of(columns.ids, columns.texts)
    if columns.prediction is None and not columns.scores:
        taken = {*columns.texts, *columns.ids, *columns.options, columns.answer}
        left = next((name for name in reversed(table.columns) if name not in taken), "COLUMN")
        raise BadInput(
            f"{table.path}: no predictions of a known kind: a column 'prediction' expected, found {found}; say which "
            f"it is: {_option({**hint, 'prediction': left})}"
        )
    if columns.order is None and not columns.texts and not columns.ids:
        chosen = {"prediction": columns.prediction} if columns.prediction else _numbered("scores", columns.scores)
        raise BadInput(
            f"{table.path}: a column with the problem's id or text expected, found {found}; where its rows are in the "
            f"order of {matcher.dataset.card.name}: {_option({**chosen, 'order': LINE})}"
        )
    if columns.order is not None and len(table.rows) != len(matcher.dataset):
        raise BadInput(
            f"{table.path}: {len(table.rows):,} rows for the {len(matcher.dataset):,} problems of "
            f"{matcher.dataset.card.name}: rows are matched by order, so the counts must agree"
        )


def _numbered(role: str, columns: Sequence[str]) -> dict[str, str]:
    return {f"{role}{number}": name for number, name in enumerate(columns, 1)}


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
        chosen, gold = (self._numbers(column) for column in (self.columns.prediction, self.columns.answer))
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

    def _numbers(self, column: str | None) -> set[int]:
        """The numbers in a column."""
        found = (NUMBER.match(said(cells.get(column))) for _, cells in self.table.rows) if column else ()
        return {int(number[1]) for number in found if number}

    def _positions(self) -> list[int]:
        """The place in the dataset of each row, by a column that counts."""
        column = str(self.columns.order)
        found = [NUMBER_OF.fullmatch(said(cells.get(column))) for _, cells in self.table.rows]
        numbers = [int(number[1]) for number in found if number]
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
            hits = (self._hit(cells, number),) if columns.order else self._hits(cells, candidates)
        except Unmatched as reason:
            return PredictionRow(*named, reason=str(reason))
        names = candidates or self.matcher.dataset[hits[0]].candidates
        scores = self._scores(cells, len(names))
        prediction, why = (None, None) if scores is None else decide(scores)
        if columns.prediction is not None:
            language = self.matcher.dataset[hits[0]].language
            chosen, silent = self._choice(self._said(cells.get(columns.prediction)), names, place, language)
            if scores is not None and chosen is not None and prediction not in (None, chosen):
                self.other_choice.append(place)
            prediction, why = chosen, silent
        gold = None
        if columns.answer is not None:
            with suppress(Malformed):
                gold, _ = _choose(said(cells.get(columns.answer)), columns.answer, names, self.bases[1])
        kept = scores if scores is not None and all(abs(score) < float("inf") for score in scores) else None
        return PredictionRow(
            *named, hits=hits, candidates=candidates, scores=kept, prediction=prediction, why=why, gold=gold
        )

    def _hit(self, cells: Mapping[str, Any], number: int) -> int:
        return number if self.columns.order == LINE else self.positions[number]

    def _hits(self, cells: Mapping[str, Any], candidates: Sequence[str] | None) -> tuple[int, ...]:
        """The problem a row names, by the best name it has."""
        matcher, refused = self.matcher, ""
        for column in self.columns.texts:
            if column.casefold() in PROMPTS:
                continue
            if text := said(cells.get(column), strip=False):
                return matcher.find(text, candidates)
        for name in filter(None, (said(cells.get(column)) for column in self.columns.ids)):
            if name in matcher.by_id:
                return (matcher.by_id[name],)
            hits = matcher.by_source_id.get(name, [])
            if len(hits) == 1:
                return (hits[0],)
            refused = refused or f"{len(hits) or 'no'} problem{'s' * (len(hits) > 1)} with the id {name!r}"
        for column in self.columns.texts:
            if text := said(cells.get(column)):
                with suppress(Unmatched):
                    return matcher.find(text, candidates)
                return matcher.find_inside(text, candidates)
        raise Unmatched(refused)

    def _said(self, value: Any) -> str:
        """A prediction as text; one that stands in a list by itself is meant."""
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, (list, dict)):
            raise Malformed(f"a text or a number expected, found {fields.shown(value)}", field=self.columns.prediction)
        return said(value)

    def _choice(self, text: str, names: tuple[str, ...], place: str, language: str) -> tuple[int | None, str | None]:
        """The chosen candidate; or None and why nothing was chosen."""
        column = str(self.columns.prediction)
        try:
            chosen, why = _choose(text, column, names, self.bases[0])
        except Malformed:
            if not self.in_words or NUMBER.match(text):
                raise
            chosen, why = _named_in(text, names, language), None
            if chosen is None:
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
            raise Malformed(f"{count} scores expected, one a candidate, found {len(texts)}", field=columns[0])
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


NUMBER_OF = re.compile(r"(\d{1,9})(?:\.0*)?", re.ASCII)


def said(value: Any, *, strip: bool = True) -> str:
    """A cell as text; empty where there is none."""
    if isinstance(value, str):
        return value.strip() if strip else value
    if value is None or value != value:  # pandas writes NaN for an empty cell
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


@lru_cache(1 << 15)
def _choose(text: str, column: str, names: tuple[str, ...], base: int) -> tuple[int | None, str | None]:
    """A candidate's place, from its name, number or letter; or None and why nothing is chosen."""
    named = which(text, names) if text else None
    if named is not None:
        return named, None
    if text.casefold() in SILENT:
        return None, f"it says {text!r}" if text else "an empty cell"
    if len(text) == 1 and text in LETTERS[: len(names)]:
        return LETTERS.index(text), None
    if names == ("no", "yes") and text.casefold() in ("false", "true"):
        return int(text.casefold() == "true"), None
    number = NUMBER.match(text)
    if number and base == 0:
        if int(number[1]) >= len(names):
            expected = " or ".join(map(str, range(len(names))))
            raise Malformed(f"{expected} expected, found {fields.shown(text)}", field=column)
        return int(number[1]), None
    return fields.numbered_answer({column: number[1] if number else text}, column, len(names)), None


@lru_cache(1 << 14)
def _named_in(text: str, names: tuple[str, ...], language: str) -> int | None:
    """The candidate that a text in words chooses, as replies of chat models are read."""
    bare = [language_of(language).bare(name) for name in names]
    ways = [(names[at], bare[at], f"option{at + 1}", f"option {at + 1}", str(at + 1)) for at in range(len(names))]
    return choice_in(text, LETTERS[: len(names)], ways)


def read_labels(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """One row a line, or five; a line that is no label keeps its place when lenient, and an empty one abstains."""
    lines = source.text().removesuffix("\n").split("\n")
    above = _heading(lines)
    lines = lines[above:]
    while len(lines) > len(matcher.dataset) and not lines[-1].strip():
        lines.pop()
    if len(lines) != len(matcher.dataset):
        raise BadInput(
            f"{source.path}: {len(lines):,} labels for the {len(matcher.dataset):,} problems of "
            f"{matcher.dataset.card.name}: a bare list is matched by order, so the counts must agree"
        )
    count = next((line.count(",") for line in lines if LABELS.match(line)), 0) + 1
    if count not in NUMBERS:
        raise Malformed(f"one label or five expected, found {count}", field="label", file=str(source.path), line=1)
    models = SIZES if count == len(SIZES) else (source.path.stem,)
    for place, line in enumerate(lines):
        silent, names = line.strip().casefold() in SILENT, matcher.dataset[place].candidates
        cells = [line.strip()] * count if silent else [cell.strip() for cell in line.split(",")]
        try:
            if len(cells) != count:
                raise Malformed(
                    f"{NUMBERS[count]} expected, as the first line has it, found {len(cells)}", field="label"
                )
            chosen = [_label(cell, len(names)) for cell in cells]
        except Malformed as error:
            source.reject(error, place + 1 + above)
            continue
        for model, (label, why) in zip(models, chosen, strict=True):
            yield PredictionRow(f"line {place + 1 + above}", model, "labels", hits=(place,), prediction=label, why=why)


def _label(cell: str, count: int) -> tuple[int | None, str | None]:
    if cell.casefold() in SILENT:
        return None, f"it says {cell!r}" if cell else "an empty line"
    if len(cell) == 1 and cell in LETTERS[:count]:
        return LETTERS.index(cell), None
    return fields.numbered_answer({"label": cell}, "label", count), None
