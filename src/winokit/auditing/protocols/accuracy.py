"""Accuracy, and what abstentions and the majority class do to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from winokit.auditing.sheet import Sheet, clusters
from winokit.results import Metric


def accuracy(sheet: Sheet) -> Iterable[Metric]:
    """Accuracy with abstentions as wrong, expected accuracy with them as guesses, precision, and the majority class."""
    graded = sheet.graded()
    unlabelled = sum(problem.answer is None for problem in sheet.dataset)
    if unlabelled:
        sheet.leave_out("accuracy", "all", "the answer is hidden", unlabelled)
    missing = len(sheet.dataset) - unlabelled - len(graded)
    if missing:
        sheet.leave_out("accuracy", "all", "no prediction", missing)
    yield from sheet.accuracy("accuracy", "all", graded)
    if not graded:
        return
    chance = float(np.mean([g.chance for g in graded]))
    expected = [g.expected for g in graded]
    yield from sheet.mean(("accuracy", "all", "expected_accuracy"), expected, clusters(graded), chance)
    answered = [g for g in graded if g.prediction.prediction is not None]
    yield sheet.row(("accuracy", "all", "abstained"), 1 - len(answered) / len(graded), len(graded))
    if len(answered) < len(graded):
        # Precision, where plain accuracy is recall (Emami et al., 2018).
        yield from sheet.accuracy("accuracy", "all", answered, "precision")
    counts = Counter(g.problem.answer for g in graded)
    yield sheet.row(
        ("accuracy", "all", "majority_class"), max(counts.values()) / len(graded), len(graded), chance=chance
    )
