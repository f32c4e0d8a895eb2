"""Problems read by a parse from a file (`tools/mine_rivals.py` writes it) in place of our own grammar.

Emami et al. (2018) parse too. A problem is parsed with one and the same name for every mention of every candidate,
articles included: the parser never sees who is who, so that a problem and its switched variant have one parse, and the
hunter stays consistent whatever the parser makes of a name. What cannot be read from the parse is left to the grammar,
and so is evidence: nobody parses a whole corpus ahead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winokit.methods.hunting import dependencies as deps
from winokit.methods.hunting.dependencies import DependencyNode
from winokit.methods.hunting.reading import (
    POSSESSOR,
    SUBJECT,
    TAKE_AN_INFINITIVE,
    Predicate,
    ProblemReading,
    as_predicate,
    read,
)
from winokit.problem import Problem
from winokit.text.clauses import is_content, take_apart
from winokit.text.english import ENGLISH
from winokit.text.grammar import AUXILIARIES, CONTRASTS
from winokit.text.parses import ParseFile

STAND_IN, STAND_INS = "Alex", "Romans"
"""What the parser sees for every candidate: a name, or where all candidates are plurals, a plural one."""


@dataclass(frozen=True)
class Masked:
    """A problem's text with stand-ins for its candidates and for its blank."""

    text: str
    named: Mapping[int, int]
    """Where a stand-in begins, to its candidate."""
    blank: int
    shifts: Sequence[tuple[int, int]]
    """From which place on how much is to be added for the place in the problem's own text."""

    def original(self, place: int) -> int:
        """A place outside the stand-ins as one of the problem's own text."""
        return place + max((shift for shift in self.shifts if shift[0] <= place), default=(0, 0))[1]


def mask(problem: Problem) -> Masked:
    """A problem's text as the parser sees it: the same with the candidates in each other's place.

    >>> mask(Problem("The man could not lift his son because ", " was weak.", ("the man", "his son"), 0, "he")).text
    'Alex could not lift Alex because he was weak.'
    """
    stand_in = STAND_INS if all(map(ENGLISH.is_plural, problem.candidates)) else STAND_IN
    blank = len(problem.before)
    places: list[tuple[int, int, int | None]] = [(blank, blank + 1, None)]
    for mention in ENGLISH.mentions(problem.text, problem.candidates):
        article = ENGLISH.article_before(problem.text, mention.start)
        places.append((article.start() if article else mention.start, mention.end, mention.candidate))
    text, at, named, shifts, blank_at = "", 0, {}, [], 0
    for start, end, candidate in sorted(places, key=lambda place: place[0]):
        text += problem.text[at:start]
        if candidate is None:
            blank_at = len(text)
        else:
            named[len(text)] = candidate
        text += (problem.pronoun or stand_in) if candidate is None else stand_in
        shifts.append((len(text), end - len(text)))
        at = end
    return Masked(text + problem.text[at:], named, blank_at, shifts)


class ParseReader:
    """Reads problems by the parses of a file."""

    def __init__(self, parses: ParseFile) -> None:
        self.name, self.rows = parses.name, parses.rows

    def read(self, problem: Problem) -> ProblemReading | str:
        """A problem taken apart by its parse, else by our own grammar, or why it cannot be."""
        if problem.query is not None:
            return read(problem)
        parsed = self._read(problem)
        by_rules = read(problem) if isinstance(parsed, str) else parsed
        return parsed if isinstance(by_rules, str) else by_rules

    def _read(self, problem: Problem) -> ProblemReading | str:
        masked = mask(problem)
        if masked.text not in self.rows:
            return "the file has no parse of the problem"
        nodes = deps.nodes(self.rows[masked.text]["tokens"])
        named = {node.i: masked.named[node.idx] for node in nodes if node.idx in masked.named}
        blank = next((node for node in nodes if node.idx == masked.blank), None)
        if blank is None:
            return "the parser has the blank inside another word"
        together = _together(nodes, named, blank)
        if together is None:
            return "no two candidates have a part in one verb"
        place = _place_of(blank)
        if place is None:
            return "no predicate was found for the blank"
        verb, ((first, first_slot), (second, second_slot)) = together
        head, slot = place
        if head == verb:
            return "the blank and the candidates have a part in one verb"
        closed = frozenset({*named, blank.i})
        context, query = (_predicate(problem, masked, nodes, _word(node, closed), closed) for node in (verb, head))
        if context is None or query is None:
            return f"no predicate was found for the {'candidates' if context is None else 'blank'}"
        if second_slot == SUBJECT:
            first, first_slot, second, second_slot = second, second_slot, first, first_slot
        contrast = _is_contrast(nodes, verb, head)
        return ProblemReading(context, query, named[first], named[second], first_slot, second_slot, slot, contrast)


