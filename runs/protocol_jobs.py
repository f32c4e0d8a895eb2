"""The jobs of `runs/protocols/pass.toml`: what is trained as the papers did it, with its seeds and its order."""

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
    """One training run: what `winokit train` is given, and the job whose weights it begins with."""

    name: str
    """The arm, its size if it has sizes, and the seed: square-one/4/16000/0."""
    table: str
    """The table it belongs to, as on the command line."""
    train: str
    settings: TrainSettings
    tests: tuple[str, ...]
    after: str | None = None
    dev: str | None = None
    """The set whose best epoch counts, and which is reported; else the weights after the last step count."""
    problems: int = 0
    """About how many problems `train` has: what a run costs is known before anything is read."""

    @property
    def arm(self) -> str:
        """What the seeds of a job share."""
        return self.name.rpartition("/")[0]

    @property
    def file_name(self) -> str:
        """The name of its files."""
        return self.name.replace("/", "__")


@cache
def protocol_jobs(path: Path = PASS) -> tuple[ProtocolJob, ...]:
    """Every job of the file, in its order."""
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
    """One job of an arm and a seed, or one for each of the arm's sizes.

    With `draws`, a seed is the number of a trial, which draws the settings as `winokit search` does.
    """
    sizes: Sequence[int | None] = arm.get("sizes", [None])
    chosen: dict[str, Any] = {"seed": seed} if "draws" not in arm else SearchSpace(**arm["draws"]).draw(0, seed)
    if "dev" in arm:
        chosen["keep"] = "best"
    for size in sizes:
        names = {"size": size, "seed": seed}
        after = arm.get("after")
        yield ProtocolJob(
            f"{arm_name.format(**names)}/{seed}",
            arm["table"],
            arm["train"].format(**names),
            replace(settings, **chosen),
            tuple(arm.get("tests", ())),
            None if after is None else f"{after}/{seed}",
            arm.get("dev"),
            size or arm["problems"],
        )


def jobs_of_table(table: str, path: Path = PASS) -> list[ProtocolJob]:
    """The jobs of one table, in the order of the file."""
    return [job for job in protocol_jobs(path) if job.table == table]
