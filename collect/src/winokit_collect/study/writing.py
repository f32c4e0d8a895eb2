"""Writing: the task and its form, feedback while somebody fills it in, and texts that were handed in before.

Feedback is the rules of `winokit check`, applied to a form half filled in: each check says yes, no, or that it cannot
be told yet, and the words in which the twins differ are marked.
"""

import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from typing import Any

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from sqlalchemy import bindparam, select

from winokit import Problem
from winokit.extend import BLANK, Language, language_of, twin_rules
from winokit_collect.study.content import DOMAINS
from winokit_collect.study.prepared import Prepared
from winokit_collect.study.refusals import Incomplete
from winokit_collect.study.schema import PROBLEMS, WRITTEN
from winokit_collect.study.study import Study
from winokit_collect.study.texts import say

StoredFields = Mapping[str, Any]
LONGEST = {"first": 1000, "second": 1000, "candidate_1": 100, "candidate_2": 100, "anchor": 60, "pronoun": 20}
TWIN_FIELDS = (*LONGEST, "answer_1", "answer_2")
ANSWERED = {"meant": 200, "meant_why": 300}
"""Which warnings the writer has answered, by their names with commas, and why it is meant so."""
FORM_FIELDS = (*TWIN_FIELDS, *ANSWERED)
WORD_AND_SPACE = re.compile(r"\S+\s*")
EDGES = ".,;:!?\"'“”‘’()"
FIRST = 0x10000
UNKNOWN = chr(FIRST - 1)
PATIENCE = timedelta(minutes=1)
"""How long a number that was passed over is looked for: no transaction takes longer."""
MOST_MISSING = 500
# By their numbers alone: asked for those that were written, PostgreSQL would go through all of them.
_TEXTS = select(PROBLEMS.c.id, PROBLEMS.c.origin, PROBLEMS.c.before, PROBLEMS.c.after).order_by(PROBLEMS.c.id)
_NEW = Prepared(_TEXTS.where(PROBLEMS.c.id > bindparam("last")))
_MISSING = _TEXTS.where(PROBLEMS.c.id.in_(bindparam("missing", expanding=True)))


@dataclass(frozen=True)
class Twins:
    """The writing form, as it stands: fields may be empty and texts may break every rule."""

    texts: tuple[str, str]
    candidates: tuple[str, str]
    answers: tuple[int | None, int | None]
    """Places in `candidates`."""
    anchor: str = ""
    pronoun: str = ""
    meant: str = ""
    """Names of the warnings that were answered."""
    meant_why: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """The fields that are not filled in yet; the pronoun may be left out."""
        return tuple(name for name, value in self.to_json().items() if value in ("", None) and name != "pronoun")

    def problems(self, language: str, domain: str | None = None) -> tuple[Problem, Problem]:
        """The two problems; the form must be filled in, with a blank in each text."""
        known: dict[str, Any] = {"pronoun": self.pronoun or None, "domain": domain, "labels": {"anchor": self.anchor}}
        known["language"] = language
        sides = zip(self.texts, self.answers, strict=True)
        first, second = (Problem.from_text(text, self.candidates, answer=answer, **known) for text, answer in sides)
        return first, second

    def to_json(self) -> dict[str, Any]:
        """The fields as they are stored."""
        values = (*self.texts, *self.candidates, self.anchor, self.pronoun, *self.answers)
        answered = {"meant": self.meant, "meant_why": self.meant_why}
        return dict(zip(TWIN_FIELDS, values, strict=True)) | {name: value for name, value in answered.items() if value}


def form_fields(stored: Mapping[str, Any]) -> dict[str, str]:
    """What is stored of twins, as their form sends it."""
    answers = {name: str(stored[name] + 1) for name in ("answer_1", "answer_2")}
    return {name: str(stored.get(name, "")) for name in FORM_FIELDS} | answers


