"""Agreement between workers beyond what their habits alone would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from winokit.errors import BadInput
from winokit.methods.arrays import IntArray


def rating_table(ratings: Sequence[Sequence[Hashable]]) -> IntArray:
    """How many workers chose each category (column) for each problem (row), from one list of votes per problem.

    >>> rating_table([["yes", "yes", "no"], ["no", "no", "no"]]).tolist()
    [[2, 1], [0, 3]]
    """
    categories = list(dict.fromkeys(vote for votes in ratings for vote in votes))
    counted = [Counter(votes) for votes in ratings]
    return np.array([[votes[category] for category in categories] for votes in counted], np.int64)


def fleiss_kappa(table: Sequence[Sequence[int]] | IntArray) -> float:
    """Fleiss' kappa of a table of votes: a row per problem, a column per category, each row the same number of workers.

    1 is full agreement, 0 what votes at random with the same shares of categories would give.

    >>> round(fleiss_kappa([[3, 0], [2, 1], [0, 3], [3, 0]]), 3)
    0.625
    """
    votes = np.asarray(table, np.int64)
    if votes.ndim != 2 or not votes.size or votes.min() < 0:
        raise BadInput("a table of votes expected: a row per problem, a column per category, counts from 0")
    workers = set(votes.sum(axis=1).tolist())
    if len(workers) > 1 or min(workers) < 2:
        raise BadInput(f"the same number of workers, two or more, expected for every problem, found {sorted(workers)}")
    if (votes.sum(axis=0) > 0).sum() < 2:
        raise BadInput("kappa is undefined where all votes fall into one category")
    each = min(workers)
    agreed = ((votes**2).sum(axis=1) - each).mean() / (each * (each - 1))
    by_chance = ((votes.sum(axis=0) / votes.sum()) ** 2).sum()
    return float((agreed - by_chance) / (1 - by_chance))
