"""Problems that depend on each other are one unit, and every statistic takes units from a dataset."""

import numpy as np
import pytest

from winokit.answers import Answers, AskedProblems, Scorer
from winokit.errors import BadInput
from winokit.methods.aflite.aflite import AFLite
from winokit.methods.aflite.null import null_runs
from winokit.methods.aflite.overuse import Sides
from winokit.methods.aflite.probe import linear_probe
from winokit.methods.metrics.compare import compare, p_exchanged
from winokit.methods.metrics.intervals import gap, mean_interval, paired_gap, share, standard_error
from winokit.methods.metrics.judge import Judge
from winokit.methods.metrics.judge_graded import lead_of, p_best_by_coins, score_interval
from winokit.methods.metrics.judge_leaks import p_independent
from winokit.methods.metrics.null import told_apart_test
from winokit.problem import Dataset, Problem
from winokit.units import Units

JUDGE = Judge("data", Scorer("model"))
PEOPLE = ("Ana", "Ruth")
PROBLEMS = [
    Problem("Text 0 says that ", " did it.", PEOPLE, 0),
    Problem("Text 1 says that ", " did it.", PEOPLE, 1),
]
RIGHT = [True, False]
ALL_RIGHT = [True, True]
FEATURES = np.eye(2)
LABELS = np.array([0, 1])


def test_units_are_numbered_in_the_order_of_appearance():
    units = Units(np.array([7, 3, 7, 900]))
    assert units.numbers.tolist() == [0, 1, 0, 2]
    assert units == Units.of_names(["x", "y", "x", None])
    assert units.sums(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [4.0, 2.0, 4.0]
    assert [rows.tolist() for rows in units.rows()] == [[0, 2], [1], [3]]


def test_a_part_has_its_own_numbers():
    part = Units.of_names(["a", "b", "b", "c"]).take([3, 1, 2])
    assert part.numbers.tolist() == [0, 1, 1]
    assert part.count == 2
    assert part.sizes.tolist() == [1, 2]
    assert not part.all_alone


@pytest.mark.parametrize(
    "call",
    [
        lambda units: share(RIGHT, units),
        lambda units: mean_interval([1.0, 2.0], units),
        lambda units: standard_error([1.0, 2.0], units),
        lambda units: gap(RIGHT, [True, False], [False, True], units),
        lambda units: paired_gap(RIGHT, ALL_RIGHT, units),
        lambda units: compare(RIGHT, ALL_RIGHT, units),
        lambda units: p_exchanged(RIGHT, ALL_RIGHT, units),
        lambda units: score_interval(RIGHT, units),
        lambda units: lead_of(np.array([1.0, 0.0]), np.array([1.0, 1.0]), units),
        lambda units: p_best_by_coins(np.array(RIGHT), units, tries=1),
        lambda units: told_apart_test(LABELS, np.array([0, 0]), units),
        lambda units: next(JUDGE.share(("p", "all", "m"), RIGHT, units)),
        lambda units: next(JUDGE.mean(("p", "all", "m"), [2.0, 3.0], units)),
        lambda units: p_independent("ab", [0, 1], units),
        lambda units: linear_probe(FEATURES, LABELS, units, folds=2),
        lambda units: null_runs(AFLite(), FEATURES, LABELS, units),
        lambda units: Sides(RIGHT, units),
        lambda units: AskedProblems(PROBLEMS, units, {}),
    ],
)
def test_a_bare_list_of_groups_is_a_type_error_wherever_units_count(call):
    with pytest.raises(TypeError, match=r"expected Units, found list: use Dataset\.units"):
        call(["a", "a"])
    with pytest.raises(BadInput, match="2 values and 3 units"):
        call(Units.alone(3))


def test_a_dataset_makes_its_units_of_groups_texts_sentences_and_templates():
    thanked = "Ana thanked Ruth because "
    jobs = ("nurse", "clerk")
    problems = [
        Problem(thanked, " was helped.", PEOPLE, 0, group="a"),
        Problem(thanked, " helped.", PEOPLE, 1, group="a"),
        Problem(thanked, " helped.", ("Ana", "Eve"), 0),
        Problem("A nurse left since ", " was late.", jobs, 0, labels={"template": 1}),
        Problem("The clerk left since ", " was late.", jobs, 1, labels={"template": 1}),
        Problem("Alone ", " is.", ("x", "y"), 1),
    ]
    assert Dataset(problems).units.numbers.tolist() == [0, 0, 0, 1, 1, 2]


def test_spaces_and_case_do_not_make_two_sentences_of_one():
    """SuperGLUE-WSC has spaces around its tokens near the words asked about, and nowhere else."""
    options = ("no", "yes")
    first = Problem("Bernard, who saw that ", " was late, left it.", options, 0, "he", query="Bernard")
    spaced = Problem("bernard , who saw that he was late , left ", " .", options, 1, "it", query="Bernard")
    different = Problem("Bernard, who saw that ", " was later, left it.", options, 0, "he", query="Bernard")
    assert Dataset([first, spaced, different]).units.numbers.tolist() == [0, 0, 1]


def test_spaces_and_case_do_not_make_two_whole_texts_of_one():
    texts = ["She sleeps.", "she  sleeps .", "She slept."]
    problems = [Problem.whole([text, f"So {number}."], 0) for number, text in enumerate(texts)]
    assert Dataset(problems).units.numbers.tolist() == [0, 0, 1]


def test_units_are_equal_if_they_part_the_rows_alike():
    units = Units.of_names(["a", "b", "a"])
    assert units == Units(np.array([5, 2, 5]))
    assert units != Units.alone(3)
    assert units != [0, 1, 0]
    assert len({units, Units(np.array([5, 2, 5])), Units.alone(3)}) == 2


def test_no_rows_are_no_units():
    empty = Units.of_names([])
    assert len(empty) == 0
    assert empty.count == 0
    assert empty.sizes.tolist() == []
    assert empty.rows()[0].tolist() == []
    assert Units.alone(3).take([]) == empty


def test_answers_know_the_units_of_the_whole_dataset_in_every_variant_and_part():
    first = Problem("Ana thanked Ruth because ", " was helped.", PEOPLE, 0, labels={"template": 1})
    second = Problem("Ana thanked Ruth because ", " helped.", PEOPLE, 1, labels={"template": 1})
    data = Dataset([first, second])
    switched = [problem.replace(before="Ruth thanked Ana because ", provenance={"of": problem.id}) for problem in data]
    problems = AskedProblems.of(data, {"switched": switched})
    assert problems.units.numbers.tolist() == [0, 0, 0, 0]
    assert problems.rows_of_variant["switched"].tolist() == [2, 3]
    answers_to_switched = Answers(problems, np.array([2, 3]), np.array([0, 1]))
    answer_to_second = Answers(problems, np.array([1]), np.array([1]))
    matched = answer_to_second.matched(answers_to_switched)
    assert [part.ids for part in matched] == [[data[1].id], [data[1].id]]
