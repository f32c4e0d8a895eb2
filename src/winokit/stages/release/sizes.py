"""The training sizes xs … xl: each four times the one before and its beginning, groups whole.

WinoGrande's are 160, 640, 2,558, 10,234 and 40,398. Here the largest is all there is, the next a quarter of it, and so
on down, as long as a size is worth training on; small data has fewer, and the largest is always called xl.
"""

from __future__ import annotations

from collections.abc import Sequence

from winokit.stages.release.settings import SIZES
from winokit.stages.release.units import ReleaseUnit

FACTOR = 4
SMALLEST = 16
"""Problems below which a size would teach nothing."""


def size_targets(problems: int, asked: Sequence[int] | None = None) -> dict[str, int]:
    """How many problems each size should have, the smallest first.

    >>> size_targets(40398)
    {'xs': 157, 's': 631, 'm': 2524, 'l': 10099, 'xl': 40398}
    >>> size_targets(320)
    {'m': 20, 'l': 80, 'xl': 320}
    """
    if asked is not None:
        counts = sorted({min(count, problems) for count in asked})
    else:
        counts = [problems // FACTOR**power for power in range(len(SIZES))][::-1]
        counts = [count for count in counts if count >= SMALLEST] or [problems]
    return dict(zip(SIZES[-len(counts) :], counts, strict=True))


def cut_sizes(units: Sequence[ReleaseUnit], asked: Sequence[int] | None = None) -> dict[str, Sequence[ReleaseUnit]]:
    """The units of each size: the beginning of all of them, as many as fit."""
    targets = size_targets(sum(len(unit.members) for unit in units), asked)
    ends: dict[str, int] = {}
    taken = place = 0
    for name, target in targets.items():
        while place < len(units) and taken + len(units[place].members) <= target:
            taken += len(units[place].members)
            place += 1
        ends[name] = place
    return {name: units[:end] for name, end in ends.items() if end}
