"""The units of a hidden test: what of it varies independently, and so what a grading counts.

Problems of one unit hang together: they are twins, have one text, or come from one template. A submission that has one
of them right tends to have the others right too, so that intervals, paired tests and thresholds count units. A test
written three times over is no larger. Releases store the units in `labels.jsonl`; for those of earlier versions, which
did not, each group and each problem alone is taken for a unit.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from winokit.answers import Answers, AskedProblems, IntArray, choice_numbers
from winokit.methods.metrics.groups import complete_groups
from winokit.problem import ORIGINAL
from winokit.stages.release.hidden import HiddenPart
from winokit.units import Units

BY_GROUP = (
    "intervals and tests count groups, not units: an earlier version made this release and stored no units; problems "
    "of one template count as independent"
)
"""What is said of a grading on a release without units."""
CANDIDATES = 2
"""A release has problems with two candidates alone."""


@dataclass(frozen=True)
class GradedUnits:
    """Unit of each problem and of each complete group of a test."""

    of_problems: Units
    """In the order of the test."""
    of_groups: Units
    """Of complete groups, in order of appearance."""
    is_stored: bool
    """Whether the release says what its units are; else groups stand for them."""

    @classmethod
    def of_labels(cls, labels: HiddenPart) -> "GradedUnits":
        """The units of the hidden labels of a release."""
        names: Sequence[Hashable] = labels.groups if labels.units is None else labels.units
        units = Units.of_names(names)
        first_rows = [rows[0] for rows in complete_groups(labels.groups).values()]
        return cls(units, units.take(first_rows), labels.units is not None)

    @property
    def count(self) -> int | None:
        """Number of units that the release states, or None."""
        return self.of_problems.count if self.is_stored else None

    @property
    def effective(self) -> int:
        """As how many units of one size these count, if problems of one are right or wrong together.

        A large unit among many small ones makes few.
        """
        sizes = self.of_problems.sizes
        return max(1, round(float(sizes.sum() ** 2 / (sizes**2).sum())))

    @property
    def counted_problems(self) -> int:
        """Number of problems that make steps of scores: one per unit, two if it has twins.

        Releases without units count every problem, as they always did.
        """
        if not self.is_stored:
            return len(self.of_problems)
        return self.of_problems.count + self.of_groups.count

    @property
    def note(self) -> str | None:
        """Note on how this test is counted, or None if it is counted by units."""
        return None if self.is_stored else BY_GROUP


class HiddenProblems(AskedProblems):
    """The problems of a hidden test in the table of answers: their texts are not here, and each has two candidates."""

    def __init__(self, labels: HiddenPart) -> None:
        units = GradedUnits.of_labels(labels).of_problems
        super().__init__((), units, {}, (ORIGINAL,) * len(labels))
        # What else is taken from problems, the labels have.
        self.answers: IntArray = choice_numbers(labels.answers)
        self.candidates: IntArray = np.full(len(labels), CANDIDATES, np.int64)
        self.groups = labels.groups
        self.ids = labels.ids

    def __len__(self) -> int:
        return len(self.ids)


def answers_of(labels: HiddenPart, choices: IntArray) -> Answers:
    """One column of a submission as a table of answers, in the order of the test."""
    return Answers(HiddenProblems(labels), np.arange(len(labels)), choices)
