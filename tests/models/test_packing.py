from hypothesis import given
from hypothesis import strategies as st

from winokit.models.packing import packed

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
