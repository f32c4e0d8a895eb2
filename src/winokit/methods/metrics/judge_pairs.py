"""The judge of two: one table of answers against another, on what both answered.

This is the door of `compare`, `suite`, `gate` and `grade`. It tests what is shown: an abstention is not a right answer,
as in the rows of an audit, unless expected accuracy is asked for by its name. Interval and p-value come from one test.

A comparison ends in one of a few words. Whether one model is ahead is corrected for the number of tests (Holm). What
is said of a margin uses the intervals of the single comparison, uncorrected: that of 95 % for "more than the margin",
that of 90 % for "equal within the margin" (two one-sided tests at 5 %).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import get_args

import numpy as np

from winokit.answers import Answers
from winokit.errors import BadInput
from winokit.methods.arrays import BoolArray, FloatArray
from winokit.methods.metrics.accuracy import credit
from winokit.methods.metrics.compare import POWER as POWER
from winokit.methods.metrics.compare import Comparison as Comparison
from winokit.methods.metrics.compare import compare
from winokit.methods.metrics.consistency import role_kept
from winokit.methods.metrics.corrections import holm
from winokit.methods.metrics.groups import GroupLayout, all_right
from winokit.methods.metrics.intervals import LEVEL
from winokit.methods.metrics.judge import layout_of
from winokit.methods.metrics.pair_measures import PairMeasure
from winokit.problem import joined
from winokit.units import Units

MEASURES: tuple[PairMeasure, ...] = get_args(PairMeasure)
"""Measures by which two scorers can be compared."""
SMALL = 0.05
"""The level of all tests together, after correction."""

FEW_POINTS = 0.03
"""Abstentions of two scorers that differ by more than this share belong to what is said of their difference."""

BEYOND = "ahead, by more than the margin"
LITTLE = "ahead, by little"
AHEAD = "ahead"
EQUAL = "equal within the margin"
NOT_SHOWN = "not shown"
REFUSES = "answers nothing"
WORDS = (REFUSES, NOT_SHOWN, EQUAL, LITTLE, AHEAD, BEYOND)
"""Verdicts on two scorers, from the weakest to the strongest."""
KEPT_AS = "_keys"
"""The attribute of a table under which the keys of its rows are kept."""

Key = tuple[str, str]
"""The variant of a row, and the id of the problem it was made from."""


@dataclass(frozen=True)
class SharedAnswers:
    """Answers of two scorers to the problems that both answered.

    Rows are matched by variant and problem id, which depends on neither the answer nor the order of candidates. Each
    table is judged by its own right answers: another run may list the candidates in another order.
    """

    samples: tuple[Sequence[Answers], Sequence[Answers]]
    """The tables of either scorer's samples, whose means are compared: one each, unless it was asked several times."""

    @classmethod
    def of(cls, first: Answers, second: Answers) -> "SharedAnswers":
        """Take the problems that both tables answer, in the first's order.

        Each table has one scorer.
        """
        tables = first.sample_tables()
        others = second.sample_tables()
        keys = keys_of(tables[0])
        other_keys = keys_of(others[0])
        if keys == other_keys:
            return cls((tables, others))
        row_of = {key: row for row, key in enumerate(other_keys)}
        rows = [row for row, key in enumerate(keys) if key in row_of]
        other_rows = [row_of[keys[row]] for row in rows]
        shared_tables = [own.take(rows) for own in tables]
        shared_others = [own.take(other_rows) for own in others]
        return cls((shared_tables, shared_others))

    @property
    def first(self) -> Answers:
        """First sample of the first scorer."""
        return self.samples[0][0]

    @property
    def second(self) -> Answers:
        """First sample of the second scorer."""
        return self.samples[1][0]

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def units(self) -> Units:
        """Unit of each row.

        Rows that are one unit in either dataset are one unit.
        """
        first_units = self.first.units
        second_units = self.second.units
        if first_units == second_units:
            return first_units
        pairs = zip(first_units.numbers.tolist(), second_units.numbers.tolist(), strict=True)
        keys = ([("first", number), ("second", other_number)] for number, other_number in pairs)
        return Units.of_names(joined(keys))

    @cached_property
    def layout(self) -> GroupLayout:
        """Complete groups of the first dataset, or of the second.

        The second counts if the first has no groups. A complete group has all members that either dataset gives it.
        """
        if self.first.groups == self.second.groups and self.first.group_sizes == self.second.group_sizes:
            return layout_of(self.first)
        grouped = self.first
        other = self.second
        if not any(self.first.groups):
            grouped = self.second
            other = self.first
        sizes = dict(grouped.group_sizes)
        for name, other_name in zip(grouped.groups, other.groups, strict=True):
            if name is not None and other_name is not None:
                sizes[name] = max(sizes.get(name, 0), other.group_sizes.get(other_name, 0))
        return GroupLayout(grouped.groups, sizes)