def _together(
    nodes: Sequence[DependencyNode], named: Mapping[int, int], blank: DependencyNode
) -> tuple[DependencyNode, tuple[tuple[int, str], tuple[int, str]]] | None:
    """A verb in which two candidates have a part, and their slots: the nearest before the blank, else the first."""
    verbs = []
    for verb in filter(deps.is_verb, nodes):
        parts = sorted((node.i, slot) for slot, node in deps.slots(verb).items() if node.i in named)
        other = next((part for part in parts if named[part[0]] != named[parts[0][0]]), None)
        if other is not None:
            verbs.append((verb, (parts[0], other)))
    before = [one for one in verbs if max(one[0].i, one[1][1][0]) < blank.i]
    return before[-1] if before else verbs[0] if verbs else None


def _place_of(blank: DependencyNode) -> tuple[DependencyNode, str] | None:
    """The word the blank goes with, and its slot there."""
    if blank.dep_ == "poss":
        return blank.head, POSSESSOR
    verb = next(filter(deps.is_verb, deps.path_up(blank)), None)
    slot = None if verb is None else next((slot for slot, node in deps.slots(verb).items() if node == blank), None)
    if verb is None or slot is None:
        return None
    while (after := _infinitive(verb)) is not None and deps.subject(after) == blank:
        verb = after
        slot = next(slot for slot, node in deps.slots(verb).items() if node == blank)
    return verb, slot


def _infinitive(verb: DependencyNode) -> DependencyNode | None:
    """The verb that says what "wanted to" or "was eager to" only leads up to."""
    for above in (verb, *(child for child in verb.children if child.dep_ == "acomp")):
        for child in above.children:
            if child.dep_ == "xcomp" and deps.is_verb(child) and deps.said(above) in TAKE_AN_INFINITIVE:
                return child
    return None


def _word(verb: DependencyNode, closed: frozenset[int]) -> DependencyNode:
    """The word that carries a verb's predicate: the verb, or what "is" or "has" is said of."""
    complements = [node for node in verb.children if node.dep_ in ("acomp", "attr", "oprd") and node.i not in closed]
    return complements[0] if complements and deps.said(verb) in AUXILIARIES else verb


def _predicate(
    problem: Problem, masked: Masked, nodes: Sequence[DependencyNode], head: DependencyNode, closed: frozenset[int]
) -> Predicate | None:
    """The words around a head as a predicate in the words of the problem."""
    run = deps.stretch(nodes, head, closed)
    start, end = masked.original(run[0].idx), masked.original(run[-1].idx) + len(run[-1].text)
    pieces = [piece for piece in take_apart(problem) if piece.start < end and start < piece.end]
    place = masked.original(head.idx)
    at = next((i for i, piece in enumerate(pieces) if piece.start <= place < piece.end), None)
    if at is not None and pieces[at].word in AUXILIARIES:
        at = next((i for i in range(at + 1, len(pieces)) if is_content(pieces[i])), None)
    if at is None or any(piece.candidate is not None or piece.blank for piece in pieces):
        return None
    return as_predicate(pieces, at, problem.text, passive=deps.is_passive(head))


def _is_contrast(nodes: Sequence[DependencyNode], first: DependencyNode, second: DependencyNode) -> bool:
    """Whether "but", "although" and the like stand between two clauses, or open one of them."""
    between = nodes[min(first.i, second.i) : max(first.i, second.i)]
    opening = [child for top in (deps.clause(first), deps.clause(second)) for child in top.children if child.i < top.i]
    return any(deps.said(node) in CONTRASTS for node in (*between, *opening))
