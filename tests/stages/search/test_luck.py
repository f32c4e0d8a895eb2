"""The spread of trials, their order, the best that fewer would give, and the vote of all."""

import numpy as np
import pytest

from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Card, Dataset, Problem
from winokit.stages.search.findings import ranked, voted
from winokit.stages.search.luck import best_of, spread
from winokit.stages.search.trials import DIVERGED, DONE, EndedTrial, Trial


def test_the_spread_has_the_five_numbers_of_a_box_plot():
    box = spread([0.5, 0.6, 0.6, 0.7, 0.9])
    five_numbers = (box.worst, box.lower_quartile, box.median, box.upper_quartile, box.best)
    assert five_numbers == pytest.approx((0.5, 0.6, 0.6, 0.7, 0.9))


def test_deviation_and_kurtosis_are_those_of_the_papers_code():
    box = spread([0.5, 0.6, 0.6, 0.7, 0.9])
    # By hand: deviations -.16 -.06 -.06 .04 .24 from .66; squares add up to .092, fourth powers to .00400160.
    variance = 0.092 / 4
    weight = 5 * 6 / (4 * 3 * 2)
    fourth_moment = weight * 0.0040016 / variance**2
    normal_moment = 3 * 4**2 / (3 * 2)
    assert box.std == pytest.approx(variance**0.5)
    assert box.excess_kurtosis == pytest.approx(fourth_moment - normal_moment)


def test_what_a_few_scores_cannot_tell_is_not_told():
    equal_scores = spread([0.6] * 5)
    assert spread([0.5]).std is None
    assert spread([0.5, 0.6, 0.7]).excess_kurtosis is None
    assert equal_scores.std == pytest.approx(0, abs=1e-12)
    assert equal_scores.excess_kurtosis is None


def test_the_expected_best_of_fewer_trials_is_that_of_drawing_some():
    scores = [0.5, 0.5, 0.6, 0.8]
    draws = np.random.default_rng(0).choice(scores, (20_000, 3))
    mean_best = draws.max(axis=1).mean()
    mean_score = np.mean(scores)
    assert best_of(scores, 3) == pytest.approx(mean_best, abs=0.003)
    assert best_of(scores, 1) == pytest.approx(mean_score)


def make_trial(number, accuracy):
    """A trial with an accuracy, or one that diverged if there is None."""
    state = DIVERGED if accuracy is None else DONE
    return Trial("mc-mlm", number, {}, EndedTrial(state, accuracy))


def test_the_best_come_first_and_of_equals_the_lower_number():
    accuracies = [0.5, 0.7, None, 0.7, 0.6]
    trials = [make_trial(number, accuracy) for number, accuracy in enumerate(accuracies)]
    ranked_numbers = [trial.number for trial in ranked(trials)]
    assert ranked_numbers == [1, 3, 4, 0]


def vote_on(problem, *choices):
    """Prediction of the majority of models with these choices, of which None is an abstention."""
    dataset = Dataset([problem], Card("one"))
    ballots = []
    for choice in choices:
        prediction = Prediction("id", "original", "m", "s", None, choice, None)
        ballots.append([prediction])
    (vote,) = voted(dataset, ballots, "ensemble")
    return vote


CHOICE = Problem("A saw B because ", " was near.", ("A", "B"), 0)
JUDGEMENT = Problem("A saw B because ", " was near.", ("no", "yes"), 1, "he", query="A")


def test_the_majority_decides_and_abstentions_do_not_count():
    vote = vote_on(CHOICE, 1, 1, 0, None, None)
    assert vote.prediction == 1
    assert vote.scores == (1 / 3, 2 / 3)


def test_a_tie_and_silence_decide_nothing():
    tie = vote_on(CHOICE, 1, 0)
    silence = vote_on(CHOICE, None, None)
    assert (tie.prediction, tie.why) == (None, "a tie")
    assert silence.prediction is None


def test_a_tie_is_no_where_problems_ask_yes_or_no():
    vote = vote_on(JUDGEMENT, 1, 0, None)
    assert vote.prediction == 0
