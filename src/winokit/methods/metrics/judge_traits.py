"""A door of the judge: traits more frequent on one side.

`winokit debias` uses it. Counts are of units. Log odds ratios have the informative prior of Monroe, Colaresi and
Quinn, "Fightin' Words" (2008); `methods/aflite/overuse.py` says how.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control, hypergeom, norm

from winokit.methods.arrays import FloatArray

PRIOR = 100.0
"""Units of the prior on either side."""
LEVEL = 0.95


def log_odds(
    a: NDArray[Any], of_a: float, b: NDArray[Any], of_b: float, *, prior: float = PRIOR, level: float = LEVEL
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log odds ratios of traits on two sides, with interval ends.

    `a` of `of_a` units have a trait on the first side, `b` of `of_b` on the second. `prior` is the number of units
    that the prior counts on either side. Returns the ratios, the lower ends and the upper ends.

    >>> ratio, low, high = log_odds(np.array([400]), 1000, np.array([200]), 1000)
    >>> [round(float(value[0]), 2) for value in (ratio, low, high)]
    [0.89, 0.7, 1.08]
    """
    share = (a + b) / (of_a + of_b)
    # A thousandth of a unit keeps traits finite that nobody has, or everybody.
    a_with = np.clip(a + prior * share, 0.001, of_a + prior - 0.001)
    b_with = np.clip(b + prior * share, 0.001, of_b + prior - 0.001)
    a_without = of_a + prior - a_with
    b_without = of_b + prior - b_with
    a_log_odds = np.log(a_with / a_without)
    b_log_odds = np.log(b_with / b_without)
    ratio = a_log_odds - b_log_odds
    variance = 1 / a_with + 1 / a_without + 1 / b_with + 1 / b_without
    half = norm.ppf((1 + level) / 2) * np.sqrt(variance)
    return ratio, ratio - half, ratio + half


def p_fisher(a: NDArray[Any], of_a: int, b: NDArray[Any], of_b: int) -> FloatArray:
    """Two-sided p-values of Fisher's exact test, for each trait.

    Counts are as in `log_odds`. It is twice the smaller tail.
    """
    count = np.rint(a)
    having = count + np.rint(b)
    total = of_a + of_b
    lower = hypergeom.cdf(count, total, having, of_a)
    upper = hypergeom.sf(count - 1, total, having, of_a)
    p: FloatArray = np.minimum(1.0, 2 * np.minimum(lower, upper))
    return p


def discovery_rates(p_values: FloatArray) -> FloatArray:
    """False discovery rate at which each p-value would be accepted.

    Benjamini and Hochberg (1995).
    """
    rates: FloatArray = false_discovery_control(p_values)
    return rates
