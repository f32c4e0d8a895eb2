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


def alike(rng, groups: int, size: int):
    """Flags that are the same for all members of a group nine times in ten."""
    together = rng.random((groups, 1)) < 0.7
    return np.where(rng.random((groups, 1)) < 0.9, together, rng.random((groups, size)) < 0.7).ravel()


def mcnemar(only_first: int, only_second: int) -> float:
    """McNemar's exact test: the discordant problems are coins."""
    return stats.binomtest(only_first, only_first + only_second).pvalue if only_first + only_second else 1.0


@pytest.mark.parametrize(("one", "other"), [(1, 9), (9, 1), (5, 5), (0, 0), (4, 0), (3, 17), (40, 62), (200, 150)])
def test_where_nobody_has_a_twin_the_test_is_mcnemars_exactly(one, other):
    first = [True] * one + [False] * other + [True, False] * 30
    second = [False] * one + [True] * other + [True, False] * 30
    units = Units.alone(len(first))
    assert p_exchanged(first, second, units) == pytest.approx(mcnemar(one, other), rel=1e-9)
    assert compare(first, second, units).p >= p_exchanged(first, second, units)


def test_a_comparison_counts_what_only_one_gets_right():
    """Sums of groups: 1, 0, 1 and 1; all signs alike happen in one case of four."""
    first = [True, True, True, False, True, True]
    second = [True, False, False, True, False, False]
    units = Units.of_names(["a", "a", "b", "b", None, None])
    found = compare(first, second, units)
    assert (found.only_first, found.only_second, found.n, found.unit_count) == (4, 1, 6, 4)
    assert (found.first, found.second, found.difference) == pytest.approx((5 / 6, 2 / 6, 0.5))
    assert p_exchanged(first, second, units) == pytest.approx(0.25)
    assert found.p >= 0.25


def test_swapping_the_models_turns_the_difference():
    rng = np.random.default_rng(0)
    first = alike(rng, 100, 2)
    second = alike(rng, 100, 2)
    one = compare(first, second, pairs(200))
    other = compare(second, first, pairs(200))
    assert one.difference == -other.difference
    assert one.p == other.p
    assert (one.interval.low, one.interval.high) == pytest.approx((-other.interval.high, -other.interval.low))
    assert (one.only_first, one.only_second) == (other.only_second, other.only_first)


def test_models_that_agree_everywhere_do_not_differ_and_two_groups_do_not_prove_it():
    right = [True, False, True, True]
    found = compare(right, right, pairs(4))
    assert (found.difference, found.p, found.n_to_tell_apart) == (0, 1, None)
    assert found.interval.low < 0 < found.interval.high


def test_p_is_never_zero():
    """Forty problems in twenty groups, all on one side: two of all the signs that twenty groups may have."""
    found = compare([True] * 40, [False] * 40, pairs(40))
    assert found.p == pytest.approx(2 / 2**20)


