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


@pytest.mark.parametrize("sampler", ["random", "grid"])
def test_a_trial_depends_on_seed_and_number_alone(sampler):
    space = SearchSpace(sampler=sampler)
    forwards = [space.draw(3, number) for number in range(40)]
    backwards = [space.draw(3, number) for number in reversed(range(40))]
    assert forwards == backwards[::-1]
    assert forwards != [space.draw(4, number) for number in range(40)]
    assert len({drawn["seed"] for drawn in forwards}) == 40


def test_to_hold_one_setting_still_leaves_the_others_as_they_were():
    free = SearchSpace()
    held = SearchSpace(learning_rate="5e-6")
    for number in range(10):
        one = free.draw(0, number)
        other = held.draw(0, number)
        assert other.pop("learning_rate") == 5e-6
        del one["learning_rate"]
        assert one == other


def test_random_draws_have_every_value_about_equally_often():
    space = SearchSpace()
    drawn = [space.draw(0, number) for number in range(1200)]
    for name, values in (("learning_rate", 3), ("batch_size", 4), ("epochs", 3)):
        counts = Counter(trial[name] for trial in drawn)
        assert len(counts) == values
        assert max(counts.values()) < 1.2 * 1200 / values


def test_a_grid_has_each_combination_once_then_all_again_with_other_seeds():
    space = SearchSpace(sampler="grid", learning_rate="1e-5,2e-5", batch_size="8,16", epochs="3")
    drawn = [space.draw(0, number) for number in range(8)]
    keys = [(trial["learning_rate"], trial["batch_size"], trial["epochs"]) for trial in drawn]
    assert Counter(keys[:4]) == Counter(keys[4:]) == Counter((a, b, 3) for a in (1e-5, 2e-5) for b in (8, 16))
    assert len({trial["seed"] for trial in drawn}) == 8


def test_a_range_is_drawn_by_logarithms():
    space = SearchSpace(learning_rate="1e-6..1e-4")
    drawn = [space.draw(0, number)["learning_rate"] for number in range(2000)]
    assert min(drawn) >= 1e-6
    assert max(drawn) <= 1e-4
    assert np.median(drawn) == pytest.approx(1e-5, rel=0.15)


def test_a_range_of_counts_has_both_its_ends_and_nothing_else():
    space = SearchSpace(batch_size="2..4")
    drawn = [space.draw(0, number)["batch_size"] for number in range(300)]
    assert set(drawn) == {2, 3, 4}


def test_lists_and_ranges_are_read_as_written():
    assert parse("learning_rate", " 1e-5, 2e-5") == SearchValues((1e-5, 2e-5))
    assert parse("epochs", "3") == SearchValues((3,))
    assert parse("batch_size", "8..64") == SearchValues((8, 64), is_range=True)


@pytest.mark.parametrize(
    ("how", "said"),
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
def test_what_makes_no_space_is_one_clear_line(how, said):
    with pytest.raises(WinokitError, match=said) as refused:
        SearchSpace(**how)
    assert "\n" not in str(refused.value)
