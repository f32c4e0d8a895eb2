from itertools import combinations, permutations

import numpy as np
import pytest

from winokit.methods.metrics.letters import compact_letters, letter_name


def pairs_of(members) -> set[tuple[int, int]]:
    return set(combinations(sorted(members), 2))


def draw_pairs(rng, member_count: int, share: float) -> list[tuple[int, int]]:
    """Draw this share of all pairs of members."""
    return [pair for pair in combinations(range(member_count), 2) if rng.random() < share]


def maximal_cliques(member_count, apart):
    """Every largest set of members of whom no two are told apart, by trying all sets."""
    pairs_apart = set(apart)
    cliques = []
    for size in range(1, member_count + 1):
        for members in combinations(range(member_count), size):
            if pairs_apart.isdisjoint(pairs_of(members)):
                cliques.append(frozenset(members))
    maximal = set(cliques)
    for smaller, larger in permutations(cliques, 2):
        if smaller < larger:
            maximal.discard(smaller)
    return maximal


@pytest.mark.parametrize("seed", range(60))
def test_letters_are_shared_by_exactly_those_that_are_not_told_apart(seed):
    rng = np.random.default_rng(seed)
    member_count = int(rng.integers(1, 8))
    pairs_apart = draw_pairs(rng, member_count, rng.random())
    letters = compact_letters(member_count, pairs_apart)
    pairs_sharing = set()
    for letter in letters:
        pairs_sharing |= pairs_of(letter)
    everybody = set(range(member_count))
    assert pairs_sharing == pairs_of(everybody) - set(pairs_apart)
    assert set().union(*letters) == everybody, "everybody has a letter"
    cliques = maximal_cliques(member_count, pairs_apart)
    assert set(letters) <= cliques, "no letter could be given to one more"


@pytest.mark.parametrize("seed", range(30))
def test_no_letter_can_be_spared(seed):
    rng = np.random.default_rng(seed)
    letters = compact_letters(6, draw_pairs(rng, 6, 0.4))
    statements = [pairs_of(letter) | set(letter) for letter in letters]
    for index, statement in enumerate(statements):
        other_statements = statements[:index] + statements[index + 1 :]
        assert not statement <= set().union(*other_statements), letters


def test_not_being_told_apart_is_not_handed_on():
    """A circle of five, each told from the two opposite, needs five letters in any order."""
    pairs_apart = [(0, 2), (0, 3), (1, 3), (1, 4), (2, 4)]
    letters = [sorted(letter) for letter in compact_letters(5, pairs_apart)]
    assert sorted(letters) == [[0, 1], [0, 4], [1, 2], [2, 3], [3, 4]]


def test_the_order_of_the_pairs_does_not_matter():
    pairs_apart = [(0, 3), (0, 4), (1, 4), (2, 3)]
    reversed_pairs = [(second, first) for first, second in reversed(pairs_apart)]
    assert compact_letters(5, pairs_apart) == compact_letters(5, reversed_pairs)


@pytest.mark.parametrize(("index", "name"), [(0, "a"), (25, "z"), (26, "aa"), (27, "ab"), (701, "zz"), (702, "aaa")])
def test_after_z_comes_aa(index, name):
    assert letter_name(index) == name


def test_nobody_needs_no_letter():
    assert compact_letters(0, []) == []
