"""Rules of problems and twins: functions that return a reason or None.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import Literal

from winokit.errors import Message
from winokit.files import our_toml
from winokit.models.base import Fill, Model, PseudoLikelihood, Request
from winokit.models.registry import load_model
from winokit.problem import BLANK, Problem
from winokit.text.language import LANGUAGES, Language, detect, language_of


@dataclass(frozen=True)
class Limits:
    """The numbers in the rules, which a study can change."""

    fewest_words: int = 15
    most_words: int = 30
    least_overlap: float = 0.7


WINOGRANDE = Limits()
SAID = our_toml("assets/rules.toml")
RuleSet = Literal["universal", "winogrande"]
RULES: dict[RuleSet, Limits | None] = {"universal": None, "winogrande": WINOGRANDE}
"""Sets of rules by name. The universal set has no limits."""
SOFT = frozenset({"people_named", "telling_change", "anchor_topic", "language", "makes_sense"})
"""Rules whose finding is a warning that a writer can answer."""
READ_FOR = frozenset({"anchor_topic", "makes_sense"})
"""The soft rules for which the built-in model reads, which takes a moment."""
NEEDED = {"candidates_present": "candidates", "same_kind": "kinds", "length": "length", "anchor_present": "candidates"}
"""The ability that a language's pack needs for a rule."""
READS = "en"
SURPRISING = 5.5
"""Nats per word piece. No bundled twin has more than 5.2. Half of the texts with shuffled words have 7."""
REPETITIVE = 0.5
"""Share of words that are new in a text. A text with a lower share repeats itself."""
TALK = ("They talked about the ", " for a while.")


@dataclass(frozen=True)
class Violation:
    """A rule that a group breaks, the reason, and its rows."""

    rule: str
    reason: str
    rows: tuple[int, ...]


def broken(rule: str, **values: object) -> Message:
    """The reason why a rule is broken, as a sentence.

    A study may word it differently. `values` fill the sentence.
    """
    return Message.of(SAID[rule], f"rules.{rule}_broken", **values)


def one_blank(text: str) -> str | None:
    """Reason why a text does not have exactly one blank, or None."""
    count = text.count(BLANK)
    return None if count == 1 else broken("one_blank", count=count)


def length(text: str, limits: Limits = WINOGRANDE, language: str = "en") -> str | None:
    """Reason why a text has too few or many words, or None.

    WinoGrande allows 15 to 30. The blank is a word. In languages without spaces, characters are counted.
    """
    words = language_of(language).split(text)
    fewest = limits.fewest_words
    most = limits.most_words
    if fewest <= len(words) <= most:
        return None
    return broken("length", fewest=fewest, most=most, count=len(words))


def candidates_present(
    text: str, candidates: Iterable[str], *, partly: bool = False, language: str = "en"
) -> str | None:
    """Reason why a candidate is not mentioned in the text, or None.

    Article and inflection may differ. With `partly`, one word of the candidate is enough.
    """
    pack = language_of(language)
    missing = [candidate for candidate in candidates if not pack.is_mentioned(text, candidate, partly=partly)]
    return broken("candidates_present", missing=", ".join(missing)) if missing else None


def same_kind(
    candidates: Sequence[str], domain: str | None = None, pronoun: str | None = None, language: str = "en"
) -> str | None:
    """Reason why the candidates differ in kind, or None.

    A reader could then tell the answer by gender, or by whether it is a person. People and things are known by first
    names and lists of nouns. A word on no list may be anything.

    Parameters
    ----------
    domain
        "social" or "physical", with which the candidates must agree. None if it is not known.
    pronoun
        The pronoun of the text, whose gender must fit. None if it is not known.
    """
    pack = language_of(language)
    people, things = _split_by_kind(candidates, pack)
    genders = {being for being in people.values() if being != "person"}
    if len(genders) > 1:
        return _explain_two_genders(people)
    if misfit := pack.misfit(candidates, pronoun):
        return misfit
    folded_pronoun = (pronoun or "").casefold()
    pronoun_gender = pack.pronoun_gender.get(folded_pronoun)
    if pronoun_gender and genders and pronoun_gender not in genders:
        return _explain_pronoun(pronoun, people)
    if people and not things and folded_pronoun in pack.thing_pronouns:
        things = [name for name in candidates if name not in people and name[:1].islower()]
    return _judge_domain(people, things, domain)


def _explain_pronoun(pronoun: str | None, people: Iterable[str]) -> Message:
    """Reason that a pronoun does not fit the gender of the people."""
    names = list(people)
    text = f"the pronoun {pronoun!r} does not fit {' and '.join(names)}"
    return Message(text, "rules.pronoun_fits_broken", pronoun=pronoun, names=", ".join(names))


