"""Candidate switching (Trichelair et al., 2018): with the candidates in each other's place, the answer must follow.

Consistency is the share of switchable problems whose predicted candidate changes, right or wrong; an abstention
counts half.
"""

from __future__ import annotations

from collections.abc import Iterable

from winokit.methods.metrics.consistency import CONSISTENCY_CHANCE, role_kept
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
    after = {case.origin: case for case in sheet.graded("switched")}
    pairs = [(case, after[case.problem.id]) for case in sheet.graded() if case.problem.id in after]
    pairs = [(case, other) for case, other in pairs if len(case.problem.candidates) == 2]
    before, switched = [case for case, _ in pairs], [other for _, other in pairs]
    yield from sheet.accuracy("switching", "switchable", before, note=note)
    yield from sheet.accuracy("switching", "switchable", switched, "switched_accuracy", note)
    if pairs:
        name, columns = ("switching", "switchable", "consistency"), sheet.columns(before)
        kept = role_kept(columns.predictions, [case.choice for case in switched])
        yield from sheet.head.share(name, kept, columns.clusters, CONSISTENCY_CHANCE, note)
