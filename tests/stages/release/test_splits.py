from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from winokit.data.checks.nearest_fact import fact_pairs
from winokit.data.loading import load
from winokit.errors import BadInput, CannotWrite, UnknownName
from winokit.methods.transforms.views import binary
from winokit.problem import Dataset, Problem
from winokit.stages.release.contents import (
    SAME_TEXT,
    TWIN_EVALUATED,
    ReleaseInputs,
    balanced,
    fill,
    read_inputs,
    size_targets,
)
from winokit.stages.release.hidden import Draws
from winokit.stages.release.settings import FORMALIZATIONS, ReleaseSettings
from winokit.stages.release.splits import ReleaseUnit, blocks_of, units_of

WORDS = "oak ash elm fir yew box bay fig ivy hop oat rye pea nut gum rue tea fen moss reed sage mint dill kale".split()


def pair(number, special=("heavy", "light"), things=None, group=None):
    """Twins with words that no other pair has, so that none is another's near-duplicate."""
    random = Random(number)
    things = things or (f"the crate{number}", f"the shelf{number}")
    filler = " ".join(f"{random.choice(WORDS)}{random.randrange(10**6)}" for _ in range(8))
    start = f"Near {filler} we put {things[0]} onto {things[1]} although "
    return [
        Problem(start, f" was {word}.", things, place, group=group or f"g{number}")
        for place, word in enumerate(special)
    ]


def pairs(count):
    return [problem for number in range(count) for problem in pair(number)]


def inputs_of(kept, removed=()):
    data = Dataset([*kept, *removed])
    return ReleaseInputs(data, frozenset(p.id for p in data.problems[: len(kept)]))


def half_filtered(count=60):
    """Pairs of which every third lost its first member and every fifth its second to a filter."""
    kept = []
    removed = []
    for number in range(count):
        first, second = pair(number)
        (removed if number % 3 == 0 else kept).append(first)
        (removed if number % 5 == 0 else kept).append(second)
    return inputs_of(kept, removed)


def sides(contents):
    return {"train": contents.training, "dev": contents.files["dev"], "test": contents.files["test"]}


def test_no_group_crosses_splits_even_when_a_filter_put_its_members_apart():
    inputs = half_filtered()
    where = fill(inputs, ReleaseSettings()).where
    by_group = {}
    for problem in inputs.problems:
        if problem.id in where:
            by_group.setdefault(problem.group, set()).add(where[problem.id])
    assert all(len(splits) == 1 for splits in by_group.values())
    assert set(Counter(where.values())) == {"train", "dev", "test"}


def test_no_two_test_problems_have_a_text_and_only_one_candidate_in_common():
    """As `--as binary` makes them of a problem with more candidates: the one that they share is the answer."""
    many = [p.replace(candidates=(*p.candidates, "the wall"), group=None) for n in range(60) for p in pair(n)[:1]]
    contents = fill(read_inputs(binary(Dataset(many))), ReleaseSettings(dev=20, test=40))
    texts = [problem.text for problem in contents.files["test"]]
    assert len(texts) == len(set(texts)) == contents.left_out[SAME_TEXT] == 20
    assert not set(texts) & {p.text for name in ("train", "dev") for p in sides(contents)[name]}


def test_twins_whose_texts_have_other_problems_too_stay_together():
    others = [p.replace(candidates=(p.right, "the wall"), answer=0, group=None) for n in range(60) for p in pair(n)]
    both = [*(p for n in range(60) for p in pair(n)), *others]
    contents = fill(read_inputs(Dataset(both)), ReleaseSettings(dev=20, test=40))
    tested = contents.files["test"]
    assert contents.left_out[SAME_TEXT] == len(tested) == 20
    assert all(size == 2 for size in Counter(problem.group for problem in tested).values())
    assert not any(note.startswith("test has") for note in contents.notes)


def test_dev_and_test_have_kept_problems_only_and_the_removed_twin_stays_out():
    inputs = half_filtered()
    contents = fill(inputs, ReleaseSettings(dev=20, test=20))
    evaluated = [*contents.files["dev"], *contents.files["test"]]
    assert {p.id for p in evaluated} <= inputs.kept
    groups = {problem.group for problem in inputs.problems if problem.id in {p.id for p in evaluated}}
    removed_twins = [p for p in inputs.problems if p.group in groups and p.id not in inputs.kept]
    assert removed_twins
    assert contents.left_out[TWIN_EVALUATED] == len(removed_twins)
    assert not {p.id for p in removed_twins} & set(contents.where)


