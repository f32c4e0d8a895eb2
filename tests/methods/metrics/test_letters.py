from itertools import chain, combinations

import numpy as np
import pytest

from winokit.methods.metrics.letters import compact_letters, letter_name


def maximal_cliques(many, apart):
    """Every largest set of members of whom no two are told apart, by trying all sets."""
    told = {frozenset(pair) for pair in apart}
    sets = chain.from_iterable(combinations(range(many), size) for size in range(1, many + 1))
    whole = [frozenset(s) for s in sets if not any(frozenset(pair) in told for pair in combinations(s, 2))]
    return {clique for clique in whole if not any(clique < other for other in whole)}


@pytest.mark.parametrize("seed", range(60))
def test_letters_are_shared_by_exactly_those_that_are_not_told_apart(seed):
    rng = np.random.default_rng(seed)
    many = int(rng.integers(1, 8))
    apart = [pair for pair in combinations(range(many), 2) if rng.random() < rng.random()]
    letters = compact_letters(many, apart)
    shared = {pair for letter in letters for pair in combinations(sorted(letter), 2)}
    assert shared == set(combinations(range(many), 2)) - set(apart)
    assert set().union(*letters) == set(range(many)), "everybody has a letter"
    assert set(letters) <= maximal_cliques(many, apart), "no letter could be given to one more"


@pytest.mark.parametrize("seed", range(30))
def test_no_letter_can_be_spared(seed):
    rng = np.random.default_rng(seed)
    apart = [pair for pair in combinations(range(6), 2) if rng.random() < 0.4]
    letters = compact_letters(6, apart)
    said = [{*combinations(sorted(letter), 2), *((member,) for member in letter)} for letter in letters]
    for place, own in enumerate(said):
        assert not own <= set().union(*said[:place], *said[place + 1 :]), letters


def test_not_being_told_apart_is_not_handed_on():
    """A circle of five, each told from the two opposite: five letters, and no order in which they are intervals."""
    apart = [(0, 2), (0, 3), (1, 3), (1, 4), (2, 4)]
    assert sorted(map(sorted, compact_letters(5, apart))) == [[0, 1], [0, 4], [1, 2], [2, 3], [3, 4]]


def test_the_order_of_the_pairs_does_not_matter():
    apart = [(0, 3), (0, 4), (1, 4), (2, 3)]
    assert compact_letters(5, apart) == compact_letters(5, [(b, a) for a, b in reversed(apart)])


def test_after_z_comes_aa():
    assert [letter_name(place) for place in (0, 25, 26, 27, 701, 702)] == ["a", "z", "aa", "ab", "zz", "aaa"]


def test_nobody_needs_no_letter():
    assert compact_letters(0, []) == []
