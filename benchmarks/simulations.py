"""Do intervals cover what they say, and do tests reject as often as they say? docs/evidence/statistics.md, measured.

    python benchmarks/statistics.py [--times 2000] [--only coverage gaps …]

Each section draws data whose truth is known and prints what was claimed beside what was measured. Coverage of shares of
groups is exact (all outcomes, weighted); the rest is simulated.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from scipy import stats

from winokit.methods.metrics.agreement import Coefficient, fleiss_kappa, gwet_ac1
from winokit.methods.metrics.compare import compare, n_to_tell_apart, p_paired, paired_interval
from winokit.methods.metrics.intervals import gap, share
from winokit.methods.metrics.luck import n_to_beat_chance, p_chance
from winokit.units import Units

TIMES = 2000
GROUPS = (4, 5, 6, 8, 10, 13, 16, 20, 25, 37, 50, 80, 100, 150, 284, 300)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
CORRELATIONS = (-1.0, -0.5, 0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Measured:
    """One claim and what was measured: coverage should be no less, size no more."""

    what: str
    setting: str
    claimed: str
    measured: float


def coverage(times: int = TIMES) -> Iterator[Measured]:
    """Shares of groups, each right as a whole or not: exact coverage of the interval, worst over true shares."""
    for n in GROUPS:
        ends = [share([1.0] * right + [0.0] * (n - right), Units.alone(n)).interval() for right in range(n + 1)]
        low, high = np.array([interval.low for interval in ends]), np.array([interval.high for interval in ends])
        chances = stats.binom.pmf(np.arange(n + 1)[:, None], n, SHARES)
        kept = (low[:, None] <= SHARES) & (high[:, None] >= SHARES)
        worst = float((chances * kept).sum(axis=0).min())
        yield Measured("share of groups", f"{n} groups, worst of shares .01 to .99", "≥ 0.950", worst)


def pairs(rng: np.random.Generator, groups: int, right: float, correlation: float, singles: int = 0) -> np.ndarray:
    """Draw right answers of pairs whose twins agree more or less than by chance, then of problems alone."""
    wrong = 1 - right
    most = right * wrong if correlation >= 0 else min(right, wrong) ** 2
    both, none = right**2 + correlation * most, wrong**2 + correlation * most
    draw = rng.random(groups)
    first = rng.random(groups) < 0.5
    one = np.where(draw < both, True, np.where(draw < both + none, False, first))
    other = np.where(draw < both, True, np.where(draw < both + none, False, ~first))
    return np.concatenate([np.stack([one, other], axis=1).ravel(), rng.random(singles) < right])


def pair_units(pair_count: int, singles: int = 0) -> Units:
    """Units of two problems each, then problems alone."""
    return Units(np.concatenate([np.repeat(np.arange(pair_count), 2), pair_count + np.arange(singles)]))


def accuracy(times: int = TIMES) -> Iterator[Measured]:
    """Accuracy on problems with twins: coverage, worst over true shares and over how twins agree."""
    rng = np.random.default_rng(1)
    for groups in (4, 6, 8, 13, 20, 37, 100, 284):
        for singles in (0, 2 * groups):
            units, worst = pair_units(groups, singles), 1.0
            for right in (0.1, 0.25, 0.5, 0.7, 0.9):
                for correlation in CORRELATIONS:
                    kept = 0
                    for _ in range(times):
                        interval = share(pairs(rng, groups, right, correlation, singles), units).interval()
                        kept += interval.low - 1e-9 <= right <= interval.high + 1e-9
                    worst = min(worst, kept / times)
            alone = f", {singles} alone" if singles else ""
            yield Measured("accuracy", f"{groups} pairs{alone}, worst of 25", "0.95", worst)


def unequal(times: int = TIMES) -> Iterator[Measured]:
    """Clusters of very different sizes: passages with many questions beside problems that stand alone."""
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
            kept = 0
            for _ in range(times):
                common, own = rng.random(len(sizes)) < 0.5, rng.random(len(numbers)) < 0.5
                right = np.where(rng.random(len(numbers)) < math.sqrt(alike), common[numbers], own)
                interval = share(right, Units(numbers)).interval()
                kept += interval.low <= 0.5 <= interval.high
            yield Measured("accuracy", f"clusters: {name}, alike {alike}", "0.95", kept / times)
    for many in (1, 2, 4):
        numbers = np.concatenate([np.repeat(np.arange(many), 12), many + np.arange(200)])
        first, kept = np.arange(len(numbers)) < 12 * many, 0
        for _ in range(times):
            common, own = rng.random(numbers.max() + 1) < 0.5, rng.random(len(numbers)) < 0.5
            right = np.where(rng.random(len(numbers)) < math.sqrt(0.3), common[numbers], own)
            interval = gap(right, first, ~first, Units(numbers)).interval()
            kept += interval.low <= 0 <= interval.high
        yield Measured("difference of subsets", f"{many} of 12 against 200 alone", "0.95", kept / times)


def large(times: int = TIMES) -> Iterator[Measured]:
    """Equal units of twelve, nearly all right, a fifth of the problems silent or none: worst over how units agree."""
    rng = np.random.default_rng(11)
    for unit_count in (12, 30, 60):
        units = Units(np.repeat(np.arange(unit_count), 12))
        for right in (0.5, 0.9, 0.97):
            for silent in (0.0, 0.2):
                shares = (0.0, 0.3, 0.8, 0.9, 1.0)
                coverage = [_measure_large_coverage(units, right, silent, together, times, rng) for together in shares]
                setting = f"{unit_count} units of 12, {right:.0%} right, {silent:.0%} silent, worst of 5"
                yield Measured("accuracy, half credits", setting, "0.95", min(coverage))


def _measure_large_coverage(
    units: Units, right: float, silent: float, together: float, times: int, rng: np.random.Generator
) -> float:
    """Share of intervals that cover the truth, if a share `together` of the problems agrees with its unit."""
    truth = right * (1 - silent) + silent / 2
    kept = 0
    for _ in range(times):
        of_unit = (rng.random(units.count) < right)[units.numbers]
        is_common = rng.random(len(units)) < together
        earned = np.where(is_common, of_unit, rng.random(len(units)) < right)
        interval = share(np.where(rng.random(len(units)) < silent, 0.5, earned), units).interval()
        kept += interval.low - 1e-9 <= truth <= interval.high + 1e-9
    return kept / times


def repeated(times: int = TIMES) -> Iterator[Measured]:
    """Each text read three times by a scorer that does not see the pronoun, in templates of twelve (Winogender)."""
    rng = np.random.default_rng(2)
    templates = Units(np.repeat(np.arange(60), 12))
    for right in (0.5, 0.6, 0.8):
        kept = small = 0
        for _ in range(times):
            harder = np.clip(right + rng.normal(0, 0.05, 60), 0.01, 0.99)  # templates differ a little
            texts = rng.random((60, 4)) < harder[:, None]
            answers = np.repeat(texts, 3, axis=1).ravel()
            interval = share(answers, templates).interval()
            kept += interval.low <= right <= interval.high
            guesses = np.repeat(rng.random(240) < 0.5, 3)
            small += p_chance(int(guesses.sum()), 720, [0.5] * 240, [3] * 240) <= 0.05
        yield Measured(
            "accuracy, texts read thrice", f"720 problems, 240 texts, {right:.0%} right", "0.95", kept / times
        )
        if right == 0.5:
            yield Measured("p that guessing does as well", "240 texts read thrice, size", "≤ 0.05", small / times)


def luck(times: int = TIMES) -> Iterator[Measured]:
    """The exact test of guessing, for a coin that abstains."""
    rng = np.random.default_rng(3)
    for n in (20, 60, 273, 1267):
        for silent in (0.0, 0.3, 0.9):
            small = 0
            for _ in range(times):
                chances = np.where(rng.random(n) < silent, 0.0, 0.5)
                small += p_chance(int((rng.random(n) < chances).sum()), n, chances) <= 0.05
            yield Measured(
                "p that guessing does as well", f"coin, {n} problems, {silent:.0%} silent", "≤ 0.05", small / times
            )


def gaps(times: int = TIMES) -> Iterator[Measured]:
    """The difference between two subsets: apart, and with twins in both."""
    rng = np.random.default_rng(4)
    for n in (4, 8, 20, 60):
        kept = {"apart": 0, "twins": 0}
        shares = [(0.5, 0.5), (0.9, 0.9), (0.8, 0.6), (0.95, 0.7)]
        first = np.arange(2 * n) < n
        for one, other in shares:
            for _ in range(times):
                right = rng.random(2 * n) < np.where(first, one, other)
                interval = gap(right, first, ~first, Units.alone(2 * n)).interval()
                kept["apart"] += interval.low - 1e-9 <= one - other <= interval.high + 1e-9
                draw = rng.random(n)  # twins agree on what is hard
                right = np.concatenate([draw < one, draw < other])
                interval = gap(right, first, ~first, Units(np.tile(np.arange(n), 2))).interval()
                kept["twins"] += interval.low - 1e-9 <= one - other <= interval.high + 1e-9
        for name, count in kept.items():
            yield Measured(
                "difference of subsets", f"{n} and {n}, {name}, mean of 4", "0.95", count / times / len(shares)
            )


def two_models(
    rng: np.random.Generator, groups: int, first: float, second: float, shared: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw right answers of two models on pairs, with the same luck on a share of the problems."""
    draw, same = rng.random(2 * groups), rng.random(2 * groups) < shared
    mine, theirs = rng.random(2 * groups), rng.random(2 * groups)
    return np.where(same, draw, mine) < first, np.where(same, draw, theirs) < second


