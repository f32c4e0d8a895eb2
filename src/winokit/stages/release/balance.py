"""On which side the answer stands: first and second equally often, and never so that the order of candidates tells.

Twins share an order of candidates and have opposite answers, so a whole pair is balanced whatever that order. In what
is public, a pair keeps the order its author wrote; what remains (problems alone, pairs of which one member was removed,
triplets) is shuffled, and the answer goes to the first and the second place in turn. In a hidden test a coin per group
says whether its candidates stand in the order of the alphabet or against it, and answers are not looked at: an exact
balance would be a sum of hidden answers, and with every version that balances anew another one. All members of a group
are turned together, and a new twin of a problem that an earlier release had is turned to that one's side.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from winokit.problem import Problem
from winokit.stages.release.draws import Draws
from winokit.stages.release.splits import ReleaseUnit


def balanced(units: Sequence[ReleaseUnit], draws: Draws, settled: Collection[str] = ()) -> list[ReleaseUnit]:
    """The units, in the same order, with candidates turned where the kept members' answers lean to one side.

    Members with a settled id keep the order that an earlier release gave them, and the rest of their unit follows them.
    """
    leaning = [unit for unit in units if _surplus(unit) and _settled_member(unit, settled) is None]
    in_turn = draws.ordered("sides", leaning, lambda unit: unit.name)
    turned = {unit.name for turn, unit in enumerate(in_turn) if (_surplus(unit) > 0) != (turn % 2 == 0)}
    return [_followed(unit.map(_turned_round) if unit.name in turned else unit, settled) for unit in units]


def tossed(units: Sequence[ReleaseUnit], draws: Draws, settled: Collection[str] = ()) -> list[ReleaseUnit]:
    """The units, in the same order, with candidates by the alphabet or against it, as a coin says for each unit.

    Members with a settled id keep the order that an earlier release gave them, and the rest of their unit follows
    them: the order in which an author wrote a new twin may tell its answer.
    """
    return [
        _followed(unit, settled)
        if _settled_member(unit, settled)
        else unit.map(_backwards if draws.number("sides of the test", unit.name) % 2 else _by_alphabet)
        for unit in units
    ]


def _settled_member(unit: ReleaseUnit, settled: Collection[str]) -> Problem | None:
    """The first member whose order of candidates is public already."""
    return next((member for member in unit.members if member.id in settled), None)


def _followed(unit: ReleaseUnit, settled: Collection[str]) -> ReleaseUnit:
    """The unit with its new members by the alphabet or against it, as the settled one is; as it is without one."""
    first = _settled_member(unit, settled)
    if first is None:
        return unit
    side = _by_alphabet if first == _by_alphabet(first) else _backwards
    return unit.map(lambda member: member if member.id in settled else side(member))


def _surplus(unit: ReleaseUnit) -> int:
    """How many more of the kept members have the first candidate as their answer than the second."""
    return sum(1 if member.answer == 0 else -1 for member in unit.kept)


def _turned_round(problem: Problem) -> Problem:
    return problem.with_order((1, 0))


def _by_alphabet(problem: Problem) -> Problem:
    return problem if problem.candidates[0] <= problem.candidates[1] else _turned_round(problem)


def _backwards(problem: Problem) -> Problem:
    return _turned_round(_by_alphabet(problem))
