"""Intervals and tests have the coverage and the size they claim.

The interval of pairs depends only on the numbers of pairs with both, one or no member right. One interval
for each such count, weighted by its probability, gives the exact coverage for any share and correlation.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import special, stats

from winokit.methods.metrics.compare import p_paired, paired_interval
from winokit.methods.metrics.curve import crossed_share
from winokit.methods.metrics.intervals import Interval, gap, paired_gap, share, share_interval, wilson
from winokit.problem import Dataset, Problem
from winokit.units import Units

GROUPS = (4, 5, 6, 8, 10, 13, 16, 20, 25, 37, 50, 100, 284, 300)
SHARES = np.arange(1, 100) / 100
MIDDLE = np.arange(10, 91, 5) / 100
ROUNDING = 1e-12


def splits(total: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """Every way to split `total` groups into `kinds` kinds."""
    if kinds == 1:
        yield (total,)
        return
    for count in range(total + 1):
        for rest in splits(total - count, kinds - 1):
            yield (count, *rest)


def likelihood(counts: np.ndarray, chances: Sequence[float]) -> np.ndarray:
    """Multinomial probability of each row of counts, if the kinds have these chances."""
    log_powers = special.xlogy(counts, np.maximum(chances, 0.0)).sum(1)
    log_orders = special.gammaln(counts.sum(1) + 1) - special.gammaln(counts + 1).sum(1)
    return np.exp(log_orders + log_powers)


def covers(limits: np.ndarray, value: float) -> np.ndarray:
    """Whether each interval, a row of its low and its high end, contains the value."""
    is_above_low = limits[:, 0] <= value + ROUNDING
    is_below_high = value - ROUNDING <= limits[:, 1]
    return is_above_low & is_below_high


def flags_of(right: int, total: int) -> list[int]:
    """A 1 for each of the right answers, and a 0 for each of the others."""
    return [1] * right + [0] * (total - right)


def ends_of(intervals: Iterable[Interval]) -> np.ndarray:
    """Low and high ends of the intervals, one row each."""
    return np.array([(interval.low, interval.high) for interval in intervals])


def interval_alone(right: int, n: int) -> Interval:
    """Interval of the share right of n problems that stand alone."""
    return share(flags_of(right, n), Units.alone(n)).interval()


@cache
def alone(n: int) -> np.ndarray:
    """The limits for each number of right answers among problems that stand alone.

    Those of more than half right are taken from their mirror images, as the next test asserts.
    """
    lower_half = ends_of(interval_alone(right, n) for right in range(n // 2 + 1))
    mirrored = 1 - lower_half[::-1, ::-1]
    if n % 2 == 0:
        lower_half = lower_half[:-1]
    return np.concatenate([lower_half, mirrored])


@pytest.mark.parametrize("n", [5, 13, 50])
def test_wrong_answers_have_the_interval_of_right_ones_turned_round(n):
    for right in range(n // 2):
        few_right = interval_alone(right, n)
        few_wrong = interval_alone(n - right, n)
        mirrored = (1 - few_wrong.high, 1 - few_wrong.low)
        assert (few_right.low, few_right.high) == pytest.approx(mirrored, abs=1e-9)


@pytest.mark.parametrize("n", GROUPS)
def test_shares_of_units_that_stand_alone_are_covered_in_95_percent_whatever_the_share(n):
    counts = np.arange(n + 1)
    limits = alone(n)
    for true_share in SHARES:
        probabilities = stats.binom.pmf(counts, n, true_share)
        is_covered = covers(limits, true_share)
        assert probabilities[is_covered].sum() >= 0.95


@pytest.mark.parametrize("n", GROUPS)
def test_their_intervals_are_never_wider_than_clopper_and_pearsons(n):
    right = np.arange(n + 1)
    low = stats.beta.ppf(0.025, right, n - right + 1)
    high = stats.beta.ppf(0.975, right + 1, n - right)
    low[0] = 0.0
    high[n] = 1.0
    limits = alone(n)
    assert (limits[:, 0] >= low - 1e-9).all()
    assert (limits[:, 1] <= high + 1e-9).all()


def pair_chances(of: float, correlation: float) -> tuple[float, float, float]:
    """Probability that both, one and neither member of a pair are right."""
    both = of**2 + correlation * of * (1 - of)
    return both, 2 * (of - both), 1 - 2 * of + both


def correlations(of: float) -> list[float]:
    """Correlations from the most negative possible one, which is -1 for a half, to 1."""
    odds = of / (1 - of)
    least = -min(odds, 1 / odds)
    return [least, least / 2, 0.0, 0.3, 0.6, 0.9, 1.0]


def flags_of_pairs(both: int, one: int, none: int) -> list[int]:
    return [1, 1] * both + [1, 0] * one + [0, 0] * none


def check_coverage(coverage: dict[tuple[float, ...], float], mean: float = 0.0) -> None:
    """Assert that each coverage is 91 % or more, and their mean at least `mean`."""
    lowest = min(coverage, key=coverage.get)
    assert coverage[lowest] >= 0.91, lowest
    assert np.mean(list(coverage.values())) >= mean


@pytest.mark.parametrize(("pairs", "single"), [(4, 0), (6, 0), (8, 0), (13, 0), (37, 0), (4, 4), (13, 6), (6, 20)])
def test_accuracy_over_pairs_is_covered_in_91_percent_or_more_whatever_their_correlation(pairs, single):
    members = [2] * pairs + [1] * single
    units = Units(np.repeat(np.arange(pairs + single), members))
    counts = []
    intervals = []
    for split, right in product(splits(pairs, 3), range(single + 1)):
        flags = flags_of_pairs(*split) + flags_of(right, single)
        counts.append((*split, right))
        intervals.append(share_interval(flags, units))
    counts = np.array(counts)
    limits = ends_of(intervals)
    coverage = {}
    for of in MIDDLE:
        is_covered = covers(limits, of)
        single_probabilities = stats.binom.pmf(counts[:, 3], single, of)
        for correlation in correlations(of):
            pair_probabilities = likelihood(counts[:, :3], pair_chances(of, correlation))
            probabilities = pair_probabilities * single_probabilities
            coverage[of, correlation] = probabilities[is_covered].sum()
    check_coverage(coverage)


@pytest.mark.parametrize(("first", "second"), [(6, 6), (8, 8), (6, 20), (13, 37)])
def test_gaps_of_strangers_are_covered_in_91_percent_or_more_and_in_95_on_the_whole(first, second):
    problem_count = first + second
    is_first = np.arange(problem_count) < first
    units = Units.alone(problem_count)
    counts = list(product(range(first + 1), range(second + 1)))
    intervals = []
    for first_right, second_right in counts:
        flags = flags_of(first_right, first) + flags_of(second_right, second)
        intervals.append(gap(flags, is_first, ~is_first, units).interval())
    limits = ends_of(intervals)
    widths = limits[:, 1] - limits[:, 0]
    assert widths.min() > 0.1  # never empty
    first_counts, second_counts = np.array(counts).T
    coverage = {}
    for of, against in product(MIDDLE[::2], MIDDLE[::2]):
        if abs(of - against) > 0.75:  # of six against six, one nearly all right and one nearly all wrong, it is 90.5 %
            continue
        first_probabilities = stats.binom.pmf(first_counts, first, of)
        second_probabilities = stats.binom.pmf(second_counts, second, against)
        probabilities = first_probabilities * second_probabilities
        is_covered = covers(limits, of - against)
        coverage[of, against] = probabilities[is_covered].sum()
    check_coverage(coverage, mean=0.95)


def test_all_right_on_both_sides_of_four_is_no_certain_equality():
    rows = np.array([True, True, False, False] * 2)
    interval = gap([True] * 8, rows, ~rows, Units.alone(8)).interval()
    assert interval.low < -0.4
    assert interval.high > 0.4


def paired_cells(of: float, against: float, how: float) -> list[float]:
    """Probability that both are right, only the first, only the second, or neither.

    `how` is from the least overlap (-1) to the most (1).
    """
    room_above = min(of * (1 - against), against * (1 - of))
    room_below = min(of * against, (1 - of) * (1 - against))
    room = room_above if how > 0 else room_below
    both = of * against + how * room
    return [both, of - both, against - both, 1 - of - against + both]


def paired_flags(both: int, only_first: int, only_second: int, neither: int) -> tuple[list[int], list[int]]:
    first = [1] * (both + only_first) + [0] * (only_second + neither)
    second = [1] * both + [0] * only_first + [1] * only_second + [0] * neither
    return first, second


@pytest.mark.parametrize("groups", [6, 8, 13, 20])
def test_gaps_of_the_same_problems_are_covered_in_91_percent_or_more_however_they_overlap(groups):
    counts = np.array(list(splits(groups, 4)))
    units = Units.alone(groups)
    limits = ends_of(paired_gap(*paired_flags(*split), units).interval() for split in counts)
    widths = limits[:, 1] - limits[:, 0]
    assert widths.min() > 0.05
    coverage = {}
    for of, against, how in product(MIDDLE[::2], MIDDLE[::2], (-1.0, 0.0, 0.5, 0.9, 1.0)):
        probabilities = likelihood(counts, paired_cells(of, against, how))
        is_covered = covers(limits, of - against)
        coverage[of, against, how] = probabilities[is_covered].sum()
    check_coverage(coverage, mean=0.95)


@pytest.mark.parametrize("groups", [6, 8, 12])
def test_differences_of_equal_models_exclude_zero_in_at_most_6_percent(groups):
    counts = np.array(list(splits(groups, 4)))
    units = Units.alone(groups)
    is_excluded = np.zeros(len(counts), np.bool_)
    is_rejected = np.zeros(len(counts), np.bool_)
    for index, split in enumerate(counts):
        first, second = paired_flags(*split)
        interval = paired_interval(first, second, units)
        is_excluded[index] = interval.low > 0 or interval.high < 0
        is_rejected[index] = p_paired(first, second, units) <= 0.05
    assert (is_excluded == is_rejected).all()
    for of, how in product(MIDDLE[::2], (-1.0, 0.0, 0.5)):
        probabilities = likelihood(counts, paired_cells(of, of, how))
        assert probabilities[is_excluded].sum() <= 0.06
        assert probabilities[is_rejected].sum() <= 0.05


LEADS = np.arange(-2, 3)
"""Right answers by which one model is ahead of the other in a pair."""


def p_of_leads(split: Sequence[int]) -> float:
    """P-value of the paired test on pairs of which split[i] have the lead LEADS[i]."""
    leads = np.repeat(LEADS, split)
    first = np.repeat(np.maximum(leads, 0) / 2, 2)
    second = np.repeat(np.maximum(-leads, 0) / 2, 2)
    units = Units(np.arange(len(first)) // 2)
    return p_paired(first, second, units)


def test_the_paired_test_of_twins_rejects_equal_models_in_at_most_5_percent_and_not_much_less():
    """Eight pairs, in which a lead of either model is as likely as the same lead of the other."""
    counts = np.array(list(splits(8, 5)))
    p_values = np.array([p_of_leads(split) for split in counts])
    is_rejected = p_values <= 0.05
    sizes = []
    for two_ahead, one_ahead in ((0.5, 0.0), (0.25, 0.25), (0.125, 0.125), (0.05, 0.15)):
        even = 1 - 2 * two_ahead - 2 * one_ahead
        chances = [two_ahead, one_ahead, even, one_ahead, two_ahead]
        sizes.append(likelihood(counts, chances)[is_rejected].sum())
    assert 0.005 < max(sizes) <= 0.05


@pytest.mark.parametrize(
    ("units", "size", "of", "together", "half"),
    [
        (12, 12, 0.9, 0.0, 0.2),
        (12, 12, 0.97, 0.5, 0.0),
        (60, 12, 0.97, 0.0, 0.0),
        (60, 12, 0.97, 0.9, 0.0),
        (60, 12, 0.6, 0.5, 0.2),
    ],
)
def test_large_equal_units_are_covered_in_91_percent_or_more(units, size, of, together, half):
    """Also where hardly anything varies, and where some problems have half a credit."""
    rng = np.random.default_rng([units, round(100 * of), round(10 * together)])
    rows = Units(np.repeat(np.arange(units), size))
    true_share = of + half * (0.5 - of)
    covered_count = 0
    draws = 400
    for _ in range(draws):
        by_unit = np.repeat(rng.random(units) < of, size)
        follows_unit = np.repeat(rng.random(units) < together, size)
        right = np.where(follows_unit, by_unit, rng.random(len(rows)) < of)
        has_half_credit = rng.random(len(rows)) < half
        interval = share_interval(np.where(has_half_credit, 0.5, right), rows)
        covered_count += interval.low <= true_share <= interval.high
    assert covered_count / draws >= 0.91


@pytest.mark.parametrize(("units", "size", "of"), [(60, 12, 0.97), (100, 12, 0.98), (150, 6, 0.98)])
@pytest.mark.parametrize("together", [0.6, 0.8, 0.9])
def test_units_that_may_be_wrong_as_a_whole_are_covered_though_most_samples_have_none(units, size, of, together):
    """Each problem has its unit's answer or an answer of its own.

    A few single wrong answers say little of whole units.
    """
    rng = np.random.default_rng([units, round(10 * together)])
    rows = Units(np.repeat(np.arange(units), size))
    covered_count = 0
    draws = 500
    for _ in range(draws):
        by_unit = np.repeat(rng.random(units) < of, size)
        follows_unit = rng.random(len(rows)) < together
        right = np.where(follows_unit, by_unit, rng.random(len(rows)) < of)
        interval = share_interval(right, rows)
        covered_count += interval.low <= of <= interval.high
    assert covered_count / draws >= 0.94


def template_of(job: str, answer: int, verb: str) -> list[Problem]:
    """Six problems of one template: two participants, three pronouns."""
    problems = []
    for participant, pronoun in product(("someone", "the guest"), ("he", "she", "they")):
        before = f"The {job} met {participant} in room {job} as "
        candidates = (f"the {job}", participant)
        group = f"{job}.{participant}.{pronoun}"
        labels = {"template": f"{job}.{answer}"}
        problems.append(Problem(before, f" {verb}.", candidates, answer, pronoun, group=group, labels=labels))
    return problems


def winogender(occupations: int) -> Dataset:
    """Twelve problems of one unit an occupation, from two templates."""
    problems = []
    for index in range(occupations):
        job = f"worker{index}"
        problems += template_of(job, 0, "asked")
        problems += template_of(job, 1, "answered")
    return Dataset(problems)


def test_texts_that_are_read_three_times_are_covered_as_what_they_are():
    """A scorer that fills the blank answers he, she and they alike, and the two participants often so."""
    data = winogender(60)
    texts = np.unique([problem.text + problem.candidates[1] for problem in data], return_inverse=True)[1]
    assert len(data) == 720
    assert data.units.count == 60
    assert texts.max() + 1 == 240
    templates = np.unique([str(problem.labels["template"]) for problem in data], return_inverse=True)[1]
    rng = np.random.default_rng(0)
    draws = 400
    covered_count = 0
    naively_covered_count = 0
    for _ in range(draws):
        right_by_template = rng.random(120) < 0.55
        follows_template = rng.random(240) < 0.5
        right_by_text = rng.random(240) < 0.55
        right = np.where(follows_template[texts], right_by_template[templates], right_by_text[texts])
        interval = share_interval(right, data.units)
        naive_interval = wilson(int(right.sum()), 720)
        covered_count += interval.low <= 0.55 <= interval.high
        naively_covered_count += naive_interval.low <= 0.55 <= naive_interval.high
    assert covered_count / draws >= 0.91
    assert naively_covered_count / draws < 0.8


def test_a_pro_minus_anti_gap_is_paired_by_the_text_around_the_pronoun():
    """WinoBias: 396 texts with either pronoun, 385 of them answered alike."""
    problems = []
    for pronoun, text in product(("he", "she"), range(396)):
        before = f"The clerk {text} paid the cook because "
        problems.append(Problem(before, " was kind.", ("the clerk", "the cook"), 0, pronoun))
    data = Dataset(problems)
    assert data.units.count == 396
    pro = np.random.default_rng(1).random(396) < 0.6
    anti = pro.copy()
    anti[:11] = ~pro[:11]
    is_pro = np.arange(792) < 396
    interval = gap(np.concatenate([pro, anti]), is_pro, ~is_pro, data.units).interval()
    assert interval.high - interval.low < 0.04
    assert interval.low <= pro.mean() - anti.mean() <= interval.high


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_share_is_excluded_by_the_interval_where_its_p_value_is_below_5_percent(size, seed):
    """Up to the grid on which the interval's ends are found, and to the holes an exact test may have inside."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40)) * size
    right = rng.random(n) < rng.uniform(0.1, 0.9)
    share_right = share(right, Units(np.arange(n) // size))
    interval = share_right.interval()
    tolerance = 0.02 if share_right.exact else 1e-4
    for of in SHARES:
        is_outside = of < interval.low or of > interval.high
        if is_outside:
            assert share_right.p(of) <= 0.05
        elif share_right.p(of) <= 0.05:
            assert min(of - interval.low, interval.high - of) < tolerance


@pytest.mark.parametrize("seed", range(6))
def test_a_difference_is_excluded_by_the_interval_where_its_p_value_is_below_5_percent(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 60))
    right = rng.random(n) < 0.6
    first = np.arange(n) % 3 == 0
    difference = gap(right, first, ~first, Units(np.arange(n) // 2))
    interval = difference.interval()
    for value in np.arange(-99, 100) / 100:
        is_outside = value < interval.low or value > interval.high
        assert (difference.p(value) < 0.05) is bool(is_outside)


def draw_unit_chances(rng: np.random.Generator, units: int, of: float, agreement: float) -> np.ndarray:
    """Draw each unit's chance of right answers: 0 or 1 if `agreement` is 1, spread around `of` below it."""
    chances = (rng.random(units) < of).astype(float)
    if agreement < 1:
        odds = (1 - agreement) / agreement
        chances = rng.beta(of * odds, (1 - of) * odds, units)
    return chances


@pytest.mark.parametrize(("units", "of", "silent"), [(12, 0.9, 0.2), (60, 0.97, 0.2), (60, 0.97, 0.0), (8, 0.8, 0.2)])
@pytest.mark.parametrize("agreement", [0.9, 1.0])
def test_large_equal_units_are_covered_though_half_credits_hide_that_nothing_varies(units, of, silent, agreement):
    """Units of 12 that are right or wrong nearly as a whole, some of whose problems are left open."""
    rng = np.random.default_rng(0)
    rows = Units(np.repeat(np.arange(units), 12))
    true_share = of * (1 - silent) + 0.5 * silent
    covered_count = 0
    draws = 600
    for _ in range(draws):
        unit_chances = draw_unit_chances(rng, units, of, agreement)
        is_right = rng.random((units, 12)) < unit_chances[:, None]
        is_silent = rng.random((units, 12)) < silent
        credits_earned = np.where(is_silent, 0.5, is_right)
        interval = share(credits_earned.ravel(), rows).interval()
        covered_count += interval.low <= true_share <= interval.high
    assert covered_count / draws >= 0.92


@pytest.mark.parametrize(("units", "of", "agreement", "own"), [(12, 0.9, 1.0, 0.02), (12, 0.97, 0.9, 0.1)])
def test_restarts_that_have_nearly_all_right_are_covered_on_large_units(units, of, agreement, own):
    """Restarts agree except for a share `own` of answers, so that equal units may be luck."""
    rng = np.random.default_rng(0)
    sizes = np.full(units, 12.0)
    covered_count = 0
    draws = 400
    for _ in range(draws):
        unit_chances = draw_unit_chances(rng, units, of, agreement)
        common = rng.random((units, 12)) < unit_chances[:, None]
        runs = []
        for _ in range(3):
            answers_alone = rng.random((units, 12)) < own
            runs.append(np.where(answers_alone, rng.random((units, 12)) < of, common))
        low, high = crossed_share(np.stack(runs).mean(axis=2), sizes=sizes)
        covered_count += low <= of <= high
    assert covered_count / draws >= 0.92
