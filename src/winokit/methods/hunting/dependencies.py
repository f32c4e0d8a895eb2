"""Who does what by a dependency parse: the slots of a verb and what fills them, and clauses.

Labels and tags are those of spaCy's English models (ClearNLP's dependencies, Penn tags). Passives are turned round, as
everywhere in this package, and a verb without a subject of its own has the one it shares: of the verb it is joined to,
of the verb it completes, or the noun it belongs to.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from winokit.methods.hunting.reading import OBJECT, SUBJECT
from winokit.text.grammar import AUXILIARIES

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


def nodes(tokens: Iterable[tuple[str, int, str, str, str, int]]) -> list[DependencyNode]:
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
