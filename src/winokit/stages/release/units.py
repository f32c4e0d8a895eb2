"""What a split may not cut: the members of a group, and blocks of groups that would tell on each other.

A unit is a group, kept and removed members together, or a problem alone. Units that share a key (a near-duplicate text,
a possible twin that nothing names, or, in a knowledge split, a special word with a candidate) may not stand in
different splits; units tied by keys, directly or over others, are a block.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

from winokit.data.checks.groups import possible_twins
from winokit.data.checks.nearest_fact import fact_pairs
from winokit.methods.overlap import find_matches
from winokit.problem import Dataset, Problem

Key = Hashable


@dataclass(frozen=True)
class ReleaseUnit:
    """A group or a problem alone, with its members in the order of the input."""

    members: tuple[Problem, ...]
    kept_ids: frozenset[str]

    @cached_property
    def name(self) -> str:
        """A name for draws that says nothing of order or answers: the least id of a member."""
        return min(member.id for member in self.members)

    @property
    def is_group(self) -> bool:
        """Whether there are twins."""
        return len(self.members) > 1

    @cached_property
    def kept(self) -> tuple[Problem, ...]:
        """The members that were kept."""
        return tuple(member for member in self.members if member.id in self.kept_ids)

    @cached_property
    def removed(self) -> tuple[Problem, ...]:
        """The members that were removed."""
        return tuple(member for member in self.members if member.id not in self.kept_ids)

    def map(self, change: Callable[[Problem], Problem]) -> ReleaseUnit:
        """The same unit with every member changed; ids must stay."""
        return ReleaseUnit(tuple(map(change, self.members)), self.kept_ids)


def units_of(problems: Dataset, kept: frozenset[str]) -> list[ReleaseUnit]:
    """The units of a dataset, in order of their first members."""
    members: dict[str, list[Problem]] = defaultdict(list)
    for row, problem in enumerate(problems):
        members[f"row {row}" if problem.group is None else f"group {problem.group}"].append(problem)
    return [ReleaseUnit(tuple(some), frozenset(p.id for p in some if p.id in kept)) for some in members.values()]


def duplicate_keys(units: Sequence[ReleaseUnit]) -> list[set[Key]]:
    """For each unit a key for every problem that one of another unit gives away.

    Answers are not looked at: what is public of a release must not depend on those that are hidden.
    """
    where = [number for number, unit in enumerate(units) for _ in unit.members]
    together = [member.replace(answer=None) for unit in units for member in unit.members]
    keys: list[set[Key]] = [set() for _ in units]
    for number, match in enumerate(find_matches([together], within=True)):
        one, other = where[match.first[1]], where[match.second[1]]
        if one != other:
            keys[one].add(("text", number))
            keys[other].add(("text", number))
    return keys


def twin_keys(units: Sequence[ReleaseUnit]) -> list[set[Key]]:
    """For each problem alone a key for the one that is perhaps its twin, by content: each would tell the other.

    Answers are not looked at, as for near-duplicates.
    """
    alone = [number for number, unit in enumerate(units) if not unit.is_group]
    keys: list[set[Key]] = [set() for _ in units]
    for pair in possible_twins([units[number].members[0].replace(answer=None) for number in alone]):
        for row in pair:
            keys[alone[row]].add(("twins", *pair))
    return keys


def knowledge_keys(units: Sequence[ReleaseUnit]) -> list[set[Key]]:
    """For each unit the (special word, candidate) pairs of its members."""
    return [{("fact", *pair) for pair in fact_pairs(unit.members)} for unit in units]


def blocks_of(keys: Sequence[set[Key]]) -> list[list[int]]:
    """The places of units that hang together, in order of their first."""
    first_with: dict[Key, int] = {}
    parent = list(range(len(keys)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for place, own in enumerate(keys):
        for key in own:
            one, other = root(first_with.setdefault(key, place)), root(place)
            parent[max(one, other)] = min(one, other)
    blocks: dict[int, list[int]] = defaultdict(list)
    for place in range(len(keys)):
        blocks[root(place)].append(place)
    return list(blocks.values())
