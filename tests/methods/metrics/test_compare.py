import numpy as np
import pytest
from scipy import stats

from winokit.errors import BadInput
from winokit.methods.metrics.compare import compare, n_to_tell_apart, p_exchanged, p_paired, paired_interval
from winokit.methods.metrics.corrections import holm
from winokit.units import Units


def pairs(rows: int) -> Units:
    """Units of two problems each."""
    return Units(np.arange(rows) // 2)


def draw_flags(rng, groups: int, size: int):
    """Draw flags that are the same for all members of a group nine times in ten."""
    together = rng.random((groups, 1)) < 0.7
    is_whole = rng.random((groups, 1)) < 0.9
    independent = rng.random((groups, size)) < 0.7
    return np.where(is_whole, together, independent).ravel()


def all_signs(count: int) -> np.ndarray:
    """Every way to give `count` numbers a sign of 1 or -1, one row each."""
    rows = np.arange(2**count)[:, None]
    bits = (rows >> np.arange(count)) & 1
    return 1 - 2 * bits


def mcnemar(only_first: int, only_second: int) -> float:
    """P-value of McNemar's exact test, in which discordant problems are coins."""
    discordant = only_first + only_second
    if not discordant:
        return 1.0
    return stats.binomtest(only_first, discordant).pvalue


@pytest.mark.parametrize(
    ("only_first", "only_second"), [(1, 9), (9, 1), (5, 5), (0, 0), (4, 0), (3, 17), (40, 62), (200, 150)]
)
def test_where_nobody_has_a_twin_the_test_is_mcnemars_exactly(only_first, only_second):
    concordant = [True, False] * 30
    first = [True] * only_first + [False] * only_second + concordant
    second = [False] * only_first + [True] * only_second + concordant
    units = Units.alone(len(first))
    p_value = p_exchanged(first, second, units)
    assert p_value == pytest.approx(mcnemar(only_first, only_second), rel=1e-9)
    assert compare(first, second, units).p >= p_value


def test_a_comparison_counts_what_only_one_gets_right():
    """Sums of groups: 1, 0, 1 and 1. All signs are alike in one case of four."""
    first = [True, True, True, False, True, True]
    second = [True, False, False, True, False, False]
    units = Units.of_names(["a", "a", "b", "b", None, None])
    comparison = compare(first, second, units)
    assert comparison.only_first == 4
    assert comparison.only_second == 1
    assert comparison.n == 6
    assert comparison.unit_count == 4
    assert comparison.first == pytest.approx(5 / 6)
    assert comparison.second == pytest.approx(2 / 6)
    assert comparison.difference == pytest.approx(0.5)
    assert p_exchanged(first, second, units) == pytest.approx(0.25)
    assert comparison.p >= 0.25


def test_swapping_the_models_turns_the_difference():
    rng = np.random.default_rng(0)
    first = draw_flags(rng, 100, 2)
    second = draw_flags(rng, 100, 2)
    forward = compare(first, second, pairs(200))
    backward = compare(second, first, pairs(200))
    assert forward.difference == -backward.difference
    assert forward.p == backward.p
    assert forward.interval.low == pytest.approx(-backward.interval.high)
    assert forward.interval.high == pytest.approx(-backward.interval.low)
    assert forward.only_first == backward.only_second
    assert forward.only_second == backward.only_first


def test_models_that_agree_everywhere_do_not_differ_and_two_groups_do_not_prove_it():
    right = [True, False, True, True]
    comparison = compare(right, right, pairs(4))
    assert comparison.difference == 0
    assert comparison.p == 1
    assert comparison.n_to_tell_apart is None
    assert comparison.interval.low < 0 < comparison.interval.high


def test_p_is_never_zero():
    """Forty problems in twenty groups, all on one side: two of all the signs that twenty groups may have."""
    comparison = compare([True] * 40, [False] * 40, pairs(40))
    assert comparison.p == pytest.approx(2 / 2**20)


@pytest.mark.parametrize("seed", range(5))
def test_changing_places_is_counted_out_over_all_signs(seed):
    """Twelve groups of one to four: all 4,096 signs, one by one."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(12), rng.integers(1, 5, 12))
    first = rng.random(len(groups)) < 0.7
    second = rng.random(len(groups)) < 0.5
    sums = np.bincount(groups, weights=first.astype(float) - second)
    is_as_far = np.abs(all_signs(12) @ sums) >= abs(sums.sum())
    p_value = p_exchanged(first, second, Units(groups))
    assert p_value == pytest.approx(is_as_far.mean())


@pytest.mark.parametrize("scale", [1.0, 0.7123])
def test_a_lead_that_must_exceed_something_is_counted_out_over_the_same_signs(scale):
    """P grows with the margin, also where signs are drawn since sums are not whole numbers."""
    first = np.array([1, 1, 1, 1, 1, 1, 1, 0]) * scale
    second = np.array([0, 0, 0, 0, 0, 0, 1, 1]) * scale
    sums = all_signs(7).sum(axis=1)
    for least in (0.0, 0.1, 0.3, 0.6, 0.9):
        is_as_far = np.abs(sums) >= 5 - 8 * least / scale
        p_value = p_exchanged(first, second, Units.alone(8), least=least)
        assert p_value == pytest.approx(is_as_far.mean(), abs=0.02)


def excludes_zero(interval) -> bool:
    return interval.low > 0 or interval.high < 0


def test_by_groups_one_in_twenty_null_comparisons_is_significant_where_mcnemar_errs():
    rng = np.random.default_rng(3)
    units = Units(np.repeat(np.arange(80), 4))
    draws = 800
    rejected = 0
    rejected_by_mcnemar = 0
    covered = 0
    for _ in range(draws):
        comparison = compare(draw_flags(rng, 80, 4), draw_flags(rng, 80, 4), units)
        rejected += comparison.p <= 0.05
        rejected_by_mcnemar += mcnemar(comparison.only_first, comparison.only_second) <= 0.05
        covered += not excludes_zero(comparison.interval)
    assert 0.02 <= rejected / draws <= 0.07
    assert rejected_by_mcnemar / draws > 0.15
    assert 0.93 <= covered / draws <= 0.99


def test_a_real_difference_is_found():
    rng = np.random.default_rng(4)
    better = rng.random(600) < 0.8
    worse = rng.random(600) < 0.65
    comparison = compare(better, worse, pairs(600))
    assert comparison.p < 0.01
    assert 0 < comparison.interval.low < comparison.difference < comparison.interval.high


def small_column(rng, sizes: np.ndarray) -> np.ndarray:
    """Draw one scorer's credits on units of these sizes, some of them half."""
    problem_count = int(sizes.sum())
    together = np.repeat(rng.random(len(sizes)) < 0.6, sizes)
    follows_unit = rng.random(problem_count) < rng.random()
    independent = rng.random(problem_count) < rng.random()
    has_half_credit = rng.random(problem_count) < rng.choice([0, 0.2])
    return np.where(has_half_credit, 0.5, np.where(follows_unit, together, independent))


def small_table(rng):
    """Two scorers on one to thirteen units of one to five problems, some of which have half credits."""
    sizes = rng.integers(1, rng.integers(2, 7), rng.integers(1, 14))
    units = Units(np.repeat(np.arange(len(sizes)), sizes))
    first = small_column(rng, sizes)
    second = small_column(rng, sizes)
    return first, second, units


@pytest.mark.parametrize("seed", range(4))
def test_an_interval_excludes_zero_exactly_where_p_is_small(seed):
    """They come from one test: small tables, where two tests would differ."""
    rng = np.random.default_rng(seed)
    excluded_count = 0
    for _ in range(150):
        first, second, units = small_table(rng)
        comparison = compare(first, second, units)
        is_excluded = excludes_zero(comparison.interval)
        is_significant = comparison.p <= 0.05
        assert is_excluded == is_significant, (first, second, units.numbers)
        excluded_count += is_excluded
    assert excluded_count


def test_ten_groups_that_lean_one_way_have_one_p_and_one_interval():
    """Three of ten groups: an interval from below zero, and no p-value of 0.01 beside it."""
    rng = np.random.default_rng(1)
    units = Units(np.repeat(np.arange(10), 4))
    for _ in range(100):
        first = draw_flags(rng, 10, 4)
        second = draw_flags(rng, 10, 4)
        better = first | (rng.random(40) < 0.4)
        comparison = compare(better, second, units)
        is_significant = comparison.p <= 0.05
        assert excludes_zero(comparison.interval) == is_significant


def tripled(units: Units) -> Units:
    """The same units with each problem written three times."""
    return Units(np.tile(units.numbers, 3))


@pytest.mark.parametrize("seed", range(4))
def test_each_problem_written_three_times_makes_nothing_surer(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        first, second, units = small_table(rng)
        once = compare(first, second, units)
        thrice = compare(np.tile(first, 3), np.tile(second, 3), tripled(units))
        assert thrice.p >= once.p - 1e-9
        for single, triple in ((once.interval, thrice.interval), (once.narrow, thrice.narrow)):
            assert triple.low <= single.low + 1e-9
            assert triple.high >= single.high - 1e-9
        gap_once = once.resolution.gap_to_find() or 2
        gap_thrice = thrice.resolution.gap_to_find() or 2
        assert gap_thrice >= gap_once - 1e-9
        for margin in (0.05, 0.2, 0.5):
            can_show_once = once.resolution.can_show_equality(margin)
            can_show_thrice = thrice.resolution.can_show_equality(margin)
            assert can_show_once >= can_show_thrice


def two_models(rng, units: int, size: int, shares, shared: float):
    """Draw two models with these shares right that do the same on a part `shared` of the problems."""
    problem_count = units * size
    luck = rng.random(problem_count)
    is_shared = rng.random(problem_count) < shared
    second_luck = np.where(is_shared, luck, rng.random(problem_count))
    numbers = np.repeat(np.arange(units), size)
    return luck < shares[0], second_luck < shares[1], Units(numbers)


@pytest.mark.parametrize(
    ("units", "size", "share", "shared"),
    [(20, 1, 0.7, 0.5), (60, 1, 0.7, 0.5), (136, 2, 0.7, 0.9), (284, 1, 0.5, 0.5), (60, 12, 0.6, 0.7)],
)
def test_the_gap_that_is_called_found_is_found_in_about_four_cases_of_five(units, size, share, shared):
    rng = np.random.default_rng(units)

    def share_significant(gap: float) -> float:
        shares = (share + gap / 2, share - gap / 2)
        p_values = [p_paired(*two_models(rng, units, size, shares, shared)) for _ in range(100)]
        return np.mean(np.array(p_values) <= 0.05)

    gaps = []
    for _ in range(20):
        comparison = compare(*two_models(rng, units, size, (share, share), shared))
        gaps.append(comparison.resolution.gap_to_find())
    gap = float(np.median(gaps))
    power = share_significant(gap)
    assert power >= 0.6
    assert units == 20 or power <= 0.98
    assert share_significant(gap / 2) < power


def test_a_gap_can_be_found_only_in_what_can_be_tested():
    five_alone = compare([True] * 5, [True] * 5, Units.alone(5))
    assert five_alone.resolution.gap_to_find() is None, "five signs alike are one case in sixteen"
    one_unit = compare([True] * 4, [True] * 4, Units(np.zeros(4, int)))
    assert one_unit.resolution.gap_to_find() is None


def test_a_smaller_level_or_an_allowance_makes_the_gap_to_find_larger():
    resolution = compare([True] * 400, [True] * 400, Units.alone(400)).resolution
    assert resolution.gap_to_find() == pytest.approx(8 / 400, abs=0.003)
    assert resolution.gap_to_find(0.005) > resolution.gap_to_find()
    assert resolution.gap_to_find(allowed=0.1) > 0.1
    assert resolution.gap_to_find(allowed=0.1, most=0.11) is None


def test_equality_is_shown_where_the_narrow_interval_is_inside():
    """Five points need some hundred problems on which two models mostly agree."""
    right = np.arange(1000) % 4 > 0
    comparison = compare(right, right, Units.alone(1000))
    assert -0.02 < comparison.narrow.low <= comparison.narrow.high < 0.02
    assert comparison.interval.low < comparison.narrow.low
    assert comparison.resolution.can_show_equality(0.02)
    small = compare(right[:40], right[:40], Units.alone(40))
    assert not small.resolution.can_show_equality(0.02)


def test_two_points_cannot_be_shown_with_1267_problems():
    rng = np.random.default_rng(3)
    paired_numbers = np.repeat(np.arange(284), 2)
    units = Units(np.concatenate([paired_numbers, np.arange(284, 983)]))
    luck = rng.random(1267)
    is_shared = rng.random(1267) < 0.6
    second_luck = np.where(is_shared, luck, rng.random(1267))
    resolution = compare(luck < 0.76, second_luck < 0.76, units).resolution
    assert not resolution.can_show_equality(0.02)
    assert resolution.can_show_equality(0.05)


def test_pairing_makes_a_difference_surer():
    rng = np.random.default_rng(5)
    first = rng.random(400) * 0.8 + 0.1
    second = first - 0.02 + rng.uniform(-0.08, 0.08, 400)
    paired = paired_interval(first, second, pairs(400))
    unpaired = stats.ttest_ind(first, second).confidence_interval()
    paired_width = paired.high - paired.low
    unpaired_width = unpaired.high - unpaired.low
    assert paired_width < unpaired_width / 3
    assert paired.low > 0
    assert p_paired(first, second, pairs(400)) < 0.01


def test_an_interval_excludes_zero_only_where_the_test_does():
    """Four of four groups on one side: the test cannot go below 2/16, and neither can the interval."""
    first = [True] * 4 + [False] * 20
    comparison = compare(first, [False] * 24, Units.alone(24))
    assert comparison.p >= 0.125
    assert comparison.interval.low <= 0


def test_without_groups_changing_places_and_a_t_test_agree():
    rng = np.random.default_rng(6)
    first = rng.normal(size=300)
    second = first + 0.1 + rng.normal(size=300)
    units = Units.alone(300)
    p_value = p_exchanged(first, second, units)
    reference = stats.ttest_rel(first, second).pvalue
    assert p_value == pytest.approx(reference, abs=0.02)
    assert p_value != p_exchanged(first, second, units, seed=1)  # sums that are no whole numbers are drawn
    assert p_value == p_exchanged(first, second, units)


def test_four_groups_of_eleven_are_too_few_to_tell_two_apart():
    worse = [0.0] * 4 + [1.0] * 7
    p_value = p_exchanged(worse, [1.0] * 11, Units.alone(11))
    assert p_value == pytest.approx(0.125)  # a bootstrap says 0.01


def test_twins_change_places_together_and_problems_alone_by_themselves():
    first = [1.0] * 6
    second = [0.0] * 6
    p_of_twins = p_exchanged(first, second, pairs(6))
    p_of_problems_alone = p_exchanged(first, second, Units.alone(6))
    assert p_of_twins == pytest.approx(2 / 2**3)
    assert p_of_problems_alone == pytest.approx(2 / 2**6)


def test_that_many_problems_tell_two_models_apart_in_four_cases_of_five():
    """Twins in groups of two, drawn anew from the same mixture, are tested with the paired test."""
    rng = np.random.default_rng(0)
    first = draw_flags(rng, 1000, 2)
    second = draw_flags(rng, 1000, 2)
    better = first | (rng.random(2000) < 0.2)
    n = n_to_tell_apart(better, second, pairs(2000))
    pair_count = round(n / 2)
    better_by_pair = better.reshape(-1, 2)
    second_by_pair = second.reshape(-1, 2)
    units = pairs(2 * pair_count)
    p_values = []
    for sample in rng.integers(1000, size=(600, pair_count)):
        p_values.append(p_paired(better_by_pair[sample].ravel(), second_by_pair[sample].ravel(), units))
    power = np.mean(np.array(p_values) <= 0.05)
    assert power == pytest.approx(0.8, abs=0.06)


def test_models_that_fail_on_the_same_problems_are_told_apart_sooner():
    rows = np.arange(100)
    units = Units.alone(100)
    better = rows < 80
    same_failures = n_to_tell_apart(better, rows < 72, units)
    some_failures = n_to_tell_apart(better, (rows >= 14) & (rows < 86), units)
    other_failures = n_to_tell_apart(better, rows >= 28, units)
    assert same_failures < some_failures < other_failures
    assert other_failures == n_to_tell_apart(rows >= 28, better, units)


def test_twins_that_fall_together_need_more_problems():
    first = [True] * 60 + [False] * 40
    second = [True] * 50 + [False] * 50
    alone = n_to_tell_apart(first, second, Units.alone(100))
    together = n_to_tell_apart(first, second, pairs(100))
    assert together == pytest.approx(2 * alone, abs=2)


def test_models_that_are_equally_good_are_never_told_apart():
    assert n_to_tell_apart([True, False], [False, True], Units.alone(2)) is None


def test_holm_by_hand():
    """0.01 times 4. 0.02 times 3. 0.03 times 2, no less than what comes before. 0.9 times 1."""
    assert holm([0.9, 0.01, 0.03, 0.02]) == pytest.approx([0.9, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1, 1]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_holms_correction_is_that_of_statsmodels():
    """With ties, zeros and ones."""
    p_values = [0.0004, 0.011, 0.3, 0.0, 0.05, 0.05, 0.002, 1.0, 0.7, 0.013, 0.0031, 0.2]
    reference = [0.0044, 0.088, 0.9, 0.0, 0.3, 0.3, 0.02, 1.0, 1.0, 0.091, 0.0279, 0.8]
    assert holm(p_values) == pytest.approx(reference, abs=1e-12)


@pytest.mark.parametrize("p_values", [[0.5, 1.2], [float("nan")]])
def test_what_is_no_probability_is_refused(p_values):
    with pytest.raises(BadInput, match="p-values from 0 to 1"):
        holm(p_values)


def test_a_level_above_the_power_is_refused():
    with pytest.raises(BadInput, match="alpha < power"):
        n_to_tell_apart([True], [False], Units.alone(1), alpha=0.9)
