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
from collections.abc import Iterator, Mapping
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
"""Where the header stands; a run that was cut short has only the second."""
# zipfile tells of a broken archive in all of these ways.
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, EOFError, OSError, ValueError)
# A sample's transcript is a hundred times the size of these, and a log is held in memory whole.
USED = ("epoch", "input", "choices", "target", "output", "error", "metadata")
UNSCORED = "completion"
RIGHT_OR_WRONG = {"C": True, 1: True, "I": False, 0: False}
NO_ANSWER = ("P", "N")
BLANKED = re.compile(r"^(?:[ \t]*\w+:)?([^_\n]*(?<!\w)_(?!\w)[^_\n]*)$", re.MULTILINE)
"""A line with one blank, without a word such as "Sentence:" before it."""


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """The rows of a log in either form."""
    model, samples = _samples(source)
    scorers = list(dict.fromkeys(name for _, sample in samples for name in sample["scores"])) or [UNSCORED]
    epochs = sorted({_epoch_of(sample) for _, sample in samples})
    for place, sample in samples:
        number = epochs.index(_epoch_of(sample)) if len(epochs) > 1 else None
        for scorer in scorers:
            try:
                row = _row(sample, scorer, matcher, (place, model, f"inspect:{scorer}"))
                yield replace(row, sample=number)
            except Malformed as error:
                source.reject(_placed(error, place))


def _epoch_of(sample: Mapping[str, Any]) -> int:
    """The epoch of a sample, the first if it has none."""
    epoch = sample.get("epoch", 1)
    return epoch if isinstance(epoch, int) else 1


def problems(source: Source) -> Iterator[LoggedDocument]:
    """The problems that a log holds: as our own tasks wrote them, else in the one line of an input that has a blank."""
    for place, sample in _samples(source)[1]:
        try:
            document = _document(sample) or _blanked(sample)
        except Malformed as error:
            source.reject(_placed(error, place))
        else:
            if document is not None and sample.get("epoch", 1) == 1:
                yield document


def _blanked(sample: Mapping[str, Any]) -> LoggedDocument | None:
    choices, lines = _choices(sample), BLANKED.findall(_input(sample))
    if choices is None or len(lines) != 1:
        return None
    target = sample.get("target")
    answer = AnswerReading(choices, True, "", detect(lines)).exactly(target) if isinstance(target, str) else None
    return LoggedDocument(ORIGINAL, "", Problem.from_text(lines[0].strip(), choices, answer=answer))


def _placed(error: Malformed, place: str) -> Malformed:
    return Malformed(error.expected, field=f"{place}: {error.field}" if error.field else place)


def _samples(source: Source) -> tuple[str, list[tuple[str, Mapping[str, Any]]]]:
    """The model of a log, and name and content of each sample."""
    header, samples = _in_archive(source) if source.raw().startswith(b"PK") else _in_one_object(source)
    about = header.get("eval") if isinstance(header, dict) else None
    if not isinstance(about, dict):
        raise Malformed(f"expected an object, found {fields.shown(about)}", field="eval", file=str(source.path))
    if header.get("status") not in (None, "success"):
        source.note(f"the run ended with status {fields.shown(header['status'])}")
    kept: list[tuple[str, Mapping[str, Any]]] = []
    for place, sample in samples:
        if isinstance(sample, dict):
            scores = sample["scores"] if isinstance(sample.get("scores"), dict) else {}
            kept.append((place, {**{key: sample[key] for key in USED if key in sample}, "scores": scores}))
        else:
            source.reject(Malformed(f"expected an object, found {fields.shown(sample)}", field=place))
    return str(about.get("model") or source.path.stem), kept


def _in_archive(source: Source) -> tuple[Any, Iterator[tuple[str, Any]]]:
    """Header and samples of an .eval log."""
    archive = InspectArchive(source)
    name = next((name for name in HEADERS if name in archive.files), None)
    if name is None:
        raise BadInput(f"{source.path}: not an Inspect log: the archive has no {HEADERS[0]}")
    return archive.parsed(name), archive.samples()


