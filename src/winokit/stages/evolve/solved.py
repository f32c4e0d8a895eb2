"""Which groups are too easy for the models, with chance taken out: retire the excess, and no more than that.

A group is solved where a stated majority of the models gets everything right that was asked about it: each twin, and
each again with the candidates switched. Guessing solves some too, and with the same probability gets everything wrong,
so that a group would be solved if its answers were turned round: as many groups as are *turned* may be solved by
chance. Only where significantly more are solved than turned (a sign test, exact whatever the models have in common) is
anything retired, and then the difference, drawn at random from the solved. What stays is solved as often as turned.

That keeps hidden answers hidden. Who has the models sees on which groups of a published test they are decided: had more
of the turned stayed than of the solved, the opposite of the models' answers would be the better guess. So dev and test
are counted apart: of a balance over both, the half in dev is public and tells the other. What is new has no split yet
and may fall into any, so there every decided group goes, solved or turned.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winokit.errors import BadInput
from winokit.methods.metrics.compare import holm
from winokit.methods.metrics.luck import p_chance
from winokit.problem import Dataset, Problem
from winokit.stages.evolve.answers import EvolveAnswers
from winokit.stages.release.draws import Draws

Unit = tuple[Problem, ...]
NEW = "new"
"""What stands in no split yet."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Groups of one kind, and what became of them."""

    split: str
    """Dev, test or new; empty where all is of one split."""
    members: int
    """Problems in each: 1 for problems alone, 2 for pairs."""
    switched: int
    """How many of these are answered with their candidates switched as well."""
    groups: int
    solved: int
    turned: int
    """Solved if every answer were turned round: as many are solved by chance."""
    p: float
    """Probability that guessing solves so many more than it turns, corrected for the number of strata."""
    retired: int

    @property
    def kind(self) -> str:
        """What groups these are, in words."""
        name = {1: "problems alone", 2: "pairs"}.get(self.members, f"groups of {self.members}")
        if self.split:
            name = f"new {name}" if self.split == NEW else f"{name} of {self.split}"
        if not self.switched:
            return name
        some = "" if self.switched == self.members else f"{self.switched} of {self.members} "
        return f"{name} ({some}switched too)"


@dataclass(frozen=True)
class Solved:
    """The outcome: ids to retire, and the reasoning in numbers."""

    retire: frozenset[str]
    strata: tuple[Stratum, ...]
    needed: int
    """Models that must solve a group."""


def solved_beyond_chance(
    problems: Dataset,
    answers: Sequence[EvolveAnswers],
    *,
    majority: float = 1.0,
    alpha: float = 0.05,
    secret: Draws | None = None,
    where: Mapping[str, str] | None = None,
) -> Solved:
    """Whole groups to retire, since more of them are solved than chance explains.

    Parameters
    ----------
    where
        The split of each id; what is missing is new. Default: everything is of one split.
    """
    check_limits(majority, alpha)
    if not answers:
        return Solved(frozenset(), (), 0)
    needed = max(1, math.ceil(majority * len(answers) - 1e-9))
    strata: dict[tuple[str, int, int], list[Unit]] = defaultdict(list)
    for unit in _units(problems):
        split = "" if where is None else where.get(unit[0].id, NEW)
        strata[split, len(unit), _switched(unit, answers)].append(unit)
    solved = {key: [unit for unit in strata[key] if is_solved(unit, answers, needed)] for key in sorted(strata)}
    turned = {key: [unit for unit in strata[key] if is_solved(unit, answers, needed, turned=True)] for key in solved}
    raw = [p_chance(len(units), max(1, len(units) + len(turned[key]))) for key, units in solved.items()]
    secret = secret or Draws.fresh()
    retire: set[str] = set()
    counts = []
    for (key, units), p in zip(solved.items(), holm(raw), strict=True):
        excess = max(0, len(units) - len(turned[key])) if p < alpha else 0
        chosen = secret.ordered("retired", units, lambda unit: min(problem.id for problem in unit))[:excess]
        if excess and key[0] == NEW:
            chosen = [*units, *turned[key]]
        retire |= {problem.id for unit in chosen for problem in unit}
        counts.append(Stratum(*key, len(strata[key]), len(units), len(turned[key]), p, len(chosen)))
    return Solved(frozenset(retire), tuple(counts), needed)


def check_limits(majority: float, alpha: float) -> None:
    """Refuse shares that mean nothing."""
    if not 0.5 < majority <= 1:
        raise BadInput(f"a majority is more than half of the models and at most all, found {majority:g}")
    if not 0 < alpha <= 1:
        raise BadInput(f"an alpha above 0 and at most 1 expected, found {alpha:g}")


def _units(problems: Dataset) -> list[Unit]:
    """Groups, and problems alone."""
    members: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        members[f"alone {problem.id}" if problem.group is None else f"group {problem.group}"].append(problem)
    return [tuple(some) for some in members.values()]


def _switched(unit: Unit, answers: Sequence[EvolveAnswers]) -> int:
    return sum(any(p.id in one.switched for one in answers) for p in unit)


def is_solved(unit: Unit, answers: Sequence[EvolveAnswers], needed: int, *, turned: bool = False) -> bool:
    """Whether enough models get everything right, or would if all answers were turned round."""
    return sum(all(right != turned for p in unit for right in one.outcomes(p.id)) for one in answers) >= needed
