"""Writing tasks: the form for twins, feedback while it is filled in, and earlier texts.

Feedback is the rules of `winokit check`, applied to a half-filled form. Each rule is kept, broken, or cannot be
judged yet. The words in which the twins differ are marked.
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
"""Longest text of the fields for confirmed warnings: names of their rules with commas between them, and the
writer's reason."""
FORM_FIELDS = (*TWIN_FIELDS, *ANSWERED)
WORD_AND_SPACE = re.compile(r"\S+\s*")
EDGES = ".,;:!?\"'“”‘’()"
FIRST = 0x10000
UNKNOWN = chr(FIRST - 1)
PATIENCE = timedelta(minutes=1)
"""Time for which a skipped row number is looked for. No transaction takes longer."""
MOST_MISSING = 500
# Selected by number alone: with a condition on the origin, PostgreSQL would read all rows.
_TEXTS = select(PROBLEMS.c.id, PROBLEMS.c.origin, PROBLEMS.c.before, PROBLEMS.c.after).order_by(PROBLEMS.c.id)
_NEW = Prepared(_TEXTS.where(PROBLEMS.c.id > bindparam("last")))
_MISSING = _TEXTS.where(PROBLEMS.c.id.in_(bindparam("missing", expanding=True)))


@dataclass(frozen=True)
class Twins:
    """Content of the form for twins.

    Fields may be empty, and texts may break every rule.
    """

    texts: tuple[str, str]
    candidates: tuple[str, str]
    answers: tuple[int | None, int | None]
    """Index of the right candidate for each text, None if it is not chosen yet."""
    anchor: str = ""
    pronoun: str = ""
    meant: str = ""
    """Names of the confirmed warnings, with commas between them."""
    meant_why: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the empty fields, except the optional pronoun."""
        fields = self.to_json()
        del fields["pronoun"]
        return tuple(name for name, value in fields.items() if value in ("", None))

    @property
    def right_candidates(self) -> list[str | None]:
        """The right candidate of each text.

        None if its answer is not chosen yet.
        """
        right: list[str | None] = []
        for answer in self.answers:
            right.append(None if answer is None else self.candidates[answer])
        return right

    def problems(self, language: str, domain: str | None = None) -> tuple[Problem, Problem]:
        """Make the two problems of a complete form.

        Its texts must have one blank each.
        """
        shared: dict[str, Any] = {"pronoun": self.pronoun or None, "domain": domain, "labels": {"anchor": self.anchor}}
        shared["language"] = language
        first = Problem.from_text(self.texts[0], self.candidates, answer=self.answers[0], **shared)
        second = Problem.from_text(self.texts[1], self.candidates, answer=self.answers[1], **shared)
        return first, second

    def to_json(self) -> dict[str, Any]:
        """The form's fields as they are stored."""
        values = (*self.texts, *self.candidates, self.anchor, self.pronoun, *self.answers)
        fields: dict[str, Any] = dict(zip(TWIN_FIELDS, values, strict=True))
        if self.meant:
            fields["meant"] = self.meant
        if self.meant_why:
            fields["meant_why"] = self.meant_why
        return fields


def form_fields(stored: Mapping[str, Any]) -> dict[str, str]:
    """Convert stored twins to the fields of their form.

    Answers are counted from 1 in the form, from 0 where they are stored.
    """
    fields = {name: str(stored.get(name, "")) for name in FORM_FIELDS}
    for name in ("answer_1", "answer_2"):
        fields[name] = str(stored[name] + 1)
    return fields


def clean(text: object) -> str:
    r"""Normalise a text from a form.

    Unicode is composed (NFC), white space becomes single spaces, and control characters and lone surrogates are
    dropped.

    >>> clean("  The  cup\x00 hit\r\nthe tray ")
    'The cup hit the tray'
    """
    composed = unicodedata.normalize("NFC", _drop_surrogates(str(text)))
    if composed.isprintable():  # nearly always, and looking at every letter takes a while
        return " ".join(composed.split())
    letters = []
    for letter in composed:
        if letter.isspace():
            letters.append(" ")
        # Cc: control, Cf: invisible formatting such as a change of the direction of writing.
        elif unicodedata.category(letter) not in ("Cc", "Cf"):
            letters.append(letter)
    return " ".join("".join(letters).split())


