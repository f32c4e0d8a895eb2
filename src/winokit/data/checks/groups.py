"""Which problems are twins: groups found from ids, from the order of rows, and from content, in that order of trust.

WinoGrande's released files pair twins by a qID that most of train_xl has lost, WSC only by order, and a shuffled or
re-exported file has neither. Elazar et al. (2021) pair adjacent lines by edit distance, which fails on unequal twins
and cannot say when it is unsure. Here:

1. Ids that came with the data are kept.
2. If twins stand side by side in the file at all, the rows that remain are cut into singles, pairs and triplets at
   least cost (edit distance within a group against a price for staying alone), by dynamic programming.
3. Of the rows still alone (all of a shuffled file), two are paired when each is the other's nearest by a clear margin.

What could be a twin and is not asserted is listed as ambiguous: a wrong group is worse than a missing one.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, count, pairwise
from math import inf

from rapidfuzz.distance import Levenshtein, Prefix

from winokit.problem import Dataset, Problem, grouped
from winokit.text.language import language_of
from winokit.text.words import same_words

LOOK = 0.5
"""Token edit distance over the shorter length up to which two problems with the same candidates may be twins."""
SURE = 0.35
"""The same, for asserting twins from content alone."""
MARGIN = 0.1
"""How much nearer a twin must be than the next problem, to be asserted from content alone."""
OTHER_CANDIDATES = 0.25
"""The same, for neighbours whose candidates are not the same (WSC has four such pairs)."""
START = 0.2
"""Share of their words that neighbours with the same candidates must have in common from the start, to be twins at any
distance: DPR's differ in the whole second clause."""
ALONE = 0.5
"""The price of staying alone: neighbours are paired if their distance is below two of it."""
LARGEST_BLOCK = 400
"""Problems that share their candidates with more others than this are not compared by content."""


@dataclass
class Grouping:
    """Rows of each group, how each was found, and the rows that could not be decided."""

    groups: list[tuple[int, ...]] = field(default_factory=list)
    evidence: dict[str, int] = field(default_factory=lambda: {"ids": 0, "order": 0, "content": 0})
    ambiguous: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Row to the rows that may be its twins."""

    def add(self, rows: Iterable[int], evidence: str) -> None:
        """Remember a group."""
        self.groups.append(tuple(rows))
        self.evidence[evidence] += 1


def with_groups(dataset: Dataset, *, found: Grouping | None = None) -> Dataset:
    """The dataset with groups found (or given) and named after their members; existing names stay."""
    found = found or find_groups(dataset)
    problems = list(dataset)
    names: list[str | None] = [None] * len(problems)
    used: set[str] = set()
    for rows in found.groups:
        members = [problems[row] for row in rows]
        known = members[0].group
        chosen = known if known is not None and known not in used else group_name(members)
        used.add(chosen)
        for row in rows:
            names[row] = chosen
    for row, name in enumerate(names):
        if problems[row].group != name:
            problems[row] = problems[row].replace(group=name)
    return dataset.with_problems(problems)


def group_name(members: Iterable[Problem]) -> str:
    """A name derived from the members' public ids: the same wherever the group is found."""
    return "g" + hashlib.blake2b(" ".join(sorted(p.id for p in members)).encode(), digest_size=6).hexdigest()


