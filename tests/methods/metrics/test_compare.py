import numpy as np
import pytest
from scipy import stats

from winokit.errors import BadInput
from winokit.methods.metrics.compare import compare, holm, n_to_tell_apart, p_paired, paired_interval


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
    assert p_paired(first, second, [None] * len(first)) == pytest.approx(mcnemar(one, other), rel=1e-9)
    assert compare(first, second, [None] * len(first)).p_groups == pytest.approx(mcnemar(one, other), rel=1e-9)


def test_a_comparison_counts_what_only_one_gets_right():
    """Sums of groups: 1, 0, 1 and 1; all signs alike happen in one case of four."""
    first, second = [True, True, True, False, True, True], [True, False, False, True, False, False]
    found = compare(first, second, ["a", "a", "b", "b", None, None])
    assert (found.only_first, found.only_second, found.n) == (4, 1, 6)
    assert found.difference == 0.5
    assert found.p_groups == pytest.approx(0.25)


def test_swapping_the_models_turns_the_difference():
    rng = np.random.default_rng(0)
    first, second, groups = alike(rng, 100, 2), alike(rng, 100, 2), [row // 2 for row in range(200)]
    one, other = compare(first, second, groups), compare(second, first, groups)
    assert one.difference == -other.difference
    assert one.p_groups == other.p_groups
    assert (one.interval.low, one.interval.high) == pytest.approx((-other.interval.high, -other.interval.low))
    assert (one.only_first, one.only_second) == (other.only_second, other.only_first)


def test_models_that_agree_everywhere_do_not_differ_and_two_groups_do_not_prove_it():
    right = [True, False, True, True]
    found = compare(right, right, ["a", "a", "b", "b"])
    assert (found.difference, found.p_groups, found.n_to_tell_apart) == (0, 1, None)
    assert found.interval.low < 0 < found.interval.high


def test_p_is_never_zero():
    """Forty problems in twenty groups, all on one side: two of all the signs that twenty groups may have."""
    found = compare([True] * 40, [False] * 40, [row // 2 for row in range(40)])
    assert found.p_groups == pytest.approx(2 / 2**20)


@pytest.mark.parametrize("seed", range(5))
def test_changing_places_is_counted_out_over_all_signs(seed):
    """Twelve groups of one to four: all 4,096 signs, one by one."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(12), rng.integers(1, 5, 12))
    first, second = rng.random(len(groups)) < 0.7, rng.random(len(groups)) < 0.5
    sums = np.bincount(groups, weights=first.astype(float) - second)
    signs = 1 - 2 * ((np.arange(2**12)[:, None] >> np.arange(12)) & 1)
    as_far = np.abs(signs @ sums) >= abs(sums.sum())
    assert p_paired(first, second, groups) == pytest.approx(as_far.mean())


@pytest.mark.parametrize("scale", [1.0, 0.7123])
def test_a_lead_that_must_exceed_something_is_counted_out_over_the_same_signs(scale):
    """The more it must exceed, the larger p; also where signs are drawn, as they are where sums are no whole parts."""
    first, second = np.array([1, 1, 1, 1, 1, 1, 1, 0]) * scale, np.array([0, 0, 0, 0, 0, 0, 1, 1]) * scale
    signs = 1 - 2 * ((np.arange(2**7)[:, None] >> np.arange(7)) & 1)
    for least in (0.0, 0.1, 0.3, 0.6, 0.9):
        as_far = np.abs(signs.sum(axis=1)) >= 5 - 8 * least / scale
        assert p_paired(first, second, range(8), least=least) == pytest.approx(as_far.mean(), abs=0.02)


def test_by_groups_one_in_twenty_null_comparisons_is_significant_where_mcnemar_errs():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(80), 4)
    found = [compare(alike(rng, 80, 4), alike(rng, 80, 4), groups) for _ in range(800)]
    assert 0.03 <= np.mean([one.p_groups <= 0.05 for one in found]) <= 0.07
    assert np.mean([mcnemar(one.only_first, one.only_second) <= 0.05 for one in found]) > 0.15
    covered = np.mean([one.interval.low <= 0 <= one.interval.high for one in found])
    assert 0.93 <= covered <= 0.99


def test_a_real_difference_is_found():
    rng = np.random.default_rng(4)
    groups = [row // 2 for row in range(600)]
    better, worse = rng.random(600) < 0.8, rng.random(600) < 0.65
    found = compare(better, worse, groups)
    assert found.p_groups < 0.01
    assert 0 < found.interval.low < found.difference < found.interval.high


def test_pairing_makes_a_difference_surer():
    rng = np.random.default_rng(5)
    first = rng.random(400) * 0.8 + 0.1
    second = first - 0.02 + rng.uniform(-0.08, 0.08, 400)
    groups = [row // 2 for row in range(400)]
    paired = paired_interval(first, second, groups)
    unpaired = stats.ttest_ind(first, second).confidence_interval()
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 3
    assert paired.low > 0
    assert p_paired(first, second, groups) < 0.01


def test_an_interval_excludes_zero_only_where_the_test_does():
    """Four of four groups on one side: the test cannot say less than 2/16, and the interval does not say more."""
    found = compare([True] * 4 + [False] * 20, [False] * 24, range(24))
    assert found.p_groups == pytest.approx(0.125)
    assert found.interval.low <= 0


def test_without_groups_changing_places_and_a_t_test_agree():
    rng = np.random.default_rng(6)
    first = rng.normal(size=300)
    second = first + 0.1 + rng.normal(size=300)
    ours = p_paired(first, second, [None] * 300)
    assert ours == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=0.02)
    assert ours != p_paired(first, second, [None] * 300, seed=1)  # sums that are no whole numbers are drawn
    assert ours == p_paired(first, second, [None] * 300)


def test_four_groups_of_eleven_are_too_few_to_tell_two_apart():
    worse = [0.0] * 4 + [1.0] * 7
    assert p_paired(worse, [1.0] * 11, range(11)) == pytest.approx(0.125)  # a bootstrap says 0.01


def test_twins_change_places_together_and_problems_alone_by_themselves():
    first, second = [1.0] * 6, [0.0] * 6
    assert p_paired(first, second, ["a", "a", "b", "b", "c", "c"]) == pytest.approx(2 / 2**3)
    assert p_paired(first, second, [None] * 6) == pytest.approx(2 / 2**6)


def test_that_many_problems_tell_two_models_apart_in_four_cases_of_five():
    """Twins in groups of two, drawn anew from the same mixture; the test is the one that is used."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(1000), 2)
    first, second = alike(rng, 1000, 2), alike(rng, 1000, 2)
    better = first | (rng.random(2000) < 0.2)
    n = n_to_tell_apart(better, second, groups)
    drawn = rng.integers(1000, size=(600, round(n / 2)))
    one, other = better.reshape(-1, 2), second.reshape(-1, 2)
    found = [
        p_paired(one[some].ravel(), other[some].ravel(), np.repeat(np.arange(len(some)), 2)) <= 0.05 for some in drawn
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.06)


def test_models_that_fail_on_the_same_problems_are_told_apart_sooner():
    rows = range(100)
    same = n_to_tell_apart([i < 80 for i in rows], [i < 72 for i in rows], rows)
    some = n_to_tell_apart([i < 80 for i in rows], [14 <= i < 86 for i in rows], rows)
    other = n_to_tell_apart([i < 80 for i in rows], [i >= 28 for i in rows], rows)
    assert same < some < other
    assert other == n_to_tell_apart([i >= 28 for i in rows], [i < 80 for i in rows], rows)
    assert n_to_tell_apart([True, False], [False, True], ["a", "b"]) is None


def test_twins_that_fall_together_need_more_problems():
    first, second = [True] * 60 + [False] * 40, [True] * 50 + [False] * 50
    apart = n_to_tell_apart(first, second, range(100))
    together = n_to_tell_apart(first, second, [row // 2 for row in range(100)])
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
        (lambda: n_to_tell_apart([True], [False], ["a"], alpha=0.9), "alpha < power"),
    ],
)
def test_what_is_no_probability_or_count_is_refused(call, says):
    with pytest.raises(BadInput, match=says):
        call()
