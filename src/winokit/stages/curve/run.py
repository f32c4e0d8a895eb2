"""Learning curves: the same model trained on more and more, several times over, and the line through what comes of it.

    points/FORMALIZATION/restart-1/size-160/   one training run each, with predictions and results
    points.csv                                 a row a point
    results.json                               points, means over restarts, fits and areas in flat rows

Restarts are independent: each draws its own order of the training groups and has its own seed for head, dropout and
batches (the three "runs" a point of Elazar et al.'s curves train one and the same model on). Within a restart every
size holds the one before. The same call goes on where it was killed, since each point is a run that remembers itself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import winokit
from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.methods.training.arms import ORIGINAL, make_variant
from winokit.methods.training.data import TrainingData
from winokit.methods.training.finetune import RESULTS
from winokit.methods.training.settings import TrainSettings
from winokit.results import Metric, rows_to_json
from winokit.stages.curve.fit import CurveSeries, series_of
from winokit.stages.curve.nested import NestedGrowth
from winokit.stages.curve.points import CurvePoint, write_points
from winokit.stages.curve.table import rows_of
from winokit.stages.curve.trainings import CurveDesign, CurveHow, Told, planned_jobs, point_of, run_point

POINTS = "points.csv"


@dataclass(frozen=True)
class LearningCurve:
    """What came of it."""

    run: dict[str, Any]
    points: tuple[CurvePoint, ...]
    series: tuple[CurveSeries, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def metrics(self) -> list[Metric]:
        """The rows of results.json."""
        return rows_of(self.points, self.series, str(self.run.get("model", "")))

    def save(self, folder: Path) -> None:
        """Write points.csv and results.json."""
        write_points(self.points, folder / POINTS)
        told = {"run": self.run, "metrics": rows_to_json(self.metrics), "warnings": self.warnings, "notes": self.notes}
        write_whole(folder / RESULTS, (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode())


def learning_curve(
    growth: NestedGrowth,
    data: TrainingData,
    out: Path,
    model: str = "builtin",
    settings: TrainSettings | None = None,
    design: CurveDesign | None = None,
    *,
    device: str | None = None,
    save: bool = False,
    progress: Told | None = None,
) -> LearningCurve:
    """Train on every size in every restart under every formalization, test each, and fit the lines; `save` writes them.

    Parameters
    ----------
    growth
        The sizes, and what is drawn from: `Growth(sizes, train)`, or `Growth.of_files(files)`.
    data
        Dev set, test sets and arm; its training set is not used. Without a test set the dev set is scored, and the
        last weights are kept, since nothing may be chosen on what is scored.
    save
        Whether to keep the weights of every point.
    """
    settings, design = settings or TrainSettings(), design or CurveDesign()
    data, notes = _scored(data)
    growth = _with_variant(growth, data)
    jobs = list(planned_jobs(growth, design, settings, out))
    tests = replace(data, train=growth.source).checked().in_arm().tests
    points: list[CurvePoint] = []
    whole, done = sum(job.weight for job in jobs), 0
    for job in jobs:
        told = None if progress is None else _part_of(progress, done, job.weight, whole)
        how = CurveHow(model, design.settings(settings, job.formalization, job.seed), device, save, told)
        outcome = run_point(job, data, tests, how)
        points += [point_of(job, test, outcome) for test in tests]
        notes += [note for note in outcome.notes if note not in notes]
        done += job.weight
        if progress is not None:
            progress(done, whole)
    run = _told(growth, data, model, settings, design)
    series = tuple(series_of(points, design.goal, tests))
    return LearningCurve(run, tuple(points), series, tuple(growth.notes + notes), tuple(_warnings(points)))


def _scored(data: TrainingData) -> tuple[TrainingData, list[str]]:
    """The data with something to score, and a note where that is the dev set."""
    if data.tests:
        names = Counter(test.card.name for test in data.tests)
        for name, count in names.items():
            if count > 1:
                raise BadInput(f"{name}: given twice as a test set")
        for test in data.tests:
            if all(problem.answer is None for problem in test):
                raise BadInput(f"{test.card.name}: its answers are hidden, so that no curve can be drawn on it")
        return data, []
    if data.dev is None:
        raise BadInput("a learning curve needs a set to score: --test, or --dev")
    told = f"scored on {data.dev.card.name} with the last weights of each run: nothing is chosen on what is scored"
    return replace(data, dev=None, tests=(data.dev,)), [told]


def _with_variant(growth: NestedGrowth, data: TrainingData) -> NestedGrowth:
    """The training problems that have the variant to be trained on, so that a size counts what is trained on."""
    if data.arm.trained_on == ORIGINAL:
        return growth
    if growth.files:
        raise BadInput(f"sizes as files and a variant to train on ({data.arm.trained_on}): give one DATA and --sizes")
    made = make_variant(growth.source, data.arm.trained_on)
    there = {str(problem.provenance.get("of", problem.id)) for problem in made}
    return replace(growth, source=growth.source.filter(lambda problem: problem.id in there))


def _part_of(progress: Told, before: int, weight: int, whole: int) -> Told:
    return lambda done, total: progress(before + weight * done // max(1, total), whole)


def _warnings(points: Sequence[CurvePoint]) -> Iterator[str]:
    """How many runs learned nothing, and how many problems were left undecided."""
    trained = {(point.formalization, point.asked, point.restart): point for point in points if point.size}
    bad = [point for point in trained.values() if point.warnings]
    if bad:
        first = bad[0]
        which = f"{first.formalization} on {first.asked:,}, restart {first.restart}: {first.warnings[0]}"
        yield (
            f"{len(bad):,} of {len(trained):,} runs show signs of trouble (the first, {which}); "
            "they are in the curve like any other"
        )
    most = max((point.abstained for point in points), default=0.0)
    if most:
        yield f"up to {most:.1%} of problems were left undecided, which counts as wrong here"


def _told(
    growth: NestedGrowth, data: TrainingData, model: str, settings: TrainSettings, design: CurveDesign
) -> dict[str, Any]:
    left_out = ("formalization", "seed", *(("epochs", "steps") if design.equal_steps else ()))
    return {
        "winokit": winokit.__version__,
        "model": model,
        "train": growth.source.card.name,
        "train_content": growth.source.content_hash,
        "sizes": list(growth.sizes),
        "files": [one.card.name for one in growth.files],
        "dev": None if data.dev is None else data.dev.card.name,
        "tests": [test.card.name for test in data.tests],
        "tests_content": [test.content_hash for test in data.tests],
        "trained_on": data.arm.trained_on,
        "tested_on": data.arm.tested_on,
        "dropped": data.dropped,
        "formalizations": list(design.formalizations),
        "restarts": design.restarts,
        "seed": design.seed,
        "equal_steps": design.equal_steps,
        **asdict(design.goal),
        **{name: value for name, value in settings.identity().items() if name not in left_out},
    }
