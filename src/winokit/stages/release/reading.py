"""A release read back from its folder: every file of `winogrande/`, with nothing lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from winokit.data.formats.base import lone_groups_dropped
from winokit.data.formats.source import Source
from winokit.errors import BadInput
from winokit.problem import Card, Dataset, Problem
from winokit.stages.release.rows import problem_of
from winokit.stages.release.settings import SIZES

FOLDER = "winogrande"
DEV, TEST, DEBIASED = "dev", "test", "train_debiased"
TRAINS = tuple(f"train_{size}" for size in SIZES)
FILES = (*TRAINS, DEBIASED, DEV, TEST)
"""Every file a release may have; small ones have fewer sizes."""


def file_of(folder: Path, name: str) -> Path:
    """Where a file of problems stands."""
    return folder / FOLDER / f"{name}.jsonl"


def read_release(folder: Path) -> dict[str, Dataset]:
    """The problems of each file that a release has, by name: train_xs, …, train_debiased, dev, test."""
    found = {name: read_file(folder, name) for name in FILES if file_of(folder, name).is_file()}
    if not found:
        raise BadInput(f"{folder}: no release there ({FOLDER}/*.jsonl is missing)")
    return found


def read_file(folder: Path, name: str) -> Dataset:
    """The problems of one file."""
    source = Source(file_of(folder, name))
    problems = list(lone_groups_dropped(source.each(source.json_lines(), problem_of)))
    return Dataset(problems, Card(f"{folder.name}/{name}"))


def read_statuses(folder: Path, name: str) -> dict[str, str]:
    """Kept or removed, by public id, as a training file says."""
    source = Source(file_of(folder, name))
    statuses: dict[str, str] = {}

    def remember(row: dict[str, Any]) -> Problem | None:
        problem = problem_of(row)
        statuses[problem.id] = str(row.get("status") or "")
        return None

    list(source.each(source.json_lines(), remember))
    return statuses
