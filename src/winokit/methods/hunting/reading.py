"""A problem taken apart: the clause of the blank, the clause of the candidates, and who does what in each.

After Emami et al., "A Knowledge Hunting Framework for Common Sense Reasoning" (EMNLP 2018), who describe a problem by
the predicates of its two clauses, two entities, and a pronoun. They parse, and so may you (`parse.py`);
this is a small grammar of our own (docs/hunting.md has it on one page):

1. Clauses are cut at punctuation and connectives. The clause of the blank is the *query clause*; the nearest clause
   that names two candidates, with no cut between them, is the *context clause*.
2. What stands between the candidates is the context's *predicate*, without the article or possessive of the second. Its
   *head* is the first word that is no auxiliary, negation or adverb; of "tried to call" it is "call".
3. A candidate fills a *slot* of the head: `subject`, `object`, or a preposition ("yelled **at** Kevin"). Passives are
   turned round. The *agent* is the candidate in the subject's slot, or the first one named where none is; the *patient*
   is the other.
4. The query clause has a predicate and the slot of the blank in the same way; its *special word* is taken to be its
   last word that is not a function word. The hunter sees one problem, never its twin, so it cannot know better.

No word of a candidate is ever part of a predicate: with the candidates in each other's place everything stays as it
was, but for who is the agent.
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
    """What a clause says: its words as they stand in the text, and the one that carries it."""

    text: str
    head: str
    special: str
    """The last word that is not a function word; the head itself where there is no other."""
    negated: bool
    passive: bool


@dataclass(frozen=True, slots=True)
class ProblemReading:
    """A problem as the hunter sees it."""

    context: Predicate
    query: Predicate
    agent: int
    patient: int
    agent_slot: str
    patient_slot: str
    blank_slot: str
    contrast: bool
    """Whether "but", "although" and the like stand between the clauses."""


def read(problem: Problem) -> ProblemReading | str:
    """A problem taken apart, or why it cannot be.

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
    blank = next(i for i, piece in enumerate(pieces) if piece.blank)
    cuts = find_cuts(pieces)
    pair = _pair(pieces, cuts, blank)
    if pair is None:
        return "no two candidates are named together in one clause"
    begin, stop = clause_around(cuts, blank, len(pieces))
    # Where the candidates stand in the same clause, what is beyond them.
    clause = (max(begin, pair[1] + 1), stop) if pair[1] < blank else (begin, min(stop, pair[0]))
    query = _query(pieces, blank, clause, text, problem)
    if isinstance(query, str):
        return query
    context = _context(pieces, cuts, pair, text)
    if isinstance(context, str):
        return context
    predicate, slots = context
    first, second = (pieces[i].candidate or 0 for i in pair)
    if slots[1] == SUBJECT:
        first, second, slots = second, first, (slots[1], slots[0])
    begins = clause[0], clause_around(cuts, pair[0], len(pieces))[0]
    contrast = any(begin > 0 and pieces[begin - 1].word in grammar.CONTRASTS for begin in begins)
    return ProblemReading(predicate, query[0], first, second, *slots, query[1], contrast)


def _pair(pieces: Sequence[ClausePiece], cuts: Sequence[int], blank: int) -> tuple[int, int] | None:
    """Two mentions of different candidates in one clause: the nearest before the blank, else the first after it."""
    named = [i for i, piece in enumerate(pieces) if piece.candidate is not None]
    pairs = [
        (left, right)
        for left, right in pairwise(named)
        if pieces[left].candidate != pieces[right].candidate
        and not any(left < cut < right for cut in cuts)
        and not left < blank < right
    ]
    before = [pair for pair in pairs if pair[1] < blank]
    return before[-1] if before else pairs[0] if pairs else None


def _context(
    pieces: Sequence[ClausePiece], cuts: Sequence[int], pair: tuple[int, int], text: str
) -> tuple[Predicate, tuple[str, str]] | str:
    """The context's predicate and the slots of the two candidates, in the order they are named."""
    left, right = pair
    between = _without_lead(pieces[left + 1 : right])
    if not between:
        return "the candidates stand side by side"
    if "'s" in (between[0].word, pieces[right + 1].word if right + 1 < len(pieces) else ""):
        return "a candidate is named only as the owner of something"
    between = _without_what_follows_the_name(between)
    lead = _without_lead(pieces[clause_around(cuts, left, len(pieces))[0] : left])
    before = lead[-1].word if lead else ""
    if any(is_content(piece) for piece in between):
        if before in grammar.PREPOSITIONS:
            return "a candidate is named only as a part of something"
        words = between
        slots = (SUBJECT, _slot(between))
    else:
        start = _verb_before(lead)
        if start is None:
            return "no predicate was found for the candidates"
        words = lead[start:]
        slots = (_slot(lead), _slot(between))
    predicate = None if words[0].word in grammar.PREPOSITIONS else _predicate(words, text)
    if predicate is None:
        return "no predicate was found for the candidates"
    if predicate.passive:
        slots = (_turned(slots[0]), _turned(slots[1]))
    if slots[0] == slots[1]:
        return "the candidates have the same part in their clause"
    return predicate, slots


