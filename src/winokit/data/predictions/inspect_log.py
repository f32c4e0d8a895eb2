"""Logs of Inspect (inspect_ai): one JSON object, or an .eval archive of them; matched by the text inside each input.

A letter means one of the sample's choices, a choice means a candidate by its text. Each scorer and each epoch is a
scoring of its own. A sample whose answer cannot be read is an abstention; nothing is made of a sample that ended in
an error.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.source import Source
from winokit.data.predictions.inspect_archive import InspectArchive
from winokit.data.predictions.match import Matcher, Unmatched, option_behind, which
from winokit.data.predictions.row import PredictionRow
from winokit.errors import BadInput, Malformed
from winokit.text.words import mention_places

# A sample's transcript is a hundred times the size of these, and a log is held in memory whole.
USED = ("epoch", "input", "choices", "target", "output", "scores", "error")
UNSCORED = "completion"
RIGHT_OR_WRONG = {"C": True, "I": False}
VERDICTS = ("C", "I", "P", "N")
NO_ANSWER = ("P", "N")
ANSWER = re.compile(r"^[^\w\n]*answer[^\w\n]*:[^\w\n]*(\w[^\n]*?)[^\w\n]*$", re.IGNORECASE | re.MULTILINE)


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """The rows of a log in either form."""
    header, samples = _in_archive(source) if source.raw().startswith(b"PK") else _in_one_object(source)
    about = header.get("eval")
    if not isinstance(about, dict):
        raise Malformed(f"an object expected, found {fields.shown(about)}", field="eval", file=str(source.path))
    if header.get("status") not in (None, "success"):
        source.note(f"the run ended with status {fields.shown(header['status'])}")
    model = str(about.get("model") or source.path.stem)
    kept: list[tuple[str, Mapping[str, Any]]] = []
    for place, sample in samples:
        if isinstance(sample, dict):
            kept.append((place, {key: sample[key] for key in USED if key in sample}))
        else:
            source.reject(Malformed(f"an object expected, found {fields.shown(sample)}", field=place))
    yield from _rows(source, matcher, model, kept)


def _in_archive(source: Source) -> tuple[Mapping[str, Any], Iterator[tuple[str, Any]]]:
    """Header and samples of an .eval log."""
    archive = InspectArchive(source)
    return archive.header(), archive.samples()


def _in_one_object(source: Source) -> tuple[Mapping[str, Any], Iterator[tuple[str, Any]]]:
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


def _rows(
    source: Source, matcher: Matcher, model: str, samples: Sequence[tuple[str, Mapping[str, Any]]]
) -> Iterator[PredictionRow]:
    scorers = list(dict.fromkeys(name for _, sample in samples for name in _scores(sample))) or [UNSCORED]
    epochs = {sample.get("epoch", 1) for _, sample in samples if isinstance(sample.get("epoch", 1), int)}
    for place, sample in samples:
        ending = f"?epoch={sample.get('epoch', 1)}" if len(epochs) > 1 else ""
        for scorer in scorers:
            try:
                yield _row(sample, scorer, matcher, (place, model, f"inspect:{scorer}{ending}"))
            except Unmatched as reason:
                yield PredictionRow(place, model, f"inspect:{scorer}{ending}", reason=str(reason))
            except Malformed as error:
                field = f"{place}: {error.field}" if error.field else place
                source.reject(Malformed(error.expected, field=field))


def _scores(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    scores = sample.get("scores")
    return scores if isinstance(scores, dict) else {}


def _row(sample: Mapping[str, Any], scorer: str, matcher: Matcher, named: tuple[str, str, str]) -> PredictionRow:
    text, choices = _input(sample), _choices(sample)
    hits = matcher.find_inside(text, choices)
    if sample.get("error"):
        raise Unmatched("the sample ended in an error")
    score = _scores(sample).get(scorer)
    if not isinstance(score, dict):
        if scorer != UNSCORED:
            raise Unmatched(f"no score by {scorer}")
        score = {}
    candidates = choices or matcher.dataset[hits[0]].candidates
    gold = _target(sample, candidates, lettered=choices is not None, prompt=text)
    verdict = _verdict(score.get("value"))
    prediction = _Reading(candidates, choices is not None, text).chosen(score, _completion(sample), gold, verdict)
    if prediction is None and score and verdict is not False and score.get("value") not in NO_ANSWER:
        raise Unmatched(f"{scorer} tells no answer: its value is {fields.shown(score.get('value'))}")
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
    said = [message for message in given if isinstance(message, dict) and message.get("role", "user") == "user"]
    return "\n".join(_content(message.get("content")) for message in said)


def _content(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
    return content if isinstance(content, str) else ""


def _choices(sample: Mapping[str, Any]) -> tuple[str, ...] | None:
    choices = sample.get("choices")
    if choices is None or choices == []:
        return None
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise Malformed(f"a list of strings expected, found {fields.shown(choices)}", field="choices")
    return tuple(choices)


def _completion(sample: Mapping[str, Any]) -> str:
    output = sample.get("output")
    completion = output.get("completion") if isinstance(output, dict) else None
    return completion if isinstance(completion, str) else ""


def _target(sample: Mapping[str, Any], candidates: Sequence[str], *, lettered: bool, prompt: str) -> int | None:
    target = sample.get("target")
    only = target[0] if isinstance(target, list) and len(target) == 1 else target
    return _Reading(candidates, lettered, prompt).exactly(only) if isinstance(only, str) else None


def _verdict(value: object) -> bool | None:
    if isinstance(value, str):
        return RIGHT_OR_WRONG.get(value)
    return bool(value) if isinstance(value, (int, float)) and value in (0, 1) else None


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
        said = ANSWER.findall(text)
        return self.exactly(said[-1] if said else text)

    def mentioned(self, text: str) -> int | None:
        """The one candidate that a text mentions at all."""
        places = [place for place, name in enumerate(self.candidates) if mention_places(text, name)]
        return places[0] if len(places) == 1 else None
