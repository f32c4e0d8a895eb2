"""Stability (Abdou et al., 2020): is a perturbed problem answered like its original?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from winokit.methods.metrics import choice_kept, choice_kept_chance
from winokit.methods.metrics.measuring import original_id
from winokit.results import Metric
from winokit.stages.audit.sheet import AuditSheet

PERTURBED = "perturbed."


def stability(sheet: AuditSheet) -> Iterable[Metric]:
    """For each perturbation: accuracy, accuracy of the originals, and the share of predictions that stay the same."""
    originals = {one.problem.id: one for one in sheet.graded()}
    for variant in sheet.variants:
        if not variant.startswith(PERTURBED) or variant not in sheet.predictions:
            continue
        subset = variant.removeprefix(PERTURBED)
        for why, count in Counter(sheet.variants[variant].refused.values()).items():
            sheet.leave_out("stability", subset, why, count)
        graded = sheet.graded(variant)
        pairs = [(one, originals[original_id(one.problem)]) for one in graded if original_id(one.problem) in originals]
        yield from sheet.accuracy("stability", subset, graded)
        yield from sheet.accuracy("stability", subset, [original for _, original in pairs], "original_accuracy")
        if pairs:
            found, before = sheet.columns([one for one, _ in pairs]), [original.choice for _, original in pairs]
            kept = choice_kept(before, found.predictions)
            guessing = choice_kept_chance(before, found.predictions, found.candidates)
            yield from sheet.head.share(("stability", subset, "stability"), kept, found.clusters, guessing)
