"""Predictable structure, Trichelair et al. (2018)'s third limit of WSC: where the special word and the blank stand.

The special word is the last word in 62 of WSC273's 136 groups; a model that reads only the end of a sentence profits.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import Postfix, Prefix

from winokit.problem import BLANK, Dataset, Problem

CONNECTIVES = frozenset(
    "because since so but although though and when whenever after before until till unless if while as for or once "
    "that".split()
)
TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[.;:,!?]")
STOPS = frozenset(".;:!?")


@dataclass(frozen=True)
class Structure:
    """Counts over a dataset; `special_last` and `special_words` are counted over groups."""

    special_last: int
    groups: int
    special_words: Counter[str]
    connective: Counter[str]
    clauses: Counter[int]
    blank_position: Counter[str]


def structure(dataset: Dataset) -> Structure:
    """How the texts of a dataset are built."""
    pairs = [members[:2] for members in dataset.groups.values() if len(members) > 1]
    return Structure(
        special_last=sum(special_is_last(one, other) for one, other in pairs),
        groups=len(pairs),
        special_words=Counter(word for one, other in pairs for word in special_words(one.text, other.text)),
        connective=Counter(connective(problem) for problem in dataset),
        clauses=Counter(clauses(problem) for problem in dataset),
        blank_position=Counter(blank_position(problem) for problem in dataset),
    )


def tokens(text: str) -> list[str]:
    """Lower-cased words and the punctuation between clauses; the blank is a word."""
    return TOKEN.findall(text.casefold())


def words(text: str) -> list[str]:
    """Lower-cased words alone."""
    return [token for token in tokens(text) if token[0].isalnum() or token[0] == BLANK]


def special_words(one: str, other: str) -> tuple[str, str]:
    """What differs between two texts: the words left when their common start and end are taken away.

    >>> special_words("It was too large to fit.", "It was too small to fit.")
    ('large', 'small')
    """
    a, b = words(one), words(other)
    start = Prefix.similarity(a, b)
    end = Postfix.similarity(a[start:], b[start:])
    return " ".join(a[start : len(a) - end]), " ".join(b[start : len(b) - end])


def special_is_last(one: Problem, other: Problem) -> bool:
    """Whether two texts differ in their very last word."""
    a, b = words(one.text), words(other.text)
    return bool(a and b) and a[-1] != b[-1]


def connective(problem: Problem) -> str:
    """The connective that opens the blank's clause: the last one before the blank, a full stop, or none."""
    opening = CONNECTIVES | STOPS
    return next((token for token in reversed(tokens(problem.before)) if token in opening), "none")


def clauses(problem: Problem) -> int:
    """How many clauses, told by connectives and punctuation: an estimate, good enough to compare datasets."""
    breaks = 0
    for last, token in pairwise(tokens(problem.text)[:-1]):
        opens = token in CONNECTIVES and token not in ("and", "or", "that", "for", "as")
        breaks += token in STOPS or (opens and last not in STOPS)
    return 1 + breaks


def blank_position(problem: Problem) -> str:
    """In which third of the text the blank stands."""
    before, after = len(problem.before.split()), len(problem.after.split())
    share = before / max(before + after, 1)
    return "first third" if share < 1 / 3 else "middle third" if share < 2 / 3 else "last third"
