"""The card: a datasheet in Markdown, with the front matter by which Hugging Face `datasets` finds the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log10
from typing import Any

from winokit.data.checks.leaks import Leak
from winokit.data.checks.statistics import Statistics, statistics
from winokit.data.checks.structure import structure
from winokit.problem import Dataset
from winokit.stages.release.contents import ReleaseContents
from winokit.stages.release.crossing import SAID, Crossing
from winokit.stages.release.harness import task_name, unscored
from winokit.stages.release.licences import NOT_STATED, hub_licence
from winokit.stages.release.parquet import COLUMNS, VALIDATION, parquet_path
from winokit.stages.release.provenance import Audited
from winokit.stages.release.reading import DEBIASED, DEV, TEST
from winokit.stages.release.settings import FORMALIZATIONS, SCORING, ReleaseSettings
from winokit.stages.release.templating import rendered

SIZE_CATEGORIES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M")


@dataclass(frozen=True)
class CardFacts:
    """Everything a card says that is not counted from the problems themselves."""

    settings: ReleaseSettings
    licence: str
    title: str
    source: str
    crossings: Sequence[Crossing]
    leaks: Mapping[str, Sequence[Leak]]
    collection: Sequence[str] = field(default=())
    debiasing: Sequence[str] = field(default=())
    audits: Sequence[Audited] = field(default=())
    about: str = ""
    """The authors' own words."""
    notes: Sequence[str] = field(default=())
    test_leaks: bool = False
    """Whether anything predicts the test's answers without reading: all that may be said of it."""


def card_bytes(contents: ReleaseContents, facts: CardFacts) -> bytes:
    """The card of a release."""
    return rendered(
        "card.md.j2",
        facts=facts,
        settings=facts.settings,
        task=task_name(facts.settings),
        licence=facts.licence,
        hub_licence=hub_licence(facts.licence),
        licence_stated=facts.licence != NOT_STATED,
        size_category=_size_category(len(contents.training)),
        configs=configs(contents),
        rows=[_row(data, contents) for data in contents.shown.values()],
        structure=structure(contents.training),
        contents=contents,
        has_test=TEST in contents.files,
        has_removed=any(problem.id not in contents.kept for problem in contents.training),
        unscored=unscored(contents.files[DEV]),
        columns=COLUMNS,
        formalization=FORMALIZATIONS[facts.settings.formalization.partition("?")[0]],
        scoring=SCORING,
        said=SAID,
        first_answers=_first_answers(contents),
    )


def configs(contents: ReleaseContents) -> list[dict[str, Any]]:
    """The configurations of `load_dataset`: one for each training file, each with the same dev and test."""
    evaluation = {VALIDATION: str(parquet_path(DEV))}
    if TEST in contents.files:
        evaluation["test"] = str(parquet_path(TEST))
    names = [DEBIASED, *contents.sizes]
    return [
        {"name": name.removeprefix("train_"), "files": {"train": str(parquet_path(name)), **evaluation}}
        for name in names
    ]


def _size_category(problems: int) -> str:
    return SIZE_CATEGORIES[min(max(int(log10(max(problems, 1))) - 2, 0), len(SIZE_CATEGORIES) - 1)]


def _row(data: Dataset, contents: ReleaseContents) -> tuple[Statistics, int]:
    """The counts of a file, and how many of its problems were kept."""
    return statistics(data), sum(problem.id in contents.kept for problem in data)


def _first_answers(contents: ReleaseContents) -> dict[str, float]:
    """How often the first candidate is the answer, in the public files where balance matters."""
    shown = {name: contents.files[name] for name in (DEBIASED, DEV) if name in contents.files}
    return {name: sum(problem.answer == 0 for problem in data) / len(data) for name, data in shown.items()}
