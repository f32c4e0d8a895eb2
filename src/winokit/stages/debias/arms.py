"""The methods to compare, each an arm: which rows it keeps of the same problems, all at the same size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput, UnknownName
from winokit.methods.aflite.aflite import AFLite, Phase
from winokit.methods.aflite.inputs import Matrix, check_seed
from winokit.methods.aflite.null import NullModel, null_runs
from winokit.methods.aflite.pmi import PMIFilter
from winokit.methods.aflite.random_reduction import random_reduction

ALL, RANDOM, PMI, AFLITE = "all", "random", "pmi", "aflite"
METHODS = (AFLITE, PMI, RANDOM)
TWINS = ("apart", "together")


@dataclass(frozen=True)
class DebiasChoices:
    """What a user can decide about the methods themselves."""

    size: int | None = None
    """How many problems pmi and random keep. AFLite stops by itself."""
    seed: int = 0
    twins: str = "apart"
    """Whether random reduction draws problems, or whole groups."""
    aflite: AFLite | None = None
    pmi: PMIFilter | None = None
    """Its settings; the size is set as needed."""
    null_runs: int = 0
    """How often AFLite is run on relabelled problems at most, to know what it removes by chance; 19 can tell."""
    seeds: int = 1
    """How many seeds AFLite is run with, to know how much of what it keeps is the seed's; the first one decides."""
    majority: bool = False
    """Whether the kept are those that more than half of the seeds keep, instead."""
    compare: Sequence[str] = (RANDOM, PMI)
    """Other methods to show beside the chosen one."""

    def __post_init__(self) -> None:
        for name in self.compare:
            if name not in METHODS:
                raise UnknownName("method of debiasing", name, METHODS)
        if self.twins not in TWINS:
            raise UnknownName("treatment of twins", self.twins, TWINS)
        if self.seeds < 1 or (self.majority and self.seeds == 1):
            wanted = "2 seeds or more expected for a majority" if self.majority else "1 seed or more expected"
            raise BadInput(f"{wanted} (--seeds); found {self.seeds}")
        check_seed(self.seed)


@dataclass(frozen=True)
class DebiasWatch:
    """Who wants to be told how it goes."""

    step: Callable[[str], None] = lambda what: None
    """What begins."""
    phase: Callable[[Phase], None] = lambda phase: None
    """A phase of AFLite that is done."""
    null: Callable[[int], None] = lambda run: None
    """The number of a relabelled run that is done."""


@dataclass(frozen=True)
class DebiasRows:
    """The problems as filters see them."""

    texts: list[list[str]]
    y: NDArray[np.int64]
    groups: list[str | None]
    x: Matrix | None = None

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class DebiasArm:
    """What one method keeps, and what is known of the rows it let go."""

    name: str
    keep: NDArray[np.bool_]
    settings: dict[str, Any] = field(default_factory=dict)
    scores: NDArray[np.float64] | None = None
    phase: NDArray[np.int64] | None = None
    history: tuple[dict[str, Any], ...] = ()
    fitted: AFLite | None = None

    @property
    def removal_order(self) -> NDArray[np.int64]:
        """Removed rows: earliest phase first, then highest score."""
        gone = np.flatnonzero(~self.keep)
        score = np.zeros(len(self.keep)) if self.scores is None else np.nan_to_num(self.scores)
        phase = np.zeros(len(self.keep)) if self.phase is None else self.phase
        return gone[np.lexsort((gone, -score[gone], phase[gone]))]


def everything(rows: DebiasRows) -> DebiasArm:
    """The arm that removes nothing."""
    return DebiasArm(ALL, np.ones(len(rows), np.bool_))


def run_method(name: str, rows: DebiasRows, choices: DebiasChoices, size: int | None, watch: DebiasWatch) -> DebiasArm:
    """Run one method; `size` is what pmi and random must reduce to, and what AFLite may be cut back to."""
    if name != AFLITE and size is None:
        raise BadInput(f"how many problems should {name} keep? Give a size (--size)")
    if name == AFLITE or size is None:
        arm = _aflite(rows, choices, size, watch)
    else:
        arm = _pmi(rows, choices, size) if name == PMI else _random(rows, choices, size)
    if not arm.keep.any():
        why = "" if size is None else f": groups are kept whole, and none fits into a size of {size} (--size)"
        raise BadInput(f"{name} keeps no problem{why}")
    return arm


