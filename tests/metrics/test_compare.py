import numpy as np
import pytest
from scipy import stats

from winokit.errors import BadInput
from winokit.metrics import Draws, compare, holm, mcnemar, p_paired, paired_interval


def alike(rng, groups: int, size: int):
    """Flags that are the same for all members of a group nine times in ten."""
    together = rng.random((groups, 1)) < 0.7
    return np.where(rng.random((groups, 1)) < 0.9, together, rng.random((groups, size)) < 0.7).ravel()


def test_mcnemar_by_hand():
    """1 against 9: twice the probability of at most 1 head in 10 coins."""
    assert mcnemar(1, 9) == mcnemar(9, 1) == pytest.approx(2 * 11 / 1024)
    assert mcnemar(5, 5) == 1
    assert mcnemar(0, 0) == 1


def test_a_comparison_counts_what_only_one_gets_right():
    first, second = [True, True, True, False, True, True], [True, False, False, True, False, False]
    found = compare(first, second, ["a", "a", "b", "b", None, None], seed=0)
    assert (found.only_first, found.only_second, found.n) == (4, 1, 6)
    assert found.difference == 0.5
    assert found.discordance == pytest.approx(5 / 6)
    assert found.p_mcnemar == pytest.approx(2 * 6 / 32)


def test_swapping_the_models_turns_the_difference():
    rng = np.random.default_rng(0)
    first, second, groups = alike(rng, 100, 2), alike(rng, 100, 2), [row // 2 for row in range(200)]
    one, other = compare(first, second, groups), compare(second, first, groups)
    assert one.difference == -other.difference
    assert one.p_mcnemar == other.p_mcnemar
    assert (one.only_first, one.only_second) == (other.only_second, other.only_first)


def test_models_that_agree_everywhere_do_not_differ():
    right = [True, False, True, True]
    found = compare(right, right, ["a", "a", "b", "b"])
    assert (found.difference, found.p_mcnemar, found.p_groups) == (0, 1, 1)
    assert (found.interval.low, found.interval.high) == (0, 0)


def test_p_is_never_nought():
    found = compare([True] * 40, [False] * 40, [row // 2 for row in range(40)], draws=500)
    assert found.p_groups == 1 / 501


def test_by_groups_one_in_twenty_null_comparisons_is_significant_where_mcnemar_errs():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(80), 4)
    found = [compare(alike(rng, 80, 4), alike(rng, 80, 4), groups, seed, draws=1000) for seed in range(1500)]
    assert 0.03 <= np.mean([one.p_groups <= 0.05 for one in found]) <= 0.07
    assert np.mean([one.p_mcnemar <= 0.05 for one in found]) > 0.15
    covered = np.mean([one.interval.low <= 0 <= one.interval.high for one in found])
    assert 0.92 <= covered <= 0.98


def test_a_real_difference_is_found():
    rng = np.random.default_rng(4)
    groups = [row // 2 for row in range(600)]
    better, worse = rng.random(600) < 0.8, rng.random(600) < 0.65
    found = compare(better, worse, groups)
    assert found.p_groups < 0.01
    assert found.p_mcnemar < 0.01
    assert 0 < found.interval.low < found.difference < found.interval.high


def test_pairing_makes_a_difference_surer():
    rng = np.random.default_rng(5)
    first = rng.random(400)
    second = first - 0.02 + rng.normal(size=400) * 0.05
    groups = [row // 2 for row in range(400)]
    paired = paired_interval(first, second, groups)
    unpaired = stats.ttest_ind(first, second).confidence_interval()
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 3
    assert p_paired(first, second, groups) < 0.01


def test_without_groups_changing_places_and_a_t_test_agree():
    rng = np.random.default_rng(6)
    first = rng.normal(size=300)
    second = first + 0.1 + rng.normal(size=300)
    ours = p_paired(first, second, [None] * 300, Draws(draws=20_000))
    assert ours == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=0.02)


def test_four_groups_of_eleven_are_too_few_to_tell_two_apart():
    worse = [0.0] * 4 + [1.0] * 7
    assert p_paired(worse, [1.0] * 11, range(11)) == pytest.approx(mcnemar(0, 4), abs=0.02)  # a bootstrap says 0.01


def test_twins_change_places_together_and_problems_alone_by_themselves():
    first, second = [1.0] * 6, [0.0] * 6
    assert p_paired(first, second, ["a", "a", "b", "b", "c", "c"]) == pytest.approx(mcnemar(3, 0), abs=0.02)
    assert p_paired(first, second, [None] * 6) == pytest.approx(mcnemar(6, 0), abs=0.02)


def test_holm_by_hand():
    """0.01 times 4; 0.02 times 3; 0.03 times 2, no less than what comes before; 0.9 times 1."""
    assert holm([0.9, 0.01, 0.03, 0.02]) == pytest.approx([0.9, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1, 1]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: holm([0.5, 1.2]), "p-values from 0 to 1"),
        (lambda: holm([float("nan")]), "p-values from 0 to 1"),
        (lambda: mcnemar(-1, 2), "found -1 and 2"),
    ],
)
def test_what_is_no_probability_or_count_is_refused(call, says):
    with pytest.raises(BadInput, match=says):
        call()
