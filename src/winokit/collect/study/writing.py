"""Feedback while somebody writes: the rules of `winokit check`, applied to a form half filled in.

Each check says yes, no, or that it cannot be told yet, and the words in which the twins differ are marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from winokit.collect.study.forms import Twins, missing_fields, read_twins
from winokit.collect.study.refusals import Incomplete
from winokit.collect.study.similar import EDGES
from winokit.data.checks import rules
from winokit.text.words import bare

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

WORD_AND_SPACE = re.compile(r"\S+\s*")
KIND_OF_CANDIDATES = {"social": "two people of one gender", "physical": "two things"}


@dataclass(frozen=True)
class WritingCheck:
    """One rule: the field it is shown at, whether it is kept (None: cannot be told yet), and that in words."""

    name: str
    field: str
    ok: bool | None
    message: str


@dataclass(frozen=True)
class WritingSpan:
    """A piece of a text, and whether the twin has something else there."""

    text: str
    differs: bool


@dataclass(frozen=True)
class WritingFeedback:
    """What a writer is told."""

    checks: tuple[WritingCheck, ...]
    first: tuple[WritingSpan, ...]
    second: tuple[WritingSpan, ...]
    words: tuple[int, int]
    overlap: float | None
    ready: bool
    """Everything is filled in and no rule is broken: it can be handed in."""


def feedback(study: Study, fields: Mapping[str, Any], domain: str | None = None) -> WritingFeedback:
    """What to tell somebody about their twins so far."""
    return judge(study, read_twins(fields), domain)


def judge(study: Study, twins: Twins, domain: str | None = None) -> WritingFeedback:
    """The same, for a form that has been read."""
    one, other = twins.texts
    checks = tuple(_checks(study, twins, domain))
    first, second = (
        difference(one, other) if one and other else ((WritingSpan(one, False),), (WritingSpan(other, False),))
    )
    return WritingFeedback(
        checks,
        first,
        second,
        (len(one.split()), len(other.split())),
        rules.word_overlap(one, other) if one and other else None,
        twins.filled_in and all(check.ok for check in checks),
    )


def refuse_broken(study: Study, twins: Twins, domain: str | None) -> None:
    """Raise Incomplete with what is missing or broken, by field; return where the twins can be taken."""
    missing = missing_fields(twins)
    if missing:
        raise Incomplete(missing)
    broken = {check.field: check.message for check in judge(study, twins, domain).checks if not check.ok}
    if broken:
        raise Incomplete(broken)


def _checks(study: Study, twins: Twins, domain: str | None) -> Iterator[WritingCheck]:
    """Every rule, in the order in which a writer meets them. What is not filled in yet is not judged."""
    limits = study.config.rules.limits
    candidates, (one, other) = twins.candidates, twins.texts
    named, both = all(candidates), bool(one and other)
    length = f"{limits.fewest_words} to {limits.most_words} words"
    for field, text in (("first", one), ("second", other)):
        yield _check("one_blank", field, "one blank", rules.one_blank(text), bool(text))
        yield _check("length", field, length, rules.length(text, limits), bool(text))
        missing = rules.candidates_present(text, candidates)
        yield _check("candidates_present", field, "both candidates are named", missing, bool(text) and named)
    yield _check("candidates_differ", "candidate_2", "two candidates", _same(candidates), named)
    kind = KIND_OF_CANDIDATES.get(domain or "", "two of a kind")
    yield _check("same_kind", "candidate_2", kind, rules.same_kind(candidates, domain, twins.pronoun), named)
    without = rules.anchor_present(twins.texts, twins.anchor)
    yield _check("anchor_present", "anchor", "the anchor word is in both", without, both and bool(twins.anchor))
    yield _check("texts_differ", "second", "the texts differ", rules.texts_differ(one, other), both)
    shared = f"at least {limits.least_overlap:.0%} of the words in common"
    yield _check("overlap", "second", shared, rules.overlap(one, other, limits), both)
    right = [None if answer is None else candidates[answer] for answer in twins.answers]
    yield _check("opposite_answers", "answer_2", "opposite answers", rules.opposite_answers(right), None not in right)
    yield _check("new", "first", "nothing like it was handed in before", _repeats(study, twins) if both else None, both)


def _check(name: str, field: str, good: str, broken: str | None, known: bool) -> WritingCheck:
    return WritingCheck(name, field, broken is None, broken or good) if known else WritingCheck(name, field, None, good)


def _same(candidates: tuple[str, str]) -> str | None:
    return "the two candidates are the same" if bare(candidates[0]) == bare(candidates[1]) else None


def _repeats(study: Study, twins: Twins) -> str | None:
    """Whether a text is too similar to an earlier submission."""
    nearest = study.earlier.nearest(study, twins.texts)
    if nearest < study.config.rules.most_similar:
        return None
    return f"too similar to something that was handed in before: {nearest:.0%} of it is the same"


def difference(one: str, other: str) -> tuple[tuple[WritingSpan, ...], tuple[WritingSpan, ...]]:
    """Two texts cut where they begin and cease to differ, word by word.

    >>> [span.text for span in difference("I poured until _ was empty.", "I poured until _ was full.")[0]]
    ['I poured until _ was ', 'empty.']
    """
    words, others = WORD_AND_SPACE.findall(one), WORD_AND_SPACE.findall(other)
    matcher = SequenceMatcher(None, [w.strip() for w in words], [w.strip() for w in others], autojunk=False)
    first, second = [], []
    for tag, a, b, c, d in matcher.get_opcodes():
        first.append(WritingSpan("".join(words[a:b]), tag != "equal"))
        second.append(WritingSpan("".join(others[c:d]), tag != "equal"))
    return tuple(span for span in first if span.text), tuple(span for span in second if span.text)


def special_words(one: str, other: str) -> tuple[str, str]:
    """The words in which twins differ, without the punctuation around them; empty where one has a word more."""
    first, second = difference(one, other)
    return _differing(first), _differing(second)


def _differing(spans: tuple[WritingSpan, ...]) -> str:
    return " … ".join(filter(None, (span.text.strip().strip(EDGES) for span in spans if span.differs)))
