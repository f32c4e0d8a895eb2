"""Choices of several trials on the same problems, and their common null.

Trials of one scorer differ in seed, size or settings, and are scored on one test set. Under the null right answers
change places once, for all trials alike, so that what trials have in common is not counted as luck several times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from winokit.answers import Answers, TrialName
from winokit.errors import BadInput
from winokit.methods.arrays import BoolArray, IntArray
from winokit.methods.metrics.groups import GroupLayout
from winokit.methods.metrics.judge import layout_of
from winokit.methods.metrics.null import DRAWN_AT_ONCE, DRAWS, Null, NullTest, null_of

Counted = Callable[[BoolArray], IntArray]
"""From right or wrong, problems last, to a count over them."""


@dataclass(frozen=True, eq=False)
class TrialTable:
    """Choices of several trials: a row per trial, a column per problem."""

    trials: tuple[TrialName, ...]
    problems: Answers
    """The answers of the first trial, for what is known of the problems."""
    choices: IntArray

    @classmethod
    def of(cls, answers: Answers) -> TrialTable:
        """Arrange the answers of one scorer and one variant by trial.

        Raises BadInput unless each trial has the same problems in one order.
        """
        index = answers.trial_index
        if index is None:
            return cls(answers.trials, answers, answers.choices[None, :])
        numbers = np.unique(index)
        rows_by_trial = [np.flatnonzero(index == number) for number in numbers]
        first = answers.take(rows_by_trial[0])
        for rows in rows_by_trial[1:]:
            if not np.array_equal(answers.problem_index[rows], first.problem_index):
                raise BadInput("expected the same problems in every trial, in one order: found others")
        trials = tuple(answers.trials[number] for number in numbers)
        return cls(trials, first, answers.choices[np.stack(rows_by_trial)])

    def __len__(self) -> int:
        return len(self.trials)

    @cached_property
    def correct(self) -> BoolArray:
        """Whether each trial is right on each problem.

        An abstention is not right.
        """
        is_right: BoolArray = self.choices == self.problems.answers
        return is_right

    @property
    def layout(self) -> GroupLayout:
        """Layout of the complete groups of the problems."""
        return layout_of(self.problems)

    def take(self, rows: Sequence[int]) -> TrialTable:
        """Table of the trials at some row indices."""
        trials = tuple(self.trials[row] for row in rows)
        choices = self.choices[list(rows)]
        return TrialTable(trials, self.problems, choices)

    def one(self, row: int) -> Answers:
        """Answers of the trial at a row index."""
        return replace(self.problems, choices=self.choices[row], trials=(self.trials[row],), trial_index=None)

    def whole_groups(self, is_right: BoolArray) -> BoolArray:
        """Whether every member of each complete group is right.

        The last axis of `is_right` is the problem; that of the result is the group.
        """
        layout = self.layout
        member_flags = is_right[..., layout.rows]
        together: BoolArray = np.logical_and.reduceat(member_flags, layout.starts, axis=-1)
        return together

    @cached_property
    def null(self) -> Null:
        """Null of all trials together: answers change places once for all."""
        return Null(self.problems, trials=self.choices)

    def right_test(self) -> NullTest:
        """Test the number right, summed over all trials."""
        return self.null.right()

    def whole_groups_test(self) -> NullTest:
        """Test the number of whole groups right, summed over all trials."""
        return self.null.whole_groups()

    def drawn_counts(self, counted: Counted, draws: int = DRAWS, seed: int = 0) -> IntArray:
        """Count of each trial in many draws of the null.

        A row per draw, a column per trial. `counted` makes a count of flags that say which problems are right.
        """
        blocks = []
        for right_answers in drawn_answers(self.problems, draws, seed):
            each = [counted(right_answers == trial_choices) for trial_choices in self.choices]
            blocks.append(np.stack(each, axis=1))
        return np.concatenate(blocks)


def count_right(is_right: BoolArray) -> IntArray:
    """Number of true flags along the last axis."""
    counts: IntArray = is_right.sum(axis=-1, dtype=np.int64)
    return counts


def drawn_answers(answers: Answers, draws: int = DRAWS, seed: int = 0) -> Iterator[IntArray]:
    """Yield blocks of right answers that changed places at random.

    A row per draw, a column per problem.
    """
    null = null_of(answers)
    rng = np.random.default_rng(seed)
    at_once = max(DRAWN_AT_ONCE // max(len(answers), 1), 1)
    for start in range(0, draws, at_once):
        yield null.draw(min(at_once, draws - start), rng)
