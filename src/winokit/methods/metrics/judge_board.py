"""A door of the judge: the ranks of thousands of scorers.

Every scorer's share right is compared with the mean over scorers, problem by problem: that problems are hard for all
cancels out, as in a paired test. One multiplier bootstrap over units gives the largest standardized error over all
scorers, and so intervals that hold for all of them together in 95 % (Chernozhukov, Chetverikov and Kato, 2013,
"Gaussian approximations and multiplier bootstrap for maxima of sums"). Where two intervals do not overlap, one scorer
is ahead: a scorer's rank is between one more than the number surely ahead of it, and the number not surely behind
(Klein, Wright and Wieczorek, 2020, "A joint confidence region for an overall ranking of populations"). No two scorers
are compared, so the work grows with their number, not with its square.
"""

from dataclasses import dataclass

import numpy as np

from winokit.methods.arrays import BoolArray, FloatArray, IntArray
from winokit.methods.metrics.intervals import LEVEL, share
from winokit.methods.metrics.items import RIGHT, SILENT, WRONG, AnswerMatrix
from winokit.methods.metrics.judge_items import Estimate, opposite_pairs
from winokit.units import Units

DRAWS = 1000
"""Draws of multipliers for one quantile."""
BLOCK = 512
"""Scorers whose draws are in memory at once."""
LEAST_ERROR = 1e-12


@dataclass(frozen=True, slots=True)
class RankedScorer:
    """One scorer with its rank, its share right and its pairs.

    `scorer` is its index; `pairs` is the number of pairs it was asked.
    """

    scorer: int
    rank: int | None
    """From 1; equal shares have one rank. None if it was not asked what the others were."""
    best_rank: int | None
    worst_rank: int | None
    right: Estimate
    answered: int
    told_apart: float | None
    """The share of pairs with different choices; None if it was asked no whole pair."""
    right_way_round: float | None
    """The share of those with both right; None if none is told apart."""
    pairs: int


def rank_scorers(matrix: AnswerMatrix, *, level: float = LEVEL, seed: int = 0) -> list[RankedScorer]:
    """Rank the scorers of a matrix by their share right, best first.

    A scorer that was not asked every problem that another was asked has no rank, and is last. `level` is the
    confidence of the intervals of all ranks together.
    """
    rows = np.flatnonzero(matrix.is_asked.any(axis=0))
    is_complete = matrix.is_asked[:, rows].all(axis=1)
    ranked = np.flatnonzero(is_complete)
    units = matrix.asked.units.take(rows)
    ranked_right = matrix.right[np.ix_(ranked, rows)]
    lows, highs, ranks = rank_intervals(ranked_right, units, level=level, seed=seed)
    places = {int(scorer): place for place, scorer in enumerate(ranked)}
    told_apart, both_right, pair_counts = _count_pairs_by_scorer(matrix)
    judged = []
    for scorer in range(len(matrix.scorers)):
        columns = np.flatnonzero(matrix.is_asked[scorer])
        if not len(columns):
            continue
        rank_place = places.get(scorer)
        proportion = share(matrix.right[scorer, columns], matrix.asked.units.take(columns))
        interval = proportion.interval(level)
        pairs = int(pair_counts[scorer])
        told_count = int(told_apart[scorer])
        rank = low = high = None
        if rank_place is not None:
            rank = int(ranks[rank_place])
            low = int(lows[rank_place])
            high = int(highs[rank_place])
        right = Estimate(proportion.value, interval.low, interval.high, proportion.n)
        is_answered = matrix.states[scorer, columns] != SILENT
        told_share = told_count / pairs if pairs else None
        right_share = int(both_right[scorer]) / told_count if told_count else None
        answered_count = int(is_answered.sum())
        judged.append(RankedScorer(scorer, rank, low, high, right, answered_count, told_share, right_share, pairs))
    return sorted(judged, key=_rank_order)


def _rank_order(ranked: RankedScorer) -> tuple[bool, int, float, int]:
    """Sort key: ranked scorers by rank, then the others by share."""
    return ranked.rank is None, ranked.rank or 0, -ranked.right.value, ranked.scorer


def rank_intervals(
    right: BoolArray, units: Units, *, level: float = LEVEL, seed: int = 0
) -> tuple[IntArray, IntArray, IntArray]:
    """Best possible rank, worst possible rank, and rank of each scorer.

    `right` has a row per scorer and a column per problem. The bounds hold for all scorers together with confidence
    `level`. A single scorer is the first.
    """
    count = len(right)
    if count < 2:
        ones = np.ones(count, np.int64)
        return ones, ones, ones
    leads, errors, quantile = _estimate_leads(right, units, level, seed)
    low_ends = leads - quantile * errors
    high_ends = leads + quantile * errors
    surely_ahead = count - np.searchsorted(np.sort(low_ends), high_ends, side="right")
    surely_behind = np.searchsorted(np.sort(high_ends), low_ends, side="left")
    rights = right.sum(axis=1)
    ranks = 1 + count - np.searchsorted(np.sort(rights), rights, side="right")
    return 1 + surely_ahead, count - surely_behind, ranks


def _estimate_leads(right: BoolArray, units: Units, level: float, seed: int) -> tuple[FloatArray, FloatArray, float]:
    """Lead of each scorer over the mean, standard errors, and a quantile.

    Intervals of that many standard errors hold for all scorers together.
    """
    from scipy import special

    problem_count = right.shape[1]
    problem_means = right.mean(axis=0)
    leads = right.mean(axis=1) - problem_means.mean()
    rng = np.random.default_rng(seed)
    multipliers = rng.standard_normal((DRAWS, units.count)).astype(np.float32)
    largest = np.zeros(DRAWS, np.float32)
    errors = np.zeros(len(right))
    order = np.argsort(units.numbers, kind="stable")
    starts = np.searchsorted(units.numbers[order], np.arange(units.count))
    for start in range(0, len(right), BLOCK):
        block = slice(start, start + BLOCK)
        residuals = (right[block] - problem_means - leads[block, None])[:, order]
        sums = np.add.reduceat(residuals, starts, axis=1)
        squares = (sums**2).sum(axis=1)
        variances = squares * units.count / max(units.count - 1, 1)
        errors[block] = np.sqrt(variances) / problem_count
        scales = np.maximum(np.sqrt(variances), LEAST_ERROR)
        sums_drawn = multipliers @ (sums / scales[:, None]).astype(np.float32).T
        largest = np.maximum(largest, np.abs(sums_drawn).max(axis=1))
    normal = float(np.quantile(largest, level))
    # Few units deserve Student's tail where the bootstrap has the normal one.
    tail = float(special.ndtr(-normal))
    quantile = -float(special.stdtrit(max(units.count - 1, 1), tail))
    return leads, errors, quantile


def _count_pairs_by_scorer(matrix: AnswerMatrix) -> tuple[IntArray, IntArray, IntArray]:
    """Numbers of pairs told apart, both right, and asked whole, by scorer."""
    pairs = opposite_pairs(matrix.asked)
    first = matrix.states[:, pairs[:, 0]]
    second = matrix.states[:, pairs[:, 1]]
    were_asked = matrix.is_asked[:, pairs].all(axis=2)
    both_right = np.minimum(first, second) == RIGHT
    are_wrong = np.stack([first, second]) == WRONG
    told_apart: IntArray = (both_right | are_wrong.all(axis=0)).sum(axis=1)
    return told_apart, both_right.sum(axis=1), were_asked.sum(axis=1)
