"""Words and other traits that removed texts have more of are found, and noise is not."""

from math import comb

import numpy as np
import pytest

from winokit.errors import BadInput
from winokit.methods.aflite.overuse import Sides, overused_lengths, overused_polarity, overused_words
from winokit.methods.metrics.judge_traits import log_odds, p_fisher
from winokit.units import Units


def test_log_odds_by_hand():
    ratio, low, high = log_odds(np.array([30.0]), 40, np.array([10.0]), 50, prior=9)
    # 40 of 90 units have it, so 4 of the 9 that are added to either side do.
    expected = np.log(34 / 15) - np.log(14 / 45)
    spread = np.sqrt(1 / 34 + 1 / 15 + 1 / 14 + 1 / 45)
    margin = 1.96 * spread
    assert ratio[0] == pytest.approx(expected)
    assert low[0] == pytest.approx(expected - margin, rel=1e-4)
    assert high[0] == pytest.approx(expected + margin, rel=1e-4)


def test_a_trait_that_nobody_or_everybody_has_stays_finite_and_says_nothing():
    for count in (0.0, 40.0):
        counts = np.array([count])
        ratio, low, high = log_odds(counts, 40, counts, 40)
        assert np.isfinite([ratio, low, high]).all()
        assert low[0] < 0 < high[0]


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    a = rng.binomial(2000, 0.3, 4000)
    b = rng.binomial(3000, 0.25, 4000)
    _, low, high = log_odds(a, 2000, b, 3000)
    truth = np.log(0.3 / 0.7) - np.log(0.25 / 0.75)
    holds_truth = (low <= truth) & (truth <= high)
    assert 0.93 < holds_truth.mean() < 0.98


def test_p_values_are_those_of_fishers_exact_test():
    (p_value,) = p_fisher(np.array([8.0]), 10, np.array([3.0]), 12)
    ways = [comb(11, k) * comb(11, 10 - k) for k in (8, 9, 10)]
    tail = sum(ways) / comb(22, 10)
    assert p_value == pytest.approx(2 * tail)


def test_one_rare_word_in_a_handful_of_removed_texts_is_no_finding():
    removed = np.arange(2000) < 13
    texts = texts_with("tire", {3, *range(100, 110)}, n=2000)
    tire = find_trait("tire", overused_words(texts, Sides(removed)))
    assert tire.q > 0.05
    assert tire.log_odds < 3


def texts_with(word, rows, n=200):
    """Texts of which those in `rows` have the word."""
    texts = [["the", "cat"] for _ in range(n)]
    for row in rows:
        texts[row].append(word)
    return texts


def find_trait(name, findings):
    """The one finding of a trait."""
    (finding,) = [finding for finding in findings if finding.trait == name]
    return finding


def test_the_word_that_removed_rows_have_more_of_comes_first():
    removed = np.arange(200) < 60
    texts = texts_with("never", {*range(40), *range(100, 110)})
    first, *_ = overused_words(texts, Sides(removed))
    assert first.trait == "never"
    assert first.removed == 40
    assert first.of_removed == 60
    assert first.kept == 10
    assert first.of_kept == 140
    assert first.low > 0
    assert first.q < 0.001
    assert first.examples == (0, 1, 2)


def test_examples_follow_the_order_given():
    removed = np.arange(200) < 60
    texts = texts_with("never", {5, 17, 33, 50, 120, *range(130, 150)})
    sides = Sides(removed, best=[33, 5, 50])
    never = find_trait("never", overused_words(texts, sides))
    assert never.examples == (33, 5, 50)


def test_rare_words_are_not_tested():
    texts = texts_with("zebra", {1, 2, 3})
    sides = Sides(np.arange(200) < 60)
    words_of_four = {finding.trait for finding in overused_words(texts, sides, fewest=4)}
    words_of_three = {finding.trait for finding in overused_words(texts, sides, fewest=3)}
    assert "zebra" not in words_of_four
    assert "zebra" in words_of_three


def test_the_members_of_a_unit_on_one_side_count_as_one():
    removed = np.arange(200) < 60
    texts = texts_with("never", set(range(40)))
    pairs = Units(np.arange(200) // 2)
    first, *_ = overused_words(texts, Sides(removed, pairs))
    assert first.removed == 20
    assert first.of_removed == 30
    assert first.of_kept == 70


def test_a_unit_on_both_sides_counts_on_both():
    units = Units.of_names(["g", "g", None])
    sides = Sides([True, False, False], units)
    assert sides.units == (2, 1)
    assert sides.weights.tolist() == [1, 1, 1]


def random_text(rng):
    """Twelve of three hundred words."""
    return [f"w{word}" for word in rng.integers(300, size=12)]


def test_noise_gives_few_discoveries():
    rng = np.random.default_rng(0)
    texts = [random_text(rng) for _ in range(2000)]
    findings = overused_words(texts, Sides(rng.random(2000) < 0.4))
    discoveries = [finding for finding in findings if finding.q < 0.05]
    far_from_zero = [finding for finding in findings if finding.low > 0 or finding.high < 0]
    assert len(findings) == 300
    assert len(discoveries) <= 1
    assert len(far_from_zero) > 3


def test_lengths_fall_into_bins_that_cover_every_text():
    lengths = [*range(5, 25)] * 10
    texts = [["w"] * length for length in lengths]
    removed = np.array(lengths) < 9
    findings = overused_lengths(texts, Sides(removed))
    first, *others = findings
    assert [finding.trait for finding in findings] == ["5 to 8", "9 to 12", "13 to 16", "17 to 20", "21 to 24"]
    assert sum(finding.removed for finding in findings) == removed.sum()
    assert sum(finding.kept for finding in findings) == (~removed).sum()
    assert first.low > 0
    assert all(finding.high < 0 for finding in others)


def test_lengths_that_are_all_the_same_make_one_bin():
    removed = [True] * 5 + [False] * 5
    (only,) = overused_lengths([["a", "b"]] * 10, Sides(removed))
    assert only.trait == "2"
    assert only.removed == 5
    assert only.kept == 5


def test_negations_are_counted_once_a_text():
    texts = [["did", "n't", "not"], ["without", "it"], ["knot"], ["yes"], ["never"], ["glad"]]
    sides = Sides([True, True, True, False, False, False])
    (finding,) = overused_polarity(texts, sides)
    assert finding.trait == "negated"
    assert finding.removed == 2
    assert finding.kept == 1
    assert finding.examples == (0, 1)


@pytest.mark.parametrize("removed", [[True] * 4, [False] * 4])
def test_one_side_alone_cannot_be_compared(removed):
    with pytest.raises(BadInput, match="some rows removed and some kept"):
        Sides(removed)