def find_groups(dataset: Sequence[Problem], *, use_ids: bool = True) -> Grouping:
    """Find the groups of a dataset by ids, then by order, then by content; what stays ambiguous is in none.

    Parameters
    ----------
    use_ids
        Take the groups that problems name themselves as they are.

    Returns
    -------
    Grouping
        Rows of each group, how each was found, and the rows that could not be decided.
    """
    grouping = Grouping()
    taken: set[int] = set()
    if use_ids:
        by_name = grouped((problem.group, row) for row, problem in enumerate(dataset) if problem.group is not None)
        for named in by_name.values():
            for copy in _copies(dataset, named):
                grouping.add(copy, "ids")
                taken.update(copy)
    # Whole texts are all there is to them: what they are grouped by, only ids can say.
    taken.update(row for row, problem in enumerate(dataset) if problem.is_whole)
    texts = _Texts(dataset)
    alone = [row for row in range(len(dataset)) if row not in taken]
    near = _near(texts, alone, partial(texts.distance, most=LOOK))
    if _order_tells(near, texts, taken):
        for rows in _cut(texts, taken):
            grouping.add(rows, "order")
            taken.update(rows)
    for pair in _mutual(near, taken):
        grouping.add(pair, "content")
        taken.update(pair)
    for row, rivals in near.items():
        open_rivals = tuple(other for other, _ in rivals if other not in taken)
        if row not in taken and open_rivals:
            grouping.ambiguous[row] = open_rivals
    grouping.groups.sort()
    return grouping


def possible_twins(problems: Sequence[Problem]) -> list[tuple[int, int]]:
    """Every row with the nearest of those that would pass for its twin if they stood side by side, in any order.

    `find_groups` asserts fewer: of a shuffled DPR, whose twins differ in a whole clause, it leaves two in five alone.
    Who must keep twins together cannot wait for certainty.
    """
    texts = _Texts(problems)
    near = _near(texts, range(len(problems)), texts.neighbours)
    return sorted({(min(row, rivals[0][0]), max(row, rivals[0][0])) for row, rivals in near.items()})


def _copies(dataset: Sequence[Problem], rows: list[int]) -> list[list[int]]:
    """The rows under one id as one group, or as several where a file holds the group twice (train_xl has one such)."""
    copies = list(grouped((dataset[row].occurrence, row) for row in rows).values())
    whole = len(copies) > 1 and all(len(copy) > 1 for copy in copies)
    return copies if whole else [rows] if len(rows) > 1 else []


class _Texts:
    """Problems as comparable things: token strings, candidate keys, answers."""

    def __init__(self, dataset: Sequence[Problem]) -> None:
        self.problems = dataset
        # One character a token lets rapidfuzz compare strings, its fastest kind. Private planes avoid surrogates.
        codes: defaultdict[str, str] = defaultdict(map(chr, count(0x10000)).__next__)
        self.coded = [
            "".join(map(codes.__getitem__, language_of(problem.language).split(problem.text.casefold())))
            for problem in dataset
        ]
        memo: dict[tuple[str, str], str] = {}
        self.keys = [
            # What a problem is about, or what a yes/no judgement asks about: all of these have "no" and "yes".
            tuple(sorted([memo.get((of, c)) or memo.setdefault((of, c), language_of(of).bare(c)) for c in offered]))
            for problem in dataset
            for of, offered in ((problem.language, problem.candidates if problem.query is None else (problem.query,)),)
        ]

    def distance(self, a: int, b: int, most: float) -> float | None:
        """Token edit distance over the shorter length, or None if it is above `most` or they cannot be twins."""
        x = self.coded[a]
        y = self.coded[b]
        shorter = min(len(x), len(y))
        limit = max(len(x), len(y)) if most == inf else int(most * shorter)
        if abs(len(x) - len(y)) > limit:
            return None
        edits = Levenshtein.distance(x, y, score_cutoff=limit)
        return edits / shorter if edits <= limit and self.may_be_twins(a, b, same_text=edits == 0) else None

    def may_be_twins(self, a: int, b: int, *, same_text: bool) -> bool:
        """Twins differ in their answer, not in their pronoun, nor only in where the blank stands.

        The same text with opposite answers is a broken twin (train_xl has two) and still belongs together; without
        answers it is a mere repetition.
        """
        p = self.problems[a]
        q = self.problems[b]
        if same_text and (p.answer is None or q.answer is None):
            return False
        if (p.pronoun or "").casefold() != (q.pronoun or "").casefold() or p.query != q.query:
            return False
        if p.language != q.language:
            return False
        if not same_text and p.pronoun is not None and same_words(p.sentence, q.sentence):
            return False
        if p.right is None or q.right is None:
            return True
        return language_of(p.language).bare(p.right) != language_of(q.language).bare(q.right)

    def neighbours(self, a: int, b: int) -> float | None:
        """The distance of two rows, where they may be twins if they stand side by side."""
        if self.keys[a] == self.keys[b]:
            same_start = Prefix.similarity(self.coded[a], self.coded[b])
            if same_start >= max(3, START * min(len(self.coded[a]), len(self.coded[b]))):
                distance = self.distance(a, b, inf)
                return None if distance is None else min(distance, 1.8 * ALONE)
            return self.distance(a, b, LOOK + MARGIN)
        # Candidates that share a word, as "a butterfly wing" and "the wing" do.
        one, other = ({word for name in self.keys[row] for word in (name, *name.split())} for row in (a, b))
        return self.distance(a, b, OTHER_CANDIDATES) if one & other else None


