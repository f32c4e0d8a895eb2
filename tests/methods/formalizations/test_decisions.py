import itertools

import pytest

pytest.importorskip("torch")
from winokit.methods.formalizations.base import Formalization, formalizations_of
from winokit.methods.formalizations.cases import Case
from winokit.methods.metrics.accuracy import expected_accuracy
from winokit.problem import Problem

PAIR = Problem("Jim yelled at Kevin because ", " was upset.", ("Jim", "Kevin"), 0, "he")
ASKED = Problem("Jim yelled at Kevin because ", " was upset.", ("no", "yes"), 0, "he", query="Jim")
COMPARE = ("mc-sent-no-pair-loss", "mc-sent-no-softmax", "mc-sent", "mc-mlm")
JUDGE = ("p-sent", "p-span")


def decided(spec, numbers, problem=PAIR):
    """The index that wins, None for a tie, or why there is none."""
    formalization = Formalization.parse(spec)
    options = problem.candidates if problem.query is None else ("Jim", "Kevin", "Bill")[: len(numbers)]
    case = Case(problem, options, (None,) * len(options))
    scores = formalization.definition.decide(case, numbers, formalization.switches)
    if isinstance(scores, str):
        return scores
    assert len(scores) == len(problem.candidates)
    best = [index for index, score in enumerate(scores) if score == max(scores)]
    return best[0] if len(best) == 1 else None


@pytest.mark.parametrize("name", COMPARE)
def test_the_highest_option_wins_wherever_zero_lies(name):
    assert decided(name, [-3.0, -1.0]) == 1
    assert decided(name, [3.0, 1.0]) == 0


@pytest.mark.parametrize("name", COMPARE)
def test_a_query_must_beat_every_rival(name):
    assert decided(name, [1.0, 0.5, 0.2], ASKED) == 1
    assert decided(name, [1.0, 0.5, 1.2], ASKED) == 0


@pytest.mark.parametrize("name", COMPARE)
def test_a_query_without_rivals_has_no_answer(name):
    assert decided(name, [50.0], ASKED) == "no rival to compare with"


@pytest.mark.parametrize("name", COMPARE)
def test_a_tie_is_an_abstention_or_lost_or_won_by_the_query(name):
    assert decided(name, [1.0, 1.0]) is None
    assert decided(f"{name}?ties=strict", [1.0, 1.0]) == 1
    assert decided(f"{name}?ties=loose", [1.0, 1.0]) == 0
    assert decided(name, [1.0, 1.0], ASKED) is None
    assert decided(f"{name}?ties=strict", [1.0, 1.0], ASKED) == 0
    assert decided(f"{name}?ties=loose", [1.0, 1.0], ASKED) == 1


def test_the_code_is_strict():
    assert decided("mc-mlm?style=code", [0.0, 0.0], ASKED) == 0
    assert decided("mc-sent?style=winogrande", [0.0, 0.0]) == 0


@pytest.mark.parametrize("name", JUDGE)
def test_a_judgement_is_yes_above_zero_whatever_else_there_is(name):
    assert decided(name, [0.1], ASKED) == 1
    assert decided(name, [-0.1], ASKED) == 0
    assert decided(f"{name}?ties=strict", [0.0], ASKED) == 0


@pytest.mark.parametrize("name", JUDGE)
def test_a_problem_judged_option_by_option_needs_exactly_one_right(name):
    assert decided(name, [0.1, -5.0]) == 0
    assert decided(name, [-0.1, 5.0]) == 1
    assert decided(name, [0.1, 5.0]) == "2 candidates are judged right"
    assert decided(name, [-0.1, -5.0]) == "no candidate is judged right"


@pytest.mark.parametrize("name", JUDGE)
def test_the_code_judges_the_first_candidate_only(name):
    for second in (-5.0, 5.0):
        assert decided(f"{name}?judge=first", [0.1, second]) == 0
        assert decided(f"{name}?judge=first", [-0.1, second]) == 1


def test_expected_accuracy_of_pairs_is_the_accuracy_over_single_judgements():
    table = [(numbers, answer) for numbers in itertools.product((-1.0, 1.0), repeat=2) for answer in (0, 1)]
    chosen = [decided("p-sent", list(numbers)) for numbers, _ in table]
    answers = [answer for _, answer in table]
    single = [(number > 0) == (index == answer) for numbers, answer in table for index, number in enumerate(numbers)]
    found = expected_accuracy([one if isinstance(one, int) else None for one in chosen], answers, [2] * len(table))
    assert found == sum(single) / len(single)


@pytest.mark.parametrize("name", formalizations_of("masked"))
def test_the_order_of_candidates_does_not_matter(name):
    numbers = [0.3, -0.2]
    assert decided(name, numbers) == 0
    assert decided(name, numbers[::-1]) == 1
