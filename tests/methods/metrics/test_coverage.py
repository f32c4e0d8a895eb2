"""Intervals and tests have the coverage and the size they claim: a table, exact wherever counts can be enumerated.

What an interval says of pairs depends only on how many are right in both, one or neither member, so that one interval
for each such count, weighted by its probability, gives the exact coverage for any share and correlation.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import special, stats

from winokit.methods.metrics.compare import p_paired, paired_interval
from winokit.methods.metrics.curve import crossed_share
from winokit.methods.metrics.intervals import gap, paired_gap, share, share_interval, wilson
from winokit.problem import Dataset, Problem
from winokit.units import Units

GROUPS = (4, 5, 6, 8, 10, 13, 16, 20, 25, 37, 50, 100, 284, 300)
SHARES = np.arange(1, 100) / 100
MIDDLE = np.arange(10, 91, 5) / 100
ROUNDING = 1e-12


def splits(total: int, kinds: int) -> Iterator[tuple[int, ...]]:
    """Every way to split so many groups into so many kinds."""
    if kinds == 1:
        yield (total,)
        return
    for count in range(total + 1):
        yield from ((count, *rest) for rest in splits(total - count, kinds - 1))


def likelihood(counts: np.ndarray, chances: Sequence[float]) -> np.ndarray:
    """How likely each split is where the kinds have these chances."""
    logs = special.xlogy(counts, np.maximum(chances, 0.0)).sum(1)
    return np.exp(special.gammaln(counts.sum(1) + 1) - special.gammaln(counts + 1).sum(1) + logs)


def covers(limits: np.ndarray, value: float) -> np.ndarray:
    return (limits[:, 0] <= value + ROUNDING) & (value - ROUNDING <= limits[:, 1])


@cache
def alone(n: int) -> np.ndarray:
    """The limits for each number of right answers among problems that stand alone."""
    half = [share([True] * right + [False] * (n - right), Units.alone(n)).interval() for right in range(n // 2 + 1)]
    limits = {right: (found.low, found.high) for right, found in enumerate(half)}
    limits |= {n - right: (1 - high, 1 - low) for right, (low, high) in limits.items()}  # as the next test asserts
    return np.array([limits[right] for right in range(n + 1)])


@pytest.mark.parametrize("n", [5, 13, 50])
def test_wrong_answers_have_the_interval_of_right_ones_turned_round(n):
    for right in range(n // 2):
        one, other = (
            share([True] * many + [False] * (n - many), Units.alone(n)).interval() for many in (right, n - right)
        )
        assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-9)


@pytest.mark.parametrize("n", GROUPS)
def test_shares_of_units_that_stand_alone_are_covered_in_95_percent_whatever_the_share(n):
    counts = np.arange(n + 1)
    limits = alone(n)
    coverage = [stats.binom.pmf(counts, n, of)[covers(limits, of)].sum() for of in SHARES]
    assert min(coverage) >= 0.95


@pytest.mark.parametrize("n", GROUPS)
def test_their_intervals_are_never_wider_than_clopper_and_pearsons(n):
    right = np.arange(n + 1)
    low = np.nan_to_num(stats.beta.ppf(0.025, right, n - right + 1), nan=0.0)
    high = np.nan_to_num(stats.beta.ppf(0.975, right + 1, n - right), nan=1.0)
    assert (alone(n)[:, 0] >= low - 1e-9).all()
    assert (alone(n)[:, 1] <= high + 1e-9).all()


def pair_chances(of: float, correlation: float) -> tuple[float, float, float]:
    """How likely both, one and neither member of a pair are right."""
    both = of**2 + correlation * of * (1 - of)
    return both, 2 * (of - both), 1 - 2 * of + both


def correlations(of: float) -> list[float]:
    """From the most negative there can be, which is -1 for a half, to 1."""
    least = -min(of / (1 - of), (1 - of) / of)
    return [least, least / 2, 0.0, 0.3, 0.6, 0.9, 1.0]


@pytest.mark.parametrize(("pairs", "single"), [(4, 0), (6, 0), (8, 0), (13, 0), (37, 0), (4, 4), (13, 6), (6, 20)])
def test_accuracy_over_pairs_is_covered_in_91_percent_or_more_whatever_their_correlation(pairs, single):
    units = Units(np.array([*np.repeat(np.arange(pairs), 2), *range(pairs, pairs + single)]))
    counts = np.array([(*split, right) for split in splits(pairs, 3) for right in range(single + 1)])
    found = [
        share_interval([1, 1] * both + [1, 0] * one + [0, 0] * none + [1] * right + [0] * (single - right), units)
        for both, one, none, right in counts
    ]
    limits = np.array([(interval.low, interval.high) for interval in found])
    coverage = {
        (of, correlation): (
            likelihood(counts[:, :3], pair_chances(of, correlation)) * stats.binom.pmf(counts[:, 3], single, of)
        )[covers(limits, of)].sum()
        for of in MIDDLE
        for correlation in correlations(of)
    }
    assert min(coverage.values()) >= 0.91, min(coverage, key=coverage.get)


@pytest.mark.parametrize(("first", "second"), [(6, 6), (8, 8), (6, 20), (13, 37)])
def test_gaps_of_strangers_are_covered_in_91_percent_or_more_and_in_95_on_the_whole(first, second):
    rows = np.arange(first + second) < first
    counts = list(product(range(first + 1), range(second + 1)))
    found = [
        gap([1] * one + [0] * (first - one) + [1] * other + [0] * (second - other), rows, ~rows, Units.alone(len(rows)))
        for one, other in counts
    ]
    limits = np.array([(interval.low, interval.high) for interval in (one.interval() for one in found)])
    assert (limits[:, 1] - limits[:, 0]).min() > 0.1  # never empty
    one, other = np.array(counts).T
    coverage = {}
    for of, against in product(MIDDLE[::2], MIDDLE[::2]):
        if abs(of - against) > 0.75:  # of six against six, one nearly all right and one nearly all wrong, it is 90.5 %
            continue
        likely = stats.binom.pmf(one, first, of) * stats.binom.pmf(other, second, against)
        coverage[of, against] = likely[covers(limits, of - against)].sum()
    assert min(coverage.values()) >= 0.91, min(coverage, key=coverage.get)
    assert np.mean(list(coverage.values())) >= 0.95


def test_all_right_on_both_sides_of_four_is_no_certain_equality():
    rows = np.array([True, True, False, False] * 2)
    found = gap([True] * 8, rows, ~rows, Units.alone(8)).interval()
    assert found.low < -0.4 < 0.4 < found.high


def paired_cells(of: float, against: float, how: float) -> list[float]:
    """Both right, only the first, only the second, neither; `how` is from the least overlap (-1) to the most (1)."""
    most = min(of * (1 - against), against * (1 - of))
    least = min(of * against, (1 - of) * (1 - against))
    shift = how * (most if how > 0 else least)
    both = of * against + shift
    return [both, of - both, against - both, 1 - of - against + both]


def paired_flags(both: int, only_first: int, only_second: int, neither: int) -> tuple[list[int], list[int]]:
    first = [1] * (both + only_first) + [0] * (only_second + neither)
    return first, [1] * both + [0] * only_first + [1] * only_second + [0] * neither


@pytest.mark.parametrize("groups", [6, 8, 13, 20])
def test_gaps_of_the_same_problems_are_covered_in_91_percent_or_more_however_they_overlap(groups):
    counts = np.array(list(splits(groups, 4)))
    found = [paired_gap(*paired_flags(*split), Units.alone(groups)).interval() for split in counts]
    limits = np.array([(interval.low, interval.high) for interval in found])
    assert (limits[:, 1] - limits[:, 0]).min() > 0.05
    coverage = {}
    for of, against, how in product(MIDDLE[::2], MIDDLE[::2], (-1.0, 0.0, 0.5, 0.9, 1.0)):
        likely = likelihood(counts, paired_cells(of, against, how))
        coverage[of, against, how] = likely[covers(limits, of - against)].sum()
    assert min(coverage.values()) >= 0.91, min(coverage, key=coverage.get)
    assert np.mean(list(coverage.values())) >= 0.95


@pytest.mark.parametrize("groups", [6, 8, 12])
def test_differences_of_equal_models_exclude_zero_in_at_most_6_percent(groups):
    counts = np.array(list(splits(groups, 4)))
    flags = [paired_flags(*split) for split in counts]
    intervals = [paired_interval(*both, Units.alone(groups)) for both in flags]
    excluded = np.array([interval.low > 0 or interval.high < 0 for interval in intervals])
    rejected = np.array([p_paired(*both, Units.alone(groups)) <= 0.05 for both in flags])
    assert (excluded == rejected).all()
    for of, how in product(MIDDLE[::2], (-1.0, 0.0, 0.5)):
        likely = likelihood(counts, paired_cells(of, of, how))
        assert likely[excluded].sum() <= 0.06
        assert likely[rejected].sum() <= 0.05


def test_the_paired_test_of_twins_rejects_equal_models_in_at_most_5_percent_and_not_much_less():
    """Eight pairs; by how many right answers one model is ahead in each is from -2 to 2, either way as likely."""
    counts = np.array(list(splits(8, 5)))
    ahead = np.arange(-2, 3)
    p_values = []
    for split in counts:
        sums = np.repeat(ahead, split)
        first = np.repeat(np.maximum(sums, 0) / 2, 2)
        second = np.repeat(np.maximum(-sums, 0) / 2, 2)
        p_values.append(p_paired(first, second, Units(np.repeat(np.arange(8), 2))))
    sizes = [
        likelihood(counts, [two, one, 1 - 2 * two - 2 * one, one, two])[np.array(p_values) <= 0.05].sum()
        for two, one in ((0.5, 0.0), (0.25, 0.25), (0.125, 0.125), (0.05, 0.15))
    ]
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
    covered = []
    for _ in range(400):
        by_unit = np.repeat(rng.random(units) < of, size)
        right = np.where(np.repeat(rng.random(units) < together, size), by_unit, rng.random(len(rows)) < of)
        values = np.where(rng.random(len(rows)) < half, 0.5, right)
        found = share_interval(values, rows)
        covered.append(found.low <= of + half * (0.5 - of) <= found.high)
    assert np.mean(covered) >= 0.91


@pytest.mark.parametrize(("units", "size", "of"), [(60, 12, 0.97), (100, 12, 0.98), (150, 6, 0.98)])
@pytest.mark.parametrize("together", [0.6, 0.8, 0.9])
def test_units_that_may_be_wrong_as_a_whole_are_covered_though_most_samples_have_none(units, size, of, together):
    """Each problem has its unit's answer or one of its own: a few single wrong answers say little of whole units."""
    rng = np.random.default_rng([units, round(10 * together)])
    rows = Units(np.repeat(np.arange(units), size))
    held = 0
    for _ in range(500):
        by_unit = np.repeat(rng.random(units) < of, size)
        right = np.where(rng.random(len(rows)) < together, by_unit, rng.random(len(rows)) < of)
        found = share_interval(right, rows)
        held += found.low <= of <= found.high
    assert held / 500 >= 0.94


