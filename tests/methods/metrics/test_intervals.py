import math

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from winokit.errors import BadInput
from winokit.methods.metrics.intervals import gap, mean_interval, paired_gap, share, share_interval, wilson
from winokit.units import Units

REPEATS = 600
"""The error of a simulated coverage is then 0.9 points."""


def in_groups(groups: int, size: int) -> Units:
    """Units of one size."""
    return Units(np.repeat(np.arange(groups), size))


def covers(interval, value) -> bool:
    return interval.low <= value <= interval.high


def flags_alike(rng, groups: int, size: int, of: float, alike: float):
    """Draw flags in groups whose members are all right or all wrong together with probability `alike`."""
    together = rng.random(groups)[:, None] < of
    independent = rng.random((groups, size)) < of
    is_whole = rng.random((groups, 1)) < alike
    return np.where(is_whole, together, independent).ravel()


def coverage(groups: int, size: int, of: float, alike: float) -> tuple[float, float]:
    """Shares of REPEATS draws in which our interval and Wilson's over problems contain the true share."""
    rng = np.random.default_rng(1)
    units = in_groups(groups, size)
    covered_count = 0
    naively_covered_count = 0
    for _ in range(REPEATS):
        right = flags_alike(rng, groups, size, of, alike)
        naive_interval = wilson(int(right.sum()), len(right))
        covered_count += covers(share_interval(right, units), of)
        naively_covered_count += covers(naive_interval, of)
    return covered_count / REPEATS, naively_covered_count / REPEATS


def test_95_percent_intervals_cover_95_percent_where_naive_ones_fail():
    clustered, naive = coverage(groups=100, size=4, of=0.7, alike=0.9)
    assert 0.92 <= clustered <= 0.98
    assert naive < 0.8


def test_95_percent_intervals_of_pairs_cover_95_percent():
    clustered, naive = coverage(groups=136, size=2, of=0.7, alike=0.8)
    assert 0.92 <= clustered <= 0.98
    assert naive < 0.92


def test_intervals_of_independent_problems_are_as_good_as_wilsons():
    clustered, naive = coverage(groups=273, size=1, of=0.6, alike=0.0)
    assert 0.92 <= naive <= clustered <= 0.98


def test_twins_right_together_make_a_gap_between_first_and_second_members_surer_than_it_looks():
    rng = np.random.default_rng(3)
    units = in_groups(120, 2)
    first = np.tile([True, False], 120)
    covered_count = 0
    widths = []
    for _ in range(REPEATS):
        right = flags_alike(rng, 120, 2, 0.7, 0.8)
        interval = gap(right, first, ~first, units).interval()
        covered_count += covers(interval, 0.0)
        widths.append(interval.high - interval.low)
    assert 0.92 <= covered_count / REPEATS <= 0.98
    unpaired_error = np.sqrt(2 * 0.7 * 0.3 / 120)
    unpaired_width = 2 * 1.96 * unpaired_error
    assert np.mean(widths) < 0.8 * unpaired_width


def test_a_gap_of_independent_sides_is_newcombes():
    """Newcombe's example of 1998: 56 of 70 against 48 of 80 gives 0.0524 to 0.3339. Student's quantile is wider."""
    flags = [True] * 56 + [False] * 14 + [True] * 48 + [False] * 32
    first = np.arange(150) < 70
    interval = gap(flags, first, ~first, Units.alone(150)).interval()
    assert (interval.low, interval.high) == pytest.approx((0.0524, 0.3339), abs=0.003)


def blakers_p(right: int, n: int, of: float) -> float:
    """Probability of a count whose smaller tail is no larger than that of this one (Blaker, 2000)."""
    counts = np.arange(n + 1)
    lower_tails = stats.binom.cdf(counts, n, of)
    upper_tails = stats.binom.sf(counts - 1, n, of)
    tails = np.minimum(lower_tails, upper_tails)
    is_as_far = tails <= tails[right] * (1 + 1e-9)
    return float(stats.binom.pmf(counts, n, of)[is_as_far].sum())


@pytest.mark.parametrize(("right", "n"), [(0, 4), (1, 4), (3, 10), (5, 10), (9, 37), (37, 37)])
def test_an_exact_share_has_blakers_p_value_and_the_interval_that_it_leaves(right, n):
    share_right = share([True] * right + [False] * (n - right), Units.alone(n))
    shares = np.linspace(0.005, 0.995, 199)
    expected = np.array([blakers_p(right, n, of) for of in shares])
    assert [share_right.p(of) for of in shares] == pytest.approx(expected)
    accepted_shares = shares[expected > 0.05]
    low = 0.0 if right == 0 else accepted_shares.min()
    high = 1.0 if right == n else accepted_shares.max()
    interval = share_right.interval()
    assert interval.low == pytest.approx(low, abs=0.0051)
    assert interval.high == pytest.approx(high, abs=0.0051)


def test_of_problems_alone_a_mean_has_students_interval():
    values = np.random.default_rng(7).exponential(size=60)
    low, high = stats.ttest_1samp(values, 0).confidence_interval()
    interval = mean_interval(values, Units.alone(60))
    assert (interval.low, interval.high) == pytest.approx((low, high))


def test_of_one_group_nothing_is_known_but_its_value():
    one_group = in_groups(1, 2)
    assert math.isinf(mean_interval([1.0, 2.0], one_group).high)
    assert share_interval([True, False], one_group).low == 0


def test_nothing_is_drawn_so_that_no_seed_matters():
    state_before = np.random.get_state()[1].tolist()
    right = [True, False, True] * 9
    units = Units.of_names(["a", "a", None] * 9)
    assert share_interval(right, units) == share_interval(right, units)
    assert np.random.get_state()[1].tolist() == state_before


