"""Splits of a release: twins and near-duplicates stay together, and no order reveals an answer."""

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


def make_twins(number, special=("heavy", "light"), things=None, group=None):
    """Twins with words that no other pair has, so that none is another's near-duplicate."""
    random = Random(number)
    things = things or (f"the crate{number}", f"the shelf{number}")
    group = group or f"g{number}"
    filler = " ".join(f"{random.choice(WORDS)}{random.randrange(10**6)}" for _ in range(8))
    start = f"Near {filler} we put {things[0]} onto {things[1]} although "
    return [Problem(start, f" was {word}.", things, answer, group=group) for answer, word in enumerate(special)]


def make_pairs(numbers):
    """All twins of these numbers, in one list."""
    problems = []
    for number in numbers:
        problems += make_twins(number)
    return problems


def make_singles(numbers):
    """The first twin of each number, without its group and with the first candidate as its answer."""
    return [make_twins(number)[0].replace(group=None) for number in numbers]


def inputs_of(kept, removed=()):
    data = Dataset([*kept, *removed])
    return ReleaseInputs(data, frozenset(p.id for p in data.problems[: len(kept)]))


def filtered_inputs(count=60):
    """Pairs of which every third lost its first member and every fifth its second to a filter."""
    kept = []
    removed = []
    for number in range(count):
        first, second = make_twins(number)
        first_list = removed if number % 3 == 0 else kept
        second_list = removed if number % 5 == 0 else kept
        first_list.append(first)
        second_list.append(second)
    return inputs_of(kept, removed)


def fill_pairs(count, **settings):
    """Splits of this many pairs of twins, none of them removed."""
    return fill(inputs_of(make_pairs(range(count))), ReleaseSettings(**settings))


def ids_of(problems):
    return frozenset(problem.id for problem in problems)


def problems_by_side(contents):
    return {"train": contents.training, "dev": contents.files["dev"], "test": contents.files["test"]}


def evaluated_problems(contents):
    return [*contents.files["dev"], *contents.files["test"]]


def test_no_group_crosses_splits_even_when_a_filter_put_its_members_apart():
    inputs = filtered_inputs()
    split_of = fill(inputs, ReleaseSettings()).where
    splits_of_group = {}
    for problem in inputs.problems:
        if problem.id in split_of:
            splits_of_group.setdefault(problem.group, set()).add(split_of[problem.id])
    assert all(len(splits) == 1 for splits in splits_of_group.values())
    assert set(split_of.values()) == {"train", "dev", "test"}


def test_no_two_test_problems_have_a_text_and_only_one_candidate_in_common():
    """As `--as binary` makes them of a problem with more candidates: the one that they share is the answer."""
    with_third_candidate = [p.replace(candidates=(*p.candidates, "the wall")) for p in make_singles(range(60))]
    contents = fill(read_inputs(binary(Dataset(with_third_candidate))), ReleaseSettings(dev=20, test=40))
    test_texts = [problem.text for problem in contents.files["test"]]
    other_texts = {problem.text for problem in [*contents.training, *contents.files["dev"]]}
    assert len(test_texts) == len(set(test_texts)) == contents.left_out[SAME_TEXT] == 20
    assert not set(test_texts) & other_texts


def test_twins_whose_texts_have_other_problems_too_stay_together():
    twins = make_pairs(range(60))
    same_texts = [p.replace(candidates=(p.right, "the wall"), answer=0, group=None) for p in twins]
    contents = fill(read_inputs(Dataset([*twins, *same_texts])), ReleaseSettings(dev=20, test=40))
    test = contents.files["test"]
    group_sizes = Counter(problem.group for problem in test)
    assert contents.left_out[SAME_TEXT] == len(test) == 20
    assert set(group_sizes.values()) == {2}
    assert not any(note.startswith("test has") for note in contents.notes)


