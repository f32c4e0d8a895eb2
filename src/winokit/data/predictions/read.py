"""A file of predictions, whoever made it: recognised from its content, read, and matched to a dataset's problems."""

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
from winokit.problem import ORIGINAL, Dataset, grouped
from winokit.registry import at_home

Reader = Callable[[Source, Matcher], Iterator[PredictionRow]]
KINDS = (
    "winokit's predictions.jsonl, a list of labels, a table with a prediction column, a JSON object of them by id, "
    "an lm-evaluation-harness samples_*.jsonl, or an Inspect log"
)
LMEVAL_KEYS = frozenset({"doc_id", "doc"})
"""What each row of a sample log of lm-evaluation-harness has."""
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
"""By kind of predictions, what reads it. It is imported when a file is of that kind."""
WITHOUT_COLUMNS = ("lmeval", "inspect")
"""The kinds of files that have no columns to be named."""


@dataclass(frozen=True)
class PredictionFile:
    """A file of predictions, and the folder it was found in where it was not named itself."""

    path: Path
    folder: Path | None = None


@dataclass(frozen=True)
class PredictionsWithin:
    """The predictions in a file of problems, if they are used, and what there is to say of them."""

    files: Sequence[PredictionFile] = ()
    columns: Mapping[str, str] | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class PredictionTable:
    """Predictions in memory, and the reader of their rows."""

    name: str
    read_rows: Reader
    folder: None = None

    @property
    def path(self) -> Path:
        """Their name where others have a path."""
        return Path(self.name)


PredictionSource = PredictionFile | PredictionTable


@dataclass(slots=True)
class ReadPredictions:
    """What a file says about one model under one scoring on one variant of a dataset."""

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
    """Per-word surprisal of solved texts, by problem id, where those were scored."""
    notes: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    """Rows that contradict each other, whose problems were left out."""

    @property
    def right(self) -> int | None:
        """The number of right predictions in the first sample, or None if no problem has an answer."""
        known = [made for made in self.predictions if made.answer is not None and not made.sample]
        return sum(made.prediction == made.answer for made in known) if known else None


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
    is skipped and noted when lenient. Rows that contradict each other are an error that names both; when lenient, both
    are left out. A file of which nothing matches is an error.

    Parameters
    ----------
    versions
        Variants of the dataset that are read, and not made of it: perturbed ones.
    columns
        What the columns of a table are, by their roles; else their names tell.
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
    """Read several files of predictions, and say which of a folder are about other problems and were passed over."""
    matcher, reads, strange = Matcher(dataset, versions), {}, []
    for file in files:
        try:
            reader = file.read_rows if isinstance(file, PredictionTable) else reader_of(file.path, columns)
            reads[file.path] = rows_read(Source(file.path, lenient=lenient), matcher, reader)
        except NothingMatches as error:
            if file.folder is None:
                raise
            strange.append(error)
    if strange and not reads:
        raise strange[0]
    return reads, [f"skipped: {error}" for error in strange]


class NothingMatches(BadInput):
    """A file of predictions is about other problems than those of the dataset."""


def reader_of(path: Path, columns: Mapping[str, str] | None) -> Reader:
    """The reader of a file, told of the columns if it has any."""
    kind = "" if columns and LAYOUT in columns else recognise(path)
    if kind not in READERS:
        from winokit.data.predictions.layouts import parted_layout, read_layout

        named_layout, others = parted_layout(columns)
        return partial(read_layout, name=named_layout or kind, given=others)
    if columns and kind not in WITHOUT_COLUMNS:
        from winokit.data.predictions.table import read_table

        return partial(read_table, given=columns)
    reader: Reader = at_home(READERS[kind])
    return reader


def rows_read(source: Source, matcher: Matcher, reader: Reader) -> list[ReadPredictions]:
    """Read the rows of a source in the terms of the dataset, by model, scoring and variant."""
    path = source.path
    rows = grouped(((row.model, row.scoring, row.variant), row) for row in reader(source, matcher))
    reads = []
    for key, own in rows.items():
        by_sample = grouped((row.sample or 0, row) for row in own)
        parts = []
        for sample in sorted(by_sample):
            matching = RowMatching(ReadPredictions(*key), matcher, source)
            for row in by_sample[sample]:
                matching.take(row)
            parts.append(matching.finish())
        reads.append(parts[0] if len(parts) == 1 else _join_samples(parts, matcher))
    notes = list(source.notes)
    if source.skipped:
        notes.append(f"{path}: skipped {len(source.skipped):,} malformed rows; the first: {source.first_skipped}")
    useful = [read for read in reads if read.predictions or read.surprisals]
    if not useful:
        unused = [reason for read in reads for reason in (*read.unmatched, *read.notes)]
        reasons = [*unused, *notes, "it has no rows"]
        name = matcher.dataset.card.name
        hint = OTHER_IDS if "no problem with the id" in reasons[0] else ""
        raise NothingMatches(f"{path}: nothing in it matches a problem of {name}; the first: {reasons[0]}{hint}")
    for read in reads:
        if read not in useful:
            why = [*read.unmatched, *read.notes][0]
            notes.append(f"{path}: nothing by {read.model} ({read.scoring}) could be used: {why}")
    for read in useful:
        read.notes = notes + [f"{path}: {note}" for note in read.notes]
    return useful


