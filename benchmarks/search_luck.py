"""Measure how often the best of many trials is called better, when all are equally good and when one is not.

python benchmarks/search_luck.py [--searches 400] [--quick]

Trials answer one dev set of pairs. A problem's difficulty is shared by all trials and a pair's by its two problems, as
on real dev sets, where most trials fail on the same problems. In a search of equals every trial has the same true
accuracy; in the other one trial is truly better by `ahead`. Printed is the share of searches with `p_best_of_equals`
below 0.05: the size of the test where nobody is ahead, its power where one is.
"""

import argparse
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from scipy import special

from winokit.answers import Answers, TrialName
from winokit.methods.metrics.judge_best import judge_best
from winokit.problem import Card, Dataset, Problem

LEVEL = 0.05


@dataclass(frozen=True)
class Search:
    """Trials on a dev set: their number, accuracy and likeness, and the lead of the one that is truly better."""

    trials: int = 20
    problems: int = 200
    accuracy: float = 0.65
    shared: float = 2.0
    """Standard deviation, in logits, of what all trials find hard; 0 for trials that fail independently."""
    ahead: float = 0.0


@lru_cache(maxsize=8)
def pairs_of(problems: int) -> Dataset:
    """Make a dev set with this number of problems, two a pair."""
    pairs = []
    for index in range(problems):
        pair, answer = divmod(index, 2)
        pairs.append(Problem(f"Pair {pair} says ", f" {answer}.", ("one", "two"), answer, group=f"g{pair}"))
    return Dataset(pairs, Card("dev"))


def drawn(search: Search, seed: int) -> Answers:
    """Draw the choices of every trial for every problem."""
    rng = np.random.default_rng([seed, search.trials, search.problems])
    pairs = np.arange(search.problems) // 2
    pair_difficulty = rng.normal(size=pairs.max() + 1)[pairs]
    own_difficulty = rng.normal(size=search.problems)
    ease = search.shared * (pair_difficulty + own_difficulty) / np.sqrt(2)
    accuracies = np.full(search.trials, search.accuracy)
    accuracies[0] += search.ahead
    # A logit shrinks by this much once difficulty is averaged over, so that accuracies are what they are called.
    level = special.logit(accuracies) * np.sqrt(1 + search.shared**2 * 0.346)
    chance = special.expit(level[:, None] + ease)
    is_right = rng.random(chance.shape) < chance
    answers = np.arange(search.problems) % 2
    choices = np.where(is_right, answers, 1 - answers)
    choices_by_trial = {TrialName(number): trial_choices for number, trial_choices in enumerate(choices)}
    return Answers.of_trials(pairs_of(search.problems), choices_by_trial)


def rejected(search: Search, searches: int = 400, draws: int = 500) -> float:
    """Share of searches in which equals are ruled out at the level."""
    rejections = []
    for seed in range(searches):
        best = judge_best(drawn(search, seed), seed=seed, draws=draws)
        rejections.append(best.p_equal < LEVEL)
    return float(np.mean(rejections))


def main() -> None:
    """Print the size and the power of the test by trials, problems and shared difficulty."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="4 searches a row")
    args = parser.parse_args()
    searches = 4 if args.quick else args.searches
    print("trials  problems  shared  size   power at +10 points  at +15")
    for trials, problems, shared in product((10, 60), (104, 200, 500), (0.0, 4.0)):
        size, power_at_10, power_at_15 = (
            rejected(Search(trials, problems, 0.65, shared, gap), searches) for gap in (0, 0.1, 0.15)
        )
        print(f"{trials:6}{problems:10}{shared:8}  {size:.3f}  {power_at_10:19.2f}{power_at_15:8.2f}")


if __name__ == "__main__":
    from quiet import watched

    with watched():
        main()
