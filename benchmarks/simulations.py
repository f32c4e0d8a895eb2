"""Measure whether intervals cover, and tests reject, as often as docs/evidence/statistics.md says.

    python benchmarks/statistics.py [--times 2000] [--only coverage gaps …]

Each section draws data whose truth is known and prints what was claimed beside what was measured. Coverage of shares of
groups is exact (all outcomes, weighted); the rest is simulated.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product, repeat

import numpy as np
from scipy import stats

from winokit.methods.metrics.agreement import Coefficient, fleiss_kappa, gwet_ac1
from winokit.methods.metrics.compare import compare, n_to_tell_apart, p_paired, paired_interval
from winokit.methods.metrics.intervals import Interval, gap, share
from winokit.methods.metrics.luck import n_to_beat_chance, p_chance
from winokit.units import Units

TIMES = 2000
GROUPS = (4, 5, 6, 8, 10, 13, 16, 20, 25, 37, 50, 80, 100, 150, 284, 300)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
CORRELATIONS = (-1.0, -0.5, 0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Measured:
    """One claim and its measurement: coverage should be no less, size no more."""

    what: str
    setting: str
    claimed: str
    measured: float


def coverage(times: int = TIMES) -> Iterator[Measured]:
    """Exact coverage of shares of groups, each right as a whole or not, worst over true shares.

    `times` is not used.
    """
    for n in GROUPS:
        intervals = []
        for right_count in range(n + 1):
            flags = [1.0] * right_count + [0.0] * (n - right_count)
            intervals.append(share(flags, Units.alone(n)).interval())
        lows = np.array([[interval.low] for interval in intervals])
        highs = np.array([[interval.high] for interval in intervals])
        chances = stats.binom.pmf(np.arange(n + 1)[:, None], n, SHARES)
        is_covered = (lows <= SHARES) & (highs >= SHARES)
        worst = float((chances * is_covered).sum(axis=0).min())
        yield Measured("share of groups", f"{n} groups, worst of shares .01 to .99", "≥ 0.950", worst)


def pairs(rng: np.random.Generator, groups: int, right: float, correlation: float, singles: int = 0) -> np.ndarray:
    """Draw right answers of pairs whose twins agree more or less than by chance, then of problems alone.

    `right` is the expected share. `correlation` is in units of the most that this share allows.
    """
    wrong = 1 - right
    largest_covariance = right * wrong if correlation >= 0 else min(right, wrong) ** 2
    both_right = right**2 + correlation * largest_covariance
    both_wrong = wrong**2 + correlation * largest_covariance
    draws = rng.random(groups)
    is_first_right = rng.random(groups) < 0.5  # of pairs with one right answer
    is_both_right = draws < both_right
    is_one_right = draws >= both_right + both_wrong
    firsts = is_both_right | (is_one_right & is_first_right)
    seconds = is_both_right | (is_one_right & ~is_first_right)
    twins = np.stack([firsts, seconds], axis=1).ravel()
    return np.concatenate([twins, rng.random(singles) < right])


def pair_units(pair_count: int, singles: int = 0) -> Units:
    """Units of two problems each, then problems alone."""
    numbers_of_twins = np.repeat(np.arange(pair_count), 2)
    return Units(np.concatenate([numbers_of_twins, pair_count + np.arange(singles)]))


def does_cover(interval: Interval, truth: float) -> bool:
    """Whether a true value is in an interval, an end included with rounding."""
    return interval.low - 1e-9 <= truth <= interval.high + 1e-9


def accuracy(times: int = TIMES) -> Iterator[Measured]:
    """Coverage of accuracy on problems with twins, worst over true shares and over how twins agree."""
    rng = np.random.default_rng(1)
    for groups in (4, 6, 8, 13, 20, 37, 100, 284):
        for singles in (0, 2 * groups):
            units = pair_units(groups, singles)
            worst = 1.0
            for right, correlation in product((0.1, 0.25, 0.5, 0.7, 0.9), CORRELATIONS):
                covered_count = 0
                for _ in range(times):
                    flags = pairs(rng, groups, right, correlation, singles)
                    covered_count += does_cover(share(flags, units).interval(), right)
                worst = min(worst, covered_count / times)
            alone = f", {singles} alone" if singles else ""
            yield Measured("accuracy", f"{groups} pairs{alone}, worst of 25", "0.95", worst)


def unequal(times: int = TIMES) -> Iterator[Measured]:
    """Coverage with units of very different sizes: passages with many questions beside problems alone."""
    rng = np.random.default_rng(9)
    shapes = {
        "one of 60, 60 alone": [60] + [1] * 60,
        "one of 200, 60 alone": [200] + [1] * 60,
        "3 of 20, 60 alone": [20] * 3 + [1] * 60,
        "1, 2, 4 … 64": [1, 2, 4, 8, 16, 32, 64],
        "8 triplets": [3] * 8,
        "5 of 12": [12] * 5,
    }
    for name, sizes in shapes.items():
        numbers = np.repeat(np.arange(len(sizes)), sizes)
        for alike in (0.3, 1.0):
            covered_count = 0
            for _ in range(times):
                flags = draw_alike(rng, numbers, alike)
                interval = share(flags, Units(numbers)).interval()
                covered_count += interval.low <= 0.5 <= interval.high
            yield Measured("accuracy", f"clusters: {name}, alike {alike}", "0.95", covered_count / times)
    for cluster_count in (1, 2, 4):
        numbers_of_clusters = np.repeat(np.arange(cluster_count), 12)
        numbers = np.concatenate([numbers_of_clusters, cluster_count + np.arange(200)])
        is_in_cluster = np.arange(len(numbers)) < 12 * cluster_count
        covered_count = 0
        for _ in range(times):
            flags = draw_alike(rng, numbers, 0.3)
            interval = gap(flags, is_in_cluster, ~is_in_cluster, Units(numbers)).interval()
            covered_count += interval.low <= 0 <= interval.high
        setting = f"{cluster_count} of 12 against 200 alone"
        yield Measured("difference of subsets", setting, "0.95", covered_count / times)


def draw_alike(rng: np.random.Generator, numbers: np.ndarray, alike: float) -> np.ndarray:
    """Draw right answers at chance whose correlation within units is `alike`.

    `numbers` has the unit of each problem.
    """
    is_unit_right = rng.random(numbers.max() + 1) < 0.5
    is_right_alone = rng.random(len(numbers)) < 0.5
    is_common = rng.random(len(numbers)) < math.sqrt(alike)
    return np.where(is_common, is_unit_right[numbers], is_right_alone)


def large(times: int = TIMES) -> Iterator[Measured]:
    """Coverage with equal units of twelve, nearly all right, some silent: worst over how units agree."""
    rng = np.random.default_rng(11)
    for unit_count in (12, 30, 60):
        units = Units(np.repeat(np.arange(unit_count), 12))
        for right in (0.5, 0.9, 0.97):
            for silent in (0.0, 0.2):
                coverages = []
                for together in (0.0, 0.3, 0.8, 0.9, 1.0):
                    coverages.append(_measure_large_coverage(units, right, silent, together, times, rng))
                setting = f"{unit_count} units of 12, {right:.0%} right, {silent:.0%} silent, worst of 5"
                yield Measured("accuracy, half credits", setting, "0.95", min(coverages))


def _measure_large_coverage(
    units: Units, right: float, silent: float, together: float, times: int, rng: np.random.Generator
) -> float:
    """Share of intervals that cover the truth, if a share `together` of the problems agrees with its unit."""
    truth = right * (1 - silent) + silent / 2
    covered_count = 0
    for _ in range(times):
        is_unit_right = rng.random(units.count) < right
        is_common = rng.random(len(units)) < together
        is_right_alone = rng.random(len(units)) < right
        is_right = np.where(is_common, is_unit_right[units.numbers], is_right_alone)
        is_silent = rng.random(len(units)) < silent
        interval = share(np.where(is_silent, 0.5, is_right), units).interval()
        covered_count += does_cover(interval, truth)
    return covered_count / times


def repeated(times: int = TIMES) -> Iterator[Measured]:
    """Coverage and size if each text is read three times, by a scorer that does not see the pronoun.

    Texts are in templates of twelve, as in Winogender.
    """
    rng = np.random.default_rng(2)
    templates = Units(np.repeat(np.arange(60), 12))
    for right in (0.5, 0.6, 0.8):
        covered_count = rejected_count = 0
        for _ in range(times):
            chances = np.clip(right + rng.normal(0, 0.05, 60), 0.01, 0.99)  # templates differ a little
            is_text_right = rng.random((60, 4)) < chances[:, None]
            is_right = np.repeat(is_text_right, 3, axis=1).ravel()
            interval = share(is_right, templates).interval()
            covered_count += interval.low <= right <= interval.high
            guesses = np.repeat(rng.random(240) < 0.5, 3)
            p = p_chance(int(guesses.sum()), 720, [0.5] * 240, [3] * 240)
            rejected_count += p <= 0.05
        setting = f"720 problems, 240 texts, {right:.0%} right"
        yield Measured("accuracy, texts read thrice", setting, "0.95", covered_count / times)
        if right == 0.5:
            size = rejected_count / times
            yield Measured("p that guessing does as well", "240 texts read thrice, size", "≤ 0.05", size)


def luck(times: int = TIMES) -> Iterator[Measured]:
    """Size of the exact test of guessing, for a coin that abstains."""
    rng = np.random.default_rng(3)
    for n in (20, 60, 273, 1267):
        for silent in (0.0, 0.3, 0.9):
            rejected_count = 0
            for _ in range(times):
                chances = np.where(rng.random(n) < silent, 0.0, 0.5)
                is_right = rng.random(n) < chances
                rejected_count += p_chance(int(is_right.sum()), n, chances) <= 0.05
            setting = f"coin, {n} problems, {silent:.0%} silent"
            yield Measured("p that guessing does as well", setting, "≤ 0.05", rejected_count / times)


def gaps(times: int = TIMES) -> Iterator[Measured]:
    """Coverage of the difference between two subsets, with problems alone, and with twins in both."""
    rng = np.random.default_rng(4)
    share_pairs = [(0.5, 0.5), (0.9, 0.9), (0.8, 0.6), (0.95, 0.7)]
    for n in (4, 8, 20, 60):
        covered_counts = {"apart": 0, "twins": 0}
        is_first = np.arange(2 * n) < n
        twins = Units(np.tile(np.arange(n), 2))
        for first_share, second_share in share_pairs:
            truth = first_share - second_share
            for _ in range(times):
                is_right = rng.random(2 * n) < np.where(is_first, first_share, second_share)
                interval = gap(is_right, is_first, ~is_first, Units.alone(2 * n)).interval()
                covered_counts["apart"] += does_cover(interval, truth)
                draws = rng.random(n)  # twins agree on what is hard
                is_right = np.concatenate([draws < first_share, draws < second_share])
                interval = gap(is_right, is_first, ~is_first, twins).interval()
                covered_counts["twins"] += does_cover(interval, truth)
        for name, count in covered_counts.items():
            setting = f"{n} and {n}, {name}, mean of 4"
            yield Measured("difference of subsets", setting, "0.95", count / times / len(share_pairs))


def two_models(
    rng: np.random.Generator, groups: int, first: float, second: float, shared: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw right answers of two models on pairs, with the same luck on a share of the problems."""
    common_draws = rng.random(2 * groups)
    is_common = rng.random(2 * groups) < shared
    first_draws = rng.random(2 * groups)
    second_draws = rng.random(2 * groups)
    is_first_right = np.where(is_common, common_draws, first_draws) < first
    is_second_right = np.where(is_common, common_draws, second_draws) < second
    return is_first_right, is_second_right


