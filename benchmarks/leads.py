"""Measure how often a leaderboard calls two equal submissions distinguishable: `python benchmarks/leads.py`.

Both submissions are right on the same share of the problems, in expectation. What each knows of a unit (a template,
say) holds for the problems of it with some probability, the agreement: at 1 a template is right or wrong as a whole, at
0 its pairs are independent. The test is the one of the board's neighbours, at 5 %, once over units and once over
groups, as it was before releases stored units.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from winokit.methods.metrics.judge_graded import lead_of
from winokit.stages.grade.units import GradedUnits
from winokit.stages.release.hidden import HiddenPart

LAYOUTS = {
    "Winogender: 60 templates of 6 pairs": [6] * 60,
    "360 pairs, each a unit": [1] * 360,
    "90 pairs in 33 units of 1 to 8": [1] * 12 + [2] * 8 + [3] * 6 + [4] * 3 + [8] * 4,
}
"""Number of pairs of each unit, by the name of the layout."""
AGREEMENTS = (0.0, 0.5, 0.8, 1.0)
ACCURACY = 0.7
LEVEL = 0.05


def labels_of(pairs_per_unit: list[int]) -> HiddenPart:
    """Make the labels of a test whose units have these numbers of pairs."""
    pairs = np.repeat(np.arange(len(pairs_per_unit)), pairs_per_unit)
    groups = tuple(f"group {number // 2}" for number in range(2 * len(pairs)))
    units = tuple(int(unit) for unit in np.repeat(pairs, 2))
    ids = tuple(map(str, range(len(units))))
    return HiddenPart(Path(), {}, ids, (0,) * len(units), groups, units)


def submission(units: GradedUnits, agreement: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the outcome of a submission for each problem, 1 right or 0 wrong, where pairs agree."""
    pair_units = units.of_groups.numbers
    of_units = rng.random(units.of_groups.count) < ACCURACY
    of_pairs = rng.random(len(pair_units)) < ACCURACY
    follows_unit = rng.random(len(pair_units)) < agreement
    right = np.where(follows_unit, of_units[pair_units], of_pairs)
    return np.repeat(right, 2).astype(np.float64)


def rejected(pairs_per_unit: list[int], agreement: float, times: int) -> tuple[float, float]:
    """Shares of equal submissions that are distinguishable over units, and over groups."""
    labels = labels_of(pairs_per_unit)
    rng = np.random.default_rng(0)
    by_unit = GradedUnits.of_labels(labels)
    by_group = GradedUnits.of_labels(HiddenPart(Path(), {}, labels.ids, labels.answers, labels.groups))
    count_over_units = 0
    count_over_groups = 0
    for _ in range(times):
        first = submission(by_unit, agreement, rng)
        second = submission(by_unit, agreement, rng)
        count_over_units += lead_of(first, second, by_unit.of_problems).p < LEVEL
        count_over_groups += lead_of(first, second, by_group.of_problems).p < LEVEL
    return float(count_over_units / times), float(count_over_groups / times)


def main() -> None:
    """Print a table of layouts and agreements."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--times", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="20 times")
    options = parser.parse_args()
    times = 20 if options.quick else options.times
    print(f"{'test':38} {'agreement':>9} {'by unit':>9} {'by group':>9}")
    for name, pairs_per_unit in LAYOUTS.items():
        for agreement in AGREEMENTS:
            over_units, over_groups = rejected(pairs_per_unit, agreement, times)
            print(f"{name:38} {agreement:9.1f} {over_units:9.3f} {over_groups:9.3f}")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
