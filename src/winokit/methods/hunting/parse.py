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
"""The parser's word for every candidate: a name, or a plural one if all candidates are plurals."""
SUBJECTS = frozenset("nsubj nsubjpass csubj csubjpass".split())
CLAUSES = frozenset("ROOT advcl ccomp relcl acl parataxis csubj csubjpass pcomp".split())
SHARE_A_SUBJECT = frozenset("conj advcl pcomp xcomp".split())
COMPLEMENTS = frozenset("acomp attr oprd conj dobj pobj prep".split())
"""Labels between "is" or "has" and the word that carries the predicate: "is weak", "is in trouble"."""
MAY_HAVE_THE_PREPOSITION = frozenset("dobj acomp attr oprd advmod prt".split())
"""A parser may hang "into the cup" on the water that was poured; "taller than Ann" it must hang on "taller"."""
RECIPIENT = "to"
"""The slot of Eve in "gave Eve a book" and in "gave a book to Eve"."""


@dataclass(eq=False)
class DependencyNode:
    """A word of a parse, with its grammar, its head and its children.

    `i` is its number, `idx` its place in the text.
    """

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
    """The candidate of each stand-in, by its start."""
    blank: int
    shifts: Sequence[tuple[int, int]]
    """From which place on how much is to be added for the place in the problem's own text."""

    def original(self, place: int) -> int:
        """A place outside the stand-ins as one of the problem's own text."""
        return place + max((shift for shift in self.shifts if shift[0] <= place), default=(0, 0))[1]


def mask(problem: Problem) -> Masked:
    """A problem's text as the parser sees it.

    It is the same with the candidates in each other's place.

    >>> mask(Problem("The man could not lift his son because ", " was weak.", ("the man", "his son"), 0, "he")).text
    'Alex could not lift Alex because he was weak.'
    """
    are_plural = all(map(ENGLISH.is_plural, problem.candidates))
    stand_in = STAND_INS if are_plural else STAND_IN
    blank = len(problem.before)
    places: list[tuple[int, int, int | None]] = [(blank, blank + 1, None)]
    for mention in ENGLISH.mentions(problem.text, problem.candidates):
        article = ENGLISH.article_before(problem.text, mention.start)
        start = article.start() if article else mention.start
        places.append((start, mention.end, mention.candidate))
    text = ""
    at = 0
    candidate_at = {}
    shifts = []
    blank_at = 0
    for start, end, candidate in sorted(places, key=lambda place: place[0]):
        text += problem.text[at:start]
        if candidate is None:
            blank_at = len(text)
            text += problem.pronoun or stand_in
        else:
            candidate_at[len(text)] = candidate
            text += stand_in
        shifts.append((len(text), end - len(text)))
        at = end
    return Masked(text + problem.text[at:], candidate_at, blank_at, shifts)


def read_parsed(problem: Problem, parses: ParseFile) -> ProblemReading | str:
    """A problem taken apart by its parse in a file, or else by our grammar.

    If neither can read it, the reason is in its place.
    """
    if problem.query is not None:
        return reading.read(problem)
    parsed = _read_parse(problem, parses)
    by_rules = reading.read(problem) if isinstance(parsed, str) else parsed
    return parsed if isinstance(by_rules, str) else by_rules


def _read_parse(problem: Problem, parses: ParseFile) -> ProblemReading | str:
    """A problem taken apart by its parse, or why that is impossible."""
    masked = mask(problem)
    if masked.text not in parses.rows:
        return "the file has no parse of the problem"
    nodes = tree(parses.rows[masked.text]["tokens"])
    candidate_of_node = {node.i: masked.named[node.idx] for node in nodes if node.idx in masked.named}
    blank = next((node for node in nodes if node.idx == masked.blank), None)
    if blank is None:
        return "the parser has the blank inside another word"
    common_verb = _find_common_verb(nodes, candidate_of_node, blank)
    if common_verb is None:
        return "no two candidates have a part in one verb"
    blank_place = _find_slot_of_blank(blank)
    if blank_place is None:
        return "no predicate was found for the blank"
    verb, parts = common_verb
    head, slot = blank_place
    if head == verb:
        return "the blank and the candidates have a part in one verb"
    closed = frozenset({*candidate_of_node, blank.i})
    context = _make_predicate(problem, masked, nodes, _find_predicate_word(verb, closed), closed)
    query = _make_predicate(problem, masked, nodes, _find_predicate_word(head, closed), closed)
    if context is None:
        return "no predicate was found for the candidates"
    if query is None:
        return "no predicate was found for the blank"
    (first, first_slot), (second, second_slot) = parts
    if second_slot == SUBJECT:
        (second, second_slot), (first, first_slot) = parts
    return ProblemReading(
        context,
        query,
        agent=candidate_of_node[first],
        patient=candidate_of_node[second],
        agent_slot=first_slot,
        patient_slot=second_slot,
        blank_slot=slot,
        contrast=_is_contrast(nodes, verb, head),
    )


