"""Training sets that grow: each size holds the one before, and no twin is left without the other.

Elazar et al. (2021) take the first lines of a file, where 12 of the 56 groups of the smallest set have lost a member;
here whole groups are put into an order that the seed draws, and a size is as much of it as fits.
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


def nested(dataset: Dataset, sizes: Sequence[int], seed: int) -> list[Dataset]:
    """A training set for each size, at most so large: each holds those before, and groups are whole or absent.

    >>> from winokit.data.synthetic import synthetic
    >>> [len(part) for part in nested(synthetic(20), (0, 5, 20), seed=1)]
    [0, 4, 20]
    """
    rows_by_unit: dict[int | str, list[int]] = {}
    for row, problem in enumerate(dataset):
        unit = row if problem.group is None else problem.group
        rows_by_unit.setdefault(unit, []).append(row)
    units = list(rows_by_unit.values())
    order = np.random.default_rng([seed, len(units)]).permutation(len(units)).tolist()
    ends = np.cumsum([len(units[index]) for index in order])
    parts = []
    for size in sizes:
        if size > len(dataset):
            raise BadInput(f"{dataset.card.name}: has {len(dataset):,} problems, but a size of {size:,} was requested")
        fitting = int(np.searchsorted(ends, size, side="right"))
        if size and not fitting:
            raise BadInput(f"size {size:,}: too small for the first group; twins are trained on together")
        rows = sorted(chain.from_iterable(units[index] for index in order[:fitting]))
        card = replace(dataset.card, name=f"{dataset.card.name}, {len(rows):,}")
        parts.append(Dataset([dataset[row] for row in rows], card))  # without the dataset's notes, which are told
    return parts


@dataclass(frozen=True)
class NestedGrowth:
    """Training sets that grow: drawn from one dataset for each restart, or the same files for all."""

    sizes: tuple[int, ...]
    source: Dataset
    """What is drawn from; of files, the largest."""
    files: tuple[Dataset, ...] = ()

    @classmethod
    def of(cls, sets: Sequence[Dataset], sizes: str | Sequence[int] | None = None) -> "NestedGrowth":
        """Sizes asked for (`0,160,all`), drawn from one dataset, or the sizes of several."""
        text = sizes if sizes is None or isinstance(sizes, str) else ",".join(map(str, sizes))
        if len(sets) > 1:
            return cls.of_files(sets, untrained=text is not None and wants_untrained(text))
        (source,) = sets
        return cls(usual_sizes(len(source)) if text is None else parse_sizes(text, len(source)), source)

    @classmethod
    def of_files(cls, files: Sequence[Dataset], *, untrained: bool = False) -> "NestedGrowth":
        """The sizes that come as files, from small to large, after zero where the untrained model is wanted."""
        lengths = list(map(len, files))
        if sorted(set(lengths)) != lengths:
            file_sizes = ", ".join(f"{file.card.name} {len(file):,}" for file in files)
            raise BadInput(
                f"training sets of several sizes are expected from small to large, each once: found {file_sizes}"
            )
        none = Dataset([], replace(files[0].card, name="no training"))
        parts = (none, *files) if untrained else tuple(files)
        return cls(tuple(map(len, parts)), files[-1], parts)

    def sets(self, seed: int) -> list[Dataset]:
        """The training sets of a restart, one per size."""
        return list(self.files) if self.files else nested(self.source, self.sizes, seed)

    @property
    def notes(self) -> list[str]:
        """Notes on files: whether they are nested and whole.

        Restarts share them.
        """
        if not self.files:
            return []
        notes = []
        for small, large in pairwise(self.files):
            missing = len({problem.id for problem in small} - {problem.id for problem in large})
            if missing:
                which = f"{missing:,} of the {len(small):,} problems of {small.card.name}"
                notes.append(f"{which} are not in {large.card.name}: these sizes are not nested")
        for part in self.files[:-1]:
            there = {problem.id for problem in part}
            # Groups are those of the largest file: they may be named otherwise in a smaller one.
            membership = [[problem.id in there for problem in members] for members in self.source.groups.values()]
            torn = sum(any(members) and not all(members) for members in membership)
            if torn:
                notes.append(f"{part.card.name}: {torn:,} groups have lost a member that {self.source.card.name} has")
        return [*notes, "sizes are files: restarts differ in head, dropout and order of batches, not in training data"]


def restart_seed(seed: int, restart: int) -> int:
    """Seed of a restart, for the order of groups, head, dropout and batches."""
    return int(np.random.default_rng([seed, restart]).integers(2**31))


def usual_sizes(n: int) -> tuple[int, ...]:
    """Zero, then 160 and four times as many again and again, then all.

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
    """Sizes as users write them: `0,160,640,all`.

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
    """Whether `--sizes 0,files` or `--sizes files` asks for the untrained model beside the files."""
    parts = _split_parts(text)
    if FILES not in parts or set(parts) - {FILES, "0"}:
        raise BadInput(f"--sizes {text}: with several training sets the files are the sizes: 'files' or '0,files'")
    return "0" in parts


def _split_parts(text: str) -> list[str]:
    return [part.strip().replace("_", "") for part in text.split(",") if part.strip()]