def _split_by_kind(candidates: Sequence[str], pack: Language) -> tuple[dict[str, str], list[str]]:
    """Split the candidates into people and things.

    People have their kind of being: "female", "male" or "person". Candidates on no list are in neither.
    """
    people: dict[str, str] = {}
    things: list[str] = []
    for candidate in candidates:
        being = pack.being(candidate)
        if being == "thing":
            things.append(candidate)
        elif being is not None:
            people[candidate] = being
    return people, things


def _explain_two_genders(people: Mapping[str, str | None]) -> Message:
    """Reason that the people have different genders.

    `people` has the gender of each.
    """
    people_texts = [f"{name} ({being})" for name, being in people.items()]
    text = f"people of two genders: {', '.join(people_texts)}"
    return Message(text, "rules.two_genders_broken", names=", ".join(people))


def _judge_domain(people: Iterable[str], things: Iterable[str], domain: str | None) -> str | None:
    """Reason why people and things do not fit together, or None.

    They also have to fit the domain, "social" or "physical".
    """
    people_text = ", ".join(people)
    things_text = ", ".join(things)
    if people_text and things_text:
        return broken("person_and_thing", names=people_text, things=things_text)
    if people_text and domain == "physical":
        return broken("people_in_physical", names=people_text)
    if things_text and domain == "social":
        return broken("things_in_social", things=things_text)
    return None


def people_named(candidates: Sequence[str], domain: str | None, language: str = "en") -> str | None:
    """Reason why a social problem's candidate may be no person, or None.

    Only the domain "social" is judged. Names with a capital are taken for people, nouns only by lists and endings. It
    is a soft rule: a writer may know better.
    """
    pack = language_of(language)
    if domain != "social" or not pack.beings:
        return None
    unknown_names = []
    for name in candidates:
        is_noun = name[:1].islower() or pack.article.match(name)
        if is_noun and pack.being(name) is None and not pack.head(name).endswith(pack.person_endings):
            unknown_names.append(name)
    return broken("people_named", names=", ".join(unknown_names)) if unknown_names else None


def real_change(one: str, other: str, candidates: Sequence[str], language: str = "en") -> str | None:
    """Reason why twins differ only in candidates, articles and marks, or None."""
    pack = language_of(language)
    is_same = _list_words(one, candidates, pack) == _list_words(other, candidates, pack)
    return broken("real_change") if is_same else None


def telling_change(one: str, other: str, candidates: Sequence[str], language: str = "en") -> str | None:
    """Reason why twins differ only in words that say little, or None.

    A change of only the position of the blank counts too. It is a soft rule.
    """
    pack = language_of(language)
    is_same = _list_telling_words(one, pack, candidates) == _list_telling_words(other, pack, candidates)
    return broken("telling_change") if is_same else None


