"""Rules of problems and twins, each a function that returns a reason or None.

Some hold for every Winograd schema; the others are those of WinoGrande's writing task (Sakaguchi et al., 2020), and
judge what was written for it. They take plain texts, so that a form half filled in can be judged as well as a dataset:
the web app and `winokit check` call the same ones. `broken_rules` applies them to a group of problems. A reason is a
`Message`, so that a study can give it in its own language.

Rules that go by word lists refuse only what the lists are sure of. Those in `SOFT` may be wrong: whoever writes can
answer that it is meant so, and `winokit check` mentions them without a warning. So are those that rest on how a text
reads to the built-in model, which reads English; `benchmarks/rules.py` measures how often they are wrong.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from winokit.errors import Message
from winokit.files import our_toml
from winokit.models.base import Fill, Model, PseudoLikelihood, Request
from winokit.models.registry import load_model
from winokit.problem import BLANK, Problem
from winokit.text.language import LANGUAGES, Language, detect, language_of


@dataclass(frozen=True)
class Limits:
    """The numbers of the rules; a study can set its own."""

    fewest_words: int = 15
    most_words: int = 30
    least_overlap: float = 0.7


WINOGRANDE = Limits()
SAID = our_toml("assets/rules.toml")
RuleSet = Literal["universal", "winogrande"]
RULES: dict[RuleSet, Limits | None] = {"universal": None, "winogrande": WINOGRANDE}
"""Sets of rules by name; what holds everywhere has no limits."""
SOFT = frozenset({"people_named", "telling_change", "anchor_topic", "language", "makes_sense"})
"""Rules whose finding is a warning that a writer can answer."""
READ_FOR = frozenset({"anchor_topic", "makes_sense"})
"""Those of them for which the built-in model reads, which takes a moment."""
NEEDED = {"candidates_present": "candidates", "same_kind": "kinds", "length": "length", "anchor_present": "candidates"}
"""What a language's pack must know for a rule to be judged."""
READS = "en"
SURPRISING = 5.5
"""Nats per word piece. Of the bundled twins none has more than 5.2; half of the texts with shuffled words have 7."""
REPETITIVE = 0.5
"""Share of words that are new where they stand, below which a text says the same again and again."""
TALK = ("They talked about the ", " for a while.")


@dataclass(frozen=True)
class Violation:
    """A broken rule: its name, why, and the rows it concerns."""

    rule: str
    reason: str
    rows: tuple[int, ...]


def broken(rule: str, **values: object) -> Message:
    """Why a rule is broken; a study may have other words for it."""
    return Message.of(SAID[rule], f"rules.{rule}_broken", **values)


def one_blank(text: str) -> str | None:
    """Exactly one blank."""
    count = text.count(BLANK)
    return None if count == 1 else broken("one_blank", count=count)


def length(text: str, limits: Limits = WINOGRANDE, language: str = "en") -> str | None:
    """15 to 30 words, counted between spaces (where there are none, by characters), the blank among them."""
    words = len(language_of(language).split(text))
    fewest = limits.fewest_words
    most = limits.most_words
    return None if fewest <= words <= most else broken("length", fewest=fewest, most=most, count=words)


def candidates_present(
    text: str, candidates: Iterable[str], *, partly: bool = False, language: str = "en"
) -> str | None:
    """Every candidate is mentioned in the text, whatever its article and inflection; partly: by one of its words."""
    pack = language_of(language)
    missing = [candidate for candidate in candidates if not pack.is_mentioned(text, candidate, partly=partly)]
    return broken("candidates_present", missing=", ".join(missing)) if missing else None


def same_kind(
    candidates: Sequence[str], domain: str | None = None, pronoun: str | None = None, language: str = "en"
) -> str | None:
    """Two people of one gender, or two things: otherwise the pronoun gives the answer away.

    People and things are told by first names and lists of nouns; what is on no list may be anything.
    """
    pack = language_of(language)
    beings = {candidate: pack.being(candidate) for candidate in candidates}
    people = {name: being for name, being in beings.items() if being not in (None, "thing")}
    things = ", ".join(name for name, being in beings.items() if being == "thing")
    names = ", ".join(people)
    sure = {being for being in people.values() if being != "person"}
    if len(sure) > 1:
        why = f"people of two genders: {', '.join(f'{name} ({being})' for name, being in people.items())}"
        return Message(why, "rules.two_genders_broken", names=names)
    if misfit := pack.misfit(candidates, pronoun):
        return misfit
    spoken = pack.pronoun_gender.get((pronoun or "").casefold())
    if spoken and sure and spoken not in sure:
        why = f"the pronoun {pronoun!r} does not fit {' and '.join(people)}"
        return Message(why, "rules.pronoun_fits_broken", pronoun=pronoun, names=names)
    if people and not things and (pronoun or "").casefold() in pack.thing_pronouns:
        things = ", ".join(name for name in candidates if name not in people and name[:1].islower())
    if people and things:
        return broken("person_and_thing", names=names, things=things)
    if people and domain == "physical":
        return broken("people_in_physical", names=names)
    if things and domain == "social":
        return broken("things_in_social", things=things)
    return None