Values = tuple[FloatArray, FloatArray, Units]
"""Scores of both scorers on each problem or group, and the units."""


def keys_of(answers: Answers) -> list[Key]:
    """Variant and original's id of each row, computed once per table.

    Samples of a problem have one key. Raises BadInput if two other rows are of one problem.
    """
    keys: list[Key] | None = vars(answers).get(KEPT_AS)
    if keys is None:
        variants = answers.asked.variants
        own_variants = [variants[index] for index in answers.problem_index]
        keys = list(zip(own_variants, answers.ids, strict=True))
        if answers.samples is not None:
            keys = list(dict.fromkeys(keys))
        if len(set(keys)) < len(keys):
            problem_count = len(set(keys))
            found = f"{len(keys):,} to {problem_count:,}"
            raise BadInput(f"expected one answer per problem, found {found}: take the table apart by scorer and trial")
        object.__setattr__(answers, KEPT_AS, keys)
    return keys


def usual_measures(shared: SharedAnswers) -> tuple[PairMeasure, ...]:
    """Measures by which two scorers are compared by default.

    Accuracy, and group accuracy if there are complete groups.
    """
    return ("accuracy", "group_accuracy") if shared.layout.members else ("accuracy",)


def compare_answers(
    first: Answers,
    second: Answers,
    measures: Sequence[PairMeasure] | None = None,
    *,
    switched: tuple[Answers, Answers] | None = None,
    level: float = LEVEL,
) -> dict[PairMeasure, Comparison]:
    """Compare two scorers on what both answered, by each measure.

    Each table has one scorer, who is judged by its own right answers.

    A measure for which there is nothing is left out: whole groups without twins, consistency without `switched`,
    everything if no problem is in both tables.

    Parameters
    ----------
    measures
        By default accuracy and, if there are complete groups, group accuracy.
    switched
        Both scorers' answers to the problems with candidates switched, which consistency needs.
    level
        Of the interval. The narrow one, for equality, misses on each side as often as this on both.
    """
    shared = SharedAnswers.of(first, second)
    if not len(shared):
        return {}
    refuses = list(map(_are_silent, shared.samples))
    abstained = list(map(_compute_abstained, shared.samples))
    expected: list[float | None] = [None, None]
    if abs(abstained[0] - abstained[1]) > FEW_POINTS:
        expected = list(map(_compute_expected, shared.samples))
    comparisons: dict[PairMeasure, Comparison] = {}
    for measure in measures or usual_measures(shared):
        values = _take_values(measure, shared, switched)
        if values is not None:
            comparison = compare(*values, level=level)
            comparisons[measure] = replace(
                comparison,
                first_refuses=refuses[0],
                second_refuses=refuses[1],
                first_abstained=abstained[0],
                second_abstained=abstained[1],
                first_expected=expected[0],
                second_expected=expected[1],
            )
    return comparisons


def _take_values(
    measure: PairMeasure, shared: SharedAnswers, switched: tuple[Answers, Answers] | None
) -> Values | None:
    """Scores of both scorers by a measure, with units.

    None if the measure has nothing to be computed from.
    """
    if measure == "consistency":
        return None if switched is None else _compare_roles(shared, switched)
    if measure == "group_accuracy":
        layout = shared.layout
        if not layout.members:
            return None
        first, second = (_compute_group_shares(tables, layout) for tables in shared.samples)
        return first, second, shared.units.take(layout.rows[layout.starts])
    values_of = _mark_right if measure == "accuracy" else _compute_credits
    means = [_compute_means(list(map(values_of, tables))) for tables in shared.samples]
    return means[0], means[1], shared.units


def _compute_group_shares(tables: Sequence[Answers], layout: GroupLayout) -> FloatArray:
    """Share of samples in which each group is right as a whole.

    `tables` has one table per sample.
    """
    return _compute_means([all_right(table.correct, layout) for table in tables])


def _are_silent(tables: Sequence[Answers]) -> bool:
    """Whether all samples abstain on all problems."""
    return all(table.silent.all() for table in tables)


def _compute_abstained(tables: Sequence[Answers]) -> float:
    """Share of abstentions, over problems and samples."""
    return float(np.mean([table.silent.mean() for table in tables]))


def _compute_expected(tables: Sequence[Answers]) -> float:
    """Expected accuracy if abstentions were guesses, over problems and samples."""
    return float(np.mean([_compute_credits(table).mean() for table in tables]))


def _compute_means(values: Sequence[BoolArray | FloatArray]) -> FloatArray:
    """Mean over samples of each problem's or group's value."""
    means: FloatArray = np.mean(np.stack(values).astype(np.float64), axis=0)
    return means


