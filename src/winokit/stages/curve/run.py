"""Learning curves: one model trained on more and more data, several times over, and the line fitted to its scores.

    points/FORMALIZATION/restart-1/size-160/   one training run each, with predictions and results
    points.csv                                 a row a point
    results.json                               points, means over restarts, fits and areas in flat rows

Restarts are independent: each draws its own order of the training groups and has its own seed for head, dropout and
batches (the three "runs" a point of Elazar et al.'s curves train one and the same model on). Within a restart every
size holds the one before. The same call goes on where it was killed, since each point is a run that remembers itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import winokit
from winokit.answers import choice_numbers
from winokit.data.loading import DATA_HELP
from winokit.errors import BadInput
from winokit.files import as_file_name, json_lines, result_bytes, write_whole
from winokit.methods.metrics.judge_curves import CurveSeries
from winokit.methods.training.data import TrainingData, make_variant
from winokit.methods.training.settings import Trainable, TrainSettings, need_training
from winokit.problem import ORIGINAL, Dataset
from winokit.progress import Progress, part, tell
from winokit.results import Brief, Metric, rows_to_json
from winokit.settings import Help, Stored, Without, verb
from winokit.stages.curve.fit import CurvePoint, series_of, write_points
from winokit.stages.curve.nested import NestedGrowth, restart_seed
from winokit.stages.curve.page import write_curve_page
from winokit.stages.curve.settings import CurveDesign, CurveSets
from winokit.stages.curve.table import rows_of

if TYPE_CHECKING:
    from winokit.methods.training.finetune import TrainOutcome

Named = str | Path | Dataset


@dataclass(frozen=True, repr=False)
class LearningCurve(Brief):
    """The points of a learning curve and the lines fitted to them."""

    run: dict[str, Any]
    points: tuple[CurvePoint, ...] = ()
    series: tuple[CurveSeries, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    page: Path | None = None
    """Where its page was written."""

    @property
    def metrics(self) -> list[Metric]:
        """The rows of results.json."""
        return rows_of(self.points, self.series, str(self.run.get("model", "")))

    def save(self, folder: Path) -> "LearningCurve":
        """Write points.csv, results.json and the page.

        Returns the curve with the path of the page.
        """
        write_points(self.points, folder / "points.csv")
        saved = {"run": self.run, "metrics": rows_to_json(self.metrics), "warnings": self.warnings, "notes": self.notes}
        write_whole(folder / "results.json", result_bytes(saved))
        return replace(self, page=write_curve_page(self, folder / "report"))


@verb
def curve(
    data: Annotated[
        Named | Sequence[Named],
        Help(
            f"{DATA_HELP} One, from which sizes are drawn, or several from small to large, each a size (train_xs … "
            "train_xl).",
            "DATA...",
        ),
    ],
    *,
    model: Trainable = "builtin",
    design: CurveDesign = CurveDesign(),
    sets: Annotated[CurveSets, Without("holdout", "limit")] = CurveSets(),
    settings: Annotated[
        TrainSettings, Without("formalization", "seed", "steps"), Stored("training", "keep", "batch_size")
    ] = TrainSettings(),
    out: Annotated[str | Path | None, Help("The folder to write. Default: runs/DATA-curve.")] = None,
    progress: Progress | None = None,
) -> LearningCurve:
    """Train on more and more, several times over, and fit the line: single and group accuracy with intervals.

    Each size holds the one before, and twins stay together. An interrupted run continues.
    """
    names = (data,) if isinstance(data, Named) else tuple(data)
    if not names:
        raise BadInput("a learning curve needs DATA to train on")
    need_training("curve")
    loaded = sets.loaded_for_each(names)
    growth = NestedGrowth.of([each.train for each in loaded], design.sizes)
    notes = _collect_notes(loaded)
    tell(notes)
    folder = folder_of_curve(out, growth.source)
    result = learning_curve(growth, loaded[-1], folder, model, settings, design, progress=progress)
    tell(result.notes)
    return replace(result.save(folder), notes=(*notes, *result.notes))


def folder_of_curve(out: str | Path | None, dataset: Dataset) -> Path:
    """The folder to write, by default named after the data."""
    return Path("runs", f"{dataset.card.file_name}-curve") if out is None else Path(out)


def _collect_notes(sets: Sequence[TrainingData]) -> list[str]:
    """The notes on all sets, each once."""
    notes: dict[str, None] = {}
    for each in sets:
        notes |= dict.fromkeys(each.notes)
    return list(notes)


def learning_curve(
    growth: NestedGrowth,
    data: TrainingData,
    out: Path,
    model: str = "builtin",
    settings: TrainSettings = TrainSettings(),
    design: CurveDesign = CurveDesign(),
    *,
    progress: Progress | None = None,
) -> LearningCurve:
    """Train and test every point of a curve, and fit the lines.

    A point is a size in a restart under a formalization.

    Parameters
    ----------
    growth
        The sizes, and what is drawn from: `NestedGrowth(sizes, train)`, or `NestedGrowth.of_files(files)`.
    data
        Dev set, test sets and arm; its training set is not used. Without a test set the dev set is scored, and the
        last weights are kept, since nothing may be chosen on what is scored.
    """
    data, notes_on_scoring = select_scored_sets(data)
    growth = drop_problems_without_variant(growth, data)
    jobs = list(planned_jobs(growth, design, settings, out))
    tests = replace(data, train=growth.source).checked().in_arm().tests
    points, notes_on_runs = train_points(jobs, data, tests, model, settings, design, progress)
    series = series_of(points, design.goal, tests)
    notes = dict.fromkeys([*notes_on_scoring, *notes_on_runs])
    return LearningCurve(
        run=describe_curve(growth, data, model, settings, design),
        points=tuple(points),
        series=tuple(series),
        notes=(*growth.notes, *notes),
        warnings=tuple(warnings_of_points(points)),
    )


def select_scored_sets(data: TrainingData) -> tuple[TrainingData, list[str]]:
    """Make the dev set the test set if there is none.

    Returns a note about that too. Raises BadInput if there is nothing to score.
    """
    if not data.tests:
        if data.dev is None:
            raise BadInput("a learning curve needs a set to score: --test, or --dev")
        scored = f"scored on {data.dev.card.name} with the last weights of each run"
        return replace(data, dev=None, tests=(data.dev,)), [f"{scored}: nothing is chosen on what is scored"]
    names = [test.card.name for test in data.tests]
    for name, test in zip(names, data.tests, strict=True):
        if names.count(name) > 1:
            raise BadInput(f"{name}: given twice as a test set")
        if all(problem.answer is None for problem in test):
            raise BadInput(f"{name}: its answers are hidden, so it cannot be used for a curve")
    return data, []


def drop_problems_without_variant(growth: NestedGrowth, data: TrainingData) -> NestedGrowth:
    """Keep the training problems that have the variant to train on.

    So a size counts what is trained on.
    """
    variant = data.arm.trained_on
    if variant == ORIGINAL:
        return growth
    if growth.files:
        raise BadInput(f"sizes as files and a variant to train on ({variant}): give one DATA and --sizes")
    rewritten = make_variant(growth.source, variant)
    original_ids = {str(problem.provenance.get("of", problem.id)) for problem in rewritten}
    return replace(growth, source=growth.source.filter(lambda problem: problem.id in original_ids))


@dataclass(frozen=True)
class CurveJob:
    """One point to be run."""

    formalization: str
    restart: int
    seed: int
    asked: int
    """The size that was asked for."""
    train: Dataset
    """At most so many problems: groups are whole."""
    folder: Path
    weight: int
    """Its part of the work, in steps or problems."""


def planned_jobs(growth: NestedGrowth, design: CurveDesign, settings: TrainSettings, out: Path) -> Iterator[CurveJob]:
    """Plan every point, the smallest sizes first.

    So there is something to look at early.
    """
    formalizations = design.formalizations
    seeds = {restart: restart_seed(design.seed, restart) for restart in range(1, design.restarts + 1)}
    training_sets = {restart: growth.sets(seed) for restart, seed in seeds.items()}
    for size_index, asked in enumerate(growth.sizes):
        for formalization, spec in formalizations.items():
            for restart, seed in seeds.items():
                train = training_sets[restart][size_index]
                folder = out / "points" / as_file_name(spec) / f"restart-{restart}" / f"size-{asked}"
                weight = 1
                if len(train):
                    weight = design.steps or len(train) * settings.epochs
                yield CurveJob(formalization, restart, seed, asked, train, folder, weight)


def train_points(
    jobs: Sequence[CurveJob],
    data: TrainingData,
    tests: Sequence[Dataset],
    model: str,
    settings: TrainSettings,
    design: CurveDesign,
    progress: Progress | None,
) -> tuple[list[CurvePoint], list[str]]:
    """Train and test every point.

    Returns the points and the notes of their runs.
    """
    from winokit.methods.training.finetune import finetune, untrained

    points: list[CurvePoint] = []
    notes: list[str] = []
    total_weight = sum(job.weight for job in jobs)
    weight_done = 0
    for job in jobs:
        run_settings = design.settings(settings, job.formalization, job.seed)
        if len(job.train):
            job_progress = part(progress, weight_done, job.weight, total_weight)
            sets = replace(data, train=job.train)
            outcome = finetune(
                sets, job.folder, model, run_settings, device=design.device, save=design.save, progress=job_progress
            )
        else:
            variant = data.arm.tested_on
            outcome = untrained(tests, variant, job.folder, model, run_settings, device=design.device)
        points += [_make_point(job, test, outcome) for test in tests]
        notes += outcome.notes
        weight_done += job.weight
        if progress is not None:
            progress(weight_done, total_weight)
    return points, notes


def _make_point(job: CurveJob, test: Dataset, outcome: "TrainOutcome") -> CurvePoint:
    """Read the scores and choices of a run on a test set."""
    rows = {row.metric: row for row in outcome.on(test.card.name)}
    accuracy = rows["accuracy"]
    predictions = json_lines((outcome.folder / "predictions" / f"{accuracy.subset}.jsonl").read_text("utf-8"))
    choices = [row["prediction"] for row in predictions]
    return CurvePoint(
        dataset=test.card.name,
        formalization=accuracy.scoring,
        asked=job.asked,
        size=len(job.train),
        restart=job.restart,
        seed=job.seed,
        accuracy=accuracy,
        group_accuracy=rows.get("group_accuracy"),
        abstained=rows["abstained"].value if "abstained" in rows else 0.0,
        warnings=tuple(outcome.warnings),
        choices=choice_numbers(choices),
    )


def warnings_of_points(points: Sequence[CurvePoint]) -> Iterator[str]:
    """Warn of runs that learned nothing and of undecided problems."""
    trained = {(point.formalization, point.asked, point.restart): point for point in points if point.size}
    suspicious = [point for point in trained.values() if point.warnings]
    if suspicious:
        first = suspicious[0]
        which = f"{first.formalization} on {first.asked:,}, restart {first.restart}: {first.warnings[0]}"
        yield (
            f"{len(suspicious):,} of {len(trained):,} runs show signs of trouble (the first, {which}); "
            "they are included in the curve"
        )
    most_abstained = max((point.abstained for point in points), default=0.0)
    if most_abstained:
        yield f"up to {100 * most_abstained:.1f} % of problems were left undecided; here they count as wrong"


def describe_curve(
    growth: NestedGrowth, data: TrainingData, model: str, settings: TrainSettings, design: CurveDesign
) -> dict[str, Any]:
    """Settings of a curve, enough to do it again."""
    of_design = ["formalization", "seed"]
    if design.steps:
        of_design += ["epochs", "steps"]
    shared_settings = {name: value for name, value in settings.identity().items() if name not in of_design}
    return {
        "winokit": winokit.__version__,
        "model": model,
        "train": growth.source.card.name,
        "train_content": growth.source.content_hash,
        "sizes": list(growth.sizes),
        "files": [file.card.name for file in growth.files],
        "dev": None if data.dev is None else data.dev.card.name,
        "tests": [test.card.name for test in data.tests],
        "tests_content": [test.content_hash for test in data.tests],
        "trained_on": data.arm.trained_on,
        "tested_on": data.arm.tested_on,
        "dropped": data.dropped,
        "formalizations": list(design.formalization),
        "restarts": design.restarts,
        "seed": design.seed,
        "equal_steps": design.steps,
        **asdict(design.goal),
        **shared_settings,
    }