def paired(times: int = TIMES) -> Iterator[Measured]:
    """Size, coverage and power of the comparison of two models on the same problems."""
    rng = np.random.default_rng(5)
    settings = [(0.5, 0.0), (0.5, 0.5), (0.8, 0.5), (0.9, 0.3)]
    for groups in (6, 12, 37, 136):
        units = pair_units(groups)
        rejected_count = outside_count = covered_count = 0
        for right, shared in settings:
            better = min(right + 0.1, 0.95)
            for _ in range(times):
                equals = two_models(rng, groups, right, right, shared)
                rejected_count += p_paired(*equals, units) <= 0.05
                interval = paired_interval(*equals, units)
                outside_count += not interval.low <= 0 <= interval.high
                interval = paired_interval(*two_models(rng, groups, better, right, shared), units)
                covered_count += interval.low <= better - right <= interval.high
        n = times * len(settings)
        yield Measured("p of two models", f"equal, {groups} pairs, size", "≤ 0.05", rejected_count / n)
        yield Measured("difference of two models", f"equal, {groups} pairs, 0 outside", "≤ 0.06", outside_count / n)
        yield Measured("difference of two models", f"{groups} pairs, coverage", "0.95", covered_count / n)


def sample_sizes(times: int = TIMES) -> Iterator[Measured]:
    """Power of the tests with as many problems as the sample sizes ask for."""
    rng = np.random.default_rng(6)
    for right, correlation in ((0.55, 0.0), (0.6, -0.5), (0.6, 0.5), (0.7, 0.0)):
        pilot = share(pairs(rng, 4000, right, correlation), pair_units(4000))
        needed = n_to_beat_chance(right, design_effect=pilot.design_effect) or 0
        groups = math.ceil(needed / 2)
        rejected_count = 0
        for _ in range(times):
            flags = pairs(rng, groups, right, correlation)
            rejected_count += share(flags, pair_units(groups)).p(0.5) <= 0.05
        setting = f"{right:.0%} right, twins {correlation:+.1f}: {needed} problems, power"
        yield Measured("problems to beat chance", setting, "0.80", rejected_count / times)
    for first, second, shared in ((0.75, 0.7, 0.6), (0.8, 0.7, 0.3)):
        pilots = two_models(rng, 300_000, first, second, shared)
        needed = n_to_tell_apart(*pilots, pair_units(300_000)) or 0
        groups = math.ceil(needed / 2)
        rejected_count = 0
        for _ in range(times):
            models = two_models(rng, groups, first, second, shared)
            rejected_count += compare(*models, pair_units(groups)).p <= 0.05
        setting = f"{first:.0%} against {second:.0%}: {needed} problems, power"
        yield Measured("problems to tell two apart", setting, "0.80", rejected_count / times)


