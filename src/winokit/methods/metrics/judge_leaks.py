"""A door of the judge: tests of what predicts an answer unread.

`winokit check` uses them. None of them knows problems: they take guesses, values and units. By chance each unit has
its answers as they are or turned, so that a unit counts once however many problems it has.
"""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from winokit.units import Units, require_units


def p_binomial(right: int, n: int, chance: float) -> float:
    """Two-sided p-value of `right` among n independent guesses.

    1 if n is 0.
    """
    from scipy.stats import binomtest

    return float(binomtest(right, n, chance).pvalue) if n else 1.0


def p_drift(first: Sequence[float], second: Sequence[float]) -> float:
    """P-value of the hypothesis that two samples have one distribution.

    Two-sided test of Mann and Whitney (1947).
    """
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(first, second).pvalue)


def p_of_turned_units(outcomes: Sequence[tuple[int, ...]], n: int, right: int) -> tuple[float, float]:
    """Expected share right by chance, and the p-value of `right`.

    `outcomes` are the numbers right that each unit may add, all equally likely, and `n` is the number of problems.
    The p-value is the probability that chance is as far from the expected number; it is exact.

    >>> p_of_turned_units([(0, 2), (0, 2)], 4, 4)
    (0.5, 0.5)
    """
    kinds = Counter(outcomes)
    transform = np.ones(n + 1, dtype=complex)
    unit_means = []
    for counts, times in kinds.items():
        frequencies = np.bincount(counts, minlength=n + 1) / len(counts)
        transform *= np.fft.fft(frequencies) ** times
        unit_means.append(times * sum(counts) / len(counts))
    likely = np.clip(np.fft.ifft(transform).real, 0, 1)
    mean = sum(unit_means)
    distances = np.abs(np.arange(n + 1) - mean)
    is_as_far = distances >= abs(right - mean) - 1e-9
    p = min(1.0, float(likely[is_as_far].sum()))
    return mean / n, round(p, 12)


def p_independent(first: Sequence[Hashable], second: Sequence[Hashable], units: Units) -> float:
    """P-value of the hypothesis that two columns are independent.

    A score test whose variance is estimated over units.
    """
    from scipy.stats import chi2

    require_units(units, len(first))
    centred = []
    for values in (first, second):
        distinct_values, value_numbers = np.unique(np.array(values), return_inverse=True)
        # A column of zeros and ones for each value, less its mean.
        indicators = np.eye(len(distinct_values))[value_numbers]
        means = np.bincount(value_numbers) / len(value_numbers)
        centred.append(indicators - means)
    x, y = centred
    products = (x[:, :, None] * y[:, None, :]).reshape(len(x), -1)
    scores = np.zeros((units.count, products.shape[1]))
    np.add.at(scores, units.numbers, products)
    total = scores.sum(axis=0)
    variance = scores.T @ scores
    rank = int(np.linalg.matrix_rank(variance, hermitian=True))
    if not rank:
        return 1.0
    inverse = np.linalg.pinv(variance, hermitian=True)
    statistic = total @ inverse @ total
    return float(chi2.sf(statistic, rank))
