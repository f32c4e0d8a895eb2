"""Associative problems (Trichelair et al., 2018): the blank's clause alone points to the answer by word association.

Two subsets go by the name of WSC without associative problems: Trichelair et al.'s, which drops the associative
problems, and Elazar et al.'s, which drops their whole groups (`non_associative_groups`).
"""

from __future__ import annotations

from collections.abc import Iterable

from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet


@protocol()
def association(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy on associative problems and on the rest; nothing where no problem is labelled."""
    graded = [one for one in sheet.graded() if "associative" in one.problem.labels]
    if not graded:
        sheet.leave_out("association", "associative", "no problem is labelled associative or not", len(sheet.dataset))
        return
    by = {str(one.problem.labels["associative_by"]) for one in graded if "associative_by" in one.problem.labels}
    note = f"estimated, not judged by people: {', '.join(sorted(by))}" if by else None
    tainted = {one.problem.group for one in graded if one.problem.labels["associative"] and one.problem.group}
    rest = [one for one in graded if not one.problem.labels["associative"]]
    associative = [one for one in graded if one.problem.labels["associative"]]
    yield from sheet.accuracy("association", "associative", associative, note=note)
    yield from sheet.accuracy("association", "non_associative", rest, note=note)
    yield from sheet.gap(("association", "all", "associative_minus_others"), associative, rest, note)
    whole = [one for one in rest if one.problem.group is not None and one.problem.group not in tainted]
    yield from sheet.accuracy("association", "non_associative_groups", whole, note=note)
