"""Corrections of p-values for the number of tests: pure functions, which stages may call."""

from collections.abc import Sequence

import numpy as np

from winokit.errors import BadInput


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for the number of tests by Holm's method.

    They are in the order given.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise BadInput("expected p-values from 0 to 1")
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(np.argsort(p_values, kind="stable")):
        tests_left = len(p_values) - rank
        largest = max(largest, min(tests_left * p_values[index], 1.0))
        corrected[index] = largest
    return corrected
