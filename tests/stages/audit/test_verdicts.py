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


def audited(scorer: Scorer, folder) -> tuple[Run, Verdict]:
    rows = [Prediction(p.id, "original", "known", "own", None, scorer(p), p.answer) for p in OPEN]
    write_predictions(rows, folder / "known.jsonl")
    run = audit(OPEN, predictions=[folder / "known.jsonl"])
    return run, verdict(run.metrics)


def chat_coin(seed: int) -> Scorer:
    """Asked in both orders, as a chat model is: where the two answers of a coin contradict each other it abstains."""
    rng = np.random.default_rng(seed)

    def choose(problem: Problem) -> int | None:
        one, other = rng.integers(2, size=2)
        return int(one) if one == other else None

    return choose


def coin_that_prefers_to_answer(easy: float, hard: float, seed: int) -> Scorer:
    """A coin that abstains more where the second candidate is right, whatever it knows."""
    rng = np.random.default_rng(seed)

    def choose(problem: Problem) -> int | None:
        silent = rng.random() < (easy if problem.answer == 0 else hard)
        return None if silent else int(rng.integers(2))

    return choose


@pytest.mark.parametrize("seed", range(4))
def test_a_coin_behind_a_chat_server_is_not_told_from_guessing(seed, tmp_path):
    """It is right in a quarter of problems and in a sixteenth of pairs; so is guessing with the same abstentions."""
    run, found = audited(chat_coin(seed), tmp_path)
    single = run.find("accuracy", "all", "accuracy")
    group = run.find("groups", "complete", "group_accuracy")
    assert single.value < 0.35
    assert single.chance == pytest.approx(0.25, abs=0.05)
    assert group.chance == pytest.approx(1 / 16, abs=0.03)
    assert found.word.removesuffix(NEARLY) == CHANCE
    assert any(words in found.headline for words in ("no better than chance", "as chance may get too", "not clearly"))
    assert "below chance" not in " ".join(point.text for point in found.points)
    assert run.find("accuracy", "all", "expected_accuracy").value == pytest.approx(0.5, abs=0.08)


def test_a_coin_that_is_asked_twice_by_way_of_a_python_function_is_not_told_from_guessing_either():
    """All protocols and variants are scored; where its two answers differ there is a tie."""
    rng = np.random.default_rng(3)

    def toss_twice(before, after, candidates, pronoun):
        return [int((tosses == place).sum()) for tosses in [rng.integers(2, size=2)] for place in (0, 1)]

    run = audit(OPEN, model=PythonFunction("python:coins:toss_twice", toss_twice, []))
    found = verdict(run.metrics)
    assert 0.4 < run.find("accuracy", "all", "abstained").value < 0.6
    assert found.word.removesuffix(NEARLY) == CHANCE
    assert not re.search("above chance:|below chance|no longer holds", " ".join(point.text for point in found.points))


def test_a_coin_that_abstains_where_it_likes_is_not_told_from_guessing(tmp_path):
    """Of problems whose answer comes first it leaves out a tenth, of the others two thirds: no place matters."""
    run, found = audited(coin_that_prefers_to_answer(0.1, 0.65, seed=2), tmp_path)
    first, second = (run.find("position", f"answer_{place}", "accuracy").value for place in ("first", "second"))
    assert first - second > 0.15  # abstentions count as wrong
    gap = run.find("position", "all", "first_minus_second")
    assert gap.low < 0 < gap.high  # of what is answered, the two are alike
    assert found.word.removesuffix(NEARLY) == CHANCE
    assert not any("place of the right candidate" in point.text for point in found.points)


def test_who_answers_nothing_has_answered_nothing(tmp_path):
    run, found = audited(lambda problem: None, tmp_path)
    assert found.word == "Nothing was decided"
    assert run.find("accuracy", "all", "accuracy").chance == 0.0


def test_always_the_first_candidate_is_what_it_always_is_and_unknown_on_twins(tmp_path):
    run, found = audited(lambda problem: 0, tmp_path)
    assert found.word == CHANCE
    assert "it always gives the same answer" in found.headline
    assert "It never tells the twins of a pair apart" in found.headline
    assert run.find("groups", "complete", "group_accuracy").is_untestable


def test_one_answer_for_both_twins_is_not_one_answer_always(tmp_path):
    places = {group: number % 2 for number, group in enumerate(dict.fromkeys(problem.group for problem in OPEN))}
    run, found = audited(lambda problem: places[problem.group], tmp_path)
    assert found.word == CHANCE
    assert "it gives twins the same answer" in found.headline
    assert "It never tells the twins of a pair apart" in found.headline
    assert run.find("groups", "complete", "group_accuracy").is_untestable


def test_a_reasoner_that_abstains_is_above_chance(tmp_path):
    rng = np.random.default_rng(4)

    def reason(problem: Problem) -> int | None:
        return None if rng.random() < 0.4 else problem.answer if rng.random() < 0.8 else 1 - problem.answer

    run, found = audited(reason, tmp_path)
    assert run.find("accuracy", "all", "accuracy").value < 0.6
    assert (found.word, found.tone) == ("Above chance, on twins too", "good")


def test_who_turns_right_answers_round_is_below_chance(tmp_path):
    rng = np.random.default_rng(5)
    _, found = audited(lambda p: p.answer if rng.random() < 0.3 else 1 - p.answer, tmp_path)
    assert found.word == "Below chance"


def test_who_abstains_after_a_switch_is_not_said_to_have_seen_the_texts():
    answers = {(problem.before, problem.after): problem.answer for problem in OPEN}

    def silent_on_switched(before, after, candidates, pronoun):
        answer = answers.get((before, after))
        return None if answer is None else [float(place == answer) for place in range(len(candidates))]

    run = audit(OPEN, silent_on_switched, protocol=["accuracy", "groups", "switching"], cache="off")
    assert run.find("switching", "switchable", "switched_accuracy").value == 0
    assert run.find_or_none("switching", "switchable", "unswitched_minus_switched") is None
    assert verdict(run.metrics).word == "Above chance, on twins too"
