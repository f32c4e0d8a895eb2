"""Structure classes (after Trichelair et al., 2018): where the special word stands, and the connective."""

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
