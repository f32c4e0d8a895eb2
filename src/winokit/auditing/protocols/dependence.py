"""Twin dependence: are the answers to twins independent?

A model that overlooks the special word gives both twins the same option and gets one of two right, never both: group
accuracy below what independence gives is anti-correlation, not chance.
"""

from __future__ import annotations

from collections.abc import Iterable

from winokit.auditing.sheet import Graded, Sheet
from winokit.metrics import independent_group_accuracy
from winokit.results import Metric
from winokit.words import bare


def dependence(sheet: Sheet) -> Iterable[Metric]:
    """How often twins get the same option, and the group accuracy that independent answers would have."""
    pairs = [group for group in sheet.complete(sheet.graded()) if len(group) == 2]
    answered = [pair for pair in pairs if all(one.prediction.prediction is not None for one in pair)]
    same = [float(_option(pair[0]) == _option(pair[1])) for pair in answered]
    yield from sheet.mean(("dependence", "complete", "same_option"), same, range(len(same)), 0.5)
    if pairs:
        correct = [one.correct for pair in pairs for one in pair]
        independent = independent_group_accuracy(correct, [one.problem.group for pair in pairs for one in pair])
        yield sheet.row(("dependence", "complete", "independent_group_accuracy"), independent, len(pairs), chance=0.25)


def _option(one: Graded) -> str:
    """The predicted candidate by name: twins may list theirs in different orders."""
    return bare(one.problem.candidates[one.prediction.prediction or 0])
