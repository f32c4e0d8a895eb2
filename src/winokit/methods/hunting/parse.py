"""Problems read by a parse from a file (`tools/mine_rivals.py` writes it) in place of our own grammar.

Emami et al. (2018) parse too. A problem is parsed with one and the same name for every mention of every candidate,
articles included: the parser never sees who is who, so that a problem and its switched variant have one parse, and the
hunter stays consistent whatever the parser makes of a name. What cannot be read from the parse is left to the grammar,
and so is evidence: nobody parses a whole corpus ahead.

Labels and tags are those of spaCy's English models (ClearNLP's dependencies, Penn tags). Passives are turned round, as
everywhere in this package, and a verb without a subject of its own has the one it shares: of the verb it is joined to,
of the verb it completes, or the noun it belongs to.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from winokit.methods.hunting import reading
from winokit.methods.hunting.reading import OBJECT, POSSESSOR, SUBJECT, Predicate, ProblemReading
from winokit.problem import Problem
from winokit.text.clauses import is_content, take_apart
from winokit.text.english import ENGLISH
from winokit.text.grammar import AUXILIARIES, CONTRASTS, TAKE_AN_INFINITIVE
from winokit.text.parses import ParseFile

STAND_IN = "Alex"
STAND_INS = "Romans"
"""What the parser sees for every candidate: a name, or where all candidates are plurals, a plural one."""
SUBJECTS = frozenset("nsubj nsubjpass csubj csubjpass".split())
CLAUSES = frozenset("ROOT advcl ccomp relcl acl parataxis csubj csubjpass pcomp".split())
SHARE_A_SUBJECT = frozenset("conj advcl pcomp xcomp".split())
COMPLEMENTS = frozenset("acomp attr oprd conj dobj pobj prep".split())
"""What may stand between "is" or "has" and the word that carries the predicate: "is weak", "is in trouble"."""
MAY_HAVE_THE_PREPOSITION = frozenset("dobj acomp attr oprd advmod prt".split())
"""A parser may hang "into the cup" on the water that was poured; "taller than Ann" it must hang on "taller"."""
RECIPIENT = "to"
"""The slot of Eve in "gave Eve a book" and in "gave a book to Eve"."""


@dataclass(eq=False)
class DependencyNode:
    """A word of a parse: its number, place, spelling and grammar, what it hangs on and what hangs on it."""

    i: int
    idx: int
    text: str
    pos_: str
    tag_: str
    dep_: str
    head: "DependencyNode" = field(init=False, repr=False)
    children: "list[DependencyNode]" = field(default_factory=list, repr=False)


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
    text = ""
    at = 0
    named = {}
    shifts = []
    blank_at = 0
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


def read_parsed(problem: Problem, parses: ParseFile) -> ProblemReading | str:
    """A problem taken apart by its parse in a file, else by our own grammar, or why it cannot be."""
    if problem.query is not None:
        return reading.read(problem)
    parsed = _read(problem, parses)
    by_rules = reading.read(problem) if isinstance(parsed, str) else parsed
    return parsed if isinstance(by_rules, str) else by_rules


def _read(problem: Problem, parses: ParseFile) -> ProblemReading | str:
    masked = mask(problem)
    if masked.text not in parses.rows:
        return "the file has no parse of the problem"
    nodes = tree(parses.rows[masked.text]["tokens"])
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
    for verb in filter(is_verb, nodes):
        parts = sorted((node.i, slot) for slot, node in slots(verb).items() if node.i in named)
        other = next((part for part in parts if named[part[0]] != named[parts[0][0]]), None)
        if other is not None:
            verbs.append((verb, (parts[0], other)))
    before = [(verb, parts) for verb, parts in verbs if max(verb.i, parts[1][0]) < blank.i]
    return before[-1] if before else verbs[0] if verbs else None


def _place_of(blank: DependencyNode) -> tuple[DependencyNode, str] | None:
    """The word the blank goes with, and its slot there."""
    if blank.dep_ == "poss":
        return blank.head, POSSESSOR
    verb = next(filter(is_verb, path_up(blank)), None)
    slot = None if verb is None else next((slot for slot, node in slots(verb).items() if node == blank), None)
    if verb is None or slot is None:
        return None
    while (after := _infinitive(verb)) is not None and subject(after) == blank:
        verb = after
        slot = next(slot for slot, node in slots(verb).items() if node == blank)
    return verb, slot


def _infinitive(verb: DependencyNode) -> DependencyNode | None:
    """The verb that says what "wanted to" or "was eager to" only leads up to."""
    for above in (verb, *(child for child in verb.children if child.dep_ == "acomp")):
        for child in above.children:
            if child.dep_ == "xcomp" and is_verb(child) and said(above) in TAKE_AN_INFINITIVE:
                return child
    return None


def _word(verb: DependencyNode, closed: frozenset[int]) -> DependencyNode:
    """The word that carries a verb's predicate: the verb, or what "is" or "has" is said of."""
    complements = [node for node in verb.children if node.dep_ in ("acomp", "attr", "oprd") and node.i not in closed]
    return complements[0] if complements and said(verb) in AUXILIARIES else verb


