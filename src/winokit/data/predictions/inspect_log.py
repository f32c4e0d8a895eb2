"""Logs of Inspect (inspect_ai), matched by the text inside each input.

A log is one JSON object, or an .eval archive: a zip of a header and one file per sample, deflated or (newer) zstd.

A letter means one of the sample's choices, a choice means a candidate by its text. Each scorer and each epoch is a
scoring of its own. A sample whose answer cannot be read is an abstention; nothing is made of a sample that ended in
an error.
"""

from __future__ import annotations

import importlib
import io
import json
import re
import string
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.source import Source
from winokit.data.predictions.match import Matcher, PredictionRow, Unmatched, option_behind, which
from winokit.errors import BadInput, Malformed
from winokit.text.words import mention_places

ZSTD = 93
HEADERS = ("header.json", "_journal/start.json")
"""Where the header stands; a run that was cut short has only the second."""
# zipfile tells of a broken archive in all of these ways.
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, EOFError, OSError, ValueError)
# A sample's transcript is a hundred times the size of these, and a log is held in memory whole.
USED = ("epoch", "input", "choices", "target", "output", "error")
UNSCORED = "completion"
RIGHT_OR_WRONG = {"C": True, 1: True, "I": False, 0: False}
VERDICTS = ("C", "I", "P", "N")
NO_ANSWER = ("P", "N")
ANSWER = re.compile(r"^[^\w\n]*answer[^\w\n]*:[^\w\n]*(\w[^\n]*?)[^\w\n]*$", re.IGNORECASE | re.MULTILINE)


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """The rows of a log in either form."""
    header, samples = _in_archive(source) if source.raw().startswith(b"PK") else _in_one_object(source)
    about = header.get("eval") if isinstance(header, dict) else None
    if not isinstance(about, dict):
        raise Malformed(f"an object expected, found {fields.shown(about)}", field="eval", file=str(source.path))
    if header.get("status") not in (None, "success"):
        source.note(f"the run ended with status {fields.shown(header['status'])}")
    model = str(about.get("model") or source.path.stem)
    kept: list[tuple[str, Mapping[str, Any]]] = []
    for place, sample in samples:
        if isinstance(sample, dict):
            scores = sample["scores"] if isinstance(sample.get("scores"), dict) else {}
            kept.append((place, {**{key: sample[key] for key in USED if key in sample}, "scores": scores}))
        else:
            source.reject(Malformed(f"an object expected, found {fields.shown(sample)}", field=place))
    scorers = list(dict.fromkeys(name for _, sample in kept for name in sample["scores"])) or [UNSCORED]
    epochs = {sample.get("epoch", 1) for _, sample in kept if isinstance(sample.get("epoch", 1), int)}
    for place, sample in kept:
        ending = f"?epoch={sample.get('epoch', 1)}" if len(epochs) > 1 else ""
        for scorer in scorers:
            try:
                yield _row(sample, scorer, matcher, (place, model, f"inspect:{scorer}{ending}"))
            except Unmatched as reason:
                yield PredictionRow(place, model, f"inspect:{scorer}{ending}", reason=str(reason))
            except Malformed as error:
                field = f"{place}: {error.field}" if error.field else place
                source.reject(Malformed(error.expected, field=field))


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
        try:
            self.zip = zipfile.ZipFile(io.BytesIO(self.data))
        except BROKEN as error:
            raise BadInput(f"{source.path}: not a whole .eval archive ({error})") from None
        # A log that was scored again has some files twice: the last one counts.
        self.files = {info.filename: info for info in self.zip.infolist()}
        self.zstandard: Any = None
        if sys.version_info < (3, 14) and any(info.compress_type == ZSTD for info in self.files.values()):
            try:
                self.zstandard = importlib.import_module("zstandard")
            except ImportError:
                raise BadInput(
                    f"{source.path}: packed with zstd: pip install zstandard, "
                    f"or write it anew with: inspect log convert --to json --output-dir DIR {source.path.name}"
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
            raise Malformed(f"JSON expected ({error})", field=name, file=str(self.source.path)) from None

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
        raise Malformed(f"a JSON object expected ({error.msg})", file=str(source.path), line=error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{source.path}: a JSON object expected ({type(error).__name__})") from None
    samples = log.get("samples") if isinstance(log, dict) else None
    if not isinstance(samples, list):
        raise Malformed("the list of samples expected: this log has none", field="samples", file=str(source.path))
    return log, ((f"sample {number}", sample) for number, sample in enumerate(samples, 1))


def _row(sample: Mapping[str, Any], scorer: str, matcher: Matcher, named: tuple[str, str, str]) -> PredictionRow:
    text, choices = _input(sample), _choices(sample)
    hits = matcher.find_inside(text, choices)
    if sample.get("error"):
        raise Unmatched("the sample ended in an error")
    score = sample["scores"].get(scorer)
    if not isinstance(score, dict):
        if scorer != UNSCORED:
            raise Unmatched(f"no score by {scorer}")
        score = {}
    candidates = choices or matcher.dataset[hits[0]].candidates
    reading = _Reading(candidates, choices is not None, text)
    target = sample.get("target")
    only = target[0] if isinstance(target, list) and len(target) == 1 else target
    gold = reading.exactly(only) if isinstance(only, str) else None
    value = score.get("value")
    verdict = RIGHT_OR_WRONG.get(value) if isinstance(value, (str, int, float)) else None
    output = sample.get("output")
    completion = output.get("completion") if isinstance(output, dict) else None
    prediction = reading.chosen(score, completion if isinstance(completion, str) else "", gold, verdict)
    if prediction is None and score and verdict is not False and value not in NO_ANSWER:
        raise Unmatched(f"{scorer} tells no answer: its value is {fields.shown(value)}")
    return PredictionRow(
        *named,
        hits=hits,
        candidates=candidates,
        prediction=prediction,
        why="no answer could be read" if prediction is None else None,
        gold=gold,
        verdict=None if prediction is None else verdict,
    )


def _input(sample: Mapping[str, Any]) -> str:
    """The text a sample asks about: a string, or what the user says in a list of messages."""
    given = sample.get("input")
    if isinstance(given, str):
        return given
    if not isinstance(given, list):
        raise Malformed(f"a text or a list of messages expected, found {fields.shown(given)}", field="input")
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
    choices = sample.get("choices")
    if choices is None or choices == []:
        return None
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise Malformed(f"a list of strings expected, found {fields.shown(choices)}", field="choices")
    return tuple(choices)


class _Reading:
    """How an answer becomes the place of one of the candidates."""

    def __init__(self, candidates: Sequence[str], lettered: bool, prompt: str) -> None:
        self.candidates, self.lettered, self.prompt = candidates, lettered, prompt

    def chosen(self, score: Mapping[str, Any], completion: str, gold: int | None, verdict: bool | None) -> int | None:
        """The choice of a scored sample: what the scorer read, else what its verdict and the completion say."""
        answer, value = score.get("answer"), score.get("value")
        read = self.stated(answer) if isinstance(answer, str) else None
        if read is None and isinstance(value, str) and value not in VERDICTS:
            read = self.exactly(value)
        if read is None and verdict is True:
            return gold
        if read is None and (verdict is False or not score):
            read = self.stated(completion)
        if read is None and verdict is False:
            mentioned = self.mentioned(completion)
            return mentioned if mentioned != gold else None
        return read

    def exactly(self, answer: str) -> int | None:
        """A letter, or a candidate's own words."""
        answer = answer.strip()
        if len(answer) == 1 and answer.upper() in string.ascii_uppercase:
            place = string.ascii_uppercase.index(answer.upper())
            if self.lettered:
                return place if place < len(self.candidates) else None
            listed = option_behind(answer, self.prompt)
            return which(listed, self.candidates) if listed is not None else None
        return which(answer, self.candidates)

    def stated(self, text: str) -> int | None:
        """An answer by itself, or after the last "ANSWER:"."""
        answers = ANSWER.findall(text)
        return self.exactly(answers[-1] if answers else text)

    def mentioned(self, text: str) -> int | None:
        """The one candidate that a text mentions at all."""
        places = [place for place, name in enumerate(self.candidates) if mention_places(text, name)]
        return places[0] if len(places) == 1 else None