def clean(text: object) -> str:
    r"""A text from a form: composed letters, single spaces, no control characters and no halves of characters.

    >>> clean("  The  cup\x00 hit\r\nthe tray ")
    'The cup hit the tray'
    """
    composed = unicodedata.normalize("NFC", str(text).encode("utf-8", "ignore").decode("utf-8"))
    if composed.isprintable():  # nearly always, and to look at every letter takes a while
        return " ".join(composed.split())
    # Cc: control, Cf: invisible formatting such as a change of the direction of writing.
    visible = (" " if letter.isspace() else letter for letter in composed)
    return " ".join("".join(c for c in visible if unicodedata.category(c) not in ("Cc", "Cf")).split())


def draft_fields(fields: Mapping[str, Any]) -> dict[str, str]:
    """What is kept of a draft: the form's own fields, none longer than twice what could be handed in."""
    kept = {}
    for name in FORM_FIELDS:
        if name in fields:
            typed = str(fields[name]).encode("utf-8", "ignore").decode("utf-8").replace("\x00", "")
            kept[name] = typed[: 2 * (LONGEST | ANSWERED).get(name, 1)]
    return kept


def read_twins(fields: Mapping[str, Any]) -> Twins:
    """The writing form, half filled in or whole. Only what no form of ours could send is refused."""
    typed = {name: clean(fields.get(name, "")) for name in FORM_FIELDS}
    most_of = LONGEST | ANSWERED
    long = {name: say("writing.at_most", most=most) for name, most in most_of.items() if len(typed[name]) > most}
    if long:
        raise Incomplete(long)
    # A row of underscores is one blank: people type ____.
    first, second = (re.sub(f"{BLANK}+", BLANK, typed[name]) for name in ("first", "second"))
    candidates = (typed["candidate_1"], typed["candidate_2"])
    places = {"1": 0, "2": 1}
    answers = (places.get(typed["answer_1"]), places.get(typed["answer_2"]))
    answered = (typed["meant"], typed["meant_why"] if typed["meant"] else "")
    return Twins((first, second), candidates, answers, typed["anchor"], typed["pronoun"], *answered)


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


class WritingFeedback:
    """What a writer is told about their twins so far.

    `warnings` are of rules that may be wrong (`twin_rules.SOFT`), looked for when all others are kept; `answered` says
    that the writer has seen these very ones, and means it so. `ready`: there is nothing left to do but hand it in.
    """

    def __init__(
        self,
        study: Study,
        fields: StoredFields,
        domain: str | None = None,
        own: Collection[str] = (),
        topic: StoredFields | None = None,
    ) -> None:
        twins = read_twins(fields)
        one, other = twins.texts
        self.checks = tuple(_checks(study, twins, domain, own))
        alone = (WritingSpan(one, False),), (WritingSpan(other, False),)
        self.first, self.second = difference(one, other) if one and other else alone
        language = study.config.language
        self.words = (len(language_of(language).split(one)), len(language_of(language).split(other)))
        self.overlap = twin_rules.word_overlap(one, other, language) if one and other else None
        self.kept = not twins.missing and all(check.ok for check in self.checks)
        warns = self.kept and study.config.rules.warn
        self.warnings = tuple(_warnings(twins, domain, topic or {}, language)) if warns else ()
        self.answered = twins.meant == self.warning_names
        self.ready = self.kept and self.answered

    @property
    def warning_names(self) -> str:
        """The warnings by the names of their rules, as the form sends them back."""
        return ",".join(warning.name for warning in self.warnings)


def refuse_broken(
    study: Study, fields: StoredFields, domain: str | None, own: Collection[str] = (), topic: StoredFields | None = None
) -> Twins:
    """The twins of a form, where they can be taken; Incomplete with what is missing or broken, by field, otherwise.

    `own` are texts that they may be like: what they are to take the place of.
    """
    twins = read_twins(fields)
    if twins.missing:
        raise Incomplete(dict.fromkeys(twins.missing, say("writing.fill_in")))
    feedback = WritingFeedback(study, fields, domain, own, topic)
    broken = {check.field: check.message for check in feedback.checks if not check.ok}
    if not broken and feedback.warnings and not feedback.answered:
        broken = {"meant": say("writing.answer_warnings")}
    if broken:
        raise Incomplete(broken)
    return twins if feedback.warnings else replace(twins, meant="", meant_why="")


