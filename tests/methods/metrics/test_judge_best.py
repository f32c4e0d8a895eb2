"""What the best of many trials owes to having been chosen."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from support.copies import repeated, thrice

from winokit.answers import Answers, TrialName
from winokit.methods.metrics.judge_best import judge_best
from winokit.problem import Card, Dataset, Problem


def alone(count, first_right=0.5):
    problems = [Problem(f"Text {at} says ", ".", ("one", "two"), int(at >= first_right * count)) for at in range(count)]
    return Dataset(problems, Card("dev"))


def pairs(count):
    problems = [
        Problem(f"Pair {pair} says ", f" {answer}.", ("one", "two"), answer, group=f"g{pair}")
        for pair in range(count)
        for answer in (0, 1)
    ]
    return Dataset(problems, Card("dev"))


def guesses(trials, problems, seed=1):
    return np.random.default_rng(seed).integers(0, 2, (trials, problems))


def judged(dataset, choices, **more):
    by_trial = {TrialName(number): own for number, own in enumerate(choices)}
    return judge_best(Answers.of_trials(dataset, by_trial), **more)


def choices_of(dataset, is_right):
    answers = np.array([problem.answer for problem in dataset])
    return np.where(is_right, answers, 1 - answers)


def test_the_best_of_many_guessers_is_corrected_to_what_guessing_gives():
    dataset = alone(200)
    found = [judged(dataset, guesses(60, 200, seed), draws=200) for seed in range(20)]
    best_of_coins = np.random.default_rng(0).binomial(200, 0.5, (4000, 60)).max(axis=1).mean() / 200
    assert np.mean([one.best for one in found]) == pytest.approx(best_of_coins, abs=0.01)
    assert np.mean([one.guessing for one in found]) == pytest.approx(best_of_coins, abs=0.01)
    assert np.mean([one.equal for one in found]) == pytest.approx(best_of_coins, abs=0.015)
    assert np.mean([one.corrected for one in found]) == pytest.approx(0.5, abs=0.015)
    assert np.mean([one.p_guessing < 0.05 for one in found]) <= 0.2
    assert np.mean([one.p_equal < 0.05 for one in found]) <= 0.2


def test_guessers_prefer_what_the_trials_prefer():
    # Two of three right answers are in the first place, and so are nearly all choices: nobody read anything.
    dataset = alone(300, first_right=0.667)
    choices = (np.random.default_rng(2).random((20, 300)) < 0.05).astype(int)
    found = judged(dataset, choices)
    assert found.best > 0.65
    assert found.level == pytest.approx(found.best, abs=0.02)
    assert found.p_guessing > 0.05


def test_one_good_trial_among_guessers_keeps_its_score():
    dataset = alone(200)
    choices = guesses(20, 200)
    choices[7] = choices_of(dataset, np.arange(200) % 10 > 0)
    found = judged(dataset, choices)
    assert found.best == 0.9
    assert found.corrected == pytest.approx(0.9, abs=0.01)
    assert found.low < 0.9 < found.high
    assert found.p_guessing < 0.001
    assert found.p_equal < 0.001


def test_trials_that_answer_alike_are_not_sixty_chances_at_luck():
    dataset = alone(200)
    one = guesses(1, 200)
    once = judged(dataset, one)
    often = judged(dataset, np.repeat(one, 60, axis=0))
    assert often.equal == pytest.approx(often.best, abs=0.002)
    assert often.corrected == pytest.approx(often.best, abs=0.005)
    assert often.guessing == pytest.approx(once.guessing, abs=1e-9)


def test_abstentions_count_as_guesses_under_the_null_too():
    dataset = alone(100)
    silent = judged(dataset, [[None] * 100])
    assert (silent.best, silent.level, silent.guessing, silent.p_guessing) == (0.5, 0.5, 0.5, 1.0)


def test_twins_are_drawn_together():
    # Whole groups are right or wrong: half as many units, so that the interval is wider.
    half = np.random.default_rng(3).integers(0, 2, 100).astype(bool)
    both = np.repeat(half, 2)
    apart = judged(alone(200), [choices_of(alone(200), both)])
    together = judged(pairs(100), [choices_of(pairs(100), both)])
    assert together.high - together.low > 1.2 * (apart.high - apart.low)


@pytest.mark.parametrize("dataset", [alone(60), pairs(30)])
def test_problems_that_are_written_three_times_make_nothing_surer(dataset):
    choices = guesses(8, 60)
    choices[3] = choices_of(dataset, np.arange(60) % 5 > 0)
    once = judged(dataset, choices)
    copies = judged(thrice(dataset), [repeated(own.tolist()) for own in choices])
    assert copies.best == pytest.approx(once.best)
    assert copies.high - copies.low >= once.high - once.low - 1e-9
    assert copies.p_guessing >= once.p_guessing - 0.001
    assert copies.p_equal >= once.p_equal - 1e-9
    assert copies.guessing >= once.guessing - 0.01


def test_trials_that_find_the_same_problems_hard_are_told_apart_at_the_level_that_is_claimed():
    # The best score by itself moves with how hard a draw is: it had size 0 and power 0.3 here.
    found = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "search_luck.py"))
    rejected = found["rejected"]
    search = found["Search"]
    assert 0.01 <= rejected(search(20, 104, shared=4.0), 150, draws=200) <= 0.09
    assert rejected(search(20, 104, shared=4.0, ahead=0.12), 60, draws=200) >= 0.6
