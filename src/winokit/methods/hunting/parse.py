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
from winokit.text.clauses import ClausePiece, is_content, take_apart
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
    """A word of a dependency parse.

    `i` is its index, `idx` its start in the text; `pos_`, `tag_` and `dep_` are spaCy's part of speech, tag and
    label. The head of the root is the root itself.
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
    candidate_at: Mapping[int, int]
    """Index of the candidate that each stand-in replaces, by the stand-in's start."""
    blank: int
    """Start of the blank's stand-in."""
    shifts: Sequence[tuple[int, int]]
    """Pairs of a place and the number to add, from there on, for the place in the problem's text."""

    def original(self, place: int) -> int:
        """Convert an index in this text to one in the problem's text.

        The index must be outside the stand-ins.
        """
        return place + max((shift for shift in self.shifts if shift[0] <= place), default=(0, 0))[1]


def mask(problem: Problem) -> Masked:
    """Replace candidates and blank by stand-ins, for the parser.

    The text is the same if the candidates are exchanged. The blank becomes the problem's pronoun, if it has one.

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
    """Take a problem apart by its parse, or else by our grammar.

    If neither can read it, the grammar's reason is returned.
    """
    if problem.query is not None:
        return reading.read(problem)
    parsed = _read_parse(problem, parses)
    by_rules = reading.read(problem) if isinstance(parsed, str) else parsed
    return parsed if isinstance(by_rules, str) else by_rules


def _read_parse(problem: Problem, parses: ParseFile) -> ProblemReading | str:
    """Take a problem apart by its parse, or say why that fails."""
    masked = mask(problem)
    if masked.text not in parses.rows:
        return "the file has no parse of the problem"
    nodes = tree(parses.rows[masked.text]["tokens"])
    candidate_at = masked.candidate_at
    candidate_of_node = {node.i: candidate_at[node.idx] for node in nodes if node.idx in candidate_at}
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
    nodes: Sequence[DependencyNode], candidate_of_node: Mapping[int, int], blank: DependencyNode
) -> tuple[DependencyNode, tuple[tuple[int, str], tuple[int, str]]] | None:
    """Verb that has two different candidates as its subject, object or complement.

    Returns the verb, and the number and slot of the node of each candidate, in text order. Of several verbs it is the
    nearest before the blank, else the first. None if there is no such verb.
    """
    verbs = []
    for verb in filter(is_verb, nodes):
        parts = sorted((node.i, slot) for slot, node in slots(verb).items() if node.i in candidate_of_node)
        if not parts:
            continue
        first_part = parts[0]
        first_candidate = candidate_of_node[first_part[0]]
        other_part = next((part for part in parts if candidate_of_node[part[0]] != first_candidate), None)
        if other_part is not None:
            verbs.append((verb, (first_part, other_part)))
    verbs_before = [(verb, parts) for verb, parts in verbs if max(verb.i, parts[1][0]) < blank.i]
    if verbs_before:
        return verbs_before[-1]
    return verbs[0] if verbs else None


def _find_slot_of_blank(blank: DependencyNode) -> tuple[DependencyNode, str] | None:
    """Word on which the blank depends, and the blank's slot there.

    The word is the owned thing after a possessive, else a verb. None if there is no such word.
    """
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
    """Slot of a verb that a node fills, or None."""
    return next((slot for slot, node in slots(verb).items() if node == filler), None)


def _find_infinitive(verb: DependencyNode) -> DependencyNode | None:
    """Infinitive that carries a verb's meaning, or None.

    An example is the one after "wanted to" or "was eager to".
    """
    for above in (verb, *(child for child in verb.children if child.dep_ == "acomp")):
        for child in above.children:
            if child.dep_ == "xcomp" and is_verb(child) and folded_word(above) in TAKE_AN_INFINITIVE:
                return child
    return None


def _find_predicate_word(verb: DependencyNode, closed: frozenset[int]) -> DependencyNode:
    """Word that carries a verb's predicate.

    It is the verb itself, or the complement of "is" or "has". Nodes whose index is in `closed` (candidates and the
    blank) are no complement.
    """
    if folded_word(verb) not in AUXILIARIES:
        return verb
    for child in verb.children:
        if child.dep_ in ("acomp", "attr", "oprd") and child.i not in closed:
            return child
    return verb


def _make_predicate(
    problem: Problem, masked: Masked, nodes: Sequence[DependencyNode], head: DependencyNode, closed: frozenset[int]
) -> Predicate | None:
    """Predicate around a head, in the words of the problem.

    None if it would include a candidate or the blank, or if no word can carry it.
    """
    run = predicate_words(nodes, head, closed)
    start = masked.original(run[0].idx)
    end = masked.original(run[-1].idx) + len(run[-1].text)
    pieces = [piece for piece in take_apart(problem) if piece.start < end and start < piece.end]
    if any(piece.candidate is not None or piece.blank for piece in pieces):
        return None
    head_index = _find_head_piece(pieces, masked.original(head.idx))
    if head_index is None:
        return None
    return reading.as_predicate(pieces, head_index, problem.text, passive=is_passive(head))


def _find_head_piece(pieces: Sequence[ClausePiece], start: int) -> int | None:
    """Index of the piece at a place in the text.

    For an auxiliary, it is the next content word. None if there is no such piece.
    """
    indices = range(len(pieces))
    head_index = next((i for i in indices if pieces[i].start <= start < pieces[i].end), None)
    if head_index is not None and pieces[head_index].word in AUXILIARIES:
        head_index = next((i for i in indices[head_index + 1 :] if is_content(pieces[i])), None)
    return head_index


def _is_contrast(nodes: Sequence[DependencyNode], first: DependencyNode, second: DependencyNode) -> bool:
    """Whether "but" or a similar word connects two clauses.

    The clauses are those of the two words.

    It is between the two words, or opens one of the clauses.
    """
    start = min(first.i, second.i)
    end = max(first.i, second.i)
    connectives = list(nodes[start:end])
    for top in (clause(first), clause(second)):
        connectives += [child for child in top.children if child.i < top.i]
    return any(folded_word(node) in CONTRASTS for node in connectives)


def tree(tokens: Iterable[tuple[str, int, str, str, str, int]]) -> list[DependencyNode]:
    """Build the nodes of a parse from its rows.

    A row is: word, start in the text, part of speech, tag, label, index of the head.
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


