"""`winokit curve`: learning curves over nested sizes with independent restarts, and the line through them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winokit.cli.common import DATA_HELP, As, Json, Lenient, console, print_json, progress_bar, tell
from winokit.cli.training_options import (
    FORMALIZATION_HELP,
    Accumulate,
    Arm,
    BatchSize,
    CheckpointEvery,
    Clip,
    Device,
    DropOverlap,
    Epochs,
    EvaluateEvery,
    LearningRate,
    Patience,
    Precision,
    Save,
    Tokens,
    Trainable,
    Variant,
    Warmup,
    WeightDecay,
    need_training,
)
from winokit.errors import BadInput
from winokit.results import rows_to_json

if TYPE_CHECKING:
    from winokit.methods.training.data import TrainingData
    from winokit.stages.curve.fit import CurveGoal
    from winokit.stages.curve.nested import NestedGrowth
    from winokit.stages.curve.run import LearningCurve

PUBLISHED = "PUBLISHED"
DATA = (
    f"{DATA_HELP} One, from which sizes are drawn, or several from small to large, each a size (train_xs … train_xl)."
)


def curve(
    data: Annotated[list[str] | None, typer.Argument(help=DATA, metavar="DATA...", show_default=False)] = None,
    model: Trainable = "builtin",
    formalization: Annotated[
        list[str] | None,
        typer.Option("--formalization", help=f"{FORMALIZATION_HELP}; repeatable. Default: mc-mlm.", metavar="NAME"),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(help="Choose weights on this; without --test, score the last weights on it.", metavar="DATA"),
    ] = None,
    test: Annotated[list[str] | None, typer.Option("--test", help="Score on this; repeatable.", metavar="DATA")] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="0,160,640,all: sizes with commas between, 0 for the untrained model. Of several DATA: files or "
            "0,files. Default: 0, 160 and four times as many again and again, all."
        ),
    ] = None,
    restarts: Annotated[int, typer.Option(help="Independent restarts: other subsets, other seeds.", min=1)] = 3,
    out: Annotated[Path | None, typer.Option("--out", help="The folder to write. Default: runs/DATA-curve.")] = None,
    human: Annotated[float, typer.Option(help="Per cent of people, which the line is drawn out to.")] = 94.0,
    human_group: Annotated[
        float | None, typer.Option(help="The same of group accuracy. Default: not drawn out.")
    ] = None,
    fit_from: Annotated[int, typer.Option(help="Fit the line to sizes from here on.", min=1)] = 1,
    fit_only: Annotated[
        str | None,
        typer.Option(
            help="Train nothing: fit the points of a csv file (size, accuracy, group_accuracy; per cent or shares), or "
            "PUBLISHED: WinoGrande's line.",
            metavar="FILE",
        ),
    ] = None,
    learning_rate: LearningRate = 1e-5,
    epochs: Epochs = 8,
    steps: Annotated[
        int | None, typer.Option(help="The same number of steps at every size, in place of epochs.", min=1)
    ] = None,
    batch_size: BatchSize = 16,
    tokens: Tokens = None,
    accumulate: Accumulate = 1,
    warmup: Warmup = 0.1,
    weight_decay: WeightDecay = 0.0,
    clip: Clip = 1.0,
    seed: Annotated[int, typer.Option(help="Of all restarts: each has a seed of its own from it.")] = 0,
    evaluate_every: EvaluateEvery = None,
    patience: Patience = None,
    keep: Annotated[str, typer.Option(help="Which weights: best on the dev set, or last.")] = "best",
    precision: Precision = "auto",
    device: Device = None,
    checkpoint_every: CheckpointEvery = None,
    variant: Variant = None,
    arm: Arm = None,
    drop_overlap: DropOverlap = False,
    save: Save = False,
    as_: As = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Train on more and more, several times over, and fit the line: single and group accuracy with intervals.

    Each size holds the one before, and twins stay together. The same command goes on where it was interrupted.
    """
    if bool(data) == (fit_only is not None):
        raise BadInput("either DATA to train on, or --fit-only FILE for points that are there already")
    need_training("curve")
    from winokit.methods.training.settings import TrainSettings
    from winokit.stages.curve.fit import CurveGoal
    from winokit.stages.curve.run import learning_curve
    from winokit.stages.curve.trainings import CurveDesign

    goal = CurveGoal(human, human_group, fit_from)
    if fit_only is not None:
        _fit_only(fit_only, goal, out, json)
        return
    settings = TrainSettings(
        learning_rate=learning_rate,
        epochs=epochs,
        batch_size=batch_size,
        tokens=tokens,
        accumulate=accumulate,
        warmup=warmup,
        weight_decay=weight_decay,
        clip=clip,
        seed=seed,
        evaluate_every=evaluate_every,
        patience=patience,
        keep=keep,  # type: ignore[arg-type]
        precision=precision,  # type: ignore[arg-type]
        checkpoint_every=checkpoint_every,
    )
    design = CurveDesign(tuple(formalization or ["mc-mlm"]), restarts, seed, goal, steps)
    growth, sets = _load(data or [], sizes, (dev, test or []), (variant, arm), (as_, lenient, drop_overlap))
    folder = out or Path("runs") / f"{growth.source.card.file_name}-curve"
    tell(dict.fromkeys([*(note for one in growth.files for note in one.notes), *sets.notes]))
    with progress_bar("learning curve") as told:
        found = learning_curve(growth, sets, folder, model, settings, design, device=device, save=save, progress=told)
    _show(found, folder, json)


