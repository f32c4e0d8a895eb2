"""Predictions as a table of whatever columns: csv with any delimiter, JSON, JSON lines or Parquet.

Numbers count from 1; from 0 where a 0 is among them and no number is too high for that, or as `prediction=COLUMN:0`
says. They may be spelled as floats (1.0, 2.0) if all of them are whole: a number with a fraction is a score or a
probability and never a choice, and a column of such numbers is refused. A row that names no problem, as the totals at
the end of some published files, is passed over with a note. A text that is no candidate is read as replies of chat
models are; one from which no answer can be read is an abstention.
"""

import re
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winokit.data.formats import fields
from winokit.data.formats.source import Source, name_place
from winokit.data.formats.tables import LIST, Table, cell_text, selected
from winokit.data.predictions.answers import (
    NUMBER,
    SILENT,
    UNREAD,
    choose,
    is_fraction,
    is_number,
    listed_names,
    named_in,
)
from winokit.data.predictions.columns import (
    FLOAT,
    LEADERBOARD,
    OPTION,
    ORDERS,
    PROMPTS,
    PredictionColumns,
    check_order,
    verdict_of,
)
from winokit.data.predictions.match import DOCUMENT_HASH, Matcher, PredictionRow, Unmatched, align, listed, shown, which
from winokit.data.predictions.readings import ReplyReadings
from winokit.data.predictions.sampled import sample_hint, sample_numbers, told_columns
from winokit.errors import BadInput, Malformed
from winokit.problem import Problem
from winokit.results import decide

if TYPE_CHECKING:
    from winokit.data.predictions.proposals import TrialReading

COMMA = re.compile(r"(-?\d+),(\d+)$")
POSITION = re.compile(r"(\d{1,9})(?:\.0*)?$", re.ASCII)
LETTER = re.compile(r"[A-Ea-e]")
JSON = frozenset((".json", ".jsonl", ".parquet"))
REPLY = 3
"""So many words are a reply; fewer, among numbers, are a slip."""


def read_table(source: Source, matcher: Matcher, given: Mapping[str, str] | None = None) -> Iterator[PredictionRow]:
    """The rows of a table in a file."""
    from winokit.data.predictions.headings import read_headed

    yield from read_rows(_row_by_row(read_headed(source, matcher), matcher), source, matcher, given)


def read_rows(
    table: Table, source: Source, matcher: Matcher, given: Mapping[str, str] | None = None
) -> Iterator[PredictionRow]:
    """The rows of a table."""
    given_all = given
    table, given = selected(table, given, OPTION)
    if given is not None and any(mark in given.get(role, "") for role in ("prediction", "correct") for mark in "|*"):
        from winokit.data.predictions.models_in_columns import one_row_per_answer

        table, given = one_row_per_answer(table, given)
    attempt = partial(try_reading, table, matcher)
    if LIST in table.columns and (given_all is None or "where" not in given_all):
        from winokit.data.predictions.proposals import refuse_lists

        refuse_lists(table, given, attempt)
    table, columns = told_columns(table, given)
    check_order(table, columns, matcher.dataset)
    if not columns.is_complete:
        from winokit.data.predictions.proposals import TableProposals

        TableProposals(table, columns, matcher.dataset, attempt).refuse()
    source.sample_hint = sample_hint(table, columns)
    source.roles = columns.roles() | ({"where": given_all["where"]} if given_all and "where" in given_all else {})
    if columns.candidate is not None:
        from winokit.data.predictions.by_candidate import CandidateReading

        reading = TableReading(table, replace(columns, prediction=None, scores=()), matcher, source)
        yield from CandidateReading(table, columns, matcher, reading.find_problem).rows(reading.stem, reading.scoring)
        return
    reading = TableReading(table, columns, matcher, source)
    if columns.sample is not None and given is None:
        count = 1 + max(filter(None, reading.samples), default=0)
        source.note(f"{count} samples of each problem, by {columns.sample!r}")
    for number, (line, cells) in enumerate(table.rows):
        place = name_place(line)
        if _is_nameless(cells, columns):
            source.note(f"{place} names no problem; skipped")
            continue
        try:
            yield reading.row(cells, place, number)
        except Malformed as error:
            source.reject(error, line)
    if reading.unread and not reading.read and given is None and columns.correct is not None:  # it is right or wrong
        from winokit.data.predictions.proposals import TableProposals

        TableProposals(table, replace(columns, prediction=None), matcher.dataset, attempt).refuse()
    reading.finish()


def _is_nameless(cells: Mapping[str, Any], columns: PredictionColumns) -> bool:
    """Whether a row has no problem in any of its columns, as totals at the end of a file have none."""
    return columns.order not in ORDERS and not any(said(cells.get(name)) for name in columns.names)


