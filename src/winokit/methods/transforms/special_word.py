"""The special word as the blank (Elazar et al., 2021).

The right candidate goes into the old blank, and the twins' special words become the candidates.
"""

from __future__ import annotations

import re

from winokit.methods.transforms.substitute import substitute
from winokit.problem import Problem

TOKEN = re.compile(r"\w+(?:['’-]\w+)*|_|[^\w\s]")


def special_word_problem(problem: Problem, twin: Problem) -> Problem | str:
    """The special-word problem of a problem and its twin, or why there is none.

    >>> one = Problem("The cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0, "it")
    >>> made = special_word_problem(one, one.replace(after=" was tilted.", answer=1))
    >>> made.text, made.candidates, made.answer
    ('The cup hit the tray because the cup was _.', ('loose', 'tilted'), 0)
    """
    if problem.answer is None:
        return "the answer is hidden, and the question is made from it"
    found = _difference(problem.text, twin.text)
    if found is None:
        return "the twins do not differ in one place, away from the blank"
    start, end, own, other = found
    if not own or not other:
        return "one twin has a word more than the other, so that there is no word to mask"
    filled = substitute(problem, problem.candidates[problem.answer])
    # The special word stands before the blank or after it; its place is counted from that side.
    blank = len(problem.before)
    if end <= blank:
        before, after = filled.before[:start], filled.before[end:] + filled.candidate + filled.after
    else:
        from_end = len(problem.text) - end
        tail = filled.after[len(filled.after) - from_end :] if from_end else ""
        head = filled.after[: len(filled.after) - from_end - len(own)]
        before, after = filled.before + filled.candidate + head, tail
    return Problem(
        before,
        after,
        (own, other),
        0,
        group=problem.group,
        domain=problem.domain,
        labels={"substitution": "natural"},
        provenance={"of": problem.id},
    )


def _difference(one: str, other: str) -> tuple[int, int, str, str] | None:
    """Where in `one` two texts differ (start, end) and in which words; None if the blank is among them."""
    a, b = list(TOKEN.finditer(one)), list(TOKEN.finditer(other))
    words, others = [m.group() for m in a], [m.group() for m in b]
    start = 0
    while start < min(len(a), len(b)) and words[start] == others[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and words[-1 - end] == others[-1 - end]:
        end += 1
    mine, theirs = a[start : len(a) - end], b[start : len(b) - end]
    if not mine and not theirs:
        return None
    if "_" in (m.group() for m in (*mine, *theirs)):
        return None
    if not mine or not theirs:
        place = a[start].start() if start < len(a) else len(one)
        return place, place, _span(one, mine), _span(other, theirs)
    return mine[0].start(), mine[-1].end(), _span(one, mine), _span(other, theirs)


def _span(text: str, tokens: list[re.Match[str]]) -> str:
    return text[tokens[0].start() : tokens[-1].end()] if tokens else ""
