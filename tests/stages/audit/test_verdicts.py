"""Scorers of known nature get the word they deserve."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.drawing.decision import Verdict
from winokit.methods.scoring.scorer import Prediction, write_predictions
from winokit.models.python_function import PythonFunction
from winokit.problem import Problem
from winokit.stages.audit.run import audit
from winokit.stages.audit.verdict import NEARLY, verdict

CHANCE = "Indistinguishable from chance"
OPEN = load("open")
Scorer = Callable[[Problem], int | None]


def judge_scorer(scorer: Scorer, folder) -> tuple[Run, Verdict]:
    """Audit of a scorer's choices on the open dataset, with its verdict."""
    rows = []
    for problem in OPEN:
        rows.append(Prediction(problem.id, "original", "known", "own", None, scorer(problem), problem.answer))
    path = folder / "known.jsonl"
    write_predictions(rows, path)
    run = audit(OPEN, predictions=[path])
    return run, verdict(run.metrics)


def join_points(result: Verdict) -> str:
    return " ".join(point.text for point in result.points)


def make_chat_coin(seed: int) -> Scorer:
    """Make a coin that is asked in both orders, and abstains where its two answers contradict each other."""
    rng = np.random.default_rng(seed)

    def choose(problem: Problem) -> int | None:
        first, second = rng.integers(2, size=2)
        return int(first) if first == second else None

    return choose


def make_shy_coin(first_silence: float, second_silence: float, seed: int) -> Scorer:
    """Make a coin that abstains on one share of problems if the first candidate is right, and on another if not."""
    rng = np.random.default_rng(seed)

    def choose(problem: Problem) -> int | None:
        silence = first_silence if problem.answer == 0 else second_silence
        is_silent = rng.random() < silence
        return None if is_silent else int(rng.integers(2))

    return choose


@pytest.mark.parametrize("seed", range(4))
def test_a_coin_behind_a_chat_server_is_not_told_from_guessing(seed, tmp_path):
    """It is right in a quarter of problems and in a sixteenth of pairs, as guessing with the same abstentions is."""
    run, result = judge_scorer(make_chat_coin(seed), tmp_path)
    single = run.find("accuracy", "all", "accuracy")
    group = run.find("groups", "complete", "group_accuracy")
    assert single.value < 0.35
    assert single.chance == pytest.approx(0.25, abs=0.05)
    assert group.chance == pytest.approx(1 / 16, abs=0.03)
    assert result.word.removesuffix(NEARLY) == CHANCE
    assert re.search("no better than chance|as chance may get too|not clearly", result.headline)
    assert "below chance" not in join_points(result)
    expected_accuracy = run.find("accuracy", "all", "expected_accuracy")
    assert expected_accuracy.value == pytest.approx(0.5, abs=0.08)


def test_a_coin_that_is_asked_twice_by_way_of_a_python_function_is_not_told_from_guessing_either():
    """All protocols and variants are scored, and there is a tie where its two answers differ."""
    rng = np.random.default_rng(3)

    def toss_twice(before, after, candidates, pronoun):
        tosses = rng.integers(2, size=2)
        second_count = int(tosses.sum())
        return [2 - second_count, second_count]

    run = audit(OPEN, model=PythonFunction("python:coins:toss_twice", toss_twice, []))
    result = verdict(run.metrics)
    assert 0.4 < run.find("accuracy", "all", "abstained").value < 0.6
    assert result.word.removesuffix(NEARLY) == CHANCE
    assert not re.search("above chance:|below chance|no longer holds", join_points(result))


def test_a_coin_that_abstains_where_it_likes_is_not_told_from_guessing(tmp_path):
    """Of problems whose answer comes first it leaves out a tenth, of the others two thirds: no place matters."""
    run, result = judge_scorer(make_shy_coin(0.1, 0.65, seed=2), tmp_path)
    first = run.find("position", "answer_first", "accuracy")
    second = run.find("position", "answer_second", "accuracy")
    assert first.value - second.value > 0.15  # abstentions count as wrong
    gap = run.find("position", "all", "first_minus_second")
    assert gap.low < 0 < gap.high  # of what is answered, the two are alike
    assert result.word.removesuffix(NEARLY) == CHANCE
    assert "place of the right candidate" not in join_points(result)


def test_who_answers_nothing_has_answered_nothing(tmp_path):
    run, result = judge_scorer(lambda problem: None, tmp_path)
    assert result.word == "Nothing was decided"
    assert run.find("accuracy", "all", "accuracy").chance == 0.0


def test_always_the_first_candidate_is_what_it_always_is_and_unknown_on_twins(tmp_path):
    run, result = judge_scorer(lambda problem: 0, tmp_path)
    assert result.word == CHANCE
    assert "it always gives the same answer" in result.headline
    assert "It never tells the twins of a pair apart" in result.headline
    assert run.find("groups", "complete", "group_accuracy").is_untestable


def test_one_answer_for_both_twins_is_not_one_answer_always(tmp_path):
    choices = {group: number % 2 for number, group in enumerate(OPEN.groups)}
    run, result = judge_scorer(lambda problem: choices[problem.group], tmp_path)
    assert result.word == CHANCE
    assert "it gives twins the same answer" in result.headline
    assert "It never tells the twins of a pair apart" in result.headline
    assert run.find("groups", "complete", "group_accuracy").is_untestable


def test_a_reasoner_that_abstains_is_above_chance(tmp_path):
    rng = np.random.default_rng(4)

    def reason(problem: Problem) -> int | None:
        if rng.random() < 0.4:
            return None
        is_right = rng.random() < 0.8
        return problem.answer if is_right else 1 - problem.answer

    run, result = judge_scorer(reason, tmp_path)
    assert run.find("accuracy", "all", "accuracy").value < 0.6
    assert (result.word, result.tone) == ("Above chance, on twins too", "good")


def test_who_turns_right_answers_round_is_below_chance(tmp_path):
    rng = np.random.default_rng(5)

    def turn_round(problem: Problem) -> int:
        is_right = rng.random() < 0.3
        return problem.answer if is_right else 1 - problem.answer

    _, result = judge_scorer(turn_round, tmp_path)
    assert result.word == "Below chance"


def test_who_abstains_after_a_switch_is_not_said_to_have_seen_the_texts():
    answers = {(problem.before, problem.after): problem.answer for problem in OPEN}

    def silent_on_switched(before, after, candidates, pronoun):
        answer = answers.get((before, after))
        if answer is None:
            return None
        return [float(index == answer) for index in range(len(candidates))]

    run = audit(OPEN, silent_on_switched, protocol=["accuracy", "groups", "switching"], cache="off")
    assert run.find("switching", "switchable", "switched_accuracy").value == 0
    assert run.find_or_none("switching", "switchable", "unswitched_minus_switched") is None
    assert verdict(run.metrics).word == "Above chance, on twins too"
