"""A door of the judge: tests of what predicts an answer without reading the problem, for `winokit check`.

None of them knows problems: they take guesses, values and units. By chance each unit has its answers as they are or
turned, so that a unit counts once however many problems it has.
"""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from winokit.units import Units, require_units


def p_binomial(right: int, n: int, chance: float) -> float:
    """Two-sided p-value of `right` among n independent guesses.

    1 without any.
    """
    from scipy.stats import binomtest

    return float(binomtest(right, n, chance).pvalue) if n else 1.0


def p_drift(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p-value of two samples from one distribution (Mann and Whitney, 1947)."""
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(first, second).pvalue)


def p_of_turned_units(outcomes: Sequence[tuple[int, ...]], n: int, right: int) -> tuple[float, float]:
    """Expected share right by chance, and a p-value of `right`.

    The p-value is the probability that chance is as far from the expected share.

    The number right is a sum over units, each of which adds one of its `outcomes`, all equally likely; its distribution
    is computed exactly, as a product of transforms.

    >>> p_of_turned_units([(0, 2), (0, 2)], 4, 4)
    (0.5, 0.5)
    """
    kinds = Counter(outcomes)
    transform = np.ones(n + 1, dtype=complex)
    for counts, times in kinds.items():
        transform *= np.fft.fft(np.bincount(counts, minlength=n + 1) / len(counts)) ** times
    likely = np.clip(np.fft.ifft(transform).real, 0, 1)
    mean = sum(times * sum(counts) / len(counts) for counts, times in kinds.items())
    as_far = np.abs(np.arange(n + 1) - mean) >= abs(right - mean) - 1e-9
    return mean / n, round(min(1.0, float(likely[as_far].sum())), 12)


def p_independent(first: Sequence[Hashable], second: Sequence[Hashable], units: Units) -> float:
    """P-value of a score test that two columns of values are independent.

    The variance is taken over units.
    """
    from scipy.stats import chi2

    require_units(units, len(first))
    centred = []
    for values in (first, second):
        distinct_values, which = np.unique(np.array(values), return_inverse=True)
        # A column of zeros and ones for each value, less its mean.
        centred.append(np.eye(len(distinct_values))[which] - np.bincount(which) / len(which))
    x, y = centred
    scores = np.zeros((units.count, x.shape[1] * y.shape[1]))
    np.add.at(scores, units.numbers, (x[:, :, None] * y[:, None, :]).reshape(len(x), -1))
    total = scores.sum(axis=0)
    variance = scores.T @ scores
    rank = int(np.linalg.matrix_rank(variance, hermitian=True))
    return float(chi2.sf(total @ np.linalg.pinv(variance, hermitian=True) @ total, rank)) if rank else 1.0
