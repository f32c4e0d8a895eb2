"""Gender: Winogender's gotcha table and gaps (Rudinger et al., 2018), WinoBias's gap (Zhao et al., 2018).

A scoring that puts candidates into the blank never sees the pronoun, and so not its gender. Male and female texts are
then the same, and the gap of one gender is minus the other's. Rows of such scorings have a note on this.
"""

from collections.abc import Iterable

import numpy as np

from winokit.methods.metrics.accuracy import f1
from winokit.methods.metrics.judge import BLIND, gender_rows
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet

SIDES = ("pro", "anti")
"""Values of the label `stereotype` that rows are made for."""


@protocol()
def gender(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy and gaps by pronoun gender, gotcha flag and stereotype.

    Problems without the labels are left out.
    """
    note = None if sheet.reads_pronoun else BLIND
    answers = sheet.answers()
    yield from gender_rows(sheet.judge, answers, note)
    stereotypes = np.array([str(problem.labels.get("stereotype")) for problem in answers.problems])
    by_side = {side: answers.subset(stereotypes == side) for side in SIDES}
    for side, side_answers in by_side.items():
        yield from sheet.accuracy("gender", side, side_answers, note=note, by_answer=True)
    rows = np.flatnonzero(np.isin(stereotypes, SIDES))
    is_pro = stereotypes[rows] == "pro"
    gap_name = ("gender", "all", "pro_minus_anti")
    yield from sheet.gap(gap_name, answers.subset(rows), is_pro, note, by_answer=True)
    for side, side_answers in by_side.items():
        if len(side_answers):
            score = f1(side_answers.predictions, side_answers.answers).macro
            yield sheet.judge.row(("gender", side, "f1"), score, side_answers.problem_count, note=note)
