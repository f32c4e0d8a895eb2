"""Measure how often a learning curve is right: intervals, the size at which a goal is reached, what hangs on seeds.

python benchmarks/curve_bands.py [--curves 400] [--quick]

A restart is better or worse as a whole and at each size by itself; a pair of test problems is easier or harder, and
gains more or less from more training data, and so does a unit of several pairs. True means, slopes and areas come from
a test set and restarts without number. Printed are the share of simulated curves whose intervals hold them; how often a
size is given for a goal, and how often a given one has an interval that does not hold the true size; and how often it
is said that the answer depends on the seed, where all restarts have one slope and where they do not.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import optimize, special

from winokit.answers import Answers, Scorer, TrialName
from winokit.methods.metrics.curve import fit_log, leaderboard_auc
from winokit.methods.metrics.judge_curves import ACCURACY, REACHED, CurveSeries, judge_curves
from winokit.problem import Card, Dataset, Problem
from winokit.stages.curve.verdict import DISAGREE, seeds_of

SIZES = (160, 640, 2_558, 10_234)
MANY = 60_000
"""Problems of the test set without number."""
Shape = Callable[[float], float]
"""From the logarithm of the size, in steps of four times as many, to the share of problems that is right."""


def straight(step: float) -> float:
    return 0.55 + 0.06 * step


def bent(step: float) -> float:
    return 0.55 + 0.22 * (1 - math.exp(-0.7 * step))


def levelling(step: float) -> float:
    """Never above 73 %."""
    return 0.55 + 0.18 * (1 - math.exp(-0.8 * step))


def flat(step: float) -> float:
    return 0.6


def like_an_s(step: float) -> float:
    """Slowly, then fast, then slowly."""
    return 0.52 + 0.36 / (1 + math.exp(-2.5 * (step - 2)))


SHAPES = {"straight": straight, "bent": bent, "levelling": levelling, "like an S": like_an_s, "flat": flat}


@dataclass(frozen=True)
class World:
    """True values to be found: restarts, units in the test set, and how much either differ, in logits."""

    restarts: int = 3
    units: int = 150
    pairs: int = 1
    """Pairs of a unit."""
    restart: float = 0.3
    """Of a restart as a whole, and half of it again at each size; 0.2 is about four points of accuracy."""
    unit: float = 1.0
    """Of a unit, beside that of its pairs and problems."""
    problem: float = 1.5
    gain: float = 0.15
    """By how much pairs differ in what a four times larger training set does for them; units by as much again."""
    seed_slope: float = 0.0
    """By how much restarts differ in that."""
    shape: str = "straight"
    sizes: tuple[int, ...] = SIZES

    @property
    def steps(self) -> np.ndarray:
        """Sizes as steps of four times as many."""
        return np.log(np.array(self.sizes) / self.sizes[0]) / math.log(4)

    def hardness(self, rng: np.random.Generator, units: int) -> np.ndarray:
        """Draw how much easier each problem is: units by pairs by members."""
        of_unit = self.unit * rng.normal(size=(units, 1, 1))
        of_pair = rng.normal(size=(units, self.pairs, 1))
        of_problem = rng.normal(size=(units, self.pairs, 2))
        return of_unit + self.problem * (of_pair + of_problem) / math.sqrt(2)

    def gains(self, rng: np.random.Generator, units: int) -> np.ndarray:
        """Draw the gain of each pair in a step beyond the gain of all: units by pairs."""
        return self.gain * (rng.normal(size=(units, 1)) + rng.normal(size=(units, self.pairs))) / math.sqrt(2)

    def runs(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        """Draw the lead of each run over others: restarts by sizes."""
        whole = self.restart * rng.normal(size=(restarts, 1))
        single = self.restart / 2 * rng.normal(size=(restarts, len(self.sizes)))
        return whole + single + self.seed_slope * rng.normal(size=(restarts, 1)) * self.steps

    @cached_property
    def population(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Levels in logits that give the shape, and the true single and group accuracy of the sizes."""
        rng = np.random.default_rng(0)
        units = MANY // (2 * self.pairs)
        hard, gains = self.hardness(rng, units), self.gains(rng, units)
        spread = np.quantile(rng.normal(size=100_000), np.arange(1, 40, 2) / 40)

        def chances(level: float, step: float) -> np.ndarray:
            run = math.sqrt(1.25 * self.restart**2 + (self.seed_slope * step) ** 2) * spread
            own = level + gains[..., None] * step + hard
            return np.stack([special.expit(own + more) for more in run])

        levels, single, group = [], [], []
        for step in self.steps:
            wanted = SHAPES[self.shape](step)
            level = optimize.brentq(lambda at: chances(at, step).mean() - wanted, -4, 6, xtol=1e-4)  # noqa: B023
            levels.append(level)
            single.append(chances(level, step).mean())
            group.append(chances(level, step).prod(axis=-1).mean())
        return np.array(levels), np.array(single), np.array(group)

    def truth(self) -> dict[str, list[float]]:
        """Mean of each size, area, the line's height and slope, of single and of group accuracy."""
        _, single, group = self.population
        return {"accuracy": self._write_numbers(single), "group_accuracy": self._write_numbers(group)}

    def _write_numbers(self, means: np.ndarray) -> list[float]:
        fit = fit_log(self.sizes, 100 * means)
        line = [fit.at(size) for size in self.sizes]
        return [*means, leaderboard_auc(means.tolist(), self.sizes), *line, fit.slope]

    def arrival(self, goal: float) -> float:
        """Size at which the true curve reaches a goal in per cent, infinite if it never does."""
        shape = SHAPES[self.shape]
        if shape(60) < goal / 100:
            return math.inf
        return self.sizes[0] * 4 ** optimize.brentq(lambda step: shape(step) - goal / 100, 0, 60)

    @cached_property
    def test_set(self) -> Dataset:
        """Pairs, in units by their template."""
        problems = []
        for unit in range(self.units):
            for pair in range(self.pairs):
                for answer in (0, 1):
                    name = f"{unit}.{pair}"
                    text = f"Pair {name} says "
                    labels = {"template": str(unit)}
                    problems.append(Problem(text, f" {answer}.", ("x", "y"), answer, group=name, labels=labels))
        return Dataset(problems, Card("test"))

    def curves(self, rng: np.random.Generator, goal: float | None = None) -> list[CurveSeries]:
        """Fit one simulated curve, and return the statements on single and on group accuracy."""
        levels, _, _ = self.population
        hard, gains = self.hardness(rng, self.units), self.gains(rng, self.units)
        own = levels[:, None, None, None] + gains[..., None] * self.steps[:, None, None, None] + hard
        chances = special.expit(self.runs(rng, self.restarts)[:, :, None, None, None] + own)
        right = rng.random(chances.shape) < chances
        answers = np.tile((0, 1), self.units * self.pairs)
        choices = {}
        for restart, by_size in enumerate(right):
            for size, flags in zip(self.sizes, by_size, strict=True):
                choices[TrialName(restart, size)] = np.where(flags.ravel(), answers, 1 - answers)
        table = Answers.of_trials(self.test_set, choices, Scorer("", "mc", "mc"))
        return judge_curves(table, {ACCURACY: goal})


