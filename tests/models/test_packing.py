import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from winokit.models.packing import ScoredText, Tree, forest, packed, singles

LENGTHS = st.lists(st.integers(1, 60), max_size=40)


@given(LENGTHS, st.integers(1, 200))
def test_every_text_is_in_one_batch(lengths, budget):
    assert sorted(index for batch in packed(lengths, budget) for index in batch) == list(range(len(lengths)))


@given(LENGTHS, st.integers(1, 200))
def test_padded_batches_stay_within_the_budget_unless_one_text_alone_exceeds_it(lengths, budget):
    for batch in packed(lengths, budget):
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= budget


@given(LENGTHS, st.integers(1, 200))
def test_the_longest_come_first(lengths, budget):
    flat = [lengths[index] for batch in packed(lengths, budget) for index in batch]
    assert flat == sorted(lengths, reverse=True)


def test_batches_are_as_full_as_they_can_be():
    assert packed([5] * 10, budget=20) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


TEXTS = st.lists(
    st.lists(st.integers(0, 2), min_size=2, max_size=7).flatmap(
        lambda tokens: st.builds(ScoredText, st.just(tuple(tokens)), st.integers(1, len(tokens) - 1))
    ),
    min_size=1,
    max_size=8,
)


def spelled(tree: Tree, node: int) -> tuple[int, ...]:
    """The tokens from the root to a node."""
    path = []
    while node >= 0:
        path.append(tree.tokens[node])
        node = tree.parents[node]
    return tuple(path[::-1])


def test_two_options_and_their_twins_are_one_tree():
    texts = [ScoredText((1, 2, 3, 9, 9), 3), ScoredText((1, 2, 4, 9, 9), 3), ScoredText((1, 2, 3, 9, 8), 3)]
    (tree,) = forest(texts, attention=0, most=100)
    assert tree.tokens == [1, 2, 3, 9, 4, 9]
    assert tree.parents == [-1, 0, 1, 2, 1, 4]
    assert tree.depths == [0, 1, 2, 3, 2, 3]
    assert tree.guesses == {2: [(2, 9), (3, 8)], 0: [(2, 9), (3, 9)], 1: [(4, 9), (5, 9)]}


@given(TEXTS, st.sampled_from([0, 0.01, 0.3]), st.sampled_from([1, 6, 100]))
def test_every_guess_is_made_from_what_stands_before_it(texts, attention, most):
    found = {}
    for tree in forest(texts, attention, most):
        for index, guesses in tree.guesses.items():
            found[index] = [(spelled(tree, node), token) for node, token in guesses]
    assert found == {
        index: [(text.tokens[:place], text.tokens[place]) for place in range(text.first, len(text.tokens))]
        for index, text in enumerate(texts)
    }


@given(TEXTS)
def test_nothing_is_read_twice_where_attention_is_free(texts):
    trees = forest(texts, attention=0, most=1000)
    begun = {text.read[:end] for text in texts for end in range(1, len(text.tokens))}
    assert sum(map(len, trees)) == len(begun)


@given(TEXTS)
def test_a_token_sees_its_ancestors_and_itself_alone(texts):
    for tree in forest(texts, attention=0, most=1000):
        sees = tree.visible()
        for node in range(len(tree)):
            seen = tuple(tree.tokens[other] for other in np.flatnonzero(sees[node]))
            assert seen == spelled(tree, node)
            assert tree.depths[node] == len(seen) - 1


def test_trees_stay_within_the_budget():
    texts = [ScoredText((1, 2, 3, token, 0), 4) for token in range(20)]
    trees = forest(texts, attention=0, most=10)
    assert [len(tree) for tree in trees] == [10, 10, 9]


def test_a_text_longer_than_the_budget_is_still_shared_where_it_costs_nothing():
    trees = forest([ScoredText((1, 2, 3, 4), 1), ScoredText((1, 2, 3, 5), 1)], attention=0, most=2)
    assert [len(tree) for tree in trees] == [3]
    assert sorted(trees[0].guesses) == [0, 1]


def test_dear_attention_keeps_texts_with_little_in_common_apart():
    texts = [ScoredText((1, *range(token, token + 20)), 1) for token in (100, 200)]
    assert len(forest(texts, attention=0.0001, most=100)) == 1
    assert len(forest(texts, attention=0.01, most=100)) == 2


def test_singles_are_one_text_each_and_none_twice():
    texts = [ScoredText((1, 2, 3), 1), ScoredText((1, 2, 3), 2), ScoredText((1, 2, 4), 2), ScoredText((1, 3), 1)]
    trees = singles(texts)
    assert [(tree.tokens, tree.guesses) for tree in trees] == [
        ([1, 2], {0: [(0, 2), (1, 3)], 1: [(1, 3)], 2: [(1, 4)]}),
        ([1], {3: [(0, 3)]}),
    ]


def test_a_large_batch_takes_no_text_much_shorter_than_its_longest():
    lengths = [*range(20, 140)] * 10
    batches = packed(lengths, 16384, 0.9)
    padded = sum(len(batch) * lengths[batch[0]] for batch in batches)
    assert padded < 1.07 * sum(lengths)
    assert sum(len(batch) * lengths[batch[0]] for batch in packed(lengths, 16384)) > 1.07 * sum(lengths)
    assert all(len(batch) * lengths[batch[0]] >= 1024 for batch in batches[:-1])
