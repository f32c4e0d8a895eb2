"""Precision and recall of a scorer that may abstain, as the papers on knowledge hunting report them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winokit.metrics.accuracy import correct
from winokit.metrics.arrays import ABSTAINED, Choices, Counts, as_choices


@dataclass(frozen=True, slots=True)
class PrecisionRecall:
    """Right among answered, right among all, and their harmonic mean; no precision where nothing is answered."""

    precision: float | None
    recall: float
    f1: float


def precision_recall(predictions: Choices, answers: Counts) -> PrecisionRecall:
    """Precision over answered problems, recall over all of them (Emami et al., 2018).

    >>> precision_recall([0, 1, None, 1], [0, 1, 1, 0])
    PrecisionRecall(precision=0.6666666666666666, recall=0.5, f1=0.5714285714285714)
    """
    right = int(correct(predictions, answers).sum())
    answered = int(np.count_nonzero(as_choices(predictions) != ABSTAINED))
    total = len(answers)
    return PrecisionRecall(right / answered if answered else None, right / total, 2 * right / (answered + total))