def _drop_surrogates(text: str) -> str:
    """Drop lone surrogates, which neither files nor databases can store."""
    return text.encode("utf-8", "ignore").decode("utf-8")


def draft_fields(fields: Mapping[str, Any]) -> dict[str, str]:
    """Select the form's own fields for a draft.

    Each is cut to twice the length that could be handed in.
    """
    longest = LONGEST | ANSWERED
    draft = {}
    for name in FORM_FIELDS:
        if name in fields:
            typed = _drop_surrogates(str(fields[name])).replace("\x00", "")
            most = 2 * longest.get(name, 1)
            draft[name] = typed[:most]
    return draft


def read_twins(fields: Mapping[str, Any]) -> Twins:
    """Read the form for twins, complete or not.

    Raises Incomplete for texts that are longer than the form allows.
    """
    typed = {name: clean(fields.get(name, "")) for name in FORM_FIELDS}
    too_long = {}
    for name, most in (LONGEST | ANSWERED).items():
        if len(typed[name]) > most:
            too_long[name] = say("writing.at_most", most=most)
    if too_long:
        raise Incomplete(too_long)
    # A row of underscores is one blank: people type ____.
    first = re.sub(f"{BLANK}+", BLANK, typed["first"])
    second = re.sub(f"{BLANK}+", BLANK, typed["second"])
    indexes = {"1": 0, "2": 1}
    return Twins(
        texts=(first, second),
        candidates=(typed["candidate_1"], typed["candidate_2"]),
        answers=(indexes.get(typed["answer_1"]), indexes.get(typed["answer_2"])),
        anchor=typed["anchor"],
        pronoun=typed["pronoun"],
        meant=typed["meant"],
        meant_why=typed["meant_why"] if typed["meant"] else "",
    )


@dataclass(frozen=True)
class WritingCheck:
    """Result of checking one rule, shown at a field with a message.

    `ok` is None if the rule cannot be judged yet.
    """

    name: str
    field: str
    ok: bool | None
    message: str


@dataclass(frozen=True)
class WritingSpan:
    """Part of a text, and whether it differs from the twin."""

    text: str
    differs: bool


class WritingFeedback:
    """Feedback to a writer on the present content of the form.

    `kept` says whether every hard rule is kept. Only then `warnings` lists possible mistakes, by rules that may be
    wrong (`twin_rules.SOFT`). `answered` says whether the writer has confirmed exactly these warnings. `ready` says
    whether the twins can be handed in. `words` are the numbers of words of the two texts. `first` and `second` are the
    texts in parts, `overlap` is the share of words they have in common, None until both are there.
    """

    def __init__(
        self,
        study: Study,
        fields: StoredFields,
        domain: str | None = None,
        own_texts: Collection[str] = (),
        topic: StoredFields | None = None,
    ) -> None:
        twins = read_twins(fields)
        first_text, second_text = twins.texts
        self.checks = tuple(_check_rules(study, twins, domain, own_texts))
        language = study.config.language
        split_words = language_of(language).split
        self.words = (len(split_words(first_text)), len(split_words(second_text)))
        self.first: tuple[WritingSpan, ...] = (WritingSpan(first_text, False),)
        self.second: tuple[WritingSpan, ...] = (WritingSpan(second_text, False),)
        self.overlap: float | None = None
        if first_text and second_text:
            self.first, self.second = difference(first_text, second_text)
            self.overlap = twin_rules.word_overlap(first_text, second_text, language)
        self.kept = not twins.missing and all(check.ok for check in self.checks)
        warns = self.kept and study.config.rules.warn
        self.warnings = tuple(_find_warnings(twins, domain, topic or {}, language)) if warns else ()
        self.answered = twins.meant == self.warning_names
        self.ready = self.kept and self.answered

    @property
    def warning_names(self) -> str:
        """Names of the warnings' rules, with commas between them.

        The form sends them back like this.
        """
        return ",".join(warning.name for warning in self.warnings)