def _join_samples(samples: Sequence[ReadPredictions], matcher: Matcher) -> ReadPredictions:
    """The samples of one scorer on one variant together, problem by problem."""
    first = samples[0]
    first.predictions = [replace(row, sample=0) for row in first.predictions]
    for number, part in enumerate(samples[1:], 1):
        first.predictions += [replace(row, sample=number) for row in part.predictions]
        first.unmatched += part.unmatched
        first.contradictions += part.contradictions
    first.predictions.sort(key=lambda row: (matcher.by_id[row.id], row.sample or 0))
    for number, part in enumerate(samples[1:], 2):
        first.notes += [f"sample {number}: {note}" for note in part.notes if note not in first.notes]
    return first


def recognise(path: Path) -> str:
    """Return which of `READERS` or of the layouts reads a file, told from its content."""
    kind = _recognised_kind(path)
    if kind != "table":
        return kind
    from winokit.data.predictions.layouts import layout_of

    return layout_of(path) or kind


def _recognised_kind(path: Path) -> str:
    """Which of `READERS` reads a file."""
    if path.is_dir():
        raise BadInput(f"{path}: a folder; name a file in it")
    head = read_bytes(path, HEAD_BYTES)
    if b"\n" not in head.strip() and len(head) == HEAD_BYTES:
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
        return _json_kind(path, first, text)
    keys = frozenset(re.findall(r'"(\w+)"\s*:', text)) if first.startswith("[") else frozenset()
    if keys >= LMEVAL_KEYS:
        return "lmeval"
    from winokit.data.predictions.labels import is_labels, may_be_names

    if is_labels(text.split("\n")):
        return "labels"
    if keys or (not first.startswith("[") and any(delimiter in first for delimiter in DELIMITERS)):
        return "table"
    if may_be_names(text.split("\n")):
        return "labels"
    from winokit.data.predictions.layouts import HOW

    raise BadInput(f"{path}: no predictions of a known kind; expected {KINDS}; {HOW}")


def _json_kind(path: Path, first: str, text: str) -> str:
    row: dict[str, object] = {}
    try:
        row = json.loads(first)
        keys = frozenset(row)
    except (ValueError, RecursionError):
        keys = frozenset(re.findall(r'"(\w+)"\s*:', text))
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


