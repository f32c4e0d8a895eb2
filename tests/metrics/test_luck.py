from math import comb

import numpy as np
import pytest
from scipy import stats

from winokit.errors import BadInput
from winokit.metrics import n_to_beat_chance, n_to_tell_apart, p_best_of, p_chance


def coins_above(heads: int, coins: int) -> float:
    return sum(comb(coins, k) for k in range(heads + 1, coins + 1)) / 2**coins


def test_the_papers_lucky_draw_comes_out():
    """More than 150 of 273, which is 151 or more; best of ten guessers 0.369."""
    assert p_chance(151, 273) == pytest.approx(coins_above(150, 273))
    assert p_chance(151, 273) == pytest.approx(0.04498, abs=5e-6)
    assert p_best_of(10, 151, 273) == pytest.approx(0.369, abs=5e-4)


def test_at_least_as_many_includes_as_many():
    assert p_chance(150, 273) == pytest.approx(coins_above(149, 273))
    assert p_chance(150, 273) == pytest.approx(p_chance(151, 273) + stats.binom.pmf(150, 273, 0.5))


def test_the_ends_of_luck():
    assert p_chance(0, 10) == 1
    assert p_chance(10, 10) == pytest.approx(2**-10)
    assert p_best_of(3, 0, 10) == 1
    assert p_best_of(1, 151, 273) == pytest.approx(p_chance(151, 273))


def test_the_best_of_many_tries_is_exact_for_tiny_probabilities():
    assert p_best_of(10, 100, 100) == pytest.approx(10 * 2.0**-100, rel=1e-9, abs=0)


@pytest.mark.parametrize(("n", "chance"), [(20, 0.5), (273, 0.5), (136, 0.25)])
def test_luck_below_five_percent_happens_to_guessers_in_less_than_five_percent(n, chance):
    lucky = [k for k in range(n + 1) if p_chance(k, n, chance) <= 0.05]
    share = stats.binom.pmf(lucky, n, chance).sum()
    assert 0.01 < share <= 0.05


def test_a_mixture_of_candidates_is_judged_with_care():
    """By Hoeffding, guessing among 2 and 5 in turn does well less often than a coin of the mean probability."""
    rng = np.random.default_rng(0)
    guessed = (rng.random((20_000, 50)) < 0.5).sum(1) + (rng.random((20_000, 50)) < 0.2).sum(1)
    for right in (40, 45):
        assert (guessed >= right).mean() < p_chance(right, 100, 0.35)


def power(n: int, accuracy: float, chance: float) -> float:
    """Of the one-sided exact test at 5 %, term by term."""
    significant = [k for k in range(n + 1) if sum(stats.binom.pmf(range(k, n + 1), n, chance)) <= 0.05]
    return float(stats.binom.pmf(significant, n, accuracy).sum())


@pytest.mark.parametrize(("accuracy", "chance"), [(0.7, 0.5), (0.9, 0.5), (1.0, 0.5), (0.5, 0.25)])
def test_that_many_problems_beat_chance_and_one_fewer_does_not(accuracy, chance):
    n = n_to_beat_chance(accuracy, chance)
    assert n is not None
    assert power(n - 1, accuracy, chance) < 0.8
    assert all(power(more, accuracy, chance) >= 0.8 for more in range(n, n + 40))


def test_a_better_model_needs_fewer_problems():
    needed = [n_to_beat_chance(accuracy) for accuracy in (0.502, 0.509, 0.51, 0.55, 0.6, 0.76, 0.99)]
    assert needed == sorted(needed, reverse=True)


def test_the_exact_count_and_the_approximation_meet():
    exact, approximate = n_to_beat_chance(0.5095), n_to_beat_chance(0.508)
    assert exact < 20_000 < approximate
    assert approximate / exact == pytest.approx((0.0095 / 0.008) ** 2, rel=0.02)


def test_no_number_of_problems_shows_what_is_not_there():
    assert n_to_beat_chance(0.5) is None
    assert n_to_beat_chance(0.48) is None
    assert n_to_tell_apart(0.7, 0.7, discordance=0.2) is None


def test_that_many_problems_tell_two_models_apart_in_four_cases_of_five():
    one, other, discordance = 0.80, 0.72, 0.2
    n = n_to_tell_apart(one, other, discordance)
    shares = [(discordance + one - other) / 2, (discordance - one + other) / 2]
    drawn = np.random.default_rng(0).multinomial(n, [*shares, 1 - discordance], size=1500)
    found = [stats.chi2.sf((a - b) ** 2 / (a + b), 1) <= 0.05 for a, b, _ in drawn]
    assert np.mean(found) == pytest.approx(0.8, abs=0.04)


def test_models_that_fail_on_the_same_problems_are_told_apart_sooner():
    assert n_to_tell_apart(0.8, 0.72, 0.1) < n_to_tell_apart(0.8, 0.72, 0.2) < n_to_tell_apart(0.8, 0.72)
    assert n_to_tell_apart(0.8, 0.72) == n_to_tell_apart(0.72, 0.8)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: p_chance(11, 10), "found 11 of 10"),
        (lambda: p_chance(1, 0), "found 1 of 0"),
        (lambda: p_chance(1, 10, 1.5), "chance is a share from 0 to 1"),
        (lambda: p_best_of(0, 5, 10), "not of 0"),
        (lambda: n_to_beat_chance(76), "accuracy is a share"),
        (lambda: n_to_beat_chance(0.7, alpha=0.9), "alpha < power"),
        (lambda: n_to_tell_apart(0.8, 0.7, 0.05), "allow a discordance from 0.1 to 0.5, not 0.05"),
    ],
)
def test_what_is_no_count_or_share_is_refused(call, says):
    with pytest.raises(BadInput, match=says):
        call()
