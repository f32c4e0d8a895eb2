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
        assert (word in PLANTED) == problem.labels["planted"]
        if problem.labels["planted"]:
            assert word == PLANTED[problem.answer]


@pytest.mark.parametrize("bias", [0.0, 0.3, 1.0])
def test_the_planted_share_is_what_was_asked_for(bias):
    assert sum(problem.labels["planted"] for problem in synthetic(100, bias=bias)) == 200 * bias


def test_answers_are_balanced_within_every_pair():
    assert all(sorted(p.answer for p in members) == [0, 1] for members in synthetic(100).groups.values())


def test_twins_are_people_of_one_gender():
    for problem in synthetic(200):
        assert len({ENGLISH.gender_of(candidate) for candidate in problem.candidates}) == 1


def test_groups_are_found_without_their_names():
    dataset = synthetic(100, bias=0)
    assert len(find_groups(dataset, use_ids=False).groups) == 100


@pytest.mark.parametrize(("n", "bias"), [(-1, 0.5), (10, 1.5)])
def test_impossible_wishes_are_refused(n, bias):
    with pytest.raises(ValueError, match="n must be 0 or more"):
        synthetic(n, bias=bias)