def test_train_debiased_is_every_kept_problem_that_is_not_evaluated():
    inputs = half_filtered()
    contents = fill(inputs, ReleaseSettings())
    evaluated = {p.id for name in ("dev", "test") for p in contents.files[name]}
    assert {p.id for p in contents.files["train_debiased"]} == inputs.kept - evaluated


def test_sizes_are_beginnings_of_each_other_with_whole_groups_of_kept_and_removed():
    contents = fill(half_filtered(200), ReleaseSettings())
    sizes = list(contents.sizes.values())
    assert list(contents.sizes) == ["train_m", "train_l", "train_xl"]
    for small, large in pairwise(sizes):
        assert list(small) == list(large)[: len(small)]
        assert 3 <= len(large) / len(small) <= 5
    for size in sizes:
        assert all(len(members) == 2 for members in size.groups.values())
        assert len(size) == 2 * len(size.groups)
    assert {contents.status(p) for p in sizes[-1]} == {"kept", "removed"}


def test_a_split_that_falls_short_says_why():
    inputs = half_filtered()
    settled = fill(inputs, ReleaseSettings(dev=4, test=4)).where
    short = fill(inputs, ReleaseSettings(dev=20, test=20), settled).notes
    assert [note.partition(": ")[2] for note in short] == ["problems stay in the splits of the previous version"] * 2


def test_a_size_that_is_larger_than_what_there_is_to_train_on_is_noted():
    assert not fill(half_filtered(), ReleaseSettings(sizes=(10, 20))).notes
    contents = fill(half_filtered(), ReleaseSettings(sizes=(10, 9999)))
    there = len(contents.files["train_xl"])
    assert contents.notes == (f"train_xl has all {there:,} problems there are, of the 9,999 asked for",)


def test_sizes_of_winogrande_are_a_quarter_of_each_other_and_small_data_has_fewer():
    assert size_targets(40398) == {"xs": 157, "s": 631, "m": 2524, "l": 10099, "xl": 40398}
    assert size_targets(322) == {"m": 20, "l": 80, "xl": 322}
    assert size_targets(10) == {"xl": 10}
    assert size_targets(5000, (160, 640, 9999)) == {"m": 160, "l": 640, "xl": 5000}


def test_a_size_never_has_more_problems_than_asked_for():
    contents = fill(inputs_of(pairs(40)), ReleaseSettings(sizes=(5, 21)))
    assert {name: len(data) for name, data in contents.sizes.items()} == {"train_l": 4, "train_xl": 20}


def test_problems_without_a_twin_stay_out_of_the_sizes_unless_asked_for():
    single = [pair(1000 + number)[0].replace(group=None) for number in range(40)]
    inputs = inputs_of([*pairs(40), *single])
    without = fill(inputs, ReleaseSettings())
    with_them = fill(inputs, ReleaseSettings(singles=True))
    assert all(p.group for p in without.files["train_xl"])
    assert any(p.group is None for p in without.files["train_debiased"])
    assert "--set", "singles=on" in " ".join(without.notes)
    assert any(p.group is None for p in with_them.files["train_xl"])


def test_data_without_any_twins_still_has_sizes():
    single = [pair(number)[number % 2].replace(group=None) for number in range(100)]
    assert len(fill(inputs_of(single), ReleaseSettings()).files["train_xl"]) == 75


@pytest.mark.parametrize(("dev", "test"), [(10, 20), (0.1, 0.2), (30, 0.05)])
def test_splits_have_the_size_that_was_asked_for(dev, test):
    contents = fill(inputs_of(pairs(100)), ReleaseSettings(dev=dev, test=test))
    wanted = [int(part) if part >= 1 else round(part * 200) for part in (dev, test)]
    assert [len(contents.files[name]) for name in ("dev", "test")] == wanted


def test_a_test_of_zero_is_none():
    assert "test" not in fill(inputs_of(pairs(20)), ReleaseSettings(test=0)).files


def test_complete_takes_only_groups_that_were_kept_as_a_whole():
    contents = fill(half_filtered(100), ReleaseSettings(complete=True))
    for name in ("dev", "test"):
        assert all(len(members) == 2 for members in contents.files[name].groups.values())
        assert all(p.group for p in contents.files[name])


def test_near_duplicates_stand_on_one_side():
    problems = pairs(40)
    for number in range(0, 40, 4):
        problems += [p.replace(before=p.before.replace("we", "they"), group=f"again{number}") for p in pair(number)]
    where = fill(inputs_of(problems), ReleaseSettings(dev=0.2, test=0.2)).where
    ids = {(p.group, p.answer): p.id for p in problems}
    together = [(where[ids[f"g{n}", 0]], where[ids[f"again{n}", 0]]) for n in range(0, 40, 4)]
    assert all(one == other for one, other in together)
    assert len(set(together)) > 1