def gates(times: int = TIMES) -> Iterator[Measured]:
    """Measure how often a gate fails a model that lost just what is allowed, and one that lost what it should find."""
    rng = np.random.default_rng(10)
    shapes = [  # pairs, share right, shared luck, allowed
        *((12, 0.8, 0.7, 0.01), (37, 0.8, 0.7, 0.01), (136, 0.7, 0.9, 0.01), (136, 0.9, 0.9, 0.05)),
        *((634, 0.75, 0.9, 0.01), (634, 0.75, 0.99, 0.01), (634, 0.55, 0.5, 0.0), (634, 0.55, 0.0, 0.02)),
    ]
    for pair_count, right, shared, allowed in shapes:
        units = pair_units(pair_count)
        alarm_count = detected_count = 0
        drops = []
        for _ in range(times):
            models = two_models(rng, pair_count, right, right - allowed, shared)
            alarm_count += _does_fail(models, units, allowed)
            comparison = compare(*two_models(rng, pair_count, right, right, shared), units)
            drop = comparison.resolution.gap_to_find(allowed=allowed, most=comparison.first)
            if drop is not None:
                drops.append(drop)
                models = two_models(rng, pair_count, right, right - drop, shared)
                detected_count += _does_fail(models, units, allowed)
        setting = f"{pair_count} pairs, {right:.0%} right, {shared:.0%} shared, {100 * allowed:.0f} allowed"
        yield Measured("gate, false alarm", setting, "≤ 0.025", alarm_count / times)
        if drops:
            drop_percent = 100 * np.mean(drops)
            setting = f"{pair_count} pairs, {right:.0%}, {shared:.0%}, {100 * allowed:.0f}: finds {drop_percent:.1f}"
            yield Measured("gate, power", setting, "0.80", detected_count / len(drops))
    for groups in (37, 284):  # twins that are always alike: accuracy and group accuracy drop by the same
        alarm_count = 0
        for _ in range(times):
            first, second = two_models(rng, groups, 0.8, 0.78, 0.7)
            by_group = (first[:groups], second[:groups])
            by_problem = (np.repeat(by_group[0], 2), np.repeat(by_group[1], 2))
            does_accuracy_fail = _does_fail(by_problem, pair_units(groups), 0.02, 0.975)
            does_group_accuracy_fail = _does_fail(by_group, Units.alone(groups), 0.02, 0.975)
            alarm_count += does_accuracy_fail or does_group_accuracy_fail
        yield Measured("gate, false alarm", f"{groups} pairs alike, two metrics", "≤ 0.025", alarm_count / times)


