"""Twins are found without ids, and what is ambiguous is not asserted."""

import random

import pytest

from winokit.data.checks.groups import find_groups, with_groups
from winokit.data.formats import read
from winokit.problem import Dataset

PAIRS = {"train_xl": 20_199, "dev": 284, "test": 387, "train_debiased": 2_011}


def true_pairs(dataset: Dataset, name: str) -> set[tuple[int, ...]]:
    """Rows of each pair, which are neighbours in train_xl and share the qID in other files."""
    if name == "train_xl":
        return {(row, row + 1) for row in range(0, len(dataset), 2)}
    rows: dict[str, list[int]] = {}
    for row, problem in enumerate(dataset):
        if problem.group is not None:
            rows.setdefault(problem.group, []).append(row)
    return {tuple(members) for members in rows.values()}


@pytest.mark.parametrize("name", PAIRS)
def test_in_file_order_without_ids_exactly_the_true_pairs_are_found(name, real_file):
    dataset = read(real_file(f"winogrande/{name}.jsonl"))
    groups = find_groups(dataset, use_ids=False)
    assert set(groups.groups) == true_pairs(dataset, name)
    assert len(groups.groups) == PAIRS[name]
    assert groups.evidence["order"] == PAIRS[name]


def test_ids_and_order_together_give_the_same_pairs(real_file):
    dataset = read(real_file("winogrande/train_xl.jsonl"))
    groups = find_groups(dataset)
    assert set(groups.groups) == true_pairs(dataset, "train_xl")
    assert groups.evidence["ids"] == 5_119


@pytest.mark.parametrize(("name", "most_open"), [("train_xl", 25), ("dev", 0), ("test", 0), ("train_debiased", 5)])
def test_in_a_shuffled_file_no_wrong_pair_is_asserted_and_few_stay_open(name, most_open, real_file):
    dataset = read(real_file(f"winogrande/{name}.jsonl"))
    order = list(range(len(dataset)))
    random.Random(7).shuffle(order)
    new_rows = {row: new_row for new_row, row in enumerate(order)}
    pairs = true_pairs(dataset, name)
    truth = {tuple(sorted((new_rows[first], new_rows[second]))) for first, second in pairs}
    shuffled = dataset.with_problems(dataset[row] for row in order)
    groups = find_groups(shuffled, use_ids=False)
    assert set(groups.groups) <= truth
    open_pairs = truth - set(groups.groups)
    ambiguous = set(groups.ambiguous)
    missed = [pair for pair in open_pairs if ambiguous.isdisjoint(pair)]
    assert len(open_pairs) <= most_open
    assert not missed


@pytest.mark.parametrize(("form", "pairs"), [("wsc273", 135), ("wsc", 141)])
def test_wsc_has_its_pairs_and_one_triplet(form, pairs, real_file):
    groups = find_groups(read(real_file("wsc/WSCollection.xml"), form))
    sizes = [len(rows) for rows in groups.groups]
    assert sizes.count(2) == pairs
    assert sizes.count(3) == 1
    assert len(sizes) == pairs + 1
    assert (252, 253, 254) in groups.groups


def test_every_dpr_problem_has_its_twin_beside_it(real_file):
    for name, pairs in (("train", 661), ("test", 282)):
        dataset = read(real_file(f"dpr/{name}.c.txt"))
        first_rows = range(0, 2 * pairs, 2)
        twin_rows = [(row, row + 1) for row in first_rows]
        assert find_groups(dataset).groups == twin_rows


@pytest.mark.parametrize(
    "name", ["pdp/PDPChallenge2016.xml", "copa/copa-dev.xml", "winobias/pro_stereotyped_type1.txt.dev"]
)
def test_datasets_without_twins_get_none(name, real_file):
    groups = find_groups(read(real_file(name)))
    assert not groups.groups


def test_repetitions_make_a_pair_ambiguous_and_not_wrong(twins):
    order = (0, 4, 1, 5, 0, 2, 1, 3)
    doubled = Dataset([twins[row].replace(group=None) for row in order])
    groups = find_groups(doubled)
    for rows in groups.groups:
        endings = {doubled[row].after for row in rows}
        assert endings != {" was empty.", " was full."}
    jug_rows = {row for row, problem in enumerate(doubled) if "jug" in problem.before}
    assert jug_rows <= set(groups.ambiguous)


def test_problems_with_the_same_answer_are_no_twins(twins):
    same = twins.with_problems(problem.replace(answer=0, group=None) for problem in twins)
    assert not find_groups(same).groups


def test_two_blanks_of_one_sentence_are_no_twins(twins):
    first = twins[0].replace(
        before="Because it leaked, I put the jug into the cup until ", after=" was full.", group=None
    )
    second = first.replace(before="Because ", after=" leaked, I put the jug into the cup until it was full.", answer=1)
    assert not find_groups(Dataset([first, second])).groups


def test_group_names_do_not_depend_on_order_or_answers(twins):
    bare = [problem.replace(group=None) for problem in twins]
    names = {problem.after: problem.group for problem in with_groups(Dataset(bare))}
    reversed_problems = Dataset(reversed(bare))
    backwards = {problem.after: problem.group for problem in with_groups(reversed_problems)}
    assert names == backwards
    assert len(set(names.values())) == 3


def test_naming_groups_twice_changes_nothing(real_file):
    dataset = with_groups(read(real_file("winogrande/train_xl.jsonl")))
    assert len(dataset.groups) == 20_199
    assert with_groups(dataset) == dataset


def test_twins_among_many_judgements_are_found_by_what_they_ask_about(real_file):
    dataset = read(real_file("superglue-wsc/train.jsonl"))
    groups = find_groups(dataset).groups
    assert len(groups) == 177
    for rows in groups:
        queries = {dataset[row].query for row in rows}
        answers = {dataset[row].right for row in rows}
        assert len(queries) == 1
        assert answers == {"no", "yes"}