def test_dev_and_test_have_kept_problems_only_and_the_removed_twin_stays_out():
    inputs = filtered_inputs()
    contents = fill(inputs, ReleaseSettings(dev=20, test=20))
    evaluated_ids = ids_of(evaluated_problems(contents))
    assert evaluated_ids <= inputs.kept
    evaluated_groups = {p.group for p in inputs.problems if p.id in evaluated_ids}
    evaluated_pairs = [p for p in inputs.problems if p.group in evaluated_groups]
    removed_twins = ids_of(evaluated_pairs) - inputs.kept
    assert removed_twins
    assert contents.left_out[TWIN_EVALUATED] == len(removed_twins)
    assert not removed_twins & set(contents.where)


def test_train_debiased_is_every_kept_problem_that_is_not_evaluated():
    inputs = filtered_inputs()
    contents = fill(inputs, ReleaseSettings())
    evaluated_ids = ids_of(evaluated_problems(contents))
    debiased_ids = ids_of(contents.files["train_debiased"])
    assert debiased_ids == inputs.kept - evaluated_ids


def test_sizes_are_beginnings_of_each_other_with_whole_groups_of_kept_and_removed():
    contents = fill(filtered_inputs(200), ReleaseSettings())
    training_sets = list(contents.sizes.values())
    assert list(contents.sizes) == ["train_m", "train_l", "train_xl"]
    for small, large in pairwise(training_sets):
        assert list(small) == list(large)[: len(small)]
        assert 3 <= len(large) / len(small) <= 5
    for training_set in training_sets:
        assert all(len(members) == 2 for members in training_set.groups.values())
        assert len(training_set) == 2 * len(training_set.groups)
    assert {contents.status(p) for p in training_sets[-1]} == {"kept", "removed"}


def test_a_split_that_falls_short_says_why():
    inputs = filtered_inputs()
    previous_splits = fill(inputs, ReleaseSettings(dev=4, test=4)).where
    notes = fill(inputs, ReleaseSettings(dev=20, test=20), previous_splits).notes
    reasons = [note.partition(": ")[2] for note in notes]
    assert reasons == ["problems stay in the splits of the previous version"] * 2


def test_a_size_that_is_larger_than_what_there_is_to_train_on_is_noted():
    inputs = filtered_inputs()
    assert not fill(inputs, ReleaseSettings(sizes=(10, 20))).notes
    contents = fill(inputs, ReleaseSettings(sizes=(10, 9999)))
    problem_count = len(contents.files["train_xl"])
    assert contents.notes == (f"train_xl has all {problem_count:,} problems there are, of the 9,999 asked for",)


def test_sizes_of_winogrande_are_a_quarter_of_each_other_and_small_data_has_fewer():
    assert size_targets(40398) == {"xs": 157, "s": 631, "m": 2524, "l": 10099, "xl": 40398}
    assert size_targets(322) == {"m": 20, "l": 80, "xl": 322}
    assert size_targets(10) == {"xl": 10}
    assert size_targets(5000, (160, 640, 9999)) == {"m": 160, "l": 640, "xl": 5000}


def test_a_size_never_has_more_problems_than_asked_for():
    contents = fill(inputs_of(make_pairs(range(40))), ReleaseSettings(sizes=(5, 21)))
    problem_counts = {name: len(data) for name, data in contents.sizes.items()}
    assert problem_counts == {"train_l": 4, "train_xl": 20}


def test_problems_without_a_twin_stay_out_of_the_sizes_unless_asked_for():
    inputs = inputs_of([*make_pairs(range(40)), *make_singles(range(1000, 1040))])
    without_singles = fill(inputs, ReleaseSettings())
    with_singles = fill(inputs, ReleaseSettings(singles=True))
    assert all(p.group for p in without_singles.files["train_xl"])
    assert any(p.group is None for p in without_singles.files["train_debiased"])
    assert "--set singles=on" in " ".join(without_singles.notes)
    assert any(p.group is None for p in with_singles.files["train_xl"])


