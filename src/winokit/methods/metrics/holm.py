"""Holm's correction of p-values for their number.

Sture Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (Scandinavian Journal of Statistics, 1979).
"""

from collections.abc import Sequence

import numpy as np

from winokit.errors import BadInput


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's step-down method, in the order given.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    if not all(0 <= p <= 1 for p in p_values):
        raise BadInput("p-values from 0 to 1 expected")
    order = np.argsort(p_values, kind="stable")
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        multiplied = (len(p_values) - rank) * p_values[place]
        largest = max(largest, min(multiplied, 1.0))
        corrected[place] = largest
    return corrected
