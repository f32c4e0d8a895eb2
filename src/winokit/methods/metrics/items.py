"""Items as measuring instruments: who is right on what, with families as witnesses.

A row is a family, a column an item; a family's value is the mean over its members. The rest score of a family is how
much oftener it is right on the other items than families are on average, so that families which were asked different
items can be compared; items of the same unit (the twin) are not among the rest, since local independence does not hold
between twins.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from winokit.answers import ORIGINAL, Answers, AskedProblems, Scorer
from winokit.errors import BadInput
from winokit.methods.arrays import BoolArray, FloatArray, IntArray, StateArray
from winokit.units import Units

RIGHT = 1
WRONG = 0
SILENT = -1
UNASKED = -2
"""The states of a cell."""
BANDS = ("weak", "middle", "strong")
"""Thirds of the families by strength."""
VARIANCE_FLOOR = 1e-12
"""Values that vary less are constant."""
MOST_CORRELATED = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class AnswerMatrix:
    """Answers of many scorers to the same labelled problems, as states.

    `states` has a row per scorer and a column per problem: right, wrong, silent or not asked.
    """

    asked: AskedProblems
    scorers: tuple[Scorer, ...]
    states: StateArray

    @classmethod
    def of(cls, answers: Answers) -> "AnswerMatrix":
        """Build from the answers to original problems, not variants.

        Raises BadInput if a scorer answers a problem twice.
        """
        is_original = np.array([variant == ORIGINAL for variant in answers.asked.variants], np.bool_)
        rows = is_original[answers.problem_index]
        problem_index = answers.problem_index[rows]
        scorer_index = np.zeros(len(problem_index), np.int64)
        if answers.scorer_index is not None:
            scorer_index = answers.scorer_index[rows]
        states = np.full((len(answers.scorers), len(answers.asked)), UNASKED, np.int8)
        row_states = np.where(answers.silent, SILENT, answers.correct.astype(np.int64))
        states[scorer_index, problem_index] = row_states[rows]
        if int((states != UNASKED).sum()) < len(problem_index):
            raise BadInput("expected one answer per scorer and problem: take trials and samples apart first")
        return cls(answers.asked, answers.scorers, states)

    @cached_property
    def right(self) -> BoolArray:
        """Whether each scorer is right on each problem.

        An abstention is not right.
        """
        is_right: BoolArray = self.states == RIGHT
        return is_right

    @cached_property
    def is_asked(self) -> BoolArray:
        """Whether each scorer was asked each problem."""
        was_asked: BoolArray = self.states != UNASKED
        return was_asked

    def family_shares(self, families: IntArray) -> FloatArray:
        """Share of each family's members that are right on each item.

        `families` is the family number of each scorer. NaN where no member was asked.
        """
        return family_means(self.right, self.is_asked, families)

    def pair_shares(self, families: IntArray, pairs: IntArray) -> tuple[FloatArray, FloatArray]:
        """Shares of each family with both twins right, and with both wrong.

        `pairs` has a row per pair with the columns of both twins. A silent twin is not wrong.
        """
        first = self.states[:, pairs[:, 0]]
        second = self.states[:, pairs[:, 1]]
        were_asked: BoolArray = np.minimum(first, second) != UNASKED
        both_right = family_means(np.minimum(first, second) == RIGHT, were_asked, families)
        are_wrong = np.stack([first, second]) == WRONG
        return both_right, family_means(are_wrong.all(axis=0), were_asked, families)


def family_means(flags: BoolArray, are_asked: BoolArray, families: IntArray) -> FloatArray:
    """Mean of flags by family (row) and column, over asked members.

    NaN where no member was asked.
    """
    order = np.argsort(families, kind="stable")
    starts = np.searchsorted(families[order], np.arange(int(families.max()) + 1))
    sums = np.add.reduceat((flags & are_asked)[order], starts, axis=0, dtype=np.float64)
    counts = np.add.reduceat(are_asked[order], starts, axis=0, dtype=np.float64)
    unknown = np.full_like(sums, np.nan)
    means: FloatArray = np.divide(sums, counts, out=unknown, where=counts > 0)
    return means


@dataclass(frozen=True, eq=False)
class FamilyShares:
    """Share right of each family on each item, and families' strength.

    A family is models of one origin. Its lead on an item is its share right minus the mean over families.
    """

    shares: FloatArray
    """Families by items; not a number where a family was not asked."""
    units: Units
    """The unit of each item."""

    @cached_property
    def is_known(self) -> BoolArray:
        """Whether each family was asked each item."""
        was_asked: BoolArray = ~np.isnan(self.shares)
        return was_asked

    @cached_property
    def leads(self) -> FloatArray:
        """Lead of each family over the average family on each item.

        0 where it was not asked.
        """
        counts = np.maximum(self.is_known.sum(axis=0), 1)
        means = np.where(self.is_known, self.shares, 0.0).sum(axis=0) / counts
        return np.where(self.is_known, self.shares - means, 0.0)

    @cached_property
    def lead_sums(self) -> FloatArray:
        """Sum of the leads of each family."""
        sums: FloatArray = self.leads.sum(axis=1)
        return sums

    @cached_property
    def item_counts(self) -> IntArray:
        """Number of items that each family was asked."""
        counts: IntArray = self.is_known.sum(axis=1)
        return counts

    @cached_property
    def strengths(self) -> FloatArray:
        """Mean lead of each family over the items it was asked."""
        strengths: FloatArray = self.lead_sums / np.maximum(self.item_counts, 1)
        return strengths

    @cached_property
    def reliability(self) -> float:
        """Cronbach's alpha of the items over families, from 0 to 1.

        0 if families differ no more than unrelated items would make them differ.
        """
        if len(self.strengths) < 2:
            return 0.0
        counts = self.is_known.sum(axis=0)
        # Leads are 0 on average over the families that were asked.
        variances = (self.leads**2).sum(axis=0) / np.maximum(counts - 1, 1)
        strength_gaps = self.strengths - self.strengths.mean()
        total = float((strength_gaps**2).sum() / (len(self.strengths) - 1))
        total *= float(self.item_counts.mean()) ** 2
        if total < VARIANCE_FLOOR:
            return 0.0
        return float(np.clip(1 - variances.sum() / total, 0.0, 1.0))

    @cached_property
    def unit_columns(self) -> list[IntArray]:
        """Column indices of the items of each unit."""
        return self.units.rows()

    def rests(self, column: int) -> FloatArray:
        """Mean lead of each family on items outside a column's unit.

        NaN for a family that was asked nothing else.
        """
        unit_columns = self.unit_columns[self.units.numbers[column]]
        counts = self.item_counts - self.is_known[:, unit_columns].sum(axis=1)
        leads = self.lead_sums - self.leads[:, unit_columns].sum(axis=1)
        unknown = np.full(len(counts), np.nan)
        rests: FloatArray = np.divide(leads, counts, out=unknown, where=counts > 0)
        return rests

    @cached_property
    def bands(self) -> dict[str, BoolArray]:
        """Flags of the families in each third by strength.

        Thirds are `weak`, `middle` and `strong`. With fewer than three families, all are strong.
        """
        count = len(self.strengths)
        if count < len(BANDS):
            nobody = np.zeros(count, np.bool_)
            return {"weak": nobody, "middle": nobody, "strong": np.ones(count, np.bool_)}
        places = np.empty(count, np.int64)
        places[np.argsort(self.strengths, kind="stable")] = np.arange(count)
        thirds = places * len(BANDS) // count
        return {band: thirds == number for number, band in enumerate(BANDS)}


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation over families with its jackknife error."""

    value: float
    error: float
    """The standard error of its Fisher transform, by the jackknife."""
    families: int


