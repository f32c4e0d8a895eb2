"""Settings of a transfer: its sets, and values to choose from."""

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
"""The word for `--choose` that stands for the papers' rules."""
ARROW = ">"
"""The former separator of sets that are trained on in turn."""


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
        """Return the plan of a transfer.

        Each arm has a run per combination of the values.
        """
        from winokit.stages.transfer.selection import TransferPlan

        return TransferPlan(model, self.grid(settings), self.device, self.save)

    def grid(self, settings: TrainSettings) -> tuple[TrainSettings, ...]:
        """Training settings for every combination of the values, each once.

        The values replace those of `settings`. A setting without values keeps its own.

        >>> design = TransferDesign(learning_rate=(1e-5, 3e-5), epochs=(3,))
        >>> [settings.learning_rate for settings in design.grid(TrainSettings())]
        [1e-05, 3e-05]
        """
        values = [getattr(self, name) or (getattr(settings, name),) for name in CHOSEN_FROM]
        grid = []
        for combination in product(*values):
            changes = dict(zip(CHOSEN_FROM, combination, strict=True))
            grid.append(replace(settings, keep=self.keep, **changes))
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
        """Load the test sets, each with the set to choose on."""
        from winokit.stages.transfer.selection import with_choices

        loaded_tests = [self._load_named_set(test) for test in tests]
        choice_of: dict[str, NamedData] = {}
        pool: list[NamedData] = []
        for name, data in map(split_name, self.choose):
            if name:
                choice_of[name] = self._load_named_set(data)
            elif data != PAPERS:
                pool.append(self._load_named_set(data))
        by_rule = PAPERS in self.choose
        return with_choices(
            loaded_tests, choice_of=choice_of, pool=pool, by_rule=by_rule, drop_overlap=self.drop_overlap
        )

    def arms(self, training_sets: "Sequence[str | Dataset | TrainingArm]") -> "list[TrainingArm]":
        """Load the training sets of all arms.

        A training set is DATA, NAME=DATA, a dataset, or an arm, which is returned as it is. Sets of one NAME are the
        stages of one arm, trained on in turn. Arms are in the order of their first sets.
        """
        from winokit.stages.transfer.selection import TrainingArm

        arms: list[TrainingArm] = []
        index_of_name: dict[str, int] = {}
        for training_set in training_sets:
            if isinstance(training_set, TrainingArm):
                arms.append(training_set)
                continue
            name, data = split_name(training_set) if isinstance(training_set, str) else ("", training_set)
            refuse_arrow(data)
            stage = self.loading.one(data)
            if name in index_of_name:
                index = index_of_name[name]
                arms[index] = TrainingArm(name, (*arms[index].stages, stage))
                continue
            if name:
                index_of_name[name] = len(arms)
            arms.append(TrainingArm(name or stage.card.name, (stage,)))
        return arms

    def _load_named_set(self, dataset: "str | Dataset | NamedData") -> "NamedData":
        """Load DATA or NAME=DATA.

        Without a name, a set has that of its card. A set that is named and loaded already is returned as it is.
        """
        from winokit.stages.transfer.selection import NamedData

        if isinstance(dataset, NamedData):
            return dataset
        name, data = split_name(dataset) if isinstance(dataset, str) else ("", dataset)
        loaded_data = self.loading.one(data)
        return NamedData(name or loaded_data.card.name, loaded_data)


def refuse_arrow(data: str | Dataset) -> None:
    """Raise BadInput for A>B, the former spelling of sequences of sets.

    The path of a file that exists is not refused.
    """
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

    The name is empty if there is none. An existing file whose name has an equals sign is DATA alone.

    >>> split_name("T=open"), split_name("open")
    (('T', 'open'), ('', 'open'))
    """
    name, equals, data = text.partition("=")
    if not equals or Path(text).exists() or "/" in name:
        return "", text
    return name.strip(), data.strip()