def refuse_broken(
    study: Study,
    fields: StoredFields,
    domain: str | None,
    own_texts: Collection[str] = (),
    topic: StoredFields | None = None,
) -> Twins:
    """Read the twins of a form that keeps all rules.

    Raises Incomplete with a message for each field that is missing or breaks a rule, and if there are warnings that the
    writer has not confirmed. A confirmation is dropped if nothing is warned of. `own_texts` has earlier texts of the
    same submission, to which the twins may be similar.
    """
    twins = read_twins(fields)
    if twins.missing:
        raise Incomplete(dict.fromkeys(twins.missing, say("writing.fill_in")))
    feedback = WritingFeedback(study, fields, domain, own_texts, topic)
    broken = {check.field: check.message for check in feedback.checks if not check.ok}
    if not broken and feedback.warnings and not feedback.answered:
        broken = {"meant": say("writing.answer_warnings")}
    if broken:
        raise Incomplete(broken)
    return twins if feedback.warnings else replace(twins, meant="", meant_why="")


def _find_warnings(twins: Twins, domain: str | None, topic: StoredFields, language: str) -> Iterator[WritingCheck]:
    """Yield a check for each soft rule that complete twins break."""
    first, _ = twins.problems(language)
    doubts = {
        "people_named": ("candidate_2", twin_rules.people_named(twins.candidates, domain, language)),
        "telling_change": ("second", twin_rules.telling_change(*twins.texts, twins.candidates, language)),
        "language": ("first", twin_rules.in_language(twins.texts, language)),
        "makes_sense": ("first", twin_rules.makes_sense(twin_rules.readable(first), language)),
    }
    if topic:
        off_topic = twin_rules.anchor_topic(twins.anchor, topic["topic"], topic["words"], language)
        doubts["anchor_topic"] = ("anchor", off_topic)
    return (WritingCheck(name, field, False, why) for name, (field, why) in doubts.items() if why)


def _check_rules(study: Study, twins: Twins, domain: str | None, own_texts: Collection[str]) -> Iterator[WritingCheck]:
    """Yield the checks of all rules that the study's language allows to judge.

    They are in the order in which a writer meets them.
    """
    pack = language_of(study.config.language)
    unjudged = {rule for rule, needed in twin_rules.NEEDED.items() if pack.refusal(needed)}
    return (check for check in _check_all_rules(study, twins, domain, pack, own_texts) if check.name not in unjudged)


def _check_all_rules(
    study: Study, twins: Twins, domain: str | None, pack: Language, own_texts: Collection[str]
) -> Iterator[WritingCheck]:
    """Yield the checks of all rules, whatever the language offers.

    Rules about an empty field have `ok` None.
    """
    has_both_texts = all(twins.texts)
    yield from _check_each_text(study, twins)
    yield from _check_candidates(twins, domain, pack, study.config.language)
    yield from _check_anchor(twins, study.config.language)
    yield from _check_pair(study, twins)
    nearest = study.earlier.nearest(study, twins.texts, own_texts) if has_both_texts else 0.0
    broken = None
    if nearest >= study.config.rules.most_similar:
        broken = say("rules.new_broken", share=f"{100 * nearest:.0f} %")
    yield _make_check("new", "first", broken, has_both_texts)


def _check_each_text(study: Study, twins: Twins) -> Iterator[WritingCheck]:
    """Yield the checks of each text by itself."""
    limits = study.config.rules.limits
    language = study.config.language
    has_candidates = all(twins.candidates)
    length = say("rules.length", fewest=limits.fewest_words, most=limits.most_words)
    for field, text in zip(("first", "second"), twins.texts, strict=True):
        is_filled = bool(text)
        yield _make_check("one_blank", field, twin_rules.one_blank(text), is_filled)
        yield _make_check("length", field, twin_rules.length(text, limits, language), is_filled, length)
        missing = twin_rules.candidates_present(text, twins.candidates, language=language)
        yield _make_check("candidates_present", field, missing, is_filled and has_candidates)