def _near(
    texts: _Texts, rows: Iterable[int], distance_of: Callable[[int, int], float | None]
) -> dict[int, list[tuple[int, float]]]:
    """For each row the rows with the same candidates that may be its twins, nearest first, and their distances.

    Rows whose candidates too many others share are not compared.
    """
    blocks = grouped((texts.keys[row], row) for row in rows)
    near: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for block in blocks.values():
        for a, b in combinations(block, 2) if len(block) <= LARGEST_BLOCK else ():
            distance = distance_of(a, b)
            if distance is not None:
                near[a].append((b, distance))
                near[b].append((a, distance))
    for rivals in near.values():
        rivals.sort(key=lambda rival: rival[1])
    return near


def _order_tells(near: dict[int, list[tuple[int, float]]], texts: _Texts, taken: set[int]) -> bool:
    """Whether twins stand side by side: at least half of the rows with a possible twin have one as a neighbour."""
    beside = sum(any(abs(row - other) == 1 for other, _ in rivals) for row, rivals in near.items())
    if near:
        return 2 * beside >= len(near)
    pairs = pairwise(range(len(texts.keys)))
    return any(texts.neighbours(*pair) is not None for pair in pairs if taken.isdisjoint(pair))


def _cut(texts: _Texts, taken: set[int]) -> list[tuple[int, ...]]:
    """Cut the rows, in order, into singles, pairs and triplets at least cost; return pairs and triplets."""
    count = len(texts.keys)
    beside = [None if {row, row + 1} & taken else texts.neighbours(row, row + 1) for row in range(count - 1)]
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, count + 1):
        cost = best[end - 1][0]
        choices = [(cost + (0.0 if end - 1 in taken else ALONE), 1)]
        last = beside[end - 2] if end >= 2 else None
        if last is not None:
            choices.append((best[end - 2][0] + last, 2))
            first = beside[end - 3] if end >= 3 else None
            if first is not None and max(first, last) <= OTHER_CANDIDATES:
                choices.append((best[end - 3][0] + first + last, 3))
        best.append(min(choices))
    cut = []
    end = count
    while end:
        size = best[end][1]
        if size > 1:
            cut.append(tuple(range(end - size, end)))
        end -= size
    return cut[::-1]


def _mutual(near: dict[int, list[tuple[int, float]]], taken: set[int]) -> list[tuple[int, int]]:
    """Pairs in which each is the other's nearest, and nothing else comes close, grouped or not."""
    pairs = []
    for row, rivals in near.items():
        other, distance = rivals[0]
        if row < other and distance <= SURE and near[other][0][0] == row and not {row, other} & taken:
            rest = [d for rival in (rivals[1:2], near[other][1:2]) for _, d in rival]
            if all(d > distance + MARGIN for d in rest):
                pairs.append((row, other))
    return pairs