def _load(
    data: list[str],
    sizes: str | None,
    held: tuple[str | None, list[str]],
    arm: tuple[str | None, str | None],
    how: tuple[str | None, bool, bool],
) -> tuple[NestedGrowth, TrainingData]:
    from winokit.data.loading import load
    from winokit.methods.training.arms import VariantArm
    from winokit.methods.training.data import TrainingData
    from winokit.stages.curve.nested import NestedGrowth, parse_sizes, usual_sizes, wants_untrained

    as_, lenient, drop_overlap = how
    dev, tests = held
    chosen_on = None if dev is None else load(dev, as_=as_, lenient=lenient)
    tested_on = tuple(load(test, as_=as_, lenient=lenient) for test in tests)
    named = VariantArm.of(*arm)
    loaded = [TrainingData(load(one, as_=as_, lenient=lenient), chosen_on, tested_on, named) for one in data]
    checked = [one.checked(drop_overlap=drop_overlap) for one in loaded]
    last = checked[-1]
    if len(data) > 1:
        untrained = sizes is not None and wants_untrained(sizes)
        return NestedGrowth.of_files([one.train for one in checked], untrained=untrained), last
    n = len(last.train)
    return NestedGrowth(usual_sizes(n) if sizes is None else parse_sizes(sizes, n), last.train), last


def _fit_only(name: str, goal: CurveGoal, out: Path | None, json: bool) -> None:
    """Fit what is there already: nothing is trained, and nothing but the numbers is needed."""
    from winokit.stages.curve.fit import series_of
    from winokit.stages.curve.points import read_points
    from winokit.stages.curve.run import LearningCurve
    from winokit.stages.curve.table import published

    if name == PUBLISHED:
        told = published(goal.human)
        if json:
            print_json(told)
        else:
            typer.echo(told["said"])
        return
    points = read_points(Path(name))
    run = {"points": Path(name).name, "human": goal.human, "human_group": goal.human_group, "fit_from": goal.fit_from}
    _show(LearningCurve(run, tuple(points), tuple(series_of(points, goal))), out, json)


def _show(found: LearningCurve, folder: Path | None, json: bool) -> None:
    """Write the page, and say what came of it."""
    from winokit.stages.curve.page import write_curve_page
    from winokit.stages.curve.table import fits_table, sizes_table

    page = None
    if folder is not None:
        found.save(folder)
        page = write_curve_page(found, folder / "report")
    tell(found.notes)
    if json:
        where = {"out": str(folder), "report": str(page)} if folder is not None else {}
        print_json({"run": found.run, "metrics": rows_to_json(found.metrics), "warnings": found.warnings, **where})
        return
    console().print(sizes_table(found.series))
    typer.echo()
    console().print(fits_table(found.series))
    for warning in found.warnings:
        typer.echo(f"! {warning}")
    if folder is not None:
        typer.echo(f"{folder / 'points.csv'}, results.json; page: {page}")
