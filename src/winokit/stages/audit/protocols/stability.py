"""Stability (Abdou et al., 2020): is a perturbed problem answered like its original? And all versions at once.

Strict scoring counts a group only if its twins, their switched and their perturbed versions are all right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from winokit.methods.metrics.consistency import choice_kept, choice_kept_chance
from winokit.methods.metrics.groups import all_right, all_right_chance, complete_groups
from winokit.methods.transforms.variants import PERTURBED
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet, GradedProblem


@protocol(PERTURBED)
def stability(sheet: AuditSheet) -> Iterable[Metric]:
    """For each perturbation: accuracy, accuracy of the originals, and the share of predictions that stay the same."""
    originals = {case.problem.id: case for case in sheet.graded()}
    for variant in sheet.variants:
        if not variant.startswith(PERTURBED) or not sheet.has(variant):
            continue
        subset = variant.removeprefix(PERTURBED)
        sheet.leave_out_refused("stability", subset, variant)
        graded = sheet.graded(variant)
        pairs = [(case, originals[case.origin]) for case in graded if case.origin in originals]
        yield from sheet.accuracy("stability", subset, graded)
        yield from sheet.accuracy("stability", subset, [original for _, original in pairs], "original_accuracy")
        if pairs:
            columns, before = sheet.columns([case for case, _ in pairs]), [original.choice for _, original in pairs]
            kept = choice_kept(before, columns.predictions)
            guessing = choice_kept_chance(before, columns.predictions, columns.candidates)
            yield from sheet.head.share(("stability", subset, "stability"), kept, columns.clusters, guessing)


@protocol("switched", PERTURBED)
def strict(sheet: AuditSheet) -> Iterable[Metric]:
    """Group accuracy over everything that was asked about a group."""
    versions: dict[str, list[GradedProblem]] = defaultdict(list)
    for variant in ("switched", *(name for name in sheet.variants if name.startswith(PERTURBED))):
        if variant in sheet.predictions:
            for case in sheet.graded(variant):
                versions[case.origin].append(case)
    if not versions:
        return
    asked = [
        case
        for group in sheet.complete(sheet.graded())
        for twin in group
        for case in (twin, *versions[twin.problem.id])
    ]
    if asked:
        columns = sheet.columns(asked)
        first = [rows[0] for rows in complete_groups(columns.groups).values()]
        values, guessing = all_right(columns.correct, columns.groups), all_right_chance(columns.chances, columns.groups)
        yield from sheet.head.share(("strict", "complete", "group_accuracy"), values, columns.clusters[first], guessing)
