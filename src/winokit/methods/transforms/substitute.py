"""A candidate put into the blank: possessives, capitals, articles and spaces.

There are two styles. `literal` is for blanks whose author meant the candidates as they are (WinoGrande): the candidate
is put in to the letter, one space follows, and the result is that of lm-evaluation-harness. `natural` is for blanks
that replace a pronoun (WSC, DPR, open): the candidate takes the pronoun's possessive, loses its article if there is one
already, and its first letter fits the place. `auto` takes `natural` if the pronoun is known, or if a clause is asked
for (COPA), else `literal`.
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
    """A text in three parts: before the candidate, the candidate, after it.

    The candidate is spelled as in the text.
    """

    before: str
    candidate: str
    after: str

    @property
    def text(self) -> str:
        """The whole text."""
        return self.before + self.candidate + self.after


def edited(problem: Problem, edits: Iterable[tuple[int, int, str]]) -> tuple[str, str]:
    """The parts before and after the blank, with other words in some places.

    A place is a start and an end in the text.
    """
    before = problem.before
    after = problem.after
    blank = len(before)
    after_start = blank + 1
    # From the end, so that earlier places stay valid.
    for start, end, new in sorted(edits, reverse=True):
        if start < blank:
            before = before[:start] + new + before[end:]
        else:
            after = after[: start - after_start] + new + after[end - after_start :]
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
    if style == "natural" or (style == "auto" and _is_running_text(problem)):
        return _fill_naturally(problem, candidate)
    language = language_of(problem.language)
    following = problem.after.strip()
    # Without a pack it stays as written: a particle (Korean) or the next word (Thai) may follow without a space.
    has_spaces = language.spaced and language.name
    needs_space = has_spaces or problem.after[:1].isspace()
    after = f" {following}" if following and needs_space else following
    return Filled(problem.before, candidate, after)


def _is_running_text(problem: Problem) -> bool:
    """Whether the blank replaces a pronoun or a clause, or one of our transforms made it."""
    if problem.pronoun is not None or "asks_for" in problem.labels:
        return True
    return problem.labels.get("substitution") == "natural"


def _fill_naturally(problem: Problem, candidate: str) -> Filled:
    """Fill the blank by the rules of the problem's language."""
    language = language_of(problem.language)
    is_clause = "asks_for" in problem.labels
    parts = language.fill(problem.before, problem.pronoun, problem.after, candidate, clause=is_clause)
    return Filled(*parts)


def solved_texts(problems: Iterable[Problem]) -> dict[str, str]:
    """Whole texts with the right candidate, by problem id.

    Yes/no judgements and problems with a hidden answer have none.
    """
    texts = {}
    for problem in problems:
        if problem.right is not None and problem.query is None:
            filled = substitute(problem, problem.right)
            texts[problem.id] = filled.text.strip()
    return texts
