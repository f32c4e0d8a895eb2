"""The jobs of `runs/protocols/pass.toml`: what is trained as the papers did it, with its seeds and its order."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from runs.jobs import MPNET, Job
from winokit.methods.training.settings import TrainSettings

PASS = Path(__file__).parent / "protocols" / "pass.toml"
PREFIX = "papers/"
"""In front of the names of these jobs: others have names like `square-one/…` too."""
FIRST_RANK = 300
"""Above the ranks of all other jobs."""
AT_THE_END = (10**9,)
"""Marks that no run reaches: tests are taken after the last step alone."""


def protocol_jobs(path: Path = PASS) -> list[Job]:
    """Every job of the file, ranked in its order, after all jobs of other lists."""
    content = tomllib.loads(path.read_text("utf-8"))
    settings = {name: own_settings(values) for name, values in content["settings"].items()}
    jobs: list[Job] = []
    for block_index, block in enumerate(content["order"]):
        for seed in block["seeds"]:
            for arm_name in block["arms"]:
                arm = content["arms"][arm_name]
                rank = FIRST_RANK + block_index + seed / 100
                jobs += jobs_of_arm(arm_name, arm, settings[arm["settings"]], seed, rank)
    return jobs


def own_settings(values: Mapping[str, Any]) -> TrainSettings:
    """The settings of a run, its last weights kept."""
    return TrainSettings(**values, keep="last", checkpoint_every=0)


def jobs_of_arm(
    arm_name: str, arm: Mapping[str, Any], settings: TrainSettings, seed: int, rank: float
) -> Iterator[Job]:
    """One job of an arm and a seed, or one for each of the arm's sizes."""
    sizes: Sequence[int | None] = arm.get("sizes", [None])
    for size in sizes:
        names = {"size": size, "seed": seed}
        after = arm.get("after")
        yield Job(
            f"{PREFIX}{arm_name.format(**names)}/{seed}",
            rank,
            MPNET,
            arm["train"].format(**names),
            replace(settings, seed=seed),
            tuple(arm["tests"]),
            marks=AT_THE_END,
            saves=arm.get("saves", False),
            after=None if after is None else f"{PREFIX}{after}/{seed}",
        )
