import runpy
from pathlib import Path

import numpy as np
import pytest

from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Card, Dataset, Problem
from winokit.stages.search.findings import ranked, voted
from winokit.stages.search.luck import best_guesser, best_of, luck, spread
from winokit.stages.search.trials import DIVERGED, DONE, EndedTrial, Trial


def test_the_spread_is_that_of_the_papers_code():
    found = spread([0.5, 0.6, 0.6, 0.7, 0.9])
    assert (found.worst, found.lower_quartile, found.median, found.upper_quartile, found.best) == pytest.approx(
        (0.5, 0.6, 0.6, 0.7, 0.9)
    )
    # By hand: deviations -.16 -.06 -.06 .04 .24 from .66; squares add up to .092, fourth powers to .00400160.
    assert found.std == pytest.approx((0.092 / 4) ** 0.5)
    n, variance = 5, 0.092 / 4
    fourth = n * (n + 1) / ((n - 1) * (n - 2) * (n - 3)) * 0.0040016 / variance**2
    assert found.excess_kurtosis == pytest.approx(fourth - 3 * (n - 1) ** 2 / ((n - 2) * (n - 3)))


def test_what_a_few_scores_cannot_tell_is_not_told():
    assert spread([0.5]).std is None
    assert spread([0.5, 0.6, 0.7]).excess_kurtosis is None
    assert spread([0.6] * 5).std == pytest.approx(0, abs=1e-12)
    assert spread([0.6] * 5).excess_kurtosis is None


def test_the_best_guesser_is_what_guessing_many_times_gives():
    drawn = np.random.default_rng(0).binomial(104, 0.5, (4000, 60)).max(axis=1).mean() / 104
    assert best_guesser(60, 104, 0.5) == pytest.approx(drawn, abs=0.002)


def test_the_expected_best_of_fewer_trials_is_that_of_drawing_some():
    scores = [0.5, 0.5, 0.6, 0.8]
    drawn = np.random.default_rng(0).choice(scores, (20_000, 3)).max(axis=1).mean()
    assert best_of(scores, 3) == pytest.approx(drawn, abs=0.003)
    assert best_of(scores, 1) == pytest.approx(np.mean(scores))


def guesses(trials: int, problems: int, seed: int = 1):
    return np.random.default_rng(seed).integers(0, 2, (trials, problems)).astype(float)


def test_the_best_of_many_guessers_is_corrected_to_what_guessing_gives():
    found = [luck(guesses(60, 200, seed), [None] * 200, 0.5, draws=200) for seed in range(30)]
    assert np.mean([one.best for one in found]) == pytest.approx(best_guesser(60, 200, 0.5), abs=0.01)
    assert np.mean([one.corrected for one in found]) == pytest.approx(0.5, abs=0.015)
    assert np.mean([one.equal for one in found]) == pytest.approx(best_guesser(60, 200, 0.5), abs=0.015)
    assert np.mean([one.p_guessing < 0.05 for one in found]) <= 0.2
    assert np.mean([one.p_equal < 0.05 for one in found]) <= 0.2


def test_one_good_trial_among_guessers_keeps_its_score():
    points = guesses(20, 200)
    points[7] = np.arange(200) % 10 > 0
    found = luck(points, [None] * 200, 0.5)
    assert found.best == 0.9
    assert found.corrected == pytest.approx(0.9, abs=0.01)
    assert found.low < 0.9 < found.high
    assert found.p_guessing < 1e-6
    assert found.p_equal < 0.001


def test_trials_that_answer_alike_are_not_sixty_chances_at_luck():
    points = np.repeat(guesses(1, 200), 60, axis=0)
    found = luck(points, [None] * 200, 0.5)
    assert found.equal == pytest.approx(found.best, abs=0.002)
    assert found.corrected == pytest.approx(found.best, abs=0.005)


def test_twins_are_drawn_together():
    # Whole groups are right or wrong: half as many units, so that the interval is wider.
    half = np.random.default_rng(3).integers(0, 2, (1, 100)).astype(float)
    points = np.repeat(half, 2, axis=1)
    apart, together = (luck(points, groups, 0.5) for groups in ([None] * 200, [f"g{n // 2}" for n in range(200)]))
    assert together.high - together.low > 1.2 * (apart.high - apart.low)


def test_trials_that_find_the_same_problems_hard_are_told_apart_at_the_level_that_is_claimed():
    # The best score by itself moves with how hard a draw is: it had size 0 and power 0.3 here.
    found = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "search_luck.py"))
    rejected, search = found["rejected"], found["Search"]
    assert 0.01 <= rejected(search(20, 104, shared=4.0), 150, draws=200) <= 0.09
    assert rejected(search(20, 104, shared=4.0, ahead=0.12), 60, draws=200) >= 0.6


def trial(number, accuracy=0.5, state=DONE):
    return Trial("mc-mlm", number, {}, EndedTrial(state, None if state == DIVERGED else accuracy))


def test_the_best_come_first_and_of_equals_the_lower_number():
    some = [trial(0, 0.5), trial(1, 0.7), trial(2, state=DIVERGED), trial(3, 0.7), trial(4, 0.6)]
    assert [one.number for one in ranked(some)] == [1, 3, 4, 0]


def ballots(*choices):
    return [[Prediction("id", "original", "m", "s", None, choice, None)] for choice in choices]


def test_the_majority_decides_and_abstentions_do_not_count():
    dataset = Dataset([Problem("A saw B because ", " was near.", ("A", "B"), 0)], Card("one"))
    (found,) = voted(dataset, ballots(1, 1, 0, None, None), "ensemble")
    assert found.prediction == 1
    assert found.scores == (1 / 3, 2 / 3)
    (tied,) = voted(dataset, ballots(1, 0), "ensemble")
    assert (tied.prediction, tied.why) == (None, "a tie")
    assert voted(dataset, ballots(None, None), "ensemble")[0].prediction is None


def test_a_tie_is_no_where_problems_ask_yes_or_no():
    judgement = Problem("A saw B because ", " was near.", ("no", "yes"), 1, "he", query="A")
    (found,) = voted(Dataset([judgement], Card("one")), ballots(1, 0, None), "ensemble")
    assert found.prediction == 0