def winogender(occupations: int) -> Dataset:
    """Two templates an occupation, two participants, three pronouns: twelve problems hang together."""
    return Dataset(
        Problem(
            f"The {job} met {who} in room {job} as ",
            f" {verb}.",
            (f"the {job}", who),
            answer,
            pronoun,
            group=f"{job}.{who}.{pronoun}",
            labels={"template": f"{job}.{answer}"},
        )
        for job in (f"worker{number}" for number in range(occupations))
        for answer, verb in enumerate(("asked", "answered"))
        for who in ("someone", "the guest")
        for pronoun in ("he", "she", "they")
    )


def test_texts_that_are_read_three_times_are_covered_as_what_they_are():
    """A scorer that fills the blank answers he, she and they alike, and the two participants often so."""
    data = winogender(60)
    texts = np.unique([problem.text + problem.candidates[1] for problem in data], return_inverse=True)[1]
    assert (len(data), data.units.count, texts.max() + 1) == (720, 60, 240)
    templates = np.unique([str(problem.labels["template"]) for problem in data], return_inverse=True)[1]
    rng = np.random.default_rng(0)
    ours = []
    naive = []
    for _ in range(400):
        by_template = rng.random(120) < 0.55
        right = np.where(rng.random(240)[texts] < 0.5, by_template[templates], (rng.random(240) < 0.55)[texts])
        found = share_interval(right, data.units)
        pretended = wilson(int(right.sum()), 720)
        ours.append(found.low <= 0.55 <= found.high)
        naive.append(pretended.low <= 0.55 <= pretended.high)
    assert np.mean(ours) >= 0.91
    assert np.mean(naive) < 0.8


