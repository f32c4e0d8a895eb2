"""Candidate switching (Trichelair et al., 2018): with the candidates in each other's place, the answer must follow.

Consistency is the share of switchable problems whose predicted candidate changes, right or wrong; an abstention
counts half.
"""

from __future__ import annotations

from collections.abc import Iterable

from winokit.methods.metrics.consistency import CONSISTENCY_CHANCE, role_kept
from winokit.methods.metrics.measuring import original_id
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet


@protocol("switched")
def switching(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy before and after switching, and consistency, on the problems that could be switched."""
    if not sheet.has("switched"):
        return
    note = sheet.variants["switched"].note
    sheet.leave_out_refused("switching", "switchable", "switched")
    after = {original_id(one.problem): one for one in sheet.graded("switched")}
    pairs = [(one, after[one.problem.id]) for one in sheet.graded() if one.problem.id in after]
    pairs = [(one, other) for one, other in pairs if len(one.problem.candidates) == 2]
    before, switched = [one for one, _ in pairs], [other for _, other in pairs]
    yield from sheet.accuracy("switching", "switchable", before, note=note)
    yield from sheet.accuracy("switching", "switchable", switched, "switched_accuracy", note)
    if pairs:
        name, found = ("switching", "switchable", "consistency"), sheet.columns(before)
        kept = role_kept(found.predictions, [one.choice for one in switched])
        yield from sheet.head.share(name, kept, found.clusters, CONSISTENCY_CHANCE, note)