def _does_fail(models: tuple[np.ndarray, np.ndarray], units: Units, allowed: float, level: float = 0.95) -> bool:
    """Whether a gate fails the second model, since it lost more than is allowed.

    `models` has the right answers of both.
    """
    return paired_interval(*models, units, level).low > allowed


def margins(times: int = TIMES) -> Iterator[Measured]:
    """Measure the verdicts on two models that differ by just the margin, and the gap that would be found."""
    rng = np.random.default_rng(11)
    shapes = [(20, 0.7, 0.5, 0.05), (60, 0.7, 0.5, 0.1), (136, 0.7, 0.9, 0.05), (634, 0.75, 0.6, 0.05)]
    for pair_count, right, shared, margin in shapes:
        units = pair_units(pair_count)
        equal_count = beyond_count = 0
        gaps_to_find = []
        for _ in range(times):
            comparison = compare(*two_models(rng, pair_count, right + margin, right, shared), units)
            narrow = comparison.narrow
            equal_count += -margin < narrow.low and narrow.high < margin
            beyond_count += comparison.interval.low > margin
            of_equals = compare(*two_models(rng, pair_count, right, right, shared), units)
            gap_to_find = of_equals.resolution.gap_to_find()
            if gap_to_find is not None:
                gaps_to_find.append(gap_to_find)
        setting = f"{pair_count} pairs, {right:.0%} right, {shared:.0%} shared, margin {100 * margin:.0f}"
        yield Measured("equal within the margin, at its border", setting, "≤ 0.05", equal_count / times)
        yield Measured("more than the margin, at its border", setting, "≤ 0.025", beyond_count / times)
        if gaps_to_find:
            median_gap = float(np.median(gaps_to_find))
            higher_share = min(right + median_gap / 2, 1.0)
            lower_share = higher_share - median_gap
            rejected_count = 0
            for _ in range(times):
                models = two_models(rng, pair_count, higher_share, lower_share, shared)
                rejected_count += p_paired(*models, units) <= 0.05
            setting = f"{pair_count} pairs, {right:.0%}, {shared:.0%}: a gap of {100 * median_gap:.1f}"
            yield Measured("gap to find, power", setting, "0.80", rejected_count / times)


