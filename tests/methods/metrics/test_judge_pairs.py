"""The judge of two tables of answers matches problems, tests differences and words the verdicts."""

from dataclasses import replace

import numpy as np
import pytest
from support.copies import repeated, thrice

from winokit.answers import Answers, AskedProblems
from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.methods.metrics.compare import compare
from winokit.methods.metrics.judge_pairs import (
    AHEAD,
    BEYOND,
    EQUAL,
    LITTLE,
    NOT_SHOWN,
    REFUSES,
    WORDS,
    PairVerdict,
    SharedAnswers,
    compare_answers,
    usual_measures,
    verdicts,
)
from winokit.problem import Dataset
from winokit.units import Units

OPEN = load("open")


def answers(right, dataset=OPEN) -> Answers:
    """A table that is right in the rows for which `right` returns a true value, and silent where it returns None."""
    choices = []
    for row, problem in enumerate(dataset):
        is_right = right(row)
        choice = problem.answer if is_right else 1 - problem.answer
        choices.append(None if is_right is None else choice)
    return Answers.of_choices(dataset, choices)


def silent(row: int) -> None:
    """Answer no row."""


def rarely_right(row: int) -> bool:
    return row % 20 == 0


def reversed_copy(dataset: Dataset) -> Dataset:
    """The same problems in another file: in the opposite order, and the candidates too."""
    return Dataset([problem.with_order((1, 0)) for problem in reversed(dataset)])


def without_groups(problems) -> Dataset:
    return Dataset([problem.replace(group=None) for problem in problems])


def test_what_both_answered_is_matched_by_problem_and_judged_by_each_tables_own_answers():
    second_file = reversed_copy(OPEN[100:200])
    right_ids = {problem.id for row, problem in enumerate(OPEN) if row % 3}
    first = answers(lambda row: row % 3)
    second = answers(lambda row: second_file[row].id in right_ids, second_file)
    tests = list(compare_answers(first, second).values())
    assert [test.n for test in tests] == [100, 50]
    assert [test.difference for test in tests] == [0.0, 0.0]
    assert [test.p for test in tests] == [1.0, 1.0]


def test_an_abstention_is_no_right_answer_unless_expected_accuracy_is_asked_for():
    comparisons = compare_answers(
        answers(silent), answers(rarely_right), ["accuracy", "group_accuracy", "expected_accuracy"]
    )
    assert comparisons["accuracy"].first == 0.0
    assert comparisons["accuracy"].second == pytest.approx(22 / 428)
    assert comparisons["group_accuracy"].first == 0.0
    assert comparisons["expected_accuracy"].first == 0.5


def test_abstentions_are_counted_and_guessed_if_they_differ_by_more_than_a_few_points():
    every_row = answers(rarely_right)
    few = compare_answers(answers(lambda row: None if row == 0 else True), every_row)["accuracy"]
    many = compare_answers(answers(lambda row: None if row % 2 else True), every_row)["accuracy"]
    assert few.first_abstained == pytest.approx(1 / few.n)
    assert few.first_expected is None
    assert many.first_abstained == pytest.approx(0.5, abs=0.01)
    assert many.second_abstained == 0
    assert many.first_expected == pytest.approx(0.75, abs=0.01)
    assert many.second_expected == pytest.approx(many.second)


@pytest.mark.parametrize("is_first", [True, False])
def test_who_answers_nothing_is_never_ahead(is_first):
    tables = [answers(silent), answers(rarely_right)]
    if not is_first:
        tables.reverse()
    comparison = compare_answers(*tables, ["expected_accuracy"])["expected_accuracy"]
    assert comparison.first_refuses is is_first
    assert comparison.second_refuses is not is_first
    (verdict,) = verdicts([comparison], 0.05)
    assert verdict.lead == 0
    assert verdict.word == REFUSES
    without_refusal = replace(comparison, first_refuses=False, second_refuses=False)
    (verdict,) = verdicts([without_refusal], 0.05)
    assert abs(verdict.lead) == 1
    assert verdict.word == BEYOND


def test_nothing_in_common_gives_no_comparison():
    assert compare_answers(answers(bool, OPEN[:10]), answers(bool, OPEN[10:20])) == {}


def test_two_answers_to_one_problem_are_refused():
    once = answers(bool, OPEN[:4])
    twice = once.take([0, 1, 2, 3, 0])
    with pytest.raises(BadInput, match="expected one answer per problem, found 5 to 4"):
        compare_answers(twice, once)


