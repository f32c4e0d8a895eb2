"""Measures by which two scorers are compared.

A module of its own, so that help imports no NumPy.
"""

from typing import Literal

PairMeasure = Literal["accuracy", "expected_accuracy", "group_accuracy", "consistency"]