def _check_candidates(twins: Twins, domain: str | None, pack: Language, language: str) -> Iterator[WritingCheck]:
    """Yield the checks of the two candidates."""
    candidates = twins.candidates
    has_candidates = all(candidates)
    is_alike = pack.bare(candidates[0]) == pack.bare(candidates[1])
    broken = say("rules.candidates_differ_broken") if is_alike else None
    yield _make_check("candidates_differ", "candidate_2", broken, has_candidates)
    key = f"rules.same_kind_{domain}" if domain in DOMAINS else "rules.same_kind"
    unlike = twin_rules.same_kind(candidates, domain, twins.pronoun, language)
    yield _make_check("same_kind", "candidate_2", unlike, has_candidates, say(key))


def _check_anchor(twins: Twins, language: str) -> Iterator[WritingCheck]:
    """Yield two checks of the anchor, a word that both texts must contain.

    The first is that they do. The second is that it is a word with a meaning of its own in the language.
    """
    has_anchor = bool(twins.anchor)
    missing = twin_rules.anchor_present(twins.texts, twins.anchor)
    yield _make_check("anchor_present", "anchor", missing, all(twins.texts) and has_anchor)
    no_word = twin_rules.anchor_word(twins.anchor, language)
    yield _make_check("anchor_word", "anchor", no_word, has_anchor)


def _check_pair(study: Study, twins: Twins) -> Iterator[WritingCheck]:
    """Yield the checks of the two texts together, and of their answers."""
    limits = study.config.rules.limits
    language = study.config.language
    candidates = twins.candidates
    first_text, second_text = twins.texts
    has_both_texts = bool(first_text and second_text)
    same = twin_rules.texts_differ(first_text, second_text)
    yield _make_check("texts_differ", "second", same, has_both_texts)
    unreal = twin_rules.real_change(first_text, second_text, candidates, language)
    broken = None if same else unreal
    yield _make_check("real_change", "second", broken, has_both_texts and all(candidates))
    least_overlap = say("rules.overlap", least=f"{100 * limits.least_overlap:.0f} %")
    too_different = twin_rules.overlap(first_text, second_text, limits, language)
    yield _make_check("overlap", "second", too_different, has_both_texts, least_overlap)
    right = twins.right_candidates
    not_opposite = twin_rules.opposite_answers(right, language)
    yield _make_check("opposite_answers", "answer_2", not_opposite, None not in right)


def _make_check(name: str, field: str, broken: str | None, can_judge: bool, good: str | None = None) -> WritingCheck:
    """Make the check of a rule.

    `broken` is the message if the rule is broken, else None. `good` is the message if it is kept, by default its text
    in the study's texts. If the rule cannot be judged yet, `broken` is ignored.
    """
    good = good or say(f"rules.{name}")
    if not can_judge:
        return WritingCheck(name, field, None, good)
    return WritingCheck(name, field, broken is None, broken or good)


def difference(one: str, other: str) -> tuple[tuple[WritingSpan, ...], tuple[WritingSpan, ...]]:
    """Split two texts into parts that are equal and that differ.

    They are compared word by word.

    >>> [span.text for span in difference("I poured until _ was empty.", "I poured until _ was full.")[0]]
    ['I poured until _ was ', 'empty.']
    """
    words = WORD_AND_SPACE.findall(one)
    others = WORD_AND_SPACE.findall(other)
    bare_words = [word.strip() for word in words]
    bare_others = [word.strip() for word in others]
    matcher = SequenceMatcher(None, bare_words, bare_others, autojunk=False)
    first = []
    second = []
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        differs = tag != "equal"
        if end > start:
            first.append(WritingSpan("".join(words[start:end]), differs))
        if other_end > other_start:
            second.append(WritingSpan("".join(others[other_start:other_end]), differs))
    return tuple(first), tuple(second)