def _row_by_row(table: Table, matcher: Matcher) -> Table:
    """The table; one JSON object that has predictions by the ids of problems becomes a table of two columns."""
    ids = [column for column in table.columns if column in matcher.by_id or column in matcher.by_source_id]
    if len(table.rows) != 1 or 2 * len(ids) <= len(table.columns):
        return table
    rows = [(f"key {key!r}", {"id": key, "prediction": value}) for key, value in table.rows[0][1].items()]
    return Table(table.path, ("id", "prediction"), rows)


def try_reading(
    table: Table, matcher: Matcher, columns: PredictionColumns, places: Sequence[int], in_sentences: bool | None
) -> "TrialReading":
    """What columns read of the rows at some places, or of the first of them where they read too few.

    Raises BadInput where the columns cannot be of predictions.
    """
    from winokit.data.predictions.proposals import LEAST_READ, TrialReading

    check_order(table, columns, matcher.dataset)
    reading = TableReading(
        table, columns, matcher, Source(Path(table.path), lenient=True), in_sentences is not False, is_trial=True
    )
    chooses = columns.prediction is not None or bool(columns.scores) or columns.correct is not None
    most_missed = len(places) if in_sentences is None else (1 - LEAST_READ) * len(places)
    rows = found = read = right = 0
    for place in places:
        if rows - (read if chooses else found) > most_missed:
            break
        _, cells = table.rows[place]
        if _is_nameless(cells, columns):
            continue
        rows += 1
        try:
            row = reading.row(cells, "", place)
        except Malformed:
            continue
        found += bool(row.hits)
        if row.hits and row.prediction is not None:
            read += 1
            problem = matcher.dataset[row.hits[0]]
            names = row.candidates or problem.candidates
            if problem.right is None:
                right += row.gold == row.prediction
            else:
                right += align((names[row.prediction],), (problem.right,)) is not None
    return TrialReading(rows, found, read, right)


