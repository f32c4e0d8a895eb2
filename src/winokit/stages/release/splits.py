"""Which problems go to train, dev or test, and what a split may not cut.

A unit is a group, kept and removed members together, or a problem alone. Units that share a key (a near-duplicate text,
a possible twin that nothing names, or, in a knowledge split, a special word with a candidate) may not stand in
different splits; units tied by keys, directly or over others, are a block.

Blocks are drawn one after the other, and each goes to the test while it fits, then to dev, then to training. Big blocks
are better trained on, since their problems tell on each other and would count for one: those of more than a tenth of a
split are evaluated only where smaller ones do not suffice, those of more than half never as a whole. If even that is
not enough, single units are taken out of them, and the units that share a key with these stay out of the release: that
is the price, and it is counted.

A release that follows another has units whose split is settled. What shares a key with a settled unit of dev or test
stays out, what shares one with training follows it there.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from winokit.data.checks.groups import possible_twins
from winokit.data.checks.nearest_fact import fact_pairs
from winokit.errors import BadInput
from winokit.methods.overlap import find_matches
from winokit.problem import Dataset, Problem, grouped, joined
from winokit.stages.release.hidden import Draws
from winokit.stages.release.manifest import DEV, TEST, TRAIN
from winokit.stages.release.settings import ReleaseSettings

Key = Hashable
SMALL_BLOCKS = 0.1
MOST_BLOCKS = 0.5
"""Share of a split that a block may be: at first, and where the first do not suffice."""
SHORT = 0.05
"""Share of a split that may be lacking before big blocks are broken up for it."""
AT_LEAST = 2
"""Problems in a split that is asked for as a share, however small the share."""


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

    def map(self, change: Callable[[Problem], Problem]) -> "ReleaseUnit":
        """The same unit with every member changed; ids must stay."""
        return ReleaseUnit(tuple(map(change, self.members)), self.kept_ids)


def units_of(problems: Dataset, kept: frozenset[str]) -> list[ReleaseUnit]:
    """The units of a dataset, in order of their first members."""
    members = grouped((f"row {at}" if p.group is None else f"group {p.group}", p) for at, p in enumerate(problems))
    return [ReleaseUnit(tuple(own), frozenset(p.id for p in own if p.id in kept)) for own in members.values()]


def keys_of(units: Sequence[ReleaseUnit], *, facts: bool = False) -> list[set[Key]]:
    """For each unit the keys that it shares with others.

    One for every problem that a near-duplicate in another unit gives away; one for the problem that is perhaps the twin
    of a problem alone, by content; with `facts` also the (special word, candidate) pairs of its members. Answers are
    not looked at: what is public of a release must not depend on those that are hidden.
    """
    keys: list[set[Key]] = [
        {("fact", *pair) for pair in fact_pairs(unit.members)} if facts else set() for unit in units
    ]
    where = [place for place, unit in enumerate(units) for _ in unit.members]
    bare = [member.replace(answer=None) for unit in units for member in unit.members]
    for number, match in enumerate(find_matches([bare], within=True)):
        both = {where[match.first[1]], where[match.second[1]]}
        for place in both if len(both) == 2 else ():
            keys[place].add(("text", number))
    alone = [place for place, unit in enumerate(units) if not unit.is_group]
    for pair in possible_twins([units[place].members[0].replace(answer=None) for place in alone]):
        for row in pair:
            keys[alone[row]].add(("twins", *pair))
    return keys


def blocks_of(keys: Sequence[Collection[Key]]) -> list[list[int]]:
    """The places of units that hang together, in order of their first."""
    firsts = joined([("key", key) for key in own] for own in keys)
    return list(grouped((first, place) for place, first in enumerate(firsts)).values())


def split_units(
    units: Sequence[ReleaseUnit],
    keys: Sequence[set[Key]],
    settings: ReleaseSettings,
    draws: Draws,
    fixed: Mapping[str, str],
) -> "ReleaseSplit":
    """Draw test and dev from the kept problems; the rest is for training. `fixed` has the splits of some ids."""
    kept = sum(len(unit.kept) for unit in units)
    wanted = {}
    for name, amount in ((TEST, settings.test), (DEV, settings.dev)):  # a number of problems, or a share of the kept
        wanted[name] = int(amount) if amount >= 1 or amount == 0 else max(AT_LEAST, round(amount * kept))
    if sum(wanted.values()) >= kept:
        raise BadInput(
            f"dev {wanted[DEV]:,} and test {wanted[TEST]:,} leave nothing of {kept:,} kept problems to train on"
        )
    split = ReleaseSplit(units, keys, settings.complete, wanted)
    split.settle(fixed)
    blocks = [block for block in blocks_of(keys) if not any(split.is_placed(place) for place in block)]
    blocks = draws.ordered("blocks of the split", blocks, lambda block: min(units[place].name for place in block))
    left = [block for block in blocks if not split.place_block(block, SMALL_BLOCKS)]
    left = [block for block in left if not split.place_block(block, MOST_BLOCKS)]
    places = [place for block in left for place in block]
    for place in draws.ordered("units of the split", places, lambda place: units[place].name):
        split.place_unit(place)
    return split


class ReleaseSplit:
    """Which units are placed in which split, and how much room is left; what has no place is for training."""

    def __init__(
        self, units: Sequence[ReleaseUnit], keys: Sequence[set[Key]], complete: bool, wanted: Mapping[str, int]
    ) -> None:
        self.units = units
        self.keys = keys
        self.complete = complete
        self.wanted = wanted
        self.room = {TRAIN: 0, **wanted}
        self.where: dict[int, str] = {}
        self.shared: set[int] = set()
        """Units that stay out, since they share a key with dev or test."""
        self.with_key = grouped((key, place) for place, own in enumerate(keys) for key in own)

    def units_in(self, name: str) -> list[ReleaseUnit]:
        """The units of a split, in the order of the input."""
        places = (place for place in range(len(self.units)) if place not in self.shared)
        return [self.units[place] for place in places if self.where.get(place, TRAIN) == name]

    def settle(self, fixed: Mapping[str, str]) -> None:
        """Place the units whose split is given, and those that share a key with them."""
        for place, unit in enumerate(self.units):
            name = next((fixed[member.id] for member in unit.members if member.id in fixed), None)
            if name is not None:
                self._take([place], name, len(unit.kept))
        settled = dict(self.where)
        for place, own in enumerate(self.keys):
            beside = {settled[other] for key in own for other in self.with_key[key] if other in settled}
            if beside and place not in settled:
                if beside == {TRAIN}:
                    self._take([place], TRAIN, 0)
                else:
                    self.shared.add(place)

    def is_placed(self, place: int) -> bool:
        """Whether it is decided where a unit goes."""
        return place in self.where or place in self.shared

    def place_block(self, block: Sequence[int], share: float) -> bool:
        """Place a whole block in dev or test, where it fits and is at most that share of it."""
        size = sum(len(self.units[place].kept) for place in block)
        if not all(self._may_evaluate(place) for place in block):
            return False
        for name in (TEST, DEV):
            # Four problems are never too many: a pair and its near-duplicate.
            if size <= self.room[name] and size <= max(4, share * self.wanted[name]):
                self._take(block, name, size)
                return True
        return False

    def _may_evaluate(self, place: int) -> bool:
        """Whether a unit may stand in dev or test at all."""
        unit = self.units[place]
        return bool(unit.kept) and not (self.complete and (unit.removed or not unit.is_group))

    def _take(self, places: Sequence[int], name: str, size: int) -> None:
        self.where.update(dict.fromkeys(places, name))
        self.room[name] -= size

    def place_unit(self, place: int) -> None:
        """Take one unit out of a big block, where dev or test is so short that others should stay out for its sake."""
        size = len(self.units[place].kept)
        short = [name for name in (TEST, DEV) if self.room[name] > SHORT * self.wanted[name]]
        name = next((name for name in short if 0 < size <= self.room[name]), None)
        if name is None or self.is_placed(place) or not self._may_evaluate(place):
            return
        rivals = {other for key in self.keys[place] for other in self.with_key[key]} - {place}
        if any(self.where.get(other, name) != name for other in rivals):
            return
        self._take([place], name, size)
        self.shared |= {other for other in rivals if other not in self.where}
