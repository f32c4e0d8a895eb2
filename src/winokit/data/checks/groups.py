"""Groups of twins, found from ids, then from the order of rows, then from content.

WinoGrande's released files pair twins by a qID that most of train_xl has lost, WSC only by order, and a shuffled or
re-exported file has neither. Elazar et al. (2021) pair adjacent lines by edit distance, which fails on unequal twins
and cannot say when it is unsure. Here:

1. Ids that came with the data are kept.
2. If twins are neighbours in the file, the rows that remain are cut into singles, pairs and triplets at
   least cost (edit distance within a group against a price for staying alone), by dynamic programming.
3. Of the rows still alone (all of a shuffled file), two are paired if each is the other's nearest by a clear margin.

Rows that could be twins but are not asserted are listed as ambiguous: a wrong group is worse than a missing one.
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
"""The same distance, for twins asserted from content alone."""
MARGIN = 0.1
"""Difference in distance between a twin and the next problem, for twins asserted from content alone."""
OTHER_CANDIDATES = 0.25
"""The same distance, for neighbours with other candidates (WSC has four such pairs)."""
START = 0.2
"""Share of words that neighbours have in common from the start, to be twins at any distance.

They also have the same candidates. DPR's twins differ in the whole second clause.
"""
ALONE = 0.5
"""The price of staying alone: neighbours are paired if their distance is below two of it."""
LARGEST_BLOCK = 400
"""Problems that share their candidates with more others than this are not compared by content."""


@dataclass
class Grouping:
    """The groups of a dataset, their evidence, and the undecided rows."""

    groups: list[tuple[int, ...]] = field(default_factory=list)
    evidence: dict[str, int] = field(default_factory=lambda: {"ids": 0, "order": 0, "content": 0})
    ambiguous: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Row to the rows that may be its twins."""

    def add(self, rows: Iterable[int], evidence: str) -> None:
        """Add a group. `evidence` is "ids", "order" or "content"."""
        self.groups.append(tuple(rows))
        self.evidence[evidence] += 1


def with_groups(dataset: Dataset, *, found: Grouping | None = None) -> Dataset:
    """Name the group of each problem that is in one.

    Returns the dataset. Names that problems have stay, except that a problem alone under its name loses it. Other
    groups are named after their members, and so are further groups with a name that is taken.

    Parameters
    ----------
    found
        The groups, if they were found before. None to find them.
    """
    grouping = found or find_groups(dataset)
    problems = list(dataset)
    name_of_row: dict[int, str] = {}
    used: set[str] = set()
    for rows in grouping.groups:
        members = [problems[row] for row in rows]
        name = members[0].group
        if name is None or name in used:
            name = group_name(members)
        used.add(name)
        name_of_row |= dict.fromkeys(rows, name)
    for row, problem in enumerate(dataset):
        group = name_of_row.get(row)
        if problem.group != group:
            problems[row] = problem.replace(group=group)
    return dataset.with_problems(problems)


def group_name(members: Iterable[Problem]) -> str:
    """A name for a group, made from its members' public ids.

    It does not depend on their order, and is the same in every file.
    """
    ids = sorted(problem.id for problem in members)
    digest = hashlib.blake2b(" ".join(ids).encode(), digest_size=6)
    return "g" + digest.hexdigest()


def find_groups(dataset: Sequence[Problem], *, use_ids: bool = True) -> Grouping:
    """Find the groups of a dataset by ids, then order, then content.

    Rows that may belong to several groups are in none.

    Parameters
    ----------
    use_ids
        Whether groups that problems name themselves are taken as they are.

    Returns
    -------
    Grouping
        Rows of each group, how each was found, and the rows that could not be decided.
    """
    grouping = Grouping()
    # Whole texts have nothing else in common: only ids can group them.
    excluded_rows = {row for row, problem in enumerate(dataset) if problem.is_whole}
    if use_ids:
        excluded_rows |= _add_named_groups(grouping, dataset)
    texts = _ComparableTexts(dataset)
    open_rows = [row for row in range(len(dataset)) if row not in excluded_rows]
    near = _find_near_rows(texts, open_rows, partial(texts.distance, most=LOOK))
    if _has_twins_in_order(near, texts, excluded_rows):
        for rows in _cut_groups(texts, excluded_rows):
            grouping.add(rows, "order")
            excluded_rows.update(rows)
    for pair in _find_mutual_pairs(near, excluded_rows):
        grouping.add(pair, "content")
        excluded_rows.update(pair)
    grouping.ambiguous = _find_ambiguous_rows(near, excluded_rows)
    grouping.groups.sort()
    return grouping


def _find_ambiguous_rows(
    near: dict[int, list[tuple[int, float]]], excluded_rows: set[int]
) -> dict[int, tuple[int, ...]]:
    """Rows without a group, each with its possible twins.

    Rows without a possible twin are left out.

    Parameters
    ----------
    near
        For each row, the rows that may be its twins, with their distances.
    excluded_rows
        Rows that are in a group already, or can be in none.
    """
    ambiguous = {}
    for row, rivals in near.items():
        open_rivals = tuple(other for other, _ in rivals if other not in excluded_rows)
        if row not in excluded_rows and open_rivals:
            ambiguous[row] = open_rivals
    return ambiguous