def _warnings(twins: Twins, domain: str | None, topic: StoredFields, language: str) -> Iterator[WritingCheck]:
    """The soft rules that whole twins may break."""
    first, _ = twins.problems(language)
    doubts = {
        "people_named": ("candidate_2", twin_rules.people_named(twins.candidates, domain, language)),
        "telling_change": ("second", twin_rules.telling_change(*twins.texts, twins.candidates, language)),
        "language": ("first", twin_rules.in_language(twins.texts, language)),
        "makes_sense": ("first", twin_rules.makes_sense(twin_rules.readable(first), language)),
    }
    if topic:
        about = twin_rules.anchor_topic(twins.anchor, topic["topic"], topic["words"], language)
        doubts["anchor_topic"] = ("anchor", about)
    return (WritingCheck(name, field, False, why) for name, (field, why) in doubts.items() if why)


def _checks(study: Study, twins: Twins, domain: str | None, own: Collection[str]) -> Iterator[WritingCheck]:
    """Every rule that can be judged in the study's language, in the order in which a writer meets them."""
    pack = language_of(study.config.language)
    unjudged = {rule for rule, needed in twin_rules.NEEDED.items() if pack.refusal(needed)}
    return (check for check in _all_checks(study, twins, domain, pack, own) if check.name not in unjudged)


def _all_checks(
    study: Study, twins: Twins, domain: str | None, pack: Language, own: Collection[str]
) -> Iterator[WritingCheck]:
    """The same with those that cannot. What is not filled in yet is not judged."""
    limits = study.config.rules.limits
    language = study.config.language
    candidates, (one, other) = twins.candidates, twins.texts
    named = all(candidates)
    both = bool(one and other)
    length = say("rules.length", fewest=limits.fewest_words, most=limits.most_words)
    for field, text in (("first", one), ("second", other)):
        yield _check("one_blank", field, twin_rules.one_blank(text), bool(text))
        yield _check("length", field, twin_rules.length(text, limits, language), bool(text), length)
        missing = twin_rules.candidates_present(text, candidates, language=language)
        yield _check("candidates_present", field, missing, bool(text) and named)
    alike = pack.bare(candidates[0]) == pack.bare(candidates[1])
    yield _check("candidates_differ", "candidate_2", say("rules.candidates_differ_broken") if alike else None, named)
    kind = say(f"rules.same_kind_{domain}" if domain in DOMAINS else "rules.same_kind")
    unlike = twin_rules.same_kind(candidates, domain, twins.pronoun, language)
    yield _check("same_kind", "candidate_2", unlike, named, kind)
    without = twin_rules.anchor_present(twins.texts, twins.anchor)
    yield _check("anchor_present", "anchor", without, both and bool(twins.anchor))
    yield _check("anchor_word", "anchor", twin_rules.anchor_word(twins.anchor, language), bool(twins.anchor))
    same = twin_rules.texts_differ(one, other)
    yield _check("texts_differ", "second", same, both)
    changed = twin_rules.real_change(one, other, candidates, language)
    yield _check("real_change", "second", None if same else changed, both and named)
    shared = say("rules.overlap", least=f"{100 * limits.least_overlap:.0f} %")
    yield _check("overlap", "second", twin_rules.overlap(one, other, limits, language), both, shared)
    right = [None if answer is None else candidates[answer] for answer in twins.answers]
    yield _check("opposite_answers", "answer_2", twin_rules.opposite_answers(right, language), None not in right)
    nearest = study.earlier.nearest(study, twins.texts, own) if both else 0.0
    too_near = nearest >= study.config.rules.most_similar
    yield _check("new", "first", say("rules.new_broken", share=f"{100 * nearest:.0f} %") if too_near else None, both)


def _check(name: str, field: str, broken: str | None, known: bool, good: str | None = None) -> WritingCheck:
    good = good or say(f"rules.{name}")
    return WritingCheck(name, field, broken is None, broken or good) if known else WritingCheck(name, field, None, good)