def _predicate(
    problem: Problem, masked: Masked, nodes: Sequence[DependencyNode], head: DependencyNode, closed: frozenset[int]
) -> Predicate | None:
    """The words around a head as a predicate in the words of the problem."""
    run = stretch(nodes, head, closed)
    start = masked.original(run[0].idx)
    end = masked.original(run[-1].idx) + len(run[-1].text)
    pieces = [piece for piece in take_apart(problem) if piece.start < end and start < piece.end]
    place = masked.original(head.idx)
    at = next((i for i, piece in enumerate(pieces) if piece.start <= place < piece.end), None)
    if at is not None and pieces[at].word in AUXILIARIES:
        at = next((i for i in range(at + 1, len(pieces)) if is_content(pieces[i])), None)
    if at is None or any(piece.candidate is not None or piece.blank for piece in pieces):
        return None
    return reading.as_predicate(pieces, at, problem.text, passive=is_passive(head))


def _is_contrast(nodes: Sequence[DependencyNode], first: DependencyNode, second: DependencyNode) -> bool:
    """Whether "but", "although" and the like stand between two clauses, or open one of them."""
    between = nodes[min(first.i, second.i) : max(first.i, second.i)]
    opening = [child for top in (clause(first), clause(second)) for child in top.children if child.i < top.i]
    return any(said(node) in CONTRASTS for node in (*between, *opening))


def tree(tokens: Iterable[tuple[str, int, str, str, str, int]]) -> list[DependencyNode]:
    """The words of a parse as a tree, from the rows of a file of parses."""
    rows = list(tokens)
    made = [DependencyNode(i, at, word, part, tag, label) for i, (word, at, part, tag, label, _) in enumerate(rows)]
    for node, row in zip(made, rows, strict=True):
        node.head = made[row[5]]
        if node.head is not node:
            node.head.children.append(node)
    return made


def said(node: DependencyNode) -> str:
    """The word of a node as the grammar knows it."""
    return node.text.casefold().replace("’", "'")


def is_verb(node: DependencyNode) -> bool:
    """Whether a node is a verb or an auxiliary."""
    return node.pos_ in ("VERB", "AUX")


def path_up(node: DependencyNode) -> Iterator[DependencyNode]:
    """A node and all it hangs on, up to the root."""
    yield node
    while node.dep_ != "ROOT":
        node = node.head
        yield node


def clause(node: DependencyNode) -> DependencyNode:
    """What a node's clause hangs on: its verb."""
    return next(n for n in path_up(node) if n.dep_ in CLAUSES or (n.dep_ == "conj" and is_verb(n)))


