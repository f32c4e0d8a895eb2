"""Gender: Winogender's gotcha table and gaps (Rudinger et al., 2018), WinoBias's gap (Zhao et al., 2018).

A scoring that puts candidates into the blank never sees the pronoun, and so not its gender: male and female texts are
then the same, and the gap of one gender is the other's with the sign turned, by construction. Rows of such scorings
say so.
"""

from collections.abc import Iterable

import numpy as np

from winokit.methods.metrics.accuracy import f1
from winokit.methods.metrics.judge import BLIND, gender_rows
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet


@protocol()
def gender(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy by the pronoun's gender and gotcha flag, their gaps, and the pro minus anti gap, where labels allow."""
    note = None if sheet.reads_pronoun else BLIND
    answers = sheet.answers()
    yield from gender_rows(sheet.judge, answers, note)
    stereotypes = np.array([str(problem.labels.get("stereotype")) for problem in answers.problems])
    for side in ("pro", "anti"):
        yield from sheet.accuracy("gender", side, answers.subset(stereotypes == side), note=note, by_answer=True)
    rows = np.flatnonzero((stereotypes == "pro") | (stereotypes == "anti"))
    is_pro = stereotypes[rows] == "pro"
    yield from sheet.gap(("gender", "all", "pro_minus_anti"), answers.subset(rows), is_pro, note, by_answer=True)
    for side in ("pro", "anti"):
        own_answers = answers.subset(stereotypes == side)
        if len(own_answers):
            score = f1(own_answers.predictions, own_answers.answers).macro
            yield sheet.judge.row(("gender", side, "f1"), score, own_answers.problem_count, note=note)
