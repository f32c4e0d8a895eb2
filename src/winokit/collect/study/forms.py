"""Forms: what a page sends, cleaned and checked for shape. The rules of twins are not here but in `checks.rules`."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winokit.collect.study.refusals import Incomplete
from winokit.collect.study.schema import ASSOCIATIVE, SWITCHABLE, VALIDATE
from winokit.collect.study.views import VoteTask
from winokit.problem import BLANK, Problem

LONGEST = {"first": 1000, "second": 1000, "candidate_1": 100, "candidate_2": 100, "anchor": 60, "pronoun": 20}
ANSWERS = ("answer_1", "answer_2")
TWIN_FIELDS = (*LONGEST, *ANSWERS)
YES_NO = {"yes": True, "no": False}
UNSURE = "unsure"


@dataclass(frozen=True)
class Twins:
    """The writing form, as it stands: fields may be empty and texts may break every rule."""

    texts: tuple[str, str]
    candidates: tuple[str, str]
    answers: tuple[int | None, int | None]
    """Places in `candidates`."""
    anchor: str = ""
    pronoun: str = ""

    @property
    def filled_in(self) -> bool:
        """Whether nothing that is needed is missing."""
        return all((*self.texts, *self.candidates, self.anchor)) and None not in self.answers

    def problems(self, domain: str | None = None) -> tuple[Problem, Problem]:
        """The two problems; the form must be filled in, with a blank in each text."""
        labels = {"anchor": self.anchor}
        first, second = (
            Problem.from_text(
                text, self.candidates, answer=answer, pronoun=self.pronoun or None, domain=domain, labels=labels
            )
            for text, answer in zip(self.texts, self.answers, strict=True)
        )
        return first, second

    def to_json(self) -> dict[str, Any]:
        """The fields as they are stored."""
        return {
            "first": self.texts[0],
            "second": self.texts[1],
            "candidate_1": self.candidates[0],
            "candidate_2": self.candidates[1],
            "answer_1": self.answers[0],
            "answer_2": self.answers[1],
            "anchor": self.anchor,
            "pronoun": self.pronoun,
        }


@dataclass(frozen=True)
class Ballot:
    """A vote as a form says it."""

    choice: int | None
    equally_plausible: bool | None = None
    local_decides: bool | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields as they are stored; what was not asked is left out."""
        asked = {"equally_plausible": self.equally_plausible, "local_decides": self.local_decides}
        return {"choice": self.choice, **{name: told for name, told in asked.items() if told is not None}}


def clean(text: object) -> str:
    r"""A text from a form: composed letters, single spaces, no control characters and no halves of characters.

    >>> clean("  The  cup\x00 hit\r\nthe tray ")
    'The cup hit the tray'
    """
    told = unicodedata.normalize("NFC", str(text).encode("utf-8", "ignore").decode("utf-8"))
    # Cc: control, Cf: invisible formatting such as a change of the direction of writing.
    visible = (" " if letter.isspace() else letter for letter in told)
    return " ".join("".join(c for c in visible if unicodedata.category(c) not in ("Cc", "Cf")).split())


def draft_fields(fields: Mapping[str, Any]) -> dict[str, str]:
    """What is kept of a draft: the form's own fields, none longer than twice what could be handed in."""
    kept = {}
    for name in TWIN_FIELDS:
        if name in fields:
            told = str(fields[name]).encode("utf-8", "ignore").decode("utf-8").replace("\x00", "")
            kept[name] = told[: 2 * LONGEST.get(name, 1)]
    return kept


def read_twins(fields: Mapping[str, Any]) -> Twins:
    """The writing form, half filled in or whole. Only what no form of ours could send is refused."""
    told = {name: clean(fields.get(name, "")) for name in TWIN_FIELDS}
    long = {name: f"at most {most} characters" for name, most in LONGEST.items() if len(told[name]) > most}
    if long:
        raise Incomplete(long)
    answers = tuple({"1": 0, "2": 1}.get(told[name]) for name in ANSWERS)
    return Twins(
        (_blank(told["first"]), _blank(told["second"])),
        (told["candidate_1"], told["candidate_2"]),
        (answers[0], answers[1]),
        told["anchor"],
        told["pronoun"],
    )


def _blank(text: str) -> str:
    """A row of underscores is one blank: people type ____."""
    while BLANK * 2 in text:
        text = text.replace(BLANK * 2, BLANK)
    return text


def missing_fields(twins: Twins) -> dict[str, str]:
    """What is not filled in yet, by field."""
    told = twins.to_json()
    needed = [name for name in TWIN_FIELDS if name != "pronoun"]
    return {name: "please fill this in" for name in needed if told[name] in ("", None)}


def read_ballot(task: VoteTask, fields: Mapping[str, Any]) -> Ballot:
    """A vote on what was shown; whatever is missing or not among the options is said by field."""
    wrong: dict[str, str] = {}

    def yes_or_no(name: str) -> bool | None:
        told = YES_NO.get(str(fields.get(name, "")))
        if told is None:
            wrong[name] = "please choose yes or no"
        return told

    if task.kind in (SWITCHABLE, ASSOCIATIVE):
        told = yes_or_no("choice")
        ballot = Ballot(None if told is None else int(told))
    else:
        choice = str(fields.get("choice", ""))
        places = {str(place): place for place, _ in task.options}
        if choice not in places and not (task.may_abstain and choice == UNSURE):
            wrong["choice"] = "please choose one of the answers"
        plausible = yes_or_no("equally_plausible") if task.kind == VALIDATE else None
        # Where no clause can be cut out, the page has nothing to ask about.
        local = yes_or_no("local_decides") if task.kind == VALIDATE and task.clause is not None else None
        ballot = Ballot(places.get(choice), plausible, local)
    if wrong:
        raise Incomplete(wrong)
    return ballot