def covered(world: World, curves: int = 400) -> dict[str, float]:
    """Share of intervals that hold the truth: of means and areas, of the line's height and slope."""
    truth = world.truth()
    count = len(world.sizes)
    kinds = [*["mean"] * count, "area", *["line"] * count, "slope"]
    held: dict[str, list[bool]] = {}
    for seed in range(curves):
        for series in world.curves(np.random.default_rng([seed, world.restarts, world.units])):
            fitted = [*(series.fit.interval_at(size) for size in world.sizes), series.fit.slope_interval()]
            shares = [*(level.mean for level in series.levels), series.auc]
            ends = [(interval.low, interval.high) for interval in (*shares, *fitted)]
            for kind, (low, high), value in zip(kinds, ends, truth[series.measure], strict=True):
                held.setdefault(f"{series.measure} {kind}", []).append(low <= value <= high)
    return {kind: float(np.mean(flags)) for kind, flags in held.items()}


@dataclass(frozen=True)
class Reached:
    """Statements on a goal, as shares of curves."""

    given: float
    """A size is given."""
    wrong: float
    """A size is given whose interval does not hold the true one."""
    beyond_largest: float
    """A size or an end of an interval beyond four times the largest size."""
    kinds: dict[str, float]


def reached(world: World, goal: float, curves: int = 400) -> Reached:
    """Shares of curves that give a size for a goal, and that give a wrong one."""
    true_size = world.arrival(goal)
    kinds: dict[str, int] = {}
    wrong = beyond = 0
    for seed in range(curves):
        single, _ = world.curves(np.random.default_rng([seed, world.restarts, world.units]), goal)
        reach = single.reach
        kinds[reach.kind] = kinds.get(reach.kind, 0) + 1
        if reach.kind == REACHED:
            wrong += not reach.low <= true_size <= reach.high
            beyond += max(reach.size, reach.high) > 4 * max(world.sizes)
    shares = {kind: count / curves for kind, count in kinds.items()}
    return Reached(shares.get(REACHED, 0.0), wrong / curves, beyond / curves, shares)


