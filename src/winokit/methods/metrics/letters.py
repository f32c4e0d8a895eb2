"""Compact letters: which of many are distinguishable, in a letter or two beside each.

Piepho, "An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons" (Journal of Computational and
Graphical Statistics, 2004): two that share a letter cannot be distinguished, two that share none can. This
is not transitive, so that one may have several letters. Insert and absorb as in the paper; letters that say nothing
which the others do not say are dropped.
"""

from collections.abc import Iterable
from itertools import combinations


def compact_letters(many: int, apart: Iterable[tuple[int, int]]) -> list[frozenset[int]]:
    """For each letter the members that have it.

    Members are numbered from 0, and letters are ordered by their first member.

    The best is told from the worst, and the one between them from neither:

    >>> [sorted(members) for members in compact_letters(3, [(0, 2)])]
    [[0, 1], [1, 2]]
    """
    letters = {frozenset(range(many))} if many else set()
    for one, other in apart:
        split = {letter for letter in letters if one in letter and other in letter}
        parts = {letter - {member} for letter in split for member in (one, other)}
        letters = (letters - split) | parts
        letters = {letter for letter in letters if not any(letter < wider for wider in letters)}
    sorted_letters = sorted(letters, key=lambda letter: sorted(letter))
    for letter in sorted(sorted_letters, key=lambda letter: (len(letter), sorted(letter))):
        other_letters = [other for other in sorted_letters if other is not letter]
        # What it says: that these pairs cannot be distinguished; of one alone, that it has a letter.
        claims = [set(pair) for pair in combinations(letter, 2)] or [set(letter)]
        if all(any(pair <= other for other in other_letters) for pair in claims):
            sorted_letters = other_letters
    return sorted_letters


def letter_name(place: int) -> str:
    """The name of a letter by its index.

    a to z, then aa, ab, …

    >>> letter_name(0), letter_name(25), letter_name(26), letter_name(52)
    ('a', 'z', 'aa', 'ba')
    """
    return (letter_name(place // 26 - 1) if place >= 26 else "") + chr(ord("a") + place % 26)
