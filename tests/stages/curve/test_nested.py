import pytest

pytest.importorskip("torch")
import itertools

from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.problem import Card, Dataset
from winokit.stages.curve.nested import NestedGrowth, nested, parse_sizes, usual_sizes, wants_untrained


def ids(dataset):
    return {problem.id for problem in dataset}


def some_alone(dataset):
    """Every fifth group loses a member, so that there are problems alone."""
    groups = list(dataset.groups)
    alone = set(groups[::5])
    kept = [p for p in dataset if p.group not in alone or p is dataset.groups[p.group][0]]
    return Dataset([p.replace(group=None) if p.group in alone else p for p in kept], Card("mixed"))


def test_each_size_holds_the_one_before_and_no_twin_is_torn():
    data = some_alone(load("open"))
    parts = nested(data, (0, 10, 51, 200, len(data)), seed=3)
    assert [len(part) for part in parts[:1]] == [0]
    for small, large in itertools.pairwise(parts):
        assert ids(small) < ids(large)
    for part, size in zip(parts, (0, 10, 51, 200, len(data)), strict=True):
        assert size - 1 <= len(part) <= size
        assert all(len(members) == len(data.groups[name]) for name, members in part.groups.items())


def test_another_seed_draws_another_subset_and_the_same_seed_the_same():
    data = load("open")
    one, again, other = (nested(data, (100,), seed)[0] for seed in (1, 1, 2))
    assert ids(one) == ids(again)
    assert len(ids(one) & ids(other)) < 60


@pytest.mark.parametrize(
    ("sizes", "said"),
    [((1000,), "has 428 problems, but a size of 1,000 was requested"), ((1,), "size 1: too small for the first group")],
)
def test_sizes_that_cannot_be_had_are_refused(sizes, said):
    with pytest.raises(BadInput, match=said):
        nested(load("open"), sizes, 0)


def test_sizes_are_written_with_commas_and_all():
    assert parse_sizes("640, 0,all,1_60", 900) == (0, 160, 640, 900)
    assert usual_sizes(40_398) == (0, 160, 640, 2560, 10240, 40398)
    for text, said in (
        ("0", "a size above 0"),
        ("1,1", "each size may appear only once"),
        ("x", "whole numbers"),
        ("files", "several"),
    ):
        with pytest.raises(BadInput, match=said):
            parse_sizes(text, 10)


def test_files_are_sizes_as_they_are_and_zero_can_be_added():
    data = load("open")
    growth = NestedGrowth.of_files([data[:40], data[:80]], untrained=wants_untrained("0,files"))
    assert growth.sizes == (0, 40, 80)
    assert [len(part) for part in growth.sets(5)] == [0, 40, 80]
    assert growth.notes == [
        "sizes are files: restarts differ in head, dropout and order of batches, not in training data"
    ]
    with pytest.raises(BadInput, match="the files are the sizes"):
        wants_untrained("0,160")
    with pytest.raises(BadInput, match="from small to large"):
        NestedGrowth.of_files([data[:80], data[:40]])


def test_files_that_are_not_nested_or_tear_twins_are_noted():
    data = load("open")
    apart = NestedGrowth.of_files([data[100:141], data[:120]])
    assert any(
        "problems of open, 41 of 428 are not in open, 120 of 428: these sizes are not nested" in one
        for one in apart.notes
    )
    assert any("1 groups have lost a member" in one for one in NestedGrowth.of_files([data[:41], data[:80]]).notes)


def test_winograndes_own_sizes_are_nested_and_whole(real_file):
    files = [load(real_file(f"winogrande/train_{size}.jsonl")) for size in ("xs", "s", "m")]
    assert len(NestedGrowth.of_files(files).notes) == 1
