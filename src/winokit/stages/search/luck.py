"""Spread of the scores of trials, and the expected best of fewer trials.

The spread is that of Liu et al. (2020), Figure 1 and Table 2, with the estimators of their code. `best_of` is after
Dodge et al., "Show Your Work" (2019). The share of luck in the best score is in `methods/metrics/judge_best.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Spread:
    """Spread of the scores of trials."""

    n: int
    worst: float
    lower_quartile: float
    median: float
    upper_quartile: float
    best: float
    std: float | None
    """Standard deviation of a sample (n - 1); None for a single score."""
    excess_kurtosis: float | None
    """Excess kurtosis of a sample (Fisher's G2, corrected for bias, as in pandas).

    It is 0 for a normal distribution, and high if a few scores are far from the others. None for fewer than four scores
    or equal ones.
    """


def spread(scores: Sequence[float]) -> Spread:
    """Return the spread of one or more scores.

    Quartiles are interpolated linearly.

    >>> found = spread([0.5, 0.5, 0.5, 0.5, 0.75])
    >>> found.median, round(found.std, 4), round(found.excess_kurtosis, 4)
    (0.5, 0.1118, 5.0)
    """
    quantiles = np.quantile(scores, (0, 0.25, 0.5, 0.75, 1))
    worst, lower, median, upper, best = map(float, quantiles)
    n = len(scores)
    std = float(np.std(scores, ddof=1)) if n > 1 else None
    kurtosis = None
    if n >= 4 and worst < best:
        kurtosis = float(stats.kurtosis(scores, fisher=True, bias=False))
    return Spread(n, worst, lower, median, upper, best, std, kurtosis)


def best_of(scores: Sequence[float], tries: int) -> float:
    """Expected best of a number of scores drawn from these with replacement.

    >>> best_of([0.5, 0.7], 1), round(best_of([0.5, 0.7], 2), 6)
    (0.6, 0.65)
    """
    sorted_scores = np.sort(np.asarray(scores, np.float64))
    n = len(sorted_scores)
    # Probability that all drawn scores are among the lowest 0, 1, … n.
    probabilities = (np.arange(n + 1) / n) ** tries
    return float(sorted_scores @ np.diff(probabilities))
