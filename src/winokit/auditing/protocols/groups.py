"""Group scoring (Elazar et al., 2021): a group counts only if all its members are right.

Guessing gives 0.25 for pairs, not 0.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from winokit.auditing.sheet import Graded, Sheet, all_by_chance, all_right
from winokit.results import Metric


def groups(sheet: Sheet) -> Iterable[Metric]:
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
    yield from sheet.by_group(("groups", "complete", "group_accuracy"), graded, all_right, all_by_chance)
    yield from sheet.by_group(("groups", "complete", "one_right"), graded, _some_right, _some_by_chance)
    yield from sheet.by_group(("groups", "complete", "none_right"), graded, _none_right, _none_by_chance)
    yield from sheet.accuracy("groups", "grouped", [one for one in graded if id(one) in inside])
    yield from sheet.accuracy("groups", "single", single)


def _none_right(group: Sequence[Graded]) -> float:
    return float(not any(one.correct for one in group))


def _some_right(group: Sequence[Graded]) -> float:
    return 1.0 - all_right(group) - _none_right(group)


def _none_by_chance(group: Sequence[Graded]) -> float:
    chance = 1.0
    for one in group:
        chance *= 1 - one.chance
    return chance


def _some_by_chance(group: Sequence[Graded]) -> float:
    return 1.0 - all_by_chance(group) - _none_by_chance(group)