def test_what_either_dataset_links_is_one_unit():
    """The second file says of which template the problems are made."""
    plain = without_groups(OPEN[:40:2])
    linked = Dataset([problem.with_labels(template=row // 5) for row, problem in enumerate(plain)])
    plain_answers = answers(bool, plain)
    linked_answers = answers(bool, linked)
    shared = SharedAnswers.of(plain_answers, linked_answers)
    assert shared.first.units.count == 20
    assert shared.second.units.count == 4
    assert shared.units.count == 4
    assert SharedAnswers.of(linked_answers, plain_answers).units == shared.units


def test_groups_are_those_of_the_dataset_that_has_them_and_complete_with_all_members():
    ungrouped = answers(bool, without_groups(OPEN[:21]))
    shared = SharedAnswers.of(ungrouped, answers(bool))
    group_sizes = [len(rows) for rows in shared.layout.members]
    assert group_sizes == [2] * 10, "the twin of the last one is missing"
    assert usual_measures(shared) == ("accuracy", "group_accuracy")
    assert usual_measures(SharedAnswers.of(ungrouped, ungrouped)) == ("accuracy",)


def test_a_cut_off_triplet_is_no_pair():
    triplet = [OPEN[0], OPEN[1], OPEN[2].replace(group=OPEN[0].group)]
    cut = answers(bool, Dataset(triplet[:2]))
    complete = answers(bool, Dataset(triplet))
    assert not SharedAnswers.of(cut, complete).layout.members
    assert not SharedAnswers.of(complete, cut).layout.members


def answers_both_ways(follows: bool, problems) -> tuple[Answers, Answers]:
    """Answers to the problems of OPEN, and to those of `problems` with their candidates switched."""
    switched = [problem.replace(provenance={"of": problem.id}) for problem in problems]
    asked_problems = AskedProblems.of(OPEN, {"switched": switched})
    original_rows = asked_problems.rows_of_variant["original"]
    switched_rows = asked_problems.rows_of_variant["switched"]
    originals = Answers(asked_problems, original_rows, np.zeros(len(OPEN), np.int64))
    switched_choices = np.full(len(switched_rows), int(follows))
    return originals, Answers(asked_problems, switched_rows, switched_choices)


def test_consistency_is_over_problems_that_both_answered_both_ways():
    first, first_switched = answers_both_ways(True, OPEN[:60])
    second, second_switched = answers_both_ways(False, OPEN[40:])
    switched = first_switched, second_switched
    comparison = compare_answers(first, second, ["consistency"], switched=switched)["consistency"]
    assert comparison.n == 20
    assert comparison.first == 1.0
    assert comparison.second == 0.0
    assert compare_answers(first, second, ["consistency"]) == {}


def comparisons_with(*p_values: float):
    """Comparisons that differ in their p-values alone."""
    comparison = compare([True] * 30, [False] * 30, Units.alone(30))
    return [replace(comparison, p=p) for p in p_values]


def leads_with(*p_values: float) -> list[int]:
    return [verdict.lead for verdict in verdicts(comparisons_with(*p_values))]


def test_ahead_is_corrected_for_the_number_of_tests():
    assert leads_with(0.02) == [1]
    assert leads_with(0.02, 0.03, 0.5) == [0, 0, 0]
    words = [verdict.word for verdict in verdicts(comparisons_with(0.001, 0.5))]
    assert words == [AHEAD, NOT_SHOWN]


def test_what_could_have_been_seen_is_less_among_many_tests():
    """Of three tests of which one is decided, the other two would have needed p below 0.05 / 2."""
    single = verdicts(comparisons_with(0.4))[0]
    of_three = verdicts(comparisons_with(1e-9, 0.4, 0.5))[1]
    assert single.alpha == 0.05
    assert of_three.alpha == 0.025
    assert of_three.gap_to_find > single.gap_to_find


@pytest.mark.parametrize(
    ("lost", "margin", "word"),
    [(0, 0.05, EQUAL), (0, 0.005, NOT_SHOWN), (12, 0.05, LITTLE), (12, 0.001, BEYOND), (80, 0.05, BEYOND)],
)
def test_words_go_by_the_margin(lost, margin, word):
    """The second of two models loses some of the 392 problems that the first has right."""
    rows = np.arange(400)
    comparison = compare(rows >= 8, rows >= 8 + lost, Units.alone(400))
    (verdict,) = verdicts([comparison], margin)
    assert verdict.word == word


def check_verdict_is_not_surer(copied: PairVerdict, single: PairVerdict) -> None:
    """Assert that a verdict on copied problems claims no more than that on single ones."""
    interval = single.comparison.interval
    copied_interval = copied.comparison.interval
    assert copied.p_corrected >= single.p_corrected - 1e-9
    assert copied_interval.low <= interval.low + 1e-9
    assert copied_interval.high >= interval.high - 1e-9
    assert WORDS.index(copied.word) <= WORDS.index(single.word)
    assert (copied.gap_to_find or 2) >= (single.gap_to_find or 2) - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_each_problem_written_three_times_makes_nothing_surer(seed):
    rng = np.random.default_rng(seed)
    data = OPEN[: int(rng.integers(6, 60))]
    copies = thrice(data)
    first_share, second_share = rng.random(2)
    first = (rng.random(len(data)) < first_share).tolist()
    second = (rng.random(len(data)) < second_share).tolist()
    for silent_row in np.flatnonzero(rng.random(len(data)) < 0.1):
        first[silent_row] = None
    once = compare_answers(answers(first.__getitem__, data), answers(second.__getitem__, data))
    first_copied = answers(repeated(first).__getitem__, copies)
    second_copied = answers(repeated(second).__getitem__, copies)
    copied = compare_answers(first_copied, second_copied)
    assert once.keys() == copied.keys()
    for margin in (0.05, 0.3):
        verdicts_once = verdicts(list(once.values()), margin)
        verdicts_copied = verdicts(list(copied.values()), margin)
        for single, triple in zip(verdicts_once, verdicts_copied, strict=True):
            check_verdict_is_not_surer(triple, single)
