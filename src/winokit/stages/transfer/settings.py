"""Settings of a transfer: its sets with their names, and what is chosen on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from winokit.data.loading import AsWritten, Loading
from winokit.errors import BadInput
from winokit.methods.training.settings import Device, DropOverlap, Keep, Save, TrainSettings
from winokit.problem import Dataset
from winokit.settings import Help, Settings

if TYPE_CHECKING:
    from winokit.stages.transfer.selection import NamedData, TrainingArm, TransferPlan, TransferTarget

CHOSEN_FROM = ("learning_rate", "epochs", "batch_size", "seed")
"""Settings of a training run that may have several values, from which one is chosen."""
PAPERS = "papers"
"""What is typed for choosing by the papers' rules."""
ARROW = ">"
"""What once stood between sets that are trained on in turn."""


@dataclass(frozen=True)
class TransferDesign(Settings):
    """The values to choose from, and how each run is trained."""

    learning_rate: Annotated[Sequence[float], Help("Repeatable: one is chosen. Default: 1e-5.")] = ()
    epochs: Annotated[Sequence[int], Help("Repeatable: one is chosen. Default: 8.", least=1)] = ()
    batch_size: Annotated[Sequence[int], Help("Repeatable: one is chosen. Default: 16.", least=1)] = ()
    seed: Annotated[Sequence[int], Help("Repeatable: one is chosen. Default: 0.")] = ()
    keep: Annotated[
        Keep,
        Help(
            "The last weights of each run, or the best where it is chosen.",
            noun="choice of weights",
            section="training",
        ),
    ] = "last"
    device: Device = None
    save: Save = False

    def plan(self, model: str, settings: TrainSettings) -> "TransferPlan":
        """Plan of the runs of an arm, one per combination of the values."""
        from winokit.stages.transfer.selection import TransferPlan

        return TransferPlan(model, self.grid(settings), self.device, self.save)

    def grid(self, settings: TrainSettings) -> tuple[TrainSettings, ...]:
        """Every combination of the values, each once.

        They replace those of `settings`.

        >>> design = TransferDesign(learning_rate=(1e-5, 3e-5), epochs=(3,))
        >>> [settings.learning_rate for settings in design.grid(TrainSettings())]
        [1e-05, 3e-05]
        """
        values = [getattr(self, name) or (getattr(settings, name),) for name in CHOSEN_FROM]
        grid = []
        for combination in product(*values):
            chosen = dict(zip(CHOSEN_FROM, combination, strict=True))
            grid.append(replace(settings, keep=self.keep, **chosen))
        return tuple(dict.fromkeys(grid))


@dataclass(frozen=True)
class TransferSets(Settings):
    """The sets to choose on, and how every set is loaded."""

    choose: Annotated[
        Sequence[str],
        Help(
            "Choose on this: DATA for every test set, TEST=DATA for one of them, or papers: by the papers' rules, "
            "among these and the test sets. Repeatable. Default: nothing is chosen.",
            "DATA",
        ),
    ] = ()
    drop_overlap: DropOverlap = False
    loading: AsWritten = Loading()

    def targets(self, tests: "Sequence[str | Dataset | NamedData]") -> "tuple[TransferTarget, ...]":
        """Load the test sets and the sets that are chosen on."""
        from winokit.stages.transfer.selection import with_choices

        loaded = [self._name_set(given) for given in tests]
        for_one: dict[str, NamedData] = {}
        for_all: list[NamedData] = []
        for name, data in map(split_name, self.choose):
            if name:
                for_one[name] = self._name_set(data)
            elif data != PAPERS:
                for_all.append(self._name_set(data))
        by_rule = PAPERS in self.choose
        return with_choices(loaded, own=for_one, pool=for_all, by_rule=by_rule, drop_overlap=self.drop_overlap)

    def arms(self, given: "Sequence[str | Dataset | TrainingArm]") -> "list[TrainingArm]":
        """Load the arms.

        Sets of one name are the stages of one arm, which are trained on in turn.
        """
        from winokit.stages.transfer.selection import TrainingArm

        arms: dict[str, TrainingArm] = {}
        alone: list[TrainingArm] = []
        for each in given:
            if isinstance(each, TrainingArm):
                alone.append(each)
                continue
            name, data = split_name(each) if isinstance(each, str) else ("", each)
            refuse_arrow(data)
            stage = self.loading.one(data)
            if not name:
                alone.append(TrainingArm(stage.card.name, (stage,)))
                continue
            earlier = arms[name].stages if name in arms else ()
            arm = TrainingArm(name, (*earlier, stage))
            if name in arms:
                alone[alone.index(arms[name])] = arm
            else:
                alone.append(arm)
            arms[name] = arm
        return alone

    def _name_set(self, given: "str | Dataset | NamedData") -> "NamedData":
        from winokit.stages.transfer.selection import NamedData

        if isinstance(given, NamedData):
            return given
        name, data = split_name(given) if isinstance(given, str) else ("", given)
        loaded = self.loading.one(data)
        return NamedData(name or loaded.card.name, loaded)


def refuse_arrow(data: str | Dataset) -> None:
    """Refuse the former spelling of sets that are trained on in turn."""
    if isinstance(data, str) and ARROW in data and not Path(data).exists():
        first, _, second = data.partition(ARROW)
        first = first.strip("- ") or "DATA"
        second = second.strip() or "DATA"
        raise BadInput(
            f"--train {data}: sets that are trained on in turn have one name now: "
            f"--train NAME={first} --train NAME={second}"
        )


def split_name(text: str) -> tuple[str, str]:
    """Split NAME=DATA into its name and its data.

    The name is empty if there is none.

    A file whose name has an equals sign is DATA alone.

    >>> split_name("T=open"), split_name("open")
    (('T', 'open'), ('', 'open'))
    """
    name, equals, data = text.partition("=")
    if not equals or Path(text).exists() or "/" in name:
        return "", text
    return name.strip(), data.strip()
