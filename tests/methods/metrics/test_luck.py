from functools import partial
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats

from winokit.errors import BadInput
from winokit.methods.metrics.intervals import share
from winokit.methods.metrics.luck import n_to_beat_chance, p_best_of, p_chance, share_to_find
from winokit.units import Units


def coins_above(heads: int, coins: int) -> float:
    """Probability that so many coins show more than `heads` heads."""
    outcomes = sum(comb(coins, count) for count in range(heads + 1, coins + 1))
    return outcomes / 2**coins


def test_the_papers_lucky_draw_comes_out():
    """More than 150 of 273, which is 151 or more. The best of ten guessers has it with 0.369."""
    p_value = p_chance(151, 273)
    assert p_value == pytest.approx(coins_above(150, 273))
    assert p_value == pytest.approx(0.04498, abs=5e-6)
    assert p_best_of(10, p_value) == pytest.approx(0.369, abs=5e-4)


def test_at_least_as_many_includes_as_many():
    p_value = p_chance(150, 273)
    exactly_as_many = stats.binom.pmf(150, 273, 0.5)
    assert p_value == pytest.approx(coins_above(149, 273))
    assert p_value == pytest.approx(p_chance(151, 273) + exactly_as_many)


def test_the_ends_of_luck():
    p_value = p_chance(151, 273)
    assert p_chance(0, 10) == 1
    assert p_chance(10, 10) == pytest.approx(2**-10)
    assert p_best_of(3, 1.0) == 1
    assert p_best_of(1, p_value) == pytest.approx(p_value)


def test_the_best_of_many_tries_is_exact_for_tiny_probabilities():
    p_value = p_chance(100, 100)
    assert p_best_of(10, p_value) == pytest.approx(10 * 2.0**-100, rel=1e-9, abs=0)


@pytest.mark.parametrize(("n", "chance"), [(20, 0.5), (273, 0.5), (136, 0.25)])
def test_luck_below_five_percent_happens_to_guessers_in_less_than_five_percent(n, chance):
    lucky_counts = [count for count in range(n + 1) if p_chance(count, n, chance) <= 0.05]
    lucky_share = stats.binom.pmf(lucky_counts, n, chance).sum()
    assert 0.01 < lucky_share <= 0.05


def p_by_enumeration(right: int, chances: list[float], times: list[int]) -> float:
    """Probability of at least `right` right answers, over every outcome of all guesses.

    Each guess is right with its chance, and then makes so many right answers.
    """
    total = 0.0
    for outcome in product((0, 1), repeat=len(chances)):
        hits = np.array(outcome)
        probability = np.where(hits, chances, 1 - np.array(chances)).prod()
        if hits @ times >= right:
            total += probability
    return total


@pytest.mark.parametrize("right", range(13))
def test_luck_is_exact_for_abstentions_mixed_candidates_and_texts_read_thrice(right):
    chances = [0.5, 0.5, 0.2, 0.0, 1 / 3, 0.5, 0.0]
    times = [1, 3, 3, 1, 2, 1, 1]
    expected = p_by_enumeration(right, chances, times)
    assert p_chance(right, 12, chances, times) == pytest.approx(expected)


def test_a_chance_for_each_guess_and_one_for_all_agree():
    p_value = p_chance(60, 100)
    assert p_chance(60, 100, [0.5] * 100) == pytest.approx(p_value, rel=1e-9)
    assert p_chance(60, 100, 0.5, [1] * 100) == pytest.approx(p_value, rel=1e-9)


def test_what_is_read_thrice_is_luckier_than_what_is_read_once():
    """Winogender through a scorer that does not see the pronoun: 240 guesses make 720 answers."""
    once = p_chance(390, 720)
    thrice = p_chance(390, 720, 0.5, [3] * 240)
    assert once < 0.05 / 2 < 0.05 < thrice
    assert thrice == pytest.approx(p_chance(130, 240))


def is_significant(right: int, n: int, chance: float) -> bool:
    """Whether so many right answers are above chance by the two-sided test of the audit."""
    if right / n <= chance:
        return False
    share_right = share([1] * right + [0] * (n - right), Units.alone(n))
    return share_right.p(chance) <= 0.05