def _add_named_groups(grouping: Grouping, dataset: Sequence[Problem]) -> set[int]:
    """Add the groups that problems name themselves, and return their rows.

    A name that a single problem has gives no group, and its row is not among them.
    """
    excluded_rows: set[int] = set()
    rows_of_name = grouped((problem.group, row) for row, problem in enumerate(dataset) if problem.group is not None)
    for rows in rows_of_name.values():
        for copy in _split_copies(dataset, rows):
            grouping.add(copy, "ids")
            excluded_rows.update(copy)
    return excluded_rows


def possible_twins(problems: Sequence[Problem]) -> list[tuple[int, int]]:
    """For each problem, the nearest other one that may be its twin.

    Returns pairs of rows, each pair once, whatever the order of the problems. A problem that can have no twin is in
    none.

    `find_groups` asserts fewer: of a shuffled DPR, whose twins differ in a whole clause, it leaves two in five alone.
    A caller that must keep twins together needs the uncertain ones too.
    """
    texts = _ComparableTexts(problems)
    near = _find_near_rows(texts, range(len(problems)), texts.neighbours)
    pairs = set()
    for row, rivals in near.items():
        nearest, _ = rivals[0]
        pairs.add((min(row, nearest), max(row, nearest)))
    return sorted(pairs)


def _split_copies(dataset: Sequence[Problem], rows: list[int]) -> list[list[int]]:
    """Split the rows with one group name into copies of the group.

    A file may have a group twice (train_xl has one such). The occurrences of the problems tell the copies apart, if
    each copy has two rows or more. Usually there is one copy, and none for a single row.
    """
    if len(rows) < 2:
        return []
    copies = list(grouped((dataset[row].occurrence, row) for row in rows).values())
    if len(copies) > 1 and all(len(copy) > 1 for copy in copies):
        return copies
    return [rows]


class _ComparableTexts:
    """Problems in a form in which they are compared quickly.

    `coded` has each text with one character for each token, and `keys` the candidates of each problem. Methods take
    problems by their rows.
    """

    def __init__(self, dataset: Sequence[Problem]) -> None:
        self.problems = dataset
        # One character a token lets rapidfuzz compare strings, its fastest kind. Private planes avoid surrogates.
        codes: defaultdict[str, str] = defaultdict(map(chr, count(0x10000)).__next__)
        self.coded: list[str] = []
        self.keys: list[tuple[str, ...]] = []
        bare_names: dict[tuple[str, str], str] = {}
        for problem in dataset:
            language = language_of(problem.language)
            words = language.split(problem.text.casefold())
            self.coded.append("".join([codes[word] for word in words]))
            # All yes/no judgements have the candidates "no" and "yes": what they ask about counts instead.
            names = problem.candidates if problem.query is None else (problem.query,)
            key = []
            for name in names:
                bare_name = bare_names.get((problem.language, name))
                if bare_name is None:
                    bare_name = bare_names[problem.language, name] = language.bare(name)
                key.append(bare_name)
            self.keys.append(tuple(sorted(key)))

    def distance(self, a: int, b: int, most: float) -> float | None:
        """Token edit distance of two texts, divided by the shorter length.

        None if it is above `most`, or the two cannot be twins.
        """
        one = self.coded[a]
        other = self.coded[b]
        shorter = min(len(one), len(other))
        longer = max(len(one), len(other))
        limit = longer if most == inf else int(most * shorter)
        if longer - shorter > limit:
            return None
        edits = Levenshtein.distance(one, other, score_cutoff=limit)
        if edits > limit or not self.may_be_twins(a, b, same_text=edits == 0):
            return None
        return edits / shorter

    def may_be_twins(self, a: int, b: int, *, same_text: bool) -> bool:
        """Whether two problems may be twins, apart from their distance.

        Twins have the same pronoun and different answers, and differ in more than the position of the blank. The same
        text with opposite answers is a broken twin (train_xl has two) and still belongs together. Without answers it
        is a mere repetition.

        Parameters
        ----------
        same_text
            Whether their texts are the same.
        """
        p = self.problems[a]
        q = self.problems[b]
        if same_text and (p.answer is None or q.answer is None):
            return False
        if (p.pronoun or "").casefold() != (q.pronoun or "").casefold():
            return False
        if p.query != q.query or p.language != q.language:
            return False
        if not same_text and p.pronoun is not None and same_words(p.sentence, q.sentence):
            return False
        if p.right is None or q.right is None:
            return True
        language = language_of(p.language)
        return language.bare(p.right) != language.bare(q.right)

    def neighbours(self, a: int, b: int) -> float | None:
        """Distance of two problems that are neighbours in the file.

        Neighbours may differ more than other twins. None if they cannot be twins.
        """
        if self.keys[a] != self.keys[b]:
            # Candidates that share a word, as "a butterfly wing" and "the wing" do.
            has_shared_word = bool(self._candidate_words(a) & self._candidate_words(b))
            return self.distance(a, b, OTHER_CANDIDATES) if has_shared_word else None
        one = self.coded[a]
        other = self.coded[b]
        shorter = min(len(one), len(other))
        has_same_start = Prefix.similarity(one, other) >= max(3, START * shorter)
        if not has_same_start:
            return self.distance(a, b, LOOK + MARGIN)
        distance = self.distance(a, b, inf)
        return None if distance is None else min(distance, 1.8 * ALONE)

    def _candidate_words(self, row: int) -> set[str]:
        """The candidates of a row, and the words in them."""
        names = self.keys[row]
        words = set(names)
        for name in names:
            words.update(name.split())
        return words