def depends_on_seed(world: World, curves: int = 400) -> float:
    """Share of curves of which it is said that the lines of restarts differ in direction."""
    said = 0
    for seed in range(curves):
        single, _ = world.curves(np.random.default_rng([seed, world.restarts, world.units]))
        said += seeds_of(single) == DISAGREE
    return said / curves


def print_bands(curves: int) -> None:
    """Coverage of intervals."""
    print(
        "restarts  units  problems each  restart      mean   area   line  slope   of groups: mean   area   line  slope"
    )
    for restarts in (2, 3, 5):
        for units, pairs in ((60, 6), (20, 6), (150, 1), (600, 1)):
            for restart in (0.0, 0.1, 0.3):
                shares = covered(World(restarts, units, pairs, restart), curves).values()
                single, group = list(shares)[:4], list(shares)[4:]
                told = ["  ".join(f"{share:.3f}" for share in part) for part in (single, group)]
                print(f"{restarts:8}{units:7}{2 * pairs:15}{restart:9}   {told[0]:>32}   {told[1]:>32}", flush=True)


def print_goals(curves: int) -> None:
    """Sizes at which a goal is reached."""
    print("shape      restarts  units  sizes  restart  goal  true size   given  wrong  beyond 4x  what is said")
    longer = (*SIZES, 40_398)
    goals = {"straight": (70.0, 76.0), "bent": (72.0, 76.0), "levelling": (76.0,), "like an S": (60.0, 80.0)}
    for shape, goal in [(shape, goal) for shape, of_shape in goals.items() for goal in of_shape]:
        for restarts in (3, 5):
            for units, pairs, restart in ((600, 1, 0.1), (60, 6, 0.1), (600, 1, 0.3)):
                for sizes in (SIZES, longer):
                    world = World(restarts, units, pairs, restart, shape=shape, sizes=sizes)
                    found = reached(world, goal, curves)
                    kinds = ", ".join(f"{kind} {share:.2f}" for kind, share in sorted(found.kinds.items()))
                    start = f"{shape:9}{restarts:10}{units:7}{len(sizes):7}{restart:9}{goal:6.0f}"
                    shares = f"{found.given:7.3f}{found.wrong:7.3f}{found.beyond_largest:11.3f}"
                    print(f"{start}{world.arrival(goal):11,.0f}{shares}  {kinds}", flush=True)


def print_seeds(curves: int) -> None:
    """Print the statements on restarts."""
    print("restarts  sizes  units  problems each  restart  one slope  slopes that differ by 0.3")
    for restarts in (2, 3, 5):
        for sizes in (SIZES[:3], SIZES):
            for units, pairs in ((60, 6), (600, 1)):
                for restart in (0.0, 0.1, 0.3):
                    world = World(restarts, units, pairs, restart, shape="flat", sizes=sizes)
                    same = depends_on_seed(world, curves)
                    other = depends_on_seed(replace(world, seed_slope=0.3), curves)
                    print(
                        f"{restarts:8}{len(sizes):7}{units:7}{2 * pairs:15}{restart:9}{same:11.3f}{other:11.3f}",
                        flush=True,
                    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="3 curves a row, to see it run")
    parser.add_argument("--only", choices=("bands", "goals", "seeds"))
    args = parser.parse_args()
    curves = 3 if args.quick else args.curves
    for name, print_table in (("bands", print_bands), ("goals", print_goals), ("seeds", print_seeds)):
        if args.only in (None, name):
            print_table(curves)


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
