"""Texts of a study: topics, quiz and gold questions, its own or the bundled ones."""

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
    """A topic to write about, with words to choose an anchor from.

    The anchor is a word that both twins must contain.
    """

    topic: NotBlank
    domain: Literal["social", "physical", "either"] = "either"
    words: Annotated[list[NotBlank], Field(min_length=1)]

    def fits(self, domain: str) -> bool:
        """Whether twins of a domain can be about this topic.

        A domain is social or physical.
        """
        return self.domain in (domain, "either")


class Question(BaseModel):
    """One question of the quiz.

    `answer` is the index of the right option. `kind` is the kind of task that it prepares for, empty if it is for all.
    """

    text: str
    options: Annotated[list[str], Field(min_length=2)]
    answer: int
    explanation: str = ""
    kind: Literal["", Kind] = ""

    @field_validator("answer", mode="before")
    @classmethod
    def _find_option_index(cls, answer: Any, info: ValidationInfo) -> int:
        """Turn an answer into the index of its option.

        The answer is the option's text or its index.
        """
        options = info.data.get("options", [])
        option_index: Any = options.index(answer) if answer in options else answer
        is_index = isinstance(option_index, int) and not isinstance(option_index, bool)
        if not is_index or not 0 <= option_index < len(options):
            raise ValueError(f"an option or its index, 0 to {len(options) - 1}, expected")
        return int(option_index)


def bundled(name: str, language: str = ENGLISH) -> Path:
    """Path of a bundled text, translated if there is a translation.

    Otherwise the English text. A regional language such as de-AT uses the text of de.
    """
    home = Path(str(files("winokit_collect") / "content"))
    translated_path = home / language.split("-")[0].lower() / name
    return translated_path if translated_path.exists() else home / name


def is_bundled(language: str) -> bool:
    """Whether winokit has texts in a language."""
    return bundled("texts.toml", language) != bundled("texts.toml") or is_english(language)


def is_english(language: str) -> bool:
    """Whether a language code is English, of any region."""
    return language.split("-")[0].lower() == ENGLISH


def text_path(study: Study, own_name: str, bundled_name: str) -> Path:
    """Path of the study's own file, or of the bundled one.

    `own_name` is the name of the study's file, empty if it has none.
    """
    return study.folder / own_name if own_name else bundled(bundled_name, study.config.language)


def read_topics(path: Path) -> list[Topic]:
    """Read topics from a file with one JSON object per line.

    The keys are topic, domain (social, physical or either) and words.
    """
    topics = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
            topics.append(validated(Topic, fields, str(path)))
        except ValueError as error:
            malformed = error if isinstance(error, Malformed) else Malformed("a JSON object expected")
            raise malformed.at(str(path), number) from None
    if not topics:
        raise BadInput(f"{path}: no topics in it")
    return topics


def read_quiz(path: Path) -> list[Question]:
    """Read the quiz from a TOML file with a list of [[question]].

    Each has a text, options, an answer (an index from 0, or the option) and an explanation.
    """
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
    """Read gold questions: problems whose answers are known.

    Raises BadInput if one has no answer.
    """
    gold = with_language(load(path), language)
    hidden = sum(problem.answer is None for problem in gold)
    if hidden:
        raise BadInput(f"{path}: {hidden} gold questions have no answer")
    return gold
