"""Candidate switching (Trichelair et al., 2018): with the candidates in each other's place, the answer must follow.

Consistency is the share of switchable problems whose predicted candidate changes, right or wrong; an abstention
counts half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from winokit.methods.metrics import CONSISTENCY_CHANCE, role_kept
from winokit.methods.metrics.measuring import original_id
from winokit.results import Metric
from winokit.stages.audit.sheet import AuditSheet


def switching(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy before and after switching, and consistency, on the problems that could be switched."""
    if "switched" not in sheet.variants or "switched" not in sheet.predictions:
        return
    variant = sheet.variants["switched"]
    for why, count in Counter(variant.refused.values()).items():
        sheet.leave_out("switching", "switchable", why, count)
    after = {original_id(one.problem): one for one in sheet.graded("switched")}
    pairs = [(one, after[one.problem.id]) for one in sheet.graded() if one.problem.id in after]
    pairs = [(one, other) for one, other in pairs if len(one.problem.candidates) == 2]
    before, switched = [one for one, _ in pairs], [other for _, other in pairs]
    yield from sheet.accuracy("switching", "switchable", before, note=variant.note)
    yield from sheet.accuracy("switching", "switchable", switched, "switched_accuracy", variant.note)
    if pairs:
        name, found = ("switching", "switchable", "consistency"), sheet.columns(before)
        kept = role_kept(found.predictions, [one.choice for one in switched])
        yield from sheet.head.share(name, kept, found.clusters, CONSISTENCY_CHANCE, variant.note)