class RowMatching:
    """The rows of one model, scoring and variant in the dataset's terms: one prediction for each problem.

    A row that repeats an earlier one is counted. Rows that contradict each other are refused; when lenient, the problem
    is left out.
    """

    def __init__(self, read: ReadPredictions, matcher: Matcher, source: Source) -> None:
        self.read, self.matcher, self.source = read, matcher, source
        self.made: dict[int, Prediction] = {}
        """By place in the dataset."""
        self.rows: dict[int, str] = {}
        """Where the row of each place stands: "line 12"."""
        self.repeated: list[str] = []
        self.contradictions: list[str] = []
        self.contradicted: set[int] = set()
        self.silent: dict[str, list[str]] = {}
        """Rows that choose nothing, by the reason."""
        self.other_gold: list[str] = []
        self.other_verdict: list[str] = []
        self.read_right, self.said_right = 0, 0
        self.hidden, self.hidden_right = 0, 0
        """Rows whose right answer only the file knows, and those of them that are right by it."""

    def take(self, row: PredictionRow) -> None:
        """Make a prediction of a row, or say why there is none."""
        if not row.hits:
            self.read.unmatched.append(f"{row.place}: {row.reason}")
            return
        place, is_first = row.hits[0], False
        for hit in row.hits:
            if hit not in self.rows:
                place, is_first = hit, True
                break
        if row.surprisal is not None:
            self._take_surprisal(row, place, is_first)
            return
        prediction = self._in_dataset_terms(row, place)
        if prediction is None:
            return
        if is_first:
            self.made[place], self.rows[place] = prediction, row.place
            if prediction.prediction is None and row.variant == ORIGINAL:
                reason, _, said = (row.why or "nothing is chosen").partition(": ")
                self.silent.setdefault(reason, []).append(f"{row.place}: {said}" if said else row.place)
            return
        earlier = [self.made[hit].prediction for hit in row.hits]
        if prediction.prediction in earlier:
            self.repeated.append(row.place)
        else:
            names = [self._name(row, place, index) for index in (earlier[0], prediction.prediction)]
            self._contradict(row, f"{names[0]} and {names[1]}")

    def _take_surprisal(self, row: PredictionRow, place: int, is_first: bool) -> None:
        surprisals, name = self.read.surprisals, self.matcher.ids[place]
        assert row.surprisal is not None
        if is_first:
            surprisals[name], self.rows[place] = row.surprisal, row.place
        elif surprisals[name] == row.surprisal:
            self.repeated.append(row.place)
        else:
            self._contradict(row, f"surprisals {surprisals[name]:.6g} and {row.surprisal:.6g}")

    def _contradict(self, row: PredictionRow, values: str) -> None:
        place = row.hits[0]
        lines = f"{self.rows[place]} and {row.place}"
        self.contradictions.append(f"{lines} contradict each other on problem {self.matcher.ids[place]} ({values})")
        self.contradicted.update(row.hits)

    def _name(self, row: PredictionRow, place: int, index: int | None) -> str:
        """What a prediction chooses, for a message."""
        if index is None:
            return "no answer"
        is_original = row.variant == ORIGINAL
        return (
            shown(self.matcher.dataset.problems[place].candidates[index]) if is_original else f"candidate {index + 1}"
        )

    def _in_dataset_terms(self, row: PredictionRow, place: int) -> Prediction | None:
        """The prediction of a row about the problem at a place; None if their answers say that it cannot be one."""
        name = self.matcher.ids[place]
        problem, known = self.matcher.dataset.problems[place], row.variant == ORIGINAL
        if not known and row.candidates is not None:  # else the row is in terms of a variant that it alone knows
            at, known = self.matcher.of(row.variant), True
            problem = at.dataset[at.by_origin[name]]
        order, prediction, gold = None, row.prediction, row.gold
        if row.candidates is not None:
            order = align(row.candidates, problem.candidates, problem.language)
        if order is not None:
            prediction, gold = (index if index is None else order[index] for index in (prediction, gold))
        if known and gold is not None and problem.answer is not None and gold != problem.answer:
            if order is None:
                self.read.unmatched.append(
                    f"{row.place}: its answer differs from that of problem {name}: "
                    "the candidates were in another order, or the labels were different"
                )
                return None
            self.other_gold.append(row.place)
        if known and problem.answer is None and gold is not None:
            self.hidden += 1
            self.hidden_right += prediction == gold
        right = problem.answer if gold is None else gold
        if row.verdict is not None and right is not None:
            self.read_right += prediction == right
            self.said_right += row.verdict
            if row.verdict != (prediction == right):
                self.other_verdict.append(row.place)
        scores = row.scores
        if scores is not None and order is not None:
            scores = tuple(score for _, score in sorted(zip(order, scores, strict=True)))
        answer = problem.answer if known else gold
        return Prediction(name, row.variant, row.model, row.scoring, scores, prediction, answer, row.why)

    @property
    def _sample_hint(self) -> str:
        """The option that reads rows of one problem as samples, in brackets."""
        return f" ({self.source.sample_hint})" if self.source.sample_hint else ""

    def _reasons(self) -> Iterator[tuple[str, list[str]]]:
        """The reasons of abstentions, the commonest first, those beyond a few together."""
        ordered = sorted(self.silent.items(), key=lambda item: -len(item[1]))
        yield from ordered[:MOST_REASONS]
        others: list[str] = []
        for _, places in ordered[MOST_REASONS:]:
            others += places
        if others:
            yield "nothing is chosen for other reasons", others

    def finish(self) -> ReadPredictions:
        """The predictions in the order of the dataset, with notes; raises BadInput if rows contradict each other."""
        if self.contradictions and not self.source.lenient:
            others = len(self.contradictions) - 1
            more = f"; so do {others:,} other rows" if others else ""
            if self.source.sample_hint:
                more += f". {self.source.sample_hint}; else"
            else:
                more += ":"
            raise BadInput(
                f"{self.source.path}: {self.contradictions[0]}{more} keep the one that counts, "
                "or leave such problems out (audit --lenient)"
            )
        for place in self.contradicted:
            self.made.pop(place, None)
            self.read.surprisals.pop(self.matcher.ids[place], None)
        self.read.predictions = [self.made[place] for place in sorted(self.made)]
        self.read.contradictions = self.contradictions
        if self.contradictions:
            count = len(self.contradicted)
            problems = "1 problem" if count == 1 else f"{count:,} problems"
            self.read.notes.append(
                f"{problems} left out, whose rows contradict each other; the first: {self.contradictions[0]}"
            )
        for places, what in (
            *((places, f"{reason}; they are abstentions") for reason, places in self._reasons()),
            (self.repeated, f"an earlier row is repeated with the same prediction; it counts once{self._sample_hint}"),
            (self.other_gold, "the file's answer differs from the dataset's, which counts"),
        ):
            if places:
                row_count = "1 row" if len(places) == 1 else f"{len(places):,} rows"
                self.read.notes.append(f"in {row_count} {what}; the first: {places[0]}")
        if self.hidden:
            share = 100 * self.hidden_right / self.hidden
            self.read.notes.append(
                f"{self.matcher.dataset.card.name} hides the answers of {self.hidden:,} rows of {self.read.model}; by "
                f"the file's own {self.hidden_right:,} are right ({share:.2f} %)"
            )
        if self.other_verdict:
            rows = "1 row differs" if len(self.other_verdict) == 1 else f"{len(self.other_verdict):,} rows differ"
            self.read.notes.append(
                f"we read {self.read_right:,} right, the file says {self.said_right:,}: {rows}, "
                f"the first: {self.other_verdict[0]}"
            )
        return self.read
