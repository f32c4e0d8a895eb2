"""The judge of two tables of answers: what is matched, what is tested, and what may be said."""

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
    SharedAnswers,
    compare_answers,
    usual_measures,
    verdicts,
)
from winokit.problem import Dataset
from winokit.units import Units

OPEN = load("open")


def answers(right, dataset=OPEN) -> Answers:
    """A table that is right where `right` says so, and silent where it says None."""
    choices = []
    for row, problem in enumerate(dataset):
        is_right = right(row)
        choice = problem.answer if is_right else 1 - problem.answer
        choices.append(None if is_right is None else choice)
    return Answers.of_choices(dataset, choices)


def turned(dataset: Dataset) -> Dataset:
    """The same problems in another file: in the opposite order, and the candidates too."""
    return Dataset([problem.with_order((1, 0)) for problem in reversed(dataset)])


def test_what_both_answered_is_matched_by_problem_and_judged_by_each_tables_own_answers():
    other = turned(OPEN[100:200])
    right = {problem.id for row, problem in enumerate(OPEN) if row % 3}
    found = compare_answers(answers(lambda row: row % 3), answers(lambda row: other[row].id in right, other))
    assert [(test.n, test.difference, test.p) for test in found.values()] == [(100, 0.0, 1.0), (50, 0.0, 1.0)]


def test_an_abstention_is_no_right_answer_unless_expected_accuracy_is_asked_for():
    quiet = answers(lambda row: None)
    bad = answers(lambda row: row % 20 == 0)
    found = compare_answers(quiet, bad, ["accuracy", "group_accuracy", "expected_accuracy"])
    assert (found["accuracy"].first, found["accuracy"].second) == (0.0, pytest.approx(22 / 428))
    assert found["group_accuracy"].first == 0.0
    assert found["expected_accuracy"].first == 0.5


def test_who_answers_nothing_is_never_ahead():
    quiet = answers(lambda row: None)
    bad = answers(lambda row: row % 20 == 0)
    for tables, is_first in (((quiet, bad), True), ((bad, quiet), False)):
        found = compare_answers(*tables, ["expected_accuracy"])["expected_accuracy"]
        (verdict,) = verdicts([found], 0.05)
        assert (found.first_refuses, found.second_refuses) == (is_first, not is_first)
        assert (verdict.lead, verdict.word) == (0, REFUSES)
        (other,) = verdicts([replace(found, first_refuses=False, second_refuses=False)], 0.05)
        assert (abs(other.lead), other.word) == (1, BEYOND)


def test_nothing_in_common_gives_no_comparison():
    assert compare_answers(answers(bool, OPEN[:10]), answers(bool, OPEN[10:20])) == {}


def test_two_answers_to_one_problem_are_refused():
    one = answers(bool, OPEN[:4])
    twice = one.take([0, 1, 2, 3, 0])
    with pytest.raises(BadInput, match="expected one answer per problem, found 5 to 4"):
        compare_answers(twice, one)


