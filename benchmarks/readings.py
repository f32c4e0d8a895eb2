"""Measure how often the verdict over readings is right: `python benchmarks/readings.py [--times 200] [--quick]`.

Models are simulated that are asked about twins under five prompts and two orders. Whether an answer is right is drawn
with a probability that has parts of its own for the problem, its pair, the prompt, the order and what they have to do
with each other; so the components are known (from 100,000 pairs), and so is who is ahead.

- ahead: two models whose probabilities are drawn alike. How often some reading calls one ahead, at most 5 %; and how
  many of ten readings do where one is ten points ahead.
- wording: how often it is said that the wording decides more than the model where both decide as much (at most 2.5 %
  on either side), and where one decides three times as much.
- coverage: how often the 95 % interval of each component holds the truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from winokit.answers import Answers, Scorer
from winokit.methods.metrics.components import CrossedAnswers
from winokit.methods.metrics.judge_readings import (
    ALL,
    LEAD,
    AskedReadings,
    ReadAnswers,
    WordingSpread,
    lead_rows,
)
from winokit.problem import Dataset, Problem
from winokit.units import Units

PROMPTS, ORDERS = 5, 2
SIZES = (30, 100, 214)
"""Pairs of twins."""
TIMES = 200
TRUTH = 100_000
FACTORS = ("prompts", "orders")


@dataclass(frozen=True)
class SimulatedModel:
    """Standard deviations of a normal variable per cause, where an answer is right if the sum is above zero."""

    name: str
    mean: float = 0.5
    prompts: float = 0.0
    orders: float = 0.0
    pairs: float = 0.0
    problems: float = 0.0
    problem_prompts: float = 0.0
    problem_orders: float = 0.0
    luck: float = 1.0

    def answers(self, pair_count: int, rng: np.random.Generator) -> np.ndarray:
        """Right or wrong: problems by prompts by orders by one sample. Prompts and orders are the same each time."""
        n = 2 * pair_count
        known = np.full((n, PROMPTS, ORDERS), self.mean)
        known += self.prompts * spread_evenly(PROMPTS)[None, :, None]
        known += self.orders * spread_evenly(ORDERS)[None, None, :]
        known += self.pairs * np.repeat(rng.standard_normal(pair_count), 2)[:, None, None]
        known += self.problems * rng.standard_normal((n, 1, 1))
        known += self.problem_prompts * rng.standard_normal((n, PROMPTS, 1))
        known += self.problem_orders * rng.standard_normal((n, 1, ORDERS))
        known += self.luck * rng.standard_normal(known.shape)
        return (known > 0).astype(np.float64)[..., None]


SCORERS = (
    SimulatedModel("a coin", mean=0.0),
    SimulatedModel("knows some, by itself", pairs=0.5, problems=0.7),
    SimulatedModel("minds the prompt", prompts=0.5, problems=0.7, problem_prompts=0.5),
    SimulatedModel("minds the order", orders=0.3, problems=0.5, problem_orders=1.0),
    SimulatedModel("little but the order", mean=0.0, problem_orders=3.0, luck=0.3),
)


def spread_evenly(count: int) -> np.ndarray:
    """So many levels with mean 0 and variance 1."""
    levels = np.arange(count) - (count - 1) / 2
    evenly: np.ndarray = levels / levels.std()
    return evenly


def pair_units(pair_count: int) -> Units:
    """Units of two problems each."""
    return Units(np.repeat(np.arange(pair_count), 2))


def measure_coverage(times: int) -> Iterator[str]:
    """Yield lines on how often the interval of each component holds the truth."""
    yield "coverage of 95 % intervals, in per cent; the truth as a standard deviation in points"
    for scorer in SCORERS:
        whole = scorer.answers(TRUTH, np.random.default_rng(0))
        truth = true_components(whole)
        for pair_count in SIZES:
            rng, kept = np.random.default_rng(1), dict.fromkeys(truth, 0)
            for _ in range(times):
                crossed = CrossedAnswers(scorer.answers(pair_count, rng), FACTORS, pair_units(pair_count))
                for part in crossed.components():
                    name = ".".join(part.source)
                    margin = 0.002**2  # of the truth, which is simulated too
                    kept[name] += part.interval.low - margin <= truth[name] <= part.interval.high + margin
            cells = [
                f"{name} {100 * count / times:.1f} ({100 * truth[name] ** 0.5:.1f})" for name, count in kept.items()
            ]
            yield f"  {scorer.name}, {pair_count} pairs: {', '.join(cells)}"


def true_components(values: np.ndarray) -> dict[str, float]:
    """The components of very many problems, which need no interval: one unit in a thousand stands for all."""
    units = Units(np.repeat(np.arange(len(values) // 1000), 1000))
    parts = CrossedAnswers(values, FACTORS, units).components()
    return {".".join(part.source): max(part.variance, 0.0) for part in parts}


def twins(pair_count: int) -> Dataset:
    """Pairs of problems."""
    return Dataset(
        [
            Problem(f"Text {pair} ", f" goes on {twin}.", ("Ana", "Ruth"), twin, group=str(pair))
            for pair in range(pair_count)
            for twin in range(2)
        ]
    )


def asked_readings(dataset: Dataset, model: str, values: np.ndarray) -> AskedReadings:
    """The tables of a model, from whether it is right."""
    right = np.array([problem.answer for problem in dataset])
    readings = []
    for prompt in range(PROMPTS):
        for order in range(ORDERS):
            choices = np.where(values[:, prompt, order, 0] > 0, right, 1 - right)
            levels = {"prompts": str(prompt), "orders": str(order)}
            answers = Answers.of_choices(dataset, choices, Scorer(model, "ask"))
            readings.append(ReadAnswers(f"{prompt}/{order}", levels, answers))
    return AskedReadings(readings)


def measure_leads(times: int) -> Iterator[str]:
    """Yield lines on how often a model is called ahead of an equal one, and of one ten points behind."""
    yield "who is ahead, of two models"
    for pair_count in SIZES:
        dataset = twins(pair_count)
        for scorer in SCORERS[:4]:
            rng = np.random.default_rng(2)
            false, found, found_together = 0, 0, 0
            behind = mean_for(scorer, -0.1)
            for _ in range(times):
                first = asked_readings(dataset, "A", scorer.answers(pair_count, rng))
                equal = asked_readings(dataset, "B", scorer.answers(pair_count, rng))
                worse = asked_readings(dataset, "B", behind.answers(pair_count, rng))
                false += any(row.details[LEAD] for row in lead_rows("twins", [first, equal]))
                rows = list(lead_rows("twins", [first, worse]))
                found += sum(row.details[LEAD] == 1 for row in rows if row.subset != ALL)
                found_together += any(row.details[LEAD] == 1 for row in rows if row.subset == ALL)
            yield (
                f"  {scorer.name}, {pair_count} pairs: equal, and some reading or all together calls one ahead "
                f"{100 * false / times:.1f} % (at most 5); ten points apart, ahead in {found / times:.1f} of "
                f"{PROMPTS * ORDERS} readings, and over all together {100 * found_together / times:.0f} %"
            )


def mean_for(scorer: SimulatedModel, difference: float) -> SimulatedModel:
    """The same scorer with another share right, by so much."""
    parts = ("prompts", "orders", "pairs", "problems", "problem_prompts", "problem_orders", "luck")
    deviation = float(np.sqrt(sum(getattr(scorer, part) ** 2 for part in parts)))
    share = float(special.ndtr(scorer.mean / deviation)) + difference
    values = {part: getattr(scorer, part) for part in parts}
    return SimulatedModel(f"{scorer.name}, behind", mean=deviation * float(special.ndtri(share)), **values)


def measure_wording(times: int) -> Iterator[str]:
    """Yield lines on how often the wording, or the model, is said to decide more."""
    yield "what decides more: said of the wording / of the model, in per cent"
    for pair_count in SIZES:
        for name, wordings, models in (
            ("as much", 0.06, 0.06),
            ("nothing matters", 0.0, 0.0),
            ("the wording thrice", 0.12, 0.04),
            ("the model thrice", 0.04, 0.12),
        ):
            rng, said = np.random.default_rng(3), np.zeros(2)
            shares = 0.65 + wordings * sample_spread(PROMPTS)[None, :] + models * sample_spread(2)[:, None]
            for _ in range(times):
                problems = rng.standard_normal((2 * pair_count, 1, 1))
                latent = 0.8 * problems + 0.6 * rng.standard_normal((2 * pair_count, *shares.shape))
                right = (latent < special.ndtri(shares)[None]).astype(np.float64)
                spread = WordingSpread.of(right.reshape(len(right), -1), 2, pair_units(pair_count))
                difference = spread.of_wordings - spread.of_models
                said += [difference > 1.96 * spread.error, difference < -1.96 * spread.error]
            wording, model = 100 * said / times
            yield f"  {name}, {pair_count} pairs: {wording:.1f} / {model:.1f}"


def sample_spread(count: int) -> np.ndarray:
    """So many levels with mean 0 whose variance, as of a sample, is 1."""
    scaled: np.ndarray = spread_evenly(count) * np.sqrt((count - 1) / count)
    return scaled


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--quick", action="store_true", help="a few times, to see that it runs")
    options = parser.parse_args()
    times = 3 if options.quick else options.times
    for measure in (measure_coverage, measure_wording, measure_leads):
        for line in measure(times):
            print(line, flush=True)


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