def test_data_without_any_twins_still_has_sizes():
    singles = [make_twins(number)[number % 2].replace(group=None) for number in range(100)]
    assert len(fill(inputs_of(singles), ReleaseSettings()).files["train_xl"]) == 75


@pytest.mark.parametrize(
    ("dev", "test", "dev_count", "test_count"), [(10, 20, 10, 20), (0.1, 0.2, 20, 40), (30, 0.05, 30, 10)]
)
def test_splits_have_the_size_that_was_asked_for(dev, test, dev_count, test_count):
    contents = fill_pairs(100, dev=dev, test=test)
    assert len(contents.files["dev"]) == dev_count
    assert len(contents.files["test"]) == test_count


def test_a_test_of_zero_is_none():
    assert "test" not in fill_pairs(20, test=0).files


def test_complete_takes_only_groups_that_were_kept_as_a_whole():
    contents = fill(filtered_inputs(100), ReleaseSettings(complete=True))
    for name in ("dev", "test"):
        assert all(len(members) == 2 for members in contents.files[name].groups.values())
        assert all(p.group for p in contents.files[name])


def with_they_for_we(problems, group):
    """Near-duplicates of the problems, in another group."""
    return [p.replace(before=p.before.replace("we", "they"), group=group) for p in problems]


def test_near_duplicates_stand_on_one_side():
    copied_numbers = range(0, 40, 4)
    problems = make_pairs(range(40))
    for number in copied_numbers:
        problems += with_they_for_we(make_twins(number), f"again{number}")
    split_of = fill(inputs_of(problems), ReleaseSettings(dev=0.2, test=0.2)).where
    split_of_group = {p.group: split_of[p.id] for p in problems if p.answer == 0}
    original_splits = [split_of_group[f"g{number}"] for number in copied_numbers]
    copy_splits = [split_of_group[f"again{number}"] for number in copied_numbers]
    assert copy_splits == original_splits
    assert len(set(original_splits)) > 1


def pairs_sharing_facts(count=60):
    """Pairs in which one special word with one candidate comes back every twenty pairs."""
    problems = []
    for number in range(count):
        special = (f"w{number % 20}", f"v{number}")
        things = (f"the a{number % 20}", f"the b{number}")
        problems += make_twins(number, special, things)
    return problems


def facts_by_side(contents):
    """Pairs of a special word and a candidate in train, dev and test."""
    facts = {}
    for name, data in problems_by_side(contents).items():
        facts[name] = set().union(*(fact_pairs(members) for members in data.groups.values()))
    return facts


def test_a_knowledge_split_shares_no_special_word_with_a_candidate():
    contents = fill(inputs_of(pairs_sharing_facts()), ReleaseSettings(split="knowledge", dev=0.2, test=0.2))
    facts = facts_by_side(contents)
    assert not facts["train"] & facts["dev"]
    assert not facts["train"] & facts["test"]
    assert not facts["dev"] & facts["test"]
    assert not contents.left_out


def test_a_random_split_of_the_same_problems_does_share_some():
    contents = fill(inputs_of(pairs_sharing_facts()), ReleaseSettings(dev=0.2, test=0.2))
    facts = facts_by_side(contents)
    assert facts["train"] & facts["test"]


def test_when_one_block_is_everything_what_shares_a_fact_stays_out_and_is_counted():
    problems = []
    for number in range(60):
        problems += make_twins(number, (f"w{number}", f"w{number + 1}"), ("the same", "the other"))
    contents = fill(inputs_of(problems), ReleaseSettings(split="knowledge", dev=10, test=10))
    facts = facts_by_side(contents)
    assert not facts["train"] & (facts["dev"] | facts["test"])
    assert not facts["dev"] & facts["test"]
    assert len(contents.files["test"]) == 10
    (reason,) = contents.left_out
    assert "pair" in reason
    assert contents.left_out[reason] == 120 - len(contents.where)


