from collections import Counter

import pytest

pytest.importorskip("torch")
from winokit.methods.formalizations.inputs import Encoded, InputOption, InputRow
from winokit.methods.training.learner import epoch_steps, planned
from winokit.methods.training.settings import TrainSettings
from winokit.methods.training.stepper import rate


def example(length, rows=2):
    return Encoded(tuple(InputRow(tuple(range(length)), length) for _ in range(rows)), (InputOption(0),))


EXAMPLES = [example(5 + (7 * index) % 31, 1 + index % 3) for index in range(333)]
WAYS = [
    TrainSettings(),
    TrainSettings(batch_size=7, accumulate=3),
    TrainSettings(tokens=400),
    TrainSettings(tokens=300, accumulate=2),
]


def padding(examples, steps):
    """The share of padding among all tokens that are read."""
    read = sum(
        sum(len(examples[index].rows) for index in batch) * max(examples[index].longest for index in batch)
        for step in steps
        for batch in step
    )
    own = sum(len(row.ids) for step in steps for batch in step for index in batch for row in examples[index].rows)
    return 1 - own / read


@pytest.mark.parametrize("settings", WAYS)
def test_every_example_is_in_every_epoch_once(settings):
    for epoch in range(3):
        found = Counter(index for step in epoch_steps(EXAMPLES, settings, epoch) for batch in step for index in batch)
        assert found == Counter(range(len(EXAMPLES)))


@pytest.mark.parametrize("settings", WAYS)
def test_the_order_is_that_of_seed_and_epoch(settings):
    first = epoch_steps(EXAMPLES, settings, 0)
    assert epoch_steps(EXAMPLES, settings, 0) == first
    assert epoch_steps(EXAMPLES, settings, 1) != first
    assert epoch_steps(EXAMPLES, TrainSettings(**{**settings.identity(), "seed": 1}), 0) != first


def test_a_step_has_as_many_batches_as_are_accumulated():
    sizes = [
        [len(batch) for batch in step] for step in epoch_steps(EXAMPLES, TrainSettings(batch_size=7, accumulate=3), 0)
    ]
    assert Counter(map(tuple, sizes)).most_common(1)[0][0] == (7, 7, 7)


def test_a_budget_of_tokens_is_kept():
    for step in epoch_steps(EXAMPLES, TrainSettings(tokens=200), 0):
        for batch in step:
            read = sum(len(EXAMPLES[index].rows) for index in batch) * max(EXAMPLES[index].longest for index in batch)
            assert read <= 200


def test_an_example_larger_than_the_budget_has_a_batch_to_itself():
    steps = epoch_steps([example(50), example(5)], TrainSettings(tokens=20), 0)
    assert sorted(index for step in steps for batch in step for index in batch) == [0, 1]


def test_batches_alike_in_length_are_hardly_padded():
    grouped = padding(EXAMPLES, epoch_steps(EXAMPLES, TrainSettings(batch_size=8), 0))
    shuffled = padding(EXAMPLES, [[list(range(at, min(at + 8, 333)))] for at in range(0, 333, 8)])
    assert grouped < 0.12 < 0.3 < shuffled


def test_a_small_dataset_does_not_make_the_same_batches_again_and_again():
    few = EXAMPLES[:64]
    batches = [
        {frozenset(batch) for step in epoch_steps(few, TrainSettings(batch_size=8), epoch) for batch in step}
        for epoch in (0, 1)
    ]
    assert len(batches[0] & batches[1]) <= 1


def test_epochs_are_counted_by_steps_and_cut_where_asked():
    steps = planned(EXAMPLES[:40], TrainSettings(batch_size=10, epochs=3))
    assert [epoch for epoch, _ in steps] == [number / 4 for number in range(1, 13)]
    assert [epoch for epoch, _ in planned(EXAMPLES[:40], TrainSettings(batch_size=10, epochs=3, steps=5))][-1] == 1.25


def test_the_rate_rises_over_the_warm_up_and_ends_near_zero():
    settings = TrainSettings(learning_rate=2.0, warmup=0.1)
    rates = [rate(step, 100, settings) for step in range(100)]
    assert rates[0] == 0
    assert rates.index(max(rates)) == 10
    assert max(rates) == 2.0
    assert 0 < rates[-1] == pytest.approx(2 / 90)
    assert rate(0, 5, TrainSettings(warmup=0.0, learning_rate=1.0)) == 1.0