def power(n: int, accuracy: float, chance: float) -> float:
    """Power of the two-sided test that the audit uses, term by term."""
    significant_counts = [count for count in range(n + 1) if is_significant(count, n, chance)]
    return float(stats.binom.pmf(significant_counts, n, accuracy).sum())


@pytest.mark.parametrize(("accuracy", "chance"), [(0.6, 0.5), (0.7, 0.5), (0.4, 0.25), (0.35, 0.25)])
def test_that_many_problems_beat_chance_in_about_four_cases_of_five(accuracy, chance):
    n = n_to_beat_chance(accuracy, chance)
    assert power(n, accuracy, chance) == pytest.approx(0.8, abs=0.06)


def test_of_few_problems_the_power_is_a_little_less_since_counts_are_whole_numbers():
    n = n_to_beat_chance(0.5, 0.25)
    assert n < 40
    assert 0.7 < power(n, 0.5, 0.25) < 0.8


def test_twins_that_fall_together_need_more_problems_to_beat_chance():
    n_alone = n_to_beat_chance(0.6)
    assert n_to_beat_chance(0.6, design_effect=2.0) == pytest.approx(2 * n_alone, abs=1)


def test_a_better_model_needs_fewer_problems():
    accuracies = (0.502, 0.509, 0.51, 0.55, 0.6, 0.76, 0.99)
    problem_counts = [n_to_beat_chance(accuracy) for accuracy in accuracies]
    assert problem_counts == sorted(problem_counts, reverse=True)


def test_no_number_of_problems_shows_what_is_not_there():
    assert n_to_beat_chance(0.5) is None
    assert n_to_beat_chance(0.48) is None


@pytest.mark.parametrize(
    ("quantity", "arguments", "message"),
    [
        (p_chance, (11, 10), "found 11 of 10"),
        (p_chance, (1, 0), "found 1 of 0"),
        (p_chance, (1, 10, 1.5), "chance is a share from 0 to 1"),
        (p_chance, (1, 10, 0.5, [1, 1]), "expected guesses for 10 problems, found 2"),
        (p_best_of, (0, 0.5), "expected one try or more, found 0"),
        (p_best_of, (10, 1.5), "a probability is a share"),
        (n_to_beat_chance, (76,), "accuracy is a share"),
        (partial(n_to_beat_chance, alpha=0.9), (0.7,), "alpha < power"),
        (share_to_find, (1.5, 0.1), "chance"),
    ],
)
def test_what_is_no_count_or_share_is_refused(quantity, arguments, message):
    with pytest.raises(BadInput, match=message):
        quantity(*arguments)


def share_shown_above_chance(n: int, ability: float, alpha: float, times: int = 2000) -> float:
    """Share of scorers with this ability that n problems show to be above chance.

    Half of the problems have the first candidate right.
    """
    rng = np.random.default_rng(0)
    right = rng.binomial(n, ability, times)
    # Choices vary little: their null is about that of so many coins.
    upper_tails = stats.binom.sf(right, n, 0.5) + stats.binom.pmf(right, n, 0.5) / 2
    is_shown = 2 * upper_tails < alpha
    return float(is_shown.mean())


@pytest.mark.parametrize("n", [60, 200, 1267])
def test_a_score_that_could_be_seen_is_found_four_times_in_five(n):
    error = 0.5 / n**0.5
    least_share = share_to_find(0.5, error, alpha=0.015)
    smaller_share = least_share - 0.3 * (least_share - 0.5)
    assert share_shown_above_chance(n, least_share, 0.015) == pytest.approx(0.8, abs=0.06)
    assert share_shown_above_chance(n, smaller_share, 0.015) < 0.55


def test_what_no_scorer_can_reach_would_not_have_been_seen():
    assert share_to_find(0.5, 0.02) < 0.6
    assert share_to_find(0.25, 0.1, most=0.5) is None
    assert share_to_find(0.5, 0.02, most=0.5) is None
    assert share_to_find(0.0, 0.0) == 0.0
