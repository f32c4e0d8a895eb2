"""Predictions as a table of whatever columns: csv with any delimiter, JSON, JSON lines or Parquet.

Numbers count from 1; from 0 where a 0 is among them and no number is too high for that, or as `prediction=COLUMN:0`
says. They may be spelled as floats (1.0, 2.0) if all of them are whole: a number with a fraction is a score or a
probability and never a choice, and a column of such numbers is refused. A row that names no problem, as the totals at
the end of some published files, is skipped with a note. A text that is no candidate is read as replies of chat
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
from winokit.data.formats.source import Place, Source, name_place
from winokit.data.formats.tables import LIST, Table, TableRow, cell_text, selected
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
from winokit.data.predictions.sampled import expand_samples, sample_hint, sample_numbers
from winokit.errors import BadInput, Malformed
from winokit.problem import Problem
from winokit.results import decide

if TYPE_CHECKING:
    from winokit.data.predictions.proposals import Attempt, TrialReading

COMMA = re.compile(r"(-?\d+),(\d+)$")
POSITION = re.compile(r"(\d{1,9})(?:\.0*)?$", re.ASCII)
LETTER = re.compile(r"[A-Ea-e]")
JSON = frozenset((".json", ".jsonl", ".parquet"))
REPLY = 3
"""The least words of a reply. Fewer, among numbers, are a slip."""


def read_table(
    source: Source, matcher: Matcher, user_columns: Mapping[str, str] | None = None
) -> Iterator[PredictionRow]:
    """Yield the predictions in the file of a table.

    Parameters
    ----------
    user_columns
        The user's columns by their roles. None if they are to be guessed.
    """
    from winokit.data.predictions.headings import read_headed

    table = read_headed(source, matcher)
    yield from read_rows(_expand_object(table, matcher), source, matcher, user_columns)


def read_rows(
    table: Table, source: Source, matcher: Matcher, user_columns: Mapping[str, str] | None = None
) -> Iterator[PredictionRow]:
    """Yield the predictions in a table.

    Raises BadInput if its columns do not tell the choice or the problem of a row.

    Parameters
    ----------
    user_columns
        The user's columns by their roles. None if they are to be guessed.
    """
    selection = {"where": user_columns["where"]} if user_columns and "where" in user_columns else {}
    table, roles = selected(table, user_columns, OPTION)
    table, roles = _split_models(table, roles)
    attempt = partial(try_reading, table, matcher)
    if LIST in table.columns and not selection:
        from winokit.data.predictions.proposals import refuse_lists

        refuse_lists(table, roles, attempt)
    table, columns = expand_samples(table, roles)
    check_order(table, columns, matcher.dataset)
    if not columns.is_complete:
        _refuse_columns(table, columns, matcher, attempt)
    source.sample_hint = sample_hint(table, columns)
    source.roles = columns.roles() | selection
    if columns.candidate is not None:
        yield from _read_candidate_rows(table, columns, source, matcher)
        return
    reading = TableReading(table, columns, matcher, source)
    if columns.sample is not None and roles is None:
        sample_numbers_found = [number for number in reading.samples if number]
        count = 1 + max(sample_numbers_found, default=0)
        source.note(f"{count} samples of each problem, by {columns.sample!r}")
    yield from reading.read_all_rows()
    is_unread = bool(reading.unread) and not reading.read
    if is_unread and roles is None and columns.correct is not None:  # it is right or wrong
        _refuse_columns(table, replace(columns, prediction=None), matcher, attempt)
    reading.finish()


def _split_models(table: Table, roles: dict[str, str] | None) -> tuple[Table, dict[str, str] | None]:
    """The table with a row for each model's answer, and its roles.

    Both are unchanged unless a role names several columns by a pattern.
    """
    if roles is None:
        return table, None
    values = [roles.get(role, "") for role in ("prediction", "correct")]
    if not any("|" in value or "*" in value for value in values):
        return table, roles
    from winokit.data.predictions.models_in_columns import one_row_per_answer

    return one_row_per_answer(table, roles)


def _refuse_columns(table: Table, columns: PredictionColumns, matcher: Matcher, attempt: "Attempt") -> None:
    """Raise BadInput for a table whose columns do not tell the choice.

    The message has the options that would read it.
    """
    from winokit.data.predictions.proposals import TableProposals

    TableProposals(table, columns, matcher.dataset, attempt).refuse()


def _read_candidate_rows(
    table: Table, columns: PredictionColumns, source: Source, matcher: Matcher
) -> Iterator[PredictionRow]:
    """Yield the predictions in a table with a row for each candidate."""
    from winokit.data.predictions.by_candidate import CandidateReading

    naming_columns = replace(columns, prediction=None, scores=())
    reading = TableReading(table, naming_columns, matcher, source)
    candidate_reading = CandidateReading(table, columns, matcher, reading.find_problem)
    yield from candidate_reading.rows(reading.stem, reading.scoring)


def _is_nameless(cells: Mapping[str, Any], columns: PredictionColumns) -> bool:
    """Whether a row is empty in all columns that name a problem.

    Such rows are totals at the end of a file.
    """
    if columns.order in ORDERS:
        return False
    return not any(stripped_text(cells.get(name)) for name in columns.names)


def _expand_object(table: Table, matcher: Matcher) -> Table:
    """Turn a JSON object of predictions by id into a table.

    It has a row for each prediction. Any other table is unchanged.
    """
    if len(table.rows) != 1:
        return table
    ids = [name for name in table.columns if name in matcher.by_id or name in matcher.by_source_id]
    if 2 * len(ids) <= len(table.columns):
        return table
    _, answers = table.rows[0]
    rows: list[TableRow] = []
    for problem_id, answer in answers.items():
        rows.append((f"key {problem_id!r}", {"id": problem_id, "prediction": answer}))
    return Table(table.path, ("id", "prediction"), rows)


def try_reading(
    table: Table, matcher: Matcher, columns: PredictionColumns, row_indices: Sequence[int], in_sentences: bool | None
) -> "TrialReading":
    """Count the rows that some columns can read.

    Right ones are counted too. It stops early if too few rows can be read. Raises BadInput if the columns cannot be
    of predictions.

    Parameters
    ----------
    row_indices
        Indices of the rows to read.
    in_sentences
        Whether replies in sentences are read too. None reads them in every row, however few can be read.
    """
    from winokit.data.predictions.proposals import LEAST_READ, TrialReading

    check_order(table, columns, matcher.dataset)
    source = Source(Path(table.path), lenient=True)
    reading = TableReading(table, columns, matcher, source, in_sentences is not False, is_trial=True)
    chooses = columns.prediction is not None or bool(columns.scores) or columns.correct is not None
    most_missed = len(row_indices) if in_sentences is None else (1 - LEAST_READ) * len(row_indices)
    row_count = 0
    found_count = 0
    read_count = 0
    right_count = 0
    for row_index in row_indices:
        fitting_count = read_count if chooses else found_count
        if row_count - fitting_count > most_missed:
            break
        _, cells = table.rows[row_index]
        if _is_nameless(cells, columns):
            continue
        row_count += 1
        try:
            row = reading.row(cells, "", row_index)
        except Malformed:
            continue
        if not row.hits:
            continue
        found_count += 1
        if row.prediction is not None:
            read_count += 1
            problem = matcher.dataset[row.hits[0]]
            right_count += int(_is_right(row, row.prediction, problem))
    return TrialReading(row_count, found_count, read_count, right_count)


def _is_right(row: PredictionRow, prediction: int, problem: Problem) -> bool:
    """Whether a row's choice is right.

    The dataset's answer counts, or else the row's. `prediction` is an index in the row's order of candidates.
    """
    if problem.right is None:
        return row.gold == prediction
    names = row.candidates or problem.candidates
    return align((names[prediction],), (problem.right,)) is not None


@dataclass
class TableReading:
    """Reads the rows of a table, and collects notes on them."""

    table: Table
    columns: PredictionColumns
    matcher: Matcher
    source: Source
    in_sentences: bool = True
    """Whether a text that is no candidate is read as a reply is."""
    is_trial: bool = False
    """Whether columns are only tried: replies are then not counted by other ways to read them."""
    unread: list[str] = field(default_factory=list)
    read: int = 0
    other_choice: list[str] = field(default_factory=list)
    judged: int = 0
    """The number of rows that say only whether they are right."""
    readings: ReplyReadings = field(default_factory=ReplyReadings)
    """The right answers of replies in words, by other ways to read them."""

    def __post_init__(self) -> None:
        path = self.source.path
        self.stem = path.stem
        self.scoring = "csv" if JSON.isdisjoint(path.suffixes) else "table"
        self.has_fractions = self._check_whole()
        chosen = {*self._read_numbers(self.columns.prediction)}
        gold = {*self._read_numbers(self.columns.answer)}
        self.in_words = not chosen
        self.bases = (self._find_prediction_base(chosen, gold), self._find_answer_base(gold))
        """The numbers from which predictions and answers count."""
        self.samples = sample_numbers(self.table, self.columns)
        """The number of the sample of each row; None where there is one answer to each problem."""
        self.positions = self._find_positions()
        """The place in the dataset of each row; empty unless rows are found by their order."""

    def _count_most_candidates(self) -> int:
        """The largest number of candidates of a problem in the dataset."""
        return max((len(problem.candidates) for problem in self.matcher.dataset), default=2)

    def _find_prediction_base(self, chosen: set[int], gold: set[int]) -> int:
        """The number of the first candidate in predictions, 0 or 1.

        It is the number that the user gave. Otherwise it is 0 if a 0 is among the predictions or answers, or the
        column is called `label`, and no prediction is too high for that. A note says so.

        Parameters
        ----------
        chosen
            All numbers in the column of predictions.
        gold
            All numbers in the column of answers.
        """
        if self.columns.base is not None:
            return 0 if self.columns.base == 0 else 1
        # SuperGLUE's label counts from 0, whatever a model chose; a 0 beside the predictions tells how they count.
        has_zero = 0 in chosen or 0 in gold
        is_label = str(self.columns.prediction).casefold() == "label"
        if not chosen or not (has_zero or is_label) or max(chosen) >= self._count_most_candidates():
            return 1
        self.source.note(f"predictions in {self.columns.prediction!r} count from 0")
        return 0

    def _find_answer_base(self, gold: set[int]) -> int:
        """The number of the first candidate in answers, 0 or 1.

        `gold` has all numbers in the column of answers.
        """
        counts_from_0 = 0 in gold and max(gold) < self._count_most_candidates()
        return 0 if counts_from_0 else 1

    def _find_positions(self) -> Sequence[int]:
        """For each row, the index of its problem, by the order.

        Empty if rows are not found by their order.
        """
        if self.columns.order is None:
            return ()
        if self.columns.order == LEADERBOARD:
            from winokit.data.predictions.leaderboard import leaderboard_rows

            return leaderboard_rows()
        if self.columns.order in ORDERS:
            return range(len(self.table.rows))
        return self._read_positions(self.columns.order)

    def _check_whole(self) -> bool:
        """Whether some number among the predictions has a fraction.

        Raises BadInput if most cells are numbers then: the column has scores.
        """
        column = self.columns.prediction
        if column is None:
            return False
        cells: list[tuple[Place, str]] = []
        for place, row in self.table.rows:
            if not _is_nameless(row, self.columns):
                cells.append((place, stripped_text(row.get(column))))
        fractions = [(place, text) for place, text in cells if is_fraction(text)]
        if not fractions:
            return False
        number_count = sum(is_number(text) for _, text in cells)
        filled_count = sum(text.casefold() not in SILENT for _, text in cells)
        if 2 * number_count > filled_count:
            first_place, first_text = fractions[0]
            raise BadInput(
                f"{self.table.path}: column {column!r}: numbers with fractions in {len(fractions):,} of "
                f"{len(cells):,} rows ({first_text} in {name_place(first_place)}) are scores or probabilities, not "
                "choices: name a column of scores for each candidate, where higher is better "
                f"({OPTION} scores1=COLUMN,scores2=COLUMN), or one of choices"
            )
        return True

    def _read_numbers(self, column: str | None, pattern: re.Pattern[str] = NUMBER) -> list[int]:
        """The whole numbers in a column, without cells that have none.

        2.0 is a whole number too.
        """
        if not column:
            return []
        matches = [pattern.match(stripped_text(cells.get(column))) for _, cells in self.table.rows]
        return [int(match[1]) for match in matches if match]

    def _read_positions(self, column: str) -> list[int]:
        """For each row, the index of its problem, by a column.

        The column counts the problems. Raises BadInput unless the column has each number from 0 or 1 once.
        """
        all_numbers = self._read_numbers(column, POSITION)
        numbers = all_numbers[: len(all_numbers) // self.columns.copies]
        problem_count = len(self.matcher.dataset)
        start = min(numbers, default=0)
        expected = range(start, start + problem_count)
        if start > 1 or sorted(numbers) != list(expected):
            raise BadInput(
                f"{self.table.path}: column {column!r}: expected the numbers of {problem_count:,} "
                "problems, from 0 or 1 and each once"
            )
        return [number - start for number in numbers]

    def read_all_rows(self) -> Iterator[PredictionRow]:
        """Yield the prediction of each row.

        Rows that name no problem are skipped with a note, and malformed ones are rejected.
        """
        for number, (line, cells) in enumerate(self.table.rows):
            location = name_place(line)
            if _is_nameless(cells, self.columns):
                self.source.note(f"{location} names no problem; skipped")
                continue
            try:
                yield self.row(cells, location, number)
            except Malformed as error:
                self.source.reject(error, line)

    def row(self, cells: Mapping[str, Any], place: str, number: int) -> PredictionRow:
        """The prediction that a row states.

        If its problem is not found, the prediction has the reason. Raises Malformed for a cell that cannot be read.

        Parameters
        ----------
        place
            The row's place in the file, for messages.
        number
            The index of the row.
        """
        model = self._read_model(cells)
        draft = PredictionRow(place, model, self.scoring, sample=self.samples[number])
        draft.candidates = self._read_candidates(cells)
        try:
            draft.hits = self._find_hits(cells, draft.candidates, number)
            problem = self.matcher.dataset[draft.hits[0]]
            _check_candidates(draft.candidates, problem)
            self._add_choice(draft, cells, problem)
        except Unmatched as reason:
            return PredictionRow(place, model, self.scoring, reason=str(reason), sample=draft.sample)
        return draft

    def _read_model(self, cells: Mapping[str, Any]) -> str:
        """The name of a row's model.

        It is the row's cell, or else the name of the file without its ending.
        """
        column = self.columns.model
        name = stripped_text(cells.get(column)) if column else ""
        return name or self.stem

    def _read_candidates(self, cells: Mapping[str, Any]) -> tuple[str, ...] | None:
        """The candidates that a row states, or None if fewer than two."""
        texts = [stripped_text(cells.get(name)) for name in self.columns.options]
        options = tuple(text for text in texts if text)
        return options if len(options) > 1 else None

    def _add_choice(self, draft: PredictionRow, cells: Mapping[str, Any], problem: Problem) -> None:
        """Add choice, answer, scores and verdict of a row to its prediction.

        `draft` is the prediction so far, with its problem.
        """
        columns = self.columns
        names = draft.candidates or problem.candidates
        scores = self._read_scores(cells, names)
        if columns.prediction is not None:
            self._add_stated_choice(draft, cells, problem, scores)
        elif scores is None:
            draft.why = "a score is missing"
        else:
            draft.prediction, draft.why = decide(scores)
        if columns.answer is not None:
            draft.gold = self._read_gold(cells, columns.answer, names, problem)
        if columns.correct:
            draft.verdict = verdict_of(stripped_text(cells.get(columns.correct)))
        if columns.is_judged_only and draft.verdict is not None:
            draft.prediction = self._choose_by_verdict(draft.verdict, problem, names, draft.gold)
            draft.why = None
        if scores is not None and all(abs(score) < float("inf") for score in scores):
            draft.scores = scores

    def _add_stated_choice(
        self, draft: PredictionRow, cells: Mapping[str, Any], problem: Problem, scores: tuple[float, ...] | None
    ) -> None:
        """Add the choice in the column of predictions to a row's prediction.

        If the scores have another best candidate, the row is counted and the stated choice stays.
        """
        names = draft.candidates or problem.candidates
        column = self.columns.prediction
        reply = self._read_prediction(None if column is None else cells.get(column))
        listed_order = self._find_listed_names(cells, reply, names)
        chosen, draft.why = self._read_choice(reply, listed_order, draft.place, problem)
        if chosen is None:
            return
        draft.prediction = names.index(listed_order[chosen])
        if scores is not None:
            best, _ = decide(scores)
            if best not in (None, draft.prediction):
                self.other_choice.append(draft.place)

    def _read_gold(self, cells: Mapping[str, Any], column: str, names: tuple[str, ...], problem: Problem) -> int | None:
        """Index of the right candidate that a row states.

        None if it states none, or the cell cannot be read. `names` are the candidates in the row's order.
        """
        text = stripped_text(cells.get(column))
        order = names
        if LETTER.fullmatch(text):
            order = self._find_listed_names(cells, text, names)
        try:
            index, _ = choose(text, column, order, self.bases[1], problem.language)
        except Malformed:
            return None
        return None if index is None else names.index(order[index])

    def _find_listed_names(self, cells: Mapping[str, Any], reply: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """The candidates in the order that a letter in the reply counts.

        It is the order in the row's prompt, or `names` if no prompt lists them.
        """
        for column in self.columns.texts:
            prompt = cell_text(cells.get(column))
            may_list = any(mark in prompt for mark in ("\n", ")", ":", "."))
            if may_list and len(set(names)) == len(names):
                order = listed_names(prompt, reply, names)
                if order is not None:
                    return order
        return names

    def _choose_by_verdict(self, is_right: bool, problem: Problem, names: tuple[str, ...], gold: int | None) -> int:
        """Index of the candidate that a verdict implies.

        The row says only whether the choice is right. It follows from the dataset's answer, or else from the row's.
        Raises Unmatched if it does not follow. `names` are the candidates in the row's order, in which `gold` and the
        result are indices.
        """
        answer = gold
        if problem.right is not None:
            answer = which(problem.right, names, problem.language)
        if answer is None:
            raise Unmatched("it says only whether the choice is right, and nothing says what is")
        if not is_right and len(names) != 2:
            raise Unmatched(f"it says only that the choice is wrong, which leaves {len(names) - 1} others")
        self.judged += 1
        return answer if is_right else 1 - answer

    def find_problem(self, cells: Mapping[str, Any], number: int) -> tuple[int, ...]:
        """Indices of the problem that a row names.

        There are several if it is repeated exactly. Raises Unmatched if the row names no problem. `number` is the
        index of the row.
        """
        return self._find_hits(cells, None, number)

    def _find_hits(self, cells: Mapping[str, Any], candidates: Sequence[str] | None, number: int) -> tuple[int, ...]:
        """Indices of the problem that a row names.

        It is found by the row's order if that is a role. If the columns were guessed, the row's text decides, unless
        it has none or only a prompt. Otherwise ids are tried, then texts, which may contain the problem's. Raises
        Unmatched if none fits.

        Parameters
        ----------
        candidates
            The candidates that the row states, or None.
        number
            The index of the row.
        """
        if self.columns.order is not None:
            row_count = len(self.table.rows) // self.columns.copies
            return (self.positions[number % row_count],)
        if not self.columns.is_given:
            text = self._get_problem_text(cells)
            if text:
                return self.matcher.find(text, candidates)
        reasons: list[str] = []
        hits = self._find_by_id(cells, reasons) or self._find_by_text(cells, candidates, reasons)
        if hits is None:
            reason = reasons[0] if reasons else "it names no problem"
            raise Unmatched(reason)
        return hits

    def _get_problem_text(self, cells: Mapping[str, Any]) -> str:
        """The first text of a row that is no prompt.

        It is from a column of texts. Empty if there is none.
        """
        for column in self.columns.texts:
            text = "" if column.casefold() in PROMPTS else cell_text(cells.get(column))
            if text:
                return text
        return ""

    def _find_by_id(self, cells: Mapping[str, Any], reasons: list[str]) -> tuple[int, ...] | None:
        """Indices of the problem that a row's id names, or None.

        The reason against each id is added to `reasons`.
        """
        matcher = self.matcher
        for column in self.columns.ids:
            name = stripped_text(cells.get(column))
            if not name:
                continue
            if name in matcher.by_id:
                return (matcher.by_id[name],)
            is_hash = DOCUMENT_HASH.fullmatch(name) is not None
            places = matcher.by_document_hash if is_hash else matcher.by_source_id
            hits = places.get(name, [])
            if len(hits) == 1:
                return (hits[0],)
            problems = f"{len(hits)} problems" if hits else "no problem"
            reasons.append(f"{problems} with the id {name!r}")
        return None

    def _find_by_text(
        self, cells: Mapping[str, Any], candidates: Sequence[str] | None, reasons: list[str]
    ) -> tuple[int, ...] | None:
        """Indices of the problem whose text a row has, or None.

        The row's text may contain the problem's. The reason against each text is added to `reasons`.
        """
        for column in self.columns.texts:
            text = cell_text(cells.get(column))
            if not text:
                continue
            try:
                return self.matcher.find(text, candidates)
            except Unmatched as reason:
                with suppress(Unmatched):
                    return self.matcher.find_inside(text, candidates)
                reasons.append(str(reason))
        return None

    def _read_prediction(self, value: Any) -> str:
        """A prediction as text.

        A list of one value is read as that value.
        """
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        return cell_text(value, self.columns.prediction).strip()

    def _read_choice(
        self, text: str, names: tuple[str, ...], place: str, problem: Problem
    ) -> tuple[int | None, str | None]:
        """Index of the candidate that a prediction chooses.

        Returns the index and None, or None and the reason if nothing is chosen. A text that is no candidate is read
        as a reply in sentences, unless those are not to be read. Raises Malformed if the text cannot be read.

        Parameters
        ----------
        text
            The prediction.
        names
            The candidates, in the order in which numbers and letters count them.
        place
            The row's place in the file, for messages.
        """
        column = str(self.columns.prediction)
        if self.has_fractions and is_number(text) and not text.isdecimal():  # a score among replies
            return None, self._add_unread(text, place)
        reply: str | None = None
        try:
            chosen, reason = choose(text, column, names, self.bases[0], problem.language)
        except Malformed:
            if is_number(text) or not self.in_sentences:
                raise
            reply = text
            reason = None
            chosen = self._read_reply(text, names, problem)
            if chosen is None:
                is_slip = not self.in_words and len(text.split()) < REPLY
                if is_slip:
                    raise
                reason = self._add_unread(text, place)
        if chosen is not None:
            self.read += 1
        if problem.answer is not None and not self.is_trial:
            self.readings.take(reply, chosen, names, problem)
        return chosen, reason

    def _read_reply(self, text: str, names: tuple[str, ...], problem: Problem) -> int | None:
        """Index of the candidate that a reply in words chooses, or None."""
        from winokit.models.replies import FilledText

        filled = FilledText.of(problem.before, problem.after)
        return named_in(text, names, problem.language, filled)

    def _add_unread(self, text: str, place: str) -> str:
        """Store a text without an answer, and return the reason."""
        self.unread.append(f"{place}: {shown(text)}")
        return f"{UNREAD}: {shown(text)}"

    def _read_scores(self, cells: Mapping[str, Any], names: tuple[str, ...]) -> tuple[float, ...] | None:
        """The scores of a row, higher for better, one for each candidate.

        Losses are negated. None if a cell is empty. Raises Malformed if there are more or fewer scores than
        candidates.
        """
        columns = self.columns.scores
        if len(columns) == 1:
            texts = self._read_score_list(cells.get(columns[0]), names)
        else:
            texts = [_normalize_number(stripped_text(cells.get(name))) for name in columns]
            if any(text.casefold() in SILENT for text in texts):
                return None
        if not any(texts):
            return None
        if len(texts) != len(names):
            raise Malformed(f"expected {len(names)} scores, one per candidate, found {len(texts)}", field=columns[0])
        sign = -1 if self.columns.are_losses else 1
        try:
            return tuple(sign * float(text) for text in texts)
        except ValueError:
            raise Malformed(f"expected numbers, found {fields.shown(' '.join(texts))}", field=columns[0]) from None

    def _read_score_list(self, cell: Any, names: tuple[str, ...]) -> list[str]:
        """The scores in a single cell, as texts.

        The cell is a list or an object by candidate.
        """
        by_name = _parse_object(cell)
        if by_name is not None:
            return self._read_scores_by_name(by_name, names)
        return FLOAT.findall(_normalize_number(stripped_text(cell)))

    def _read_scores_by_name(self, by_name: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
        """The scores of an object by candidate, as texts.

        They are in the order of `names`. Raises Malformed unless it has one score for each candidate.
        """
        column = self.columns.scores[0]
        base = self.score_base(by_name)
        texts: dict[int, str] = {}
        for name, score in by_name.items():
            index, _ = choose(str(name), column, names, base)
            if index is not None:
                texts[index] = stripped_text(score)
        indices = list(range(len(names)))
        if sorted(texts) != indices or len(by_name) != len(names):
            found_names = fields.shown(", ".join(map(str, by_name)))
            raise Malformed(f"expected a score for each of {listed(names)}, found {found_names}", field=column)
        return [texts[index] for index in indices]

    @staticmethod
    def score_base(by_name: Mapping[str, Any]) -> int:
        """The number of the first candidate in an object of scores.

        It is 0 or 1.
        """
        return 0 if "0" in by_name else 1

    def finish(self) -> None:
        """Add notes on what was found to the source.

        Raises BadInput if no cell of the column of predictions could be read.
        """
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
            count = len(self.other_choice)
            rows = "1 row" if count == 1 else f"{count:,} rows"
            self.source.note(
                f"in {rows} the prediction is not the candidate with the highest score; the prediction counts; "
                f"the first: {self.other_choice[0]}"
            )


def _check_candidates(candidates: tuple[str, ...] | None, problem: Problem) -> None:
    """Raise Unmatched if a row states other candidates than its problem has."""
    if candidates is not None and align(candidates, problem.candidates, problem.language) is None:
        raise Unmatched(f"its problem has the candidates {listed(problem.candidates)}, not {listed(candidates)}")


def _normalize_number(text: str) -> str:
    """A number without percent sign, with a decimal point."""
    number = text.removesuffix("%").strip()
    return COMMA.sub(r"\1.\2", number)


def _parse_object(value: Any) -> Mapping[str, Any] | None:
    """Parse an object of scores by candidate, written in JSON or Python.

    None if the cell is something else.
    """
    if isinstance(value, str) and value.strip().startswith("{"):
        try:
            value = literal_eval(value.strip())
        except (ValueError, SyntaxError):
            return None
    if not isinstance(value, dict) or len(value) < 2:
        return None
    return {str(name): score for name, score in value.items()}


def stripped_text(value: Any) -> str:
    """A cell as text, without white space around it."""
    return cell_text(value).strip()
