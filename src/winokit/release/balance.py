"""On which side the answer stands: first and second equally often, and never so that the order of candidates tells.

Twins share an order of candidates and have opposite answers, so a whole pair is balanced whatever that order; it stays
as its author wrote it. What remains (problems alone, pairs of which one member was removed, triplets) is shuffled, and
the answer goes to the first and the second place in turn: whether an order is the author's or turned round then says
nothing of the answer. All members of a group are turned together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random

from winokit.problem import Problem
from winokit.release.units import Unit


def balanced(units: Sequence[Unit], random: Random, settled: Collection[str] = ()) -> list[Unit]:
    """The units, in the same order, with candidates turned where the kept members' answers lean to one side.

    Units with a settled id keep the order that an earlier release gave them.
    """
    turned = list(units)
    leaning = [place for place, unit in enumerate(units) if _surplus(unit) and unit.members[0].id not in settled]
    random.shuffle(leaning)
    for turn, place in enumerate(leaning):
        first_is_right = _surplus(units[place]) > 0
        if first_is_right != (turn % 2 == 0):
            turned[place] = units[place].map(turn_round)
    return turned


def _surplus(unit: Unit) -> int:
    """How many more of the kept members have the first candidate as their answer than the second."""
    return sum(1 if member.answer == 0 else -1 for member in unit.kept)


def turn_round(problem: Problem) -> Problem:
    """The problem with its two candidates in the other order."""
    return problem.with_order((1, 0))
