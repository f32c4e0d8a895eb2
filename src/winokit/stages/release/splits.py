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
"""Anything that two units may have in common; units with a common key must not be in different splits."""
SMALL_BLOCKS = 0.1
MOST_BLOCKS = 0.5
"""The largest share of a split that a block may fill: at first, then if small blocks are not enough."""
SHORT = 0.05
"""The share of a split that may be missing before large blocks are broken up for it."""
AT_LEAST = 2
"""The fewest problems in a split that is given as a share."""


@dataclass(frozen=True)
class ReleaseUnit:
    """A group or a single problem, which stays in one split."""

    members: tuple[Problem, ...]
    kept_ids: frozenset[str]
    """Ids of the members that filtering kept; the others were removed."""

    @cached_property
    def name(self) -> str:
        """The smallest id of a member, which reveals neither order nor answers."""
        return min(member.id for member in self.members)

    @property
    def is_group(self) -> bool:
        """Whether it has more than one member."""
        return len(self.members) > 1

    @cached_property
    def kept(self) -> tuple[Problem, ...]:
        """The members that filtering kept."""
        return tuple(member for member in self.members if member.id in self.kept_ids)

    @cached_property
    def removed(self) -> tuple[Problem, ...]:
        """The members that filtering removed."""
        return tuple(member for member in self.members if member.id not in self.kept_ids)

    def map(self, change: Callable[[Problem], Problem]) -> "ReleaseUnit":
        """Return the unit with every member changed. Ids must stay the same."""
        return ReleaseUnit(tuple(map(change, self.members)), self.kept_ids)


def units_of(problems: Dataset, kept: frozenset[str]) -> list[ReleaseUnit]:
    """Return the units of a dataset, in order of their first members.

    `kept` has the ids of the problems that filtering kept.
    """
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
    """Return the keys of each unit, which tie it to others.

    Two units have a common key if a problem of one is a near-duplicate of a problem of the other, or if both are single
    problems that may be twins by their content. With `facts`, the (special word, candidate) pairs of a unit are keys
    too. Answers are not used: the public files of a release must not depend on hidden answers.
    """
    keys: list[set[Key]] = [set() for _ in units]
    if facts:
        for unit_keys, unit in zip(keys, units, strict=True):
            unit_keys |= {("fact", *pair) for pair in fact_pairs(unit.members)}
    _add_text_keys(keys, units)
    _add_twin_keys(keys, units)
    return keys


def _add_text_keys(keys: Sequence[set[Key]], units: Sequence[ReleaseUnit]) -> None:
    """Add a key to every two units with near-duplicate texts.

    It is added to their sets in `keys`. Answers are not used.
    """
    unit_of_row: list[int] = []
    unanswered: list[Problem] = []
    for index, unit in enumerate(units):
        unit_of_row += [index] * len(unit.members)
        unanswered += [member.replace(answer=None) for member in unit.members]
    for number, match in enumerate(find_matches([unanswered], within=True)):
        first_unit = unit_of_row[match.first[1]]
        second_unit = unit_of_row[match.second[1]]
        if first_unit != second_unit:
            keys[first_unit].add(("text", number))
            keys[second_unit].add(("text", number))


def _add_twin_keys(keys: Sequence[set[Key]], units: Sequence[ReleaseUnit]) -> None:
    """Add a key to every two single problems that may be twins.

    It is added to their sets in `keys`. Answers are not used.
    """
    single_units = [index for index, unit in enumerate(units) if not unit.is_group]
    singles = [units[index].members[0].replace(answer=None) for index in single_units]
    for pair in possible_twins(singles):
        for row in pair:
            keys[single_units[row]].add(("twins", *pair))


def blocks_of(keys: Sequence[Collection[Key]]) -> list[list[int]]:
    """Group units that common keys tie together, directly or over other units.

    `keys` has the keys of each unit. A block is a list of indices of units; blocks are in order of their first unit.
    """
    links = [_label_keys(unit_keys) for unit_keys in keys]
    block_numbers = joined(links)
    blocks = grouped((block, index) for index, block in enumerate(block_numbers))
    return list(blocks.values())


def _label_keys(keys: Collection[Key]) -> list[tuple[str, Key]]:
    """Return keys as links for `joined`: pairs of a kind and a value."""
    return [("key", key) for key in keys]


