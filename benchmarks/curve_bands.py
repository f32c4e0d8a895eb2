"""How often the intervals of a learning curve hold the truth: what all restarts on all possible test sets would give.

python benchmarks/curve_bands.py [--curves 400] [--quick]

A restart is better or worse as a whole and at each size by itself; a pair of test problems is easier or harder, and
gains more or less from more training data. True means, slope, area and the size at which the goal is reached come from
a test set and restarts without number; printed is the share of simulated curves whose intervals hold them.
"""

import argparse
import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from winokit.methods.metrics.curve import fit_log, leaderboard_auc
from winokit.problem import Card, Dataset, Problem
from winokit.results import Metric
from winokit.stages.curve.fit import CurveGoal, CurvePoint, series_of

SIZES = (160, 640, 2_558, 10_234)
GOAL = 80.0


@dataclass(frozen=True)
class World:
    """What there is to be found: restarts, pairs in the test set, and how much either differ, in logits."""

    restarts: int = 3
    pairs: int = 150
    restart: float = 0.3
    """Of a restart as a whole, and half of it again at each size; 0.2 is about four points of accuracy."""
    problem: float = 1.5
    gain: float = 0.15
    """By how much pairs differ in what a four times larger training set does for them."""

    def chances(self, rng: np.random.Generator, restarts: int, pairs: int) -> np.ndarray:
        """The probability of a right answer by restart, size and problem."""
        steps = np.arange(len(SIZES))
        run = self.restart * rng.normal(size=(restarts, 1)) + self.restart / 2 * rng.normal(size=(restarts, len(SIZES)))
        hard = self.problem * (rng.normal(size=(pairs, 1)) + rng.normal(size=(pairs, 2))) / math.sqrt(2)
        level = 0.2 + (0.35 + self.gain * rng.normal(size=pairs))[None, :] * steps[:, None]
        return special.expit(run[:, :, None, None] + level[None, :, :, None] + hard[None, None]).reshape(
            restarts, len(SIZES), 2 * pairs
        )

    def truth(self) -> dict[str, list[float]]:
        """Mean of each size, area, slope, and where the goal is reached, of single and of group accuracy."""
        rng = np.random.default_rng(0)
        many = [self.chances(rng, 1, 4_000)[0] for _ in range(300)]
        single = np.mean([chance.mean(axis=1) for chance in many], axis=0)
        group = np.mean([(chance[:, ::2] * chance[:, 1::2]).mean(axis=1) for chance in many], axis=0)
        return {"accuracy": _numbers(single), "group_accuracy": _numbers(group)}

    def points(self, rng: np.random.Generator) -> list[CurvePoint]:
        """The points of one curve."""
        right = rng.random((self.restarts, len(SIZES), 2 * self.pairs)) < self.chances(rng, self.restarts, self.pairs)
        points = []
        for restart, own in enumerate(right, 1):
            for size, flags in zip(SIZES, own, strict=True):
                both = score(float((flags[::2] & flags[1::2]).mean()), chance=0.25)
                named = "test", "mc", size, size, restart, 0
                points.append(CurvePoint(*named, score(float(flags.mean()), chance=0.5), flags, both))
        return points


def score(value: float, chance: float) -> Metric:
    """An accuracy of one point."""
    return Metric("test", "", "mc", "mc", "curve", "", "accuracy", value, 0, chance=chance)


def _numbers(means: np.ndarray) -> list[float]:
    fit = fit_log(SIZES, 100 * means)
    line = [fit.at(size) for size in SIZES]
    return [*means, leaderboard_auc(means.tolist(), SIZES), *line, fit.slope, fit.reaches(GOAL)]


def covered(world: World, curves: int = 400) -> dict[str, float]:
    """Share of intervals that hold the truth: of means and areas, of the line's height and slope, and its arrival."""
    truth = world.truth()
    problems = [Problem(f"{n} a", "b", ("x", "y"), 0, group=str(n // 2)) for n in range(2 * world.pairs)]
    test = Dataset(problems, Card("test"))
    kinds = [*["mean"] * len(SIZES), "area", *["line"] * len(SIZES), "slope", "reach"]
    held: dict[str, list[bool]] = {}
    for seed in range(curves):
        points = world.points(np.random.default_rng([seed, world.restarts, world.pairs]))
        for series in series_of(points, CurveGoal(GOAL, GOAL), [test]):
            fitted = [*(series.fit.interval_at(size) for size in SIZES), series.fit.slope_interval(), series.reach]
            shares = [*(level.mean for level in series.levels), series.auc]
            ends = [(interval.low, interval.high) for interval in (*shares, *fitted)]
            for kind, (low, high), value in zip(kinds, ends, truth[series.measure], strict=True):
                held.setdefault(kind, []).append(low <= value <= high)
    return {kind: float(np.mean(flags)) for kind, flags in held.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="5 curves a row, to see it run")
    args = parser.parse_args()
    curves = 5 if args.quick else args.curves
    print("restarts  pairs  restart  mean   area   line   slope  reach")
    for restarts in (2, 3, 5):
        for pairs in (50, 150, 600):
            for restart in (0.0, 0.1, 0.3):
                shares = covered(World(restarts, pairs, restart), curves)
                print(f"{restarts:8}{pairs:7}{restart:9}  " + "  ".join(f"{share:.3f}" for share in shares.values()))


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