def _find_near_rows(
    texts: _ComparableTexts, rows: Iterable[int], distance_of: Callable[[int, int], float | None]
) -> dict[int, list[tuple[int, float]]]:
    """For each row, the rows that may be its twins, nearest first.

    Each has its distance. Only rows with the same candidates are compared, and only if not too many have them.

    Parameters
    ----------
    distance_of
        Distance of two rows, or None if they cannot be twins.
    """
    blocks = grouped((texts.keys[row], row) for row in rows)
    near: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for block in blocks.values():
        if len(block) > LARGEST_BLOCK:
            continue
        for a, b in combinations(block, 2):
            distance = distance_of(a, b)
            if distance is not None:
                near[a].append((b, distance))
                near[b].append((a, distance))
    for rivals in near.values():
        rivals.sort(key=lambda rival: rival[1])
    return near


def _has_twins_in_order(
    near: dict[int, list[tuple[int, float]]], texts: _ComparableTexts, excluded_rows: set[int]
) -> bool:
    """Whether twins are neighbours in the file.

    They are if at least half of the rows with a possible twin are next to one. If no row has one by `near`, a single
    pair of neighbours that may be twins is enough.

    Parameters
    ----------
    near
        For each row, the rows that may be its twins, with their distances.
    excluded_rows
        Rows that are in a group already, or can be in none.
    """
    if near:
        neighbour_count = 0
        for row, rivals in near.items():
            if any(abs(row - other) == 1 for other, _ in rivals):
                neighbour_count += 1
        return 2 * neighbour_count >= len(near)
    pairs = pairwise(range(len(texts.keys)))
    return any(texts.neighbours(*pair) is not None for pair in pairs if excluded_rows.isdisjoint(pair))


def _cut_groups(texts: _ComparableTexts, excluded_rows: set[int]) -> list[tuple[int, ...]]:
    """Cut the rows into singles, pairs and triplets of neighbours.

    The cut has the least cost: the distances within groups, and a fixed price for each single. Returns the pairs and
    triplets, without those rows that are in a group already.
    """
    distances = _measure_neighbours(texts, excluded_rows)
    row_count = len(texts.keys)
    # The least cost of the rows before each row, and the size of the last group there.
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, row_count + 1):
        price_alone = 0.0 if end - 1 in excluded_rows else ALONE
        choices = [(best[end - 1][0] + price_alone, 1)]
        last = distances[end - 2] if end >= 2 else None
        if last is not None:
            choices.append((best[end - 2][0] + last, 2))
            first = distances[end - 3] if end >= 3 else None
            if first is not None and max(first, last) <= OTHER_CANDIDATES:
                choices.append((best[end - 3][0] + first + last, 3))
        best.append(min(choices))
    groups = []
    end = row_count
    while end:
        _, size = best[end]
        if size > 1:
            groups.append(tuple(range(end - size, end)))
        end -= size
    groups.reverse()
    return groups


def _measure_neighbours(texts: _ComparableTexts, excluded_rows: set[int]) -> list[float | None]:
    """The distance of each row and the next.

    None if they cannot be twins, or one is in a group already.
    """
    distances: list[float | None] = []
    for row, following in pairwise(range(len(texts.keys))):
        is_excluded = row in excluded_rows or following in excluded_rows
        distances.append(None if is_excluded else texts.neighbours(row, following))
    return distances


def _find_mutual_pairs(near: dict[int, list[tuple[int, float]]], excluded_rows: set[int]) -> list[tuple[int, int]]:
    """Pairs of rows that are each other's nearest by a clear margin.

    Their distance is at most 0.35, and the next row of either is farther by more than 0.1.

    Parameters
    ----------
    near
        For each row, the rows that may be its twins, with their distances.
    excluded_rows
        Rows that are in a group already, or can be in none.
    """
    pairs = []
    for row, rivals in near.items():
        other, distance = rivals[0]
        other_rivals = near[other]
        is_mutual = row < other and other_rivals[0][0] == row
        if not is_mutual or distance > SURE or row in excluded_rows or other in excluded_rows:
            continue
        next_rivals = rivals[1:2] + other_rivals[1:2]
        if all(next_distance > distance + MARGIN for _, next_distance in next_rivals):
            pairs.append((row, other))
    return pairs
