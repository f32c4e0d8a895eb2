from collections import Counter

from winokit.data.checks.checkup import find_duplicates
from winokit.data.loading import load
from winokit.problem import Dataset


def kinds(*datasets):
    return [(d.kind, d.first, d.second) for d in find_duplicates(datasets)]


def test_twins_of_a_group_are_no_duplicates(twins):
    assert kinds(twins) == []


def test_a_problem_in_two_files_is_found(twins):
    assert kinds(twins[:1], twins[0:1]) == [("same", (0, 0), (1, 0))]


def test_case_and_punctuation_do_not_hide_a_duplicate(twins):
    loud = twins[0].replace(before=twins[0].before.upper(), after=" was empty!")
    assert kinds(twins[:1], Dataset([loud])) == [("same", (0, 0), (1, 0))]


def test_the_same_text_with_another_answer_is_a_contradiction(twins):
    assert kinds(Dataset([twins[0], twins[0].replace(answer=1)])) == [("contradiction", (0, 0), (0, 1))]


def test_a_twin_in_another_file_is_a_twin(twins):
    assert kinds(twins[:1], twins[1:2]) == [("twin", (0, 0), (1, 0))]


def test_a_reworded_problem_is_near(twins):
    reworded = twins[0].replace(before="We poured water from the jug into the cup until ")
    assert kinds(twins[:1], Dataset([reworded])) == [("near", (0, 0), (1, 0))]


def test_unrelated_problems_are_left_alone(twins):
    assert kinds(twins[:2], twins[2:4], twins[4:]) == []


def test_two_blanks_of_one_sentence_are_left_alone(real_file):
    assert kinds(load(real_file("pdp/PDPChallenge2016.xml"))) == []


def test_questions_about_one_blank_repeat_each_other_across_files_only(real_file):
    judged = load(real_file("superglue-wsc/train.jsonl"))
    assert "same" in {d.kind for d in find_duplicates([judged, load(f"wsc273:{real_file('wsc/WSCollection.xml')}")])}
    assert [d.kind for d in find_duplicates([judged])].count("same") == 2


def test_winogrande_train_and_dev_share_no_problem(real_file):
    train = load(real_file("winogrande/train_xl.jsonl"))
    dev = load(real_file("winogrande/dev.jsonl"))
    found = find_duplicates([train, dev])
    assert Counter(d.kind for d in found if d.across) == {"near": 20, "twin": 5}
    within = [d.kind for d in found if not d.across]
    assert within.count("same") == 2
    assert within.count("contradiction") == 2
