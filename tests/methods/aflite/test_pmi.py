"""PMI filtering ranks twins as counts made by hand do, one dictionary at a time."""

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
    """PMI of each feature with the first answer, p(feature, first) / (p(feature) p(first)) with smoothed counts."""
    joint = Counter()
    for bag, y in zip(bags, Y, strict=True):
        joint.update((feature, y) for feature in bag)
    features = {feature for feature, _ in joint}
    with_first = {feature: joint[feature, 0] + smoothing for feature in features}
    with_second = {feature: joint[feature, 1] + smoothing for feature in features}
    total = sum(with_first.values()) + sum(with_second.values())
    share_of_first = sum(with_first.values()) / total
    pmi = {}
    for feature in features:
        share = (with_first[feature] + with_second[feature]) / total
        joint_share = with_first[feature] / total
        pmi[feature] = log(joint_share / (share * share_of_first))
    return pmi


def differences_by_hand(bags, smoothing):
    """Difference of summed PMI within each pair of twins, and the negative sum of the problem alone."""
    pmi = pmi_by_hand(bags, smoothing)
    sums = []
    for bag in bags:
        sums.append(sum(pmi[feature] for feature in bag))
    first_pair = sums[0] - sums[1]
    second_pair = sums[2] - sums[3]
    third_pair = sums[5] - sums[4]
    return [first_pair, first_pair, second_pair, second_pair, third_pair, third_pair, -sums[6]]


def fit_filter(size=7, **settings):
    """PMI filter of the seven texts."""
    return PMIFilter(size, **settings).fit(TEXTS, Y, GROUPS)


@pytest.mark.parametrize("smoothing", [0.5, 100.0])
def test_f_is_the_difference_of_summed_pmi_with_the_first_answers_twin_first(smoothing):
    scores = fit_filter(smoothing=smoothing).scores_
    assert scores == pytest.approx(differences_by_hand(TEXTS, smoothing))


def test_types_count_a_repeated_word_once():
    bags = [sorted(set(text)) for text in TEXTS]
    types = fit_filter(count="types").scores_
    tokens = fit_filter().scores_
    assert types == pytest.approx(differences_by_hand(bags, 100.0))
    assert tokens[0] != pytest.approx(types[0])


def test_the_absolute_variant_ranks_by_size_alone():
    scores = fit_filter(variant="absolute").scores_
    expected = np.abs(differences_by_hand(TEXTS, 100.0))
    assert scores == pytest.approx(expected)


def test_the_maximum_is_the_largest_pmi_of_any_word_of_the_twins():
    pmi = pmi_by_hand(TEXTS, 2.0)
    largest = []
    for text in TEXTS:
        largest.append(max(pmi[word] for word in text))
    first_pair = max(largest[:2])
    second_pair = max(largest[2:4])
    third_pair = max(largest[4:6])
    expected = [first_pair, first_pair, second_pair, second_pair, third_pair, third_pair, largest[6]]
    scores = fit_filter(variant="maximum", smoothing=2.0).scores_
    assert scores == pytest.approx(expected)


def test_second_order_sums_over_pairs_of_different_words():
    types = [sorted(set(text)) for text in TEXTS]
    bags = [list(combinations(words, 2)) for words in types]
    scores = fit_filter(variant="second-order", smoothing=3.0).scores_
    assert scores == pytest.approx(differences_by_hand(bags, 3.0))


def random_text(rng):
    """Up to eleven of forty words."""
    words = rng.integers(40, size=rng.integers(0, 12))
    return [f"w{word}" for word in words]


def test_pairs_are_counted_alike_in_one_part_and_in_many():
    rng = np.random.default_rng(0)
    texts = [random_text(rng) for _ in range(300)]
    labels = rng.integers(2, size=300)
    entries = word_entries(texts, once=True)
    whole = pair_evidence(entries, labels, 1.0, 10**6)
    parts = pair_evidence(entries, labels, 1.0, 200)
    assert parts == pytest.approx(whole)


def test_twins_are_kept_in_increasing_order_and_never_cut():
    fitted = fit_filter(size=5)
    fitted_smaller = fit_filter(size=4)
    scores_kept = fitted.scores_[fitted.keep_]
    scores_removed = fitted.scores_[~fitted.keep_]
    assert fitted.keep_.tolist() == [False, False, True, True, True, True, True]
    assert scores_kept.max() < scores_removed.min()
    assert fitted.keep_.sum() == 5
    assert fitted_smaller.keep_.sum() == 3


def test_the_words_twins_share_do_not_matter():
    longer = [["prologue", *text] for text in TEXTS]
    fitted = fit_filter(size=4)
    fitted_longer = PMIFilter(4).fit(longer, Y, GROUPS)
    assert (fitted.keep_ == fitted_longer.keep_).all()


@pytest.mark.parametrize(("alone", "is_kept"), [("first", True), ("last", False), ("own", True)])
def test_a_problem_without_a_twin_is_treated_as_asked(alone, is_kept):
    fitted = fit_filter(size=3, alone=alone)
    assert bool(fitted.keep_[6]) is is_kept


def test_a_group_of_one_answer_counts_as_alone_and_stays_whole():
    texts = [["x"], ["y"], ["z"]]
    groups = ["a", "a", None]
    fitted = PMIFilter(3, alone="first").fit(texts, [0, 0, 1], groups)
    assert fitted.keep_.all()


def test_a_triplet_counts_the_mean_of_each_side():
    texts = [["glad"], ["glad"], ["sad"]]
    fitted = PMIFilter(3, smoothing=1.0).fit(texts, [0, 0, 1], ["t"] * 3)
    # Smoothed, glad stands 3 times with the first answer of 4, sad once of 3, and all words 4 times of 7.
    glad = log(3 / 4 / (4 / 7))
    sad = log(1 / 3 / (4 / 7))
    assert fitted.scores_ == pytest.approx([glad - sad] * 3)


def test_ties_are_broken_by_the_seed():
    texts = [["same"]] * 40
    y = [0, 1] * 20
    groups = [row // 2 for row in range(40)]
    first = PMIFilter(20, seed=0).fit(texts, y, groups)
    again = PMIFilter(20, seed=0).fit(texts, y, groups)
    other = PMIFilter(20, seed=1).fit(texts, y, groups)
    assert (first.keep_ == again.keep_).all()
    assert (first.keep_ != other.keep_).any()


@pytest.mark.parametrize(
    ("variant", "share"), [("difference", 0.95), ("absolute", 0.95), ("maximum", 0.95), ("second-order", 0.75)]
)
def test_planted_words_go_first(variant, share):
    data = synthetic(500, bias=0.4, seed=2)
    sentences = [problem.sentence.lower() for problem in data]
    texts = [sentence.replace(".", "").replace(",", "").split() for sentence in sentences]
    planted = np.array([problem.labels["planted"] for problem in data])
    labels = [problem.answer for problem in data]
    groups = [problem.group for problem in data]
    fitted = PMIFilter(600, variant).fit(texts, labels, groups)
    assert planted[~fitted.keep_].mean() > share


@pytest.mark.parametrize("variant", ["difference", "maximum", "second-order"])
def test_an_empty_text_is_no_trouble(variant):
    fitted = PMIFilter(2, variant).fit([[], ["a"]], [0, 1], ["g", "g"])
    assert fitted.keep_.all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
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
def test_bad_input_is_one_clear_line(call, error, message):
    with pytest.raises(error, match=message):
        call()
