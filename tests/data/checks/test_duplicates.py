"""Repeated problems are found within and across datasets."""

from collections import Counter

from winokit.data.checks.checkup import find_duplicates
from winokit.data.loading import load
from winokit.problem import Dataset


def list_duplicates(*datasets):
    """Kind and both places of each pair of repeated problems.

    A place is the number of the dataset and the number of the problem in it.
    """
    return [(duplicate.kind, duplicate.first, duplicate.second) for duplicate in find_duplicates(datasets)]


def test_twins_of_a_group_are_no_duplicates(twins):
    assert list_duplicates(twins) == []


def test_a_problem_in_two_files_is_found(twins):
    matches = list_duplicates(twins[:1], twins[0:1])
    assert matches == [("same", (0, 0), (1, 0))]


def test_case_and_punctuation_do_not_hide_a_duplicate(twins):
    shouted_problem = twins[0].replace(before=twins[0].before.upper(), after=" was empty!")
    matches = list_duplicates(twins[:1], Dataset([shouted_problem]))
    assert matches == [("same", (0, 0), (1, 0))]


def test_the_same_text_with_another_answer_is_a_contradiction(twins):
    contradictory = Dataset([twins[0], twins[0].replace(answer=1)])
    assert list_duplicates(contradictory) == [("contradiction", (0, 0), (0, 1))]


def test_a_twin_in_another_file_is_a_twin(twins):
    matches = list_duplicates(twins[:1], twins[1:2])
    assert matches == [("twin", (0, 0), (1, 0))]


def test_a_reworded_problem_is_near(twins):
    reworded = twins[0].replace(before="We poured water from the jug into the cup until ")
    matches = list_duplicates(twins[:1], Dataset([reworded]))
    assert matches == [("near", (0, 0), (1, 0))]


def test_unrelated_problems_are_left_alone(twins):
    assert list_duplicates(twins[:2], twins[2:4], twins[4:]) == []


def test_two_blanks_of_one_sentence_are_left_alone(real_file):
    assert list_duplicates(load(real_file("pdp/PDPChallenge2016.xml"))) == []


def test_questions_about_one_blank_repeat_each_other_across_files_only(real_file):
    judged = load(real_file("superglue-wsc/train.jsonl"))
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    kinds_across = {duplicate.kind for duplicate in find_duplicates([judged, wsc])}
    assert "same" in kinds_across
    kinds_within = [duplicate.kind for duplicate in find_duplicates([judged])]
    assert kinds_within.count("same") == 2


def test_winogrande_train_and_dev_share_no_problem(real_file):
    train = load(real_file("winogrande/train_xl.jsonl"))
    dev = load(real_file("winogrande/dev.jsonl"))
    duplicates = find_duplicates([train, dev])
    kinds_across = Counter(duplicate.kind for duplicate in duplicates if duplicate.across)
    assert kinds_across == {"near": 20, "twin": 5}
    within = [duplicate.kind for duplicate in duplicates if not duplicate.across]
    assert within.count("same") == 2
    assert within.count("contradiction") == 2