def _query(
    pieces: Sequence[ClausePiece], blank: int, clause: tuple[int, int], text: str, problem: Problem
) -> tuple[Predicate, str] | str:
    """The predicate of the blank's clause, up to where it names a candidate, and the slot of the blank."""
    after = pieces[blank + 1 : clause[1]]
    named = next((i for i, piece in enumerate(after) if piece.candidate is not None), None)
    after = after if named is None else _without_lead(after[:named])
    lead = _without_lead(pieces[clause[0] : blank])
    if is_possessive(problem.pronoun, problem.after) or (after and after[0].word == "'s"):
        words = [piece for piece in after if piece.word != "'s"]
        slot = POSSESSOR
    elif _is_object(lead, after):
        start = _verb_before(lead)
        words = [] if start is None else list(lead[start:])
        slot = _slot(lead)
    else:
        words = list(after)
        slot = SUBJECT
    predicate = _predicate(words, text)
    if predicate is None:
        return "no predicate was found for the blank"
    return predicate, _turned(slot) if predicate.passive else slot


def _is_object(lead: Sequence[ClausePiece], after: Sequence[ClausePiece]) -> bool:
    """Whether the blank follows a verb or a preposition rather than opening the clause."""
    if not lead or lead[-1].candidate is not None:
        return False
    if after and (after[0].word in grammar.AUXILIARIES or grammar.is_verb_like(after[0].word)):
        return False
    return lead[-1].word in grammar.PREPOSITIONS or _verb_before(lead) is not None


def _without_lead(pieces: Sequence[ClausePiece]) -> Sequence[ClausePiece]:
    """Pieces before a name or the blank without its article or possessive and up to two words after that.

    They belong to the name, and a name takes its article along when candidates change places.
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


def _without_what_follows_the_name(between: Sequence[ClausePiece]) -> Sequence[ClausePiece]:
    """Words after a name without a phrase that belongs to it: "(the painting) in the hall was sold to"."""
    if between[0].word not in grammar.PREPOSITIONS or not any(map(is_content, between)):
        return between
    at = next((i for i, p in enumerate(between) if p.word in grammar.AUXILIARIES or grammar.is_verb_like(p.word)), None)
    return between if at is None else between[at:]


def _slot(lead: Sequence[ClausePiece]) -> str:
    """The slot that a name fills after some words."""
    return lead[-1].word if lead and lead[-1].word in grammar.PREPOSITIONS else OBJECT


def _turned(slot: str) -> str:
    """A slot of a passive clause as the active one has it."""
    return {SUBJECT: OBJECT, "by": SUBJECT}.get(slot, slot)


def _verb_before(lead: Sequence[ClausePiece]) -> int | None:
    """Where the last verb before a name begins, auxiliaries included: what looks like one, or stands where one must."""
    verb = None
    for i, piece in enumerate(lead):
        if not is_content(piece):
            continue
        previous = next((p for p in reversed(lead[:i]) if not grammar.is_aside(p.word)), None)
        where_one_must = previous is not None and (
            previous.word in grammar.AUXILIARIES or previous.word in SUBJECT_PRONOUNS or previous.word == "to"
        )
        if grammar.is_verb_like(piece.word) or where_one_must:
            verb = i
    while verb and grammar.goes_with_a_verb(lead[verb - 1].word):
        verb -= 1
    return verb


def _predicate(words: Sequence[ClausePiece], text: str) -> Predicate | None:
    """Some words as a predicate, or None where none of them could carry one."""
    head = _head(words)
    if head is None or any(piece.candidate is not None for piece in words):
        return None
    passive = any(piece.word in grammar.BE for piece in words[:head]) and grammar.is_participle(words[head].word)
    return as_predicate(words, head, text, passive=passive)


def as_predicate(words: Sequence[ClausePiece], head: int, text: str, *, passive: bool) -> Predicate:
    """Some words of a text as a predicate, where it is known which of them carries it."""
    special = next((piece.word for piece in reversed(words) if is_content(piece)), words[head].word)
    negated = any(piece.word in grammar.NEGATIONS for piece in words[: head + 1])
    spelling = " ".join(text[words[0].start : words[-1].end].split())
    return Predicate(spelling, words[head].word, special, negated, passive)


def _head(words: Sequence[ClausePiece]) -> int | None:
    """The word that carries a predicate: the first with a meaning of its own, or an infinitive that depends on it."""
    head = next((i for i, piece in enumerate(words) if is_content(piece)), None)
    if head is None:
        return None
    for i in range(head + 1, len(words) - 1):
        if words[i].word == "to" and words[i - 1].word in grammar.TAKE_AN_INFINITIVE and is_content(words[i + 1]):
            head = i + 1
    return head
