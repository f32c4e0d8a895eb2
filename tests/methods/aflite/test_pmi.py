"""PMI filtering against counts made by hand, one dictionary at a time."""

from collections import Counter
from itertools import combinations
from math import log

import numpy as np
import pytest

from winokit.data.synthetic import synthetic
from winokit.errors import BadInput, UnknownName
from winokit.methods.aflite.pmi import PMIFilter, pair_evidence, word_entries

# Two twin pairs whose words go with the answers, one pair whose words do not, and a problem alone.
TEXTS = [
    "ann was glad glad".split(),
    "ann was sad".split(),
    "bob felt glad".split(),
    "bob felt sad".split(),
    "eve ran fast".split(),
    "eve ran slowly".split(),
    "joe was glad".split(),
]
Y = [0, 1, 0, 1, 1, 0, 1]
GROUPS = ["a", "a", "b", "b", "c", "c", None]


def pmi_by_hand(bags, smoothing):
    """PMI(first; feature), from the definition: p(feature, first) / (p(feature) p(first)) with smoothed counts."""
    joint = Counter((feature, y) for bag, y in zip(bags, Y, strict=True) for feature in bag)
    features = {feature for feature, _ in joint}
    smoothed = {(feature, y): joint[feature, y] + smoothing for feature in features for y in (0, 1)}
    total = sum(smoothed.values())
    first = sum(smoothed[feature, 0] for feature in features) / total
    return {
        feature: log(smoothed[feature, 0] / total / ((smoothed[feature, 0] + smoothed[feature, 1]) / total * first))
        for feature in features
    }


def differences_by_hand(bags, smoothing):
    pmi = pmi_by_hand(bags, smoothing)
    total = [sum(pmi[feature] for feature in bag) for bag in bags]
    return [total[0] - total[1]] * 2 + [total[2] - total[3]] * 2 + [total[5] - total[4]] * 2 + [-total[6]]


def fitted(size=7, **more):
    return PMIFilter(size, **more).fit(TEXTS, Y, GROUPS)


@pytest.mark.parametrize("smoothing", [0.5, 100.0])
def test_f_is_the_difference_of_summed_pmi_with_the_first_answers_twin_first(smoothing):
    assert fitted(smoothing=smoothing).scores_ == pytest.approx(differences_by_hand(TEXTS, smoothing))


def test_types_count_a_repeated_word_once():
    bags = [sorted(set(text)) for text in TEXTS]
    assert fitted(count="types").scores_ == pytest.approx(differences_by_hand(bags, 100.0))
    assert fitted().scores_[0] != pytest.approx(fitted(count="types").scores_[0])


def test_the_absolute_variant_ranks_by_size_alone():
    assert fitted(variant="absolute").scores_ == pytest.approx(np.abs(differences_by_hand(TEXTS, 100.0)))


def test_the_maximum_is_the_largest_pmi_of_any_word_of_the_twins():
    pmi = pmi_by_hand(TEXTS, 2.0)
    largest = [max(pmi[word] for word in text) for text in TEXTS]
    expected = [max(largest[:2])] * 2 + [max(largest[2:4])] * 2 + [max(largest[4:6])] * 2 + [largest[6]]
    assert fitted(variant="maximum", smoothing=2.0).scores_ == pytest.approx(expected)


def test_second_order_sums_over_pairs_of_different_words():
    bags = [list(combinations(sorted(set(text)), 2)) for text in TEXTS]
    assert fitted(variant="second-order", smoothing=3.0).scores_ == pytest.approx(differences_by_hand(bags, 3.0))


def test_pairs_are_counted_alike_in_one_part_and_in_many():
    rng = np.random.default_rng(0)
    texts = [[f"w{word}" for word in rng.integers(40, size=rng.integers(0, 12))] for _ in range(300)]
    labels = rng.integers(2, size=300)
    entries = word_entries(texts, once=True)
    whole, parts = (pair_evidence(entries, labels, 1.0, most) for most in (10**6, 200))
    assert parts == pytest.approx(whole)


