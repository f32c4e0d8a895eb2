"""A door of the judge: models that reproduce wrong labels.

A model that has learned a test by heart gives wrong labels back. A canary is such a label; problems of one unit are
one canary, given back if the model is "right" on all of them. How likely that is without having seen the test is
taken from families of the same strength on other items, the nearest fifth: (k + 1) / (n + 1), if k of n give it back.
So with one canary p is that of an exact permutation test; with several, canaries are independent by assumption, and
the number given back has the Poisson binomial distribution. A family's p is its members' least p times their number,
and families are corrected together (Holm).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from winokit.methods.arrays import BoolArray, FloatArray, IntArray
from winokit.methods.metrics.corrections import holm
from winokit.methods.metrics.items import AnswerMatrix, FamilyShares, family_means

NEIGHBOURS = 100
NEIGHBOUR_PART = 5
"""A model is compared with the fifth of the families nearest to it in strength, but no fewer than 100."""


@dataclass(frozen=True, slots=True)
class Canary:
    """A unit of problems with wrong labels, and who gives them back.

    A model gives it back if it agrees with the wrong label of every problem.
    """

    rows: tuple[int, ...]
    models: int
    """Models that were asked it."""
    given_back: int
    families_given_back: float
    """The sum over families of the share of members that give it back."""


@dataclass(frozen=True, slots=True)
class CanarySinger:
    """The model of a family that gives back most for its strength.

    `p` is the probability that a model of this strength gives back so many without having seen the test.
    """

    scorer: int
    family: int
    members: int
    given_back: int
    canaries: int
    expected: float
    """Number that a model of its strength is expected to give back."""
    p: float
    """P-value of the model alone."""
    p_family: float
    """`p` times the number of members."""
    p_corrected: float
    """`p_family` corrected for the number of families."""


@dataclass(frozen=True, slots=True)
class CanaryTest:
    """All canaries, and each family that gives one back.

    `singers` has the most suspicious model of each family, the least p first.
    """

    canaries: tuple[Canary, ...]
    families: int
    singers: tuple[CanarySinger, ...]
    least_p: float
    """The least corrected p that a family of one model could have had; 1 if nothing can be shown."""


def judge_canaries(matrix: AnswerMatrix, families: IntArray, rows: Sequence[int]) -> CanaryTest:
    """Test which models give back wrong labels more often than their equals.

    `rows` are the problems with wrong labels, and `families` is the family number of each model (models of one origin
    are a family). Equals are families of similar strength on other problems.
    """
    units = _group_canaries(matrix, rows)
    family_count = int(families.max()) + 1
    if not units:
        return CanaryTest((), family_count, (), 1.0)
    gives_back, were_asked = _find_given_back(matrix, units)
    strengths = _estimate_strengths(matrix, families, rows)
    by_family = family_means(gives_back, were_asked, families)
    family_chances = _estimate_chances(by_family, strengths)
    canaries = []
    for number, own_rows in enumerate(units):
        model_count = int(were_asked[:, number].sum())
        given_count = int(gives_back[:, number].sum())
        family_sum = float(np.nansum(by_family[:, number]))
        canaries.append(Canary(own_rows, model_count, given_count, family_sum))
    best: list[CanarySinger] = []
    least_p_values = []
    for family in range(family_count):
        is_member = families == family
        members = np.flatnonzero(is_member & were_asked.any(axis=1))
        if not len(members):
            continue
        chances = family_chances[family]
        singers = []
        for member in members.tolist():
            given_back = gives_back[member]
            singers.append(_test_singer(member, family, len(members), given_back, were_asked[member], chances))
        best.append(min(singers, key=_rank_singer))
        least_p_values.append(float(np.prod(chances)) * len(members))
    corrected = holm([singer.p_family for singer in best])
    singers_found = []
    for singer, p in zip(best, corrected, strict=True):
        if singer.given_back:
            singers_found.append(replace(singer, p_corrected=p))
    singers_found.sort(key=lambda singer: (singer.p_family, -singer.given_back, singer.family))
    least_p = min(1.0, min(least_p_values) * len(best)) if best else 1.0
    return CanaryTest(tuple(canaries), family_count, tuple(singers_found), least_p)


def _group_canaries(matrix: AnswerMatrix, rows: Sequence[int]) -> list[tuple[int, ...]]:
    """Group the rows of wrong labels by unit.

    Rows that no model was asked are left out.
    """
    asked_rows = [row for row in rows if matrix.is_asked[:, row].any()]
    by_unit: dict[int, list[int]] = {}
    for row in asked_rows:
        by_unit.setdefault(int(matrix.asked.units.numbers[row]), []).append(row)
    return [tuple(unit_rows) for unit_rows in by_unit.values()]


def _find_given_back(matrix: AnswerMatrix, units: Sequence[tuple[int, ...]]) -> tuple[BoolArray, BoolArray]:
    """Whether each model gives each unit back, and was asked it.

    Both arrays have a row per model and a column per unit. A unit is given back if the model is "right" on all its
    rows.
    """
    right_columns = []
    asked_columns = []
    for rows in units:
        right_columns.append(matrix.right[:, list(rows)].all(axis=1))
        asked_columns.append(matrix.is_asked[:, list(rows)].all(axis=1))
    return np.stack(right_columns, axis=1), np.stack(asked_columns, axis=1)


def _estimate_strengths(matrix: AnswerMatrix, families: IntArray, rows: Sequence[int]) -> FloatArray:
    """Strength of each family on the items that are not in `rows`."""
    is_other = np.array(matrix.is_asked.any(axis=0))
    is_other[list(rows)] = False
    others = np.flatnonzero(is_other)
    return FamilyShares(matrix.family_shares(families)[:, others], matrix.asked.units.take(others)).strengths


def _estimate_chances(by_family: FloatArray, strengths: FloatArray) -> FloatArray:
    """Probability that a family of similar strength gives each canary back.

    `by_family` has the share of members that give it back, by family and canary, and so has the result the
    probability. Neighbours are as many weaker as stronger families; at the ends, more of one side.
    """
    chances = np.ones_like(by_family)
    order = np.argsort(strengths, kind="stable")
    for number in range(by_family.shape[1]):
        asked_order = order[~np.isnan(by_family[order, number])]
        shares = by_family[asked_order, number]
        sums = np.concatenate([[0.0], np.cumsum(shares)])
        asked_count = len(asked_order)
        count = min(max(NEIGHBOURS, asked_count // NEIGHBOUR_PART), asked_count - 1)
        middle_starts = np.arange(asked_count) - count // 2
        starts = np.clip(middle_starts, 0, asked_count - 1 - count)
        near = sums[starts + count + 1] - sums[starts] - shares
        chances[asked_order, number] = (near + 1) / (count + 1)
    return chances


def _test_singer(
    scorer: int, family: int, members: int, given: BoolArray, were_asked: BoolArray, chances: FloatArray
) -> CanarySinger:
    """Test how many canaries one model gives back.

    `members` is the number of models of its family. `given` and `were_asked` say which canaries it gives back and was
    asked, and `chances` is the probability of each without having seen the test.
    """
    own_chances = chances[were_asked]
    count = int(given[were_asked].sum())
    p = float(poisson_binomial(own_chances)[count:].sum())
    p = min(1.0, p)
    p_family = min(1.0, p * members)
    canary_count = int(were_asked.sum())
    expected = float(own_chances.sum())
    return CanarySinger(scorer, family, members, count, canary_count, expected, p, p_family, p_family)


def _rank_singer(singer: CanarySinger) -> tuple[float, int, int]:
    """Sort key of models: least p first, then most given back."""
    return singer.p, -singer.given_back, singer.scorer


def poisson_binomial(chances: FloatArray) -> FloatArray:
    """Probability of each number of successes in independent trials.

    `chances` is the probability of success in each.

    >>> poisson_binomial(np.array([0.5, 0.5])).tolist()
    [0.25, 0.5, 0.25]
    """
    distribution = np.ones(1)
    for chance in chances.tolist():
        distribution = np.convolve(distribution, [1 - chance, chance])
    return distribution
