"""Dawid and Skene's model finds planted truths and agrees with another implementation."""

import random

import numpy as np
import pytest

from winokit_collect.study.dawid_skene import fit_dawid_skene


def planted_votes(reliability, item_count=300, choice_count=2, seed=3):
    """True choices, and votes of judges who are right with these probabilities.

    The votes are three lists of one length: items, judges and choices.
    """
    draw = random.Random(seed)
    truths = [draw.randrange(choice_count) for _ in range(item_count)]
    votes = []
    for item, truth in enumerate(truths):
        for judge, share in enumerate(reliability):
            wrong = (truth + draw.randrange(1, choice_count)) % choice_count
            choice = truth if draw.random() < share else wrong
            votes.append((item, judge, choice))
    columns = [list(column) for column in zip(*votes, strict=True)]
    return truths, columns


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
    items, _, choices = votes
    for item, truth in enumerate(truths):
        item_choices = [choice for voted_item, choice in zip(items, choices, strict=True) if voted_item == item]
        majority_right += max(set(item_choices), key=item_choices.count) == truth
        right += int(labels[item]) == truth
    assert right > majority_right + 10


@pytest.mark.filterwarnings("ignore")  # it calls pandas in ways that newer versions of that warn about
def test_another_implementation_says_the_same():
    pandas = pytest.importorskip("pandas")
    models = pytest.importorskip("crowdkit.aggregation.classification.dawid_skene", reason="needs crowd-kit")
    _, votes = planted_votes((0.9, 0.8, 0.7, 0.55), choice_count=3)
    items, judges, choices = votes
    frame = pandas.DataFrame({"task": items, "worker": judges, "label": choices})
    reference = models.DawidSkene(n_iter=200).fit(frame)
    fit = fit_dawid_skene(*votes, iterations=200)
    assert [int(label) for label in fit.labels] == [int(reference.labels_[item]) for item in range(300)]
    assert fit.priors == pytest.approx(list(reference.priors_.sort_index()), abs=0.01)


def test_a_choice_that_nobody_made_has_no_share():
    fit = fit_dawid_skene([0, 1], [0, 0], [0, 0], choice_count=2)
    assert fit.shares == pytest.approx(np.array([[1.0, 0.0], [1.0, 0.0]]))
