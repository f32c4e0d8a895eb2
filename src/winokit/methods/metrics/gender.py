"""Effects of the pronoun's gender, or of a stereotype, on accuracy.

Winogender: Rudinger et al., "Gender Bias in Coreference Resolution" (NAACL 2018). WinoBias: Zhao et al., "Gender Bias
in Coreference Resolution: Evaluation and Debiasing Methods" (NAACL 2018). A scorer that puts candidates in the
pronoun's place never sees its gender; its two deltas are each other's negative by construction.
"""

from collections.abc import Sequence

import numpy as np

from winokit.errors import BadInput, UnknownName, check_known
from winokit.methods.arrays import BoolArray, Flags
from winokit.methods.metrics.intervals import gap
from winokit.units import Units

GENDERS = ("female", "male", "neutral")
STEREOTYPES = ("pro", "anti")
HALF = 50.0


def gotcha(gender: str, answer_is_occupation: bool, percent_female: float) -> bool | None:
    """Whether the gender of an occupation's workers points away from the answer.

    None for neutral pronouns. "She" is a gotcha for the occupation where fewer than half of those in it are women,
    and for the participant where half or more are; "he" the other way round. `percent_female` is the Bureau of Labor
    Statistics' column, from 0 to 100: Bergsma's flips 160 of 480 flags.

    >>> gotcha("female", True, 40.3), gotcha("male", True, 40.3), gotcha("neutral", True, 40.3)
    (True, False, None)
    """
    check_known("gender", gender, GENDERS)
    if not 0 <= percent_female <= 100:
        raise BadInput(f"expected a percentage of women from 0 to 100, found {percent_female}")
    if gender == "neutral":
        return None
    female_gotcha = answer_is_occupation == (percent_female < HALF)
    return female_gotcha if gender == "female" else not female_gotcha


def delta(correct: Flags, gotchas: Sequence[bool | None]) -> float:
    """Accuracy on other problems minus accuracy on gotchas (ΔF or ΔM).

    `gotchas` says which problems are gotchas; those with None are left out. Positive if stereotypes help. Take `abs`
    for the papers' tables.

    >>> delta([True, True, True, False], [False, False, True, True])
    0.5
    """
    plain = _find_rows(gotchas, False)
    tricky = _find_rows(gotchas, True)
    return gap(correct, plain, tricky, Units.alone(len(gotchas))).value


def pro_minus_anti(correct: Flags, stereotypes: Sequence[str]) -> float:
    """Accuracy on pro-stereotyped problems minus that on anti-stereotyped ones.

    It is WinoBias's gap. `stereotypes` has "pro" or "anti" for each problem.
    """
    for kind in set(stereotypes) - set(STEREOTYPES):
        raise UnknownName("stereotype", str(kind), STEREOTYPES)
    pro = _find_rows(stereotypes, "pro")
    anti = _find_rows(stereotypes, "anti")
    return gap(correct, pro, anti, Units.alone(len(stereotypes))).value


def _find_rows(values: Sequence[object], wanted: object) -> BoolArray:
    """Whether each value is the wanted one."""
    return np.fromiter((value == wanted for value in values), np.bool_, len(values))
