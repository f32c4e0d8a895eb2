"""Learning curves: one model trained on more and more data.

    points/FORMALIZATION/restart-1/size-160/   one training run each, with predictions and results
    points.csv                                 a row a point
    results.json                               points, means over restarts, fits and areas in flat rows

Restarts are independent: each draws its own order of the training groups and has its own seed for head, dropout and
batches. (In Elazar et al.'s curves, the three "runs" of a point train one and the same model on.) Within a restart
every size holds the one before. After an interruption, the same call continues: a point that is done is read from its
folder.
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
"""A training set, or its name."""


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
        content = {
            "run": self.run,
            "metrics": rows_to_json(self.metrics),
            "warnings": self.warnings,
            "notes": self.notes,
        }
        write_whole(folder / "results.json", result_bytes(content))
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
    growth = NestedGrowth.of([training_data.train for training_data in loaded], design.sizes)
    notes = _collect_notes(loaded)
    tell(notes)
    folder = folder_of_curve(out, growth.source)
    result = learning_curve(growth, loaded[-1], folder, model, settings, design, progress=progress)
    tell(result.notes)
    return replace(result.save(folder), notes=(*notes, *result.notes))


def folder_of_curve(out: str | Path | None, dataset: Dataset) -> Path:
    """The folder to write: `out`, or one named after the training set.

    The latter is used if `out` is None.
    """
    if out is not None:
        return Path(out)
    return Path("runs", f"{dataset.card.file_name}-curve")


def _collect_notes(sets: Sequence[TrainingData]) -> list[str]:
    """The notes on all sets, each once."""
    notes: dict[str, None] = {}
    for training_data in sets:
        notes |= dict.fromkeys(training_data.notes)
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
    """Return the sets with a test set, and notes.

    Without a test set, the dev set becomes it, and a note says so. There are no notes otherwise. Raises BadInput if
    there is nothing to score, if a test set is there twice, or if its answers are hidden.
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
    """Leave out training problems that lack the variant trained on.

    Returns the growth with the others, so that a size counts problems that are trained on. Raises BadInput if a variant
    is trained on and the sizes are files.
    """
    variant = data.arm.trained_on
    if variant == ORIGINAL:
        return growth
    if growth.files:
        raise BadInput(f"sizes as files and a variant to train on ({variant}): give one DATA and --sizes")
    rewritten = make_variant(growth.source, variant)
    original_ids = {str(problem.provenance.get("of", problem.id)) for problem in rewritten}
    source = growth.source.filter(lambda problem: problem.id in original_ids)
    return replace(growth, source=source)


@dataclass(frozen=True)
class CurveJob:
    """One training run of a curve.

    It is of a size in a restart under a formalization. Restarts count from 1.
    """

    formalization: str
    restart: int
    seed: int
    asked: int
    """The size that was asked for."""
    train: Dataset
    """The training set, with at most `asked` problems, since groups are whole. Empty for the untrained model."""
    folder: Path
    """The folder of the run."""
    weight: int
    """The work of the run, in steps or problems. It is used for the progress."""


def planned_jobs(growth: NestedGrowth, design: CurveDesign, settings: TrainSettings, out: Path) -> Iterator[CurveJob]:
    """Yield the training runs of a curve, the smallest sizes first.

    So there are results early. `out` is the folder of the curve.
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
    """Train and test the model of every job.

    Size 0 is the untrained model. Returns a point per job and test set, and the notes of all runs. `progress` is called
    with weights of jobs.
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
    """Make the point of a run on a test set.

    Its choices are read from the predictions in the run's folder.
    """
    rows = {row.metric: row for row in outcome.on(test.card.name)}
    accuracy = rows["accuracy"]
    path = outcome.folder / "predictions" / f"{accuracy.subset}.jsonl"
    choices = [row["prediction"] for row in json_lines(path.read_text("utf-8"))]
    abstained = rows.get("abstained")
    return CurvePoint(
        dataset=test.card.name,
        formalization=accuracy.scoring,
        asked=job.asked,
        size=len(job.train),
        restart=job.restart,
        seed=job.seed,
        accuracy=accuracy,
        group_accuracy=rows.get("group_accuracy"),
        abstained=0.0 if abstained is None else abstained.value,
        warnings=tuple(outcome.warnings),
        choices=choice_numbers(choices),
    )


def warnings_of_points(points: Sequence[CurvePoint]) -> Iterator[str]:
    """Yield warnings about suspicious runs and undecided problems.

    A run is suspicious if its training gave a warning. Untrained models are not counted as runs.
    """
    runs = {(point.formalization, point.asked, point.restart): point for point in points if point.size}
    suspicious = [point for point in runs.values() if point.warnings]
    if suspicious:
        first = suspicious[0]
        which = f"{first.formalization} on {first.asked:,}, restart {first.restart}: {first.warnings[0]}"
        yield (
            f"{len(suspicious):,} of {len(runs):,} runs show signs of trouble (the first, {which}); "
            "they are included in the curve"
        )
    most_abstained = max((point.abstained for point in points), default=0.0)
    if most_abstained:
        yield f"up to {100 * most_abstained:.1f} % of problems were left undecided; here they count as wrong"


def describe_curve(
    growth: NestedGrowth, data: TrainingData, model: str, settings: TrainSettings, design: CurveDesign
) -> dict[str, Any]:
    """Settings of a curve as results.json records them.

    They are enough to run it again.
    """
    design_settings = ["formalization", "seed"]
    if design.steps:
        design_settings += ["epochs", "steps"]
    shared_settings = {name: value for name, value in settings.identity().items() if name not in design_settings}
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
