"""A candidate put into the blank: one engine for possessives, capitals, articles and the space before punctuation.

Two styles. `literal` is for blanks whose author had the candidates as they are in mind (WinoGrande): the candidate
goes in to the letter, one space follows, and the result is that of lm-evaluation-harness. `natural` is for blanks
where a pronoun stood (WSC, DPR, open): the candidate takes the pronoun's possessive, its article gives way to one
that is already there, and its first letter fits the place. `auto` takes `natural` where the pronoun is known, or a
clause is asked for (COPA), and `literal` elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from winokit.errors import check_known
from winokit.problem import Problem
from winokit.text.words import ARTICLE, gender_of

Style = Literal["auto", "literal", "natural"]
POSSESSIVE = frozenset("his its their my our your whose hers theirs ours yours".split())
DETERMINERS = frozenset(
    "the a an my our your his her its their this that these those some any each every no one two three another "
    "someone somebody something everyone everybody nobody he she it they we you there".split()
)
# What can follow "her" as an object; anything else that follows is what she has: "told her to", but "told her friend".
AFTER_OBJECT = frozenset(
    "to in on at by for with without from of off out up upon down over under into onto about after before because "
    "since so but and or when while until if as that than then though although again away here there now later once "
    "too very who which a an the this some any all every many much more less how what where why whether not never "
    "always often well soon today yesterday tomorrow is was were had has being he she it they we something nothing "
    "everything".split()
)
SENTENCE_END = re.compile(r"(?:^|[.!?…][\"'”’)]*|:\s*[\"“])\s*[\"'“‘(]*$")
OPENING_QUOTE = re.compile(r"(?:^|\s)[\"“]$")
# Only what can be nothing but a determiner: before a place where a pronoun stood, "that", "what", "all" and "her" begin
# or belong to something else ("told her that he", "all his"), and before every blank of WinoGrande "that" does too.
DETERMINER_BEFORE = re.compile(r"\b(?:the|an?|my|our|your|his|its|their)\s+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Filled:
    """A text in three parts: what stands before the candidate, the candidate as it stands there, and what follows."""

    before: str
    candidate: str
    after: str

    @property
    def text(self) -> str:
        """The whole text."""
        return self.before + self.candidate + self.after


def edited(problem: Problem, edits: Iterable[tuple[int, int, str]]) -> tuple[str, str]:
    """What stands before and after the blank once places of the text (start, end) have other words in them."""
    before, after, blank = problem.before, problem.after, len(problem.before)
    for start, end, new in sorted(edits, reverse=True):
        if start < blank:
            before = before[:start] + new + before[end:]
        else:
            after = after[: start - blank - 1] + new + after[end - blank - 1 :]
    return before, after


def substitute(problem: Problem, candidate: str, style: str = "auto") -> Filled:
    """Put a candidate into the blank of a problem.

    >>> bone = Problem("Rex took the bone from Bella and hid ", " toy.", ("Rex", "Bella"), 1, pronoun="her")
    >>> substitute(bone, "Bella").text
    "Rex took the bone from Bella and hid Bella's toy."
    """
    check_known("style of substitution", style, get_args(Style))
    if problem.is_whole:
        return Filled("", candidate, "")
    # Running text: the blank was made from a pronoun, a clause (COPA), or by one of our transforms.
    labelled = "asks_for" in problem.labels or problem.labels.get("substitution") == "natural"
    if style == "natural" or (style == "auto" and (problem.pronoun is not None or labelled)):
        return _natural(problem, candidate)
    rest = problem.after.strip()
    return Filled(problem.before, candidate, f" {rest}" if rest else "")


def solved_texts(problems: Iterable[Problem]) -> dict[str, str]:
    """The whole text with the right candidate in it, by problem id; yes/no judgements and hidden answers have none."""
    return {p.id: substitute(p, p.right).text.strip() for p in problems if p.right is not None and p.query is None}


def _natural(problem: Problem, candidate: str) -> Filled:
    before, after = problem.before, re.sub(r"^\s+(?=[.,;:?!]|['’]s\b)", "", problem.after)
    candidate = " ".join(candidate.split())
    if DETERMINER_BEFORE.search(before):
        candidate = ARTICLE.sub("", candidate)
    candidate = _with_case(before, candidate, clause="asks_for" in problem.labels)
    if is_possessive(problem.pronoun, after):
        plural = (problem.pronoun or "").casefold() in ("their", "theirs") and candidate.endswith("s")
        candidate += "’" if candidate.endswith("’") else "'" if plural else "'s"
    return Filled(before, candidate, after)


def is_possessive(pronoun: str | None, after: str) -> bool:
    """Whether a pronoun says whose: always for "his", for "her" when what she has follows.

    >>> is_possessive("her", " hand."), is_possessive("her", " to go."), is_possessive("her", ".")
    (True, False, False)
    """
    word = (pronoun or "").casefold()
    if word != "her":
        return word in POSSESSIVE
    following = re.match(r"\s+([A-Za-z]+)", after)
    if following is None:
        return False
    following_word = following.group(1).casefold()
    is_adverb = following_word.endswith("ly") and following_word not in ("family", "belly", "reply", "ally")
    return following_word not in AFTER_OBJECT and not is_adverb


def _with_case(before: str, candidate: str, *, clause: bool) -> str:
    """The candidate with a first letter that fits its place; names and "I" keep theirs."""
    first, space, rest = candidate.partition(" ")
    if opens_sentence(before):
        return candidate[:1].upper() + candidate[1:]
    lowered = first[:1].lower() + first[1:]
    is_name = first in ("I", "I'm", "I've", "I'd", "I'll") or gender_of(first) is not None or first.isupper()
    if lowered in DETERMINERS or (clause and not is_name):
        return lowered + space + rest
    return candidate


def opens_sentence(before: str) -> bool:
    """Whether what comes next is the first word of a sentence, in quotes or not.

    >>> opens_sentence("He left. "), opens_sentence("Dr. No, "), opens_sentence('She said, "')
    (True, False, True)
    """
    if re.search(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|vs)\.\s*$", before):
        return False
    return bool(SENTENCE_END.search(before) or OPENING_QUOTE.search(before))