def difference(one: str, other: str) -> tuple[tuple[WritingSpan, ...], tuple[WritingSpan, ...]]:
    """Two texts cut where they begin and cease to differ, word by word.

    >>> [span.text for span in difference("I poured until _ was empty.", "I poured until _ was full.")[0]]
    ['I poured until _ was ', 'empty.']
    """
    words = WORD_AND_SPACE.findall(one)
    others = WORD_AND_SPACE.findall(other)
    matcher = SequenceMatcher(None, [w.strip() for w in words], [w.strip() for w in others], autojunk=False)
    first = []
    second = []
    for tag, a, b, c, d in matcher.get_opcodes():
        first.append(WritingSpan("".join(words[a:b]), tag != "equal"))
        second.append(WritingSpan("".join(others[c:d]), tag != "equal"))
    return tuple(span for span in first if span.text), tuple(span for span in second if span.text)


def special_words(one: str, other: str) -> tuple[str, str]:
    """The words in which twins differ, without the punctuation around them; empty where one has a word more."""
    differing = ([span.text.strip().strip(EDGES) for span in spans if span.differs] for spans in difference(one, other))
    first, second = (" … ".join(filter(None, words)) for words in differing)
    return first, second


class EarlierText:
    """The texts of a study's problems, kept in memory and brought up to date by what is new since the last look."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._texts: list[str] = []
        self._with_word: dict[str, list[str]] = defaultdict(list)
        self._last = 0
        self._missing: dict[int, datetime] = {}
        self._lock = threading.Lock()

    def load(self, study: Study) -> None:
        """Read what there is, which takes a second or two in a large study: before anybody waits for it."""
        with self._lock:
            self._look(study)

    def nearest(self, study: Study, texts: Iterable[str], own: Collection[str] = ()) -> float:
        """The similarity, 0 to 1, of the nearest two of some texts and others than `own` that were handed in before.

        Exact where it is too much for the study (`most_similar`); below, a nearer text may not have been looked at.
        """
        with self._lock:
            self._look(study)
            nearest = 0.0
            measure = Levenshtein.normalized_similarity
            left_out = {self._coded(text, known_only=True) for text in own}
            for coded in (self._coded(text, known_only=True) for text in texts):
                others = self._possible(coded, study.config.rules.most_similar) - left_out
                match = process.extractOne(coded, others, scorer=measure, score_cutoff=0.5)
                nearest = max(nearest, match[1] if match else 0.0)
            return nearest

    def _possible(self, coded: str, least: float) -> set[str]:
        """The texts that can be so similar: they lack so few words that of one more, the rarest, they have one."""
        lacking = int(len(coded) * (1 - least) / least + 1e-9) if least else len(coded)
        rarest = sorted((self._with_word.get(word, []) for word in coded), key=len)[: lacking + 1]
        return set(self._texts) if lacking >= len(coded) else set().union(*rarest)

    def _look(self, study: Study) -> None:
        """Read what is new; and what was passed over, since a row with a lower number may be committed later."""
        now = study.now()
        self._missing = {row: since for row, since in self._missing.items() if now - since < PATIENCE}
        with study.store.read() as session:
            late = session.execute(_MISSING, {"missing": list(self._missing)}).all() if self._missing else []
            new = _NEW.all(session, last=self._last)
        for row in late:
            del self._missing[row.id]
        for row in new:
            self._missing |= dict.fromkeys(range(max(self._last + 1, row.id - MOST_MISSING), row.id), now)
            self._last = row.id
        written = [row for row in (*late, *new) if row.origin == WRITTEN]
        for coded in (self._coded(f"{row.before}_{row.after}") for row in written):
            self._texts.append(coded)
            for word in coded:
                self._with_word[word].append(coded)

    def _coded(self, text: str, *, known_only: bool = False) -> str:
        """One character a word, the fastest thing to compare; words that no text has share one where asked.

        Only what was handed in is remembered: whatever people type on the way there would use up the characters.
        """
        words = [word for word in (word.strip(EDGES) for word in text.casefold().split()) if word]
        if known_only:
            return "".join(self._codes.get(word, UNKNOWN) for word in words)
        return "".join(self._codes.setdefault(word, chr(FIRST + len(self._codes))) for word in words)
