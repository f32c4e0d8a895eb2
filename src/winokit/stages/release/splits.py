"""Which unit goes to train, dev or test.

Blocks are drawn one after the other, and each goes to the test while it fits, then to dev, then to training. Big blocks
are better trained on, since their problems tell on each other and would count for one: those of more than a tenth of a
split are evaluated only where smaller ones do not suffice, those of more than half never as a whole. If even that is
not enough, single units are taken out of them, and the units that share a key with these stay out of the release: that
is the price, and it is counted.

A release that follows another has units whose split is settled. What shares a key with a settled unit of dev or test
stays out, what shares one with training follows it there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from winokit.errors import BadInput
from winokit.stages.release.draws import Draws
from winokit.stages.release.settings import ReleaseSettings
from winokit.stages.release.units import Key, ReleaseUnit, blocks_of

TRAIN, DEV, TEST = "train", "dev", "test"
SMALL_BLOCKS, MOST_BLOCKS = 0.1, 0.5
"""Share of a split that a block may be: at first, and where the first do not suffice."""
ALWAYS_FITS = 4
"""Blocks of so many problems are never too big: a pair and its near-duplicate."""
SHORT = 0.05
"""Share of a split that may be lacking before big blocks are broken up for it."""
AT_LEAST = 2
"""Problems in a split that is asked for as a share, however small the share."""


@dataclass
class ReleaseSplit:
    """Where each unit goes, by place; those that go nowhere stay out."""

    where: dict[int, str] = field(default_factory=dict)
    wanted: dict[str, int] = field(default_factory=dict)
    """Problems asked for in dev and test."""
    shared: set[int] = field(default_factory=set)
    """Units that stay out, since they share a key with dev or test."""
    largest_block: int = 1
    """Units in the largest block."""

    def places(self, name: str) -> list[int]:
        """The units of a split, in the order of the input."""
        return sorted(place for place, split in self.where.items() if split == name)


def split_units(
    units: Sequence[ReleaseUnit],
    keys: Sequence[set[Key]],
    settings: ReleaseSettings,
    draws: Draws,
    fixed: Mapping[str, str] | None = None,
) -> ReleaseSplit:
    """Draw test and dev from the kept problems; the rest is for training. `fixed` has the splits of some ids."""
    kept = sum(len(unit.kept) for unit in units)
    wanted = {TEST: wanted_problems(settings.test, kept), DEV: wanted_problems(settings.dev, kept)}
    if sum(wanted.values()) >= kept:
        raise BadInput(
            f"dev {wanted[DEV]:,} and test {wanted[TEST]:,} leave nothing of {kept:,} kept problems to train on"
        )
    drawing = _Drawing(units, keys, settings.complete, ReleaseSplit(wanted=wanted))
    drawing.settle(fixed or {})
    blocks = [block for block in blocks_of(keys) if not any(drawing.is_placed(place) for place in block)]
    drawing.split.largest_block = max(map(len, blocks), default=1)
    blocks = draws.ordered("blocks of the split", blocks, lambda block: min(units[place].name for place in block))
    left = [block for block in blocks if not drawing.place_block(block, SMALL_BLOCKS)]
    left = [block for block in left if not drawing.place_block(block, MOST_BLOCKS)]
    places = [place for block in left for place in block]
    for place in draws.ordered("units of the split", places, lambda place: units[place].name):
        drawing.place_unit(place)
    drawing.finish()
    return drawing.split


def wanted_problems(amount: float, kept: int) -> int:
    """A share of the kept problems, or a number of them, as a number."""
    return int(amount) if amount >= 1 or amount == 0 else max(AT_LEAST, round(amount * kept))


class _Drawing:
    """The state of a draw: what is placed and how much room is left."""

    def __init__(
        self, units: Sequence[ReleaseUnit], keys: Sequence[set[Key]], complete: bool, split: ReleaseSplit
    ) -> None:
        self.units, self.keys, self.complete, self.split = units, keys, complete, split
        self.room = {TRAIN: 0, **split.wanted}
        self.with_key: dict[Key, list[int]] = defaultdict(list)
        for place, own in enumerate(keys):
            for key in own:
                self.with_key[key].append(place)

    def settle(self, fixed: Mapping[str, str]) -> None:
        """Place the units whose split is given, and those that share a key with them."""
        for place, unit in enumerate(self.units):
            name = next((fixed[member.id] for member in unit.members if member.id in fixed), None)
            if name is not None:
                self._take([place], name, len(unit.kept))
        settled = dict(self.split.where)
        for place, own in enumerate(self.keys):
            beside = {settled[other] for key in own for other in self.with_key[key] if other in settled}
            if beside and place not in settled:
                if beside == {TRAIN}:
                    self._take([place], TRAIN, 0)
                else:
                    self.split.shared.add(place)

    def is_placed(self, place: int) -> bool:
        """Whether it is decided where a unit goes."""
        return place in self.split.where or place in self.split.shared

    def place_block(self, block: Sequence[int], share: float) -> bool:
        """Place a whole block in dev or test, where it fits and is at most that share of it."""
        size = sum(len(self.units[place].kept) for place in block)
        if not all(self._may_evaluate(place) for place in block):
            return False
        for name in (TEST, DEV):
            if size <= self.room[name] and size <= max(ALWAYS_FITS, share * self.split.wanted[name]):
                self._take(block, name, size)
                return True
        return False

    def _may_evaluate(self, place: int) -> bool:
        """Whether a unit may stand in dev or test at all."""
        unit = self.units[place]
        return bool(unit.kept) and not (self.complete and (unit.removed or not unit.is_group))

    def _take(self, places: Sequence[int], name: str, size: int) -> None:
        self.split.where.update(dict.fromkeys(places, name))
        self.room[name] -= size

    def place_unit(self, place: int) -> None:
        """Take one unit out of a big block, where dev or test still has room, and let those that share a key go."""
        size = len(self.units[place].kept)
        name = next((name for name in (TEST, DEV) if self._is_short(name) and 0 < size <= self.room[name]), None)
        if name is None or self.is_placed(place) or not self._may_evaluate(place):
            return
        rivals = {other for key in self.keys[place] for other in self.with_key[key]} - {place}
        if any(self.split.where.get(other, name) != name for other in rivals):
            return
        self._take([place], name, size)
        self.split.shared |= {other for other in rivals if other not in self.split.where}

    def _is_short(self, name: str) -> bool:
        """Whether a split lacks so much that others should stay out for its sake."""
        return self.room[name] > SHORT * self.split.wanted[name]

    def finish(self) -> None:
        """Everything else is for training."""
        for place in range(len(self.units)):
            if not self.is_placed(place):
                self.split.where[place] = TRAIN
