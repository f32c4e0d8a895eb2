"""Settings of the next version: which models answer, and when a group retires."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from winokit.settings import Help, Settings
from winokit.stages.release.hidden import Draws


@dataclass(frozen=True)
class EvolveSettings(Settings):
    """Settings of the next version: models, and what makes a group retire."""

    version: str = ""
    """Of the new release."""
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
    """For any to be retired."""
    bring_back: Annotated[
        bool, Help("Use retired problems that are offered again for training.", section="release")
    ] = False
    previous_hidden: Annotated[
        Path | None, Help("The answers of RELEASE's test. Default: beside it.", "PATH", section="release")
    ] = None
    secret: Draws = field(default_factory=Draws.fresh)
    """What is drawn from: with a public seed, whoever has the models could check guesses of hidden answers."""

    @property
    def solvers(self) -> tuple[str, ...]:
        """Models and files of predictions that are filtered against."""
        return (*self.model, *map(str, self.predictions))
