"""Random reduction: the baseline that keeps problems drawn at random.

Sakaguchi, Le Bras, Bhagavatula and Choi, "WinoGrande" (2019), section 4, https://arxiv.org/abs/1907.10641.
"""

from dataclasses import dataclass

import numpy as np

from winokit.methods.aflite.inputs import Bools, numbered, taken_whole
from winokit.methods.aflite.methods import DebiasArm, DebiasMethod, DebiasRows, Seed, Size, Twins
from winokit.methods.arrays import Groups
from winokit.progress import Progress


@dataclass(frozen=True)
class RandomReduction(DebiasMethod):
    """Keep problems drawn at random: the baseline that removes as many without looking at them."""

    name = "random"
    title = "Random reduction"
    shared = ("seed", "twins")
    size: Size
    twins: Twins = "apart"
    seed: Seed = 0

    def arm(self, rows: DebiasRows, size: int | None = None, progress: Progress | None = None) -> DebiasArm:
        """Draw as many rows as this method's `size`, in whole units if twins stay together."""
        unit_names = rows.unit_names if self.twins == "together" else None
        keep = random_reduction(len(rows), self.size, seed=self.seed, groups=unit_names)
        return DebiasArm(self.name, keep, self.given(), whole=unit_names)


def random_reduction(rows: int, size: int, *, seed: int = 0, groups: Groups | None = None) -> Bools:
    """Return a mask of `size` rows drawn at random.

    `rows` is the number of rows. With `groups`, such as `Dataset.units.numbers`, whole groups are drawn until the next
    would exceed the size. So of pairs and an odd size one row fewer is kept.

    >>> int(random_reduction(10, 4, seed=1).sum())
    4
    """
    numbers = numbered(groups, rows)
    group_count = int(numbers.max(initial=-1)) + 1
    order = np.random.default_rng(seed).permutation(group_count)
    return taken_whole(order, numbers, size)