def _list_words(text: str, candidates: Sequence[str], pack: Language) -> list[str]:
    """The words of a text and its blank, in order.

    Candidates and articles are left out.
    """
    places: set[tuple[int, int]] = set()
    for name in candidates:
        places.update(pack.mention_places(text, name))
    for start, end in sorted(places, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    words = []
    for piece in pack.piece.findall(text):
        word = piece.casefold()
        is_word = piece == BLANK or any(map(str.isalnum, piece))
        if is_word and not pack.article.fullmatch(f"{word} "):
            words.append(word)
    return words


def _list_telling_words(text: str, pack: Language, candidates: Sequence[str] = ()) -> list[str]:
    """The words of a text that say something.

    Candidates, small words and the blank are left out.
    """
    words = _list_words(text, candidates, pack)
    return [word for word in words if word not in pack.small and word != BLANK]


def anchor_word(anchor: str, language: str = "en") -> str | None:
    """Reason why an anchor word says nothing, or None.

    An anchor word is given to the writer, who must use it in all twins. An article, a pronoun or a preposition says
    nothing.
    """
    pack = language_of(language)
    for word in _list_telling_words(anchor, pack):
        has_letter = any(map(str.isalpha, word))
        if has_letter and word not in pack.turning:
            return None
    return broken("anchor_word", anchor=anchor)


def anchor_topic(anchor: str, topic: str, words: Iterable[str] = (), language: str = "en") -> str | None:
    """Reason why an anchor word does not fit its topic, or None.

    It fits if it is a word of the topic, or if the topic makes it likelier for the built-in model. Only English is
    judged, and it is a soft rule.

    Parameters
    ----------
    words
        Other words that belong to the topic.
    """
    pack = language_of(language)
    if language.split("-")[0].lower() != READS:
        return None
    topic_words = _list_telling_words(topic, pack)
    for word in words:
        topic_words += _list_telling_words(word, pack)
    anchor_words = _list_telling_words(anchor, pack)
    if any(pack.same_word(word, other) for word, other in product(anchor_words, topic_words)):
        return None
    return None if likelier_by(anchor, topic) > 0 else broken("anchor_topic", anchor=anchor)


def in_language(texts: Iterable[str], language: str = "en") -> str | None:
    """Reason why texts are not in the language stated, or None.

    A language that cannot be recognised is not judged. It is a soft rule.
    """
    code = language.split("-")[0].lower()
    if code not in LANGUAGES or detect([" ".join(texts)]) == code:
        return None
    return broken("language", language=language_of(language).name)


def makes_sense(text: str, language: str = "en") -> str | None:
    """Reason why a text may make no sense, or None.

    It may repeat itself, so that fewer than half of its words are new, or surprise the built-in model more than any
    bundled twin does. Surprise is measured only in English. It is a soft rule.
    """
    words = [word.casefold() for word in language_of(language).split(text)]
    if len(set(words)) < REPETITIVE * len(words):
        return broken("makes_sense")
    is_readable = language.split("-")[0].lower() == READS
    if is_readable and surprisal(text) > SURPRISING:
        return broken("makes_sense")
    return None


def anchor_present(texts: Iterable[str], anchor: str) -> str | None:
    """Reason why a text does not have the anchor word, or None.

    It must be there as a whole word, in any case.
    """
    pattern = re.compile(rf"(?<!\w){re.escape(anchor.casefold())}(?!\w)")
    missing_count = sum(not pattern.search(text.casefold()) for text in texts)
    return broken("anchor_present", anchor=anchor, count=missing_count) if missing_count else None


def word_overlap(one: str, other: str, language: str = "en") -> float:
    """Share of words that two texts have in common.

    It is the share in the longer text. Words are between spaces and are counted with repetition.

    >>> word_overlap("the cat sat on a mat", "the cat slept on a mat")
    0.8333333333333334
    """
    split = language_of(language).split
    one_counts = Counter(split(one))
    other_counts = Counter(split(other))
    shared_counts = one_counts & other_counts
    longer = max(one_counts.total(), other_counts.total(), 1)
    return shared_counts.total() / longer


def overlap(one: str, other: str, limits: Limits = WINOGRANDE, language: str = "en") -> str | None:
    """Reason why twins share too few of their words, or None.

    WinoGrande requires 70 %.
    """
    share = word_overlap(one, other, language)
    if share >= limits.least_overlap:
        return None
    return broken("overlap", least=f"{100 * limits.least_overlap:.0f} %", share=f"{100 * share:.0f} %")


def texts_differ(one: str, other: str) -> str | None:
    """Reason against twins with the same text, or None if they differ.

    White space does not count.
    """
    return broken("texts_differ") if one.split() == other.split() else None


def opposite_answers(right: Sequence[str | None], language: str = "en") -> str | None:
    """Reason why all right candidates are the same, or None.

    Hidden answers, which are None, are not judged.
    """
    answers = [answer for answer in right if answer is not None]
    if len(answers) < 2:
        return None
    bare_answers = {language_of(language).bare(answer) for answer in answers}
    if len(bare_answers) > 1:
        return None
    return broken("opposite_answers", answer=answers[0])


class _JudgedGroup:
    """Judges the problems of a group, and collects the rules they break."""

    def __init__(self, judged: Sequence[tuple[Problem, int]], limits: Limits | None) -> None:
        self.members = [problem for problem, _ in judged]
        self.rows = [row for _, row in judged]
        self.limits = limits
        self.first = self.members[0]
        self.language = self.first.language
        self.anchor = str(self.first.labels.get("anchor") or "")
        self.topic = str(self.first.labels.get("topic") or "")
        pack = language_of(self.language)
        self.unjudged = {rule for rule, ability in NEEDED.items() if pack.refusal(ability)}
        self.violations: list[Violation] = []

    def add(self, rule: str, reason: str | None, rows: Sequence[int]) -> None:
        """Add a broken rule if there is a reason.

        Nothing is added for a rule that cannot be judged in the group's language.
        """
        if reason and rule not in self.unjudged:
            self.violations.append(Violation(rule, reason, tuple(rows)))

    def judge_problem(self, problem: Problem, row: int) -> None:
        """Judge the rules for a single problem.

        `row` is its row in the dataset.
        """
        rows = [row]
        limits = self.limits
        self.add("one_blank", one_blank(problem.text), rows)
        names = problem.candidates if problem.query is None else (problem.query,)
        if limits is not None or not problem.is_continuation:
            reason = candidates_present(problem.sentence, names, partly=limits is None, language=self.language)
            self.add("candidates_present", reason, rows)
        if limits is not None:
            self.add("length", length(problem.text, limits, self.language), rows)
            reason = same_kind(problem.candidates, problem.domain, problem.pronoun, self.language)
            self.add("same_kind", reason, rows)

    def judge_anchor(self) -> None:
        """Judge whether every text has the group's anchor word.

        Nothing is judged without such a word.
        """
        if self.anchor:
            texts = [problem.text for problem in self.members]
            self.add("anchor_present", anchor_present(texts, self.anchor), self.rows)

    def judge_wording(self, *, read: bool) -> None:
        """Judge the writing task's rules for the words of the group.

        With `read`, the built-in model reads the first text, which takes a moment.
        """
        first = self.first
        texts = [problem.text for problem in self.members]
        self.add("people_named", people_named(first.candidates, first.domain, self.language), self.rows)
        self.add("language", in_language(texts, self.language), self.rows)
        if self.anchor:
            self.add("anchor_word", anchor_word(self.anchor, self.language), self.rows)
        if read and self.anchor and self.topic:
            self.add("anchor_topic", anchor_topic(self.anchor, self.topic, (), self.language), self.rows)
        if read:
            self.add("makes_sense", makes_sense(readable(first), self.language), self.rows[:1])

    def judge_twins(self, first: Problem, other: Problem, rows: Sequence[int]) -> None:
        """Judge the rules for two problems of the group.

        `rows` are their rows in the dataset.
        """
        reason = texts_differ(first.text, other.text)
        self.add("texts_differ", reason, rows)
        if self.limits is None:
            return
        self.add("overlap", overlap(first.text, other.text, self.limits, self.language), rows)
        if reason:
            return
        reason = real_change(first.text, other.text, first.candidates, self.language)
        self.add("real_change", reason, rows)
        if not reason:
            reason = telling_change(first.text, other.text, first.candidates, self.language)
            self.add("telling_change", reason, rows)

    def judge_answers(self) -> None:
        """Judge whether the answers of twins differ."""
        if len(self.members) > 1:
            answers = [problem.right for problem in self.members]
            self.add("opposite_answers", opposite_answers(answers, self.language), self.rows)


def broken_rules(
    members: Sequence[Problem], rows: Sequence[int], limits: Limits | None = WINOGRANDE, *, read: bool = False
) -> list[Violation]:
    """The rules that a group or a single problem breaks.

    Choices between whole texts break none, because the rules are about blanks.

    Parameters
    ----------
    members
        The problems of the group.
    rows
        Their rows in the dataset.
    limits
        The numbers of the writing task's rules. None for the universal rules only.
    read
        Whether the built-in model reads the first text too, which takes a moment.
    """
    judged = [(problem, row) for problem, row in zip(members, rows, strict=True) if not problem.is_whole]
    if not judged:
        return []
    group = _JudgedGroup(judged, limits)
    for problem, row in judged:
        group.judge_problem(problem, row)
    group.judge_anchor()
    if limits is not None:
        group.judge_wording(read=read)
    first, first_row = judged[0]
    for other, row in judged[1:]:
        group.judge_twins(first, other, (first_row, row))
    group.judge_answers()
    return group.violations


def readable(problem: Problem) -> str:
    """The text of a problem with a candidate in its blank.

    It is the right one, or the first one if the answer is hidden.
    """
    return problem.text.replace(BLANK, problem.right or problem.candidates[0], 1)


@cache
def reader() -> Model:
    """The built-in model on one thread.

    It runs beside web pages, which must not wait for it.
    """
    return load_model("builtin?threads=1")


@lru_cache(4096)
def surprisal(text: str) -> float:
    """Mean surprisal of a text's tokens under the built-in model, in nats.

    Each token is masked by itself. 0 if the model cannot read the text.
    """
    request = PseudoLikelihood(text, 0, len(text))
    (logprobs,) = _read_logprobs([request])
    return -sum(logprobs) / max(len(logprobs), 1)


@lru_cache(4096)
def likelier_by(word: str, topic: str) -> float:
    """Gain in a word's log-probability through a topic before it, in nats.

    The word is put into a sentence as what somebody talks about.
    """
    before, after = TALK
    with_topic = Fill(f"{topic}. {before}", word, after)
    without_topic = Fill(before, word, after)
    logprobs, base_logprobs = _read_logprobs([with_topic, without_topic])
    return sum(logprobs) - sum(base_logprobs)


def _read_logprobs(requests: list[Request]) -> list[list[float]]:
    """For each request, the log-probabilities of its tokens.

    Empty if the model has no answer, for example because the text is too long.
    """
    answers = dict(reader().answer(requests))
    logprobs = []
    for index in range(len(requests)):
        answer = answers[index]
        pieces = answer if isinstance(answer, tuple) else ()
        logprobs.append([piece.logprob for piece in pieces])
    return logprobs