class InspectArchive:
    """An .eval log, unpacked file by file."""

    def __init__(self, source: Source) -> None:
        self.source, self.data = source, source.raw()
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
        """Name and content of each sample."""
        for name in self.files:
            if name.startswith("samples/") and name.endswith(".json"):
                try:
                    sample = self.parsed(name)
                except Malformed as error:
                    self.source.reject(error)
                else:
                    yield name, sample

    def parsed(self, name: str) -> Any:
        """The JSON of a file of the archive."""
        try:
            return json.loads(self._unpacked(self.files[name]))
        except BROKEN as error:
            raise Malformed(f"expected JSON ({error})", field=name, file=str(self.source.path)) from None

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes:
        """The bytes of a file; those packed with zstd, which zipfile knows since Python 3.14, by their local header."""
        if info.compress_type != ZSTD or self.zstandard is None:
            return self.zip.read(info)
        name_length, extra_length = struct.unpack_from("<HH", self.data, info.header_offset + 26)
        start = info.header_offset + 30 + name_length + extra_length
        packed = io.BytesIO(self.data[start : start + info.compress_size])
        try:
            return bytes(self.zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read())
        except self.zstandard.ZstdError as error:
            raise zipfile.BadZipFile(str(error)) from None


def _in_one_object(source: Source) -> tuple[Any, Iterator[tuple[str, Any]]]:
    """Header and samples of a .json log."""
    try:
        log = json.loads(source.text())
    except json.JSONDecodeError as error:
        raise Malformed(f"expected a JSON object ({error.msg})", file=str(source.path), line=error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{source.path}: expected a JSON object ({type(error).__name__})") from None
    samples = log.get("samples") if isinstance(log, dict) else None
    if not isinstance(samples, list):
        raise Malformed("expected the list of samples: this log has none", field="samples", file=str(source.path))
    return log, ((f"sample {number}", sample) for number, sample in enumerate(samples, 1))


def _document(sample: Mapping[str, Any]) -> LoggedDocument | None:
    """What our own tasks wrote beside a sample."""
    metadata = sample.get("metadata")
    return parse_document(metadata) if isinstance(metadata, dict) else None


def _row(sample: Mapping[str, Any], scorer: str, matcher: Matcher, named: tuple[str, str, str]) -> PredictionRow:
    text, choices, document = _input(sample), _choices(sample), _document(sample)
    variant = document.variant if document else ORIGINAL
    try:
        hits = matcher.own(document) if document else matcher.find_inside(text, choices)
        candidates = choices or ((document and document.problem) or matcher.dataset[hits[0]]).candidates
        about = PredictionRow(*named, variant=variant, hits=hits, language=matcher.dataset[hits[0]].language)
        return _answered(sample, scorer, candidates, about)
    except Unmatched as reason:
        return PredictionRow(*named, variant=variant, reason=str(reason))


def _answered(
    sample: Mapping[str, Any], scorer: str, candidates: tuple[str, ...], about: PredictionRow
) -> PredictionRow:
    """The row of a sample whose problem is known."""
    if sample.get("error"):
        raise Unmatched("the sample ended in an error")
    score = sample["scores"].get(scorer)
    if not isinstance(score, dict):
        if scorer != UNSCORED:
            raise Unmatched(f"no score by {scorer}")
        score = {}
    reading = AnswerReading(candidates, _choices(sample) is not None, _input(sample), about.language)
    target = sample.get("target")
    only = target[0] if isinstance(target, list) and len(target) == 1 else target
    gold = reading.exactly(only) if isinstance(only, str) else None
    value = score.get("value")
    verdict = RIGHT_OR_WRONG.get(value) if isinstance(value, (str, int, float)) else None
    output = sample.get("output")
    completion = output.get("completion") if isinstance(output, dict) else None
    prediction = reading.chosen(score, completion if isinstance(completion, str) else "", gold, verdict)
    if prediction is None and score and verdict is not False and value not in NO_ANSWER:
        raise Unmatched(f"{scorer} gives no answer: its value is {fields.shown(value)}")
    return replace(
        about,
        candidates=candidates,
        prediction=prediction,
        why=UNREAD if prediction is None else None,
        gold=gold,
        verdict=None if prediction is None else verdict,
    )


def _input(sample: Mapping[str, Any]) -> str:
    """The text a sample asks about: a string, or what the user says in a list of messages."""
    given = sample.get("input")
    if isinstance(given, str):
        return given
    if not isinstance(given, list):
        raise Malformed(f"expected a text or a list of messages, found {fields.shown(given)}", field="input")
    texts = []
    for message in given:
        if isinstance(message, dict) and message.get("role", "user") == "user":
            content = message.get("content")
            if isinstance(content, list):
                texts += [str(part["text"]) for part in content if isinstance(part, dict) and "text" in part]
            elif isinstance(content, str):
                texts.append(content)
    return "\n".join(texts)


def _choices(sample: Mapping[str, Any]) -> tuple[str, ...] | None:
    return None if sample.get("choices") in (None, []) else fields.strings(sample, "choices")
