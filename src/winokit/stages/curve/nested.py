"""Training sets that grow: sizes are nested, and groups whole.

Elazar et al. (2021) take the first lines of a file, where 12 of the 56 groups of the smallest set have lost a member.
Here whole groups are put into an order that the seed draws, and a training set is as many of the first groups as fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np

from winokit.errors import BadInput
from winokit.problem import Dataset

SMALLEST = 160
FACTOR = 4
"""WinoGrande's sizes grow from 160 by a factor of four."""
ALL = "all"
FILES = "files"
"""Words of `--sizes`: the whole dataset, and the sizes of several training files."""


def nested(dataset: Dataset, sizes: Sequence[int], seed: int) -> list[Dataset]:
    """Draw one training set per size, with at most that many problems.

    Each holds all smaller ones, and groups are whole or absent. Problems keep the order of the dataset. Raises BadInput
    if a size is larger than the dataset, or too small for a group.

    >>> from winokit.data.synthetic import synthetic
    >>> [len(part) for part in nested(synthetic(20), (0, 5, 20), seed=1)]
    [0, 4, 20]
    """
    rows_by_unit: dict[int | str, list[int]] = {}
    for row, problem in enumerate(dataset):
        unit = row if problem.group is None else problem.group
        rows_by_unit.setdefault(unit, []).append(row)
    units = list(rows_by_unit.values())
    rng = np.random.default_rng([seed, len(units)])
    ordered_units = [units[index] for index in rng.permutation(len(units)).tolist()]
    ends = np.cumsum([len(unit) for unit in ordered_units])
    parts = []
    for size in sizes:
        if size > len(dataset):
            raise BadInput(f"{dataset.card.name}: has {len(dataset):,} problems, but a size of {size:,} was requested")
        unit_count = int(np.searchsorted(ends, size, side="right"))
        if size and not unit_count:
            raise BadInput(f"size {size:,}: too small for the first group; twins are trained on together")
        rows = sorted(chain.from_iterable(ordered_units[:unit_count]))
        card = replace(dataset.card, name=f"{dataset.card.name}, {len(rows):,}")
        # The dataset's notes are left out: they are shown once for all sizes.
        parts.append(Dataset([dataset[row] for row in rows], card))
    return parts


@dataclass(frozen=True)
class NestedGrowth:
    """The sizes of a curve and their training sets.

    These are drawn from one dataset for each restart, or are files that all restarts share.
    """

    sizes: tuple[int, ...]
    source: Dataset
    """The dataset to draw from. Of several files, the largest."""
    files: tuple[Dataset, ...] = ()
    """The training set of each size. Empty if they are drawn."""

    @classmethod
    def of(cls, sets: Sequence[Dataset], sizes: str | Sequence[int] | None = None) -> "NestedGrowth":
        """Plan training sets of growing sizes, from one dataset or several.

        Sizes are drawn from one dataset. Several datasets are a size each. `sizes` is as users write it (`0,160,all`)
        or a list. None stands for the usual sizes of one dataset.
        """
        if sizes is None or isinstance(sizes, str):
            text = sizes
        else:
            text = ",".join(map(str, sizes))
        if len(sets) > 1:
            has_untrained = text is not None and wants_untrained(text)
            return cls.of_files(sets, untrained=has_untrained)
        (source,) = sets
        if text is None:
            return cls(usual_sizes(len(source)), source)
        return cls(parse_sizes(text, len(source)), source)

    @classmethod
    def of_files(cls, files: Sequence[Dataset], *, untrained: bool = False) -> "NestedGrowth":
        """Plan training sets of growing sizes, a file each.

        The files are from small to large. With `untrained`, size 0 comes before them. Raises BadInput if they are not
        ordered by size.
        """
        lengths = list(map(len, files))
        if sorted(set(lengths)) != lengths:
            file_sizes = ", ".join(f"{file.card.name} {len(file):,}" for file in files)
            raise BadInput(
                f"training sets of several sizes are expected from small to large, each once: found {file_sizes}"
            )
        parts = tuple(files)
        if untrained:
            empty_set = Dataset([], replace(files[0].card, name="no training"))
            parts = (empty_set, *parts)
        return cls(tuple(map(len, parts)), files[-1], parts)

    def sets(self, seed: int) -> list[Dataset]:
        """The training sets of the restart with this seed, one per size.

        Files are the same for all.
        """
        return list(self.files) if self.files else nested(self.source, self.sizes, seed)

    @property
    def notes(self) -> list[str]:
        """Notes on training files: splits of groups, sizes that are not nested.

        A last one says that restarts share them. Empty if training sets are drawn.
        """
        if not self.files:
            return []
        notes = []
        for small, large in pairwise(self.files):
            missing_ids = {problem.id for problem in small} - {problem.id for problem in large}
            if missing_ids:
                which = f"{len(missing_ids):,} of the {len(small):,} problems of {small.card.name}"
                notes.append(f"{which} are not in {large.card.name}: these sizes are not nested")
        for part in self.files[:-1]:
            torn = self._count_torn_groups(part)
            if torn:
                notes.append(f"{part.card.name}: {torn:,} groups have lost a member that {self.source.card.name} has")
        return [*notes, "sizes are files: restarts differ in head, dropout and order of batches, not in training data"]

    def _count_torn_groups(self, part: Dataset) -> int:
        """Count the groups that a smaller file has only in part.

        Groups are those of the largest file.
        """
        ids = {problem.id for problem in part}
        torn_count = 0
        # Groups are those of the largest file: they may be named otherwise in a smaller one.
        for members in self.source.groups.values():
            is_member_there = [problem.id in ids for problem in members]
            if any(is_member_there) and not all(is_member_there):
                torn_count += 1
        return torn_count


