"""Methods of debiasing: what one is given, what it gives back, and where it is registered.

A method is a dataclass of settings, each with its `Help`, and a class's docstring; they are the options and the help of
`winokit debias NAME`. Another package adds one by an entry point:

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
    """The problems as methods see them: per row its words, answer (0 or 1), group, unit and features."""

    texts: list[list[str]]
    y: Ints
    groups: list[str | None]
    """Twins: what a method compares with one another."""
    units: Units
    """What varies together: what folds, relabelled answers and intervals count."""
    x: Matrix | None = None

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def unit_names(self) -> list[int | None]:
        """Unit of each row, or None for a row that is alone."""
        return names_of(self.units)


@dataclass(frozen=True)
class DebiasArm:
    """The rows that one method keeps, and scores of those it removed."""

    name: str
    keep: Bools
    settings: dict[str, Any] = field(default_factory=dict)
    scores: Doubles | None = None
    phase: Ints | None = None
    history: tuple[dict[str, Any], ...] = ()
    whole: Groups | None = None
    """For each row the unit or the group that stays or goes whole; None if rows go one by one."""

    @property
    def removal_order(self) -> Ints:
        """Removed rows: earliest phase first, then highest score."""
        gone = np.flatnonzero(~self.keep)
        score = np.zeros(len(self.keep)) if self.scores is None else np.nan_to_num(self.scores)
        phase = np.zeros(len(self.keep)) if self.phase is None else self.phase
        return gone[np.lexsort((gone, -score[gone], phase[gone]))]


class DebiasMethod(Settings):
    """A way to choose which problems stay.

    A method with a field `size` reduces to it. Any other stops by itself.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """What pages call it."""
    score_title: ClassVar[str] = ""
    """What pages call the scores of its arms, where it has any."""
    needs_features: ClassVar[bool] = False
    shared: ClassVar[tuple[str, ...]] = ("seed",)
    """Settings that it takes over from the method it is shown beside."""
    seed: int

    def arm(self, rows: DebiasRows, size: int | None = None, progress: Progress | None = None) -> DebiasArm:
        """Run on the rows.

        A method that stops by itself keeps at least `size` rows.
        """
        raise NotImplementedError

    def given(self) -> dict[str, Any]:
        """The settings as they were given."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]


def has_size(kind: type[DebiasMethod]) -> bool:
    """Whether a method reduces to a size that must be given."""
    return "size" in {each.name for each in parameters_of(kind)}


METHODS: Registry[type[DebiasMethod]] = Registry(
    "method of debiasing",
    "winokit.debias",
    {
        "aflite": "winokit.methods.aflite.aflite:RepeatedAFLite",
        "pmi": "winokit.methods.aflite.pmi:PMIFilter",
        "random": "winokit.methods.aflite.random_reduction:RandomReduction",
    },
)
