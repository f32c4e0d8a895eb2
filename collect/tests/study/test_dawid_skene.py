"""Dawid and Skene's model, beside another implementation of it and where the truth is known."""

import random

import numpy as np
import pytest

from winokit_collect.study.dawid_skene import fit_dawid_skene


def planted_votes(reliability, item_count=300, choice_count=2, seed=3):
    """Truths, and the votes of judges who are right with these probabilities, as items, judges and choices."""
    draw = random.Random(seed)
    truths = [draw.randrange(choice_count) for _ in range(item_count)]
    votes = []
    for item, truth in enumerate(truths):
        for judge, share in enumerate(reliability):
            wrong = (truth + draw.randrange(1, choice_count)) % choice_count
            votes.append((item, judge, truth if draw.random() < share else wrong))
    return truths, [list(column) for column in zip(*votes, strict=True)]


def test_reliability_is_near_what_was_planted():
    planted = (0.95, 0.9, 0.9, 0.6)
    truths, votes = planted_votes(planted)
    fit = fit_dawid_skene(*votes)
    assert fit.reliability == pytest.approx(planted, abs=0.06)
    right = sum(int(label) == truth for label, truth in zip(fit.labels, truths, strict=True))
    assert right / len(truths) > 0.93


def test_a_bot_outvotes_nobody_where_two_who_are_reliable_agree():
    truths, votes = planted_votes((0.97, 0.97, 0.5, 0.5, 0.5))
    majority_right = 0
    right = 0
    labels = fit_dawid_skene(*votes).labels
    for item, truth in enumerate(truths):
        said = [choice for each, choice in zip(votes[0], votes[2], strict=True) if each == item]
        majority_right += max(set(said), key=said.count) == truth
        right += int(labels[item]) == truth
    assert right > majority_right + 10


@pytest.mark.filterwarnings("ignore")  # it calls pandas in ways that newer versions of that warn about
def test_another_implementation_says_the_same():
    pandas = pytest.importorskip("pandas")
    models = pytest.importorskip("crowdkit.aggregation.classification.dawid_skene", reason="needs crowd-kit")
    _, votes = planted_votes((0.9, 0.8, 0.7, 0.55), choice_count=3)
    frame = pandas.DataFrame(dict(zip(("task", "worker", "label"), votes, strict=True)))
    other = models.DawidSkene(n_iter=200).fit(frame)
    fit = fit_dawid_skene(*votes, iterations=200)
    assert [int(label) for label in fit.labels] == [int(other.labels_[item]) for item in range(300)]
    assert fit.priors == pytest.approx(list(other.priors_.sort_index()), abs=0.01)


def test_a_choice_that_nobody_made_has_no_share():
    fit = fit_dawid_skene([0, 1], [0, 0], [0, 0], choice_count=2)
    assert fit.shares == pytest.approx(np.array([[1.0, 0.0], [1.0, 0.0]]))
