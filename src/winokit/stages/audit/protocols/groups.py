"""Group scoring (Elazar et al., 2021): a group counts only if all its members are right.

Guessing gives 0.25 for pairs, not 0.5.
"""

from __future__ import annotations

from collections.abc import Iterable

from winokit.methods.metrics import (
    all_right,
    all_right_chance,
    no_right,
    no_right_chance,
    some_right,
    some_right_chance,
)
from winokit.results import Metric
from winokit.stages.audit.sheet import AuditSheet


def groups(sheet: AuditSheet) -> Iterable[Metric]:
    """Groups with all, some and no members right; accuracy on grouped and on single problems beside them."""
    graded = sheet.graded()
    complete = sheet.complete(graded)
    inside = {id(one) for group in complete for one in group}
    single = [one for one in graded if one.problem.group is None]
    torn = len(graded) - len(inside) - len(single)
    if torn:
        sheet.leave_out("groups", "complete", "a member of the group has no prediction", torn)
    if not complete:
        sheet.leave_out("groups", "complete", "the dataset has no groups", len(graded))
    yield from sheet.by_group(("groups", "complete", "group_accuracy"), graded, all_right, all_right_chance)
    yield from sheet.by_group(("groups", "complete", "one_right"), graded, some_right, some_right_chance)
    yield from sheet.by_group(("groups", "complete", "none_right"), graded, no_right, no_right_chance)
    grouped = [one for one in graded if id(one) in inside]
    yield from sheet.accuracy("groups", "grouped", grouped)
    yield from sheet.accuracy("groups", "single", single)
    yield from sheet.gap(("groups", "all", "single_minus_grouped"), single, grouped)