def test_what_either_dataset_links_is_one_unit():
    """The second file says of which template the problems are made."""
    plain = Dataset([problem.replace(group=None) for problem in OPEN[:40:2]])
    linked = Dataset([problem.with_labels(template=row // 5) for row, problem in enumerate(plain)])
    shared = SharedAnswers.of(answers(bool, plain), answers(bool, linked))
    assert (shared.first.units.count, shared.second.units.count, shared.units.count) == (20, 4, 4)
    assert SharedAnswers.of(answers(bool, linked), answers(bool, plain)).units == shared.units


def test_groups_are_those_of_the_dataset_that_has_them_and_complete_with_all_members():
    without = Dataset([problem.replace(group=None) for problem in OPEN[:21]])
    shared = SharedAnswers.of(answers(bool, without), answers(bool))
    assert [len(rows) for rows in shared.layout.members] == [2] * 10, "the twin of the last one is missing"
    assert usual_measures(shared) == ("accuracy", "group_accuracy")
    assert usual_measures(SharedAnswers.of(answers(bool, without), answers(bool, without))) == ("accuracy",)


def test_a_cut_off_triplet_is_no_pair():
    triplet = [OPEN[0], OPEN[1], OPEN[2].replace(group=OPEN[0].group)]
    cut = Dataset(triplet[:2])
    whole = Dataset(triplet)
    for tables in ((cut, whole), (whole, cut)):
        shared = SharedAnswers.of(*(answers(bool, each) for each in tables))
        assert not shared.layout.members


def test_consistency_is_over_problems_that_both_answered_both_ways():
    def both_ways(follows, known):
        switched = [problem.replace(provenance={"of": problem.id}) for problem in known]
        asked = AskedProblems.of(OPEN, {"switched": switched})
        rows = asked.rows_of_variant["switched"]
        later = np.ones(len(rows), np.int64) if follows else np.zeros(len(rows), np.int64)
        originals = Answers(asked, asked.rows_of_variant["original"], np.zeros(len(OPEN), np.int64))
        return originals, Answers(asked, rows, later)

    first, first_switched = both_ways(True, OPEN[:60])
    second, second_switched = both_ways(False, OPEN[40:])
    switched = first_switched, second_switched
    found = compare_answers(first, second, ["consistency"], switched=switched)["consistency"]
    assert (found.n, found.first, found.second) == (20, 1.0, 0.0)
    assert compare_answers(first, second, ["consistency"]) == {}


def comparisons_with(*p_values: float):
    found = compare([True] * 30, [False] * 30, Units.alone(30))
    return [replace(found, p=p) for p in p_values]


def test_ahead_is_corrected_for_the_number_of_tests():
    assert [verdict.lead for verdict in verdicts(comparisons_with(0.02))] == [1]
    assert [verdict.lead for verdict in verdicts(comparisons_with(0.02, 0.03, 0.5))] == [0, 0, 0]
    assert [verdict.word for verdict in verdicts(comparisons_with(0.001, 0.5))] == [AHEAD, NOT_SHOWN]


def test_what_could_have_been_seen_is_less_among_many_tests():
    """Of three tests of which one is decided, the other two would have needed p below 0.05 / 2."""
    alone = verdicts(comparisons_with(0.4))[0]
    among = verdicts(comparisons_with(1e-9, 0.4, 0.5))[1]
    assert (alone.alpha, among.alpha) == (0.05, 0.025)
    assert among.gap_to_find > alone.gap_to_find


def test_words_go_by_the_margin():
    units = Units.alone(400)
    first = np.arange(400) >= 8
    word_of = {
        (lost, margin): verdicts([compare(first, np.arange(400) >= 8 + lost, units)], margin)[0].word
        for lost, margin in ((0, 0.05), (0, 0.005), (12, 0.05), (12, 0.001), (80, 0.05))
    }
    assert word_of == {
        (0, 0.05): EQUAL,
        (0, 0.005): NOT_SHOWN,
        (12, 0.05): LITTLE,
        (12, 0.001): BEYOND,
        (80, 0.05): BEYOND,
    }


@pytest.mark.parametrize("seed", range(6))
def test_each_problem_written_three_times_makes_nothing_surer(seed):
    rng = np.random.default_rng(seed)
    data = OPEN[: int(rng.integers(6, 60))]
    copies = thrice(data)
    flags = [(rng.random(len(data)) < share).tolist() for share in rng.random(2)]
    flags[0] = [None if rng.random() < 0.1 else flag for flag in flags[0]]
    once = compare_answers(*(answers(own.__getitem__, data) for own in flags))
    copied = compare_answers(*(answers(repeated(own).__getitem__, copies) for own in flags))
    assert once.keys() == copied.keys()
    for margin in (0.05, 0.3):
        pairs = zip(verdicts(list(once.values()), margin), verdicts(list(copied.values()), margin), strict=True)
        for one, three in pairs:
            assert three.p_corrected >= one.p_corrected - 1e-9
            assert three.comparison.interval.low <= one.comparison.interval.low + 1e-9
            assert three.comparison.interval.high >= one.comparison.interval.high - 1e-9
            assert WORDS.index(three.word) <= WORDS.index(one.word)
            assert (three.gap_to_find or 2) >= (one.gap_to_find or 2) - 1e-9
