"""The jobs of `runs/protocols/pass.toml`: training runs like the papers', with their seeds and their order."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from winokit.methods.training.settings import TrainSettings
from winokit.stages.search.space import SearchSpace

PASS = Path(__file__).parent / "protocols" / "pass.toml"


@dataclass(frozen=True)
class ProtocolJob:
    """One training run: the arguments of `winokit train`, and the job whose weights it begins with."""

    name: str
    """The arm, its size if it has sizes, and the seed: square-one/4/16000/0."""
    table: str
    """The table it belongs to, as on the command line."""
    train: str
    settings: TrainSettings
    tests: tuple[str, ...]
    after: str | None = None
    """The job whose weights it begins with; None: the model's own."""
    dev: str | None = None
    """The set whose best epoch counts, and which is reported; else the weights after the last step count."""
    problems: int = 0
    """About how many problems `train` has: what a run costs is known before anything is read."""

    @property
    def arm(self) -> str:
        """Name without the seed, which all seeds of a job share."""
        return self.name.rpartition("/")[0]

    @property
    def file_name(self) -> str:
        """Name of its files."""
        return self.name.replace("/", "__")


@cache
def protocol_jobs(path: Path = PASS) -> tuple[ProtocolJob, ...]:
    """Read every job of the file, in its order."""
    content = tomllib.loads(path.read_text("utf-8"))
    settings = {name: TrainSettings(**values, keep="last") for name, values in content["settings"].items()}
    jobs: list[ProtocolJob] = []
    for block in content["order"]:
        for seed in block["seeds"]:
            for arm_name in block["arms"]:
                arm = content["arms"][arm_name]
                jobs += jobs_of_arm(arm_name, arm, settings[arm["settings"]], seed)
    return tuple(jobs)


def jobs_of_arm(arm_name: str, arm: Mapping[str, Any], settings: TrainSettings, seed: int) -> Iterator[ProtocolJob]:
    """Make one job of an arm and a seed, or one for each of the arm's sizes.

    With `draws`, a seed is the number of a trial, which draws the settings as `winokit search` does.
    """
    chosen: dict[str, Any] = {"seed": seed}
    if "draws" in arm:
        chosen = SearchSpace(**arm["draws"]).draw(0, seed)
    if "dev" in arm:
        chosen["keep"] = "best"
    after = f"{arm['after']}/{seed}" if "after" in arm else None
    sizes: Sequence[int | None] = arm.get("sizes", [None])
    for size in sizes:
        names = {"size": size, "seed": seed}
        yield ProtocolJob(
            name=f"{arm_name.format(**names)}/{seed}",
            table=arm["table"],
            train=arm["train"].format(**names),
            settings=replace(settings, **chosen),
            tests=tuple(arm.get("tests", ())),
            after=after,
            dev=arm.get("dev"),
            problems=size or arm["problems"],
        )


def jobs_of_table(table: str, path: Path = PASS) -> list[ProtocolJob]:
    """Jobs of one table, in the order of the file."""
    return [job for job in protocol_jobs(path) if job.table == table]