def folded_word(node: DependencyNode) -> str:
    """A node's word in lower case, with a straight apostrophe."""
    return node.text.casefold().replace("’", "'")


def is_verb(node: DependencyNode) -> bool:
    """Whether a node is a verb or an auxiliary."""
    return node.pos_ in ("VERB", "AUX")


def path_up(node: DependencyNode) -> Iterator[DependencyNode]:
    """Yield a node, its head, the head's head, up to the root."""
    yield node
    while node.dep_ != "ROOT":
        node = node.head
        yield node


def clause(node: DependencyNode) -> DependencyNode:
    """Topmost word of a node's clause, usually its verb."""

    def heads_clause(above: DependencyNode) -> bool:
        return above.dep_ in CLAUSES or (above.dep_ == "conj" and is_verb(above))

    return next(filter(heads_clause, path_up(node)))


def verb_of_predicate(node: DependencyNode) -> DependencyNode | None:
    """Verb whose subject is also the subject of a word.

    It is the word itself if that is a verb, or the "is" or "has" that the word completes. None if there is no such
    verb.
    """
    if is_verb(node):
        return node
    for above in path_up(node):
        if is_verb(above):
            return above if folded_word(above) in AUXILIARIES else None
        if above.dep_ not in COMPLEMENTS:
            return None
    return None


def is_passive(verb: DependencyNode) -> bool:
    """Whether a verb is in the passive."""
    if any(child.dep_ in ("auxpass", "nsubjpass", "csubjpass") for child in verb.children):
        return True
    return verb.dep_ == "acl" and verb.tag_ == "VBN"


def subject(verb: DependencyNode) -> DependencyNode | None:
    """Subject of a verb, its own or a shared one.

    None if there is none.
    """
    own_subject = _find_child(verb, SUBJECTS)
    if own_subject is not None:
        return own_subject
    if verb.dep_ == "acl":
        return verb.head if verb.tag_ in ("VBG", "VBN") else None
    if verb.dep_ not in SHARE_A_SUBJECT:
        return None
    if verb.dep_ == "xcomp" and (thing := _find_child(verb.head, ("dobj",))) is not None:
        return thing
    above = verb_of_predicate(verb.head.head if verb.dep_ == "pcomp" else verb.head)
    return None if above is None else subject(above)


def slots(verb: DependencyNode) -> dict[str, DependencyNode]:
    """Node in each slot of a verb: `subject`, `object`, or a preposition.

    A passive's subject is in the slot `object`, and its agent in `subject`.
    """
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
            fillers.setdefault(folded_word(preposition), inside)
    return {slot: antecedent(node) for slot, node in fillers.items()}


def antecedent(node: DependencyNode) -> DependencyNode:
    """Noun to which a relative pronoun refers, or any other node itself."""
    if not node.tag_.startswith("W"):
        return node
    return next((above.head for above in path_up(node) if above.dep_ == "relcl"), node)


def predicate_words(
    nodes: Sequence[DependencyNode], head: DependencyNode, closed: frozenset[int]
) -> list[DependencyNode]:
    """Consecutive words of a clause around its head.

    They end before the clause's subject and before nodes whose index is in `closed`.
    """
    start = end = head.i
    while start and _is_in_predicate(nodes[start - 1], head, closed):
        start -= 1
    while end + 1 < len(nodes) and _is_in_predicate(nodes[end + 1], head, closed):
        end += 1
    return list(nodes[start : end + 1])


def _is_in_predicate(node: DependencyNode, head: DependencyNode, closed: frozenset[int]) -> bool:
    """Whether a word is in a head's clause and its predicate.

    Words of the subject and of the phrases of closed nodes are not, nor are punctuation, words that open a clause
    ("because") and words that join verbs ("and").
    """
    joins_verbs = node.dep_ == "cc" and is_verb(node.head)
    if node.dep_ in ("punct", "mark") or joins_verbs or clause(node) != clause(head):
        return False
    above_head = {above.i for above in path_up(head)}
    for above in path_up(node):
        is_outside = above.i in closed or above.dep_ in SUBJECTS or above.dep_ == "expl"
        if is_outside and above.i not in above_head:
            return False
    return True


def _find_child(node: DependencyNode, labels: Iterable[str]) -> DependencyNode | None:
    """First child whose label is one of these, or None."""
    return next((child for child in node.children if child.dep_ in labels), None)


def _list_prepositions(verb: DependencyNode) -> Iterator[DependencyNode]:
    """Yield the prepositions of a verb, then of its complements.

    "of" after an object or complement is left out, because it belongs to that word.
    """
    yield from _list_chained(verb)
    for child in verb.children:
        if child.dep_ in MAY_HAVE_THE_PREPOSITION:
            yield from (preposition for preposition in _list_chained(child) if folded_word(preposition) != "of")


def _list_chained(node: DependencyNode) -> Iterator[DependencyNode]:
    """Yield prepositions below a node, also chained: "out of"."""
    for child in node.children:
        if child.dep_ == "prep":
            yield child
            yield from _list_chained(child)
