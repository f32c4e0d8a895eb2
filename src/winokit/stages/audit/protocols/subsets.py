"""Kinds of problems (Trichelair et al., 2018): associative ones, and classes of structure.

In an associative problem the blank's clause alone points to the answer by word association. Two subsets go by the name
of WSC without associative problems: Trichelair et al.'s, which drops the associative problems, and Elazar et al.'s,
which drops their whole groups (`non_associative_groups`). Structure is where the special word stands, and the
connective.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from winokit.data.checks.structure import connective, special_is_last
from winokit.methods.metrics.groups import all_right, all_right_chance
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet

FEWEST = 10
"""Connectives before fewer blanks than this are counted together as "other"."""


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


@protocol()
def structure(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy and group accuracy with the special word last or not; accuracy by connective."""
    graded = sheet.graded()
    last = {
        name for name, members in sheet.dataset.groups.items() if len(members) > 1 and special_is_last(*members[:2])
    }
    for subset, wanted in (("special_last", True), ("special_not_last", False)):
        some = [one for one in graded if one.problem.group is not None and (one.problem.group in last) is wanted]
        yield from sheet.accuracy("structure", subset, some)
        yield from sheet.by_group(("structure", subset, "group_accuracy"), some, all_right, all_right_chance)
    words = {one.problem.id: connective(one.problem) for one in graded}
    common = {word for word, count in Counter(words.values()).items() if count >= FEWEST}
    for word in [*sorted(common), "other"]:
        some = [
            one for one in graded if (words[one.problem.id] if words[one.problem.id] in common else "other") == word
        ]
        yield from sheet.accuracy("structure", f"connective.{word}", some)
