"""What training could tell about dev and test, and what dev and test give away by themselves: checked, then said.

Splits are drawn so that nothing crosses; here the finished files are looked at, by the checks that `winokit check` runs
on anybody's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from winokit.data.checks.duplicates import find_duplicates
from winokit.data.checks.leaks import Leak, find_leaks
from winokit.data.checks.nearest_fact import fact_pairs
from winokit.problem import Dataset

SAID = {
    "same": "the same problem",
    "contradiction": "the same text with another answer",
    "near": "nearly the same text",
    "twin": "nearly the same text with the other answer",
}


@dataclass(frozen=True)
class Crossing:
    """Repetitions and shared facts between two splits."""

    one: str
    other: str
    repeated: dict[str, int]
    """Pairs of problems by kind of repetition."""
    groups: int
    """Groups with members on both sides."""
    pairs: int
    """(special word, candidate) pairs that both have."""


def crossings(splits: Mapping[str, Dataset]) -> list[Crossing]:
    """Every two of train, dev and test, looked at together."""
    names = list(splits)
    repeated: dict[tuple[str, str], Counter[str]] = {}
    for duplicate in find_duplicates(list(splits.values())):
        if duplicate.across:
            both = names[duplicate.first[0]], names[duplicate.second[0]]
            repeated.setdefault(both, Counter())[duplicate.kind] += 1
    pairs = {name: set().union(*map(fact_pairs, data.groups.values())) for name, data in splits.items()}
    return [
        Crossing(
            one,
            other,
            dict(sorted(repeated.get((one, other), Counter()).items())),
            len(splits[one].groups.keys() & splits[other].groups.keys()),
            len(pairs[one] & pairs[other]),
        )
        for one, other in combinations(names, 2)
    ]


def found_leaks(files: Mapping[str, Dataset], names: Sequence[str]) -> dict[str, list[Leak]]:
    """What predicts the answers of a file without reading it, where anything does."""
    return {name: [leak for leak in find_leaks(files[name]) if leak.found] for name in names if name in files}
