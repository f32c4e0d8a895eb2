"""Logs of Inspect (inspect_ai), matched by the text inside each input.

A log is one JSON object, or an .eval archive: a zip of a header and one file per sample, deflated or (newer) zstd.

A letter means one of the sample's choices, a choice means a candidate by its text. Each scorer is a scoring of its own,
and each epoch a sample of each problem. A sample whose answer cannot be read is an abstention; nothing is made of a
sample that ended in an error.
"""

import importlib
import io
import json
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.source import Source
from winokit.data.predictions.answers import UNREAD, AnswerReading
from winokit.data.predictions.documents import LoggedDocument, parse_document
from winokit.data.predictions.match import Matcher, PredictionRow, Unmatched
from winokit.errors import BadInput, Malformed, refusing
from winokit.problem import ORIGINAL, Problem
from winokit.text.language import detect

DATED = re.compile(r"\d{4}-\d\d-\d\dT[\d+-]+_(?P<task>.+)_[0-9A-Za-z]+\.(?:eval|json)")
ZSTD = 93
HEADERS = ("header.json", "_journal/start.json")
"""Files with the header. A run that was cut short has only the second."""
# zipfile reports a broken archive in all of these ways.
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, EOFError, OSError, ValueError)
# A sample's transcript is a hundred times the size of these, and a log is held in memory whole.
USED = ("epoch", "input", "choices", "target", "output", "error", "metadata")
UNSCORED = "completion"
RIGHT_OR_WRONG = {"C": True, 1: True, "I": False, 0: False}
NO_ANSWER = ("P", "N")
BLANKED = re.compile(r"^(?:[ \t]*\w+:)?([^_\n]*(?<!\w)_(?!\w)[^_\n]*)$", re.MULTILINE)
"""A line with one blank, without a word such as "Sentence:" before it."""


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """Yield a prediction for each sample and scorer of an Inspect log.

    The log is an .eval archive or a .json file.
    """
    model, samples = _read_samples(source)
    scorers = _list_scorers(samples)
    epochs = sorted({_get_epoch(sample) for _, sample in samples})
    for place, sample in samples:
        number = None
        if len(epochs) > 1:
            number = epochs.index(_get_epoch(sample))
        for scorer in scorers:
            draft = PredictionRow(place, model, f"inspect:{scorer}", sample=number)
            try:
                yield _make_sample_row(sample, scorer, matcher, draft)
            except Malformed as error:
                source.reject(_add_place(error, place))


