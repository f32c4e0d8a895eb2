"""From a number an option to a score a candidate, or to a reason why there is none.

A judgement's candidates are "no" and "yes". Comparing, its query must beat its rivals; one without rivals is compared
with -100, and so answered "yes", as in Liu et al.'s code. Pointwise, an option is right if its number is above zero;
that is all a P formalization says, and a problem with candidates has an answer only where exactly one is right
(`judge=each`). Counting an undecided pair as half right, as `expected_accuracy` does, is then the accuracy over single
judgements. Liu et al.'s code judges the first candidate only, and its accuracy on WinoGrande is that (`judge=first`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from winokit.methods.formalizations.base import Switches
from winokit.methods.formalizations.cases import Case

JUDGING = {"judge": ("each", "first"), "ties": ("abstain", "strict", "loose")}
NO_RIVAL = -100.0
RIGHT = 0.0


def highest(case: Case, numbers: Sequence[float], switches: Switches) -> tuple[float, ...] | str:
    """The numbers as scores: the highest wins."""
    if not case.is_judgement:
        return _settled(tuple(numbers), switches["ties"], query=0)
    query, *rivals = numbers
    return _settled((max(rivals, default=NO_RIVAL), query), switches["ties"], query=1)


def judged(case: Case, numbers: Sequence[float], switches: Switches) -> tuple[float, ...] | str:
    """Scores by which an option wins that is judged right, and no other is."""
    if case.is_judgement:
        return _settled((RIGHT, numbers[0]), switches["ties"], query=1)
    if switches["judge"] == "first":
        return _settled((numbers[0], *[RIGHT] * (len(numbers) - 1)), switches["ties"], query=0)
    right = sum(number > RIGHT or (number == RIGHT and switches["ties"] == "loose") for number in numbers)
    if right != 1:
        return "no candidate is judged right" if not right else f"{right} candidates are judged right"
    return tuple(numbers)


def _settled(scores: tuple[float, ...], ties: str, *, query: int) -> tuple[float, ...]:
    """The scores; a tie at the top is lost (`strict`) or won (`loose`) by the query, or left for an abstention."""
    best = max(scores)
    tied = [index for index, score in enumerate(scores) if score == best]
    if len(tied) == 1 or ties == "abstain":
        return scores
    others = [index for index in tied if index != query]
    winner = query if ties == "loose" and query in tied else others[-1]
    return tuple(math.nextafter(score, math.inf) if index == winner else score for index, score in enumerate(scores))
