"""The best of many trials is corrected for having been chosen."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from support.copies import repeated, thrice

from winokit.answers import Answers, TrialName
from winokit.methods.metrics.judge_best import judge_best
from winokit.problem import Card, Dataset, Problem


def alone(count, first_right=0.5):
    """Problems without twins, of which this share has the first candidate right."""
    problems = []
    for index in range(count):
        answer = int(index >= first_right * count)
        problems.append(Problem(f"Text {index} says ", ".", ("one", "two"), answer))
    return Dataset(problems, Card("dev"))


def pairs(count):
    problems = []
    for pair in range(count):
        before = f"Pair {pair} says "
        group = f"g{pair}"
        problems.append(Problem(before, " 0.", ("one", "two"), 0, group=group))
        problems.append(Problem(before, " 1.", ("one", "two"), 1, group=group))
    return Dataset(problems, Card("dev"))


def guesses(trials, problems, seed=1):
    return np.random.default_rng(seed).integers(0, 2, (trials, problems))


def judge_trials(dataset, choices, **more):
    """Judge the best of the trials, given the choices of each."""
    by_trial = {TrialName(index): trial_choices for index, trial_choices in enumerate(choices)}
    return judge_best(Answers.of_trials(dataset, by_trial), **more)


def choices_of(dataset, is_right):
    answers = np.array([problem.answer for problem in dataset])
    return np.where(is_right, answers, 1 - answers)


@pytest.fixture(scope="module")
def judged_guessers():
    """Verdicts on twenty searches of sixty trials that guess on 200 problems."""
    dataset = alone(200)
    return [judge_trials(dataset, guesses(60, 200, seed), draws=200) for seed in range(20)]


def test_the_best_of_many_guessers_is_corrected_to_what_guessing_gives(judged_guessers):
    heads = np.random.default_rng(0).binomial(200, 0.5, (4000, 60))
    best_of_coins = heads.max(axis=1).mean() / 200
    assert np.mean([verdict.best for verdict in judged_guessers]) == pytest.approx(best_of_coins, abs=0.01)
    assert np.mean([verdict.guessing for verdict in judged_guessers]) == pytest.approx(best_of_coins, abs=0.01)
    assert np.mean([verdict.equal for verdict in judged_guessers]) == pytest.approx(best_of_coins, abs=0.015)
    assert np.mean([verdict.corrected for verdict in judged_guessers]) == pytest.approx(0.5, abs=0.015)


def test_the_best_of_many_guessers_is_seldom_significant(judged_guessers):
    p_guessing = np.array([verdict.p_guessing for verdict in judged_guessers])
    p_equal = np.array([verdict.p_equal for verdict in judged_guessers])
    assert np.mean(p_guessing < 0.05) <= 0.2
    assert np.mean(p_equal < 0.05) <= 0.2


def test_guessers_prefer_what_the_trials_prefer():
    # Two of three right answers are in the first place, and so are nearly all choices: nobody read anything.
    dataset = alone(300, first_right=0.667)
    choices = (np.random.default_rng(2).random((20, 300)) < 0.05).astype(int)
    verdict = judge_trials(dataset, choices)
    assert verdict.best > 0.65
    assert verdict.level == pytest.approx(verdict.best, abs=0.02)
    assert verdict.p_guessing > 0.05


def test_one_good_trial_among_guessers_keeps_its_score():
    dataset = alone(200)
    choices = guesses(20, 200)
    choices[7] = choices_of(dataset, np.arange(200) % 10 > 0)
    verdict = judge_trials(dataset, choices)
    assert verdict.best == 0.9
    assert verdict.corrected == pytest.approx(0.9, abs=0.01)
    assert verdict.low < 0.9 < verdict.high
    assert verdict.p_guessing < 0.001
    assert verdict.p_equal < 0.001


def test_trials_that_answer_alike_are_not_sixty_chances_at_luck():
    dataset = alone(200)
    choices = guesses(1, 200)
    once = judge_trials(dataset, choices)
    often = judge_trials(dataset, np.repeat(choices, 60, axis=0))
    assert often.equal == pytest.approx(often.best, abs=0.002)
    assert often.corrected == pytest.approx(often.best, abs=0.005)
    assert often.guessing == pytest.approx(once.guessing, abs=1e-9)


def test_abstentions_count_as_guesses_under_the_null_too():
    silent = judge_trials(alone(100), [[None] * 100])
    assert silent.best == 0.5
    assert silent.level == 0.5
    assert silent.guessing == 0.5
    assert silent.p_guessing == 1.0


def test_twins_are_drawn_together():
    # Whole groups are right or wrong: half as many units, so that the interval is wider.
    right_by_pair = np.random.default_rng(3).integers(0, 2, 100).astype(bool)
    is_right = np.repeat(right_by_pair, 2)
    separate = judge_trials(alone(200), [choices_of(alone(200), is_right)])
    together = judge_trials(pairs(100), [choices_of(pairs(100), is_right)])
    separate_width = separate.high - separate.low
    together_width = together.high - together.low
    assert together_width > 1.2 * separate_width


@pytest.mark.parametrize("dataset", [alone(60), pairs(30)])
def test_problems_that_are_written_three_times_make_nothing_surer(dataset):
    choices = guesses(8, 60)
    choices[3] = choices_of(dataset, np.arange(60) % 5 > 0)
    once = judge_trials(dataset, choices)
    copies = judge_trials(thrice(dataset), [repeated(trial_choices.tolist()) for trial_choices in choices])
    assert copies.best == pytest.approx(once.best)
    assert copies.high - copies.low >= once.high - once.low - 1e-9
    assert copies.p_guessing >= once.p_guessing - 0.001
    assert copies.p_equal >= once.p_equal - 1e-9
    assert copies.guessing >= once.guessing - 0.01


def test_trials_that_find_the_same_problems_hard_are_told_apart_at_the_level_that_is_claimed():
    # The best score by itself moves with how hard a draw is: it had size 0 and power 0.3 here.
    benchmark = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "search_luck.py"))
    share_rejected = benchmark["rejected"]
    search = benchmark["Search"]
    size = share_rejected(search(20, 104, shared=4.0), 150, draws=200)
    power = share_rejected(search(20, 104, shared=4.0, ahead=0.12), 60, draws=200)
    assert 0.01 <= size <= 0.09
    assert power >= 0.6
