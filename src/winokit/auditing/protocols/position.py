"""Position: does the place of the right candidate matter, or the order in which candidates are offered?"""

from __future__ import annotations

from collections.abc import Iterable

from winokit.auditing.sheet import Sheet, clusters, original_id
from winokit.results import Metric


def position(sheet: Sheet) -> Iterable[Metric]:
    """Accuracy where the answer is the first or the second candidate, and how often the order changes nothing."""
    graded = [one for one in sheet.graded() if len(one.problem.candidates) == 2]
    for answer, subset in enumerate(("answer_first", "answer_second")):
        yield from sheet.accuracy("position", subset, [one for one in graded if one.problem.answer == answer])
    if "reversed" not in sheet.predictions:
        return
    backwards = {original_id(one.problem): one for one in sheet.graded("reversed")}
    pairs = [(one, backwards[one.problem.id]) for one in graded if one.problem.id in backwards]
    answered = [
        (one, other)
        for one, other in pairs
        if one.prediction.prediction is not None and other.prediction.prediction is not None
    ]
    same = [float(one.prediction.prediction == 1 - int(other.prediction.prediction or 0)) for one, other in answered]
    name = ("position", "all", "order_invariance")
    yield from sheet.mean(name, same, clusters(one for one, _ in answered))