def test_twins_are_kept_in_increasing_order_and_never_cut():
    found = fitted(size=5)
    assert found.keep_.tolist() == [False, False, True, True, True, True, True]
    assert found.scores_[found.keep_].max() < found.scores_[~found.keep_].min()
    assert found.keep_.sum() == 5
    assert fitted(size=4).keep_.sum() == 3


def test_the_words_twins_share_do_not_matter():
    longer = [["prologue", *text] for text in TEXTS]
    one = fitted(size=4)
    other = PMIFilter(4).fit(longer, Y, GROUPS)
    assert (one.keep_ == other.keep_).all()


@pytest.mark.parametrize(("alone", "kept"), [("first", True), ("last", False), ("own", True)])
def test_a_problem_without_a_twin_is_treated_as_asked(alone, kept):
    assert bool(fitted(size=3, alone=alone).keep_[6]) is kept


def test_a_group_of_one_answer_counts_as_alone_and_stays_whole():
    found = PMIFilter(3, alone="first").fit([["x"], ["y"], ["z"]], [0, 0, 1], ["a", "a", None])
    assert found.keep_.all()


def test_a_triplet_counts_the_mean_of_each_side():
    texts = [["glad"], ["glad"], ["sad"]]
    found = PMIFilter(3, smoothing=1.0).fit(texts, [0, 0, 1], ["t"] * 3)
    # Smoothed, glad stands 3 times with the first answer of 4, sad once of 3, and all words 4 times of 7.
    glad, sad = (log(share / (4 / 7)) for share in (3 / 4, 1 / 3))
    assert found.scores_ == pytest.approx([glad - sad] * 3)


def test_ties_are_broken_by_the_seed():
    texts = [["same"]] * 40
    y = [0, 1] * 20
    groups = [row // 2 for row in range(40)]
    keeps = [PMIFilter(20, seed=seed).fit(texts, y, groups).keep_ for seed in (0, 0, 1)]
    assert (keeps[0] == keeps[1]).all()
    assert (keeps[0] != keeps[2]).any()


@pytest.mark.parametrize(
    ("variant", "share"), [("difference", 0.95), ("absolute", 0.95), ("maximum", 0.95), ("second-order", 0.75)]
)
def test_planted_words_go_first(variant, share):
    data = synthetic(500, bias=0.4, seed=2)
    texts = [problem.sentence.lower().replace(".", "").replace(",", "").split() for problem in data]
    planted = np.array([problem.labels["planted"] for problem in data])
    found = PMIFilter(600, variant).fit(texts, [p.answer for p in data], [p.group for p in data])
    assert planted[~found.keep_].mean() > share


def test_an_empty_text_is_no_trouble():
    for variant in ("difference", "maximum", "second-order"):
        assert PMIFilter(2, variant).fit([[], ["a"]], [0, 1], ["g", "g"]).keep_.all()


@pytest.mark.parametrize(
    ("made", "error", "says"),
    [
        (lambda: PMIFilter(3, "diference"), UnknownName, "Did you mean 'difference'"),
        (lambda: PMIFilter(3, count="letters"), UnknownName, "tokens, types"),
        (lambda: PMIFilter(3, alone="burn"), UnknownName, "first, last, own"),
        (lambda: PMIFilter(3, smoothing=0), BadInput, "smoothing: expected a number above 0"),
        (lambda: PMIFilter(3, smoothing=float("inf")), BadInput, "smoothing: expected a number above 0"),
        (lambda: PMIFilter(3, seed=-1), BadInput, "seed: expected 0 or more, found -1"),
        (lambda: PMIFilter(9).fit(TEXTS, Y, GROUPS), BadInput, "a size from 1 to 7"),
        (lambda: PMIFilter(3).fit(TEXTS, Y[1:], GROUPS), BadInput, "found 6 for 7"),
        (lambda: PMIFilter(3).fit(TEXTS, [2] * 7, GROUPS), BadInput, "0 for the first candidate or 1"),
    ],
)
def test_bad_input_is_one_clear_line(made, error, says):
    with pytest.raises(error, match=says):
        made()
