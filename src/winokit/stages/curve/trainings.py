"""One point of a learning curve: which there are, how one is run, and what its run says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.methods.formalizations import Formalization
from winokit.methods.training.data import TrainingData
from winokit.methods.training.finetune import PREDICTIONS, TrainOutcome, finetune
from winokit.methods.training.settings import TrainSettings
from winokit.methods.training.untrained import untrained
from winokit.problem import Dataset
from winokit.results import Metric
from winokit.stages.curve.fit import CurveGoal
from winokit.stages.curve.nested import NestedGrowth
from winokit.stages.curve.points import CurvePoint, PointScore

POINTS_FOLDER = "points"
Told = Callable[[int, int], None]
"""Told how much of the whole is done, and how much there is."""
EVALUATIONS = 10
"""On the dev set, where a number of steps is given: an epoch of a few problems would be one after nearly every step."""


@dataclass(frozen=True)
class CurveDesign:
    """What a curve is made of, beside the data and the settings of each run."""

    formalizations: tuple[str, ...] = ("mc-mlm",)
    restarts: int = 3
    seed: int = 0
    goal: CurveGoal = field(default_factory=CurveGoal)
    equal_steps: int | None = None
    """The same number of steps at every size, in place of epochs."""

    def __post_init__(self) -> None:
        if self.restarts < 1:
            raise BadInput(f"restarts: 1 or more expected, found {self.restarts}")
        specs = {Formalization.parse(name).spec for name in self.formalizations}
        if len(specs) < max(1, len(self.formalizations)):
            raise BadInput(f"formalizations: one or more, each once, expected, found {', '.join(self.formalizations)}")

    def settings(self, settings: TrainSettings, formalization: str, seed: int) -> TrainSettings:
        """The settings of a run of this design."""
        settings = replace(settings, formalization=formalization, seed=seed)
        if self.equal_steps is None:
            return settings
        every = settings.evaluate_every or max(1, self.equal_steps // EVALUATIONS)
        return replace(settings, steps=self.equal_steps, epochs=self.equal_steps, evaluate_every=every)


@dataclass(frozen=True)
class CurveJob:
    """One point to be run, and what share of the whole it is."""

    formalization: str
    restart: int
    seed: int
    asked: int
    train: Dataset
    folder: Path
    weight: int


@dataclass(frozen=True)
class CurveHow:
    """How a point is run."""

    model: str
    settings: TrainSettings
    device: str | None
    save: bool
    progress: Told | None


def restart_seed(seed: int, restart: int) -> int:
    """The seed of a restart: of the order of the training groups, of head, dropout and batches."""
    return int(np.random.default_rng([seed, restart]).integers(2**31))


def planned_jobs(growth: NestedGrowth, design: CurveDesign, settings: TrainSettings, out: Path) -> Iterator[CurveJob]:
    """Every point, the smallest sizes first, so that there is something to look at early."""
    seeds = {restart: restart_seed(design.seed, restart) for restart in range(1, design.restarts + 1)}
    sets = {restart: growth.sets(seed) for restart, seed in seeds.items()}
    for at, asked in enumerate(growth.sizes):
        for formalization in design.formalizations:
            name = re.sub(r"[^\w.-]+", "-", Formalization.parse(formalization).spec)
            for restart, seed in seeds.items():
                train = sets[restart][at]
                folder = out / POINTS_FOLDER / name / f"restart-{restart}" / f"size-{asked}"
                steps = design.equal_steps or len(train) * settings.epochs
                yield CurveJob(formalization, restart, seed, asked, train, folder, steps if len(train) else 1)


def run_point(job: CurveJob, data: TrainingData, tests: Sequence[Dataset], how: CurveHow) -> TrainOutcome:
    """Train and test a point, or test the model as it is where there is nothing to train on."""
    if not len(job.train):
        return untrained(tests, data.arm.tested_on, job.folder, how.model, how.settings, device=how.device)
    own = replace(data, train=job.train)
    settings, told = how.settings, how.progress
    return finetune(own, job.folder, how.model, settings, device=how.device, save=how.save, progress=told)


def point_of(job: CurveJob, test: Dataset, outcome: TrainOutcome) -> CurvePoint:
    """A run's scores on a test set, with every problem's right or wrong as its predictions say."""
    by_name = {row.metric: row for row in outcome.on(test.card.name)}
    accuracy = by_name["accuracy"]
    return CurvePoint(
        dataset=test.card.name,
        formalization=accuracy.scoring,
        asked=job.asked,
        size=len(job.train),
        restart=job.restart,
        seed=job.seed,
        accuracy=_score(accuracy),
        group_accuracy=_score(by_name["group_accuracy"]) if "group_accuracy" in by_name else None,
        abstained=by_name["abstained"].value if "abstained" in by_name else 0.0,
        warnings=tuple(outcome.warnings),
        right=_right(outcome.folder / PREDICTIONS / f"{accuracy.subset}.jsonl"),
    )


def _score(row: Metric) -> PointScore:
    return PointScore(row.value, row.low, row.high, row.n, row.chance)


def _right(path: Path) -> NDArray[np.bool_]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return np.array([row["prediction"] == row["answer"] for row in rows if row["answer"] is not None], np.bool_)
