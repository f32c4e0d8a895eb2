"""Measure how often a learning curve is right: intervals, the size at which a goal is reached, dependence on seeds.

python benchmarks/curve_bands.py [--curves 400] [--quick]

A restart is better or worse as a whole and at each size by itself; a pair of test problems is easier or harder, and
gains more or less from more training data, and so does a unit of several pairs. True means, slopes and areas come from
a very large test set and very many restarts. Printed are the share of simulated curves whose intervals contain them;
how often a size is given for a goal, and how often the interval of a given size does not contain the true one; and how
often the answer is said to depend on the seed, where all restarts have one slope and where they do not.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from scipy import optimize, special

from winokit.answers import Answers, Scorer, TrialName
from winokit.methods.metrics.curve import fit_log, leaderboard_auc
from winokit.methods.metrics.judge_curves import ACCURACY, REACHED, CurveSeries, judge_curves
from winokit.problem import Card, Dataset, Problem
from winokit.stages.curve.verdict import DISAGREE, seeds_of

SIZES = (160, 640, 2_558, 10_234)
MANY = 60_000
"""Problems of the test set that defines the true values."""
Shape = Callable[[float], float]
"""From a size, in steps of four times as many beyond the smallest, to the share of problems that is right."""


def straight(step: float) -> float:
    """Share right that grows by the same in every step."""
    return 0.55 + 0.06 * step


def bent(step: float) -> float:
    """Share right that grows by less and less, up to 77 %."""
    return 0.55 + 0.22 * (1 - math.exp(-0.7 * step))


def levelling(step: float) -> float:
    """Share right that is never above 73 %."""
    return 0.55 + 0.18 * (1 - math.exp(-0.8 * step))


def flat(step: float) -> float:
    """Share right that is the same at every size."""
    return 0.6


def like_an_s(step: float) -> float:
    """Share right that grows slowly, then fast, then slowly."""
    return 0.52 + 0.36 / (1 + math.exp(-2.5 * (step - 2)))


SHAPES = {"straight": straight, "bent": bent, "levelling": levelling, "like an S": like_an_s, "flat": flat}


@dataclass(frozen=True)
class World:
    """True values of a simulated learning curve: sizes of the experiment, and standard deviations in logits."""

    restarts: int = 3
    units: int = 150
    pairs: int = 1
    """Pairs of a unit."""
    restart: float = 0.3
    """Deviation of a restart as a whole, and half of it again at each size; 0.2 is about four points of accuracy."""
    unit: float = 1.0
    """Deviation of a unit, beside that of its pairs and problems."""
    problem: float = 1.5
    """Deviation of a problem, half of its variance shared by the pair."""
    gain: float = 0.15
    """Deviation of a pair's gain from a four times larger training set; a unit has the same in addition."""
    seed_slope: float = 0.0
    """Deviation of a restart's gain from a four times larger training set."""
    shape: str = "straight"
    sizes: tuple[int, ...] = SIZES

    @property
    def steps(self) -> np.ndarray:
        """Sizes as steps of four times as many."""
        return np.log(np.array(self.sizes) / self.sizes[0]) / math.log(4)

    def easiness(self, rng: np.random.Generator, units: int) -> np.ndarray:
        """Draw the easiness of each problem: units by pairs by members."""
        of_unit = self.unit * rng.normal(size=(units, 1, 1))
        of_pair = rng.normal(size=(units, self.pairs, 1))
        of_problem = rng.normal(size=(units, self.pairs, 2))
        return of_unit + self.problem * (of_pair + of_problem) / math.sqrt(2)

    def gains(self, rng: np.random.Generator, units: int) -> np.ndarray:
        """Draw the gain of each pair in a step beyond the gain of all: units by pairs."""
        of_unit = rng.normal(size=(units, 1))
        of_pair = rng.normal(size=(units, self.pairs))
        return self.gain * (of_unit + of_pair) / math.sqrt(2)

    def runs(self, rng: np.random.Generator, restarts: int) -> np.ndarray:
        """Draw the lead of each run over others: restarts by sizes."""
        of_restart = self.restart * rng.normal(size=(restarts, 1))
        of_run = self.restart / 2 * rng.normal(size=(restarts, len(self.sizes)))
        slopes = self.seed_slope * rng.normal(size=(restarts, 1))
        return of_restart + of_run + slopes * self.steps

    @cached_property
    def population(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Levels in logits that give the shape, and the true single and group accuracy of the sizes."""
        rng = np.random.default_rng(0)
        units = MANY // (2 * self.pairs)
        easiness = self.easiness(rng, units)
        gains = self.gains(rng, units)
        normal_quantiles = np.quantile(rng.normal(size=100_000), np.arange(1, 40, 2) / 40)

        def chances(level: float, step: float) -> np.ndarray:
            deviation_of_runs = math.sqrt(1.25 * self.restart**2 + (self.seed_slope * step) ** 2)
            logits = level + gains[..., None] * step + easiness
            return np.stack([special.expit(logits + lead) for lead in deviation_of_runs * normal_quantiles])

        def excess(level: float, step: float) -> float:
            return float(chances(level, step).mean() - SHAPES[self.shape](step))

        levels = []
        singles = []
        groups = []
        for step in self.steps:
            level = optimize.brentq(excess, -4, 6, args=(step,), xtol=1e-4)
            levels.append(level)
            chances_at_level = chances(level, step)
            singles.append(chances_at_level.mean())
            groups.append(chances_at_level.prod(axis=-1).mean())
        return np.array(levels), np.array(singles), np.array(groups)

    def truth(self) -> dict[str, list[float]]:
        """True values of single and of group accuracy, in the order of `covered`'s intervals."""
        _, single, group = self.population
        return {"accuracy": self._list_quantities(single), "group_accuracy": self._list_quantities(group)}

    def _list_quantities(self, means: np.ndarray) -> list[float]:
        """The mean of each size, the area, the line's height at each size, and its slope."""
        fit = fit_log(self.sizes, 100 * means)
        heights = [fit.at(size) for size in self.sizes]
        return [*means, leaderboard_auc(means.tolist(), self.sizes), *heights, fit.slope]

    def arrival(self, goal: float) -> float:
        """Size at which the true curve reaches a goal in per cent, infinite if it never does."""
        shape = SHAPES[self.shape]
        if shape(60) < goal / 100:
            return math.inf
        step = optimize.brentq(lambda step: shape(step) - goal / 100, 0, 60)
        return self.sizes[0] * 4**step

    @cached_property
    def test_set(self) -> Dataset:
        """Pairs, in units by their template."""
        problems = []
        for unit in range(self.units):
            labels = {"template": str(unit)}
            for pair in range(self.pairs):
                name = f"{unit}.{pair}"
                before = f"Pair {name} says "
                for answer in (0, 1):
                    problems.append(Problem(before, f" {answer}.", ("x", "y"), answer, group=name, labels=labels))
        return Dataset(problems, Card("test"))

    def curves(self, rng: np.random.Generator, goal: float | None = None) -> list[CurveSeries]:
        """Fit one simulated curve, and return the statements on single and on group accuracy.

        `goal` is a single accuracy in per cent; without one, no size is sought.
        """
        levels, _, _ = self.population
        easiness = self.easiness(rng, self.units)
        gains = self.gains(rng, self.units)
        gains_by_size = gains[..., None] * self.steps[:, None, None, None]
        logits = levels[:, None, None, None] + gains_by_size + easiness
        leads = self.runs(rng, self.restarts)
        chances = special.expit(leads[:, :, None, None, None] + logits)
        is_right = rng.random(chances.shape) < chances
        answers = np.tile((0, 1), self.units * self.pairs)
        choices = {}
        for restart, flags_by_size in enumerate(is_right):
            for size, flags in zip(self.sizes, flags_by_size, strict=True):
                choices[TrialName(restart, size)] = np.where(flags.ravel(), answers, 1 - answers)
        table = Answers.of_trials(self.test_set, choices, Scorer("", "mc", "mc"))
        return judge_curves(table, {ACCURACY: goal})


def covered(world: World, curves: int = 400) -> dict[str, float]:
    """Share of intervals that contain the truth, by measure and kind: mean, area, height and slope of the line."""
    truth = world.truth()
    size_count = len(world.sizes)
    kinds = [*["mean"] * size_count, "area", *["line"] * size_count, "slope"]
    flags_by_kind: dict[str, list[bool]] = {}
    for seed in range(curves):
        for series in world.curves(np.random.default_rng([seed, world.restarts, world.units])):
            means = [level.mean for level in series.levels]
            heights = [series.fit.interval_at(size) for size in world.sizes]
            intervals = [*means, series.auc, *heights, series.fit.slope_interval()]
            for kind, interval, value in zip(kinds, intervals, truth[series.measure], strict=True):
                is_covered = interval.low <= value <= interval.high
                flags_by_kind.setdefault(f"{series.measure} {kind}", []).append(is_covered)
    return {kind: float(np.mean(flags)) for kind, flags in flags_by_kind.items()}


@dataclass(frozen=True)
class Reached:
    """Statements on a goal, as shares of curves."""

    given: float
    """Share with a size."""
    wrong: float
    """Share with a size whose interval does not contain the true one."""
    beyond_largest: float
    """Share with a size, or an upper end of its interval, beyond four times the largest size."""
    kinds: dict[str, float]
    """Shares by the kind of the statement."""


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
    """Share of curves whose restarts are said to differ in direction."""
    disagreement_count = 0
    for seed in range(curves):
        single, _ = world.curves(np.random.default_rng([seed, world.restarts, world.units]))
        disagreement_count += seeds_of(single) == DISAGREE
    return disagreement_count / curves


def print_bands(curves: int) -> None:
    """Print the coverage of intervals, a line per world."""
    print(
        "restarts  units  problems each  restart      mean   area   line  slope   of groups: mean   area   line  slope"
    )
    tests = ((60, 6), (20, 6), (150, 1), (600, 1))
    for restarts, (units, pairs), restart in product((2, 3, 5), tests, (0.0, 0.1, 0.3)):
        coverages = covered(World(restarts, units, pairs, restart), curves).values()
        cells = [f"{coverage:.3f}" for coverage in coverages]
        single = "  ".join(cells[:4])
        group = "  ".join(cells[4:])
        print(f"{restarts:8}{units:7}{2 * pairs:15}{restart:9}   {single:>32}   {group:>32}", flush=True)


GOALS = (
    ("straight", 70.0),
    ("straight", 76.0),
    ("bent", 72.0),
    ("bent", 76.0),
    ("levelling", 76.0),
    ("like an S", 60.0),
    ("like an S", 80.0),
)
"""Shapes, and goals in per cent."""


def print_goals(curves: int) -> None:
    """Print how often a size is given for a goal, and how often a wrong one, a line per world and goal."""
    print("shape      restarts  units  sizes  restart  goal  true size   given  wrong  beyond 4x  what is said")
    tests = ((600, 1, 0.1), (60, 6, 0.1), (600, 1, 0.3))
    longer_sizes = (*SIZES, 40_398)
    for (shape, goal), restarts, test, sizes in product(GOALS, (3, 5), tests, (SIZES, longer_sizes)):
        units, pairs, restart = test
        world = World(restarts, units, pairs, restart, shape=shape, sizes=sizes)
        shares = reached(world, goal, curves)
        kinds = ", ".join(f"{kind} {share:.2f}" for kind, share in sorted(shares.kinds.items()))
        setting = f"{shape:9}{restarts:10}{units:7}{len(sizes):7}{restart:9}{goal:6.0f}"
        cells = f"{shares.given:7.3f}{shares.wrong:7.3f}{shares.beyond_largest:11.3f}"
        print(f"{setting}{world.arrival(goal):11,.0f}{cells}  {kinds}", flush=True)


def print_seeds(curves: int) -> None:
    """Print how often the answer is said to depend on the seed, a line per world."""
    print("restarts  sizes  units  problems each  restart  one slope  slopes that differ by 0.3")
    tests = ((60, 6), (600, 1))
    for restarts, sizes, (units, pairs), restart in product((2, 3, 5), (SIZES[:3], SIZES), tests, (0.0, 0.1, 0.3)):
        world = World(restarts, units, pairs, restart, shape="flat", sizes=sizes)
        with_one_slope = depends_on_seed(world, curves)
        with_slopes = depends_on_seed(replace(world, seed_slope=0.3), curves)
        setting = f"{restarts:8}{len(sizes):7}{units:7}{2 * pairs:15}{restart:9}"
        print(f"{setting}{with_one_slope:11.3f}{with_slopes:11.3f}", flush=True)


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
