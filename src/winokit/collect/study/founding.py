"""Making a new study from a few wishes; everything else is for the requester to edit in its config."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.collect.study.config import StudyConfig, parse_config
from winokit.collect.study.evaluate import DATA, evaluation_problems
from winokit.collect.study.schema import EVALUATE, VALIDATE, WRITE
from winokit.collect.study.study import refuse_existing, write_folder
from winokit.data.formats import write
from winokit.data.loading import load
from winokit.errors import BadInput


@dataclass(frozen=True)
class StudyWishes:
    """What can be said on the command line."""

    title: str | None = None
    twins: int = 100
    votes: int = 3
    kinds: tuple[str, ...] = ()
    evaluate: str | None = None
    """A dataset for people to solve, instead of writing."""
    variants: tuple[str, ...] = ()
    limit: int = 0
    adversary: str = ""


def found(folder: Path, wishes: StudyWishes, db: str | None = None) -> tuple[StudyConfig, list[str]]:
    """Make a study's folder; its config, and notes on what could not be made of the dataset it is about."""
    refuse_existing(folder)
    config = config_of(wishes)
    notes: list[str] = []
    if wishes.evaluate:
        dataset = load(wishes.evaluate)
        _, notes = evaluation_problems(dataset[: wishes.limit or None], config.evaluate.variants)
        # A copy, so that the study does not change when the file elsewhere does.
        write(dataset, folder / DATA)
    write_folder(folder, config, db)
    return config, notes


def config_of(wishes: StudyWishes) -> StudyConfig:
    """The config that some wishes come to."""
    if wishes.variants and not wishes.evaluate:
        raise BadInput("--variant distorts a dataset: name it with --evaluate DATA")
    if wishes.evaluate and (wishes.kinds or wishes.adversary):
        raise BadInput("--evaluate is a study of its own: leave out --kind and --adversary")
    told: dict[str, Any] = {"tasks": {"votes": wishes.votes}}
    if wishes.evaluate:
        told["title"] = wishes.title or f"What people make of {Path(wishes.evaluate).stem}"
        told["tasks"] |= {"kinds": [EVALUATE], "twins": 0}
        told["evaluate"] = {"data": DATA, "variants": list(wishes.variants) or ["original"], "limit": wishes.limit}
    else:
        told["tasks"] |= {"kinds": list(wishes.kinds) or [WRITE, VALIDATE], "twins": wishes.twins}
        told["adversary"] = {"model": wishes.adversary}
        if wishes.title:
            told["title"] = wishes.title
    return parse_config(told, "winokit collect init")
