"""A candidate put into the blank: possessives, capitals, articles and spaces.

There are two styles. `literal` is for blanks that were written for the candidates as they are (WinoGrande): the
candidate is inserted unchanged, one space follows, and the result is that of lm-evaluation-harness. `natural` is for
blanks that replace a pronoun (WSC, DPR, open): the candidate gets the pronoun's possessive, loses its article if there
is one already, and gets a capital or a small first letter. `auto` is `natural` if the pronoun is known, or if the
candidates are clauses (COPA), else `literal`.
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
        """The whole text with the candidate."""
        return self.before + self.candidate + self.after


def edited(problem: Problem, edits: Iterable[tuple[int, int, str]]) -> tuple[str, str]:
    """Return the text before and after the blank, with some stretches replaced.

    An edit is the start and the end of a stretch in the problem's text, and its new text. No stretch has the blank.
    """
    before = problem.before
    after = problem.after
    blank = len(before)
    after_start = blank + 1
    # From the end, so that earlier positions stay valid.
    for start, end, replacement in sorted(edits, reverse=True):
        if start < blank:
            before = before[:start] + replacement + before[end:]
        else:
            start_in_after = start - after_start
            end_in_after = end - after_start
            after = after[:start_in_after] + replacement + after[end_in_after:]
    return before, after


def substitute(problem: Problem, candidate: str, style: str = "auto") -> Filled:
    """Put a candidate into the blank of a problem.

    `style` is `auto`, `literal` or `natural`. If the candidates are whole texts, the candidate is the text.

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
    # Spaces of an unsupported language are kept: a particle (Korean) or a word (Thai) may follow without one.
    has_spaces = language.spaced and language.name
    needs_space = has_spaces or problem.after[:1].isspace()
    after = f" {following}" if following and needs_space else following
    return Filled(problem.before, candidate, after)


def _is_running_text(problem: Problem) -> bool:
    """Whether the blank of a problem replaces words of an ordinary text.

    These are a pronoun or a clause, or the special word of a special-word problem.
    """
    if problem.pronoun is not None or "asks_for" in problem.labels:
        return True
    return problem.labels.get("substitution") == "natural"


def _fill_naturally(problem: Problem, candidate: str) -> Filled:
    """Put a candidate into the blank by the language's rules."""
    language = language_of(problem.language)
    is_clause = "asks_for" in problem.labels
    parts = language.fill(problem.before, problem.pronoun, problem.after, candidate, clause=is_clause)
    return Filled(*parts)


def solved_texts(problems: Iterable[Problem]) -> dict[str, str]:
    """Return each problem's text with the right candidate, by id.

    Yes/no judgements and problems with a hidden answer are left out.
    """
    texts = {}
    for problem in problems:
        if problem.right is not None and problem.query is None:
            filled = substitute(problem, problem.right)
            texts[problem.id] = filled.text.strip()
    return texts
