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
    """Relabelled runs, and the real run beside them."""

    removed: int  # by the real run
    ranks: tuple[SequentialRank, ...]  # of the real run and of its other seeds, by how many they remove
    null_removed: tuple[int, ...]
    at_threshold: int  # rows at or over the threshold in the real run's first phase
    null_at_threshold: tuple[int, ...]
    q_values: Doubles  # one per row

    @property
    def expected(self) -> float:
        """Mean number of removals by chance.

        It is a little high if draws stopped at one that reached the real run.
        """
        return float(np.mean(self.null_removed))

    @property
    def excess(self) -> float:
        """Removals beyond what chance accounts for."""
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
    """Repeat a fitted run on relabelled rows, at most `runs` times.

    `units` say what varies together and is flipped as one: `Dataset.units` for problems.
    `others`, fitted with other seeds, are ranked among the same relabelled runs: those differ in their seeds too.
    """
    if runs < 1:
        raise BadInput(f"expected 1 relabelled run or more; found {runs}")
    X = checked_features(X)
    y = checked_answers(y, len(X))
    groups = None if units is None else names_of(require_units(units, len(X)))
    numbers = unit_numbers(groups, len(X))
    removed: list[int] = []
    scores: list[Doubles] = []

    def relabelled_removals() -> Iterator[int]:
        """Removals of one relabelled run after the other, those made for an earlier rank first."""
        for number in count():
            if number == len(removed):
                again = real.again(real.seed + SEEDS_APART + seed + number)
                again.fit(X, relabelled(y, numbers, seed=seed + number), groups)
                removed.append(_count_removals(again))
                scores.append(again.first_scores_)
                if progress:
                    progress(len(removed))
            yield removed[number]

    ranks = []
    for fitted in (real, *others):
        removal_count = _count_removals(fitted)
        ranks.append(rank((count >= removal_count for count in relabelled_removals()), runs))
    return NullModel(
        removed=_count_removals(real),
        ranks=tuple(ranks),
        null_removed=tuple(removed),
        at_threshold=int((real.first_scores_ >= real.threshold).sum()),
        null_at_threshold=tuple(int((run_scores >= real.threshold).sum()) for run_scores in scores),
        q_values=q_values(real.first_scores_, scores),
    )


def _count_removals(fitted: AFLite) -> int:
    return int((~fitted.keep_).sum())


def relabelled(y: Ints, units: Ints, *, seed: int) -> Ints:
    """Return the answers with each unit flipped with probability one half.

    Rows of a unit stay equal or opposite.

    >>> y, units = np.array([0, 1, 1, 0]), np.array([0, 0, 2, 3])
    >>> all(a != b for a, b, *_ in (relabelled(y, units, seed=seed) for seed in range(9)))
    True
    """
    flips = np.random.default_rng(seed).integers(2, size=len(y))
    return y ^ flips[units]


def q_values(scores: Doubles, null_scores: Sequence[Doubles]) -> Doubles:
    """Return the share of chance among rows with at least this score.

    It is 1 for a row without a score.

    >>> q_values(np.array([0.9, 0.8, 0.4]), [np.array([0.8, 0.3, 0.2]), np.array([0.5, 0.4, 0.1])]).tolist()
    [0.0, 0.25, 0.5]
    """
    levels, level_of = np.unique(scores[~np.isnan(scores)], return_inverse=True)
    real = _count_at_least(levels, scores)
    chance = np.mean([_count_at_least(levels, drawn) for drawn in null_scores], axis=0)
    # A better score never has a worse q-value.
    smallest = np.minimum.accumulate(np.minimum(1, chance / np.maximum(real, 1)))
    shares = np.ones(len(scores))
    shares[~np.isnan(scores)] = smallest[level_of]
    return shares


def _count_at_least(levels: Doubles, scores: Doubles) -> Ints:
    """Number of scores that reach each level."""
    sorted_scores = np.sort(scores[~np.isnan(scores)])
    return len(sorted_scores) - np.searchsorted(sorted_scores, levels, side="left")
