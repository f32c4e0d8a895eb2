"""Training sizes are nested: each holds the one before, and no twin is torn from the other."""

import pytest

pytest.importorskip("torch")
import itertools

from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.problem import Card, Dataset
from winokit.stages.curve.nested import NestedGrowth, nested, parse_sizes, usual_sizes, wants_untrained


def ids_of(dataset):
    return {problem.id for problem in dataset}


def break_some_groups(dataset):
    """The dataset without one member of every fifth group, so that there are problems alone."""
    broken_groups = set(list(dataset.groups)[::5])
    problems = []
    for name, members in dataset.groups.items():
        if name in broken_groups:
            problems.append(members[0].replace(group=None))
        else:
            problems += members
    return Dataset(problems, Card("mixed"))


def test_each_size_holds_the_one_before_and_no_twin_is_torn():
    data = break_some_groups(load("open"))
    sizes = (0, 10, 51, 200, len(data))
    parts = nested(data, sizes, seed=3)
    assert len(parts[0]) == 0
    for small, large in itertools.pairwise(parts):
        assert ids_of(small) < ids_of(large)
    for part, size in zip(parts, sizes, strict=True):
        assert size - 1 <= len(part) <= size
        for name, members in part.groups.items():
            assert len(members) == len(data.groups[name])


def test_another_seed_draws_another_subset_and_the_same_seed_the_same():
    data = load("open")
    subsets = [nested(data, (100,), seed)[0] for seed in (1, 1, 2)]
    first, repetition, other_seed = map(ids_of, subsets)
    assert first == repetition
    assert len(first & other_seed) < 60


@pytest.mark.parametrize(
    ("size", "message"),
    [(1000, "has 428 problems, but a size of 1,000 was requested"), (1, "size 1: too small for the first group")],
)
def test_sizes_that_cannot_be_had_are_refused(size, message):
    with pytest.raises(BadInput, match=message):
        nested(load("open"), (size,), 0)


def test_sizes_are_written_with_commas_and_all():
    assert parse_sizes("640, 0,all,1_60", 900) == (0, 160, 640, 900)


def test_the_usual_sizes_are_winograndes():
    assert usual_sizes(40_398) == (0, 160, 640, 2560, 10240, 40398)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "a size above 0"),
        ("1,1", "each size may appear only once"),
        ("x", "whole numbers"),
        ("files", "several"),
    ],
)
def test_texts_that_are_no_sizes_are_refused(text, message):
    with pytest.raises(BadInput, match=message):
        parse_sizes(text, 10)


def test_files_are_sizes_as_they_are_and_zero_can_be_added():
    data = load("open")
    growth = NestedGrowth.of_files([data[:40], data[:80]], untrained=wants_untrained("0,files"))
    sets = growth.sets(5)
    assert growth.sizes == (0, 40, 80)
    assert [len(part) for part in sets] == [0, 40, 80]
    assert growth.notes == [
        "sizes are files: restarts differ in head, dropout and order of batches, not in training data"
    ]


def test_files_as_sizes_rise_and_have_no_other_sizes_beside_them():
    data = load("open")
    with pytest.raises(BadInput, match="the files are the sizes"):
        wants_untrained("0,160")
    with pytest.raises(BadInput, match="from small to large"):
        NestedGrowth.of_files([data[:80], data[:40]])


def test_files_that_are_not_nested_or_tear_twins_are_noted():
    data = load("open")
    not_nested = NestedGrowth.of_files([data[100:141], data[:120]])
    torn = NestedGrowth.of_files([data[:41], data[:80]])
    sentence = "problems of open, 41 of 428 are not in open, 120 of 428: these sizes are not nested"
    assert any(sentence in note for note in not_nested.notes)
    assert any("1 groups have lost a member" in note for note in torn.notes)


def test_winograndes_own_sizes_are_nested_and_whole(real_file):
    paths = [real_file(f"winogrande/train_{size}.jsonl") for size in ("xs", "s", "m")]
    growth = NestedGrowth.of_files([load(path) for path in paths])
    assert len(growth.notes) == 1