def people_named(candidates: Sequence[str], domain: str | None, language: str = "en") -> str | None:
    """In a social problem every candidate is somebody, as far as can be told (soft)."""
    pack = language_of(language)
    nouns = [name for name in candidates if name[:1].islower() or pack.article.match(name)]
    strange = [n for n in nouns if pack.being(n) is None and not pack.head(n).endswith(pack.person_endings)]
    judged = domain == "social" and pack.beings and strange
    return broken("people_named", names=", ".join(strange)) if judged else None


def real_change(one: str, other: str, candidates: Sequence[str], language: str = "en") -> str | None:
    """Twins differ in more than their candidates, articles and marks."""
    pack = language_of(language)
    same = _words(one, candidates, pack) == _words(other, candidates, pack)
    return broken("real_change") if same else None


def telling_change(one: str, other: str, candidates: Sequence[str], language: str = "en") -> str | None:
    """Twins differ in a word that tells something, not in small words or the place of the blank alone (soft)."""
    pack = language_of(language)
    same = _telling(one, pack, candidates) == _telling(other, pack, candidates)
    return broken("telling_change") if same else None


def _words(text: str, candidates: Sequence[str], pack: Language) -> list[str]:
    """The words of a text and its blank, in order, without its candidates and articles."""
    for start, end in sorted({place for name in candidates for place in pack.mention_places(text, name)}, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    words = (word.casefold() for word in pack.piece.findall(text) if word == BLANK or any(map(str.isalnum, word)))
    return [word for word in words if not pack.article.fullmatch(f"{word} ")]


def _telling(text: str, pack: Language, candidates: Sequence[str] = ()) -> list[str]:
    """The same without the blank and the words that tell nothing."""
    return [word for word in _words(text, candidates, pack) if word not in pack.small and word != BLANK]


def anchor_word(anchor: str, language: str = "en") -> str | None:
    """The anchor is a word that tells something: no article, pronoun or preposition."""
    pack = language_of(language)
    tells = any(any(map(str.isalpha, word)) and word not in pack.turning for word in _telling(anchor, pack))
    return None if tells else broken("anchor_word", anchor=anchor)


def anchor_topic(anchor: str, topic: str, words: Iterable[str] = (), language: str = "en") -> str | None:
    """The anchor is of the topic, or the topic makes it likelier in the built-in model's sense (soft; in English)."""
    pack = language_of(language)
    if language.split("-")[0].lower() != READS:
        return None
    known = [*_telling(topic, pack), *(part for word in words for part in _telling(word, pack))]
    if any(pack.same_word(word, other) for word in _telling(anchor, pack) for other in known):
        return None
    return None if likelier_by(anchor, topic) > 0 else broken("anchor_topic", anchor=anchor)


def in_language(texts: Iterable[str], language: str = "en") -> str | None:
    """The texts are in the language they are meant to be in, where it is one that is recognised (soft)."""
    code = language.split("-")[0].lower()
    fits = code not in LANGUAGES or detect([" ".join(texts)]) == code
    return None if fits else broken("language", language=language_of(language).name)


def makes_sense(text: str, language: str = "en") -> str | None:
    """The text does not repeat itself, nor surprise the built-in model more than any bundled twin does (soft)."""
    words = [word.casefold() for word in language_of(language).split(text)]
    repeats = len(set(words)) < REPETITIVE * len(words)
    reads = language.split("-")[0].lower() == READS
    return broken("makes_sense") if repeats or (reads and surprisal(text) > SURPRISING) else None


def anchor_present(texts: Iterable[str], anchor: str) -> str | None:
    """The anchor word stands in every text."""
    pattern = re.compile(rf"(?<!\w){re.escape(anchor.casefold())}(?!\w)")
    without = sum(not pattern.search(text.casefold()) for text in texts)
    return broken("anchor_present", anchor=anchor, count=without) if without else None


def word_overlap(one: str, other: str, language: str = "en") -> float:
    """Share of words two texts have in common: words between spaces, counted with repetition, over the longer text.

    >>> word_overlap("the cat sat on a mat", "the cat slept on a mat")
    0.8333333333333334
    """
    split = language_of(language).split
    a = Counter(split(one))
    b = Counter(split(other))
    return sum((a & b).values()) / max(a.total(), b.total(), 1)


def overlap(one: str, other: str, limits: Limits = WINOGRANDE, language: str = "en") -> str | None:
    """At least 70 % of the words in common."""
    share = word_overlap(one, other, language)
    if share >= limits.least_overlap:
        return None
    return broken("overlap", least=f"{100 * limits.least_overlap:.0f} %", share=f"{100 * share:.0f} %")


def texts_differ(one: str, other: str) -> str | None:
    """Twins are not the same text."""
    return broken("texts_differ") if one.split() == other.split() else None


def opposite_answers(right: Sequence[str | None], language: str = "en") -> str | None:
    """The right candidates are not all the same; hidden answers are not judged."""
    known = [answer for answer in right if answer is not None]
    if len(known) < 2 or len({language_of(language).bare(answer) for answer in known}) > 1:
        return None
    return broken("opposite_answers", answer=known[0])


def broken_rules(
    members: Sequence[Problem], rows: Sequence[int], limits: Limits | None = WINOGRANDE, *, read: bool = False
) -> list[Violation]:
    """What a group, or a problem alone, does against the writing task's rules; with no limits, the universal ones.

    They are about a blank and what may fill it: whole texts break none. `read` also has the built-in model read the
    first text, which takes a moment.
    """
    broken: list[Violation] = []
    judged = [(problem, row) for problem, row in zip(members, rows, strict=True) if not problem.is_whole]
    if not judged:
        return broken
    members, rows = zip(*judged, strict=True)
    first = members[0]
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
    anchor, topic = (str(first.labels.get(name) or "") for name in ("anchor", "topic"))
    if anchor:
        judge("anchor_present", anchor_present([p.text for p in members], anchor), rows)
    if limits is not None:
        judge("people_named", people_named(first.candidates, first.domain, language), rows)
        judge("language", in_language([p.text for p in members], language), rows)
        if anchor:
            judge("anchor_word", anchor_word(anchor, language), rows)
        if anchor and topic and read:
            judge("anchor_topic", anchor_topic(anchor, topic, (), language), rows)
        if read:
            judge("makes_sense", makes_sense(readable(first), language), rows[:1])
    if len(members) > 1:
        for other, row in zip(members[1:], rows[1:], strict=True):
            pair = [rows[0], row]
            same = texts_differ(first.text, other.text)
            judge("texts_differ", same, pair)
            if limits is not None:
                judge("overlap", overlap(first.text, other.text, limits, language), pair)
                texts = (first.text, other.text, first.candidates, language)
                unreal = same or real_change(*texts)
                judge("real_change", None if same else unreal, pair)
                judge("telling_change", None if unreal else telling_change(*texts), pair)
        judge("opposite_answers", opposite_answers([p.right for p in members], language), rows)
    return broken


def readable(problem: Problem) -> str:
    """A problem's text as a reader meets it: with its right candidate in the blank, or the first one."""
    return problem.text.replace(BLANK, problem.right or problem.candidates[0], 1)


@cache
def reader() -> Model:
    """The built-in model, on one thread: it reads beside pages that must not wait for it."""
    return load_model("builtin?threads=1")


@lru_cache(4096)
def surprisal(text: str) -> float:
    """Mean surprisal of the pieces of a text, each masked by itself, in nats."""
    (pieces,) = _logprobs([PseudoLikelihood(text, 0, len(text))])
    return -sum(pieces) / max(len(pieces), 1)


@lru_cache(4096)
def likelier_by(word: str, topic: str) -> float:
    """By how many nats a topic makes it likelier that somebody talks about a word."""
    before, after = TALK
    about, anyhow = _logprobs([Fill(f"{topic}. {before}", word, after), Fill(before, word, after)])
    return sum(about) - sum(anyhow)


def _logprobs(requests: list[Request]) -> list[list[float]]:
    """The log-probabilities of each request's pieces; none where the model has no answer, as for a text too long."""
    answers = dict(reader().answer(requests))
    ordered = (answers[place] for place in range(len(requests)))
    return [[piece.logprob for piece in answer] if isinstance(answer, tuple) else [] for answer in ordered]