def searches(times: int = TIMES) -> Iterator[Measured]:
    """Size and power of the test of the best of many trials (search_luck.py has more)."""
    from search_luck import Search, rejected

    search_count = max(times // 5, 20)
    for trials, problems in ((10, 104), (60, 104), (60, 500)):
        size = rejected(Search(trials, problems, shared=4.0), search_count)
        power = rejected(Search(trials, problems, shared=4.0, ahead=0.15), search_count)
        setting = f"{trials} trials, {problems} problems"
        yield Measured("best of many trials", f"{setting}, all equal: size", "≤ 0.05", size)
        yield Measured("best of many trials", f"{setting}, one 15 points better: power", "high", power)


def curves(times: int = TIMES) -> Iterator[Measured]:
    """Coverage of means, areas and slopes of learning curves (curve_bands.py has more)."""
    from curve_bands import World, covered

    for restarts, spread in ((3, 0.1), (3, 0.3), (5, 0.3)):
        for name, share_kept in covered(World(restarts, 150, restart=spread), max(times // 5, 20)).items():
            setting = f"{name}, {restarts} restarts, spread {spread} logits"
            yield Measured("learning curve", setting, "0.95", share_kept)


def relabelled(times: int = TIMES) -> Iterator[Measured]:
    """Size and power of the test of AFLite's removals against relabelled problems (relabelled.py has more)."""
    from relabelled import size_of_relabelled_test

    for bias, quantity, claimed in ((0.0, "size", "≤ 0.05"), (0.1, "power", "high")):
        beyond, _, runs = size_of_relabelled_test(max(times // 10, 20), share=bias)
        setting = f"bias in {bias:.0%} of 150 pairs, {runs:.0f} runs: {quantity}"
        yield Measured("AFLite beyond chance", setting, claimed, beyond)


def leaks(times: int = TIMES) -> Iterator[Measured]:
    """Share of false alarms of the leak checks, with answers shuffled by group (leaks.py has more)."""
    from leaks import SHAPES, leak_false_alarms

    for shape in SHAPES:
        alarms = leak_false_alarms(shape, max(times // 10, 20))
        yield Measured("leak checks, any alarm", f"{shape}, 100 units", "≤ 0.05", alarms)


def agreement(times: int = TIMES) -> Iterator[Measured]:
    """Coverage of the intervals of kappa and AC1, on yes/no votes of workers with a known accuracy.

    A bootstrap over problems (percentiles of 400 draws) is measured on a part of the same tables.
    """
    rng = np.random.default_rng(12)

    def draw_votes(problems: int, common: float, right: float, workers: int) -> np.ndarray:
        is_yes_true = rng.random(problems) < common
        yes_votes = rng.binomial(workers, np.where(is_yes_true, right, 1 - right))
        return np.stack([yes_votes, workers - yes_votes], axis=1)

    for common, right, workers in ((0.5, 0.9, 3), (0.5, 0.7, 3), (0.5, 0.98, 3), (0.15, 0.9, 3), (0.15, 0.97, 5)):
        for name, coefficient in (("Fleiss' kappa", fleiss_kappa), ("Gwet's AC1", gwet_ac1)):
            truth = coefficient(draw_votes(400_000, common, right, workers)).value
            for problems in (20, 50, 150, 273):
                tables = [draw_votes(problems, common, right, workers) for _ in range(times)]
                tables = [table for table in tables if table.sum(axis=0).min()]  # kappa is not defined for the others
                estimates = [coefficient(table) for table in tables]
                ends = [(estimate.low, estimate.high) for estimate in estimates]
                setting = f"{problems} problems, {common:.2f} so, {workers} workers right in {right:.2f}"
                yield Measured(name, setting, "≥ 0.95", share_covering(ends, truth))
                bootstrap_ends = [bootstrap(coefficient, table, rng) for table in tables[: times // 20]]
                yield Measured(f"{name}, bootstrap", setting, "≥ 0.95", share_covering(bootstrap_ends, truth))


def share_covering(ends: Sequence[tuple[float, float]], truth: float) -> float:
    """Share of intervals, each given by its ends, with the true value in them."""
    return float(np.mean([low <= truth <= high for low, high in ends]))


def bootstrap(
    coefficient: Callable[..., Coefficient], table: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """Percentiles 2.5 and 97.5 of a coefficient over problems drawn anew."""
    values = []
    for _ in range(400):
        rows = rng.integers(0, len(table), len(table))
        sample = table[rows]
        if sample.sum(axis=0).min():
            values.append(coefficient(sample).value)
    low, high = np.quantile(values, (0.025, 0.975))
    return low, high


SECTIONS: dict[str, Callable[[int], Iterator[Measured]]] = {
    "coverage": coverage,
    "accuracy": accuracy,
    "unequal": unequal,
    "large": large,
    "repeated": repeated,
    "luck": luck,
    "gaps": gaps,
    "agreement": agreement,
    "paired": paired,
    "sample-sizes": sample_sizes,
    "gates": gates,
    "margins": margins,
    "searches": searches,
    "curves": curves,
    "relabelled": relabelled,
    "leaks": leaks,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--quick", action="store_true", help="20 draws a line")
    args = parser.parse_args()
    times = 20 if args.quick else args.times
    with ProcessPoolExecutor(args.workers) as pool:
        for rows in pool.map(_run_section, args.only, repeat(times)):
            for row in rows:
                print(f"{row.what:30} {row.setting:54} claimed {row.claimed:8} measured {row.measured:.3f}", flush=True)


def _run_section(name: str, times: int) -> list[Measured]:
    """Measure one section, in a process of the pool."""
    return list(SECTIONS[name](times))


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
