"""Gender: Winogender's gotcha table and gaps (Rudinger et al., 2018), WinoBias's gap (Zhao et al., 2018).

A scoring that puts candidates into the blank never sees the pronoun, and so not its gender: male and female texts are
then the same, and the gap of one gender is the other's with the sign turned, by construction. Rows of such scorings
say so.
"""

from collections.abc import Iterable

from winokit.methods.metrics.accuracy import f1
from winokit.methods.metrics.judge import BLIND, gender_rows
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet


@protocol()
def gender(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy by the pronoun's gender and gotcha flag, their gaps, and the pro minus anti gap, where labels allow."""
    note = None if sheet.reads_pronoun else BLIND
    yield from gender_rows(sheet.head, sheet.columns(sheet.graded()), note)
    sides = {
        side: [case for case in sheet.graded() if case.problem.labels.get("stereotype") == side]
        for side in ("pro", "anti")
    }
    for side, cases in sides.items():
        yield from sheet.accuracy("gender", side, cases, note=note)
    yield from sheet.gap(("gender", "all", "pro_minus_anti"), sides["pro"], sides["anti"], note)
    for side, cases in sides.items():
        if cases:
            columns = sheet.columns(cases)
            yield sheet.head.row(
                ("gender", side, "f1"), f1(columns.predictions, columns.answers).macro, len(cases), note=note
            )
