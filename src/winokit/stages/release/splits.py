"""Splits of a release: which problems go to train, dev or test, and what stays together.

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
from itertools import chain

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
    """A group or a single problem, with its members in the order of the input."""

    members: tuple[Problem, ...]
    kept_ids: frozenset[str]

    @cached_property
    def name(self) -> str:
        """The least id of a member: a name that reveals neither order nor answers."""
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
        """Return the unit with every member changed. Ids must stay."""
        return ReleaseUnit(tuple(map(change, self.members)), self.kept_ids)


def units_of(problems: Dataset, kept: frozenset[str]) -> list[ReleaseUnit]:
    """The units of a dataset, in order of their first members."""
    members_by_unit: dict[str, list[Problem]] = {}
    for row, problem in enumerate(problems):
        unit_name = f"row {row}" if problem.group is None else f"group {problem.group}"
        members_by_unit.setdefault(unit_name, []).append(problem)
    units = []
    for members in members_by_unit.values():
        kept_ids = kept.intersection(member.id for member in members)
        units.append(ReleaseUnit(tuple(members), kept_ids))
    return units


def keys_of(units: Sequence[ReleaseUnit], *, facts: bool = False) -> list[set[Key]]:
    """Return for each unit the keys that it shares with others.

    One for every problem that a near-duplicate in another unit gives away; one for the problem that is perhaps the twin
    of a problem alone, by content; with `facts` also the (special word, candidate) pairs of its members. Answers are
    not looked at: what is public of a release must not depend on those that are hidden.
    """
    keys: list[set[Key]] = [set() for _ in units]
    unit_of_row: list[int] = []
    unanswered: list[Problem] = []
    for index, unit in enumerate(units):
        if facts:
            keys[index] |= {("fact", *pair) for pair in fact_pairs(unit.members)}
        unit_of_row += [index] * len(unit.members)
        unanswered += [member.replace(answer=None) for member in unit.members]
    for number, match in enumerate(find_matches([unanswered], within=True)):
        first_unit = unit_of_row[match.first[1]]
        second_unit = unit_of_row[match.second[1]]
        if first_unit != second_unit:
            keys[first_unit].add(("text", number))
            keys[second_unit].add(("text", number))
    single_units = [index for index, unit in enumerate(units) if not unit.is_group]
    singles = [units[index].members[0].replace(answer=None) for index in single_units]
    for pair in possible_twins(singles):
        for row in pair:
            keys[single_units[row]].add(("twins", *pair))
    return keys


def blocks_of(keys: Sequence[Collection[Key]]) -> list[list[int]]:
    """Return the indices of units linked by keys, in order of the first."""
    links = [[("key", key) for key in unit_keys] for unit_keys in keys]
    block_numbers = joined(links)
    blocks = grouped((block, index) for index, block in enumerate(block_numbers))
    return list(blocks.values())


def split_units(
    units: Sequence[ReleaseUnit],
    keys: Sequence[set[Key]],
    settings: ReleaseSettings,
    draws: Draws,
    fixed: Mapping[str, str],
) -> "ReleaseSplit":
    """Draw test and dev from the kept problems. The rest is for training.

    `fixed` has the splits of some ids.
    """
    kept_count = sum(len(unit.kept) for unit in units)
    sizes = {TEST: _split_size(settings.test, kept_count), DEV: _split_size(settings.dev, kept_count)}
    if sum(sizes.values()) >= kept_count:
        raise BadInput(
            f"dev {sizes[DEV]:,} and test {sizes[TEST]:,} leave nothing of {kept_count:,} kept problems to train on"
        )
    split = ReleaseSplit(units, keys, settings.complete, sizes)
    split.settle(fixed)
    blocks = [block for block in blocks_of(keys) if not any(map(split.is_placed, block))]
    blocks = draws.ordered("blocks of the split", blocks, lambda block: min(units[index].name for index in block))
    unplaced = [block for block in blocks if not split.place_block(block, SMALL_BLOCKS)]
    unplaced = [block for block in unplaced if not split.place_block(block, MOST_BLOCKS)]
    unplaced_units = list(chain.from_iterable(unplaced))
    for index in draws.ordered("units of the split", unplaced_units, lambda index: units[index].name):
        split.place_unit(index)
    return split


def _split_size(amount: float, kept_count: int) -> int:
    """The size of a split from a number of problems, or from a share of the kept ones."""
    if amount >= 1 or amount == 0:
        return int(amount)
    return max(AT_LEAST, round(amount * kept_count))


class ReleaseSplit:
    """Units placed in splits, and the room left. Unplaced units are for training."""

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
        self.with_key: dict[Key, list[int]] = {}
        for index, unit_keys in enumerate(keys):
            for key in unit_keys:
                self.with_key.setdefault(key, []).append(index)

    def units_in(self, name: str) -> list[ReleaseUnit]:
        """The units of a split, in the order of the input."""
        places = (place for place in range(len(self.units)) if place not in self.shared)
        return [self.units[place] for place in places if self.where.get(place, TRAIN) == name]

    def settle(self, fixed: Mapping[str, str]) -> None:
        """Place the units whose split is given, and those that share a key with them."""
        for index, unit in enumerate(self.units):
            name = next((fixed[member.id] for member in unit.members if member.id in fixed), None)
            if name is not None:
                self._assign_units([index], name, len(unit.kept))
        settled = dict(self.where)
        for index in range(len(self.units)):
            if index in settled:
                continue
            neighbour_splits = {settled[other] for other in self._find_neighbours(index) if other in settled}
            if neighbour_splits == {TRAIN}:
                self._assign_units([index], TRAIN, 0)
            elif neighbour_splits:
                self.shared.add(index)

    def _find_neighbours(self, index: int) -> set[int]:
        """The other units that share a key with a unit."""
        neighbours: set[int] = set()
        for key in self.keys[index]:
            neighbours.update(self.with_key[key])
        return neighbours - {index}

    def is_placed(self, place: int) -> bool:
        """Whether the split of a unit is decided."""
        return place in self.where or place in self.shared

    def place_block(self, block: Sequence[int], share: float) -> bool:
        """Place a whole block in dev or test if it fits and is small enough."""
        size = sum(len(self.units[place].kept) for place in block)
        if not all(self._may_evaluate(place) for place in block):
            return False
        for name in (TEST, DEV):
            # Four problems are never too many: a pair and its near-duplicate.
            if size <= self.room[name] and size <= max(4, share * self.wanted[name]):
                self._assign_units(block, name, size)
                return True
        return False

    def _may_evaluate(self, place: int) -> bool:
        """Whether a unit may be in dev or test."""
        unit = self.units[place]
        is_whole_group = unit.is_group and not unit.removed
        return bool(unit.kept) and (is_whole_group or not self.complete)

    def _assign_units(self, places: Sequence[int], name: str, size: int) -> None:
        self.where.update(dict.fromkeys(places, name))
        self.room[name] -= size

    def place_unit(self, place: int) -> None:
        """Take one unit out of a big block for dev or test, if these are short."""
        size = len(self.units[place].kept)
        short = [name for name in (TEST, DEV) if self.room[name] > SHORT * self.wanted[name]]
        name = next((name for name in short if 0 < size <= self.room[name]), None)
        if name is None or self.is_placed(place) or not self._may_evaluate(place):
            return
        rivals = self._find_neighbours(place)
        if any(self.where.get(other, name) != name for other in rivals):
            return
        self._assign_units([place], name, size)
        self.shared |= {other for other in rivals if other not in self.where}
