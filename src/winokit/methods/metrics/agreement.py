"""Agreement between workers beyond what their habits alone would give, and how sure that is.

Fleiss' kappa takes for chance what votes at random with the same shares of categories would give. Where nearly all is
of one category that is nearly everything, and kappa is low however well people agree; Gwet's AC1 (2008, "Computing
inter-rater reliability and its variance in the presence of high agreement") takes less for chance there. Both are given
as Gwet (2014, "Handbook of Inter-Rater Reliability") generalizes them, so that problems may have different numbers of
votes: a problem with one vote says which categories are common, and nothing of agreement.

The interval is by Gwet's linearized variance over problems, with Student's quantile, joined with the same over two more
problems whose votes are split: a table on which all agree is not known to the last digit. Its measured coverage is in
`docs/evidence/statistics.md`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from winokit.errors import BadInput
from winokit.methods.arrays import FloatArray, IntArray
from winokit.methods.metrics.intervals import LEVEL


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of agreement with its interval.

    1 is full agreement, 0 is what chance gives.
    """

    value: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.value


def fleiss_kappa(table: Sequence[Sequence[int]] | IntArray, level: float = LEVEL) -> Coefficient:
    """Fleiss' kappa of a table of votes, with its interval.

    The table counts votes: a row per problem, a column per category.

    >>> round(fleiss_kappa([[3, 0], [2, 1], [0, 3], [3, 0]]).value, 3)
    0.625
    """
    return _estimate_coefficient(_check_votes(table), level, is_ac1=False)


def gwet_ac1(table: Sequence[Sequence[int]] | IntArray, level: float = LEVEL) -> Coefficient:
    """Gwet's AC1 of a table of votes, with its interval.

    The table counts votes: a row per problem, a column per category, chosen or not.

    >>> round(gwet_ac1([[3, 0], [2, 1], [0, 3], [3, 0]]).value, 3)
    0.7
    """
    return _estimate_coefficient(_check_votes(table), level, is_ac1=True)


def _check_votes(table: Sequence[Sequence[int]] | IntArray) -> FloatArray:
    """Convert votes to an array, without problems that have no vote.

    Raises BadInput for another shape, negative counts, or one vote at most on every problem.
    """
    votes = np.asarray(table, np.float64)
    if votes.ndim != 2 or not votes.size or votes.min() < 0:
        raise BadInput("expected a table of votes: a row per problem, a column per category, counts from 0")
    votes = np.compress(votes.sum(axis=1) > 0, votes, axis=0)
    if not len(votes) or votes.sum(axis=1).max() < 2:
        raise BadInput("expected two or more workers on some problem, found one on each")
    return votes


def _estimate_coefficient(votes: FloatArray, level: float, *, is_ac1: bool) -> Coefficient:
    """Coefficient of checked votes, with its interval of that level.

    `is_ac1` chooses Gwet's AC1, else it is Fleiss' kappa.
    """
    from scipy import special

    value, error = _estimate_value_and_error(votes, is_ac1=is_ac1)
    category_count = votes.shape[1]
    most_votes = votes.sum(axis=1).max()
    even = np.full((2, category_count), most_votes / category_count)
    middle, wider = _estimate_value_and_error(np.concatenate([votes, even]), is_ac1=is_ac1)
    degrees = max(len(votes) - 1, 1)
    quantile = float(special.stdtrit(degrees, (1 + level) / 2))
    low = min(value - quantile * error, middle - quantile * wider)
    high = max(value + quantile * error, middle + quantile * wider)
    return Coefficient(value, max(low, -1.0), min(high, 1.0))


def _estimate_value_and_error(votes: FloatArray, *, is_ac1: bool) -> tuple[float, float]:
    """Coefficient of votes and its standard error.

    Raises BadInput for kappa if all votes are in one category.
    """
    cast = votes.sum(axis=1, keepdims=True)
    shares = votes / cast
    several = cast[:, 0] >= 2
    common = shares.mean(axis=0)
    vote_counts = cast[:, 0]
    pairs = np.where(several, vote_counts * (vote_counts - 1), 1)
    agreed_pairs = (votes * (votes - 1)).sum(axis=1)
    agreed = np.where(several, agreed_pairs / pairs, 0.0)
    weights = (1 - common) / max(len(common) - 1, 1) if is_ac1 else common
    chance = float(common @ weights)
    chances = shares @ weights
    if chance >= 1:
        raise BadInput("kappa is undefined where all votes fall into one category")
    value = (agreed.sum() / several.sum() - chance) / (1 - chance)
    own_values = np.where(several, (agreed - chance) / (1 - chance), 0.0)
    linearized = own_values * len(votes) / several.sum()
    linearized -= 2 * (1 - value) * (chances - chance) / (1 - chance)
    freedom = len(votes) * max(len(votes) - 1, 1)
    squares = ((linearized - value) ** 2).sum()
    return float(value), float(np.sqrt(squares / freedom))