def _mark_right(answers: Answers) -> FloatArray:
    """1 for each right answer, else 0."""
    return answers.correct.astype(np.float64)


def _compute_credits(answers: Answers) -> FloatArray:
    """1 for each right answer, 1/candidates for an abstention, else 0."""
    return credit(answers.predictions, answers.answers, answers.candidates)


def _compare_roles(shared: SharedAnswers, switched: tuple[Answers, Answers]) -> Values | None:
    """Share of samples in which each scorer keeps the role when switched.

    Only problems that both scorers answered both ways. None if there is none. See `consistency.role_kept`.
    """
    after = SharedAnswers.of(*switched)
    row_of = {name: row for row, (_, name) in enumerate(keys_of(after.first))}
    names = [name for _, name in keys_of(shared.first)]
    shared_rows = [row for row, name in enumerate(names) if name in row_of]
    if not shared_rows:
        return None
    rows = np.array(shared_rows, np.int64)
    after_rows = np.array([row_of[names[row]] for row in shared_rows], np.int64)
    means = []
    for tables, switched_tables in zip(shared.samples, after.samples, strict=True):
        roles_kept = []
        for table, switched_table in zip(tables, switched_tables, strict=False):
            before = table.take(rows).predictions
            roles_kept.append(role_kept(before, switched_table.take(after_rows).predictions))
        means.append(_compute_means(roles_kept))
    return means[0], means[1], shared.units.take(rows)


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """Verdict on two scorers by one measure, as one of several tests."""

    comparison: Comparison
    p_corrected: float
    """Corrected for the number of tests (Holm)."""
    margin: float | None
    """The difference that matters, as a share; None if none was named."""
    alpha: float
    """The level of this test among those that show nothing."""

    @property
    def lead(self) -> int:
        """1 if the first is ahead, -1 if the second, else 0.

        A scorer that answers nothing is never ahead.
        """
        difference = self.comparison.difference
        is_shown = self.p_corrected < SMALL and difference != 0
        if not is_shown or self._leader_refuses:
            return 0
        return 1 if difference > 0 else -1

    @property
    def word(self) -> str:
        """Verdict in words, one of WORDS."""
        if self.both_refuse or (self._leader_refuses and self.p_corrected < SMALL):
            return REFUSES
        if self.margin is None:
            return AHEAD if self.lead else NOT_SHOWN
        if self.lead:
            return self._choose_lead_word(self.margin)
        return EQUAL if self.is_within else NOT_SHOWN

    @property
    def both_refuse(self) -> bool:
        """Whether neither scorer answers anything.

        Then there is nothing to compare, and they are not equal.
        """
        return self.comparison.first_refuses and self.comparison.second_refuses

    @property
    def is_within(self) -> bool:
        """Whether the difference is shown to be smaller than the margin.

        The narrow interval lies inside the margin. False without a margin.
        """
        if self.margin is None or self.both_refuse:
            return False
        narrow = self.comparison.narrow
        return -self.margin < narrow.low and narrow.high < self.margin

    @property
    def gap_to_find(self) -> float | None:
        """Smallest difference that would be found four times in five.

        None if none would.
        """
        return self.comparison.resolution.gap_to_find(self.alpha, POWER)

    @property
    def can_show_equality(self) -> bool:
        """Whether equal scorers would be shown equal every other time.

        Equal within the margin, on these problems. False without a margin.
        """
        return self.margin is not None and self.comparison.resolution.can_show_equality(self.margin)

    @property
    def _leader_refuses(self) -> bool:
        """Whether the scorer with the higher score answers nothing.

        It has its score by guesses for abstentions, which is no lead.
        """
        if self.comparison.difference > 0:
            return self.comparison.first_refuses
        return self.comparison.second_refuses

    def _choose_lead_word(self, margin: float) -> str:
        """Word for a shown lead: beyond the margin, little, or ahead."""
        if self._is_beyond(margin):
            return BEYOND
        return LITTLE if self.is_within else AHEAD

    def _is_beyond(self, margin: float) -> bool:
        """Whether the interval lies outside the margin."""
        interval = self.comparison.interval
        return interval.low > margin or interval.high < -margin


def verdicts(comparisons: Sequence[Comparison], margin: float | None = None) -> list[PairVerdict]:
    """Make the verdict of each comparison, corrected for their number.

    `margin` is the difference that matters, as a share; None for none.
    """
    corrected = holm([comparison.p for comparison in comparisons])
    open_count = sum(p >= SMALL for p in corrected)
    # Holm's procedure stops at this level: what is still open would have had to be below it.
    alpha = SMALL / max(open_count, 1)
    return [PairVerdict(comparison, p, margin, alpha) for comparison, p in zip(comparisons, corrected, strict=True)]