def sharing(count=60):
    """Pairs in which one special word with one candidate comes back every few pairs."""
    return [
        p
        for number in range(count)
        for p in pair(
            number, special=(f"w{number % 20}", f"v{number}"), things=(f"the a{number % 20}", f"the b{number}")
        )
    ]


def test_a_knowledge_split_shares_no_special_word_with_a_candidate():
    contents = fill(inputs_of(sharing()), ReleaseSettings(split="knowledge", dev=0.2, test=0.2))
    facts = {
        name: set().union(*(fact_pairs(members) for members in data.groups.values()))
        for name, data in sides(contents).items()
    }
    assert not facts["train"] & facts["dev"]
    assert not facts["train"] & facts["test"]
    assert not facts["dev"] & facts["test"]
    assert not contents.left_out


def test_a_random_split_of_the_same_problems_does_share_some():
    contents = fill(inputs_of(sharing()), ReleaseSettings(dev=0.2, test=0.2))
    train, test = ([fact_pairs(m) for m in sides(contents)[name].groups.values()] for name in ("train", "test"))
    assert set().union(*train) & set().union(*test)


def test_when_one_block_is_everything_what_shares_a_fact_stays_out_and_is_counted():
    problems = [
        p
        for number in range(60)
        for p in pair(number, special=(f"w{number}", f"w{number + 1}"), things=("the same", "the other"))
    ]
    contents = fill(inputs_of(problems), ReleaseSettings(split="knowledge", dev=10, test=10))
    facts = {
        name: set().union(*(fact_pairs(members) for members in data.groups.values()))
        for name, data in sides(contents).items()
    }
    assert not facts["train"] & (facts["dev"] | facts["test"])
    assert not facts["dev"] & facts["test"]
    assert len(contents.files["test"]) == 10
    (reason,) = contents.left_out
    assert "pair" in reason
    assert contents.left_out[reason] == 120 - len(contents.where)


def test_answers_stand_first_and_second_equally_often_where_twins_are_apart():
    single = [pair(number)[0].replace(group=None) for number in range(200)]
    assert all(p.answer == 0 for p in single)
    contents = fill(inputs_of(single), ReleaseSettings())
    for name, data in contents.files.items():
        if name in ("train_debiased", "dev"):
            assert abs(sum(1 if p.answer == 0 else -1 for p in data)) <= 1
    assert 5 < sum(p.answer for p in contents.files["test"]) < 25  # by 30 coins
    assert {p.right for p in contents.files["test"]} <= {p.right for p in single}


def test_turning_candidates_round_says_nothing_of_the_answer():
    problems = [pair(number)[0 if number % 4 else 1].replace(group=None) for number in range(800)]
    turned = balanced(units_of(Dataset(problems), frozenset(p.id for p in problems)), Draws.public(1))
    answers = Counter()
    for unit, problem in zip(turned, problems, strict=True):
        assert unit.members[0].right == problem.right
        answers[unit.members[0].candidates != problem.candidates, problem.answer] += 1
    # Three in four have their first candidate as the answer, turned round or not.
    for was_turned in (False, True):
        share = answers[was_turned, 0] / (answers[was_turned, 0] + answers[was_turned, 1])
        assert abs(share - 0.75) < 0.06
    assert sum(unit.members[0].answer == 0 for unit in turned) == 400


def test_whole_pairs_keep_their_authors_order_of_candidates():
    inputs = inputs_of(pairs(40))
    order = {p.id: p.candidates for p in inputs.problems}
    files = fill(inputs, ReleaseSettings()).files
    assert all(p.candidates == order[p.id] for name, data in files.items() if name != "test" for p in data)
    test = files["test"]
    assert all(len({p.candidates for p in members}) == 1 for members in test.groups.values())
    assert {p.candidates == order[p.id] for p in test} == {True, False}


def test_members_of_a_group_are_turned_together():
    first, second = pair(1)
    unit = ReleaseUnit((first, second), frozenset({first.id}))
    other = ReleaseUnit(tuple(pair(2)), frozenset({pair(2)[0].id}))
    turned = balanced([unit, other], Draws.public(0))
    assert Counter(u.kept[0].answer for u in turned) == {0: 1, 1: 1}
    for u in turned:
        assert u.members[0].candidates == u.members[1].candidates


