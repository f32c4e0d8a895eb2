"""A problem taken apart: the clause of the blank, the clause of the candidates, and who does what in each.

After Emami et al., "A Knowledge Hunting Framework for Common Sense Reasoning" (EMNLP 2018), who describe a problem by
the predicates of its two clauses, two entities, and a pronoun. They parse, and so may you (`parse.py`);
this is a small grammar of our own (docs/hunting.md has it on one page):

1. Clauses are cut at punctuation and connectives. The clause of the blank is the *query clause*; the nearest clause
   that names two candidates, with no cut between them, is the *context clause*.
2. The text between the candidates is the context's *predicate*, without the article or possessive of the second. Its
   *head* is the first word that is no auxiliary, negation or adverb; of "tried to call" it is "call".
3. A candidate fills a *slot* of the head: `subject`, `object`, or a preposition ("yelled **at** Kevin"). Passives are
   turned round. The *agent* is the candidate in the subject's slot, or the first one named where none is; the *patient*
   is the other.
4. The query clause has a predicate and the slot of the blank in the same way; its *special word* is taken to be its
   last word that is not a function word. The hunter sees one problem, never its twin, so it cannot know better.

No word of a candidate is ever part of a predicate: with the candidates in each other's place everything stays as it
was, except which candidate is the agent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from winokit.problem import Problem
from winokit.text import grammar
from winokit.text.clauses import ClausePiece, clause_around, find_cuts, is_content, take_apart
from winokit.text.english import is_possessive

SUBJECT = "subject"
OBJECT = "object"
POSSESSOR = "possessor"
SUBJECT_PRONOUNS = frozenset("i we you he she they".split())


@dataclass(frozen=True, slots=True)
class Predicate:
    """A clause's words, with the one that carries its meaning.

    `head` is that word, `negated` whether it is negated, and `passive` whether it is in the passive.
    """

    text: str
    head: str
    special: str
    """The last word that is not a function word, or the head if there is no other."""
    negated: bool
    passive: bool


@dataclass(frozen=True, slots=True)
class ProblemReading:
    """A problem taken apart: two predicates, and the slots in them.

    `context` is the clause with both candidates, `query` the one with the blank. `agent` and `patient` are indices of
    candidates. A slot is `subject`, `object`, `possessor` or a preposition.
    """

    context: Predicate
    query: Predicate
    agent: int
    patient: int
    agent_slot: str
    patient_slot: str
    blank_slot: str
    contrast: bool
    """Whether "but", "although" or a similar word is between the clauses."""


def read(problem: Problem) -> ProblemReading | str:
    """Take a problem apart, or say why that fails.

    >>> son = Problem("The man could not lift his son because ", " was so weak.", ("the man", "his son"), 0, "he")
    >>> reading = read(son)
    >>> reading.context.text, reading.context.head, reading.query.text, reading.query.special
    ('could not lift', 'lift', 'was so weak', 'weak')
    >>> reading.agent, reading.agent_slot, reading.patient_slot, reading.blank_slot
    (0, 'subject', 'object', 'subject')
    """
    if problem.query is not None:
        return "a yes/no judgement names one candidate only"
    text = problem.text
    pieces = take_apart(problem)
    blank = next(index for index, piece in enumerate(pieces) if piece.blank)
    cuts = find_cuts(pieces)
    pair = _find_pair(pieces, cuts, blank)
    if pair is None:
        return "no two candidates are named together in one clause"
    left, right = pair
    begin, stop = clause_around(cuts, blank, len(pieces))
    # If the candidates are in the same clause, the query clause is the part beyond them.
    if right < blank:
        begin = max(begin, right + 1)
    else:
        stop = min(stop, left)
    query = _read_query(pieces, blank, (begin, stop), text, problem)
    if isinstance(query, str):
        return query
    context = _read_context(pieces, cuts, pair, text)
    if isinstance(context, str):
        return context
    query_predicate, blank_slot = query
    context_predicate, slots = context
    agent_index, patient_index = pair
    agent_slot, patient_slot = slots
    if patient_slot == SUBJECT:
        patient_index, agent_index = pair
        patient_slot, agent_slot = slots
    context_begin, _ = clause_around(cuts, left, len(pieces))
    contrast = _is_after_contrast(pieces, begin) or _is_after_contrast(pieces, context_begin)
    return ProblemReading(
        context_predicate,
        query_predicate,
        agent=pieces[agent_index].candidate or 0,
        patient=pieces[patient_index].candidate or 0,
        agent_slot=agent_slot,
        patient_slot=patient_slot,
        blank_slot=blank_slot,
        contrast=contrast,
    )


def _is_after_contrast(pieces: Sequence[ClausePiece], start: int) -> bool:
    """Whether "but" or a similar word precedes a clause."""
    return start > 0 and pieces[start - 1].word in grammar.CONTRASTS


def _find_pair(pieces: Sequence[ClausePiece], cuts: Sequence[int], blank: int) -> tuple[int, int] | None:
    """Indices of two neighbouring mentions of different candidates in one clause.

    The last such pair before the blank, else the first of all. None if there is none.
    """
    mention_indices = [index for index, piece in enumerate(pieces) if piece.candidate is not None]
    first_pair = None
    pair_before = None
    for left, right in pairwise(mention_indices):
        is_same = pieces[left].candidate == pieces[right].candidate
        is_cut = any(left < cut < right for cut in (*cuts, blank))
        if is_same or is_cut:
            continue
        first_pair = first_pair or (left, right)
        if right < blank:
            pair_before = (left, right)
    return pair_before or first_pair


def _read_context(
    pieces: Sequence[ClausePiece], cuts: Sequence[int], pair: tuple[int, int], text: str
) -> tuple[Predicate, tuple[str, str]] | str:
    """Predicate of the candidates' clause, and the candidates' slots.

    `pair` are the indices of their mentions, and slots are in the same order. A text says why the clause cannot be
    read.
    """
    left, right = pair
    between = _drop_lead(pieces[left + 1 : right])
    if not between:
        return "the candidates stand side by side"
    if "'s" in (between[0].word, pieces[right + 1].word if right + 1 < len(pieces) else ""):
        return "a candidate is named only as the owner of something"
    between = _drop_phrase_of_name(between)
    lead = _drop_lead(pieces[clause_around(cuts, left, len(pieces))[0] : left])
    before = lead[-1].word if lead else ""
    if any(is_content(piece) for piece in between):
        if before in grammar.PREPOSITIONS:
            return "a candidate is named only as a part of something"
        words = between
        slots = (SUBJECT, _find_slot(between))
    else:
        start = _find_last_verb(lead)
        if start is None:
            return "no predicate was found for the candidates"
        words = lead[start:]
        slots = (_find_slot(lead), _find_slot(between))
    predicate = None if words[0].word in grammar.PREPOSITIONS else _make_predicate(words, text)
    if predicate is None:
        return "no predicate was found for the candidates"
    if predicate.passive:
        slots = (_turn_passive(slots[0]), _turn_passive(slots[1]))
    if slots[0] == slots[1]:
        return "the candidates have the same part in their clause"
    return predicate, slots


def _read_query(
    pieces: Sequence[ClausePiece], blank: int, clause: tuple[int, int], text: str, problem: Problem
) -> tuple[Predicate, str] | str:
    """Predicate of the blank's clause, and the slot of the blank.

    `clause` are the first piece of the clause and the one after its last. The predicate ends where the clause names a
    candidate. A text says why the clause cannot be read.
    """
    after = pieces[blank + 1 : clause[1]]
    name_index = next((i for i, piece in enumerate(after) if piece.candidate is not None), None)
    after = after if name_index is None else _drop_lead(after[:name_index])
    lead = _drop_lead(pieces[clause[0] : blank])
    if is_possessive(problem.pronoun, problem.after) or (after and after[0].word == "'s"):
        words = [piece for piece in after if piece.word != "'s"]
        slot = POSSESSOR
    elif _is_object(lead, after):
        start = _find_last_verb(lead)
        words = [] if start is None else list(lead[start:])
        slot = _find_slot(lead)
    else:
        words = list(after)
        slot = SUBJECT
    predicate = _make_predicate(words, text)
    if predicate is None:
        return "no predicate was found for the blank"
    return predicate, _turn_passive(slot) if predicate.passive else slot


def _is_object(lead: Sequence[ClausePiece], after: Sequence[ClausePiece]) -> bool:
    """Whether the blank follows a verb or preposition, as an object.

    `lead` are the pieces before the blank, `after` those behind it.
    """
    if not lead or lead[-1].candidate is not None:
        return False
    if after and (after[0].word in grammar.AUXILIARIES or grammar.is_verb_like(after[0].word)):
        return False
    return lead[-1].word in grammar.PREPOSITIONS or _find_last_verb(lead) is not None


def _drop_lead(pieces: Sequence[ClausePiece]) -> Sequence[ClausePiece]:
    """Drop the article or possessive of a following name.

    Up to two content words between that and the name are dropped too: they move with the name when candidates are
    exchanged.
    """
    for back in (1, 2, 3):
        if len(pieces) < back:
            break
        last = pieces[-back]
        if last.word in grammar.DETERMINERS:
            return pieces[:-back]
        if not is_content(last):
            break
    return pieces


def _drop_phrase_of_name(between: Sequence[ClausePiece]) -> Sequence[ClausePiece]:
    """Drop a prepositional phrase that belongs to the preceding name.

    An example is "(the painting) in the hall was sold to".
    """
    if between[0].word not in grammar.PREPOSITIONS or not any(map(is_content, between)):
        return between
    for index, piece in enumerate(between):
        if piece.word in grammar.AUXILIARIES or grammar.is_verb_like(piece.word):
            return between[index:]
    return between


def _find_slot(lead: Sequence[ClausePiece]) -> str:
    """Slot of a name that follows these pieces.

    It is the last piece if that is a preposition, else `object`.
    """
    if lead and lead[-1].word in grammar.PREPOSITIONS:
        return lead[-1].word
    return OBJECT


def _turn_passive(slot: str) -> str:
    """Slot in the active clause for a slot of a passive one."""
    return {SUBJECT: OBJECT, "by": SUBJECT}.get(slot, slot)


def _find_last_verb(lead: Sequence[ClausePiece]) -> int | None:
    """Index of the last verb, or of its first auxiliary.

    A word is a verb if it looks like one, or if it follows an auxiliary, a subject or "to". None if there is no verb.
    """
    verb = None
    for index, piece in enumerate(lead):
        if not is_content(piece):
            continue
        if grammar.is_verb_like(piece.word) or _must_be_verb(lead, index):
            verb = index
    while verb and grammar.goes_with_a_verb(lead[verb - 1].word):
        verb -= 1
    return verb


def _must_be_verb(lead: Sequence[ClausePiece], index: int) -> bool:
    """Whether the piece at an index follows an auxiliary, subject or "to"."""
    for piece in reversed(lead[:index]):
        if not grammar.is_aside(piece.word):
            return piece.word in grammar.AUXILIARIES or piece.word in SUBJECT_PRONOUNS or piece.word == "to"
    return False


def _make_predicate(words: Sequence[ClausePiece], text: str) -> Predicate | None:
    """Predicate of some pieces, or None without a word to carry it."""
    head = _find_head(words)
    if head is None or any(piece.candidate is not None for piece in words):
        return None
    follows_be = any(piece.word in grammar.BE for piece in words[:head])
    is_passive = follows_be and grammar.is_participle(words[head].word)
    return as_predicate(words, head, text, passive=is_passive)


def as_predicate(words: Sequence[ClausePiece], head: int, text: str, *, passive: bool) -> Predicate:
    """Predicate of some pieces, whose head has this index."""
    special = next((piece.word for piece in reversed(words) if is_content(piece)), words[head].word)
    negated = any(piece.word in grammar.NEGATIONS for piece in words[: head + 1])
    spelling = " ".join(text[words[0].start : words[-1].end].split())
    return Predicate(spelling, words[head].word, special, negated, passive)


def _find_head(words: Sequence[ClausePiece]) -> int | None:
    """Index of the word that carries a predicate, or None.

    It is the first content word, or an infinitive that depends on it.
    """
    head = next((index for index, piece in enumerate(words) if is_content(piece)), None)
    if head is None:
        return None
    for index in range(head + 1, len(words) - 1):
        follows_verb = words[index - 1].word in grammar.TAKE_AN_INFINITIVE
        if words[index].word == "to" and follows_verb and is_content(words[index + 1]):
            head = index + 1
    return head