def special_words(one: str, other: str) -> tuple[str, str]:
    """The words in which two twins differ, without punctuation around them.

    Several such words are joined, with dots between those that do not stand side by side. Empty for a text that only
    lacks a word of the other.
    """
    first, second = difference(one, other)
    return _join_differing(first), _join_differing(second)


def _join_differing(spans: Iterable[WritingSpan]) -> str:
    """Join the differing parts of a text, without punctuation around them."""
    words = [span.text.strip().strip(EDGES) for span in spans if span.differs]
    return " … ".join(filter(None, words))


class EarlierText:
    """Index of a study's written texts, to find similar ones.

    It is held in memory, and new texts are read at each search.
    """

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._texts: list[str] = []
        self._with_word: dict[str, list[str]] = defaultdict(list)
        self._last = 0
        self._missing: dict[int, datetime] = {}
        self._lock = threading.Lock()

    def load(self, study: Study) -> None:
        """Read all texts into the index.

        Called when the server starts, since it takes a second or two in a large study.
        """
        with self._lock:
            self._read_new(study)

    def nearest(self, study: Study, texts: Iterable[str], own_texts: Collection[str] = ()) -> float:
        """Highest similarity, 0 to 1, of any text to any earlier text.

        Earlier texts in `own_texts` are ignored. The value is exact if it is at least the study's limit
        (`most_similar`). Lower values may be too low, since not all texts are compared.
        """
        with self._lock:
            self._read_new(study)
            nearest = 0.0
            measure = Levenshtein.normalized_similarity
            left_out = {self._encode_words(text, known_only=True) for text in own_texts}
            for text in texts:
                coded = self._encode_words(text, known_only=True)
                others = self._find_possible(coded, study.config.rules.most_similar) - left_out
                match = process.extractOne(coded, others, scorer=measure, score_cutoff=0.5)
                if match:
                    nearest = max(nearest, match[1])
            return nearest

    def _find_possible(self, coded: str, least: float) -> set[str]:
        """Find the encoded texts whose similarity to `coded` may reach `least`.

        A text that similar lacks few of the words of `coded`. So it has at least one of its rarest words, of which one
        more is looked up than it may lack.
        """
        most_lacking = int(len(coded) * (1 - least) / least + 1e-9) if least else len(coded)
        if most_lacking >= len(coded):
            return set(self._texts)
        texts_by_word = sorted((self._with_word.get(word, []) for word in coded), key=len)
        return set().union(*texts_by_word[: most_lacking + 1])

    def _read_new(self, study: Study) -> None:
        """Read texts that were stored since the last look.

        Numbers that were skipped are looked for again for a minute, since their transactions may commit later.
        """
        now = study.now()
        self._missing = {row: since for row, since in self._missing.items() if now - since < PATIENCE}
        with study.store.read() as session:
            late = session.execute(_MISSING, {"missing": list(self._missing)}).all() if self._missing else []
            new = _NEW.all(session, last=self._last)
        for row in late:
            del self._missing[row.id]
        for row in new:
            first_missing = max(self._last + 1, row.id - MOST_MISSING)
            self._missing |= dict.fromkeys(range(first_missing, row.id), now)
            self._last = row.id
        for row in (*late, *new):
            if row.origin != WRITTEN:
                continue
            coded = self._encode_words(f"{row.before}_{row.after}")
            self._texts.append(coded)
            for word in coded:
                self._with_word[word].append(coded)

    def _encode_words(self, text: str, *, known_only: bool = False) -> str:
        """Encode each word as one character, for fast comparison.

        With `known_only`, words of no earlier text share one character, and no character is used up for them. Otherwise
        each new word gets a character of its own, which is remembered.
        """
        stripped = [word.strip(EDGES) for word in text.casefold().split()]
        words = [word for word in stripped if word]
        if known_only:
            return "".join(self._codes.get(word, UNKNOWN) for word in words)
        letters = [self._codes.setdefault(word, chr(FIRST + len(self._codes))) for word in words]
        return "".join(letters)
