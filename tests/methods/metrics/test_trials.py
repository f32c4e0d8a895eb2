"""Several trials on the same problems, and what luck gives them together."""

import numpy as np
import pytest
from support.copies import thrice

from winokit.answers import Answers, TrialName
from winokit.errors import BadInput
from winokit.methods.metrics.null import null_of
from winokit.methods.metrics.trials import TrialTable, count_right, drawn_answers
from winokit.problem import Dataset, Problem

ENDS = (" was first.", " was second.", " was third.")


def pairs(count, candidates=("one", "two")):
    return Dataset(
        [
            Problem(f"Pair {pair} says ", ENDS[answer], candidates, answer, group=f"g{pair}")
            for pair in range(count)
            for answer in (0, 1)
        ]
    )


def triplets(count):
    candidates = ("one", "two", "three")
    return Dataset(
        [
            Problem(f"Three {group} say ", ENDS[answer], candidates, answer, group=f"g{group}")
            for group in range(count)
            for answer in (0, 1, 2)
        ]
    )


def alone(count, share=0.7):
    return Dataset([Problem(f"Text {at} says ", ".", ("one", "two"), int(at >= share * count)) for at in range(count)])


def questions(count):
    asked = []
    for text in range(count):
        for at, query in enumerate(("Ann", "Bea", "Cid")):
            answer = int((text + at) % 3 == 0)
            asked.append(Problem(f"Text {text} says ", ".", ("no", "yes"), answer, "she", query=query))
    return Dataset(asked)


def questions_alike(count):
    """Yes/no questions of which the first on each text has the answer yes: to swap whole texts changes nothing."""
    alike = [problem.replace(answer=int(at % 3 == 0)) for at, problem in enumerate(questions(count))]
    return Dataset(alike)


def random_choices(dataset, seed):
    rng = np.random.default_rng(seed)
    return [int(rng.integers(len(problem.candidates))) for problem in dataset]


def table_of(dataset, *choices):
    return TrialTable.of(Answers.of_trials(dataset, {TrialName(seed): own for seed, own in enumerate(choices)}))


@pytest.mark.parametrize(
    "dataset",
    [pairs(20), triplets(8), alone(40), questions(9), questions_alike(9), thrice(pairs(8)), thrice(alone(12))],
)
def test_drawn_answers_are_those_of_the_null(dataset):
    answers = Answers.of_choices(dataset, random_choices(dataset, 3))
    null = null_of(answers)
    drawn = np.concatenate(list(drawn_answers(answers, 4000, 1)))
    for test, counts in (
        (null.right(), (drawn == answers.choices).sum(axis=1)),
        (null.whole_groups(), count_right(table_of(dataset, answers.choices).whole_groups(drawn == answers.choices)))
        if answers.groups[0] is not None
        else (null.right(), (drawn == answers.choices).sum(axis=1)),
    ):
        distribution = test.distribution
        share = np.bincount(counts - distribution.start, minlength=len(distribution.chances)) / len(counts)
        assert len(share) == len(distribution.chances)
        assert abs(share - distribution.chances).max() < 0.03


def test_trials_that_answer_alike_are_tested_as_one():
    dataset = pairs(30)
    choices = [problem.answer if at % 3 else 1 - problem.answer for at, problem in enumerate(dataset)]
    one = table_of(dataset, choices)
    three = table_of(dataset, choices, choices, choices)
    for name in ("right_test", "whole_groups_test"):
        single = getattr(one, name)()
        together = getattr(three, name)()
        assert together.null == pytest.approx(single.null, abs=0.005)
        assert together.p == pytest.approx(single.p, abs=0.01)


def test_trials_that_were_asked_other_problems_are_refused():
    dataset = pairs(4)
    answers = Answers.of_trials(dataset, {TrialName(1): [0] * 8, TrialName(2): [1] * 8})
    with pytest.raises(BadInput, match="the same problems in every trial"):
        TrialTable.of(answers.take([*range(8), *range(15, 7, -1)]))
    with pytest.raises(BadInput, match="a choice per problem and trial"):
        Answers.of_trials(dataset, {TrialName(1): [0] * 7})


def test_choices_of_trials_keep_their_order_and_leave_unlabelled_problems_out():
    dataset = Dataset([*pairs(2), Problem("Nobody knows ", ".", ("one", "two"))])
    table = table_of(dataset, [0, 0, 0, 0, 1], [0, 1, None, 1, 0])
    assert table.correct.tolist() == [[True, False, True, False], [True, True, False, True]]
    assert table.whole_groups(table.correct).tolist() == [[False, False], [True, False]]
