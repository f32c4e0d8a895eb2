"""The texts of a study: guidelines, consent, topics, quiz and gold questions, its own or the bundled ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from winokit.collect.study.config import read_toml
from winokit.collect.study.schema import KINDS
from winokit.data.loading import load
from winokit.errors import BadInput, Malformed
from winokit.files import read_text
from winokit.problem import Dataset

DOMAINS = ("social", "physical")
EITHER = "either"


@dataclass(frozen=True)
class Topic:
    """Something to write about: an everyday matter and words one of which becomes the anchor."""

    topic: str
    domain: str
    words: tuple[str, ...]

    def fits(self, domain: str) -> bool:
        """Whether twins of a domain can be about it."""
        return self.domain in (domain, EITHER)


@dataclass(frozen=True)
class Question:
    """One question of the quiz; `answer` is the place of the right option, `kind` what it prepares for, if anything."""

    text: str
    options: tuple[str, ...]
    answer: int
    explanation: str
    kind: str = ""


def bundled(name: str) -> Path:
    """Where a bundled text lies."""
    return Path(str(files("winokit.collect") / "content" / name))


def place_of(folder: Path, own: str, name: str) -> Path:
    """A study's own file, or the bundled one of that name where it has none."""
    return folder / own if own else bundled(name)


def read_topics(path: Path) -> list[Topic]:
    """Topics, one JSON object a line: topic, domain (social, physical or either), words."""
    topics = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            try:
                topics.append(_topic(json.loads(line)))
            except ValueError as error:
                malformed = error if isinstance(error, Malformed) else Malformed("a JSON object expected")
                raise malformed.at(str(path), number) from None
    if not topics:
        raise BadInput(f"{path}: no topics in it")
    return topics


def _topic(row: Any) -> Topic:
    if not isinstance(row, dict) or not isinstance(row.get("topic"), str) or not row["topic"].strip():
        raise Malformed("a text expected", field="topic")
    domain, words = row.get("domain", EITHER), row.get("words")
    if domain not in (*DOMAINS, EITHER):
        raise Malformed(f"social, physical or either expected, found {domain!r}", field="domain")
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise Malformed("a list of words expected", field="words")
    return Topic(row["topic"], domain, tuple(words))


def read_quiz(path: Path) -> list[Question]:
    """The quiz: a list of [[question]] with text, options, answer (a place from 0, or the option) and explanation."""
    questions = read_toml(path).get("question")
    if not isinstance(questions, list) or not questions:
        raise BadInput(f"{path}: no [[question]] in it")
    return [_question(row, number, str(path)) for number, row in enumerate(questions, 1)]


def _question(row: Any, number: int, file: str) -> Question:
    def wrong(field: str, expected: str) -> Malformed:
        return Malformed(f"question {number}: {expected}", field=field, file=file)

    text, options = row.get("text"), row.get("options")
    if not isinstance(text, str):
        raise wrong("text", "a text expected")
    if not isinstance(options, list) or len(options) < 2 or not all(isinstance(option, str) for option in options):
        raise wrong("options", "two or more texts expected")
    answer = row.get("answer")
    place = options.index(answer) if answer in options else answer
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(options):
        raise wrong("answer", f"an option or its place, 0 to {len(options) - 1}, expected, found {answer!r}")
    kind = row.get("kind", "")
    if kind not in ("", *KINDS):
        raise wrong("kind", f"one of {', '.join(KINDS)} expected, found {kind!r}")
    return Question(text, tuple(options), place, str(row.get("explanation", "")), kind)


def read_gold(path: Path) -> Dataset:
    """The gold questions: problems whose answers are known."""
    gold = load(path)
    hidden = sum(problem.answer is None for problem in gold)
    if hidden:
        raise BadInput(f"{path}: {hidden} gold questions have no answer")
    return gold
