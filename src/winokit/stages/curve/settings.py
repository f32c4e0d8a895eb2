"""The settings of a learning curve, beside those of its training runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from winokit.data.loading import DataLike
from winokit.data.sets import Sets
from winokit.errors import BadInput
from winokit.methods.training.settings import FORMALIZATION_HELP, Device, Save, TrainSettings
from winokit.problem import Dataset
from winokit.settings import Help, Settings

if TYPE_CHECKING:
    from winokit.methods.training.data import TrainingData

EVALUATIONS = 10
"""Evaluations on the dev set in a run of a fixed number of steps. An epoch of a few problems is over too soon."""


@dataclass(frozen=True)
class CurveGoal(Settings):
    """The scores to which curves are extrapolated, in per cent."""

    human: Annotated[
        float | None,
        Help("Human accuracy in per cent, to which the line is extrapolated.", above=1, most=100, section="goal"),
    ] = 94.0
    human_group: Annotated[
        float | None,
        Help(
            "Human group accuracy in per cent, for the extrapolation. Default: none.",
            above=1,
            most=100,
            section="goal",
        ),
    ] = None
    fit_from: Annotated[int, Help("Fit the line only to sizes from this one on.", least=1, section="goal")] = 1


@dataclass(frozen=True)
class CurveDesign(Settings):
    """The runs of a curve: formalizations, sizes and restarts."""

    formalization: Annotated[
        tuple[str, ...], Help(f"{FORMALIZATION_HELP}; repeatable. Default: mc-mlm.", "NAME", shown=False)
    ] = ("mc-mlm",)
    restarts: Annotated[int, Help("Independent restarts: other subsets, other seeds.", least=1)] = 3
    seed: Annotated[int, Help("Seed from which every restart gets its own seed.", least=0)] = 0
    steps: Annotated[int | None, Help("The same number of steps at every size, instead of epochs.", least=1)] = None
    sizes: Annotated[
        str | Sequence[int] | None,
        Help(
            "0,160,640,all: sizes with commas between, 0 for the untrained model. Of several DATA: files or 0,files. "
            "Default: 0, 160 and four times as many again and again, all.",
            typed=str | None,
        ),
    ] = None
    goal: CurveGoal = CurveGoal()
    device: Device = None
    save: Save = False

    @property
    def formalizations(self) -> dict[str, str]:
        """Full names of the formalizations, by the names that the user gave.

        Raises BadInput if there are none, or if two are the same.
        """
        from winokit.methods.formalizations.base import Formalization

        specs = {name: Formalization.parse(name).spec for name in self.formalization}
        if len(set(specs.values())) < max(1, len(self.formalization)):
            names = ", ".join(self.formalization)
            raise BadInput(f"formalizations: expected one or more, each once, found {names}")
        return specs

    def settings(self, settings: TrainSettings, formalization: str, seed: int) -> TrainSettings:
        """Return the training settings of one run.

        They are those of all runs, with its formalization and seed. With a fixed number of steps, epochs are set to it,
        so that they do not end the run earlier.
        """
        settings = replace(settings, formalization=formalization, seed=seed)
        if self.steps is None:
            return settings
        every = settings.evaluate_every or max(1, self.steps // EVALUATIONS)
        return replace(settings, steps=self.steps, epochs=self.steps, evaluate_every=every)


@dataclass(frozen=True)
class CurveSets(Sets):
    """The sets of a learning curve.

    Its training set may be several files, each a size.
    """

    dev: Annotated[
        str | Path | Dataset | None,
        Help("Choose weights on this; without --test, score the last weights on it.", "DATA"),
    ] = None
    test: Annotated[Sequence[str | Path | Dataset], Help("Score on this; repeatable.", "DATA")] = ()

    def loaded_for_each(self, data: Sequence[DataLike]) -> "list[TrainingData]":
        """Load the training sets, each with the same dev and test sets.

        Raises BadInput if training problems overlap a dev or test set, unless overlap is dropped.
        """
        smallest = self.unchecked(data[0])
        larger_sets = [self.loading.one(name) for name in data[1:]]
        checked_sets = []
        for train in (smallest.train, *larger_sets):
            sets = replace(smallest, train=train)
            checked_sets.append(sets.checked(drop_overlap=self.drop_overlap))
        return checked_sets
