"""Settings of the next version: models, and when a group retires."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from winokit.data.loading import AsWritten, Loading
from winokit.errors import BadInput
from winokit.problem import Card, Dataset
from winokit.settings import Help, Settings
from winokit.stages.release.contents import read_inputs
from winokit.stages.release.hidden import Draws
from winokit.stages.release.settings import Given


@dataclass(frozen=True)
class EvolveSettings(Settings):
    """Settings of the next version: models, and what makes a group retire."""

    version: str = ""
    """The version of the new release."""
    previous: Path | None = None
    """The release that this is the next version of."""
    model: Annotated[tuple[str, ...], Help("Retire what this model solves; repeatable.", "SPEC", was="against")] = ()
    predictions: Annotated[
        tuple[Path, ...], Help("Retire what the model of these predictions solves; repeatable.", "FILE")
    ] = ()
    watch: Annotated[tuple[str, ...], Help("Show this model's scores without filtering against it.", "SPEC")] = ()
    majority: Annotated[
        float, Help("Share of those models that must solve a group.", above=0.5, most=1, section="release")
    ] = 1.0
    """More than half; 1 for all."""
    alpha: Annotated[
        float, Help("Significance level of the excess of solved groups.", above=0, most=1, section="release")
    ] = 0.05
    """Nothing is retired if the excess is not significant."""
    bring_back: Annotated[
        bool, Help("Use retired problems that are offered again for training.", section="release")
    ] = False
    previous_hidden: Annotated[
        Path | None, Help("The answers of RELEASE's test. Default: beside it.", "PATH", section="release")
    ] = None
    secret: Draws = field(default_factory=Draws.fresh)
    """Source of random draws. With a public seed, whoever has the models could check guesses of hidden answers."""

    @property
    def solvers(self) -> tuple[str, ...]:
        """SPECs of models and paths of predictions to filter against."""
        return (*self.model, *map(str, self.predictions))


@dataclass(frozen=True)
class OfferedProblems(Settings):
    """Problems that may enter the next version."""

    new: Annotated[Given, Help("New problems: DATA, or a folder of winokit debias.", "DATA")] = None
    removed: Annotated[
        Given, Help("What filtering removed of them, for training. Default: those in the folder.", "DATA")
    ] = None
    loading: AsWritten = Loading()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.new is None and self.removed is not None:
            raise BadInput("--removed: what filtering took out of new problems; name those too: --new")

    def loaded(self, name: str) -> tuple[Dataset, Dataset]:
        """Load the new problems, and those that filtering removed.

        The latter are for training alone. Both are empty if nothing is new; then the first has the given `name`.
        """
        if self.new is None:
            return Dataset([], Card(name)), Dataset([])
        inputs = read_inputs(self.new, self.removed, self.loading)
        kept_problems = inputs.problems.filter(lambda problem: problem.id in inputs.kept)
        removed_problems = inputs.problems.filter(lambda problem: problem.id not in inputs.kept)
        return kept_problems, removed_problems