def _find_common_verb(
    nodes: Sequence[DependencyNode], named: Mapping[int, int], blank: DependencyNode
) -> tuple[DependencyNode, tuple[tuple[int, str], tuple[int, str]]] | None:
    """A verb in which two candidates have a part, and their slots.

    It is the nearest before the blank, else the first.
    """
    verbs = []
    for verb in filter(is_verb, nodes):
        parts = sorted((node.i, slot) for slot, node in slots(verb).items() if node.i in named)
        if not parts:
            continue
        first_part = parts[0]
        first_candidate = named[first_part[0]]
        other_part = next((part for part in parts if named[part[0]] != first_candidate), None)
        if other_part is not None:
            verbs.append((verb, (first_part, other_part)))
    verbs_before = [(verb, parts) for verb, parts in verbs if max(verb.i, parts[1][0]) < blank.i]
    if verbs_before:
        return verbs_before[-1]
    return verbs[0] if verbs else None


def _find_slot_of_blank(blank: DependencyNode) -> tuple[DependencyNode, str] | None:
    """The word to which the blank belongs, and its slot there."""
    if blank.dep_ == "poss":
        return blank.head, POSSESSOR
    verb = next(filter(is_verb, path_up(blank)), None)
    if verb is None:
        return None
    slot = _find_slot(verb, blank)
    if slot is None:
        return None
    while (infinitive := _find_infinitive(verb)) is not None and subject(infinitive) == blank:
        verb = infinitive
        slot = _find_slot(verb, blank) or slot
    return verb, slot


def _find_slot(verb: DependencyNode, filler: DependencyNode) -> str | None:
    """The slot of a verb that a node fills, or None."""
    return next((slot for slot, node in slots(verb).items() if node == filler), None)


def _find_infinitive(verb: DependencyNode) -> DependencyNode | None:
    """The infinitive that carries the meaning after "wanted to" or "was eager to"."""
    for above in (verb, *(child for child in verb.children if child.dep_ == "acomp")):
        for child in above.children:
            if child.dep_ == "xcomp" and is_verb(child) and said(above) in TAKE_AN_INFINITIVE:
                return child
    return None


def _find_predicate_word(verb: DependencyNode, closed: frozenset[int]) -> DependencyNode:
    """The word that carries a verb's predicate.

    It is the verb itself, or the complement of "is" or "has".
    """
    if said(verb) not in AUXILIARIES:
        return verb
    for child in verb.children:
        if child.dep_ in ("acomp", "attr", "oprd") and child.i not in closed:
            return child
    return verb


def _make_predicate(
    problem: Problem, masked: Masked, nodes: Sequence[DependencyNode], head: DependencyNode, closed: frozenset[int]
) -> Predicate | None:
    """The words around a head as a predicate in the words of the problem."""
    run = stretch(nodes, head, closed)
    start = masked.original(run[0].idx)
    end = masked.original(run[-1].idx) + len(run[-1].text)
    pieces = [piece for piece in take_apart(problem) if piece.start < end and start < piece.end]
    if any(piece.candidate is not None or piece.blank for piece in pieces):
        return None
    head_start = masked.original(head.idx)
    indices = range(len(pieces))
    head_index = next((i for i in indices if pieces[i].start <= head_start < pieces[i].end), None)
    if head_index is not None and pieces[head_index].word in AUXILIARIES:
        head_index = next((i for i in indices[head_index + 1 :] if is_content(pieces[i])), None)
    if head_index is None:
        return None
    return reading.as_predicate(pieces, head_index, problem.text, passive=is_passive(head))


def _is_contrast(nodes: Sequence[DependencyNode], first: DependencyNode, second: DependencyNode) -> bool:
    """Whether "but", "although" or a similar word is between two clauses.

    It may also open one of them.
    """
    start = min(first.i, second.i)
    end = max(first.i, second.i)
    connectives = list(nodes[start:end])
    for top in (clause(first), clause(second)):
        connectives += [child for child in top.children if child.i < top.i]
    return any(said(node) in CONTRASTS for node in connectives)