def restart_seed(seed: int, restart: int) -> int:
    """Seed of a restart, drawn from the curve's seed.

    `restart` is the number of the restart, from 1. Its seed determines the order of groups, the head, dropout and
    batches.
    """
    return int(np.random.default_rng([seed, restart]).integers(2**31))


def usual_sizes(n: int) -> tuple[int, ...]:
    """Default sizes for a dataset of n problems.

    These are 0, then 160 and four times as many each time, then n.

    >>> usual_sizes(1322)
    (0, 160, 640, 1322)
    """
    sizes = [0]
    size = SMALLEST
    while size < n:
        sizes.append(size)
        size *= FACTOR
    return (*sizes, n)


def parse_sizes(text: str, n: int) -> tuple[int, ...]:
    """Parse and sort sizes as users write them.

    "all" is n, the size of the dataset. Raises BadInput if one is no number, appears twice, or if none is above 0.

    >>> parse_sizes("0,100,all", 428)
    (0, 100, 428)
    """
    sizes = []
    for part in _split_parts(text):
        if part == FILES:
            raise BadInput("--sizes files: expected several training sets, one per size, found one")
        if part != ALL and not part.isdecimal():
            raise BadInput(f"--sizes: expected whole numbers with commas between, or 'all', found {part!r}")
        sizes.append(n if part == ALL else int(part))
    if len(set(sizes)) < len(sizes):
        raise BadInput(f"--sizes {text}: each size may appear only once")
    if not any(sizes):
        raise BadInput(f"--sizes {text}: expected a size above 0")
    return tuple(sorted(sizes))


def wants_untrained(text: str) -> bool:
    """Whether `--sizes` of several files asks for the untrained model too.

    `0,files` does, `files` does not. Raises BadInput for any other text.
    """
    parts = _split_parts(text)
    other_parts = set(parts) - {FILES, "0"}
    if FILES not in parts or other_parts:
        raise BadInput(f"--sizes {text}: with several training sets the files are the sizes: 'files' or '0,files'")
    return "0" in parts


def _split_parts(text: str) -> list[str]:
    """Split a text at commas, without spaces and underscores.

    Empty parts are left out.
    """
    return [part.strip().replace("_", "") for part in text.split(",") if part.strip()]
