import numpy as np
import pytest

from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Card, Dataset, Problem
from winokit.stages.search.findings import ranked, voted
from winokit.stages.search.luck import best_of, spread
from winokit.stages.search.trials import DIVERGED, DONE, EndedTrial, Trial


def test_the_spread_is_that_of_the_papers_code():
    found = spread([0.5, 0.6, 0.6, 0.7, 0.9])
    assert (found.worst, found.lower_quartile, found.median, found.upper_quartile, found.best) == pytest.approx(
        (0.5, 0.6, 0.6, 0.7, 0.9)
    )
    # By hand: deviations -.16 -.06 -.06 .04 .24 from .66; squares add up to .092, fourth powers to .00400160.
    assert found.std == pytest.approx((0.092 / 4) ** 0.5)
    n = 5
    variance = 0.092 / 4
    fourth = n * (n + 1) / ((n - 1) * (n - 2) * (n - 3)) * 0.0040016 / variance**2
    assert found.excess_kurtosis == pytest.approx(fourth - 3 * (n - 1) ** 2 / ((n - 2) * (n - 3)))


def test_what_a_few_scores_cannot_tell_is_not_told():
    assert spread([0.5]).std is None
    assert spread([0.5, 0.6, 0.7]).excess_kurtosis is None
    assert spread([0.6] * 5).std == pytest.approx(0, abs=1e-12)
    assert spread([0.6] * 5).excess_kurtosis is None


def test_the_expected_best_of_fewer_trials_is_that_of_drawing_some():
    scores = [0.5, 0.5, 0.6, 0.8]
    drawn = np.random.default_rng(0).choice(scores, (20_000, 3)).max(axis=1).mean()
    assert best_of(scores, 3) == pytest.approx(drawn, abs=0.003)
    assert best_of(scores, 1) == pytest.approx(np.mean(scores))


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
