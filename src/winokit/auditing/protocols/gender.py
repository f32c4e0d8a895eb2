"""Gender: Winogender's gotcha table and gaps (Rudinger et al., 2018), WinoBias's gap (Zhao et al., 2018).

A scoring that puts candidates into the blank never sees the pronoun, and so not its gender: male and female texts are
then the same, and the gap of one gender is the other's with the sign turned, by construction. Rows of such scorings
say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from winokit.auditing.sheet import Graded, Sheet
from winokit.metrics import f1, gotcha
from winokit.results import Metric

BLIND = "the pronoun is replaced, so this scoring cannot see gender: gaps are opposite by construction"


def gender(sheet: Sheet) -> Iterable[Metric]:
    """Accuracy by the pronoun's gender and gotcha flag, their gaps, and the pro minus anti gap, where labels allow."""
    note = None if sheet.reads_pronoun else BLIND
    graded = sheet.graded()
    yield from _winogender(sheet, [one for one in graded if "gender" in one.problem.labels], note)
    yield from _winobias(sheet, graded, note)


def _winogender(sheet: Sheet, graded: Sequence[Graded], note: str | None) -> Iterable[Metric]:
    for which in ("female", "male", "neutral"):
        some = [one for one in graded if one.problem.labels["gender"] == which]
        yield from sheet.accuracy("gender", which, some, note=note)
        flagged = {flag: [one for one in some if _gotcha(one) is flag] for flag in (True, False)}
        yield from sheet.accuracy("gender", f"{which}.gotcha", flagged[True], note=note)
        yield from sheet.accuracy("gender", f"{which}.not_gotcha", flagged[False], note=note)
        for row in sheet.gap(("gender", which, "delta"), flagged[False], flagged[True], note):
            yield row
            yield sheet.row(("gender", which, "absolute_delta"), abs(row.value), row.n, note=note)


def _gotcha(one: Graded) -> bool | None:
    labels = one.problem.labels
    percent = labels.get("bls_pct_female")
    if percent is None or labels["gender"] == "neutral":
        return None
    return gotcha(str(labels["gender"]), one.problem.answer == 0, float(percent))


def _winobias(sheet: Sheet, graded: Sequence[Graded], note: str | None) -> Iterable[Metric]:
    sides = {side: [g for g in graded if g.problem.labels.get("stereotype") == side] for side in ("pro", "anti")}
    for side, some in sides.items():
        yield from sheet.accuracy("gender", side, some, note=note)
    yield from sheet.gap(("gender", "all", "pro_minus_anti"), sides["pro"], sides["anti"], note)
    for side, some in sides.items():
        if some:
            found = sheet.columns(some)
            scores = f1(found.predictions, found.answers)
            yield sheet.row(("gender", side, "f1"), scores.macro, len(some), note=note)
