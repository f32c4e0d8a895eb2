"""Rules of problems and twins, each a function that returns a reason or None.

Some hold for every Winograd schema; the others are those of WinoGrande's writing task (Sakaguchi et al., 2020), and
judge what was written for it. They take plain texts, so that a form half filled in can be judged as well as a dataset:
the web app and `winokit check` call the same ones. `broken_rules` applies them to a group of problems. A reason is a
`Message`, so that a study can give it in its own language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from winokit.errors import Message
from winokit.problem import BLANK, Problem
from winokit.text.language import language_of


@dataclass(frozen=True)
class Limits:
    """The numbers of the rules; a study can set its own."""

    fewest_words: int = 15
    most_words: int = 30
    least_overlap: float = 0.7


WINOGRANDE = Limits()
RuleSet = Literal["universal", "winogrande"]
RULES: dict[RuleSet, Limits | None] = {"universal": None, "winogrande": WINOGRANDE}
"""Sets of rules by name; what holds everywhere has no limits."""
NEEDED = {"candidates_present": "candidates", "same_kind": "kinds", "length": "length", "anchor_present": "candidates"}
"""What a language's pack must know for a rule to be judged."""


@dataclass(frozen=True)
class Violation:
    """A broken rule: its name, why, and the rows it concerns."""

    rule: str
    reason: str
    rows: tuple[int, ...]


def one_blank(text: str) -> str | None:
    """Exactly one blank."""
    count = text.count(BLANK)
    why = f"exactly one blank '{BLANK}' expected, found {{count}}"
    return None if count == 1 else Message.of(why, "rules.one_blank_broken", count=count)


def length(text: str, limits: Limits = WINOGRANDE, language: str = "en") -> str | None:
    """15 to 30 words, counted between spaces (where there are none, by characters), the blank among them."""
    words = len(language_of(language).split(text))
    fewest, most = limits.fewest_words, limits.most_words
    if fewest <= words <= most:
        return None
    why = "{fewest} to {most} words expected, found {count}"
    return Message.of(why, "rules.length_broken", fewest=fewest, most=most, count=words)


def candidates_present(
    text: str, candidates: Iterable[str], *, partly: bool = False, language: str = "en"
) -> str | None:
    """Every candidate is mentioned in the text, whatever its article and inflection; partly: by one of its words."""
    pack = language_of(language)
    missing = [candidate for candidate in candidates if not pack.is_mentioned(text, candidate, partly=partly)]
    why, names = "not mentioned in the text: {missing}", ", ".join(missing)
    return Message.of(why, "rules.candidates_present_broken", missing=names) if missing else None


def same_kind(
    candidates: Sequence[str], domain: str | None = None, pronoun: str | None = None, language: str = "en"
) -> str | None:
    """Two people of one gender, or two things: otherwise the pronoun gives the answer away.

    Of nouns only their grammatical gender is judged, where a language has one; "the plumber" may be anybody.
    """
    pack = language_of(language)
    genders = {candidate: pack.gender_of(candidate) for candidate in candidates}
    known = {name: gender for name, gender in genders.items() if gender is not None}
    sure = {gender for gender in known.values() if gender != "either"}
    names = ", ".join(known)
    if len(sure) > 1:
        why = f"names of two genders: {', '.join(f'{name} ({gender})' for name, gender in known.items())}"
        return Message(why, "rules.two_genders_broken", names=names)
    if misfit := pack.misfit(candidates, pronoun):
        return misfit
    spoken = pack.pronoun_gender.get((pronoun or "").casefold())
    if spoken and sure and spoken not in sure:
        why = f"the pronoun {pronoun!r} does not fit {' and '.join(known)}"
        return Message(why, "rules.pronoun_fits_broken", pronoun=pronoun, names=names)
    if known and domain == "physical":
        why = "a physical problem is about things, and {names} is a person's name"
        return Message.of(why, "rules.people_in_physical_broken", names=names)
    if known and len(known) < len(candidates):
        others = [candidate for candidate in candidates if candidate not in known and candidate[:1].islower()]
        if (pronoun or "").casefold() in pack.thing_pronouns and others:
            why = "a person ({names}) and a thing ({things})"
            return Message.of(why, "rules.person_and_thing_broken", names=names, things=", ".join(others))
    return None


