"""Chance removals of AFLite: runs on relabelled rows.

Training subsets overlap, so the votes on a row are correlated, and on pure noise a good share of the rows reaches the
threshold. A run therefore means something only beside runs on the same features whose answers are redrawn. Whole
units are flipped, each with probability one half: twins keep opposite answers, as they have nearly the same features; a
plain permutation would give many of them equal ones, a regularity that the ensemble finds and removes. And problems of
one text or template stay as they are to one another: an ensemble that knows some of them gets the others right, which
it does under any answers and which is no bias.

Numbers of removals are right-skewed, so that the real one is ranked among the relabelled ones: a Student interval of
them would be exceeded by chance more often than it says. No more runs are made than the verdict needs
(`metrics/judge_ranks.py`).

A row's q-value estimates the share of chance among all rows that score at least as well in the first phase, the one
phase in which all rows take part: the mean number of such rows in relabelled runs over their number in the real one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from winokit.errors import BadInput
from winokit.methods.aflite.aflite import AFLite
from winokit.methods.aflite.inputs import Doubles, Ints, checked_answers, checked_features, names_of, unit_numbers
from winokit.methods.metrics.judge_ranks import SequentialRank, rank
from winokit.units import Units, require_units

SEEDS_APART = 1_000_003
"""How far the seeds of relabelled runs are from those of real ones, which may be several in a row."""


@dataclass(frozen=True)
class NullModel:
    """Numbers of removed rows in relabelled runs, and in the real run to compare with."""

    removed: int  # rows removed by the real run
    ranks: tuple[SequentialRank, ...]  # of the real run and of its other seeds, by how many rows they remove
    null_removed: tuple[int, ...]  # rows removed by each relabelled run
    at_threshold: int  # rows at or over the threshold in the real run's first phase
    null_at_threshold: tuple[int, ...]  # the same in each relabelled run
    q_values: Doubles  # one per row

    @property
    def expected(self) -> float:
        """Mean number of rows removed by relabelled runs.

        It is a little too high if drawing stopped at a run that removed as many as the real one.
        """
        return float(np.mean(self.null_removed))

    @property
    def excess(self) -> float:
        """Number of rows that the real run removes beyond the expected number."""
        return self.removed - self.expected


def null_runs(
    real: AFLite,
    X: Any,
    y: ArrayLike,
    units: Units | None = None,
    *,
    others: Sequence[AFLite] = (),
    runs: int = 39,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> NullModel:
    """Repeat AFLite on relabelled rows, and rank the real run among these runs.

    `real` is fitted to X and y. `others` are fitted with other seeds, and are ranked among the same relabelled runs,
    which differ in their seeds too. Rows of one of the `units` are relabelled together: `Dataset.units` for problems.
    None treats every row as a unit. There are at most `runs` runs, and fewer if the ranks are clear earlier. `progress`
    is called with the number of finished runs.
    """
    if runs < 1:
        raise BadInput(f"expected 1 relabelled run or more; found {runs}")
    X = checked_features(X)
    y = checked_answers(y, len(X))
    groups = None if units is None else names_of(require_units(units, len(X)))
    numbers = unit_numbers(groups, len(X))
    removed: list[int] = []
    scores: list[Doubles] = []

    def iterate_removals() -> Iterator[int]:
        """Yield the number of rows that each relabelled run removes.

        Runs made for an earlier rank are not repeated.
        """
        for number in count():
            if number == len(removed):
                again = real.again(real.seed + SEEDS_APART + seed + number)
                random_answers = relabelled(y, numbers, seed=seed + number)
                again.fit(X, random_answers, groups)
                removed.append(_count_removals(again))
                scores.append(again.first_scores_)
                if progress:
                    progress(len(removed))
            yield removed[number]

    ranks = []
    for fitted in (real, *others):
        real_count = _count_removals(fitted)
        reaches_real = (null_count >= real_count for null_count in iterate_removals())
        ranks.append(rank(reaches_real, runs))
    return NullModel(
        removed=_count_removals(real),
        ranks=tuple(ranks),
        null_removed=tuple(removed),
        at_threshold=_count_reaching(real.first_scores_, real.threshold),
        null_at_threshold=tuple(_count_reaching(run_scores, real.threshold) for run_scores in scores),
        q_values=q_values(real.first_scores_, scores),
    )


def _count_removals(fitted: AFLite) -> int:
    """Number of rows that a fitted run removes."""
    return int((~fitted.keep_).sum())


def _count_reaching(scores: Doubles, threshold: float) -> int:
    """Number of scores at or over the threshold."""
    return int((scores >= threshold).sum())


def relabelled(y: Ints, units: Ints, *, seed: int) -> Ints:
    """Return the answers, those of each unit flipped with probability one half.

    `units` has the unit number of each row. The answers of a unit's rows are flipped together.

    >>> y, units = np.array([0, 1, 1, 0]), np.array([0, 0, 2, 3])
    >>> all(a != b for a, b, *_ in (relabelled(y, units, seed=seed) for seed in range(9)))
    True
    """
    flips = np.random.default_rng(seed).integers(2, size=len(y))
    return y ^ flips[units]


def q_values(scores: Doubles, null_scores: Sequence[Doubles]) -> Doubles:
    """Return the q-value of each row.

    It is the share of chance among all rows with at least its score: their mean number in relabelled runs over that in
    the real one. `null_scores` has the scores of each relabelled run. A row without a score (NaN) has the q-value 1.

    >>> q_values(np.array([0.9, 0.8, 0.4]), [np.array([0.8, 0.3, 0.2]), np.array([0.5, 0.4, 0.1])]).tolist()
    [0.0, 0.25, 0.5]
    """
    has_score = ~np.isnan(scores)
    levels, level_of = np.unique(scores[has_score], return_inverse=True)
    real_counts = _count_at_least(levels, scores)
    null_counts = [_count_at_least(levels, run_scores) for run_scores in null_scores]
    mean_null_counts = np.mean(null_counts, axis=0)
    shares = np.minimum(1, mean_null_counts / np.maximum(real_counts, 1))
    # A better score never has a worse q-value.
    level_q_values = np.minimum.accumulate(shares)
    row_q_values = np.ones(len(scores))
    row_q_values[has_score] = level_q_values[level_of]
    return row_q_values


def _count_at_least(levels: Doubles, scores: Doubles) -> Ints:
    """Number of scores at or over each level. NaN is no score."""
    sorted_scores = np.sort(scores[~np.isnan(scores)])
    lower_counts = np.searchsorted(sorted_scores, levels, side="left")
    return len(sorted_scores) - lower_counts
