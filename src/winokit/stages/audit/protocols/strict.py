"""Strict scoring: a group counts only if its twins, their switched and their perturbed versions are all right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from winokit.methods.metrics import all_right, all_right_chance, complete_groups
from winokit.methods.metrics.measuring import original_id
from winokit.results import Metric
from winokit.stages.audit.protocols.stability import PERTURBED
from winokit.stages.audit.sheet import AuditSheet, GradedProblems


def strict(sheet: AuditSheet) -> Iterable[Metric]:
    """Group accuracy over everything that was asked about a group."""
    versions: dict[str, list[GradedProblems]] = defaultdict(list)
    for variant in ("switched", *(name for name in sheet.variants if name.startswith(PERTURBED))):
        if variant in sheet.predictions:
            for one in sheet.graded(variant):
                versions[original_id(one.problem)].append(one)
    if not versions:
        return
    asked = [
        one for group in sheet.complete(sheet.graded()) for twin in group for one in (twin, *versions[twin.problem.id])
    ]
    if asked:
        found = sheet.columns(asked)
        first = [rows[0] for rows in complete_groups(found.groups).values()]
        values, guessing = all_right(found.correct, found.groups), all_right_chance(found.chances, found.groups)
        yield from sheet.head.share(("strict", "complete", "group_accuracy"), values, found.clusters[first], guessing)
