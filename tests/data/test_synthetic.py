"""Synthetic twins are balanced, and their planted word goes with the answer."""

import pytest

from winokit.data.checks.groups import find_groups
from winokit.data.synthetic import PLANTED, synthetic
from winokit.text.english import ENGLISH


def test_the_same_seed_gives_the_same_twins():
    assert synthetic(50, seed=4) == synthetic(50, seed=4)
    assert synthetic(50, seed=4) != synthetic(50, seed=5)


def test_the_planted_word_goes_with_the_answer_and_others_do_not():
    for problem in synthetic(200, bias=0.5, seed=1):
        word = problem.after.rstrip(".").rpartition(", ")[2]
        is_planted = problem.labels["planted"]
        assert (word in PLANTED) == is_planted
        if is_planted:
            assert word == PLANTED[problem.answer]


@pytest.mark.parametrize("bias", [0.0, 0.3, 1.0])
def test_the_planted_share_is_what_was_asked_for(bias):
    problems = synthetic(100, bias=bias)
    planted_count = sum(problem.labels["planted"] for problem in problems)
    assert planted_count == 200 * bias


def test_answers_are_balanced_within_every_pair():
    groups = synthetic(100).groups
    for members in groups.values():
        answers = sorted(problem.answer for problem in members)
        assert answers == [0, 1]


def test_twins_are_people_of_one_gender():
    for problem in synthetic(200):
        genders = {ENGLISH.gender_of(candidate) for candidate in problem.candidates}
        assert len(genders) == 1


def test_groups_are_found_without_their_names():
    dataset = synthetic(100, bias=0)
    groups = find_groups(dataset, use_ids=False).groups
    assert len(groups) == 100


@pytest.mark.parametrize(("n", "bias"), [(-1, 0.5), (10, 1.5)])
def test_impossible_wishes_are_refused(n, bias):
    with pytest.raises(ValueError, match="n must be 0 or more"):
        synthetic(n, bias=bias)
