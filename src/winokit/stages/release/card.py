"""The card: a datasheet in Markdown, with the front matter by which Hugging Face `datasets` finds the files.

It says what training could tell about dev and test, and what they give away by themselves. Splits are drawn so that
nothing crosses; here the finished files are looked at, by the checks that `winokit check` runs on anybody's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log10
from typing import Any

from winokit.data.checks.duplicates import find_duplicates
from winokit.data.checks.leaks import Leak, find_leaks
from winokit.data.checks.nearest_fact import fact_pairs
from winokit.data.checks.statistics import statistics
from winokit.data.checks.structure import structure
from winokit.problem import Dataset
from winokit.stages.release.contents import ReleaseContents
from winokit.stages.release.harness import rendered, task_name
from winokit.stages.release.manifest import DEBIASED, DEV, TEST
from winokit.stages.release.parquet import COLUMNS, VALIDATION, parquet_path
from winokit.stages.release.provenance import Audited
from winokit.stages.release.settings import FORMALIZATIONS, NOT_STATED, SCORING, ReleaseSettings, hub_licence

SIZE_CATEGORIES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M")
REPEATED = {
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


@dataclass(frozen=True)
class CardFacts:
    """Everything a card says that is not counted from the problems themselves."""

    settings: ReleaseSettings
    licence: str
    title: str
    source: str
    crossings: Sequence[Crossing]
    leaks: Mapping[str, Sequence[Leak]]
    """Of what is public; those of a hidden test are with its answers."""
    test_leaks: Sequence[Leak]
    """What predicts the test's answers without reading. Whether anything does is all that may be said of it."""
    collection: Sequence[str] = ()
    debiasing: Sequence[str] = ()
    audits: Sequence[Audited] = ()
    about: str = ""
    """The authors' own words."""
    notes: Sequence[str] = ()


def crossings(splits: Mapping[str, Dataset]) -> list[Crossing]:
    """Every two of train, dev and test, looked at together."""
    names = list(splits)
    repeated: dict[tuple[str, str], Counter[str]] = {both: Counter() for both in combinations(names, 2)}
    for duplicate in find_duplicates(list(splits.values())):
        if duplicate.across:
            repeated[names[duplicate.first[0]], names[duplicate.second[0]]][duplicate.kind] += 1
    pairs = {name: set().union(*map(fact_pairs, data.groups.values())) for name, data in splits.items()}
    return [
        Crossing(
            one,
            other,
            dict(sorted(kinds.items())),
            len(splits[one].groups.keys() & splits[other].groups.keys()),
            len(pairs[one] & pairs[other]),
        )
        for (one, other), kinds in repeated.items()
    ]


def found_leaks(data: Dataset) -> list[Leak]:
    """What predicts the answers of a file without reading it."""
    return [leak for leak in find_leaks(data) if leak.found]


def card_bytes(contents: ReleaseContents, facts: CardFacts) -> bytes:
    """The card of a release."""
    problems = len(contents.training)
    category = min(max(int(log10(max(problems, 1))) - 2, 0), len(SIZE_CATEGORIES) - 1)
    return rendered(
        "card.md.j2",
        facts=facts,
        settings=facts.settings,
        task=task_name(facts.settings),
        licence=facts.licence,
        hub_licence=hub_licence(facts.licence),
        licence_stated=facts.licence != NOT_STATED,
        size_category=SIZE_CATEGORIES[category],
        configs=_configs(contents),
        rows=[(statistics(data), contents.count_kept(data)) for data in contents.shown.values()],
        structure=structure(contents.training),
        contents=contents,
        has_test=TEST in contents.files,
        has_removed=contents.count_kept(contents.training) < problems,
        unscored=sum(not problem.after.strip() for problem in contents.files[DEV]),
        columns=COLUMNS,
        formalization=FORMALIZATIONS[facts.settings.formalization.partition("?")[0]],
        scoring=SCORING,
        said=REPEATED,
        first_answers={name: first_answers(contents.files[name]) for name in (DEBIASED, DEV)},
    )


def _configs(contents: ReleaseContents) -> list[dict[str, Any]]:
    """The configurations of `load_dataset`: one for each training file, each with the same dev and test."""
    evaluation = {VALIDATION: str(parquet_path(DEV))}
    if TEST in contents.files:
        evaluation[TEST] = str(parquet_path(TEST))
    return [
        {"name": name.removeprefix("train_"), "files": {"train": str(parquet_path(name)), **evaluation}}
        for name in (DEBIASED, *contents.sizes)
    ]


def first_answers(data: Dataset) -> float:
    """How often the first candidate is the answer."""
    return sum(problem.answer == 0 for problem in data) / len(data)
