"""Means over two things at once: restarts of a training run, and the units of a test set they all share.

Another test set and other restarts would both have given another mean. Drawing a handful of restarts with replacement
misses most of what they differ by (three restarts, 95 % intervals that cover 73 %). So the variance of the mean is
added up from how restarts differ and from how units do, and the quantile is Student's, with the degrees of freedom of
Satterthwaite (1946). What both sums hold is counted twice, which is on the safe side and keeps every variance positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from winokit.methods.metrics.arrays import FloatArray
from winokit.methods.metrics.intervals import ROUNDING, Share


@dataclass(frozen=True, slots=True)
class Crossed:
    """Covariances of some means: a part for each source, with its degrees of freedom."""

    parts: tuple[tuple[FloatArray, int], ...]

    @classmethod
    def of(cls, values: FloatArray, *, scatter: tuple[FloatArray, int] | None = None) -> Crossed:
        """From an array of (restarts, units, statistics) whose means over the first two are the statistics.

        One restart says nothing of others. `scatter` stands in where something else does: a covariance and its
        degrees of freedom, as a line's points around it give them. Without either, restarts are not in the variance.
        """
        restarts = len(values)
        first = _part(values.mean(axis=1)) if restarts > 1 else scatter
        return cls((*([] if first is None else [first]), _part(values.mean(axis=0))))

    @property
    def covariance(self) -> FloatArray:
        """Of the means, from all sources."""
        total: FloatArray = np.sum([matrix for matrix, _ in self.parts], axis=0)
        return total

    def degrees(self, statistic: int) -> float:
        """Degrees of freedom of the variance of one of the means (Satterthwaite)."""
        shares = [(float(matrix[statistic, statistic]), free) for matrix, free in self.parts]
        if any(free < 1 for _, free in shares):
            return 0.0
        below = sum(share**2 / free for share, free in shares)
        return sum(share for share, _ in shares) ** 2 / below if below > 0 else math.inf


def _part(means: FloatArray) -> tuple[FloatArray, int]:
    """Covariance of the mean of some rows; infinite for a single one."""
    count, statistics = means.shape
    if count < 2:
        return np.diag(np.full(statistics, math.inf)), 0
    return np.atleast_2d(np.cov(means, rowvar=False)) / count, count - 1


def crossed_share(values: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Interval of a share from its values by restart and unit, whose mean it is.

    Wilson's, with as many independent problems as have the variance that was found. Where nothing differs (all right,
    all wrong) every unit counts as one problem.

    >>> low, high = crossed_share(np.array([[1.0, 0, 1, 0], [1, 1, 0, 0]]))
    >>> 0 <= low < 0.5 < high <= 1
    True
    """
    crossed, mean = Crossed.of(values[:, :, None]), float(values.mean())
    variance, free, units = float(crossed.covariance[0, 0]), crossed.degrees(0), values.shape[1]
    if not math.isfinite(variance):
        return 0.0, 1.0
    alike = variance < ROUNDING
    groups, number = (math.inf, units) if alike else (free + 1, mean * (1 - mean) / variance)
    low, high = Share(mean, units, groups, number, exact=False).limits(level)
    return min(mean, low), max(mean, high)