@dataclass
class TableReading:
    """A table being read: how its numbers count, and what was noticed."""

    table: Table
    columns: PredictionColumns
    matcher: Matcher
    source: Source
    in_sentences: bool = True
    """Whether a text that is no candidate is read as a reply is."""
    is_trial: bool = False
    """Whether nobody is told what was noticed."""
    unread: list[str] = field(default_factory=list)
    read: int = 0
    other_choice: list[str] = field(default_factory=list)
    judged: int = 0
    """Rows of which only is known whether they are right."""
    readings: ReplyReadings = field(default_factory=ReplyReadings)
    """What replies in words say by other ways to read them."""

    def __post_init__(self) -> None:
        path = self.source.path
        self.stem, self.scoring = path.stem, "csv" if JSON.isdisjoint(path.suffixes) else "table"
        most = max((len(problem.candidates) for problem in self.matcher.dataset), default=2)
        self.has_fractions = self._check_whole()
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
        self.samples = sample_numbers(self.table, self.columns)
        """The number of the sample of each row; None where there is one answer to each problem."""
        if self.columns.order == LEADERBOARD:
            from winokit.data.predictions.leaderboard import leaderboard_rows

            self.positions: Sequence[int] = leaderboard_rows()
        elif self.columns.order in ORDERS:
            self.positions = range(len(self.table.rows))
        elif self.columns.order is not None:
            self.positions = self._positions()

    def _check_whole(self) -> bool:
        """Whether a number among the predictions has a fraction; a column that is mostly numbers is refused then."""
        column = self.columns.prediction
        if column is None:
            return False
        named = [(place, row) for place, row in self.table.rows if not _is_nameless(row, self.columns)]
        cells = [(place, said(row.get(column))) for place, row in named]
        numbers = [text for _, text in cells if is_number(text)]
        fractions = [(place, text) for place, text in cells if is_fraction(text)]
        filled = sum(text.casefold() not in SILENT for _, text in cells)
        if fractions and 2 * len(numbers) > filled:
            place, text = fractions[0]
            raise BadInput(
                f"{self.table.path}: column {column!r}: numbers with fractions in {len(fractions):,} of "
                f"{len(cells):,} rows ({text} in {name_place(place)}) are scores or probabilities, not choices: name "
                "a column of scores for each candidate, where higher is better "
                f"({OPTION} scores1=COLUMN,scores2=COLUMN), or one of choices"
            )
        return bool(fractions)

    def _numbers(self, column: str | None, pattern: re.Pattern[str] = NUMBER) -> list[int]:
        """The numbers in a column."""
        matches = (pattern.match(said(cells.get(column))) for _, cells in self.table.rows) if column else ()
        return [int(number[1]) for number in matches if number]

    def _positions(self) -> list[int]:
        """The place in the dataset of each row, by a column that counts."""
        column = str(self.columns.order)
        numbers = self._numbers(column, POSITION)
        numbers = numbers[: len(numbers) // self.columns.copies]
        start = min(numbers, default=0)
        if sorted(numbers) != [*range(start, start + len(self.matcher.dataset))] or start > 1:
            raise BadInput(
                f"{self.table.path}: column {column!r}: expected the numbers of {len(self.matcher.dataset):,} "
                "problems, from 0 or 1 and each once"
            )
        return [number - start for number in numbers]

    def row(self, cells: Mapping[str, Any], place: str, number: int) -> PredictionRow:
        """What a row says."""
        columns = self.columns
        options = tuple(option for name in columns.options if (option := said(cells.get(name))))
        candidates = options if len(options) > 1 else None
        model = said(cells.get(columns.model)) if columns.model else ""
        named = place, model or self.stem, self.scoring
        sample = self.samples[number]
        try:
            hits = self._hits(cells, candidates, number)
            own, language = self.matcher.dataset[hits[0]].candidates, self.matcher.dataset[hits[0]].language
            if candidates is not None and align(candidates, own, language) is None:
                raise Unmatched(f"its problem has the candidates {listed(own)}, not {listed(candidates)}")
        except Unmatched as reason:
            return PredictionRow(*named, reason=str(reason), sample=sample)
        names = candidates or own
        scores = self._scores(cells, names)
        prediction, why = (None, "a score is missing") if scores is None else decide(scores)
        if columns.prediction is not None:
            reply = self._said(cells.get(columns.prediction))
            asked = self._listed_in_prompt(cells, reply, names)
            chosen, silent = self._choice(reply, asked, place, self.matcher.dataset[hits[0]])
            if chosen is not None:
                chosen = names.index(asked[chosen])
            if scores is not None and chosen is not None and prediction not in (None, chosen):
                self.other_choice.append(place)
            prediction, why = chosen, silent
        gold = None
        if columns.answer is not None:
            text = said(cells.get(columns.answer))
            asked = self._listed_in_prompt(cells, text, names) if LETTER.fullmatch(text) else names
            with suppress(Malformed):
                gold, _ = choose(text, columns.answer, asked, self.bases[1], language)
                gold = None if gold is None else names.index(asked[gold])
        verdict = verdict_of(said(cells.get(columns.correct))) if columns.correct else None
        if columns.prediction is None and not columns.scores and verdict is not None:
            try:
                prediction, why = self._judged(verdict, self.matcher.dataset[hits[0]], names, gold), None
            except Unmatched as reason:
                return PredictionRow(*named, reason=str(reason), sample=sample)
        kept = scores if scores is not None and all(abs(score) < float("inf") for score in scores) else None
        return PredictionRow(
            *named,
            hits=hits,
            candidates=candidates,
            scores=kept,
            prediction=prediction,
            why=why,
            gold=gold,
            verdict=verdict,
            sample=sample,
        )

    def _listed_in_prompt(self, cells: Mapping[str, Any], reply: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """The candidates in the order that a letter in the reply refers to: the prompt's, if it lists them."""
        for column in self.columns.texts:
            text = cell_text(cells.get(column))
            if any(mark in text for mark in ("\n", ")", ":", ".")) and len(set(names)) == len(names):
                listed = listed_names(text, reply, names)
                if listed is not None:
                    return listed
        return names

    def _judged(self, is_right: bool, problem: Problem, names: tuple[str, ...], gold: int | None) -> int:
        """The choice of a row that says no more than whether it is right, by its or the dataset's answer."""
        answer = which(problem.right, names, problem.language) if problem.right is not None else gold
        if answer is None:
            raise Unmatched("it says only whether the choice is right, and nothing says what is")
        if not is_right and len(names) != 2:
            raise Unmatched(f"it says only that the choice is wrong, which leaves {len(names) - 1} others")
        self.judged += 1
        return answer if is_right else 1 - answer

    def find_problem(self, cells: Mapping[str, Any], number: int) -> tuple[int, ...]:
        """The problem that a row names; raises Unmatched if it names none, or more than one."""
        return self._hits(cells, None, number)

    def _hits(self, cells: Mapping[str, Any], candidates: Sequence[str] | None, number: int) -> tuple[int, ...]:
        """The problem a row names, by the best name it has."""
        matcher, refused = self.matcher, ""
        if self.columns.order is not None:
            return (self.positions[number % (len(self.table.rows) // self.columns.copies)],)
        for column in () if self.columns.is_given else self.columns.texts:
            if column.casefold() not in PROMPTS and (text := cell_text(cells.get(column))):
                return matcher.find(text, candidates)
        for name in filter(None, (said(cells.get(column)) for column in self.columns.ids)):
            if name in matcher.by_id:
                return (matcher.by_id[name],)
            is_hash = DOCUMENT_HASH.fullmatch(name) is not None
            hits = matcher.by_document_hash.get(name, []) if is_hash else matcher.by_source_id.get(name, [])
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
        raise Unmatched(refused or "it names no problem")

    def _said(self, value: Any) -> str:
        """A prediction as text; one that stands in a list by itself is meant."""
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        return cell_text(value, self.columns.prediction).strip()

    def _choice(self, text: str, names: tuple[str, ...], place: str, about: Problem) -> tuple[int | None, str | None]:
        """The chosen candidate; or None and why nothing was chosen."""
        column = str(self.columns.prediction)
        if self.has_fractions and is_number(text) and not text.isdecimal():  # a score among replies
            return None, self._unread(text, place)
        try:
            chosen, why = choose(text, column, names, self.bases[0], about.language)
            is_label = True
        except Malformed:
            is_label = False
            if is_number(text) or not self.in_sentences:
                raise
            from winokit.models.replies import FilledText

            filled = FilledText.of(about.before, about.after)
            chosen, why = named_in(text, names, about.language, filled), None
            if chosen is None:
                if not self.in_words and len(text.split()) < REPLY:
                    raise
                why = self._unread(text, place)
        self.read += chosen is not None
        if about.answer is not None and not self.is_trial:
            self.readings.take(None if is_label else text, chosen, names, about)
        return chosen, why

    def _unread(self, text: str, place: str) -> str:
        """Remember a text from which no answer could be read, and say so."""
        self.unread.append(f"{place}: {shown(text)}")
        return f"{UNREAD}: {shown(text)}"

    def _scores(self, cells: Mapping[str, Any], names: tuple[str, ...]) -> tuple[float, ...] | None:
        """The scores of a row, one for each candidate; None where its cells are empty."""
        count = len(names)
        columns = self.columns.scores
        texts = [_plain_number(said(cells.get(name))) for name in columns]
        if len(columns) == 1:
            by_name = _object_in(cells.get(columns[0]))
            texts = FLOAT.findall(texts[0]) if by_name is None else self._scores_by_name(by_name, names)
        if not any(texts) or (len(columns) > 1 and any(text.casefold() in SILENT for text in texts)):
            return None
        if len(columns) > 1:
            texts = [text for text, name in zip(texts, columns, strict=True) if text]
        if len(texts) != count:
            raise Malformed(f"expected {count} scores, one per candidate, found {len(texts)}", field=columns[0])
        sign = -1 if self.columns.are_losses else 1
        try:
            return tuple(sign * float(text) for text in texts)
        except ValueError:
            raise Malformed(f"expected numbers, found {fields.shown(' '.join(texts))}", field=columns[0]) from None

    def _scores_by_name(self, by_name: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
        """The scores of an object by candidates, as texts in their order."""
        column = self.columns.scores[0]
        texts: dict[int, str] = {}
        for name, score in by_name.items():
            index, _ = choose(str(name), column, names, self.score_base(by_name))
            if index is not None:
                texts[index] = said(score)
        if sorted(texts) != list(range(len(names))) or len(by_name) != len(names):
            found = fields.shown(", ".join(map(str, by_name)))
            raise Malformed(f"expected a score for each of {listed(names)}, found {found}", field=column)
        return [texts[index] for index in range(len(names))]

    @staticmethod
    def score_base(by_name: Mapping[str, Any]) -> int:
        """What numbers of candidates count from in an object of scores."""
        return 0 if "0" in by_name else 1

    def finish(self) -> None:
        """Say what was noticed; a column in which nothing could be read is the wrong one."""
        if self.unread and not self.read:
            raise BadInput(
                f"{self.table.path}: in column {self.columns.prediction!r} no answer could be read; "
                f"the first: {self.unread[0]}"
            )
        if self.judged:
            self.source.note(
                f"in {self.judged:,} rows only right or wrong is known, which tells the choice between two candidates; "
                "margins and abstentions are not known"
            )
        self.source.readings = self.readings.shares()
        for note in self.readings.notes():
            self.source.note(note)
        if self.other_choice:
            row_count = "1 row" if len(self.other_choice) == 1 else f"{len(self.other_choice):,} rows"
            self.source.note(
                f"in {row_count} the prediction is not the candidate with the highest score; the prediction counts; "
                f"the first: {self.other_choice[0]}"
            )


def _plain_number(text: str) -> str:
    """A number without the sign of percent, and with a point for its comma."""
    return COMMA.sub(r"\1.\2", text.removesuffix("%").strip())


def _object_in(value: Any) -> Mapping[str, Any] | None:
    """An object of scores by name, as JSON has it or as Python prints it; None if a cell is something else."""
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            value = literal_eval(value.strip())
        except (ValueError, SyntaxError):
            return None
    if not isinstance(value, dict) or len(value) < 2:
        return None
    return {str(name): score for name, score in value.items()}


def said(value: Any) -> str:
    """A cell as text, stripped."""
    return cell_text(value).strip()