def split_units(
    units: Sequence[ReleaseUnit],
    keys: Sequence[set[Key]],
    settings: ReleaseSettings,
    draws: Draws,
    fixed: Mapping[str, str],
) -> "ReleaseSplit":
    """Draw the units of test and dev. All others are for training.

    Parameters
    ----------
    units
        The units of all problems. Only their kept members count for the sizes of test and dev.
    keys
        The keys of each unit (`keys_of`).
    settings
        The sizes of test and dev, and whether only complete groups may be in them.
    draws
        The draws that determine which units are tried first.
    fixed
        Splits that the previous version decided (train, dev or test), by id.
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
    blocks = draws.ordered("blocks of the split", blocks, split.name_block)
    unplaced = [block for block in blocks if not split.place_block(block, SMALL_BLOCKS)]
    unplaced = [block for block in unplaced if not split.place_block(block, MOST_BLOCKS)]
    unplaced_units = list(chain.from_iterable(unplaced))
    for index in draws.ordered("units of the split", unplaced_units, lambda index: units[index].name):
        split.place_unit(index)
    return split


def _split_size(amount: float, kept_count: int) -> int:
    """Return the number of problems of a split.

    `amount` is a number (1 or more, or 0), or a share of the kept problems.
    """
    if amount >= 1 or amount == 0:
        return int(amount)
    return max(AT_LEAST, round(amount * kept_count))


class ReleaseSplit:
    """The split of each unit, and the room left in dev and test.

    Units are known by their index. Those without a split are for training.
    """

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
        """Units that stay out of the release, since they have a key in common with dev or test."""
        self.with_key: dict[Key, list[int]] = {}
        for index, unit_keys in enumerate(keys):
            for key in unit_keys:
                self.with_key.setdefault(key, []).append(index)

    def units_in(self, name: str) -> list[ReleaseUnit]:
        """Return the units of a split, in the order of the input.

        `name` is train, dev or test.
        """
        units = []
        for index, unit in enumerate(self.units):
            if index not in self.shared and self.where.get(index, TRAIN) == name:
                units.append(unit)
        return units

    def name_block(self, block: Sequence[int]) -> str:
        """Return the smallest name of a block's units."""
        return min(self.units[index].name for index in block)

    def settle(self, fixed: Mapping[str, str]) -> None:
        """Place the units that the previous version decided, and their neighbours.

        `fixed` has splits by id. A unit with a key in common with such units of training goes to training, and with
        such units of dev or test it stays out.
        """
        for index, unit in enumerate(self.units):
            name = next((fixed[member.id] for member in unit.members if member.id in fixed), None)
            if name is not None:
                self._assign_units([index], name, len(unit.kept))
        split_of_unit = dict(self.where)
        for index in range(len(self.units)):
            if index in split_of_unit:
                continue
            neighbours = self._find_neighbours(index) & split_of_unit.keys()
            neighbour_splits = {split_of_unit[neighbour] for neighbour in neighbours}
            if neighbour_splits == {TRAIN}:
                self._assign_units([index], TRAIN, 0)
            elif neighbour_splits:
                self.shared.add(index)

    def _find_neighbours(self, index: int) -> set[int]:
        """Return the other units with a key in common with a unit."""
        neighbours: set[int] = set()
        for key in self.keys[index]:
            neighbours.update(self.with_key[key])
        return neighbours - {index}

    def is_placed(self, index: int) -> bool:
        """Whether a unit has a split, or stays out of the release."""
        return index in self.where or index in self.shared

    def place_block(self, block: Sequence[int], share: float) -> bool:
        """Place a whole block in test, or else dev, if it fits.

        Returns whether it did. `share` is the largest share of the split that the block may fill, though four problems
        are never too many. A block with a unit that may not be evaluated on does not fit.
        """
        size = sum(len(self.units[index].kept) for index in block)
        if not all(self._may_evaluate(index) for index in block):
            return False
        for name in (TEST, DEV):
            # Four problems are never too many: a pair and its near-duplicate.
            if size <= self.room[name] and size <= max(4, share * self.wanted[name]):
                self._assign_units(block, name, size)
                return True
        return False

    def _may_evaluate(self, index: int) -> bool:
        """Whether a unit may be in dev or test.

        It needs a kept member, and with `complete` it must be a group of which every member was kept.
        """
        unit = self.units[index]
        is_whole_group = unit.is_group and not unit.removed
        return bool(unit.kept) and (is_whole_group or not self.complete)

    def _assign_units(self, indices: Sequence[int], name: str, size: int) -> None:
        """Set the split of units, and take their problems from its room.

        `size` is the number of kept problems that they have together.
        """
        self.where.update(dict.fromkeys(indices, name))
        self.room[name] -= size

    def place_unit(self, index: int) -> None:
        """Take a unit out of a large block for test or dev.

        Nothing happens if these are not short of problems, or the unit does not fit. Units of the block with a key in
        common with it stay out of the release.
        """
        name = self._find_short_split(len(self.units[index].kept))
        if name is None or self.is_placed(index) or not self._may_evaluate(index):
            return
        neighbours = self._find_neighbours(index)
        if any(self.where.get(neighbour, name) != name for neighbour in neighbours):
            return
        self._assign_units([index], name, len(self.units[index].kept))
        self.shared |= neighbours - self.where.keys()

    def _find_short_split(self, size: int) -> str | None:
        """Return the split (test or dev) that needs `size` more problems.

        That is the first which is short of problems and has room for them. None if neither does, or `size` is 0.
        """
        for name in (TEST, DEV):
            is_short = self.room[name] > SHORT * self.wanted[name]
            if is_short and 0 < size <= self.room[name]:
                return name
        return None
