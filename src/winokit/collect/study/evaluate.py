"""People as if they were a model: the problems of an existing dataset, whole or distorted, for them to solve.

The papers only expect people to fail where the text is cut so that nobody could know; here they can be asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from winokit.collect.study.config import StudyConfig
from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.methods.transforms.local_context import local_context
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.switch import by_label_or_rule
from winokit.problem import Dataset, Problem

DATA = "problems.jsonl"
ORIGINAL = "original"


def evaluation_dataset(folder: Path, config: StudyConfig) -> Dataset:
    """The dataset that people are asked about."""
    told = config.evaluate
    place = folder / told.data
    dataset = load(place if place.exists() else told.data)
    return dataset[: told.limit] if told.limit else dataset


def evaluation_problems(dataset: Dataset, variants: Sequence[str]) -> tuple[list[tuple[str, Problem]], list[str]]:
    """(variant, problem) for everything people are asked, and notes on what could not be made.

    A variant's problem has its original's id in `provenance["of"]`, as everywhere.
    """
    made: list[tuple[str, Problem]] = []
    notes: list[str] = []
    for variant in variants:
        problems, refused = variant_problems(dataset, variant)
        made += [(variant, problem) for problem in problems]
        if refused:
            why, count = refused.most_common(1)[0]
            left_out = f"not made of {refused.total():,} of {len(dataset):,} problems"
            notes.append(f"{variant}: {left_out}, mostly: {why} ({count:,})")
    if not made:
        raise BadInput(f"{dataset.card.name}: no problem is left to ask people about: {'; '.join(notes)}")
    return made, notes


def variant_problems(dataset: Dataset, variant: str) -> tuple[list[Problem], Counter[str]]:
    """The problems of one variant, and how often each reason stood against one."""
    if variant == ORIGINAL:
        return list(dataset), Counter()
    make = by_label_or_rule(dataset) if variant == "switched" else _MAKERS[variant]
    made, refused = [], Counter[str]()
    for problem in dataset:
        outcome = "a yes/no judgement" if problem.query is not None else make(problem)
        if isinstance(outcome, str):
            refused[outcome] += 1
        else:
            made.append(outcome.replace(provenance={**outcome.provenance, "of": problem.id}))
    return made, refused


_MAKERS: Mapping[str, Callable[[Problem], Problem | str]] = {
    "no-cands": no_cands,
    "part-sent": part_sent,
    "local-context": local_context,
}
