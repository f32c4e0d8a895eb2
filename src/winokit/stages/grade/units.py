"""The units of a hidden test: what of it varies independently, and so what a grading counts.

Problems of one unit hang together: they are twins, have one text, or come from one template. A submission that has one
of them right tends to have the others right too, so that intervals, paired tests and thresholds count units. A test
written three times over is no larger. Releases store the units in `labels.jsonl`; for those of earlier versions, which
did not, each group and each problem alone is taken for a unit.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from winokit.methods.arrays import BoolArray, IntArray, clusters
from winokit.methods.metrics.groups import complete_groups
from winokit.methods.metrics.luck import p_chance
from winokit.stages.release.hidden import HiddenPart

BY_GROUP = (
    "intervals and tests count groups, not units: an earlier version made this release and stored no units; problems "
    "of one template count as independent"
)
"""What is said of a grading on a release without units."""


@dataclass(frozen=True)
class GradedUnits:
    """Which unit each problem and each complete group of a test belongs to."""

    of_problems: IntArray
    """Numbers from 0, in the order of the test."""
    of_groups: IntArray
    """The same for complete groups, in order of appearance."""
    is_stored: bool
    """Whether the release says what its units are; else groups stand for them."""

    @classmethod
    def of_labels(cls, labels: HiddenPart) -> "GradedUnits":
        """The units of the hidden labels of a release."""
        stored: Sequence[Hashable] = labels.groups if labels.units is None else labels.units
        numbers = clusters(stored)
        firsts = [rows[0] for rows in complete_groups(labels.groups).values()]
        return cls(numbers, numbers[firsts], labels.units is not None)

    @cached_property
    def sizes(self) -> IntArray:
        """How many problems each unit has."""
        return np.bincount(self.of_problems)

    @property
    def count(self) -> int | None:
        """How many units the release says it has; None if it does not say."""
        return len(self.sizes) if self.is_stored else None

    @property
    def effective(self) -> int:
        """As how many units of one size these count, if problems of one are right or wrong together.

        A large unit among many small ones makes few.
        """
        return max(1, round(float(self.sizes.sum() ** 2 / (self.sizes**2).sum())))

    @property
    def counted_problems(self) -> int:
        """How many problems make the steps of scores: of each unit one, or two if it has twins.

        Releases without units count every problem, as they always did.
        """
        if not self.is_stored:
            return len(self.of_problems)
        return len(self.sizes) + len(np.unique(self.of_groups))

    @property
    def note(self) -> str | None:
        """What must be said of the way this test is counted; None if it is counted by units."""
        return None if self.is_stored else BY_GROUP

    def p_by_chance(self, right: BoolArray) -> float:
        """Probability that as many are right if a coin for each unit turned its answers round.

        Of a unit with 5 right and 1 wrong, turned round, 1 would be right and 5 wrong.
        """
        right_counts = np.bincount(self.of_problems, weights=right).astype(np.int64)
        wrong_counts = self.sizes - right_counts
        leads = np.abs(right_counts - wrong_counts)
        sure = int(np.minimum(right_counts, wrong_counts).sum())
        if not leads.any():
            return 1.0
        return p_chance(int(right_counts.sum()) - sure, int(leads.sum()), 0.5, times=leads[leads > 0])