def test_a_pro_minus_anti_gap_is_paired_by_the_text_around_the_pronoun():
    """WinoBias: 396 texts with either pronoun, 385 of them answered alike."""
    data = Dataset(
        Problem(f"The clerk {text} paid the cook because ", " was kind.", ("the clerk", "the cook"), 0, pronoun)
        for pronoun in ("he", "she")
        for text in range(396)
    )
    assert data.units.count == 396
    pro = np.random.default_rng(1).random(396) < 0.6
    right = np.concatenate([pro, np.where(np.arange(396) < 11, ~pro, pro)])
    is_pro = np.arange(792) < 396
    found = gap(right, is_pro, ~is_pro, data.units).interval()
    assert found.high - found.low < 0.04
    assert found.low <= pro.mean() - right[396:].mean() <= found.high


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_share_is_excluded_by_the_interval_where_its_p_value_is_below_5_percent(size, seed):
    """Up to the grid on which the interval's ends are found, and to the holes an exact test may have inside."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40)) * size
    found = share(rng.random(n) < rng.uniform(0.1, 0.9), Units(np.arange(n) // size))
    interval = found.interval()
    grid = 1e-4
    for of in SHARES:
        if of < interval.low or of > interval.high:
            assert found.p(of) <= 0.05
        elif found.p(of) <= 0.05:
            assert min(of - interval.low, interval.high - of) < (0.02 if found.exact else grid)


@pytest.mark.parametrize("seed", range(6))
def test_a_difference_is_excluded_by_the_interval_where_its_p_value_is_below_5_percent(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 60))
    right = rng.random(n) < 0.6
    first = np.arange(n) % 3 == 0
    found = gap(right, first, ~first, Units(np.arange(n) // 2))
    interval = found.interval()
    for value in np.arange(-99, 100) / 100:
        outside = value < interval.low or value > interval.high
        assert (found.p(value) < 0.05) is bool(outside)


@pytest.mark.parametrize(("units", "of", "silent"), [(12, 0.9, 0.2), (60, 0.97, 0.2), (60, 0.97, 0.0), (8, 0.8, 0.2)])
@pytest.mark.parametrize("agreement", [0.9, 1.0])
def test_large_equal_units_are_covered_though_half_credits_hide_that_nothing_varies(units, of, silent, agreement):
    """Units of 12 that are right or wrong nearly as a whole, some of whose problems are left open."""
    rng = np.random.default_rng(0)
    rows = Units(np.repeat(np.arange(units), 12))
    held = 0
    draws = 600
    for _ in range(draws):
        of_unit = (rng.random(units) < of).astype(float)
        if agreement < 1:
            odds = (1 - agreement) / agreement
            of_unit = rng.beta(of * odds, (1 - of) * odds, units)
        earned = (rng.random((units, 12)) < of_unit[:, None]).astype(float)
        earned[rng.random((units, 12)) < silent] = 0.5
        interval = share(earned.ravel(), rows).interval()
        held += interval.low <= of * (1 - silent) + 0.5 * silent <= interval.high
    assert held / draws >= 0.92


@pytest.mark.parametrize(("units", "of", "agreement", "own"), [(12, 0.9, 1.0, 0.02), (12, 0.97, 0.9, 0.1)])
def test_restarts_that_have_nearly_all_right_are_covered_on_large_units(units, of, agreement, own):
    """Restarts that agree except for some answers of their own: that units hardly vary may be luck."""
    rng = np.random.default_rng(0)
    held = 0
    draws = 400
    for _ in range(draws):
        of_unit = (rng.random(units) < of).astype(float)
        if agreement < 1:
            odds = (1 - agreement) / agreement
            of_unit = rng.beta(of * odds, (1 - of) * odds, units)
        common = rng.random((units, 12)) < of_unit[:, None]
        runs = [np.where(rng.random((units, 12)) < own, rng.random((units, 12)) < of, common) for _ in range(3)]
        low, high = crossed_share(np.stack(runs).mean(axis=2), sizes=np.full(units, 12.0))
        held += low <= of <= high
    assert held / draws >= 0.92