def carrier(node: DependencyNode) -> DependencyNode | None:
    """The verb whose subject a predicate's word goes with: itself, or the "is" or "has" that it completes."""
    if is_verb(node):
        return node
    for above in path_up(node):
        if is_verb(above):
            return above if said(above) in AUXILIARIES else None
        if above.dep_ not in COMPLEMENTS:
            return None
    return None


def is_passive(verb: DependencyNode) -> bool:
    """Whether a verb stands in the passive."""
    if any(child.dep_ in ("auxpass", "nsubjpass", "csubjpass") for child in verb.children):
        return True
    return verb.dep_ == "acl" and verb.tag_ == "VBN"


def subject(verb: DependencyNode) -> DependencyNode | None:
    """What stands as a verb's subject, its own or one it shares."""
    own = _child(verb, SUBJECTS)
    if own is not None:
        return own
    if verb.dep_ == "acl":
        return verb.head if verb.tag_ in ("VBG", "VBN") else None
    if verb.dep_ not in SHARE_A_SUBJECT:
        return None
    if verb.dep_ == "xcomp" and (thing := _child(verb.head, ("dobj",))) is not None:
        return thing
    above = carrier(verb.head.head if verb.dep_ == "pcomp" else verb.head)
    return None if above is None else subject(above)


def slots(verb: DependencyNode) -> dict[str, DependencyNode]:
    """What fills each slot of a verb: subject, object, or a preposition."""
    fillers: dict[str, DependencyNode] = {}
    above = subject(verb)
    if above is not None:
        fillers[OBJECT if is_passive(verb) else SUBJECT] = above
    for child in verb.children:
        inside = _child(child, ("pobj",))
        if child.dep_ == "dobj":
            fillers.setdefault(OBJECT, child)
        elif child.dep_ == "dative":
            fillers.setdefault(RECIPIENT, child if inside is None else inside)
        elif child.dep_ == "agent" and inside is not None:
            fillers.setdefault(SUBJECT, inside)
    for preposition in _prepositions(verb):
        inside = _child(preposition, ("pobj",))
        if inside is not None:
            fillers.setdefault(said(preposition), inside)
    return {slot: meant(node) for slot, node in fillers.items()}


def meant(node: DependencyNode) -> DependencyNode:
    """What a relative pronoun stands for; any other node is itself."""
    if not node.tag_.startswith("W"):
        return node
    return next((above.head for above in path_up(node) if above.dep_ == "relcl"), node)


def stretch(nodes: Sequence[DependencyNode], head: DependencyNode, closed: frozenset[int]) -> list[DependencyNode]:
    """The words of a clause around its head, up to its subject and up to whatever is closed, in one piece."""
    above_head = {node.i for node in path_up(head)}

    def belongs(node: DependencyNode) -> bool:
        if node.dep_ in ("punct", "mark") or (node.dep_ == "cc" and is_verb(node.head)) or clause(node) != clause(head):
            return False
        beside = [above for above in path_up(node) if above.i not in above_head]
        return not any(above.i in closed or above.dep_ in SUBJECTS or above.dep_ == "expl" for above in beside)

    start = end = head.i
    while start and belongs(nodes[start - 1]):
        start -= 1
    while end + 1 < len(nodes) and belongs(nodes[end + 1]):
        end += 1
    return list(nodes[start : end + 1])


def _child(node: DependencyNode, labels: Iterable[str]) -> DependencyNode | None:
    return next((child for child in node.children if child.dep_ in labels), None)


def _prepositions(verb: DependencyNode) -> Iterator[DependencyNode]:
    """The prepositions of a verb, then those of what completes it, but for "of", which belongs to a noun."""
    yield from _chained(verb)
    for child in verb.children:
        if child.dep_ in MAY_HAVE_THE_PREPOSITION:
            yield from (preposition for preposition in _chained(child) if said(preposition) != "of")


def _chained(node: DependencyNode) -> Iterator[DependencyNode]:
    """Prepositions that hang on a node or on one another: "out of"."""
    for child in node.children:
        if child.dep_ == "prep":
            yield child
            yield from _chained(child)