def other_seeds(first: DebiasArm, rows: DebiasRows, choices: DebiasChoices) -> tuple[DebiasArm, ...]:
    """AFLite on the same problems with the seeds that follow the first run's."""
    fitted, found = _fitted(first), []
    for number in range(1, choices.seeds):
        other = fitted.again(fitted.seed + number)
        if fitted.checkpoint is not None:
            other.checkpoint = fitted.checkpoint.with_stem(f"{fitted.checkpoint.stem}-{number}")
        found.append(_arm_of(other.fit(rows.x, rows.y, rows.groups), of_seed(AFLITE, other.seed)))
    return tuple(found)


def of_seed(name: str, seed: int) -> str:
    """The name of an arm as another seed makes it: a subset of its own in the rows."""
    return f"{name}.seed{seed}"


def by_majority(seeds: tuple[DebiasArm, ...]) -> DebiasArm:
    """What more than half of the seeds keep; phases and scores are those of the first."""
    keep = np.mean([arm.keep for arm in seeds], axis=0) > 0.5
    if not keep.any():
        raise BadInput(
            f"no problem is kept by more than half of {len(seeds)} seeds: the first one's are (no --majority)"
        )
    return replace(seeds[0], keep=keep, settings={**seeds[0].settings, "majority_of_seeds": len(seeds)})


def null_of(seeds: tuple[DebiasArm, ...], rows: DebiasRows, choices: DebiasChoices, watch: DebiasWatch) -> NullModel:
    """The runs on relabelled problems, and where the seeds of AFLite stand among them."""
    first, *others = (_fitted(arm) for arm in seeds)
    how: dict[str, Any] = {"runs": choices.null_runs, "seed": choices.seed, "progress": watch.null}
    return null_runs(first, rows.x, rows.y, rows.groups, others=others, **how)


def _fitted(arm: DebiasArm) -> AFLite:
    assert arm.fitted is not None
    return arm.fitted


def _random(rows: DebiasRows, choices: DebiasChoices, size: int) -> DebiasArm:
    groups = rows.groups if choices.twins == "together" else None
    keep = random_reduction(len(rows), size, seed=choices.seed, groups=groups)
    return DebiasArm(RANDOM, keep, {"size": size, "seed": choices.seed, "twins": choices.twins})


def _pmi(rows: DebiasRows, choices: DebiasChoices, size: int) -> DebiasArm:
    chosen = replace(choices.pmi or PMIFilter(size, seed=choices.seed), size=size)
    found = chosen.fit(rows.texts, rows.y, rows.groups)
    return DebiasArm(PMI, found.keep_, found.settings_, found.scores_)


def _aflite(rows: DebiasRows, choices: DebiasChoices, size: int | None, watch: DebiasWatch) -> DebiasArm:
    """AFLite as it stops; with a size, the rows that left last are taken back until that many are kept."""
    if rows.x is None:
        raise BadInput("AFLite needs features: name a model (--model) or a file (--features)")
    chosen = choices.aflite or AFLite(seed=choices.seed)
    found = chosen.fit(rows.x, rows.y, rows.groups, progress=watch.phase)
    arm = _arm_of(found, AFLITE)
    missing = 0 if size is None else size - int(arm.keep.sum())
    if missing <= 0:
        return arm
    keep = arm.keep.copy()
    keep[arm.removal_order[len(arm.removal_order) - missing :]] = True
    return replace(arm, keep=keep, settings={**arm.settings, "cut_back_to": size})


def _arm_of(found: AFLite, name: str) -> DebiasArm:
    history = tuple(asdict(phase) for phase in found.history_)
    return DebiasArm(name, found.keep_, dict(found.settings_), found.scores_, found.phase_, history, found)
