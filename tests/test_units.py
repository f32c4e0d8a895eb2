"""Units: what hangs together counts once, and nothing else than units says what does."""

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

OWN = Judge("data", Scorer("model"))
PROBLEMS = [Problem(f"Text {at} says that ", " did it.", ("Ana", "Ruth"), at) for at in (0, 1)]


def test_units_are_numbered_in_the_order_of_appearance():
    units = Units(np.array([7, 3, 7, 900]))
    assert units.numbers.tolist() == [0, 1, 0, 2]
    assert units == Units.of_names(["x", "y", "x", None])
    assert units.sums(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [4.0, 2.0, 4.0]
    assert [rows.tolist() for rows in units.rows()] == [[0, 2], [1], [3]]


def test_a_part_has_its_own_numbers():
    part = Units.of_names(["a", "b", "b", "c"]).take([3, 1, 2])
    assert part.numbers.tolist() == [0, 1, 1]
    assert (part.count, part.sizes.tolist(), part.all_alone) == (2, [1, 2], False)


@pytest.mark.parametrize(
    "asked",
    [
        lambda units: share([True, False], units),
        lambda units: mean_interval([1.0, 2.0], units),
        lambda units: standard_error([1.0, 2.0], units),
        lambda units: gap([True, False], [True, False], [False, True], units),
        lambda units: paired_gap([True, False], [True, True], units),
        lambda units: compare([True, False], [True, True], units),
        lambda units: p_exchanged([True, False], [True, True], units),
        lambda units: score_interval([True, False], units),
        lambda units: lead_of(np.array([1.0, 0.0]), np.array([1.0, 1.0]), units),
        lambda units: p_best_by_coins(np.array([True, False]), units, tries=1),
        lambda units: told_apart_test(np.array([0, 1]), np.array([0, 0]), units),
        lambda units: next(OWN.share(("p", "all", "m"), [True, False], units)),
        lambda units: next(OWN.mean(("p", "all", "m"), [2.0, 3.0], units)),
        lambda units: p_independent("ab", [0, 1], units),
        lambda units: linear_probe(np.eye(2), np.array([0, 1]), units, folds=2),
        lambda units: null_runs(AFLite(), np.eye(2), np.array([0, 1]), units),
        lambda units: Sides([True, False], units),
        lambda units: AskedProblems(PROBLEMS, units, {}),
    ],
)
def test_a_bare_list_of_groups_is_a_type_error_wherever_units_count(asked):
    with pytest.raises(TypeError, match=r"expected Units, found list: use Dataset\.units"):
        asked(["a", "a"])
    with pytest.raises(BadInput, match="2 values and 3 units"):
        asked(Units.alone(3))


def test_a_dataset_makes_its_units_of_groups_texts_sentences_and_templates():
    data = Dataset(
        [
            Problem("Ana thanked Ruth because ", " was helped.", ("Ana", "Ruth"), 0, group="a"),
            Problem("Ana thanked Ruth because ", " helped.", ("Ana", "Ruth"), 1, group="a"),
            Problem("Ana thanked Ruth because ", " helped.", ("Ana", "Eve"), 0),
            Problem("A nurse left since ", " was late.", ("nurse", "clerk"), 0, labels={"template": 1}),
            Problem("The clerk left since ", " was late.", ("nurse", "clerk"), 1, labels={"template": 1}),
            Problem("Alone ", " is.", ("x", "y"), 1),
        ]
    )
    assert data.units.numbers.tolist() == [0, 0, 0, 1, 1, 2]


def test_spaces_and_case_do_not_make_two_sentences_of_one():
    """SuperGLUE-WSC has spaces around its tokens near the words asked about, and nowhere else."""
    first = Problem("Bernard, who saw that ", " was late, left it.", ("no", "yes"), 0, "he", query="Bernard")
    second = Problem("bernard , who saw that he was late , left ", " .", ("no", "yes"), 1, "it", query="Bernard")
    other = Problem("Bernard, who saw that ", " was later, left it.", ("no", "yes"), 0, "he", query="Bernard")
    assert Dataset([first, second, other]).units.numbers.tolist() == [0, 0, 1]
    texts = ["She sleeps."], ["she  sleeps ."], ["She slept."]
    wholes = [Problem.whole([*own, f"So {at}."], 0) for at, own in enumerate(texts)]
    assert Dataset(wholes).units.numbers.tolist() == [0, 0, 1]


def test_units_are_equal_if_they_part_the_rows_alike():
    units = Units.of_names(["a", "b", "a"])
    assert units == Units(np.array([5, 2, 5]))
    assert units != Units.alone(3)
    assert units != [0, 1, 0]
    assert len({units, Units(np.array([5, 2, 5])), Units.alone(3)}) == 2


def test_no_rows_are_no_units():
    nothing = Units.of_names([])
    assert (len(nothing), nothing.count, nothing.sizes.tolist(), nothing.rows()[0].tolist()) == (0, 0, [], [])
    assert Units.alone(3).take([]) == nothing


def test_answers_know_the_units_of_the_whole_dataset_in_every_variant_and_part():
    data = Dataset(
        [
            Problem("Ana thanked Ruth because ", f" {end}.", ("Ana", "Ruth"), answer, labels={"template": 1})
            for answer, end in enumerate(("was helped", "helped"))
        ]
    )
    switched = [problem.replace(before="Ruth thanked Ana because ", provenance={"of": problem.id}) for problem in data]
    asked = AskedProblems.of(data, {"switched": switched})
    assert asked.units.numbers.tolist() == [0, 0, 0, 0]
    assert asked.rows_of_variant["switched"].tolist() == [2, 3]
    answers = Answers(asked, np.array([2, 3]), np.array([0, 1]))
    before = Answers(asked, np.array([1]), np.array([1]))
    assert [part.ids for part in before.matched(answers)] == [[data[1].id], [data[1].id]]
