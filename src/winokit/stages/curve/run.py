"""Learning curves: the same model trained on more and more, several times over, and the line through what comes of it.

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

import numpy as np

import winokit
from winokit.answers import choice_numbers
from winokit.data.loading import DATA_HELP, Loading, Plain
from winokit.errors import BadInput
from winokit.files import as_file_name, json_lines, result_bytes, write_whole
from winokit.methods.formalizations.base import Formalization
from winokit.methods.metrics.judge_curves import CurveSeries
from winokit.methods.training import settings as training
from winokit.methods.training.data import TrainingData, VariantArm, make_variant
from winokit.methods.transforms.variants import ORIGINAL
from winokit.problem import Dataset
from winokit.progress import Progress, part, tell
from winokit.results import Brief, Metric, rows_to_json
from winokit.settings import Help, Settings, Without, verb
from winokit.stages.curve.fit import CurveGoal, CurvePoint, series_of, write_points
from winokit.stages.curve.nested import NestedGrowth
from winokit.stages.curve.page import write_curve_page
from winokit.stages.curve.table import rows_of
from winokit.stages.train.run import load_sets

if TYPE_CHECKING:
    from winokit.methods.training.finetune import TrainOutcome

Named = str | Path | Dataset


@dataclass(frozen=True)
class CurveDesign(Settings):
    """What a curve is made of, beside the data and the settings of each run."""

    formalization: Annotated[
        tuple[str, ...], Help(f"{training.FORMALIZATION_HELP}; repeatable. Default: mc-mlm.", "NAME", shown=False)
    ] = ("mc-mlm",)
    restarts: Annotated[int, Help("Independent restarts: other subsets, other seeds.", least=1)] = 3
    seed: Annotated[int, Help("Seed from which every restart gets its own seed.", least=0)] = 0
    steps: Annotated[int | None, Help("The same number of steps at every size, instead of epochs.", least=1)] = None

    def settings(self, settings: training.TrainSettings, formalization: str, seed: int) -> training.TrainSettings:
        """The settings of a run of this design."""
        settings = replace(settings, formalization=formalization, seed=seed)
        if self.steps is None:
            return settings
        # Ten times in all: an epoch of a few problems would be over after nearly every step.
        every = settings.evaluate_every or max(1, self.steps // 10)
        return replace(settings, steps=self.steps, epochs=self.steps, evaluate_every=every)


@dataclass(frozen=True, repr=False)
class LearningCurve(Brief):
    """The results."""

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
        """Write points.csv, results.json and the page, and return the curve with the place of that."""
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
    model: training.Trainable = "builtin",
    design: CurveDesign = CurveDesign(),
    dev: Annotated[
        Named | None, Help("Choose weights on this; without --test, score the last weights on it.", "DATA")
    ] = None,
    test: Annotated[Sequence[Named], Help("Score on this; repeatable.", "DATA")] = (),
    sizes: Annotated[
        str | Sequence[int] | None,
        Help(
            "0,160,640,all: sizes with commas between, 0 for the untrained model. Of several DATA: files or 0,files. "
            "Default: 0, 160 and four times as many again and again, all.",
            typed=str | None,
        ),
    ] = None,
    out: Annotated[str | Path | None, Help("The folder to write. Default: runs/DATA-curve.")] = None,
    goal: CurveGoal = CurveGoal(),
    settings: Annotated[training.TrainSettings, Without("formalization", "seed", "steps")] = training.TrainSettings(),
    device: training.Device = None,
    variant: training.VariantName = None,
    arm: training.ArmName = None,
    drop_overlap: training.DropOverlap = False,
    save: training.Save = False,
    loading: Plain = Loading(),
    progress: Progress | None = None,
) -> LearningCurve:
    """Train on more and more, several times over, and fit the line: single and group accuracy with intervals.

    Each size holds the one before, and twins stay together. An interrupted run continues.
    """
    names = (data,) if isinstance(data, Named) else tuple(data)
    if not names:
        raise BadInput("a learning curve needs DATA to train on")
    training.need_training("curve")
    first = replace(load_sets(names[0], dev, None, test, 0, loading), arm=VariantArm.of(variant, arm))
    files = [first.train, *map(loading.one, names[1:])]
    sets = [replace(first, train=file).checked(drop_overlap=drop_overlap) for file in files]
    growth = NestedGrowth.of([split.train for split in sets], sizes)
    notes = list(dict.fromkeys(note for split in sets for note in split.notes))
    tell(notes)
    folder = Path("runs", f"{growth.source.card.file_name}-curve") if out is None else Path(out)
    result = learning_curve(
        growth, sets[-1], folder, model, settings, design, goal, device=device, save=save, progress=progress
    )
    tell(result.notes)
    return replace(result.save(folder), notes=(*notes, *result.notes))


def learning_curve(
    growth: NestedGrowth,
    data: TrainingData,
    out: Path,
    model: str = "builtin",
    settings: training.TrainSettings = training.TrainSettings(),
    design: CurveDesign = CurveDesign(),
    goal: CurveGoal = CurveGoal(),
    *,
    device: str | None = None,
    save: bool = False,
    progress: Progress | None = None,
) -> LearningCurve:
    """Train on every size in every restart under every formalization, test each, and fit the lines.

    Parameters
    ----------
    growth
        The sizes, and what is drawn from: `NestedGrowth(sizes, train)`, or `NestedGrowth.of_files(files)`.
    data
        Dev set, test sets and arm; its training set is not used. Without a test set the dev set is scored, and the
        last weights are kept, since nothing may be chosen on what is scored.
    save
        Whether to keep the weights of every point.
    """
    from winokit.methods.training.finetune import finetune, untrained

    data, notes = _scored(data)
    growth = _with_variant(growth, data.arm)
    jobs = list(planned_jobs(growth, design, settings, out))
    tests = replace(data, train=growth.source).checked().in_arm().tests
    points: list[CurvePoint] = []
    whole, done = sum(job.weight for job in jobs), 0
    for job in jobs:
        own = design.settings(settings, job.formalization, job.seed)
        if len(job.train):
            own_progress, trained = part(progress, done, job.weight, whole), replace(data, train=job.train)
            outcome = finetune(trained, job.folder, model, own, device=device, save=save, progress=own_progress)
        else:
            outcome = untrained(tests, data.arm.tested_on, job.folder, model, own, device=device)
        points += [_point(job, test, outcome) for test in tests]
        notes += [note for note in outcome.notes if note not in notes]
        done += job.weight
        if progress is not None:
            progress(done, whole)
    left_out = ("formalization", "seed", *(("epochs", "steps") if design.steps else ()))
    run = {  # what would be needed to do it again
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
        **asdict(goal),
        **{name: value for name, value in settings.identity().items() if name not in left_out},
    }
    series = tuple(series_of(points, goal, tests))
    return LearningCurve(run, tuple(points), series, tuple(growth.notes + notes), tuple(_warnings(points)))


def _scored(data: TrainingData) -> tuple[TrainingData, list[str]]:
    """The data with something to score, and a note where that is the dev set."""
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


def _with_variant(growth: NestedGrowth, arm: VariantArm) -> NestedGrowth:
    """The training problems that have the variant to be trained on, so that a size counts what is trained on."""
    if arm.trained_on == ORIGINAL:
        return growth
    if growth.files:
        raise BadInput(f"sizes as files and a variant to train on ({arm.trained_on}): give one DATA and --sizes")
    there = {str(problem.provenance.get("of", problem.id)) for problem in make_variant(growth.source, arm.trained_on)}
    return replace(growth, source=growth.source.filter(lambda problem: problem.id in there))


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


def restart_seed(seed: int, restart: int) -> int:
    """The seed of a restart: of the order of the training groups, of head, dropout and batches."""
    return int(np.random.default_rng([seed, restart]).integers(2**31))


def planned_jobs(
    growth: NestedGrowth, design: CurveDesign, settings: training.TrainSettings, out: Path
) -> Iterator[CurveJob]:
    """Every point, the smallest sizes first, so that there is something to look at early."""
    specs = {name: Formalization.parse(name).spec for name in design.formalization}
    if len(set(specs.values())) < max(1, len(design.formalization)):
        raise BadInput(f"formalizations: one or more, each once, expected, found {', '.join(design.formalization)}")
    seeds = {restart: restart_seed(design.seed, restart) for restart in range(1, design.restarts + 1)}
    sets = {restart: growth.sets(seed) for restart, seed in seeds.items()}
    for at, asked in enumerate(growth.sizes):
        for formalization, spec in specs.items():
            for restart, seed in seeds.items():
                train = sets[restart][at]
                folder = out / "points" / as_file_name(spec) / f"restart-{restart}" / f"size-{asked}"
                steps = design.steps or len(train) * settings.epochs
                yield CurveJob(formalization, restart, seed, asked, train, folder, steps if len(train) else 1)


def _point(job: CurveJob, test: Dataset, outcome: "TrainOutcome") -> CurvePoint:
    """A run's scores on a test set, with what it chose for every problem."""
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


def _warnings(points: Sequence[CurvePoint]) -> Iterator[str]:
    """How many runs learned nothing, and how many problems were left undecided."""
    trained = {(point.formalization, point.asked, point.restart): point for point in points if point.size}
    bad = [point for point in trained.values() if point.warnings]
    if bad:
        first = bad[0]
        which = f"{first.formalization} on {first.asked:,}, restart {first.restart}: {first.warnings[0]}"
        yield (
            f"{len(bad):,} of {len(trained):,} runs show signs of trouble (the first, {which}); "
            "they are included in the curve"
        )
    most = max((point.abstained for point in points), default=0.0)
    if most:
        yield f"up to {100 * most:.1f} % of problems were left undecided; here they count as wrong"
