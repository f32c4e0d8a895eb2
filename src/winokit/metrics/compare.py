"""Two models on the same problems: paired tests, and a correction where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winokit.errors import BadInput
from winokit.metrics.arrays import Flags, Groups, Values, as_flags, as_values, clusters, same_length
from winokit.metrics.intervals import ROUNDING, Draws, Interval, mean_interval


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first model against the second. McNemar's test takes problems as independent, `p_groups` takes groups as."""

    difference: float
    """Accuracy of the first minus accuracy of the second."""
    interval: Interval
    p_mcnemar: float
    p_groups: float
    only_first: int
    """Problems that only the first gets right; with `only_second`, the discordant ones."""
    only_second: int
    n: int

    @property
    def discordance(self) -> float:
        """Share of problems that exactly one of the two gets right."""
        return (self.only_first + self.only_second) / self.n


def compare(
    first: Flags, second: Flags, groups: Groups, seed: int = 0, *, draws: int = 2000, level: float = 0.95
) -> Comparison:
    """Compare two models by what they get right on the same problems, in the same order.

    >>> twins = ["a", "a", "b", "b", "c", "c"]
    >>> found = compare([True] * 6, [True, False, True, False, True, True], twins)
    >>> round(found.difference, 3), found.only_first, found.only_second, found.p_mcnemar
    (0.333, 2, 0, 0.5)
    """
    same_length(first=first, second=second, groups=groups)
    one, other = as_flags(first), as_flags(second)
    only_first, only_second = int((one & ~other).sum()), int((other & ~one).sum())
    how = Draws(seed, draws, level)
    return Comparison(
        difference=(only_first - only_second) / len(one),
        interval=paired_interval(one, other, groups, how),
        p_mcnemar=mcnemar(only_first, only_second),
        p_groups=p_paired(one, other, groups, how),
        only_first=only_first,
        only_second=only_second,
        n=len(one),
    )


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value of McNemar's test from the two discordant counts; 1 where nothing is discordant.

    >>> mcnemar(1, 9)
    0.021484375
    """
    from scipy import stats

    if min(only_first, only_second) < 0:
        raise BadInput(f"discordant counts from 0 expected, found {only_first} and {only_second}")
    discordant = only_first + only_second
    return float(stats.binomtest(int(only_first), int(discordant)).pvalue) if discordant else 1.0


def paired_interval(first: Values, second: Values, groups: Groups, how: Draws | None = None) -> Interval:
    """Interval of the mean difference between two scores of the same problems, groups drawn whole."""
    same_length(first=first, second=second)
    return mean_interval(as_values(first) - as_values(second), groups, how)


def p_paired(first: Values, second: Values, groups: Groups, how: Draws | None = None) -> float:
    """Two-sided p-value of the mean difference: how often it is as large when the two change places, group by group.

    A bootstrap would reject too often where few groups differ: four that all fall to one side give it 0.01, and a coin
    does that one time in eight. Never below 1/(draws + 1): the sides as they are count as one draw.

    >>> round(p_paired([1, 1, 1, 0], [0, 0, 0, 0], ["a", "b", "c", "d"]), 1)  # thrice on one side: one time in four
    0.2
    """
    same_length(first=first, second=second, groups=groups)
    how = how or Draws()
    sums = np.bincount(clusters(groups), weights=as_values(first) - as_values(second))
    sums, rng = np.sort(sums[sums != 0]), np.random.default_rng(how.seed)
    observed = abs(float(sums.sum())) - ROUNDING
    extreme = sum(abs(float((rng.integers(0, 2, len(sums)) * 2 - 1) @ sums)) >= observed for _ in range(how.draws))
    return (extreme + 1) / (how.draws + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's step-down method, in the order given.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise BadInput("p-values from 0 to 1 expected")
    if not len(p_values):
        return []
    # Imported here: it brings pandas along, and most metrics do without.
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method="holm")[1]]
