"""Settings of a search: its space, its sets, and its workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from winokit.data.loading import DataLike
from winokit.data.sets import Sets
from winokit.errors import BadInput
from winokit.methods.cluster import Address, Engine
from winokit.methods.training.settings import FORMALIZATION_HELP
from winokit.problem import Dataset
from winokit.settings import Help, Settings
from winokit.stages.search.space import SearchSpace

if TYPE_CHECKING:
    from winokit.methods.training.data import TrainingData
    from winokit.stages.search.workers import RunTrials, TrialCrew

TRIALS = 60
"""Trials per formalization in Liu et al. (2020)."""
PATIENCE = 20
"""Evaluations without improvement after which Liu et al.'s code stops."""
UNDRAWN = ("formalization", "learning_rate", "batch_size", "epochs", "warmup", "weight_decay", "seed")
"""Settings of a training run that a search varies, so that they are not its options."""
UNOFFERED = ("tokens", "clip", "keep", "checkpoint_every")
"""Settings of a training run that a search does not offer."""


@dataclass(frozen=True)
class SearchDesign(Settings):
    """Settings that are varied, and the number of trials."""

    formalization: Annotated[
        Sequence[str],
        Help(f"{FORMALIZATION_HELP}. Repeatable. Default: all that train this kind of model.", "NAME"),
    ] = ()
    trials: Annotated[int | None, Help("Trials per formalization. Default: 60; of a grid, all.", "N", least=1)] = None
    space: SearchSpace = SearchSpace()
    seed: Annotated[int, Help("Decides the settings and the seed of every trial, and the holdout.", least=0)] = 0
    human: Annotated[
        float | None,
        Help("Human accuracy in per cent, if the dataset does not state it.", above=1, most=100, section="goal"),
    ] = None

    def formalizations_for(self, model: str) -> list[str]:
        """Return the specs of the formalizations to try, without repetitions.

        By default these are all that train this kind of model. Raises UnknownName for a name that does not exist.
        """
        from winokit.methods.formalizations.base import Formalization, formalizations_of
        from winokit.methods.formalizations.network import kind_of

        names = self.formalization or formalizations_of(kind_of(model))
        return list(dict.fromkeys(Formalization.parse(name).spec for name in names))

    @property
    def trial_count(self) -> int:
        """Number of trials per formalization.

        By default it is the size of the grid, or the paper's number for random draws.
        """
        grid_size = self.space.size if self.space.sampler == "grid" else None
        return self.trials or grid_size or TRIALS

    @property
    def human_share(self) -> float | None:
        """Human accuracy as a share, or None if the option is not set."""
        return None if self.human is None else self.human / 100


@dataclass(frozen=True)
class SearchSets(Sets):
    """The training, dev and test sets of a search.

    The dev set is required, since it chooses the best trial.
    """

    test: Annotated[
        Sequence[str | Path | Dataset], Help("Test the chosen trial and the ensemble on this; repeatable.", "DATA")
    ] = ()

    def unchecked(self, data: DataLike, *, seed: int = 0) -> "TrainingData":
        """Load all sets, without a check for overlap.

        `seed` draws the holdout. Raises BadInput if there is no dev set.
        """
        if self.dev is None and self.holdout is None:
            raise BadInput(
                "a search needs a dev set to choose on: --dev DATA, or --holdout N for a part of the training set"
            )
        return super().unchecked(data, seed=seed)


@dataclass(frozen=True)
class Crew(Settings):
    """The processes that train the trials, on this machine or a Ray cluster."""

    workers: Annotated[int, Help("Trials at a time, each in a process of its own.", least=1)] = 1
    devices: Annotated[
        str | Sequence[str] | None,
        Help(
            "cuda:0,cuda:1: given to workers in turn. Default: the best there is.", typed=str | None, section="training"
        ),
    ] = None
    threads: Annotated[
        int | None,
        Help("CPU threads of each worker. Default: an equal share of the cores.", least=1, section="training"),
    ] = None
    engine: Engine = "local"
    address: Address = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine == "local" and self.address is not None:
            raise BadInput(f"address {self.address}: a Ray cluster needs the engine 'ray'")

    @property
    def trial_crew(self) -> "TrialCrew":
        """Number of trials at a time, with their devices and threads."""
        from winokit.stages.search.workers import TrialCrew

        if isinstance(self.devices, str):
            devices: Sequence[str] = self.devices.split(",")
        else:
            devices = self.devices or ()
        return TrialCrew(self.workers, tuple(devices), self.threads)

    def hired(self) -> "RunTrials":
        """Return the function that trains trials on these processes.

        Raises BadInput if this machine does not have one of the devices.
        """
        from winokit.stages.search.workers import engine_of

        return engine_of(self.engine, self.address, self.trial_crew)