def test_answers_stand_first_and_second_equally_often_where_twins_are_apart():
    singles = make_singles(range(200))
    assert all(p.answer == 0 for p in singles)
    contents = fill(inputs_of(singles), ReleaseSettings())
    for name in ("train_debiased", "dev"):
        answers = Counter(p.answer for p in contents.files[name])
        assert abs(answers[0] - answers[1]) <= 1
    test = contents.files["test"]
    assert 5 < sum(p.answer for p in test) < 25  # by 30 coins
    assert {p.right for p in test} <= {p.right for p in singles}


def test_turning_candidates_round_says_nothing_of_the_answer():
    problems = []
    for number in range(800):
        first, second = make_twins(number)
        single = first if number % 4 else second
        problems.append(single.replace(group=None))
    units = units_of(Dataset(problems), ids_of(problems))
    turned_units = balanced(units, Draws.public(1))
    answers = {False: Counter(), True: Counter()}
    for unit, problem in zip(turned_units, problems, strict=True):
        assert unit.members[0].right == problem.right
        is_turned = unit.members[0].candidates != problem.candidates
        answers[is_turned][problem.answer] += 1
    # Three in four have their first candidate as the answer, turned round or not.
    for counter in answers.values():
        share_first = counter[0] / counter.total()
        assert abs(share_first - 0.75) < 0.06
    assert sum(unit.members[0].answer == 0 for unit in turned_units) == 400


def test_whole_pairs_keep_their_authors_order_of_candidates_but_for_the_test():
    inputs = inputs_of(make_pairs(range(40)))
    authors_order = {p.id: p.candidates for p in inputs.problems}
    files = dict(fill(inputs, ReleaseSettings()).files)
    test = files.pop("test")
    for data in files.values():
        assert all(p.candidates == authors_order[p.id] for p in data)
    assert {p.candidates == authors_order[p.id] for p in test} == {True, False}


def test_whole_pairs_of_the_test_have_one_order_of_candidates():
    contents = fill_pairs(40)
    for first, second in contents.files["test"].groups.values():
        assert first.candidates == second.candidates


def test_members_of_a_group_are_turned_together():
    units = []
    for number in (1, 2):
        first, second = make_twins(number)
        units.append(ReleaseUnit((first, second), frozenset({first.id})))
    turned_units = balanced(units, Draws.public(0))
    assert sorted(unit.kept[0].answer for unit in turned_units) == [0, 1]
    for unit in turned_units:
        first, second = unit.members
        assert first.candidates == second.candidates


def test_draws_depend_on_names_and_key_and_not_on_the_order_of_things():
    names = [f"id{number}" for number in range(40)]
    draws = Draws(b"a" * 32)
    same_key = Draws(b"a" * 32)
    other_key = Draws(b"b" * 32)
    order = draws.ordered("test", names, str)
    assert same_key.ordered("test", reversed(names), str) == order
    assert other_key.ordered("test", names, str) != order
    assert draws.ordered("dev", names, str) != order
    assert names != order


def test_a_draw_without_a_name_has_the_others_in_the_same_order():
    names = [f"id{number}" for number in range(40)]
    draws = Draws(b"a" * 32)
    order = draws.ordered("test", names, str)
    names.remove("id7")
    order.remove("id7")
    assert draws.ordered("test", names, str) == order


def test_the_order_of_the_test_tells_no_pairing_and_no_answer():
    contents = fill_pairs(600, test=0.5)
    test = contents.files["test"]
    neighbouring_twins = sum(first.group == second.group for first, second in pairwise(test))
    assert neighbouring_twins < 8
    first_answers = Counter(members[0].answer for members in test.groups.values())
    assert 110 < first_answers[0] < 190


def test_the_first_of_twins_in_training_may_have_either_answer():
    contents = fill_pairs(600)
    first_answers = Counter(members[0].answer for members in contents.files["train_xl"].groups.values())
    assert min(first_answers.values()) > 0.4 * first_answers.total()


