"""Batches hold every example once an epoch, within their budget, and with hardly any padding."""

from collections import Counter
from itertools import chain

import pytest

pytest.importorskip("torch")
from winokit.methods.formalizations.inputs import Encoded, InputOption, InputRow
from winokit.methods.training.learner import epoch_steps, planned
from winokit.methods.training.settings import TrainSettings
from winokit.methods.training.stepper import rate


def example(length, rows=2):
    """Example of some rows, all of one length."""
    row = InputRow(tuple(range(length)), length)
    return Encoded((row,) * rows, (InputOption(0),))


EXAMPLES = [example(5 + (7 * index) % 31, 1 + index % 3) for index in range(333)]
WAYS = [
    TrainSettings(),
    TrainSettings(batch_size=7, accumulate=3),
    TrainSettings(tokens=400),
    TrainSettings(tokens=300, accumulate=2),
]


def batches_of(settings, epoch=0, examples=EXAMPLES):
    """Batches of an epoch, whatever steps they are in."""
    return list(chain.from_iterable(epoch_steps(examples, settings, epoch)))


def count_read(batch):
    """Number of tokens of a batch that are read, with padding to its longest row."""
    row_count = sum(len(EXAMPLES[index].rows) for index in batch)
    return row_count * max(EXAMPLES[index].longest for index in batch)


def count_filled(batch):
    """Number of tokens of a batch that are no padding."""
    rows = chain.from_iterable(EXAMPLES[index].rows for index in batch)
    return sum(len(row.ids) for row in rows)


def padding(batches):
    """Share of padding among all tokens that are read."""
    filled = sum(count_filled(batch) for batch in batches)
    return 1 - filled / sum(count_read(batch) for batch in batches)


@pytest.mark.parametrize("settings", WAYS)
def test_every_example_is_in_every_epoch_once(settings):
    for epoch in range(3):
        counts = Counter(chain.from_iterable(batches_of(settings, epoch)))
        assert counts == Counter(range(len(EXAMPLES)))


@pytest.mark.parametrize("settings", WAYS)
def test_the_order_is_that_of_seed_and_epoch(settings):
    first = epoch_steps(EXAMPLES, settings, 0)
    assert epoch_steps(EXAMPLES, settings, 0) == first
    assert epoch_steps(EXAMPLES, settings, 1) != first
    other_seed = TrainSettings(**{**settings.identity(), "seed": 1})
    assert epoch_steps(EXAMPLES, other_seed, 0) != first


def test_a_step_has_as_many_batches_as_are_accumulated():
    settings = TrainSettings(batch_size=7, accumulate=3)
    sizes = Counter()
    for step in epoch_steps(EXAMPLES, settings, 0):
        sizes[tuple(len(batch) for batch in step)] += 1
    ((commonest, _),) = sizes.most_common(1)
    assert commonest == (7, 7, 7)


def test_a_budget_of_tokens_is_kept():
    for batch in batches_of(TrainSettings(tokens=200)):
        assert count_read(batch) <= 200


def test_an_example_larger_than_the_budget_has_a_batch_to_itself():
    batches = batches_of(TrainSettings(tokens=20), examples=[example(50), example(5)])
    assert sorted(chain.from_iterable(batches)) == [0, 1]


def test_batches_alike_in_length_are_hardly_padded():
    grouped = padding(batches_of(TrainSettings(batch_size=8)))
    in_order = [list(range(start, min(start + 8, 333))) for start in range(0, 333, 8)]
    assert grouped < 0.12 < 0.3 < padding(in_order)


def test_a_small_dataset_does_not_make_the_same_batches_again_and_again():
    few = EXAMPLES[:64]
    settings = TrainSettings(batch_size=8)
    first_epoch = set(map(frozenset, batches_of(settings, 0, few)))
    second_epoch = set(map(frozenset, batches_of(settings, 1, few)))
    assert len(first_epoch & second_epoch) <= 1


def test_epochs_are_counted_by_steps_and_cut_where_asked():
    examples = EXAMPLES[:40]
    steps = planned(examples, TrainSettings(batch_size=10, epochs=3))
    steps_cut = planned(examples, TrainSettings(batch_size=10, epochs=3, steps=5))
    last_epoch, _ = steps_cut[-1]
    assert [epoch for epoch, _ in steps] == [number / 4 for number in range(1, 13)]
    assert last_epoch == 1.25


def test_the_rate_rises_over_the_warm_up_and_ends_near_zero():
    settings = TrainSettings(learning_rate=2.0, warmup=0.1)
    rates = [rate(step, 100, settings) for step in range(100)]
    highest = max(rates)
    assert rates[0] == 0
    assert rates.index(highest) == 10
    assert highest == 2.0
    assert rates[-1] > 0
    assert rates[-1] == pytest.approx(2 / 90)


def test_without_a_warm_up_the_rate_is_highest_at_once():
    settings = TrainSettings(warmup=0.0, learning_rate=1.0)
    assert rate(0, 5, settings) == 1.0
