"""Which groups are too easy for the models, with chance taken out: retire the excess, and no more than that.

A group is solved where a stated majority of the models gets everything right that was asked about it: each twin, and
each again with the candidates switched. Guessing solves some too: a pair with probability 1/4, or 1/16 with both
switched. How many of N groups that is follows from those that are *not* solved, as in Storey's estimate (2002) of false
discoveries: with R solved and probability p, about (N - R) p / (1 - p). Only where R is significantly more than chance
explains is anything retired, and then R less that number, drawn at random from the solved. What stays is solved as
often as guessing would: a test on which a model does *worse* than a coin is solved by turning its answers round, and so
gives its hidden labels away.

Models are not taken as independent: the probability that a majority guesses right is bounded as for models that guess
as one (Markov's inequality).
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from winokit.errors import BadInput
from winokit.metrics import holm, p_chance
from winokit.problem import Dataset, Problem
from winokit.release.evolve_answers import Answers

Key = tuple[float, int, int]
"""Chance, members and switched, as a stratum has them."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Groups that guessing solves with the same probability, and what became of them."""

    members: int
    """Problems in each: 1 for problems alone, 2 for pairs."""
    switched: int
    """How many of these are answered with their candidates switched as well."""
    chance: float
    """Probability that guessing counts as solving."""
    groups: int
    solved: int
    expected: float
    """Solved by guessing, as far as those not solved tell."""
    p: float
    """Probability that guessing solves as many, corrected for the number of strata."""
    retired: int

    @property
    def kind(self) -> str:
        """What groups these are, in words."""
        name = {1: "problems alone", 2: "pairs"}.get(self.members, f"groups of {self.members}")
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
    problems: Dataset, answers: Sequence[Answers], *, majority: float = 1.0, alpha: float = 0.05, seed: int = 0
) -> Solved:
    """Whole groups to retire, since more of them are solved than chance explains."""
    check_limits(majority, alpha)
    if not answers:
        return Solved(frozenset(), (), 0)
    needed = max(1, math.ceil(majority * len(answers) - 1e-9))
    units = _units(problems)
    strata: dict[Key, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        strata[round(guessed(unit, answers, needed), 9), len(unit), _switched(unit, answers)].append(place)
    solved = [is_solved(unit, answers, needed) for unit in units]
    keys = sorted(strata)
    raw = [p_chance(sum(solved[place] for place in strata[key]), len(strata[key]), key[0]) for key in keys]
    random = Random(_secret(problems, seed))
    retire: set[str] = set()
    told = []
    for key, p in zip(keys, holm(raw), strict=True):
        places = strata[key]
        hits = [place for place in places if solved[place]]
        expected = 0.0 if key[0] >= 1 else (len(places) - len(hits)) * key[0] / (1 - key[0])
        excess = max(0, len(hits) - math.ceil(expected)) if p < alpha else 0
        chosen = random.sample(hits, excess)
        retire |= {problem.id for place in chosen for problem in units[place]}
        told.append(Stratum(key[1], key[2], key[0], len(places), len(hits), expected, p, excess))
    return Solved(frozenset(retire), tuple(told), needed)


def check_limits(majority: float, alpha: float) -> None:
    """Refuse shares that mean nothing."""
    if not 0.5 < majority <= 1:
        raise BadInput(f"a majority is more than half of the models and at most all, found {majority:g}")
    if not 0 < alpha <= 1:
        raise BadInput(f"an alpha above 0 and at most 1 expected, found {alpha:g}")


def _units(problems: Dataset) -> list[tuple[Problem, ...]]:
    """Groups, and problems alone, in the order of their ids: a draw must not depend on the order of a file."""
    members: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        members[f"alone {problem.id}" if problem.group is None else f"group {problem.group}"].append(problem)
    return sorted((tuple(some) for some in members.values()), key=lambda some: min(p.id for p in some))


def _switched(unit: Sequence[Problem], answers: Sequence[Answers]) -> int:
    return sum(any(p.id in one.switched for one in answers) for p in unit)


def is_solved(unit: Sequence[Problem], answers: Sequence[Answers], needed: int) -> bool:
    """Whether enough models get everything right."""
    return sum(all(right for p in unit for right in one.outcomes(p.id)) for one in answers) >= needed


def guessed(unit: Sequence[Problem], answers: Sequence[Answers], needed: int) -> float:
    """A bound on the probability that guessers, together or apart, count as having solved it."""
    each = [math.prod((1 / len(p.candidates)) ** len(one.outcomes(p.id)) for p in unit) for one in answers]
    return min(1.0, sum(each) / needed)


def _secret(problems: Dataset, seed: int) -> bytes:
    """A seed that also depends on the answers, so that nobody without them can draw again."""
    known: Mapping[str, int | None] = {p.id: p.answer for p in problems}
    text = f"evolve {seed} " + " ".join(f"{name}:{known[name]}" for name in sorted(known))
    return hashlib.sha256(text.encode()).digest()
