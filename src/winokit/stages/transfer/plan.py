"""What a transfer is made of: arms, settings to choose from, and what may be tested on what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from winokit.errors import BadInput
from winokit.methods.overlap import overlap
from winokit.methods.training.data import TrainingData, apart
from winokit.methods.training.settings import TrainSettings
from winokit.problem import Dataset
from winokit.stages.transfer.selection import NamedData, TransferTarget


@dataclass(frozen=True)
class TrainingArm:
    """A row of the tables: what is trained on, one set after the other."""

    name: str
    stages: tuple[Dataset, ...]
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """As of `TrainingData`: by what was dropped for what, how many problems by kind of overlap."""

    @property
    def problems(self) -> Dataset:
        """Everything that is trained on."""
        return Dataset([problem for stage in self.stages for problem in stage])

    def without(self, held: Sequence[Dataset]) -> TrainingArm:
        """The same without problems that overlap held-out sets.

        A set that overlaps half of a stage or more is let be: the arm was meant to train on it, and is not tested
        on it.
        """
        stages, dropped = [], dict(self.dropped)
        for stage in self.stages:
            kept = stage
            for dataset in held:
                if len(overlap(stage, dataset).given) < len(stage) / 2:
                    kept, counts = apart(kept, dataset, "train on", True)
                    if counts:
                        dropped[f"{stage.card.name} for {dataset.card.name}"] = counts
            stages.append(kept)
        return replace(self, stages=tuple(stages), dropped=dropped)


@dataclass(frozen=True)
class TransferPlan:
    """How arms are trained: the model, the settings to choose from, and what is kept."""

    model: str = "builtin"
    grid: tuple[TrainSettings, ...] = (TrainSettings(keep="last"),)
    device: str | None = None
    save: bool = False

    @property
    def chooses_weights(self) -> bool:
        """Whether the weights of a run are chosen too."""
        return self.grid[0].keep == "best"


def grid_of(settings: TrainSettings, **choices: Sequence[Any]) -> tuple[TrainSettings, ...]:
    """Every combination of the choices, each in place of what `settings` has.

    >>> [one.learning_rate for one in grid_of(Settings(), learning_rate=(1e-5, 3e-5), epochs=(3,))]
    [1e-05, 3e-05]
    """
    names = list(choices)
    found = [replace(settings, **dict(zip(names, some, strict=True))) for some in product(*choices.values())]
    return tuple(dict.fromkeys(found))


def check_plan(arms: Sequence[TrainingArm], tests: Sequence[TransferTarget], plan: TransferPlan) -> None:
    """Refuse what cannot be trained, chosen or told apart."""
    for what, names in (("arms", [arm.name for arm in arms]), ("test sets", [test.name for test in tests])):
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise BadInput(f"two {what} named {', '.join(sorted(twice))}: NAME=DATA tells them apart")
        if not names:
            raise BadInput(f"no {what}: --train DATA and --test DATA, one or more of each")
    for arm in arms:
        for stage in arm.stages:
            TrainingData(stage).checked()
    idle = [test.name for test in tests if test.chosen_on is None]
    if idle and (len(plan.grid) > 1 or plan.chooses_weights):
        what = f"{len(plan.grid)} settings" if len(plan.grid) > 1 else "weights"
        raise BadInput(f"{what} to choose from and nothing to choose on for {', '.join(idle)}: --choose DATA")


def held_sets(tests: Sequence[TransferTarget]) -> list[NamedData]:
    """Test sets and what is chosen on, each once; two with one name are refused."""
    found: dict[str, NamedData] = {}
    for test in tests:
        for one in (NamedData(test.name, test.data), test.chosen_on):
            if one is None:
                continue
            there = found.setdefault(one.name, one)
            if there.data.content_hash != one.data.content_hash:
                raise BadInput(f"two sets named {one.name}: NAME=DATA tells them apart")
    return list(found.values())


def why_not(arm: TrainingArm, test: TransferTarget) -> str | None:
    """Why an arm is not tested on a set; None where it is."""
    found = overlap(arm.problems, test.data)
    if found.held:
        return f"trained on what overlaps {len(found.held):,} of its {len(test.data):,} problems: {found.said}"
    chosen_on = test.chosen_on
    if chosen_on is not None:
        found = overlap(arm.problems, chosen_on.data)
        if found.held:
            trained = f"trained on what overlaps {len(found.held):,} of its {len(chosen_on.data):,} problems"
            return f"would be chosen on {chosen_on.name}, and was {trained}: {found.said}"
    return None