def anchor_present(texts: Iterable[str], anchor: str) -> str | None:
    """The anchor word stands in every text."""
    pattern = re.compile(rf"(?<!\w){re.escape(anchor.casefold())}(?!\w)")
    without = sum(not pattern.search(text.casefold()) for text in texts)
    why = "the anchor word {anchor!r} is missing in {count} of the texts"
    return Message.of(why, "rules.anchor_present_broken", anchor=anchor, count=without) if without else None


def word_overlap(one: str, other: str, language: str = "en") -> float:
    """Share of words two texts have in common: words between spaces, counted with repetition, over the longer text.

    >>> word_overlap("the cat sat on a mat", "the cat slept on a mat")
    0.8333333333333334
    """
    split = language_of(language).split
    a, b = Counter(split(one)), Counter(split(other))
    return sum((a & b).values()) / max(a.total(), b.total(), 1)


def overlap(one: str, other: str, limits: Limits = WINOGRANDE, language: str = "en") -> str | None:
    """At least 70 % of the words in common."""
    share = word_overlap(one, other, language)
    if share >= limits.least_overlap:
        return None
    why = "at least {least} of the words in common expected, found {share}"
    return Message.of(why, "rules.overlap_broken", least=f"{limits.least_overlap:.0%}", share=f"{share:.0%}")


def texts_differ(one: str, other: str) -> str | None:
    """Twins are not the same text."""
    same = one.split() == other.split()
    return Message("the texts are identical", "rules.texts_differ_broken") if same else None


def opposite_answers(right: Sequence[str | None], language: str = "en") -> str | None:
    """The right candidates are not all the same; hidden answers are not judged."""
    known = [answer for answer in right if answer is not None]
    if len(known) < 2 or len({language_of(language).bare(answer) for answer in known}) > 1:
        return None
    why = "all have the answer {answer!r}; twins need opposite answers"
    return Message.of(why, "rules.opposite_answers_broken", answer=known[0])


def broken_rules(
    members: Sequence[Problem], rows: Sequence[int], limits: Limits | None = WINOGRANDE
) -> list[Violation]:
    """What a group, or a problem alone, does against the writing task's rules; with no limits, the universal ones.

    They are about a blank and what may fill it: whole texts break none.
    """
    broken: list[Violation] = []
    judged = [(problem, row) for problem, row in zip(members, rows, strict=True) if not problem.is_whole]
    if not judged:
        return broken
    members, rows = zip(*judged, strict=True)
    language = members[0].language
    unjudged = {rule for rule, needed in NEEDED.items() if language_of(language).refusal(needed)}

    def judge(rule: str, reason: str | None, where: Sequence[int]) -> None:
        if reason and rule not in unjudged:
            broken.append(Violation(rule, reason, tuple(where)))

    for problem, row in zip(members, rows, strict=True):
        judge("one_blank", one_blank(problem.text), [row])
        named = problem.candidates if problem.query is None else (problem.query,)
        if limits is not None or not problem.is_continuation:
            missing = candidates_present(problem.sentence, named, partly=limits is None, language=language)
            judge("candidates_present", missing, [row])
        if limits is not None:
            judge("length", length(problem.text, limits, language), [row])
            judge("same_kind", same_kind(problem.candidates, problem.domain, problem.pronoun, language), [row])
    anchor = members[0].labels.get("anchor")
    if isinstance(anchor, str) and anchor:
        judge("anchor_present", anchor_present([p.text for p in members], anchor), rows)
    if len(members) > 1:
        first = members[0]
        for other, row in zip(members[1:], rows[1:], strict=True):
            if limits is not None:
                judge("overlap", overlap(first.text, other.text, limits, language), [rows[0], row])
            judge("texts_differ", texts_differ(first.text, other.text), [rows[0], row])
        judge("opposite_answers", opposite_answers([p.right for p in members], language), rows)
    return broken
