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
"""The note on gradings of a release without units."""
CANDIDATES = 2
"""Number of candidates of every problem in a release."""


@dataclass(frozen=True)
class GradedUnits:
    """The units of a hidden test's problems and complete groups."""

    of_problems: Units
    """The unit of each problem, in the order of the test."""
    of_groups: Units
    """The unit of each complete group, in order of appearance."""
    is_stored: bool
    """Whether the release stores its units; if not, each group and each problem alone is a unit."""

    @classmethod
    def of_labels(cls, labels: HiddenPart) -> "GradedUnits":
        """Return the units of a test from its hidden labels."""
        names: Sequence[Hashable] = labels.groups if labels.units is None else labels.units
        units = Units.of_names(names)
        first_rows = [rows[0] for rows in complete_groups(labels.groups).values()]
        return cls(units, units.take(first_rows), labels.units is not None)

    @property
    def count(self) -> int | None:
        """Number of units, or None if the release does not store them."""
        return self.of_problems.count if self.is_stored else None

    @property
    def effective(self) -> int:
        """Effective number of units: as many equal ones give the same precision.

        It assumes that the problems of a unit are right or wrong together. A few large units make it small.
        """
        sizes = self.of_problems.sizes
        effective_count = sizes.sum() ** 2 / (sizes**2).sum()
        return max(1, round(float(effective_count)))

    @property
    def counted_problems(self) -> int:
        """Number of problems that determines the steps: units plus complete groups.

        Releases without stored units count every problem.
        """
        if not self.is_stored:
            return len(self.of_problems)
        return self.of_problems.count + self.of_groups.count

    @property
    def note(self) -> str | None:
        """A note that groups are counted as units, or None."""
        return None if self.is_stored else BY_GROUP


class HiddenProblems(AskedProblems):
    """The problems of a hidden test, for a table of answers.

    They have no texts. Each has two candidates. Answers, groups and ids are those of the hidden labels.
    """

    def __init__(self, labels: HiddenPart) -> None:
        units = GradedUnits.of_labels(labels).of_problems
        super().__init__((), units, {}, (ORIGINAL,) * len(labels))
        # Everything else that a table of answers needs is in the labels.
        self.answers: IntArray = choice_numbers(labels.answers)
        self.candidates: IntArray = np.full(len(labels), CANDIDATES, np.int64)
        self.groups = labels.groups
        self.ids = labels.ids

    def __len__(self) -> int:
        return len(self.ids)


def answers_of(labels: HiddenPart, choices: IntArray) -> Answers:
    """Return a column of a submission as a table of answers.

    `choices` has the predicted candidate of each problem, from 0, in the order of the test.
    """
    return Answers(HiddenProblems(labels), np.arange(len(labels)), choices)
