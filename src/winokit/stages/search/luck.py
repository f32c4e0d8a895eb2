"""How the scores of many trials lie, and what the best of them owes to having been chosen.

The spread is Liu et al.'s (2020) Figure 1 and Table 2, with the estimators of their code.

The best of n scores on one dev set is high for three reasons: the trial is good, the trial suits these problems by
chance, and n is large. Four numbers tell them apart.

`guessing` is what the best of n guessers would reach. `equal` is what the best would reach if all trials were as good
as the middle one and differed only by which problems are in the dev set (White, 2000, "A Reality Check for Data
Snooping"). What is compared is how far the best lies above the middle trial *of the same draw*: a draw of easy problems
lifts all trials alike, and the best score by itself would move with that and hide what one trial has over the others.
`corrected` is what the chosen trial should reach on problems it was not chosen on: in each of many draws
of groups with replacement the best trial is chosen on what was drawn and scored on what was not (Tsamardinos, Greasidou
and Borboudakis, 2018, "Bootstrapping the Out-of-sample Predictions for Efficient and Accurate Cross-validation"). Draws
are the same for all trials, so that what trials have in common is not counted as luck. `best_of` is what fewer trials
would have given (Dodge et al., 2019, "Show Your Work").

None of them undoes that each run's weights are those of its best evaluation on the same dev set; a test set does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from winokit.methods.arrays import Counts, FloatArray, Groups, clusters
from winokit.methods.metrics.intervals import ROUNDING
from winokit.methods.metrics.luck import p_best_of, p_chance

DRAWS, AT_A_TIME = 2000, 200
LEVEL = 0.95


@dataclass(frozen=True)
class Spread:
    """Scores in a few numbers."""

    n: int
    worst: float
    lower_quartile: float
    median: float
    upper_quartile: float
    best: float
    std: float | None
    """Of a sample (n - 1); None for a single score."""
    excess_kurtosis: float | None
    """Of a sample (Fisher's G2, corrected for bias, as pandas has it); None below four scores or where all are equal.

    Zero for a normal distribution; high where a few scores lie far out.
    """


def spread(scores: Sequence[float]) -> Spread:
    """The spread of one score or more; quartiles lie between scores in straight lines.

    >>> found = spread([0.5, 0.5, 0.5, 0.5, 0.75])
    >>> found.median, round(found.std, 4), round(found.excess_kurtosis, 4)
    (0.5, 0.1118, 5.0)
    """
    worst, lower, median, upper, best = (float(value) for value in np.quantile(scores, (0, 0.25, 0.5, 0.75, 1)))
    n = len(scores)
    std = float(np.std(scores, ddof=1)) if n > 1 else None
    curved = n >= 4 and worst < best
    kurtosis = float(stats.kurtosis(scores, fisher=True, bias=False)) if curved else None
    return Spread(n, worst, lower, median, upper, best, std, kurtosis)


@dataclass(frozen=True)
class SearchLuck:
    """The best of some trials, and what is left of it."""

    trials: int
    problems: int
    best: float
    floor: float
    """What guessing gives, or the commonest answer where problems ask yes or no."""
    guessing: float
    """The expected best of as many guessers."""
    p_guessing: float
    """The probability that the best of as many guessers does as well."""
    equal: float
    """The expected best if all trials were as good as the middle one."""
    p_equal: float
    """The probability that the best of equals does as well."""
    corrected: float | None
    """The expected score of the chosen trial on other problems; None where a draw leaves none over."""
    low: float | None
    high: float | None
    """Where that score plausibly lies."""


def luck(
    credits: FloatArray, groups: Groups, floor: float, texts: Counts | None = None, *, seed: int = 0, draws: int = DRAWS
) -> SearchLuck:
    """What the best of some trials owes to luck.

    Parameters
    ----------
    credits
        One row per trial and one column per problem: 1 where it is right, 0 where not, a share where it is undecided.
    groups
        One id per problem, None for a problem alone; groups are drawn whole.
    floor
        The accuracy of one who knows nothing.
    texts
        How many problems each text that is read differently has: a guesser guesses once a text. Default: one.
    """
    trials, problems = credits.shape
    scores = credits.mean(axis=1)
    best = float(scores.max())
    median = float(np.median(scores))
    chosen, ahead = _draws(credits, groups, seed, draws)
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    low, high = np.quantile(chosen, tails) if len(chosen) else (None, None)
    return SearchLuck(
        trials=trials,
        problems=problems,
        best=best,
        floor=floor,
        guessing=best_guesser(trials, problems, floor),
        p_guessing=p_best_of(trials, p_chance(int(best * problems + 1e-9), problems, floor, texts)),
        equal=min(1.0, median + float(ahead.mean())),
        p_equal=float((1 + (ahead >= best - median - ROUNDING).sum()) / (1 + len(ahead))),
        corrected=float(chosen.mean()) if len(chosen) else None,
        low=None if low is None else float(low),
        high=None if high is None else float(high),
    )


def _draws(credits: FloatArray, groups: Groups, seed: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """In each draw, the score of the trial chosen on it on what was not drawn, and how far the best of equals is ahead.

    Equals are the trials less what each has in all; ahead is their best score less their middle one.
    """
    place = clusters(groups)
    sizes = np.bincount(place).astype(np.float64)  # problems of each group
    sums = np.zeros((len(sizes), len(credits)))  # of shape (groups, trials)
    np.add.at(sums, place, credits.T)
    equals = sums - sizes[:, None] * credits.mean(axis=1)
    rng = np.random.default_rng(seed)
    units = len(sizes)
    chosen, ahead = [], []
    for start in range(0, draws, AT_A_TIME):
        drawn = rng.multinomial(units, np.full(units, 1 / units), size=min(AT_A_TIME, draws - start)).astype(np.float64)
        weight = drawn @ sizes
        picked = np.argmax(drawn @ sums, axis=1)
        moved = drawn @ equals
        ahead.append((moved.max(axis=1) - np.median(moved, axis=1)) / weight)
        left = (drawn == 0).astype(np.float64)
        over = left @ sizes
        right = (left @ sums)[np.arange(len(picked)), picked]
        chosen.append(right[over > 0] / over[over > 0])
    return np.concatenate(chosen), np.concatenate(ahead)


def best_guesser(trials: int, problems: int, chance: float) -> float:
    """The expected accuracy of the best of several guessers.

    >>> round(best_guesser(1, 100, 0.5), 6), round(best_guesser(60, 104, 0.5), 4)
    (0.5, 0.6133)
    """
    below = stats.binom.cdf(np.arange(problems), problems, chance)
    return float((1 - below**trials).sum() / problems)


def best_of(scores: Sequence[float], tries: int) -> float:
    """The expected best of several scores drawn from these, with replacement.

    >>> best_of([0.5, 0.7], 1), round(best_of([0.5, 0.7], 2), 6)
    (0.6, 0.65)
    """
    ordered = np.sort(np.asarray(scores, np.float64))
    share = (np.arange(len(ordered) + 1) / len(ordered)) ** tries
    return float(ordered @ np.diff(share))