def _list_scorers(samples: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Names of a log's scorers, in order of appearance.

    A log without scores has one placeholder.
    """
    names: dict[str, None] = {}
    for _, sample in samples:
        names |= dict.fromkeys(sample["scores"])
    return list(names) or [UNSCORED]


def _get_epoch(sample: Mapping[str, Any]) -> int:
    """Number of the epoch of a sample, from 1.

    1 if the sample states none.
    """
    epoch = sample.get("epoch", 1)
    return epoch if isinstance(epoch, int) else 1


def problems(source: Source) -> Iterator[LoggedDocument]:
    """Yield the problems that the samples of a log state.

    They are read from the metadata that winokit's own tasks write, or else from the only line of the input that has a
    blank. Samples without such a line are skipped, and so are later epochs.
    """
    _, samples = _read_samples(source)
    for place, sample in samples:
        try:
            document = _parse_metadata(sample) or _parse_blank_line(sample)
        except Malformed as error:
            source.reject(_add_place(error, place))
            continue
        is_first_epoch = sample.get("epoch", 1) == 1
        if document is not None and is_first_epoch:
            yield document


def _parse_blank_line(sample: Mapping[str, Any]) -> LoggedDocument | None:
    """Parse the problem in an input's only line with a blank.

    None if the sample has no choices, or no such line, or several.
    """
    choices = _get_choices(sample)
    lines = BLANKED.findall(_get_input(sample))
    if choices is None or len(lines) != 1:
        return None
    target = sample.get("target")
    answer = None
    if isinstance(target, str):
        reading = AnswerReading(choices, lettered=True, prompt="", language=detect(lines))
        answer = reading.match_label(target)
    problem = Problem.from_text(lines[0].strip(), choices, answer=answer)
    return LoggedDocument(ORIGINAL, "", problem)


def _add_place(error: Malformed, place: str) -> Malformed:
    """The error with its sample's name in front of its field."""
    field = f"{place}: {error.field}" if error.field else place
    return Malformed(error.expected, field=field)


def _read_samples(source: Source) -> tuple[str, list[tuple[str, Mapping[str, Any]]]]:
    """The name of a log's model, and its samples by name.

    A sample has only the fields that are used. Samples that are damaged are rejected.
    """
    if source.raw().startswith(b"PK"):
        header, samples = _open_archive(source)
    else:
        header, samples = _parse_json_log(source)
    evaluation = header.get("eval") if isinstance(header, dict) else None
    if not isinstance(evaluation, dict):
        raise Malformed(f"expected an object, found {fields.shown(evaluation)}", field="eval", file=str(source.path))
    status = header.get("status")
    if status not in (None, "success"):
        source.note(f"the run ended with status {fields.shown(status)}")
    slim_samples: list[tuple[str, Mapping[str, Any]]] = []
    for place, sample in samples:
        if isinstance(sample, dict):
            slim_samples.append((place, _select_fields(sample)))
        else:
            source.reject(Malformed(f"expected an object, found {fields.shown(sample)}", field=place))
    model = str(evaluation.get("model") or source.path.stem)
    return model, slim_samples


def _select_fields(sample: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a sample that are used.

    `scores` is always there: the scores by the name of the scorer.
    """
    selected = {key: sample[key] for key in USED if key in sample}
    scores = sample.get("scores")
    selected["scores"] = scores if isinstance(scores, dict) else {}
    return selected


def _open_archive(source: Source) -> tuple[Any, Iterator[tuple[str, Any]]]:
    """The header and the samples of an .eval log.

    It is a zip archive.
    """
    archive = InspectArchive(source)
    name = next((name for name in HEADERS if name in archive.files), None)
    if name is None:
        raise BadInput(f"{source.path}: not an Inspect log: the archive has no {HEADERS[0]}")
    return archive.parsed(name), archive.samples()


class InspectArchive:
    """The files in an .eval log, unpacked one by one."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.data = source.raw()
        with refusing(f"{source.path}: not a complete .eval archive", *BROKEN):
            self.zip = zipfile.ZipFile(io.BytesIO(self.data))
        # A log that was scored again has some files twice: the last one counts.
        self.files = {info.filename: info for info in self.zip.infolist()}
        self.zstandard: Any = None
        if sys.version_info < (3, 14) and any(info.compress_type == ZSTD for info in self.files.values()):
            try:
                self.zstandard = importlib.import_module("zstandard")
            except ImportError:
                raise BadInput(
                    f"{source.path}: packed with zstd: pip install zstandard, "
                    f"or rewrite it with: inspect log convert --to json --output-dir DIR {source.path.name}"
                ) from None

    def samples(self) -> Iterator[tuple[str, Any]]:
        """Yield the name and the content of each sample."""
        for name in self.files:
            if name.startswith("samples/") and name.endswith(".json"):
                try:
                    sample = self.parsed(name)
                except Malformed as error:
                    self.source.reject(error)
                else:
                    yield name, sample

    def parsed(self, name: str) -> Any:
        """The JSON value in a file of the archive.

        Raises Malformed if the file is damaged.
        """
        try:
            return json.loads(self._unpack_file(self.files[name]))
        except BROKEN as error:
            raise Malformed(f"expected JSON ({error})", field=name, file=str(self.source.path)) from None

    def _unpack_file(self, info: zipfile.ZipInfo) -> bytes:
        """The bytes of a file of the archive.

        zipfile unpacks zstd only since Python 3.14. Before, the packed bytes are found by the file's header and
        unpacked here.
        """
        if info.compress_type != ZSTD or self.zstandard is None:
            return self.zip.read(info)
        name_length, extra_length = struct.unpack_from("<HH", self.data, info.header_offset + 26)
        start = info.header_offset + 30 + name_length + extra_length
        end = start + info.compress_size
        packed = io.BytesIO(self.data[start:end])
        try:
            decompressor = self.zstandard.ZstdDecompressor()
            stream = decompressor.stream_reader(packed, read_across_frames=True)
            return bytes(stream.read())
        except self.zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from None


def _parse_json_log(source: Source) -> tuple[Any, Iterator[tuple[str, Any]]]:
    """The header of a .json log, and its samples by name."""
    try:
        log = json.loads(source.text())
    except json.JSONDecodeError as error:
        raise Malformed(f"expected a JSON object ({error.msg})", file=str(source.path), line=error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{source.path}: expected a JSON object ({type(error).__name__})") from None
    samples = log.get("samples") if isinstance(log, dict) else None
    if not isinstance(samples, list):
        raise Malformed("expected the list of samples: this log has none", field="samples", file=str(source.path))
    named_samples = ((f"sample {number}", sample) for number, sample in enumerate(samples, 1))
    return log, named_samples


def _parse_metadata(sample: Mapping[str, Any]) -> LoggedDocument | None:
    """The document in a sample's metadata, or None.

    winokit's own tasks put it there.
    """
    metadata = sample.get("metadata")
    return parse_document(metadata) if isinstance(metadata, dict) else None


def _make_sample_row(sample: Mapping[str, Any], scorer: str, matcher: Matcher, draft: PredictionRow) -> PredictionRow:
    """The prediction of a sample, as one scorer reads it.

    Parameters
    ----------
    draft
        A prediction with the sample's name and number, the model and the scoring, to which the rest is added.
    """
    text = _get_input(sample)
    choices = _get_choices(sample)
    document = _parse_metadata(sample)
    if document is not None:
        draft = replace(draft, variant=document.variant)
    try:
        hits = matcher.find_document(document) if document else matcher.find_inside(text, choices)
        problem = matcher.dataset[hits[0]]
        stated_problem = problem
        if document is not None and document.problem is not None:
            stated_problem = document.problem
        candidates = choices or stated_problem.candidates
        matched_draft = replace(draft, hits=hits, language=problem.language)
        return _read_answer(sample, scorer, candidates, matched_draft)
    except Unmatched as reason:
        return replace(draft, reason=str(reason))


def _read_answer(
    sample: Mapping[str, Any], scorer: str, candidates: tuple[str, ...], draft: PredictionRow
) -> PredictionRow:
    """Complete the prediction of a sample whose problem is known.

    It abstains if no answer can be read and the scorer calls it wrong or missing, or did not score it. Raises
    Unmatched if the sample ended in an error, lacks the score of this scorer, or has a score from which no answer
    follows.

    Parameters
    ----------
    candidates
        The candidates in the order in which the sample offers them.
    draft
        The prediction so far, with its problem.
    """
    if sample.get("error"):
        raise Unmatched("the sample ended in an error")
    score = sample["scores"].get(scorer)
    if not isinstance(score, dict):
        if scorer != UNSCORED:
            raise Unmatched(f"no score by {scorer}")
        score = {}
    has_choices = _get_choices(sample) is not None
    reading = AnswerReading(candidates, has_choices, _get_input(sample), draft.language)
    gold = _read_target(sample, reading)
    value = score.get("value")
    verdict = None
    if isinstance(value, (str, int, float)):
        verdict = RIGHT_OR_WRONG.get(value)
    prediction = reading.choose_answer(score, _get_completion(sample), gold, verdict)
    if prediction is not None:
        return replace(draft, candidates=candidates, prediction=prediction, gold=gold, verdict=verdict)
    if score and verdict is not False and value not in NO_ANSWER:
        raise Unmatched(f"{scorer} gives no answer: its value is {fields.shown(value)}")
    return replace(draft, candidates=candidates, why=UNREAD, gold=gold)


def _read_target(sample: Mapping[str, Any], reading: AnswerReading) -> int | None:
    """Index of the right candidate that a sample states, or None.

    None if it states several, or something that names no candidate.
    """
    target = sample.get("target")
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    return reading.match_label(target) if isinstance(target, str) else None


def _get_completion(sample: Mapping[str, Any]) -> str:
    """The text that the model wrote in a sample.

    Empty if there is none.
    """
    output = sample.get("output")
    completion = output.get("completion") if isinstance(output, dict) else None
    return completion if isinstance(completion, str) else ""


def _get_input(sample: Mapping[str, Any]) -> str:
    """The text of the prompt.

    It is a string, or the user's messages in a conversation.
    """
    stated = sample.get("input")
    if isinstance(stated, str):
        return stated
    if not isinstance(stated, list):
        raise Malformed(f"expected a text or a list of messages, found {fields.shown(stated)}", field="input")
    texts: list[str] = []
    for message in stated:
        if isinstance(message, dict) and message.get("role", "user") == "user":
            texts += _list_texts(message.get("content"))
    return "\n".join(texts)


def _list_texts(content: object) -> list[str]:
    """The texts in the content of a message, without its images."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    parts = [part for part in content if isinstance(part, dict)]
    return [str(part["text"]) for part in parts if "text" in part]


def _get_choices(sample: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The options that a sample offers, or None."""
    return None if sample.get("choices") in (None, []) else fields.strings(sample, "choices")
