"""A candidate put into the blank: one engine for possessives, capitals, articles and the space before punctuation.

Two styles. `literal` is for blanks whose author had the candidates as they are in mind (WinoGrande): the candidate
goes in to the letter, one space follows, and the result is that of lm-evaluation-harness. `natural` is for blanks
where a pronoun stood (WSC, DPR, open): the candidate takes the pronoun's possessive, its article gives way to one
that is already there, and its first letter fits the place. `auto` takes `natural` where the pronoun is known, or a
clause is asked for (COPA), and `literal` elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from winokit.errors import check_known
from winokit.problem import Problem
from winokit.text.language import language_of

Style = Literal["auto", "literal", "natural"]


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
    before = problem.before
    after = problem.after
    language = language_of(problem.language)
    # Running text: the blank was made from a pronoun, a clause (COPA), or by one of our transforms.
    labelled = "asks_for" in problem.labels or problem.labels.get("substitution") == "natural"
    if style == "natural" or (style == "auto" and (problem.pronoun is not None or labelled)):
        clause = "asks_for" in problem.labels
        return Filled(*language.fill(before, problem.pronoun, after, candidate, clause=clause))
    rest = after.strip()
    # Without a pack it stays as written: a particle (Korean) or the next word (Thai) may follow without a space.
    spaced = language.spaced and language.name
    return Filled(before, candidate, f" {rest}" if rest and (spaced or after[:1].isspace()) else rest)


def solved_texts(problems: Iterable[Problem]) -> dict[str, str]:
    """The whole text with the right candidate in it, by problem id; yes/no judgements and hidden answers have none."""
    return {p.id: substitute(p, p.right).text.strip() for p in problems if p.right is not None and p.query is None}