def test_draws_depend_on_names_and_key_and_not_on_the_order_of_things():
    names = [f"id{number}" for number in range(40)]
    one = Draws(b"a" * 32)
    again = Draws(b"a" * 32)
    other = Draws(b"b" * 32)
    drawn = one.ordered("test", names, str)
    assert again.ordered("test", reversed(names), str) == drawn
    assert drawn not in (other.ordered("test", names, str), one.ordered("dev", names, str), names)
    assert [name for name in drawn if name != "id7"] == one.ordered("test", [n for n in names if n != "id7"], str)


def test_the_order_of_the_test_tells_no_pairing_and_no_answer():
    contents = fill(inputs_of(pairs(600)), ReleaseSettings(test=0.5))
    test = contents.files["test"]
    neighbours = sum(a.group == b.group for a, b in pairwise(test))
    assert neighbours < 8
    first = Counter(members[0].answer for members in test.groups.values())
    assert 110 < first[0] < 190


def test_the_first_of_twins_in_training_may_have_either_answer():
    contents = fill(inputs_of(pairs(600)), ReleaseSettings())
    first = Counter(members[0].answer for members in contents.files["train_xl"].groups.values())
    assert min(first.values()) > 0.4 * sum(first.values())


def test_settled_splits_stay_and_what_is_nearly_the_same_as_a_test_problem_stays_out():
    problems = pairs(60)
    first = fill(inputs_of(problems), ReleaseSettings())
    copied = next(p for p in first.files["test"])
    again = [
        p.replace(before=p.before.replace("we", "they"), group="again") for p in problems if p.group == copied.group
    ]
    more = [p for number in range(100, 130) for p in pair(number)]
    second = fill(inputs_of([*problems, *again, *more]), ReleaseSettings(seed=5), first.where)
    assert all(second.where[name] == split for name, split in first.where.items())
    assert not {p.id for p in again} & set(second.where)
    assert sum(second.left_out.values()) == 2
    assert len(second.files["test"]) > len(first.files["test"])


def test_the_same_input_gives_the_same_files_and_another_seed_others():
    one, again, other = (fill(half_filtered(), ReleaseSettings(seed=seed)) for seed in (0, 0, 1))
    assert one.files == again.files
    assert one.where != other.where


def test_too_few_problems_are_refused():
    with pytest.raises(BadInput, match="leave nothing of 4 kept problems"):
        fill(inputs_of(pairs(2)), ReleaseSettings())
    with pytest.raises(BadInput, match="nothing is left for"):
        fill(inputs_of([p.replace(group=None) for n in range(20) for p in pair(n)[:1]]), ReleaseSettings(complete=True))


def test_blocks_hang_together_over_others():
    assert blocks_of([{"a"}, {"b"}, {"a", "c"}, set(), {"c"}]) == [[0, 2, 4], [1], [3]]


def test_problems_without_answers_or_with_three_candidates_are_refused():
    problems = pairs(4)
    with pytest.raises(BadInput, match="1 of 8 problems have no answer"):
        read_inputs(Dataset([problems[0].replace(answer=None), *problems[1:]]))
    with pytest.raises(CannotWrite, match="3 candidates where two fit; convert with --as binary first"):
        read_inputs(Dataset([Problem("x ", " y", ("a", "b", "c"), 0)]))
    with pytest.raises(CannotWrite, match="besides the blank"):
        read_inputs(Dataset([Problem("x_y ", " y", ("a", "b"), 0)]))


def test_settings_are_checked_when_made():
    for wrong in ({"dev": 0}, {"test": 1.5}, {"name": "1 2"}, {"date": "today"}, {"sizes": (4, 2)}, {"version": " "}):
        with pytest.raises(BadInput):
            ReleaseSettings(**wrong)
    for wrong in ({"split": "luck"}, {"formalization": "mc"}):
        with pytest.raises(UnknownName):
            ReleaseSettings(**wrong)
    with pytest.raises(BadInput, match="dev: expected a share below 1"):
        ReleaseSettings(dev="some")
    assert (ReleaseSettings(dev="15%").dev, ReleaseSettings(sizes="2,4").sizes) == (0.15, (2, 4))


def test_the_names_of_formalizations_are_those_that_can_be_trained():
    pytest.importorskip("torch")
    from winokit.methods.formalizations.base import FORMALIZATIONS as TRAINED

    assert set(FORMALIZATIONS) == set(TRAINED)


def test_winogrande_s_own_twins_stay_together(real_file):
    inputs = read_inputs(real_file("winogrande/dev.jsonl"))
    contents = fill(inputs, ReleaseSettings())
    where = contents.where
    assert len(where) == 1267
    assert all(len({where[p.id] for p in members}) == 1 for members in inputs.problems.groups.values())
    assert inputs.problems.groups.keys() == load(real_file("winogrande/dev.jsonl")).groups.keys()
