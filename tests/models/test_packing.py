"""Batches and prefix trees hold every text once, and stay within their budget."""

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from winokit.models.packing import ScoredText, Tree, forest, packed, singles

LENGTHS = st.lists(st.integers(1, 60), max_size=40)


@given(LENGTHS, st.integers(1, 200))
def test_every_text_is_in_one_batch(lengths, budget):
    indices = chain.from_iterable(packed(lengths, budget))
    assert sorted(indices) == list(range(len(lengths)))


@given(LENGTHS, st.integers(1, 200))
def test_padded_batches_stay_within_the_budget_unless_one_text_alone_exceeds_it(lengths, budget):
    for batch in packed(lengths, budget):
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget


@given(LENGTHS, st.integers(1, 200))
def test_the_longest_come_first(lengths, budget):
    lengths_in_order = [lengths[index] for index in chain.from_iterable(packed(lengths, budget))]
    assert lengths_in_order == sorted(lengths, reverse=True)


def test_batches_are_as_full_as_they_can_be():
    batches = packed([5] * 10, budget=20)
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@st.composite
def scored_texts(draw):
    """Draw a short text of three different tokens, scored from one of them on."""
    tokens = draw(st.lists(st.integers(0, 2), min_size=2, max_size=7))
    first = draw(st.integers(1, len(tokens) - 1))
    return ScoredText(tuple(tokens), first)


TEXTS = st.lists(scored_texts(), min_size=1, max_size=8)


def spelled(tree: Tree, node: int) -> tuple[int, ...]:
    """Tokens from the root to a node."""
    path = []
    while node >= 0:
        path.append(tree.tokens[node])
        node = tree.parents[node]
    return tuple(path[::-1])


def test_two_options_and_their_twins_are_one_tree():
    option = ScoredText((1, 2, 3, 9, 9), 3)
    other_option = ScoredText((1, 2, 4, 9, 9), 3)
    twin = ScoredText((1, 2, 3, 9, 8), 3)
    (tree,) = forest([option, other_option, twin], attention=0, most=100)
    assert tree.tokens == [1, 2, 3, 9, 4, 9]
    assert tree.parents == [-1, 0, 1, 2, 1, 4]
    assert tree.depths == [0, 1, 2, 3, 2, 3]
    assert tree.guesses[0] == [(2, 9), (3, 9)]
    assert tree.guesses[1] == [(4, 9), (5, 9)]
    assert tree.guesses[2] == [(2, 9), (3, 8)]
    assert len(tree.guesses) == 3


@given(TEXTS, st.sampled_from([0, 0.01, 0.3]), st.sampled_from([1, 6, 100]))
def test_every_guess_is_made_from_what_stands_before_it(texts, attention, most):
    guesses_by_text = {}
    for tree in forest(texts, attention, most):
        for index, guesses in tree.guesses.items():
            guesses_by_text[index] = [(spelled(tree, node), token) for node, token in guesses]
    assert sorted(guesses_by_text) == list(range(len(texts)))
    for index, text in enumerate(texts):
        positions = range(text.first, len(text.tokens))
        expected = [(text.tokens[:position], text.tokens[position]) for position in positions]
        assert guesses_by_text[index] == expected


@given(TEXTS)
def test_nothing_is_read_twice_where_attention_is_free(texts):
    trees = forest(texts, attention=0, most=1000)
    beginnings = set()
    for text in texts:
        beginnings.update(text.read[:end] for end in range(1, len(text.tokens)))
    assert sum(map(len, trees)) == len(beginnings)


@given(TEXTS)
def test_a_token_sees_its_ancestors_and_itself_alone(texts):
    for tree in forest(texts, attention=0, most=1000):
        is_visible = tree.visible()
        for node in range(len(tree)):
            visible_nodes = np.flatnonzero(is_visible[node])
            visible_tokens = tuple(tree.tokens[visible_node] for visible_node in visible_nodes)
            assert visible_tokens == spelled(tree, node)
            assert tree.depths[node] == len(visible_tokens) - 1


def test_trees_stay_within_the_budget():
    texts = [ScoredText((1, 2, 3, token, 0), 4) for token in range(20)]
    trees = forest(texts, attention=0, most=10)
    sizes = [len(tree) for tree in trees]
    assert sizes == [10, 10, 9]


def test_a_text_longer_than_the_budget_is_still_shared_where_it_costs_nothing():
    texts = [ScoredText((1, 2, 3, 4), 1), ScoredText((1, 2, 3, 5), 1)]
    (tree,) = forest(texts, attention=0, most=2)
    assert len(tree) == 3
    assert sorted(tree.guesses) == [0, 1]


def test_dear_attention_keeps_texts_with_little_in_common_apart():
    low_tokens = ScoredText((1, *range(100, 120)), 1)
    high_tokens = ScoredText((1, *range(200, 220)), 1)
    texts = [low_tokens, high_tokens]
    cheap = forest(texts, attention=0.0001, most=100)
    dear = forest(texts, attention=0.01, most=100)
    assert len(cheap) == 1
    assert len(dear) == 2


def test_singles_are_one_text_each_and_none_twice():
    scored_from_second = ScoredText((1, 2, 3), 1)
    scored_from_third = ScoredText((1, 2, 3), 2)
    other_end = ScoredText((1, 2, 4), 2)
    short = ScoredText((1, 3), 1)
    longer_tree, short_tree = singles([scored_from_second, scored_from_third, other_end, short])
    assert longer_tree.tokens == [1, 2]
    assert longer_tree.guesses == {0: [(0, 2), (1, 3)], 1: [(1, 3)], 2: [(1, 4)]}
    assert short_tree.tokens == [1]
    assert short_tree.guesses == {3: [(0, 3)]}


def count_padded(batches, lengths):
    """Number of tokens in each batch, with padding to its first and longest text."""
    return [len(batch) * lengths[batch[0]] for batch in batches]


def test_a_large_batch_takes_no_text_much_shorter_than_its_longest():
    lengths = [*range(20, 140)] * 10
    token_count = sum(lengths)
    sizes = count_padded(packed(lengths, 16384, 0.9), lengths)
    unlimited_sizes = count_padded(packed(lengths, 16384), lengths)
    assert sum(sizes) < 1.07 * token_count
    assert sum(unlimited_sizes) > 1.07 * token_count
    assert all(size >= 1024 for size in sizes[:-1])
