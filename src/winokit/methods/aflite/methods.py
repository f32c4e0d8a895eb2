"""Methods of debiasing: their inputs, their outcome, and the registry of their names.

A method is a dataclass of settings. Their `Help` texts and the docstring of the class are the options and the help of
`winokit debias NAME`. Another package adds a method by an entry point:

    [project.entry-points."winokit.debias"]
    mine = "my_package.filters:MyFilter"
"""

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from winokit.methods.aflite.inputs import Bools, Doubles, Ints, Matrix, names_of
from winokit.methods.arrays import Groups
from winokit.progress import Progress
from winokit.registry import Registry
from winokit.settings import Help, Settings, parameters_of
from winokit.units import Units

Seed = Annotated[int, Help("Seed for everything drawn at random.", least=0)]
Size = Annotated[int, Help("How many problems to keep.", "N", least=1)]
Twins = Annotated[
    Literal["apart", "together"],
    Help(
        "apart (problems one by one, as in the paper) or together (a group, and all that has its text or template).",
        noun="treatment of twins",
    ),
]


@dataclass(frozen=True)
class DebiasRows:
    """Problems as rows: the input of a debiasing method."""

    texts: list[list[str]]
    """Words of each problem."""
    y: Ints
    """Answer of each problem, 0 or 1."""
    groups: list[str | None]
    """Group of each problem, such as twins, which a method compares; None for a problem without one."""
    units: Units
    """Units of problems that vary together: folds, relabelled answers and intervals never split them."""
    x: Matrix | None = None
    """Features, one row per problem; None if no method needs them."""

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def unit_names(self) -> list[int | None]:
        """Unit of each row, or None for a row that is alone."""
        return names_of(self.units)


@dataclass(frozen=True)
class DebiasArm:
    """Outcome of one method: the rows it keeps, and the scores behind that."""

    name: str
    keep: Bools
    """Mask of the kept rows."""
    settings: dict[str, Any] = field(default_factory=dict)
    scores: Doubles | None = None
    """Score of each row: rows with high scores are removed first. None if the method has no scores."""
    phase: Ints | None = None
    """Phase in which each row was removed, from 1; None if the method has no phases."""
    history: tuple[dict[str, Any], ...] = ()
    """Summary of each phase."""
    whole: Groups | None = None
    """For each row the unit or group that is kept or removed as a whole; None if rows are treated one by one."""

    @property
    def removal_order(self) -> Ints:
        """Indices of the removed rows: earliest phase first, then highest score."""
        removed_rows = np.flatnonzero(~self.keep)
        score = np.zeros(len(self.keep)) if self.scores is None else np.nan_to_num(self.scores)
        phase = np.zeros(len(self.keep)) if self.phase is None else self.phase
        order = np.lexsort((removed_rows, -score[removed_rows], phase[removed_rows]))
        return removed_rows[order]


class DebiasMethod(Settings):
    """A method that chooses the problems to keep.

    A method with a field `size` keeps that many. Any other decides by itself when to stop.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """Its name on pages."""
    score_title: ClassVar[str] = ""
    """The name of its scores on pages; empty if it has none."""
    needs_features: ClassVar[bool] = False
    shared: ClassVar[tuple[str, ...]] = ("seed",)
    """Names of settings that it copies from the method with which it is compared."""
    seed: int

    def arm(self, rows: DebiasRows, size: int | None = None, progress: Progress | None = None) -> DebiasArm:
        """Run the method on the rows, and return what it keeps.

        A method without a field `size` keeps at least `size` rows; None sets no minimum. `progress` is called with the
        work done and all work.
        """
        raise NotImplementedError

    def given(self) -> dict[str, Any]:
        """Return the settings by name, without results of fitting."""
        settings = [field for field in fields(self) if field.init]  # type: ignore[arg-type]
        return {setting.name: getattr(self, setting.name) for setting in settings}


def has_size(kind: type[DebiasMethod]) -> bool:
    """Whether a class of methods has a setting `size`."""
    return "size" in {parameter.name for parameter in parameters_of(kind)}


METHODS: Registry[type[DebiasMethod]] = Registry(
    "method of debiasing",
    "winokit.debias",
    {
        "aflite": "winokit.methods.aflite.aflite:RepeatedAFLite",
        "pmi": "winokit.methods.aflite.pmi:PMIFilter",
        "random": "winokit.methods.aflite.random_reduction:RandomReduction",
    },
)
