"""Decisions between options follow their numbers and the rule for ties."""

import itertools

import pytest

pytest.importorskip("torch")
from winokit.methods.formalizations.base import Formalization, formalizations_of
from winokit.methods.formalizations.cases import Case
from winokit.methods.metrics.accuracy import expected_accuracy
from winokit.problem import Problem

PAIR = Problem("Jim yelled at Kevin because ", " was upset.", ("Jim", "Kevin"), 0, "he")
ABOUT_JIM = Problem("Jim yelled at Kevin because ", " was upset.", ("no", "yes"), 0, "he", query="Jim")
COMPARE = ("mc-sent-no-pair-loss", "mc-sent-no-softmax", "mc-sent", "mc-mlm")
JUDGE = ("p-sent", "p-span")


def decided(spec, numbers, problem=PAIR):
    """Index that wins, None for a tie, or the reason for which there is none."""
    formalization = Formalization.parse(spec)
    options = problem.candidates
    if problem.query is not None:
        options = ("Jim", "Kevin", "Bill")[: len(numbers)]
    case = Case(problem, options, (None,) * len(options))
    scores = formalization.definition.decide(case, numbers, formalization.switches)
    if isinstance(scores, str):
        return scores
    assert len(scores) == len(problem.candidates)
    highest = max(scores)
    best = [index for index, score in enumerate(scores) if score == highest]
    return best[0] if len(best) == 1 else None


@pytest.mark.parametrize("name", COMPARE)
def test_the_highest_option_wins_wherever_zero_lies(name):
    assert decided(name, [-3.0, -1.0]) == 1
    assert decided(name, [3.0, 1.0]) == 0


@pytest.mark.parametrize("name", COMPARE)
def test_a_query_must_beat_every_rival(name):
    assert decided(name, [1.0, 0.5, 0.2], ABOUT_JIM) == 1
    assert decided(name, [1.0, 0.5, 1.2], ABOUT_JIM) == 0


@pytest.mark.parametrize("name", COMPARE)
def test_a_query_without_rivals_has_no_answer(name):
    assert decided(name, [50.0], ABOUT_JIM) == "no rival to compare with"


@pytest.mark.parametrize("name", COMPARE)
def test_a_tie_is_an_abstention_or_lost_or_won_by_the_query(name):
    assert decided(name, [1.0, 1.0]) is None
    assert decided(f"{name}?ties=strict", [1.0, 1.0]) == 1
    assert decided(f"{name}?ties=loose", [1.0, 1.0]) == 0
    assert decided(name, [1.0, 1.0], ABOUT_JIM) is None
    assert decided(f"{name}?ties=strict", [1.0, 1.0], ABOUT_JIM) == 0
    assert decided(f"{name}?ties=loose", [1.0, 1.0], ABOUT_JIM) == 1


def test_the_code_is_strict():
    assert decided("mc-mlm?style=code", [0.0, 0.0], ABOUT_JIM) == 0
    assert decided("mc-sent?style=winogrande", [0.0, 0.0]) == 0


@pytest.mark.parametrize("name", JUDGE)
def test_a_judgement_is_yes_above_zero_whatever_else_there_is(name):
    assert decided(name, [0.1], ABOUT_JIM) == 1
    assert decided(name, [-0.1], ABOUT_JIM) == 0
    assert decided(f"{name}?ties=strict", [0.0], ABOUT_JIM) == 0


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
    choices = []
    answers = []
    is_right = []
    for first, second, answer in itertools.product((-1.0, 1.0), (-1.0, 1.0), (0, 1)):
        decision = decided("p-sent", [first, second])
        choices.append(decision if isinstance(decision, int) else None)
        answers.append(answer)
        is_right.append((first > 0) == (answer == 0))
        is_right.append((second > 0) == (answer == 1))
    accuracy = expected_accuracy(choices, answers, [2] * len(choices))
    assert accuracy == sum(is_right) / len(is_right)


@pytest.mark.parametrize("name", formalizations_of("masked"))
def test_the_order_of_candidates_does_not_matter(name):
    numbers = [0.3, -0.2]
    assert decided(name, numbers) == 0
    assert decided(name, numbers[::-1]) == 1
