"""Training sets that grow: each size holds the one before, and no twin is left without the other.

Elazar et al. (2021) take the first lines of a file, where 12 of the 56 groups of the smallest set have lost a member;
here whole groups are put into an order that the seed draws, and a size is as much of it as fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from winokit.errors import BadInput
from winokit.problem import Dataset, Problem

SMALLEST, FACTOR = 160, 4
"""WinoGrande's sizes grow from 160 by a factor of four."""
ALL, FILES = "all", "files"


def nested(dataset: Dataset, sizes: Sequence[int], seed: int) -> list[Dataset]:
    """A training set for each size, at most so large: each holds those before, and groups are whole or absent.

    >>> from winokit.data.synthetic import synthetic
    >>> [len(part) for part in nested(synthetic(20), (0, 5, 20), seed=1)]
    [0, 4, 20]
    """
    units = _units(dataset)
    order = np.random.default_rng([seed, len(units)]).permutation(len(units)).tolist()
    ends = np.cumsum([len(units[index]) for index in order])
    found = []
    for size in sizes:
        if size > len(dataset):
            raise BadInput(f"{dataset.card.name}: has {len(dataset):,} problems, and a size of {size:,} is asked for")
        fitting = int(np.searchsorted(ends, size, side="right"))
        if size and not fitting:
            raise BadInput(f"size {size:,}: too small for the first group; twins are trained on together")
        rows = sorted(row for index in order[:fitting] for row in units[index])
        found.append(_part(dataset, [dataset[row] for row in rows]))
    return found


@dataclass(frozen=True)
class NestedGrowth:
    """Training sets that grow: drawn anew from one dataset for each restart, or the same files for all."""

    sizes: tuple[int, ...]
    source: Dataset
    """What is drawn from; of files, the largest."""
    files: tuple[Dataset, ...] = ()

    @classmethod
    def of_files(cls, files: Sequence[Dataset], *, untrained: bool = False) -> NestedGrowth:
        """The sizes that come as files, from small to large, after nought where the untrained model is wanted."""
        lengths = [len(one) for one in files]
        if sorted(set(lengths)) != lengths:
            told = ", ".join(f"{one.card.name} {len(one):,}" for one in files)
            raise BadInput(f"training sets of several sizes are expected from small to large, each once: found {told}")
        none = Dataset([], replace(files[0].card, name="no training"))
        parts = (none, *files) if untrained else tuple(files)
        return cls(tuple(map(len, parts)), files[-1], parts)

    def sets(self, seed: int) -> list[Dataset]:
        """The training sets of a restart, one a size."""
        return list(self.files) if self.files else nested(self.source, self.sizes, seed)

    @property
    def notes(self) -> list[str]:
        """What must be known of files: whether they are nested and whole, and that restarts share them."""
        if not self.files:
            return []
        pairs = zip(self.files, self.files[1:], strict=False)
        return [
            *filter(None, (_missing(small, large) for small, large in pairs)),
            *filter(None, (_torn(one, self.source) for one in self.files[:-1])),
            "sizes are files: restarts differ in head, dropout and order of batches, not in what is trained on",
        ]


def _missing(small: Dataset, large: Dataset) -> str:
    missing = len({problem.id for problem in small} - {problem.id for problem in large})
    told = f"{missing:,} of the {len(small):,} problems of {small.card.name} are not in {large.card.name}"
    return f"{told}: these sizes are not nested" if missing else ""


def _torn(part: Dataset, whole: Dataset) -> str:
    """Groups of the largest file of which a smaller has some members only; groups may be named otherwise there."""
    there = {problem.id for problem in part}
    some = [sum(one.id in there for one in members) / len(members) for members in whole.groups.values()]
    torn = sum(0 < share < 1 for share in some)
    return f"{part.card.name}: {torn:,} groups have lost a member that {whole.card.name} has" if torn else ""


def usual_sizes(n: int) -> tuple[int, ...]:
    """Nought, then 160 and four times as many again and again, then all.

    >>> usual_sizes(1322)
    (0, 160, 640, 1322)
    """
    sizes, size = [0], SMALLEST
    while size < n:
        sizes.append(size)
        size *= FACTOR
    return (*sizes, n)


def parse_sizes(text: str, n: int) -> tuple[int, ...]:
    """Sizes as users write them: `0,160,640,all`.

    >>> parse_sizes("0,100,all", 428)
    (0, 100, 428)
    """
    sizes = [n if part == ALL else _size(part) for part in _parts(text)]
    if len(set(sizes)) < len(sizes):
        raise BadInput(f"--sizes {text}: each size once, please")
    if not any(sizes):
        raise BadInput(f"--sizes {text}: a size above 0 expected")
    return tuple(sorted(sizes))


def wants_untrained(text: str) -> bool:
    """Whether `--sizes 0,files` or `--sizes files` asks for the untrained model beside the files."""
    parts = _parts(text)
    if FILES not in parts or set(parts) - {FILES, "0"}:
        raise BadInput(f"--sizes {text}: with several training sets the files are the sizes: 'files' or '0,files'")
    return "0" in parts


def _parts(text: str) -> list[str]:
    return [part.strip().replace("_", "") for part in text.split(",") if part.strip()]


def _size(part: str) -> int:
    if part == FILES:
        raise BadInput("--sizes files: several training sets expected, one a size, found one")
    if not part.isdecimal():
        raise BadInput(f"--sizes: whole numbers with commas between, or 'all', expected, found {part!r}")
    return int(part)


def _units(dataset: Dataset) -> list[list[int]]:
    """The rows that stay together: those of a group, or a problem alone."""
    found: dict[object, list[int]] = {}
    for row, problem in enumerate(dataset):
        found.setdefault(row if problem.group is None else problem.group, []).append(row)
    return list(found.values())


def _part(dataset: Dataset, problems: Sequence[Problem]) -> Dataset:
    """So many problems of a dataset, under a name that says how many; its notes have been told."""
    return Dataset(problems, replace(dataset.card, name=f"{dataset.card.name}, {len(problems):,}"))