def paired(times: int = TIMES) -> Iterator[Measured]:
    """Two models on the same problems: how often equal ones are told apart, coverage, and power."""
    rng = np.random.default_rng(5)
    for groups in (6, 12, 37, 136):
        units = pair_units(groups)
        small = outside = kept = 0
        settings = [(0.5, 0.0), (0.5, 0.5), (0.8, 0.5), (0.9, 0.3)]
        for right, shared in settings:
            for _ in range(times):
                one, other = two_models(rng, groups, right, right, shared)
                small += p_paired(one, other, units) <= 0.05
                interval = paired_interval(one, other, units)
                outside += not interval.low <= 0 <= interval.high
                one, other = two_models(rng, groups, min(right + 0.1, 0.95), right, shared)
                interval = paired_interval(one, other, units)
                kept += interval.low <= min(right + 0.1, 0.95) - right <= interval.high
        n = times * len(settings)
        yield Measured("p of two models", f"equal, {groups} pairs, size", "≤ 0.05", small / n)
        yield Measured("difference of two models", f"equal, {groups} pairs, 0 outside", "≤ 0.06", outside / n)
        yield Measured("difference of two models", f"{groups} pairs, coverage", "0.95", kept / n)


def sample_sizes(times: int = TIMES) -> Iterator[Measured]:
    """With as many problems as were asked for, how often the test finds the difference."""
    rng = np.random.default_rng(6)
    for right, correlation in ((0.55, 0.0), (0.6, -0.5), (0.6, 0.5), (0.7, 0.0)):
        pilot = share(pairs(rng, 4000, right, correlation), pair_units(4000))
        needed = n_to_beat_chance(right, design_effect=pilot.design_effect) or 0
        groups, hits = -(-needed // 2), 0
        for _ in range(times):
            hits += share(pairs(rng, groups, right, correlation), pair_units(groups)).p(0.5) <= 0.05
        setting = f"{right:.0%} right, twins {correlation:+.1f}: {needed} problems, power"
        yield Measured("problems to beat chance", setting, "0.80", hits / times)
    for first, second, shared in ((0.75, 0.7, 0.6), (0.8, 0.7, 0.3)):
        needed = n_to_tell_apart(*two_models(rng, 300_000, first, second, shared), pair_units(300_000)) or 0
        groups, hits = -(-needed // 2), 0
        for _ in range(times):
            hits += compare(*two_models(rng, groups, first, second, shared), pair_units(groups)).p <= 0.05
        setting = f"{first:.0%} against {second:.0%}: {needed} problems, power"
        yield Measured("problems to tell two apart", setting, "0.80", hits / times)


def gates(times: int = TIMES) -> Iterator[Measured]:
    """Measure how often a gate fails a model that lost just what is allowed, and one that lost what it should find."""
    rng = np.random.default_rng(10)
    shapes = [  # pairs, share right, shared luck, allowed
        *((12, 0.8, 0.7, 0.01), (37, 0.8, 0.7, 0.01), (136, 0.7, 0.9, 0.01), (136, 0.9, 0.9, 0.05)),
        *((634, 0.75, 0.9, 0.01), (634, 0.75, 0.99, 0.01), (634, 0.55, 0.5, 0.0), (634, 0.55, 0.0, 0.02)),
    ]
    for pairs_, right, shared, allowed in shapes:
        units, alarms, detected, drops = pair_units(pairs_), 0, 0, []
        for _ in range(times):
            alarms += _does_fail(two_models(rng, pairs_, right, right - allowed, shared), units, allowed)
            found = compare(*two_models(rng, pairs_, right, right, shared), units)
            drop = found.resolution.gap_to_find(allowed=allowed, most=found.first)
            if drop is not None:
                drops.append(drop)
                detected += _does_fail(two_models(rng, pairs_, right, right - drop, shared), units, allowed)
        setting = f"{pairs_} pairs, {right:.0%} right, {shared:.0%} shared, {100 * allowed:.0f} allowed"
        yield Measured("gate, false alarm", setting, "≤ 0.025", alarms / times)
        if drops:
            setting = (
                f"{pairs_} pairs, {right:.0%}, {shared:.0%}, {100 * allowed:.0f}: finds {100 * np.mean(drops):.1f}"
            )
            yield Measured("gate, power", setting, "0.80", detected / len(drops))
    for groups in (37, 284):  # twins that are always alike: accuracy and group accuracy drop by the same
        alarms = 0
        for _ in range(times):
            one, other = (side[:groups] for side in two_models(rng, groups, 0.8, 0.78, 0.7))
            twice = (np.repeat(one, 2), np.repeat(other, 2))
            both = ((twice, pair_units(groups)), ((one, other), Units.alone(groups)))
            alarms += any(_does_fail(sides, units, 0.02, 0.975) for sides, units in both)
        yield Measured("gate, false alarm", f"{groups} pairs alike, two metrics", "≤ 0.025", alarms / times)


def _does_fail(sides: tuple[np.ndarray, np.ndarray], units: Units, allowed: float, level: float = 0.95) -> bool:
    return paired_interval(*sides, units, level).low > allowed


def margins(times: int = TIMES) -> Iterator[Measured]:
    """Measure the verdicts on two models that differ by just the margin, and the gap that would be found."""
    rng = np.random.default_rng(11)
    shapes = [(20, 0.7, 0.5, 0.05), (60, 0.7, 0.5, 0.1), (136, 0.7, 0.9, 0.05), (634, 0.75, 0.6, 0.05)]
    for pair_count, right, shared, margin in shapes:
        units, equal, beyond, gaps_found = pair_units(pair_count), 0, 0, []
        for _ in range(times):
            found = compare(*two_models(rng, pair_count, right + margin, right, shared), units)
            equal += -margin < found.narrow.low and found.narrow.high < margin
            beyond += found.interval.low > margin
            alike = compare(*two_models(rng, pair_count, right, right, shared), units)
            gaps_found.append(alike.resolution.gap_to_find())
        setting = f"{pair_count} pairs, {right:.0%} right, {shared:.0%} shared, margin {100 * margin:.0f}"
        yield Measured("equal within the margin, at its border", setting, "≤ 0.05", equal / times)
        yield Measured("more than the margin, at its border", setting, "≤ 0.025", beyond / times)
        known = [each for each in gaps_found if each is not None]
        if known:
            gap_found = float(np.median(known))
            shares = (min(right + gap_found / 2, 1.0), min(right + gap_found / 2, 1.0) - gap_found)
            hits = sum(p_paired(*two_models(rng, pair_count, *shares, shared), units) <= 0.05 for _ in range(times))
            setting = f"{pair_count} pairs, {right:.0%}, {shared:.0%}: a gap of {100 * gap_found:.1f}"
            yield Measured("gap to find, power", setting, "0.80", hits / times)


def searches(times: int = TIMES) -> Iterator[Measured]:
    """The best of many trials against its equals (search_luck.py has more)."""
    from search_luck import Search, rejected

    many = max(times // 5, 20)
    for trials, problems in ((10, 104), (60, 104), (60, 500)):
        size = rejected(Search(trials, problems, shared=4.0), many)
        power = rejected(Search(trials, problems, shared=4.0, ahead=0.15), many)
        setting = f"{trials} trials, {problems} problems"
        yield Measured("best of many trials", f"{setting}, all equal: size", "≤ 0.05", size)
        yield Measured("best of many trials", f"{setting}, one 15 points better: power", "high", power)


def curves(times: int = TIMES) -> Iterator[Measured]:
    """Means over restarts and test groups, areas and slopes of learning curves (curve_bands.py has more)."""
    from curve_bands import World, covered

    for restarts, spread in ((3, 0.1), (3, 0.3), (5, 0.3)):
        for name, share_kept in covered(World(restarts, 150, restart=spread), max(times // 5, 20)).items():
            setting = f"{name}, {restarts} restarts, spread {spread} logits"
            yield Measured("learning curve", setting, "0.95", share_kept)


def relabelled(times: int = TIMES) -> Iterator[Measured]:
    """AFLite's removals among those from relabelled problems (relabelled.py has more)."""
    from relabelled import size_of_relabelled_test

    for bias in (0.0, 0.1):
        beyond, _, runs = size_of_relabelled_test(max(times // 10, 20), share=bias)
        what = "size" if bias == 0 else "power"
        setting = f"bias in {bias:.0%} of 150 pairs, {runs:.0f} runs: {what}"
        yield Measured("AFLite beyond chance", setting, "≤ 0.05" if bias == 0 else "high", beyond)


def leaks(times: int = TIMES) -> Iterator[Measured]:
    """False alarms of the leak checks, answers shuffled by group (leaks.py has more)."""
    from leaks import SHAPES, leak_false_alarms

    for shape in SHAPES:
        alarms = leak_false_alarms(shape, max(times // 10, 20))
        yield Measured("leak checks, any alarm", f"{shape}, 100 units", "≤ 0.05", alarms)


def agreement(times: int = TIMES) -> Iterator[Measured]:
    """Intervals of kappa and AC1: problems are so or not, and each of some workers says so with some accuracy.

    Beside them, what a bootstrap over problems (percentiles of 400 draws) covers on a part of the same tables.
    """
    rng = np.random.default_rng(12)

    def votes(problems: int, common: float, right: float, workers: int) -> np.ndarray:
        yes = rng.binomial(workers, np.where(rng.random(problems) < common, right, 1 - right))
        return np.stack([yes, workers - yes], axis=1)

    for common, right, workers in ((0.5, 0.9, 3), (0.5, 0.7, 3), (0.5, 0.98, 3), (0.15, 0.9, 3), (0.15, 0.97, 5)):
        for name, coefficient in (("Fleiss' kappa", fleiss_kappa), ("Gwet's AC1", gwet_ac1)):
            truth = coefficient(votes(400_000, common, right, workers)).value
            for problems in (20, 50, 150, 273):
                tables = [votes(problems, common, right, workers) for _ in range(times)]
                tables = [table for table in tables if table.sum(axis=0).min()]  # kappa is not defined for the others
                estimates = [coefficient(table) for table in tables]
                setting = f"{problems} problems, {common:.2f} so, {workers} workers right in {right:.2f}"
                held = float(np.mean([estimate.low <= truth <= estimate.high for estimate in estimates]))
                yield Measured(name, setting, "≥ 0.95", held)
                drawn = [bootstrap(coefficient, table, rng) for table in tables[: times // 20]]
                yield Measured(
                    f"{name}, bootstrap", setting, "≥ 0.95", float(np.mean([a <= truth <= b for a, b in drawn]))
                )


def bootstrap(
    coefficient: Callable[..., Coefficient], table: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """Percentiles over problems drawn anew."""
    values = []
    for _ in range(400):
        drawn = table[rng.integers(0, len(table), len(table))]
        if drawn.sum(axis=0).min():
            values.append(coefficient(drawn).value)
    return tuple(np.quantile(values, (0.025, 0.975)))


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
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.workers) as pool:
        for rows in pool.map(_run_section, asked.only, repeat(20 if asked.quick else asked.times)):
            for row in rows:
                print(f"{row.what:30} {row.setting:54} claimed {row.claimed:8} measured {row.measured:.3f}", flush=True)


def _run_section(name: str, times: int) -> list[Measured]:
    return list(SECTIONS[name](times))


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