@pytest.mark.parametrize("seed", range(5))
def test_changing_places_is_counted_out_over_all_signs(seed):
    """Twelve groups of one to four: all 4,096 signs, one by one."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(12), rng.integers(1, 5, 12))
    first = rng.random(len(groups)) < 0.7
    second = rng.random(len(groups)) < 0.5
    sums = np.bincount(groups, weights=first.astype(float) - second)
    signs = 1 - 2 * ((np.arange(2**12)[:, None] >> np.arange(12)) & 1)
    as_far = np.abs(signs @ sums) >= abs(sums.sum())
    assert p_exchanged(first, second, Units(groups)) == pytest.approx(as_far.mean())


@pytest.mark.parametrize("scale", [1.0, 0.7123])
def test_a_lead_that_must_exceed_something_is_counted_out_over_the_same_signs(scale):
    """The more it must exceed, the larger p; also where signs are drawn, as they are where sums are no whole parts."""
    first = np.array([1, 1, 1, 1, 1, 1, 1, 0]) * scale
    second = np.array([0, 0, 0, 0, 0, 0, 1, 1]) * scale
    signs = 1 - 2 * ((np.arange(2**7)[:, None] >> np.arange(7)) & 1)
    for least in (0.0, 0.1, 0.3, 0.6, 0.9):
        as_far = np.abs(signs.sum(axis=1)) >= 5 - 8 * least / scale
        assert p_exchanged(first, second, Units.alone(8), least=least) == pytest.approx(as_far.mean(), abs=0.02)


def test_by_groups_one_in_twenty_null_comparisons_is_significant_where_mcnemar_errs():
    rng = np.random.default_rng(3)
    units = Units(np.repeat(np.arange(80), 4))
    found = [compare(alike(rng, 80, 4), alike(rng, 80, 4), units) for _ in range(800)]
    assert 0.02 <= np.mean([one.p <= 0.05 for one in found]) <= 0.07
    assert np.mean([mcnemar(one.only_first, one.only_second) <= 0.05 for one in found]) > 0.15
    covered = np.mean([one.interval.low <= 0 <= one.interval.high for one in found])
    assert 0.93 <= covered <= 0.99


def test_a_real_difference_is_found():
    rng = np.random.default_rng(4)
    better = rng.random(600) < 0.8
    worse = rng.random(600) < 0.65
    found = compare(better, worse, pairs(600))
    assert found.p < 0.01
    assert 0 < found.interval.low < found.difference < found.interval.high


def small_table(rng):
    """Two scorers on one to thirteen units of one to five problems, some of which have half credits."""
    sizes = rng.integers(1, rng.integers(2, 7), rng.integers(1, 14))
    units = Units(np.repeat(np.arange(len(sizes)), sizes))
    columns = []
    for _ in range(2):
        together = np.repeat(rng.random(len(sizes)) < 0.6, sizes)
        values = np.where(rng.random(len(units)) < rng.random(), together, rng.random(len(units)) < rng.random())
        columns.append(np.where(rng.random(len(units)) < rng.choice([0, 0.2]), 0.5, values))
    return *columns, units


@pytest.mark.parametrize("seed", range(4))
def test_an_interval_excludes_zero_exactly_where_p_is_small(seed):
    """They come from one test: small tables, where two tests would differ."""
    rng = np.random.default_rng(seed)
    excluded = 0
    for _ in range(150):
        first, second, units = small_table(rng)
        found = compare(first, second, units)
        is_excluded = found.interval.low > 0 or found.interval.high < 0
        assert is_excluded == (found.p <= 0.05), (first, second, units.numbers)
        excluded += is_excluded
    assert excluded


def test_ten_groups_that_lean_one_way_have_one_p_and_one_interval():
    """Three of ten groups: an interval from below zero, and no p-value of 0.01 beside it."""
    rng = np.random.default_rng(1)
    units = Units(np.repeat(np.arange(10), 4))
    for _ in range(100):
        first = alike(rng, 10, 4)
        second = alike(rng, 10, 4)
        found = compare(first | (rng.random(40) < 0.4), second, units)
        assert (found.interval.low > 0 or found.interval.high < 0) == (found.p <= 0.05)


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
        for one, three in ((once.interval, thrice.interval), (once.narrow, thrice.narrow)):
            assert three.low <= one.low + 1e-9
            assert three.high >= one.high - 1e-9
        gaps = [found.resolution.gap_to_find() or 2 for found in (once, thrice)]
        assert gaps[1] >= gaps[0] - 1e-9
        for margin in (0.05, 0.2, 0.5):
            assert once.resolution.can_show_equality(margin) >= thrice.resolution.can_show_equality(margin)


def two_models(rng, units: int, size: int, shares, shared: float):
    """Two models that are right with these shares and do the same on a part of the problems."""
    luck = rng.random(units * size)
    own_luck = np.where(rng.random(units * size) < shared, luck, rng.random(units * size))
    return luck < shares[0], own_luck < shares[1], Units(np.repeat(np.arange(units), size))


@pytest.mark.parametrize(
    ("units", "size", "share", "shared"),
    [(20, 1, 0.7, 0.5), (60, 1, 0.7, 0.5), (136, 2, 0.7, 0.9), (284, 1, 0.5, 0.5), (60, 12, 0.6, 0.7)],
)
def test_the_gap_that_is_called_found_is_found_in_about_four_cases_of_five(units, size, share, shared):
    rng = np.random.default_rng(units)
    gaps = [compare(*two_models(rng, units, size, (share, share), shared)).resolution.gap_to_find() for _ in range(20)]
    gap = float(np.median(gaps))
    shares = (share + gap / 2, share - gap / 2)
    found = [p_paired(*two_models(rng, units, size, shares, shared)) <= 0.05 for _ in range(100)]
    assert np.mean(found) >= 0.6
    assert units == 20 or np.mean(found) <= 0.98
    shares = (share + gap / 4, share - gap / 4)
    half = [p_paired(*two_models(rng, units, size, shares, shared)) <= 0.05 for _ in range(100)]
    assert np.mean(half) < np.mean(found)


def test_a_gap_can_be_found_only_in_what_can_be_tested():
    alike_everywhere = compare([True] * 5, [True] * 5, Units.alone(5))
    assert alike_everywhere.resolution.gap_to_find() is None, "five signs alike are one case in sixteen"
    assert compare([True] * 4, [True] * 4, Units(np.zeros(4, int))).resolution.gap_to_find() is None
    many = compare([True] * 400, [True] * 400, Units.alone(400)).resolution
    assert many.gap_to_find() == pytest.approx(8 / 400, abs=0.003)
    assert many.gap_to_find(0.005) > many.gap_to_find()
    assert many.gap_to_find(allowed=0.1) > 0.1
    assert many.gap_to_find(allowed=0.1, most=0.11) is None


def test_equality_is_shown_where_the_narrow_interval_is_inside():
    """Five points need some hundred problems on which two models mostly agree."""
    right = np.arange(1000) % 4 > 0
    found = compare(right, right, Units.alone(1000))
    assert -0.02 < found.narrow.low <= found.narrow.high < 0.02
    assert found.interval.low < found.narrow.low
    assert found.resolution.can_show_equality(0.02)
    assert not compare(right[:40], right[:40], Units.alone(40)).resolution.can_show_equality(0.02)


def test_two_points_cannot_be_shown_with_1267_problems():
    rng = np.random.default_rng(3)
    units = Units(np.concatenate([np.repeat(np.arange(284), 2), np.arange(284, 983)]))
    luck = rng.random(1267)
    first = luck < 0.76
    second = np.where(rng.random(1267) < 0.6, luck, rng.random(1267)) < 0.76
    found = compare(first, second, units).resolution
    assert not found.can_show_equality(0.02)
    assert found.can_show_equality(0.05)


def test_pairing_makes_a_difference_surer():
    rng = np.random.default_rng(5)
    first = rng.random(400) * 0.8 + 0.1
    second = first - 0.02 + rng.uniform(-0.08, 0.08, 400)
    paired = paired_interval(first, second, pairs(400))
    unpaired = stats.ttest_ind(first, second).confidence_interval()
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 3
    assert paired.low > 0
    assert p_paired(first, second, pairs(400)) < 0.01


def test_an_interval_excludes_zero_only_where_the_test_does():
    """Four of four groups on one side: the test cannot say less than 2/16, and the interval does not say more."""
    found = compare([True] * 4 + [False] * 20, [False] * 24, Units.alone(24))
    assert found.p >= 0.125
    assert found.interval.low <= 0


def test_without_groups_changing_places_and_a_t_test_agree():
    rng = np.random.default_rng(6)
    first = rng.normal(size=300)
    second = first + 0.1 + rng.normal(size=300)
    units = Units.alone(300)
    ours = p_exchanged(first, second, units)
    assert ours == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=0.02)
    assert ours != p_exchanged(first, second, units, seed=1)  # sums that are no whole numbers are drawn
    assert ours == p_exchanged(first, second, units)


def test_four_groups_of_eleven_are_too_few_to_tell_two_apart():
    worse = [0.0] * 4 + [1.0] * 7
    assert p_exchanged(worse, [1.0] * 11, Units.alone(11)) == pytest.approx(0.125)  # a bootstrap says 0.01


def test_twins_change_places_together_and_problems_alone_by_themselves():
    first = [1.0] * 6
    second = [0.0] * 6
    assert p_exchanged(first, second, pairs(6)) == pytest.approx(2 / 2**3)
    assert p_exchanged(first, second, Units.alone(6)) == pytest.approx(2 / 2**6)


def test_that_many_problems_tell_two_models_apart_in_four_cases_of_five():
    """Twins in groups of two, drawn anew from the same mixture; the test is the one that is used."""
    rng = np.random.default_rng(0)
    first = alike(rng, 1000, 2)
    second = alike(rng, 1000, 2)
    better = first | (rng.random(2000) < 0.2)
    n = n_to_tell_apart(better, second, pairs(2000))
    drawn = rng.integers(1000, size=(600, round(n / 2)))
    one = better.reshape(-1, 2)
    other = second.reshape(-1, 2)
    found = [p_paired(one[some].ravel(), other[some].ravel(), pairs(2 * len(some))) <= 0.05 for some in drawn]
    assert np.mean(found) == pytest.approx(0.8, abs=0.06)


def test_models_that_fail_on_the_same_problems_are_told_apart_sooner():
    rows = range(100)
    alone = Units.alone(100)
    same = n_to_tell_apart([i < 80 for i in rows], [i < 72 for i in rows], alone)
    some = n_to_tell_apart([i < 80 for i in rows], [14 <= i < 86 for i in rows], alone)
    other = n_to_tell_apart([i < 80 for i in rows], [i >= 28 for i in rows], alone)
    assert same < some < other
    assert other == n_to_tell_apart([i >= 28 for i in rows], [i < 80 for i in rows], alone)
    assert n_to_tell_apart([True, False], [False, True], Units.alone(2)) is None


def test_twins_that_fall_together_need_more_problems():
    first = [True] * 60 + [False] * 40
    second = [True] * 50 + [False] * 50
    apart = n_to_tell_apart(first, second, Units.alone(100))
    together = n_to_tell_apart(first, second, pairs(100))
    assert together == pytest.approx(2 * apart, abs=2)


def test_holm_by_hand():
    """0.01 times 4; 0.02 times 3; 0.03 times 2, no less than what comes before; 0.9 times 1."""
    assert holm([0.9, 0.01, 0.03, 0.02]) == pytest.approx([0.9, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1, 1]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_holms_correction_is_that_of_statsmodels():
    """With ties, zeros and ones."""
    p_values = [0.0004, 0.011, 0.3, 0.0, 0.05, 0.05, 0.002, 1.0, 0.7, 0.013, 0.0031, 0.2]
    reference = [0.0044, 0.088, 0.9, 0.0, 0.3, 0.3, 0.02, 1.0, 1.0, 0.091, 0.0279, 0.8]
    assert holm(p_values) == pytest.approx(reference, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: holm([0.5, 1.2]), "p-values from 0 to 1"),
        (lambda: holm([float("nan")]), "p-values from 0 to 1"),
        (lambda: n_to_tell_apart([True], [False], Units.alone(1), alpha=0.9), "alpha < power"),
    ],
)
def test_what_is_no_probability_or_count_is_refused(call, says):
    with pytest.raises(BadInput, match=says):
        call()