def test_settled_splits_stay_and_what_is_nearly_the_same_as_a_test_problem_stays_out():
    problems = make_pairs(range(60))
    first = fill(inputs_of(problems), ReleaseSettings())
    tested_group = first.files["test"][0].group
    near_duplicates = with_they_for_we([p for p in problems if p.group == tested_group], "again")
    new_pairs = make_pairs(range(100, 130))
    second = fill(inputs_of([*problems, *near_duplicates, *new_pairs]), ReleaseSettings(seed=5), first.where)
    assert first.where.items() <= second.where.items()
    assert not ids_of(near_duplicates) & set(second.where)
    assert sum(second.left_out.values()) == 2
    assert len(second.files["test"]) > len(first.files["test"])


def test_the_same_input_gives_the_same_files():
    contents = fill(filtered_inputs(), ReleaseSettings(seed=0))
    assert fill(filtered_inputs(), ReleaseSettings(seed=0)).files == contents.files


def test_another_seed_gives_other_splits():
    contents = fill(filtered_inputs(), ReleaseSettings(seed=0))
    assert fill(filtered_inputs(), ReleaseSettings(seed=1)).where != contents.where


def test_too_few_problems_are_refused():
    with pytest.raises(BadInput, match="leave nothing of 4 kept problems"):
        fill_pairs(2)


def test_complete_groups_are_refused_where_there_are_none():
    with pytest.raises(BadInput, match="nothing is left for"):
        fill(inputs_of(make_singles(range(20))), ReleaseSettings(complete=True))


def test_blocks_hang_together_over_others():
    assert blocks_of([{"a"}, {"b"}, {"a", "c"}, set(), {"c"}]) == [[0, 2, 4], [1], [3]]


def test_problems_without_answers_are_refused():
    problems = make_pairs(range(4))
    problems[0] = problems[0].replace(answer=None)
    with pytest.raises(BadInput, match="1 of 8 problems have no answer"):
        read_inputs(Dataset(problems))


def test_problems_with_three_candidates_are_refused():
    with pytest.raises(CannotWrite, match="3 candidates where two fit; convert with --as binary first"):
        read_inputs(Dataset([Problem("x ", " y", ("a", "b", "c"), 0)]))


def test_problems_with_the_mark_of_the_blank_in_their_text_are_refused():
    with pytest.raises(CannotWrite, match="besides the blank"):
        read_inputs(Dataset([Problem("x_y ", " y", ("a", "b"), 0)]))


@pytest.mark.parametrize(
    "settings",
    [{"dev": 0}, {"test": 1.5}, {"name": "1 2"}, {"date": "today"}, {"sizes": (4, 2)}, {"version": " "}],
)
def test_settings_are_checked_when_made(settings):
    with pytest.raises(BadInput):
        ReleaseSettings(**settings)


@pytest.mark.parametrize("settings", [{"split": "luck"}, {"formalization": "mc"}])
def test_names_in_settings_are_checked_when_made(settings):
    with pytest.raises(UnknownName):
        ReleaseSettings(**settings)


def test_a_share_that_is_no_number_is_refused():
    with pytest.raises(BadInput, match="dev: expected a share below 1"):
        ReleaseSettings(dev="some")


def test_settings_are_read_from_text():
    assert ReleaseSettings(dev="15%").dev == 0.15
    assert ReleaseSettings(sizes="2,4").sizes == (2, 4)


def test_the_names_of_formalizations_are_those_that_can_be_trained():
    pytest.importorskip("torch")
    from winokit.methods.formalizations.base import FORMALIZATIONS as TRAINED

    assert set(FORMALIZATIONS) == set(TRAINED)


def test_winogrande_s_own_twins_stay_together(real_file):
    inputs = read_inputs(real_file("winogrande/dev.jsonl"))
    split_of = fill(inputs, ReleaseSettings()).where
    assert len(split_of) == 1267
    for members in inputs.problems.groups.values():
        splits = {split_of[p.id] for p in members}
        assert len(splits) == 1
    assert inputs.problems.groups.keys() == load(real_file("winogrande/dev.jsonl")).groups.keys()