def correlation(values: FloatArray, rests: FloatArray) -> Correlation | None:
    """Correlation over families of an item's shares with other items' leads.

    `rests` are those of `FamilyShares.rests`. None if there are fewer than four families, or nothing varies.

    >>> found = correlation(np.array([0, 0, 1, 0, 1, 1.0]), np.array([-3, -2, -1, 1, 2, 3.0]))
    >>> round(found.value, 3), found.families
    (0.617, 6)
    """
    are_known = ~np.isnan(values) & ~np.isnan(rests)
    known_values = values[are_known]
    known_rests = rests[are_known]
    count = len(known_values)
    if count < 4:
        return None
    value_gaps = known_values - known_values.mean()
    rest_gaps = known_rests - known_rests.mean()
    sums = np.array([value_gaps @ value_gaps, rest_gaps @ rest_gaps, value_gaps @ rest_gaps])
    if min(sums[0], sums[1]) < VARIANCE_FLOOR * count:
        return None
    # Sums of squares and products without each family in turn, around the means without it.
    shrinkage = count / (count - 1)
    value_squares = sums[0] - shrinkage * value_gaps**2
    rest_squares = sums[1] - shrinkage * rest_gaps**2
    products = sums[2] - shrinkage * value_gaps * rest_gaps
    scale = np.sqrt(np.maximum(value_squares * rest_squares, VARIANCE_FLOOR))
    left_out = np.arctanh(np.clip(products / scale, -MOST_CORRELATED, MOST_CORRELATED))
    distances = left_out - left_out.mean()
    variance = (count - 1) / count * (distances**2).sum()
    value = float(sums[2] / np.sqrt(sums[0] * sums[1]))
    return Correlation(value, float(np.sqrt(variance)), count)