def tree(tokens: Iterable[tuple[str, int, str, str, str, int]]) -> list[DependencyNode]:
    """The words of a parse as a tree.

    They are the rows of a file of parses.
    """
    rows = list(tokens)
    nodes = []
    for index, (word, place, part, tag, label, _) in enumerate(rows):
        nodes.append(DependencyNode(index, place, word, part, tag, label))
    for node, row in zip(nodes, rows, strict=True):
        *_, head_index = row
        node.head = nodes[head_index]
        if node.head is not node:
            node.head.children.append(node)
    return nodes


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
    """The verb to which a node's clause belongs."""

    def heads_clause(above: DependencyNode) -> bool:
        return above.dep_ in CLAUSES or (above.dep_ == "conj" and is_verb(above))

    return next(filter(heads_clause, path_up(node)))


def carrier(node: DependencyNode) -> DependencyNode | None:
    """The verb whose subject belongs to a predicate's word.

    It is the word itself, or the "is" or "has" that it completes.
    """
    if is_verb(node):
        return node
    for above in path_up(node):
        if is_verb(above):
            return above if said(above) in AUXILIARIES else None
        if above.dep_ not in COMPLEMENTS:
            return None
    return None


def is_passive(verb: DependencyNode) -> bool:
    """Whether a verb is in the passive."""
    if any(child.dep_ in ("auxpass", "nsubjpass", "csubjpass") for child in verb.children):
        return True
    return verb.dep_ == "acl" and verb.tag_ == "VBN"


def subject(verb: DependencyNode) -> DependencyNode | None:
    """The subject of a verb, its own or a shared one."""
    own_subject = _find_child(verb, SUBJECTS)
    if own_subject is not None:
        return own_subject
    if verb.dep_ == "acl":
        return verb.head if verb.tag_ in ("VBG", "VBN") else None
    if verb.dep_ not in SHARE_A_SUBJECT:
        return None
    if verb.dep_ == "xcomp" and (thing := _find_child(verb.head, ("dobj",))) is not None:
        return thing
    above = carrier(verb.head.head if verb.dep_ == "pcomp" else verb.head)
    return None if above is None else subject(above)


def slots(verb: DependencyNode) -> dict[str, DependencyNode]:
    """The node in each slot of a verb: subject, object, or a preposition."""
    fillers: dict[str, DependencyNode] = {}
    above = subject(verb)
    if above is not None:
        fillers[OBJECT if is_passive(verb) else SUBJECT] = above
    for child in verb.children:
        inside = _find_child(child, ("pobj",))
        if child.dep_ == "dobj":
            fillers.setdefault(OBJECT, child)
        elif child.dep_ == "dative":
            fillers.setdefault(RECIPIENT, child if inside is None else inside)
        elif child.dep_ == "agent" and inside is not None:
            fillers.setdefault(SUBJECT, inside)
    for preposition in _list_prepositions(verb):
        inside = _find_child(preposition, ("pobj",))
        if inside is not None:
            fillers.setdefault(said(preposition), inside)
    return {slot: meant(node) for slot, node in fillers.items()}


def meant(node: DependencyNode) -> DependencyNode:
    """The noun that a relative pronoun means. Any other node is itself."""
    if not node.tag_.startswith("W"):
        return node
    return next((above.head for above in path_up(node) if above.dep_ == "relcl"), node)


def stretch(nodes: Sequence[DependencyNode], head: DependencyNode, closed: frozenset[int]) -> list[DependencyNode]:
    """The words of a clause around its head, in one piece.

    They end at its subject and at closed words.
    """
    above_head = {node.i for node in path_up(head)}

    def belongs(node: DependencyNode) -> bool:
        joins_verbs = node.dep_ == "cc" and is_verb(node.head)
        if node.dep_ in ("punct", "mark") or joins_verbs or clause(node) != clause(head):
            return False
        for above in path_up(node):
            ends_stretch = above.i in closed or above.dep_ in SUBJECTS or above.dep_ == "expl"
            if ends_stretch and above.i not in above_head:
                return False
        return True

    start = end = head.i
    while start and belongs(nodes[start - 1]):
        start -= 1
    while end + 1 < len(nodes) and belongs(nodes[end + 1]):
        end += 1
    return list(nodes[start : end + 1])


def _find_child(node: DependencyNode, labels: Iterable[str]) -> DependencyNode | None:
    return next((child for child in node.children if child.dep_ in labels), None)


def _list_prepositions(verb: DependencyNode) -> Iterator[DependencyNode]:
    """The prepositions of a verb, then those of its complements.

    "of" after a complement is left out, because it belongs to a noun.
    """
    yield from _list_chained(verb)
    for child in verb.children:
        if child.dep_ in MAY_HAVE_THE_PREPOSITION:
            yield from (preposition for preposition in _list_chained(child) if said(preposition) != "of")


def _list_chained(node: DependencyNode) -> Iterator[DependencyNode]:
    """Prepositions that hang on a node or on one another: "out of"."""
    for child in node.children:
        if child.dep_ == "prep":
            yield child
            yield from _list_chained(child)
