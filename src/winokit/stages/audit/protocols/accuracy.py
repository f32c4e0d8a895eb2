"""Accuracy, and what abstentions and the majority class do to it."""

from __future__ import annotations

from collections.abc import Iterable

from winokit.methods.metrics import abstained, chance, credit, majority_class
from winokit.methods.metrics.measuring import against_floor
from winokit.results import TIE, Metric
from winokit.stages.audit.sheet import AuditSheet


def accuracy(sheet: AuditSheet) -> Iterable[Metric]:
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
    found = sheet.columns(graded)
    settled = credit(found.predictions, found.answers, found.candidates)
    guessing = chance(found.candidates)
    for row in sheet.head.share(("accuracy", "all", "expected_accuracy"), settled, found.clusters, guessing):
        yield row if found.floor is None else against_floor(row, found, settled)
    silent = abstained(found.predictions)
    # Two answers that contradict each other, as a chat model may give where candidates change places, are a tie.
    tied = sum(one.choice is None and one.prediction.why == TIE for one in graded) / len(graded)
    yield sheet.head.row(("accuracy", "all", "abstained"), silent, len(graded), details={"tied": tied})
    if silent:
        # Precision, where plain accuracy is recall (Emami et al., 2018).
        answered = [one for one in graded if one.choice is not None]
        yield from sheet.accuracy("accuracy", "all", answered, "precision")
    constant = majority_class(found.answers)
    yield sheet.head.row(("accuracy", "all", "majority_class"), constant, len(graded), chance=guessing)
