"""The texts of a study: guidelines, consent, topics, quiz and gold questions, its own or the bundled ones."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints, ValidationInfo, field_validator

from winokit import Dataset, load
from winokit.extend import BadInput, Malformed, read_text, with_language
from winokit_collect.study.config import Kind, read_toml, validated

if TYPE_CHECKING:
    from winokit_collect.study.study import Study

DOMAINS = ("social", "physical")
ENGLISH = "en"
NotBlank = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Topic(BaseModel):
    """Something to write about: an everyday matter and words one of which becomes the anchor."""

    topic: NotBlank
    domain: Literal["social", "physical", "either"] = "either"
    words: Annotated[list[NotBlank], Field(min_length=1)]

    def fits(self, domain: str) -> bool:
        """Whether twins of a domain can be about it."""
        return self.domain in (domain, "either")


class Question(BaseModel):
    """One question of the quiz; `answer` is the place of the right option, `kind` what it prepares for, if anything."""

    text: str
    options: Annotated[list[str], Field(min_length=2)]
    answer: int
    explanation: str = ""
    kind: Literal["", Kind] = ""

    @field_validator("answer", mode="before")
    @classmethod
    def _place_of(cls, answer: Any, info: ValidationInfo) -> int:
        options = info.data.get("options", [])
        place = options.index(answer) if answer in options else answer
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(options):
            raise ValueError(f"an option or its index, 0 to {len(options) - 1}, expected")
        return place


def bundled(name: str, language: str = ENGLISH) -> Path:
    """Where a bundled text lies: in a language (de-AT: in de), or in English where there is none in it."""
    home = Path(str(files("winokit_collect") / "content"))
    own = home / language.split("-")[0].lower() / name
    return own if own.exists() else home / name


def is_bundled(language: str) -> bool:
    """Whether texts of a language are bundled."""
    return bundled("texts.toml", language) != bundled("texts.toml") or is_english(language)


def is_english(language: str) -> bool:
    """Whether a language is a kind of English."""
    return language.split("-")[0].lower() == ENGLISH


def place_of(study: Study, own: str, name: str) -> Path:
    """A study's own file, or the bundled one of that name where it has none."""
    return study.folder / own if own else bundled(name, study.config.language)


def read_topics(path: Path) -> list[Topic]:
    """Topics, one JSON object a line: topic, domain (social, physical or either), words."""
    topics = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            try:
                topics.append(validated(Topic, json.loads(line), str(path)))
            except ValueError as error:
                malformed = error if isinstance(error, Malformed) else Malformed("a JSON object expected")
                raise malformed.at(str(path), number) from None
    if not topics:
        raise BadInput(f"{path}: no topics in it")
    return topics


def read_quiz(path: Path) -> list[Question]:
    """The quiz: a list of [[question]] with text, options, answer (a place from 0, or the option) and explanation."""
    rows = read_toml(path).get("question")
    if not isinstance(rows, list) or not rows:
        raise BadInput(f"{path}: no [[question]] in it")
    questions = []
    for number, row in enumerate(rows, 1):
        try:
            questions.append(validated(Question, row, str(path)))
        except Malformed as error:
            raise Malformed(f"question {number}: {error.expected}", field=error.field, file=error.file) from None
    return questions


def read_gold(path: Path, language: str = ENGLISH) -> Dataset:
    """The gold questions: problems whose answers are known."""
    gold = with_language(load(path), language)
    hidden = sum(problem.answer is None for problem in gold)
    if hidden:
        raise BadInput(f"{path}: {hidden} gold questions have no answer")
    return gold
