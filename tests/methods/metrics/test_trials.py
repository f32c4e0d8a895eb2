"""Several trials on the same problems are tested together against one null."""

from itertools import product

import numpy as np
import pytest
from support.copies import thrice

from winokit.answers import Answers, TrialName
from winokit.errors import BadInput
from winokit.methods.metrics.null import null_of
from winokit.methods.metrics.trials import TrialTable, count_right, drawn_answers
from winokit.problem import Dataset, Problem

ENDS = (" was first.", " was second.", " was third.")


CANDIDATES = ("one", "two", "three")


def groups_of(size, count):
    """Groups in which each of `size` candidates is right in one member."""
    problems = []
    for group, answer in product(range(count), range(size)):
        before = f"Group {group} says "
        problems.append(Problem(before, ENDS[answer], CANDIDATES[:size], answer, group=f"g{group}"))
    return Dataset(problems)


def pairs(count):
    return groups_of(2, count)


def triplets(count):
    return groups_of(3, count)


def alone(count, share=0.7):
    """Problems without twins, of which this share has the first candidate right."""
    problems = []
    for index in range(count):
        answer = int(index >= share * count)
        problems.append(Problem(f"Text {index} says ", ".", CANDIDATES[:2], answer))
    return Dataset(problems)


def questions(count):
    """Three yes/no questions on each text."""
    problems = []
    for text in range(count):
        for query_index, query in enumerate(("Ann", "Bea", "Cid")):
            answer = int((text + query_index) % 3 == 0)
            problems.append(Problem(f"Text {text} says ", ".", ("no", "yes"), answer, "she", query=query))
    return Dataset(problems)


def questions_alike(count):
    """Yes/no questions of which the first on each text has the answer yes, so that to swap texts changes nothing."""
    problems = questions(count)
    return Dataset(problem.replace(answer=int(row % 3 == 0)) for row, problem in enumerate(problems))


def random_choices(dataset, seed):
    rng = np.random.default_rng(seed)
    return [int(rng.integers(len(problem.candidates))) for problem in dataset]


def table_of(dataset, *choices):
    """The table of several trials, given the choices of each."""
    by_trial = {TrialName(seed): trial_choices for seed, trial_choices in enumerate(choices)}
    return TrialTable.of(Answers.of_trials(dataset, by_trial))


def check_frequencies(counts, distribution):
    """Assert that drawn counts are as frequent as the distribution has them."""
    frequencies = np.bincount(counts - distribution.start, minlength=len(distribution.chances)) / len(counts)
    assert len(frequencies) == len(distribution.chances)
    assert abs(frequencies - distribution.chances).max() < 0.03


@pytest.mark.parametrize(
    "dataset",
    [pairs(20), triplets(8), alone(40), questions(9), questions_alike(9), thrice(pairs(8)), thrice(alone(12))],
)
def test_drawn_answers_are_those_of_the_null(dataset):
    answers = Answers.of_choices(dataset, random_choices(dataset, 3))
    null = null_of(answers)
    is_right = np.concatenate(list(drawn_answers(answers, 4000, 1))) == answers.choices
    check_frequencies(is_right.sum(axis=1), null.right().distribution)
    has_groups = answers.groups[0] is not None
    if has_groups:
        is_whole_group = table_of(dataset, answers.choices).whole_groups(is_right)
        check_frequencies(count_right(is_whole_group), null.whole_groups().distribution)


@pytest.mark.parametrize("test_name", ["right_test", "whole_groups_test"])
def test_trials_that_answer_alike_are_tested_as_one(test_name):
    dataset = pairs(30)
    choices = []
    for row, problem in enumerate(dataset):
        choices.append(problem.answer if row % 3 else 1 - problem.answer)
    single = getattr(table_of(dataset, choices), test_name)()
    together = getattr(table_of(dataset, choices, choices, choices), test_name)()
    assert together.null == pytest.approx(single.null, abs=0.005)
    assert together.p == pytest.approx(single.p, abs=0.01)


def test_trials_that_were_asked_other_problems_are_refused():
    dataset = pairs(4)
    answers = Answers.of_trials(dataset, {TrialName(1): [0] * 8, TrialName(2): [1] * 8})
    second_reversed = answers.take([*range(8), *range(15, 7, -1)])
    with pytest.raises(BadInput, match="the same problems in every trial"):
        TrialTable.of(second_reversed)


def test_choices_of_trials_keep_their_order_and_leave_unlabelled_problems_out():
    dataset = Dataset([*pairs(2), Problem("Nobody knows ", ".", ("one", "two"))])
    table = table_of(dataset, [0, 0, 0, 0, 1], [0, 1, None, 1, 0])
    assert table.correct.tolist() == [[True, False, True, False], [True, True, False, True]]
    assert table.whole_groups(table.correct).tolist() == [[False, False], [True, False]]


def test_a_trial_without_a_choice_per_problem_is_refused():
    with pytest.raises(BadInput, match="a choice per problem and trial"):
        Answers.of_trials(pairs(4), {TrialName(1): [0] * 7})
