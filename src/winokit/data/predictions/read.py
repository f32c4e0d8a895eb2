"""Files of predictions, recognised from their content, read and matched to problems."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from winokit.data.formats.source import DELIMITERS, HEAD_BYTES, Source, decode_head, read_bytes
from winokit.data.predictions.match import Matcher, PredictionRow, align, shown
from winokit.errors import BadInput
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.transforms.variants import Variant
from winokit.problem import ORIGINAL, Dataset, Problem, grouped
from winokit.registry import at_home

Reader = Callable[[Source, Matcher], Iterator[PredictionRow]]
KINDS = (
    "winokit's predictions.jsonl, a list of labels, a table with a prediction column, a JSON object of them by id, "
    "an lm-evaluation-harness samples_*.jsonl, or an Inspect log"
)
LMEVAL_KEYS = frozenset({"doc_id", "doc"})
"""Keys of each row of a sample log of lm-evaluation-harness."""
LAYOUT = "layout"
"""The role by which columns name a layout."""
MOST_REASONS = 4
"""Reasons of abstentions that have a note of their own."""
DATED = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl(?:\.gz|\.xz)?")
"""Names of the sample logs that lm-evaluation-harness writes."""
OTHER_IDS = "; ids are those of --columns id=COLUMN; row numbers: --columns order=COLUMN,prediction=COLUMN"
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
_HOMES = {
    "winokit": "winokit_rows:read",
    "lmeval": "lmeval_log:read",
    "inspect": "inspect_log:read",
    "labels": "labels:read_labels",
    "table": "table:read_table",
}
READERS = {name: f"winokit.data.predictions.{home}" for name, home in _HOMES.items()}
"""By kind of predictions, its reader. It is imported when a file is of that kind."""
WITHOUT_COLUMNS = ("lmeval", "inspect")
"""The kinds of files that have no columns to be named."""


@dataclass(frozen=True)
class PredictionFile:
    """A file of predictions.

    `folder` is the folder in which it was found, or None if the user named the file itself.
    """

    path: Path
    folder: Path | None = None


@dataclass(frozen=True)
class PredictionsWithin:
    """Predictions found in a file of problems, with notes on them.

    The files are empty if the predictions are not used.
    """

    files: Sequence[PredictionFile] = ()
    columns: Mapping[str, str] | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class PredictionTable:
    """Predictions in memory: a name and the reader of their rows."""

    name: str
    read_rows: Reader
    folder: None = None

    @property
    def path(self) -> Path:
        """Its name, for messages that name files."""
        return Path(self.name)


PredictionSource = PredictionFile | PredictionTable


@dataclass(slots=True)
class ReadPredictions:
    """Predictions of one model under one scoring on one variant.

    Candidates are in the dataset's order.
    """

    model: str
    scoring: str
    variant: str
    predictions: list[Prediction] = field(default_factory=list)
    """One for each matched problem and sample, in the order of the dataset.

    There is none for a problem the file says nothing about.
    """
    unmatched: list[str] = field(default_factory=list)
    """The rows that were not used, with the reason: "line 12: no problem has the text …"."""
    surprisals: dict[str, float] = field(default_factory=dict)
    """Surprisal of texts with the right candidate in the blank, in nats per word, by problem id."""
    notes: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    """Rows that contradict each other, whose problems were left out."""

    @property
    def right(self) -> int | None:
        """Number of right predictions in the first sample.

        None if no problem has an answer.
        """
        answered = [row for row in self.predictions if row.answer is not None and not row.sample]
        if not answered:
            return None
        return sum(row.prediction == row.answer for row in answered)


def read_predictions(
    path: str | Path,
    dataset: Dataset,
    *,
    versions: Mapping[str, Variant] | None = None,
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
) -> list[ReadPredictions]:
    """Read a file of predictions.

    There is one result for each model, scoring and variant in it, in order of appearance.

    A row that fits no problem, or more than one, is listed as unmatched. A malformed row is an error that names it,
    or in lenient mode is skipped with a note. Rows that contradict each other are an error that names both, or in
    lenient mode are left out. A file without any match is an error.

    Parameters
    ----------
    versions
        Variants of the dataset that were read from files, by name, since they cannot be made from it.
    columns
        Columns of a table by their roles. None if they are to be guessed.
    """
    reader = reader_of(Path(path), columns)
    return rows_read(Source(Path(path), lenient=lenient), Matcher(dataset, versions), reader)


def read_files(
    files: Iterable[PredictionSource],
    dataset: Dataset,
    versions: Mapping[str, Variant] | None = None,
    columns: Mapping[str, str] | None = None,
    *,
    lenient: bool = False,
) -> tuple[dict[Path, list[ReadPredictions]], list[str]]:
    """Read several files of predictions.

    Returns the results by file, and notes on files of a folder that were skipped because they are about other
    problems. Raises NothingMatches for a file that the user named itself. `lenient` is as for `read_predictions`.

    Parameters
    ----------
    versions
        Variants of the dataset that were read from files, by name, since they cannot be made from it.
    columns
        Columns of a table by their roles. None if they are to be guessed.
    """
    matcher = Matcher(dataset, versions)
    reads: dict[Path, list[ReadPredictions]] = {}
    errors: list[NothingMatches] = []
    for file in files:
        try:
            reader = file.read_rows if isinstance(file, PredictionTable) else reader_of(file.path, columns)
            source = Source(file.path, lenient=lenient)
            reads[file.path] = rows_read(source, matcher, reader)
        except NothingMatches as error:
            if file.folder is None:
                raise
            errors.append(error)
    if errors and not reads:
        raise errors[0]
    return reads, [f"skipped: {error}" for error in errors]


class NothingMatches(BadInput):
    """No prediction in a file is about a problem of the dataset."""


def reader_of(path: Path, columns: Mapping[str, str] | None) -> Reader:
    """The function that reads a file of predictions.

    Logs of lm-evaluation-harness and Inspect have no columns, so for them `columns` is ignored unless it names a
    layout.

    Parameters
    ----------
    columns
        The user's columns by their roles, which may name a layout. None if there are none.
    """
    kind = "" if columns and LAYOUT in columns else recognise(path)
    if kind not in READERS:
        from winokit.data.predictions.layouts import read_layout, split_layout

        named_layout, others = split_layout(columns)
        return partial(read_layout, name=named_layout or kind, user_columns=others)
    if columns and kind not in WITHOUT_COLUMNS:
        from winokit.data.predictions.table import read_table

        return partial(read_table, user_columns=columns)
    reader: Reader = at_home(READERS[kind])
    return reader


def rows_read(source: Source, matcher: Matcher, reader: Reader) -> list[ReadPredictions]:
    """Read the predictions of a source.

    There is one result for each model, scoring and variant. Raises NothingMatches if no prediction is about a problem
    of the dataset.
    """
    path = source.path
    groups = grouped(((row.model, row.scoring, row.variant), row) for row in reader(source, matcher))
    reads = [_read_group(rows, source, matcher) for rows in groups.values()]
    notes = list(source.notes)
    if source.skipped:
        notes.append(f"{path}: skipped {len(source.skipped):,} malformed rows; the first: {source.first_skipped}")
    useful = [read for read in reads if read.predictions or read.surprisals]
    if not useful:
        raise NothingMatches(_describe_mismatch(path, matcher, reads, notes))
    for read in reads:
        if read not in useful:
            reason = [*read.unmatched, *read.notes][0]
            notes.append(f"{path}: nothing by {read.model} ({read.scoring}) could be used: {reason}")
    for read in useful:
        read.notes = notes + [f"{path}: {note}" for note in read.notes]
    return useful


def _read_group(rows: Sequence[PredictionRow], source: Source, matcher: Matcher) -> ReadPredictions:
    """The predictions of rows that have the same model, scoring and variant."""
    first = rows[0]
    by_sample = grouped((row.sample or 0, row) for row in rows)
    samples = []
    for number in sorted(by_sample):
        read = ReadPredictions(first.model, first.scoring, first.variant)
        matching = RowMatching(read, matcher, source)
        for row in by_sample[number]:
            matching.take(row)
        samples.append(matching.finish())
    return samples[0] if len(samples) == 1 else _join_samples(samples, matcher)


def _describe_mismatch(path: Path, matcher: Matcher, reads: Sequence[ReadPredictions], notes: Sequence[str]) -> str:
    """The message for a file of which no row matches a problem."""
    reasons: list[str] = []
    for read in reads:
        reasons += [*read.unmatched, *read.notes]
    reasons += [*notes, "it has no rows"]
    name = matcher.dataset.card.name
    hint = OTHER_IDS if "no problem with the id" in reasons[0] else ""
    return f"{path}: nothing in it matches a problem of {name}; the first: {reasons[0]}{hint}"


def _join_samples(samples: Sequence[ReadPredictions], matcher: Matcher) -> ReadPredictions:
    """Join several samples of one scorer on one variant.

    The predictions are in the order of the problems, and those of one problem in the order of the samples.
    """
    joined = samples[0]
    notes = _join_notes([sample.notes for sample in samples])
    joined.predictions = [replace(row, sample=0) for row in joined.predictions]
    for number, sample in enumerate(samples[1:], 1):
        joined.predictions += [replace(row, sample=number) for row in sample.predictions]
        joined.unmatched += sample.unmatched
        joined.contradictions += sample.contradictions
    joined.predictions.sort(key=lambda row: (matcher.by_id[row.id], row.sample or 0))
    joined.notes = notes
    return joined


def _join_notes(notes_by_sample: Sequence[Sequence[str]]) -> list[str]:
    """The notes of several samples, each with the numbers of its samples.

    Samples count from 1. A note of all samples has no numbers.
    """
    numbers_by_note: dict[str, list[str]] = {}
    for number, notes in enumerate(notes_by_sample, 1):
        for note in dict.fromkeys(notes):
            numbers_by_note.setdefault(note, []).append(str(number))
    joined = []
    for note, numbers in numbers_by_note.items():
        if len(numbers) == len(notes_by_sample):
            joined.append(note)
        elif len(numbers) == 1:
            joined.append(f"sample {numbers[0]}: {note}")
        else:
            joined.append(f"samples {', '.join(numbers)}: {note}")
    return joined


def recognise(path: Path) -> str:
    """The name of the reader for a file, recognised from its content.

    It is a key of `READERS`, or the name of a layout.
    """
    kind = _recognise_kind(path)
    if kind != "table":
        return kind
    from winokit.data.predictions.layouts import layout_of

    return layout_of(path) or kind


def _recognise_kind(path: Path) -> str:
    """The key of `READERS` for a file, recognised from its content.

    Raises BadInput if the file is no file of predictions.
    """
    if path.is_dir():
        raise BadInput(f"{path}: a folder; name a file in it")
    head = read_bytes(path, HEAD_BYTES)
    is_cut_line = b"\n" not in head.strip() and len(head) == HEAD_BYTES
    if is_cut_line:
        head = read_bytes(path)
    if path.suffix.lower() in WORKBOOKS:
        raise BadInput(f"{path}: a workbook; save the table in it as csv")
    if head.startswith(b"PK"):
        return "inspect"
    if head.startswith(b"PAR1"):
        return "table"
    text = decode_head(head)
    first = text.lstrip().split("\n", 1)[0]
    if not first:
        raise BadInput(f"{path}: the file is empty")
    if first.startswith("{"):
        return _recognise_json(path, first, text)
    return _recognise_text(path, first, text)


def _find_keys(text: str) -> frozenset[str]:
    """Keys of the JSON objects in a text, which may end anywhere."""
    return frozenset(re.findall(r'"(\w+)"\s*:', text))


def _recognise_text(path: Path, first: str, text: str) -> str:
    """The reader of a file that begins with no JSON object.

    Returns a key of `READERS`, or raises BadInput.

    Parameters
    ----------
    first
        The first line of the file.
    text
        The beginning of the file.
    """
    from winokit.data.predictions.labels import is_labels, may_be_names

    is_array = first.startswith("[")
    keys = _find_keys(text) if is_array else frozenset()
    if keys >= LMEVAL_KEYS:
        return "lmeval"
    lines = text.split("\n")
    if is_labels(lines):
        return "labels"
    has_delimiter = any(delimiter in first for delimiter in DELIMITERS)
    if keys or (has_delimiter and not is_array):
        return "table"
    if may_be_names(lines):
        return "labels"
    from winokit.data.predictions.layouts import HOW

    raise BadInput(f"{path}: no predictions of a known kind; expected {KINDS}; {HOW}")


def _recognise_json(path: Path, first: str, text: str) -> str:
    """The reader of a file that begins with a JSON object.

    Returns a key of `READERS`, or raises BadInput.

    Parameters
    ----------
    first
        The first line of the file.
    text
        The beginning of the file.
    """
    row: dict[str, object] = {}
    try:
        row = json.loads(first)
        keys = frozenset(row)
    except (ValueError, RecursionError):
        keys = _find_keys(text)
    if keys >= LMEVAL_KEYS:
        return "lmeval"
    if "eval" in keys:
        return "inspect"
    from winokit.data.predictions import winokit_rows

    if keys >= winokit_rows.KEYS and winokit_rows.are_own(keys, row):
        return "winokit"
    if keys >= {"results", "configs"}:
        raise BadInput(f"{path}: the harness's totals; run it with --log_samples and name its samples_*.jsonl")
    return "table"


def _align_index(index: int | None, order: Sequence[int] | None) -> int | None:
    """Index of a candidate in the dataset's order.

    None stays None.

    Parameters
    ----------
    index
        Index in the row's order of candidates.
    order
        For each of the row's candidates, its index in the dataset's order. None if the orders are the same.
    """
    if index is None or order is None:
        return index
    return order[index]


def _align_scores(scores: tuple[float, ...] | None, order: Sequence[int] | None) -> tuple[float, ...] | None:
    """The scores of a row in the dataset's order of candidates.

    None stays None. `order` is as for `_align_index`.
    """
    if scores is None or order is None:
        return scores
    ranked = sorted(zip(order, scores, strict=True))
    return tuple(score for _, score in ranked)


def _count_things(count: int, noun: str) -> str:
    """A number with a noun, which has an s unless it is 1."""
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def _make_row_note(places: Sequence[str], fact: str) -> str:
    """A note that a fact is true of some rows.

    It has their number and the first of them. `places` are the rows' places in the file: "line 12".
    """
    rows = _count_things(len(places), "row")
    return f"in {rows} {fact}; the first: {places[0]}"


class RowMatching:
    """Turns rows of one model, scoring and variant into predictions for problems.

    A row that repeats an earlier one is counted. Rows that contradict each other are refused, or in lenient mode
    their problem is left out.

    Parameters
    ----------
    read
        The result, to which predictions and notes are added.
    """

    def __init__(self, read: ReadPredictions, matcher: Matcher, source: Source) -> None:
        self.read = read
        self.matcher = matcher
        self.source = source
        self.made: dict[int, Prediction] = {}
        """Predictions by the index of their problem in the dataset."""
        self.rows: dict[int, str] = {}
        """The location of the row of each problem, "line 12", by the index of the problem."""
        self.repeated: list[str] = []
        self.contradictions: list[str] = []
        self.contradicted: set[int] = set()
        self.silent: dict[str, list[str]] = {}
        """Rows that choose nothing, by the reason."""
        self.other_gold: list[str] = []
        self.other_verdict: list[str] = []
        self.read_right = 0
        self.said_right = 0
        self.hidden = 0
        """Rows whose right answer only the file knows."""
        self.hidden_right = 0
        """Of the hidden rows, those that are right by the file's answer."""

    def take(self, row: PredictionRow) -> None:
        """Add a row's prediction, or the reason why it has none.

        If the dataset repeats its problem exactly, the row goes to the first copy without a prediction.
        """
        if not row.hits:
            self.read.unmatched.append(f"{row.place}: {row.reason}")
            return
        free_places = (hit for hit in row.hits if hit not in self.rows)
        problem_index = next(free_places, None)
        is_first = problem_index is not None
        if problem_index is None:
            problem_index = row.hits[0]
        if row.surprisal is not None:
            self._take_surprisal(row, problem_index, is_first)
            return
        prediction = self._convert_row(row, problem_index)
        if prediction is None:
            return
        if is_first:
            self.made[problem_index] = prediction
            self.rows[problem_index] = row.place
            if prediction.prediction is None and row.variant == ORIGINAL:
                self._add_silent(row)
            return
        earlier = [self.made[hit].prediction for hit in row.hits]
        if prediction.prediction in earlier:
            self.repeated.append(row.place)
            return
        earlier_name = self._describe_choice(row, problem_index, earlier[0])
        name = self._describe_choice(row, problem_index, prediction.prediction)
        self._add_contradiction(row, f"{earlier_name} and {name}")

    def _add_silent(self, row: PredictionRow) -> None:
        """Store a row that chooses nothing under its reason."""
        why = row.why or "nothing is chosen"
        reason, _, text = why.partition(": ")
        location = f"{row.place}: {text}" if text else row.place
        self.silent.setdefault(reason, []).append(location)

    def _take_surprisal(self, row: PredictionRow, problem_index: int, is_first: bool) -> None:
        """Store the surprisal of a solved text.

        If the problem already has one, the row is stored as a repetition or a contradiction. `is_first` says that it
        has none yet.
        """
        assert row.surprisal is not None
        surprisals = self.read.surprisals
        problem_id = self.matcher.ids[problem_index]
        if is_first:
            surprisals[problem_id] = row.surprisal
            self.rows[problem_index] = row.place
        elif surprisals[problem_id] == row.surprisal:
            self.repeated.append(row.place)
        else:
            self._add_contradiction(row, f"surprisals {surprisals[problem_id]:.6g} and {row.surprisal:.6g}")

    def _add_contradiction(self, row: PredictionRow, values: str) -> None:
        """Store that a row contradicts an earlier one about the same problem.

        `values` says in words what the two state.
        """
        first_place = row.hits[0]
        problem_id = self.matcher.ids[first_place]
        lines = f"{self.rows[first_place]} and {row.place}"
        self.contradictions.append(f"{lines} contradict each other on problem {problem_id} ({values})")
        self.contradicted.update(row.hits)

    def _describe_choice(self, row: PredictionRow, problem_index: int, index: int | None) -> str:
        """The choice of a prediction in words, for a message."""
        if index is None:
            return "no answer"
        if row.variant != ORIGINAL:
            return f"candidate {index + 1}"
        problem = self.matcher.dataset.problems[problem_index]
        return shown(problem.candidates[index])

    def _convert_row(self, row: PredictionRow, problem_index: int) -> Prediction | None:
        """The prediction of a row, in the terms of the dataset.

        None if the row states another right answer than the dataset and does not name its candidates: their order may
        differ. The row is then added to the unmatched ones.
        """
        problem_id = self.matcher.ids[problem_index]
        problem = self._find_version(row, problem_index)
        is_known = problem is not None
        if problem is None:
            problem = self.matcher.dataset.problems[problem_index]
        order = None
        if row.candidates is not None:
            order = align(row.candidates, problem.candidates, problem.language)
        prediction = _align_index(row.prediction, order)
        gold = _align_index(row.gold, order)
        if is_known and gold is not None and problem.answer is not None and gold != problem.answer:
            if order is None:
                self.read.unmatched.append(
                    f"{row.place}: its answer differs from that of problem {problem_id}: "
                    "the candidates were in another order, or the labels were different"
                )
                return None
            self.other_gold.append(row.place)
        if is_known and problem.answer is None and gold is not None:
            self.hidden += 1
            self.hidden_right += int(prediction == gold)
        right = problem.answer if gold is None else gold
        if row.verdict is not None and right is not None:
            self._compare_verdict(row, is_right=prediction == right)
        scores = _align_scores(row.scores, order)
        answer = problem.answer if is_known else gold
        return Prediction(problem_id, row.variant, row.model, row.scoring, scores, prediction, answer, row.why)

    def _find_version(self, row: PredictionRow, problem_index: int) -> Problem | None:
        """The problem of a row, in the row's variant.

        None if it is not known: the row is about a variant and does not state its candidates.
        """
        if row.variant == ORIGINAL:
            return self.matcher.dataset.problems[problem_index]
        if row.candidates is None:
            return None
        matcher = self.matcher.for_variant(row.variant)
        origin = matcher.by_origin[self.matcher.ids[problem_index]]
        return matcher.dataset[origin]

    def _compare_verdict(self, row: PredictionRow, is_right: bool) -> None:
        """Count rows that are right by the file and by us.

        A row about which the two differ is stored.
        """
        self.read_right += int(is_right)
        self.said_right += int(bool(row.verdict))
        if row.verdict != is_right:
            self.other_verdict.append(row.place)

    @property
    def _sample_hint(self) -> str:
        """In brackets, the option that would read repeated rows as samples.

        Empty if there is none.
        """
        return f" ({self.source.sample_hint})" if self.source.sample_hint else ""

    def _list_reasons(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the reasons of abstentions with their rows, the most frequent first.

        Rare reasons are joined in one.
        """
        ordered = sorted(self.silent.items(), key=lambda item: -len(item[1]))
        yield from ordered[:MOST_REASONS]
        others: list[str] = []
        for _, places in ordered[MOST_REASONS:]:
            others += places
        if others:
            yield "nothing is chosen for other reasons", others

    def finish(self) -> ReadPredictions:
        """The result, with predictions in the order of the dataset, and notes.

        Raises BadInput if rows contradict each other, unless the source is lenient.
        """
        if self.contradictions and not self.source.lenient:
            raise BadInput(self._describe_contradictions())
        for problem_index in self.contradicted:
            self.made.pop(problem_index, None)
            self.read.surprisals.pop(self.matcher.ids[problem_index], None)
        self.read.predictions = [self.made[problem_index] for problem_index in sorted(self.made)]
        self.read.contradictions = self.contradictions
        self.read.notes += self._list_notes()
        return self.read

    def _describe_contradictions(self) -> str:
        """The message for rows that contradict each other."""
        message = f"{self.source.path}: {self.contradictions[0]}"
        others = len(self.contradictions) - 1
        if others:
            message += f"; so do {others:,} other rows"
        hint = self.source.sample_hint
        message += f". {hint}; else" if hint else ":"
        return f"{message} keep the one that counts, or leave such problems out (audit --lenient)"

    def _list_notes(self) -> Iterator[str]:
        """Yield the notes for the user on the rows.

        They are about rows that were left out, repeated or silent, and about right answers that differ from the
        dataset's.
        """
        if self.contradictions:
            problems = _count_things(len(self.contradicted), "problem")
            yield f"{problems} left out, whose rows contradict each other; the first: {self.contradictions[0]}"
        for reason, places in self._list_reasons():
            yield _make_row_note(places, f"{reason}; they are abstentions")
        if self.repeated:
            repeated = f"an earlier row is repeated with the same prediction; it counts once{self._sample_hint}"
            yield _make_row_note(self.repeated, repeated)
        if self.other_gold:
            yield _make_row_note(self.other_gold, "the file's answer differs from the dataset's, which counts")
        if self.hidden:
            share = 100 * self.hidden_right / self.hidden
            yield (
                f"{self.matcher.dataset.card.name} hides the answers of {self.hidden:,} rows of {self.read.model}; by "
                f"the file's own {self.hidden_right:,} are right ({share:.2f} %)"
            )
        if self.other_verdict:
            count = len(self.other_verdict)
            rows = "1 row differs" if count == 1 else f"{count:,} rows differ"
            yield (
                f"we read {self.read_right:,} right, the file says {self.said_right:,}: {rows}, "
                f"the first: {self.other_verdict[0]}"
            )
