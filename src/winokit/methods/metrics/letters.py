"""Compact letters: which of many are distinguishable, in a letter or two beside each.

Piepho, "An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons" (Journal of Computational and
Graphical Statistics, 2004): two that share a letter cannot be distinguished, two that share none can. This
is not transitive, so that one may have several letters. Insert and absorb as in the paper; letters that say nothing
which the others do not say are dropped.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations


def compact_letters(many: int, apart: Iterable[tuple[int, int]]) -> list[frozenset[int]]:
    """Assign letters so that two members share one if not distinguishable.

    `many` is the number of members, numbered from 0, and `apart` are the pairs that can be distinguished. Returns the
    members of each letter, ordered by their first member.

    The best differs from the worst, and the one between from neither:

    >>> [sorted(members) for members in compact_letters(3, [(0, 2)])]
    [[0, 1], [1, 2]]
    """
    letters = {frozenset(range(many))} if many else set()
    for one, other in apart:
        letters = _split_letters(letters, one, other)
    sorted_letters = sorted(letters, key=lambda letter: sorted(letter))
    for letter in sorted(sorted_letters, key=lambda letter: (len(letter), sorted(letter))):
        other_letters = [other for other in sorted_letters if other is not letter]
        if _is_implied(letter, other_letters):
            sorted_letters = other_letters
    return sorted_letters


def _split_letters(letters: set[frozenset[int]], one: int, other: int) -> set[frozenset[int]]:
    """Split every letter that both of two distinguishable members have.

    Letters inside a wider one are dropped.
    """
    split = {letter for letter in letters if one in letter and other in letter}
    remaining = letters - split
    for letter in split:
        remaining |= {letter - {one}, letter - {other}}
    return {letter for letter in remaining if not _has_wider(letter, remaining)}


def _has_wider(letter: frozenset[int], letters: set[frozenset[int]]) -> bool:
    """Whether another letter has all members of this one, and more."""
    return any(letter < wider for wider in letters)


def _is_implied(letter: frozenset[int], other_letters: Sequence[frozenset[int]]) -> bool:
    """Whether the other letters say all that this one says.

    A letter says that each two of its members cannot be distinguished. A letter of one member says that the member
    has a letter.
    """
    claims = [frozenset(pair) for pair in combinations(letter, 2)] or [letter]
    return all(_is_within_any(claim, other_letters) for claim in claims)


def _is_within_any(members: frozenset[int], letters: Sequence[frozenset[int]]) -> bool:
    """Whether a set of members is inside one of the letters."""
    return any(members <= letter for letter in letters)


def letter_name(place: int) -> str:
    """Name of the letter at an index.

    a to z, then aa, ab, …

    >>> letter_name(0), letter_name(25), letter_name(26), letter_name(52)
    ('a', 'z', 'aa', 'ba')
    """
    last = chr(ord("a") + place % 26)
    if place < 26:
        return last
    return letter_name(place // 26 - 1) + last