@pytest.mark.parametrize("size", [1, 2])
def test_a_higher_level_is_wider_and_is_recorded(size):
    right = np.random.default_rng(0).random(200) < 0.6
    units = in_groups(200 // size, size)
    narrow = share_interval(right, units, 0.8)
    wide = share_interval(right, units, 0.99)
    assert wide.low < narrow.low < right.mean() < narrow.high < wide.high
    assert narrow.level == 0.8
    assert wide.level == 0.99


def test_all_right_is_not_certainty():
    """Twenty pairs all right count as twenty problems, not as forty and not as certainty."""
    interval = share_interval([True] * 40, in_groups(20, 2))
    assert interval == share_interval([True] * 20, Units.alone(20))
    assert 0.8 < interval.low < 0.9
    assert interval.high == 1.0


def test_all_right_in_units_of_several_sizes_counts_each_as_one_problem():
    units = Units(np.repeat(np.arange(20), [1, 2] * 10))
    interval = share_interval([True] * 30, units)
    assert interval.method == "Wilson's, effective size"
    assert interval.high == pytest.approx(1.0)
    assert interval.low < wilson(20, 20).low


def test_one_right_of_every_pair_is_not_certainty_either():
    """Five pairs without any variance between them: narrower than ten coins, and far from nothing."""
    interval = share_interval([True, False] * 5, in_groups(5, 2))
    assert 0.1 < interval.low < 0.3
    assert interval.low + interval.high == pytest.approx(1)


def test_four_groups_are_as_uncertain_as_four_groups_deserve():
    alone = share_interval([True] * 4, Units.alone(4))
    twins = share_interval([True] * 8, in_groups(4, 2))
    assert alone.low == pytest.approx(0.05**0.25, abs=0.12)
    assert twins == alone


def test_credits_of_expected_accuracy_have_an_interval():
    interval = share_interval([1.0, 0.5, 0.0, 1.0] * 20, Units.alone(80))
    assert interval.low < 0.625 < interval.high
    assert interval.method == "Wilson's, effective size"


def test_twins_that_fall_together_count_for_less_and_those_that_fall_apart_for_more():
    units = in_groups(100, 2)
    first_twins_right = np.arange(100) % 2 == 0
    alike = share(np.repeat(first_twins_right, 2), units)
    opposite = share(np.tile([True, False], 100), units)
    assert alike.effective == pytest.approx(100, rel=0.05)
    assert opposite.effective > 1000
    assert alike.design_effect == pytest.approx(200 / alike.effective)


def test_a_gap_of_pairs_answered_alike_is_far_surer_than_one_of_strangers():
    """WinoBias: pro and anti versions of 396 sentences, of which 385 are answered alike."""
    rng = np.random.default_rng(5)
    pro = rng.random(396) < 0.6
    anti = np.where(np.arange(396) < 11, ~pro, pro)
    flags = np.concatenate([pro, anti])
    first = np.arange(792) < 396
    units = Units(np.tile(np.arange(396), 2))
    paired = gap(flags, first, ~first, units).interval()
    unpaired = gap(flags, first, ~first, Units.alone(792)).interval()
    assert paired.high - paired.low < 0.05
    assert unpaired.high - unpaired.low > 0.13
    by_columns = paired_gap(pro, anti, Units.alone(396)).interval()
    assert (paired.low, paired.high) == pytest.approx((by_columns.low, by_columns.high))


def test_wilsons_interval_by_hand():
    """8 of 10, z = 1.96: centre (0.8 + z²/20) / (1 + z²/10), and so on."""
    z = stats.norm.ppf(0.975)
    denominator = 1 + z**2 / 10
    centre = (0.8 + z**2 / 20) / denominator
    half = z / denominator * np.sqrt(0.016 + z**2 / 400)
    interval = wilson(8, 10)
    assert interval.low == pytest.approx(centre - half)
    assert interval.high == pytest.approx(centre + half)


def test_one_problem_on_a_side_leaves_that_side_open():
    first = np.arange(10) < 9
    credits_earned = [1.0, 0.0, 1.0] * 3 + [0.0]
    interval = gap(credits_earned, first, ~first, Units.alone(10)).interval()
    assert interval.low < 0 < 2 / 3 < interval.high <= 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: wilson(3, 2), "found 3 of 2"),
        (lambda: wilson(1, 2, level=95), "a level between 0 and 1"),
        (lambda: share_interval([True, False], Units.alone(2), 95), "a level between 0 and 1"),
        (lambda: share_interval([True, False], Units.alone(2), 1.0), "a level between 0 and 1"),
        (lambda: share_interval([True, False], Units.alone(2), 0.0), "a level between 0 and 1"),
        (lambda: share_interval([2.0, 0.0], Units.alone(2)), "from 0 to 1 for a share, found 0 to 2"),
        (lambda: gap([True, False], [True, True], [False, False], Units.alone(2)), "none is on the second"),
        (lambda: mean_interval([float("inf"), 0.0], Units.alone(2)), "values are not finite"),
    ],
)
def test_what_has_no_interval_is_refused(call, says):
    with pytest.raises(BadInput, match=says):
        call()


def test_tests_of_many_groups_are_the_same_however_many_threads_there_are():
    rng = np.random.default_rng(0)
    values = rng.random(60_000) < 0.52
    units = in_groups(30_000, 2)
    first = rng.random(60_000) < 0.5
    p_values = set()
    for threads in (1, 2, 3):
        with threadpool_limits(threads, "blas"):
            p_of_share = share(values, units).p(0.5)
            p_of_gap = gap(values, first, ~first, units).p()
        p_values.add((p_of_share, p_of_gap))
    assert len(p_values) == 1
