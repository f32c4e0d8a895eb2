"""The role in a sentence of evidence: agent or patient.

"I could not carry him because I was so tired" is evidence for the agent, "because he was so heavy" for the patient.
Each role is filled by a pronoun or a noun phrase near the words found. The one in question is known by agreement (he
and him against she and her, it, they; I and me), by its noun said again, or by a verb that shares its subject ("she
called and left"). A sentence in which both could be meant is no evidence: problems of this kind, and their copies in
a corpus, are such sentences by design.

Emami et al. (2018) parse sentences and resolve their pronouns with a coreference system. Beyond their description, a
sentence counts only if it says what the problem says: a negation in one clause asks for a negation there, and "but" or
"although" for another of their kind.

The decision is that of their released code: a sentence of evidence weighs 2 if the words found of either clause are
more than one, else 1. The agent is chosen if its weights sum to more than the patient's; else, ties included, the
patient; without any evidence, nobody.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from winokit.methods.hunting.queries import QueryPair
from winokit.methods.hunting.reading import OBJECT, POSSESSOR, SUBJECT, ProblemReading
from winokit.text import grammar
from winokit.text.english import ENGLISH

AGENT = "agent"
PATIENT = "patient"
APART = 25
"""Maximal number of words between the two clauses."""
NEVER_SUBJECTS = frozenset("me us him her them myself ourselves himself herself itself themselves".split())
"""They can be subjects only in "all of us"."""
SHARE_A_SUBJECT = frozenset("and but or then".split())
MEN, WOMEN, MANY_AS_ONE = (grammar.WORDS[kind] for kind in ("men", "women", "many_as_one"))


@dataclass(frozen=True, slots=True)
class Filler:
    """Word in a role, with the pronouns that may mean it.

    `kinds` has these pronouns as subjects: "he", "she", "it", "they".
    """

    word: str
    kinds: frozenset[str]
    pronoun: bool = False

    def may_be(self, other: "Filler") -> bool:
        """Whether two words in roles may mean the same thing or person."""
        if self.pronoun or other.pronoun:
            return bool(self.kinds & other.kinds)
        return self.word == other.word


def pronoun(word: str) -> Filler:
    """Filler for a pronoun, the same for all its cases."""
    return Filler(grammar.PRONOUNS[word], frozenset({grammar.PRONOUNS[word]}), pronoun=True)


def noun(token: grammar.WordToken) -> Filler:
    """Filler for a noun, with the pronouns that may refer to it."""
    word = token.word
    gender = ENGLISH.gender_of(word.title()) if token.capital else None
    if gender is not None:
        kinds = {"female": {"she"}, "male": {"he"}, "either": {"he", "she"}}[gender]
    elif word in MEN or word in WOMEN:
        kinds = {"he"} if word in MEN else {"she"}
    elif word in MANY_AS_ONE:
        kinds = {"it", "they"}
    else:
        kinds = {"they"} if ENGLISH.is_plural(word) else {"it", "he", "she"}
    return Filler(word, frozenset(kinds))


@dataclass(frozen=True, slots=True)
class Evidence:
    """One sentence as evidence for the agent or the patient.

    `label` is `agent` or `patient`. `context` and `query` are the searched wordings of the clauses that it has, and
    `spans` their places in the text: start and end in characters, first of the context, then of the query.
    """

    label: str
    context: str
    query: str
    text: str
    set: str = ""
    source: str | None = None
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def weight(self) -> int:
        """2 if the wording of either clause has several words, else 1."""
        return 2 if " " in self.context or " " in self.query else 1


@dataclass(frozen=True, slots=True)
class HuntDecision:
    """Summed weights of the evidence for both roles.

    >>> decide([]).role, HuntDecision(1, 1).role, HuntDecision(2, 1).role
    (None, 'patient', 'agent')
    """

    agent: int
    patient: int

    @property
    def role(self) -> str | None:
        """The chosen role, `agent` or `patient`, or None without evidence.

        Ties go to the patient.
        """
        if not self.agent and not self.patient:
            return None
        return AGENT if self.agent > self.patient else PATIENT


def decide(evidence: Sequence[Evidence]) -> HuntDecision:
    """Sum the weights of the evidence for each role."""
    agent_weight = sum(item.weight for item in evidence if item.label == AGENT)
    patient_weight = sum(item.weight for item in evidence if item.label == PATIENT)
    return HuntDecision(agent_weight, patient_weight)


def resolve(text: str, reading: ProblemReading, pair: QueryPair) -> Evidence | str:
    """Read a sentence as evidence for a role, or say why not.

    `reading` is the problem taken apart, `pair` the query that found the sentence. If the sentence has the words in
    several places, the first places that show a role count.
    """
    tokens = grammar.tokenise(text)
    reason = "the words stand too far apart"
    for context, query in product(pair.context.find(tokens), pair.query.find(tokens)):
        context_head, context_start, context_end = context
        query_head, query_start, query_end = query
        is_overlap = context_start < query_end and query_start < context_end
        distance = max(context_start - query_end, query_start - context_end)
        if is_overlap or distance > APART:
            continue
        difference = _find_difference(tokens, context_head, query_head, reading)
        label = difference or _find_role(tokens, context_head, query_head, reading)
        if label in (AGENT, PATIENT):
            context_span = (tokens[context_start].start, tokens[context_end - 1].end)
            query_span = (tokens[query_start].start, tokens[query_end - 1].end)
            spans = (context_span, query_span)
            return Evidence(label, pair.context.wording, pair.query.wording, text, pair.set, spans=spans)
        reason = label
    return reason


def _find_difference(
    tokens: Sequence[grammar.WordToken], context: int, query: int, reading: ProblemReading
) -> str | None:
    """Difference of a sentence from the problem, or None.

    It is in negation or in contrast.

    `context` and `query` are the indices of the heads of the two clauses.
    """
    has_same_context = _is_negated(tokens, context) == reading.context.negated
    has_same_query = _is_negated(tokens, query) == reading.query.negated
    if not (has_same_context and has_same_query):
        return "a negation in one and not in the other"
    between = tokens[min(context, query) : max(context, query)]
    has_contrast = any(token.word in grammar.CONTRASTS for token in (*tokens[:1], *between))
    return None if has_contrast == reading.contrast else "a contrast in one and not in the other"


def _is_negated(tokens: Sequence[grammar.WordToken], at: int) -> bool:
    """Whether a negation precedes the verb at an index.

    Only auxiliaries, adverbs and verbs that take an infinitive may be between.
    """
    for token in reversed(tokens[max(0, at - 6) : at]):
        if token.word in grammar.NEGATIONS:
            return True
        passes = token.word in grammar.AUXILIARIES or token.word in grammar.TAKE_AN_INFINITIVE or token.word == "to"
        if not passes and not grammar.is_adverb(token.word):
            return False
    return False


def _find_role(tokens: Sequence[grammar.WordToken], context: int, query: int, reading: ProblemReading) -> str:
    """Role of whoever fills the blank's slot in a sentence.

    A text that is no role says why it is not clear. `context` and `query` are the indices of the heads of the two
    clauses.
    """
    agent, patient = (_find_filler(tokens, context, slot) for slot in (reading.agent_slot, reading.patient_slot))
    asked_filler = _find_filler(tokens, query, reading.blank_slot)
    if agent is None or patient is None:
        return "one of the two roles is not filled"
    if asked_filler is None:
        may_share = reading.blank_slot == SUBJECT and context < query
        if not (may_share and _has_shared_subject(tokens, query)):
            return "nothing was found in the blank's place"
        shared = OBJECT if _is_passive(tokens, context) else SUBJECT
        roles = {reading.agent_slot: AGENT, reading.patient_slot: PATIENT}
        return roles.get(shared, "neither has the subject's part")
    as_agent = asked_filler.may_be(agent)
    as_patient = asked_filler.may_be(patient)
    if as_agent == as_patient:
        return "both could be meant" if as_agent else "neither could be meant"
    return AGENT if as_agent else PATIENT


def _find_filler(tokens: Sequence[grammar.WordToken], at: int, slot: str) -> Filler | None:
    """Word in a slot of the verb at an index, or None.

    For a passive verb, slots are those of the active one.
    """
    if slot == POSSESSOR:
        return _find_owner(tokens, at)
    passive = _is_passive(tokens, at)
    if slot == (OBJECT if passive else SUBJECT):
        return _find_subject(tokens, at)
    if slot == OBJECT:
        return _read_phrase_from(tokens, at + 1)
    sought = "by" if slot == SUBJECT else slot
    for i in range(at + 1, min(len(tokens), at + 8)):
        if tokens[i].word == sought:
            return _read_phrase_from(tokens, i + 1)
        if tokens[i].word in grammar.MARKS or tokens[i].word in grammar.CONNECTIVES:
            break
    return None


def _is_passive(tokens: Sequence[grammar.WordToken], at: int) -> bool:
    """Whether the word at an index is a participle after "be"."""
    before = (token.word for token in reversed(tokens[:at]))
    auxiliary = next((word for word in before if not grammar.is_aside(word)), "")
    return grammar.is_participle(tokens[at].word) and (auxiliary in grammar.BE or auxiliary == "'s")


def _find_subject(tokens: Sequence[grammar.WordToken], at: int) -> Filler | None:
    """Noun or pronoun before the verb at an index, or None.

    Auxiliaries, adverbs and verbs that take an infinitive may be between.
    """
    i = at - 1
    while i >= 0:
        word = tokens[i].word
        if word == "to" and i and tokens[i - 1].word in grammar.TAKE_AN_INFINITIVE:
            i -= 2
        elif grammar.goes_with_a_verb(word) or word in grammar.RELATIVES:
            i -= 1
        else:
            break
    if i > 0 and tokens[i].word in NEVER_SUBJECTS and tokens[i - 1].word != "of":
        return None
    return _read_phrase_before(tokens, i)


def _has_shared_subject(tokens: Sequence[grammar.WordToken], at: int) -> bool:
    """Whether a verb follows "and", and so shares a subject.

    Similar words count too.

    Auxiliaries, negations and adverbs may be between.
    """
    before = (token.word for token in reversed(tokens[:at]))
    nearest = next((word for word in before if word in SHARE_A_SUBJECT or not grammar.goes_with_a_verb(word)), "")
    return nearest in SHARE_A_SUBJECT


def _read_phrase_before(tokens: Sequence[grammar.WordToken], end: int) -> Filler | None:
    """Noun or pronoun whose phrase ends at an index, or None."""
    if end < 0:
        return None
    token = tokens[end]
    if token.word in grammar.PRONOUNS:
        return pronoun(token.word)
    if token.word in grammar.EMPTY:
        return None
    start = end
    while start and tokens[start - 1].word not in grammar.EMPTY and end - start < 3:
        start -= 1
    if start and tokens[start - 1].word in grammar.DETERMINERS:
        start -= 1
    before = tokens[start - 1].word if start else ""
    if before == "of":
        return _read_phrase_before(tokens, start - 2)
    if before == "and":
        return Filler(token.word, frozenset({"they"}))
    return noun(token)


def _read_phrase_from(tokens: Sequence[grammar.WordToken], start: int) -> Filler | None:
    """Noun or pronoun whose phrase begins at an index, or None."""
    while start < len(tokens) and _is_lead(tokens, start):
        start += 1
    if start >= len(tokens):
        return None
    if tokens[start].word in grammar.PRONOUNS:
        return pronoun(tokens[start].word)
    phrase = _take_noun_words(tokens[start : start + 4])
    if not phrase:
        return None
    first = phrase[0]
    is_first_name = first.capital and ENGLISH.gender_of(first.word.title()) is not None
    return noun(first if is_first_name else phrase[-1])


def _take_noun_words(tokens: Sequence[grammar.WordToken]) -> list[grammar.WordToken]:
    """Tokens up to a function word or an adverb.

    After a capitalized word, they end at the first that is not.
    """
    phrase: list[grammar.WordToken] = []
    for token in tokens:
        if token.word in grammar.EMPTY or grammar.is_adverb(token.word):
            break
        if phrase and phrase[0].capital and not token.capital:
            break
        phrase.append(token)
    return phrase


def _is_lead(tokens: Sequence[grammar.WordToken], at: int) -> bool:
    """Whether the word at an index only introduces a noun.

    It is an article, an adverb, or a possessive with something after it.
    """
    word = tokens[at].word
    if word in grammar.POSSESSIVES:
        following = tokens[at + 1].word if at + 1 < len(tokens) else "."
        return following not in grammar.EMPTY
    return word in grammar.DETERMINERS or grammar.is_adverb(word)


def _find_owner(tokens: Sequence[grammar.WordToken], at: int) -> Filler | None:
    """Owner of the thing at an index, or None.

    It is a possessive before the thing, or a name with 's.
    """
    for i in range(at - 1, max(-1, at - 4), -1):
        word = tokens[i].word
        if word in grammar.POSSESSIVES and word in grammar.PRONOUNS:
            return pronoun(word)
        if word == "'s":
            return _read_phrase_before(tokens, i - 1)
        if word in grammar.EMPTY:
            return None
    return None
