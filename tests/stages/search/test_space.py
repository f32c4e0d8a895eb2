"""The settings of a trial are drawn from a space by seed and number, and from nothing else."""

from collections import Counter

import numpy as np
import pytest

from winokit.errors import WinokitError
from winokit.stages.search.space import SearchSpace, SearchValues, parse


def test_the_default_is_the_papers_space():
    space = SearchSpace()
    assert space.size == 3 * 4 * 3
    assert space.varied == ("learning_rate", "batch_size", "epochs")
    assert space.told() == {
        "sampler": "random",
        "learning_rate": "1e-05,2e-05,3e-05",
        "batch_size": "8,16,32,64",
        "epochs": "10,20,40",
        "warmup": "0.06",
        "weight_decay": "0.001",
    }


def draw_settings(space, count, seed=0):
    """The settings of the first so many trials."""
    return [space.draw(seed, number) for number in range(count)]


@pytest.mark.parametrize("sampler", ["random", "grid"])
def test_a_trial_depends_on_seed_and_number_alone(sampler):
    space = SearchSpace(sampler=sampler)
    forwards = draw_settings(space, 40, seed=3)
    backwards = [space.draw(3, number) for number in reversed(range(40))]
    by_other_seed = draw_settings(space, 40, seed=4)
    training_seeds = {settings["seed"] for settings in forwards}
    assert forwards == backwards[::-1]
    assert forwards != by_other_seed
    assert len(training_seeds) == 40


def test_to_hold_one_setting_still_leaves_the_others_as_they_were():
    free_space = SearchSpace()
    fixed_space = SearchSpace(learning_rate="5e-6")
    for number in range(10):
        free_settings = free_space.draw(0, number)
        fixed_settings = fixed_space.draw(0, number)
        assert fixed_settings["learning_rate"] == 5e-6
        assert fixed_settings == {**free_settings, "learning_rate": 5e-6}


@pytest.mark.parametrize(("name", "value_count"), [("learning_rate", 3), ("batch_size", 4), ("epochs", 3)])
def test_random_draws_have_every_value_about_equally_often(name, value_count):
    trials = draw_settings(SearchSpace(), 1200)
    counts = Counter(settings[name] for settings in trials)
    mean_count = 1200 / value_count
    assert len(counts) == value_count
    assert max(counts.values()) < 1.2 * mean_count


def test_a_grid_has_each_combination_once_then_all_again_with_other_seeds():
    space = SearchSpace(sampler="grid", learning_rate="1e-5,2e-5", batch_size="8,16", epochs="3")
    trials = draw_settings(space, 8)
    keys = []
    for settings in trials:
        keys.append((settings["learning_rate"], settings["batch_size"], settings["epochs"]))
    seeds = {settings["seed"] for settings in trials}
    combinations = [(1e-5, 8, 3), (1e-5, 16, 3), (2e-5, 8, 3), (2e-5, 16, 3)]
    assert sorted(keys[:4]) == combinations
    assert sorted(keys[4:]) == combinations
    assert len(seeds) == 8


def test_a_range_is_drawn_by_logarithms():
    space = SearchSpace(learning_rate="1e-6..1e-4")
    trials = draw_settings(space, 2000)
    rates = [settings["learning_rate"] for settings in trials]
    assert min(rates) >= 1e-6
    assert max(rates) <= 1e-4
    assert np.median(rates) == pytest.approx(1e-5, rel=0.15)


def test_a_range_of_counts_has_both_its_ends_and_nothing_else():
    space = SearchSpace(batch_size="2..4")
    trials = draw_settings(space, 300)
    batch_sizes = {settings["batch_size"] for settings in trials}
    assert batch_sizes == {2, 3, 4}


def test_lists_and_ranges_are_read_as_written():
    assert parse("learning_rate", " 1e-5, 2e-5") == SearchValues((1e-5, 2e-5))
    assert parse("epochs", "3") == SearchValues((3,))
    assert parse("batch_size", "8..64") == SearchValues((8, 64), is_range=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": "1e-5,fast"}, r"--learning-rate 1e-5,fast: expected numbers with commas .*, found 'fast'"),
        ({"learning_rate": "1e-5,"}, "--learning-rate 1e-5,: expected numbers with commas .*, found ''"),
        ({"learning_rate": "nan"}, "found 'nan'"),
        ({"learning_rate": "-1e-5"}, "learning_rate: expected a number above 0, found -1e-05"),
        ({"learning_rate": "1e-4..1e-6"}, "a range must rise from above 0"),
        ({"warmup": "0..0.1"}, "--set warmup=0..0.1: a range must rise from above 0"),
        ({"warmup": "1.5"}, "warmup: expected 0 or more and a number below 1"),
        ({"batch_size": "8.5"}, r"--batch-size 8.5: expected whole numbers .* found '8.5'"),
        ({"batch_size": "0,8"}, "batch_size: expected 1 or more, found 0"),
        ({"epochs": "3,3"}, "--epochs 3,3: 3 is given twice"),
        ({"sampler": "grid", "learning_rate": "1e-6..1e-4"}, "a grid needs single values; give a list"),
        ({"sampler": "tpe"}, "No sampler named 'tpe'. Known: grid, random."),
    ],
)
def test_what_makes_no_space_is_one_clear_line(settings, message):
    with pytest.raises(WinokitError, match=message) as refusal:
        SearchSpace(**settings)
    assert "\n" not in str(refusal.value)
