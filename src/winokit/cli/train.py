"""`winokit train`: fine-tune an encoder under one of six formalizations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winokit.cli.common import DATA_HELP, As, Json, Lenient, print_json, progress_bar, tell
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
    Tokens,
    Trainable,
    Variant,
    Warmup,
    WeightDecay,
    need_training,
)
from winokit.results import Metric, rows_to_json

if TYPE_CHECKING:
    from rich.table import Table

    from winokit.methods.training.data import TrainingData
    from winokit.methods.training.finetune import TrainOutcome


def train(
    data: Annotated[str, typer.Argument(help=DATA_HELP, metavar="DATA", show_default=False)],
    model: Trainable = "builtin",
    formalization: Annotated[str, typer.Option(help=FORMALIZATION_HELP, metavar="NAME")] = "mc-mlm",
    dev: Annotated[str | None, typer.Option(help="Choose the weights that do best on this.", metavar="DATA")] = None,
    holdout: Annotated[
        int | None, typer.Option(help="Hold N problems of DATA out as the dev set, twins together.", metavar="N", min=1)
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option("--test", help="Test on this when done; repeatable.", metavar="DATA")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder to write. Default: trained/DATA-FORMALIZATION.")
    ] = None,
    variant: Variant = None,
    arm: Arm = None,
    learning_rate: LearningRate = 1e-5,
    epochs: Epochs = 8,
    steps: Annotated[int | None, typer.Option(help="At most so many steps.", min=1)] = None,
    batch_size: BatchSize = 16,
    tokens: Tokens = None,
    accumulate: Accumulate = 1,
    warmup: Warmup = 0.1,
    weight_decay: WeightDecay = 0.0,
    clip: Clip = 1.0,
    seed: Annotated[int, typer.Option(help="Of head, dropout, order of batches and holdout.")] = 0,
    evaluate_every: EvaluateEvery = None,
    patience: Patience = None,
    keep: Annotated[str, typer.Option(help="Which weights: best on the dev set, or last.")] = "best",
    precision: Precision = "auto",
    device: Device = None,
    checkpoint_every: CheckpointEvery = None,
    drop_overlap: DropOverlap = False,
    limit: Annotated[int | None, typer.Option(help="Train on the first N problems only.", min=1, metavar="N")] = None,
    as_: As = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Fine-tune a model, choose weights on a dev set, test it, and leave a folder that loads as hf:DIR.

    The same command goes on where it was interrupted.
    """
    need_training("train")
    from winokit.methods.training.finetune import finetune
    from winokit.methods.training.settings import TrainSettings
    from winokit.stages.train.page import write_train_page

    settings = TrainSettings(
        formalization=formalization,
        learning_rate=learning_rate,
        epochs=epochs,
        steps=steps,
        batch_size=batch_size,
        tokens=tokens,
        accumulate=accumulate,
        warmup=warmup,
        weight_decay=weight_decay,
        clip=clip,
        seed=seed,
        evaluate_every=evaluate_every,
        patience=patience,
        keep=keep,
        precision=precision,
        checkpoint_every=checkpoint_every,
    )
    loaded = load_sets(data, dev, holdout, test or [], (variant, arm), (as_, lenient, limit, seed))
    checked = loaded.checked(drop_overlap=drop_overlap)
    folder = out or Path("trained") / f"{loaded.train.card.file_name}-{formalization.partition('?')[0]}"
    with progress_bar("training") as progress:
        outcome = finetune(checked, folder, model, settings, device=device, progress=progress)
    page = write_train_page(folder)
    tell([*checked.notes, *outcome.notes])
    if json:
        told = {"out": str(folder), "run": outcome.run, "metrics": rows_to_json(outcome.metrics)}
        print_json({**told, "warnings": outcome.warnings, "report": str(page)})
        return
    from winokit.cli.common import console

    if outcome.resumed is not None:
        typer.echo(f"went on from step {outcome.resumed:,}")
    typer.echo(_sentence(outcome))
    if outcome.metrics:
        console().print(_table(outcome.metrics))
    for warning in outcome.warnings:
        typer.echo(f"! {warning}")
    typer.echo(f"report: {page}")
    typer.echo(f"audit it: winokit audit DATA --model hf:{folder}")


def load_sets(
    data: str,
    dev: str | None,
    holdout: int | None,
    tests: list[str],
    arm: tuple[str | None, str | None],
    how: tuple[str | None, bool, int | None, int],
) -> TrainingData:
    """What is trained on, chosen on and tested on, as the options name it."""
    from winokit.data.loading import load
    from winokit.errors import BadInput
    from winokit.methods.training.arms import VariantArm as TrainedOn
    from winokit.methods.training.data import TrainingData, hold_out

    as_, lenient, limit, seed = how
    if dev is not None and holdout is not None:
        raise BadInput("--dev and --holdout: one dev set is enough, choose one of the two")
    chosen_on = None if dev is None else load(dev, as_=as_, lenient=lenient)
    train = load(data, as_=as_, lenient=lenient)
    if holdout is not None:
        train, chosen_on = hold_out(train, holdout, seed)
    tested_on = tuple(load(test, as_=as_, lenient=lenient) for test in tests)
    return TrainingData(train[:limit], chosen_on, tested_on, TrainedOn.of(*arm))


def _sentence(outcome: TrainOutcome) -> str:
    curve, run = outcome.curve, outcome.run
    seconds = max(curve["seconds"], 1e-3)
    epochs = curve["train"][-1]["epoch"] if curve["train"] else 0
    speed = curve["examples"] * epochs / seconds
    kept = f"; step {curve['kept_step']:,} is best on the dev set" if curve["dev"] and run["keep"] == "best" else ""
    early = ", stopped early" if curve["stopped_early"] else ""
    return (
        f"{run['formalization']} on {run['train']}: {curve['steps']:,} steps, {epochs:.1f} epochs of "
        f"{curve['examples']:,} examples in {seconds:,.0f} s ({speed:,.0f} a second){early}{kept}"
    )


def _table(rows: list[Metric]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in (("set", "left"), ("variant", "left"), ("result", "left"), ("share", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("chance", justify="right")
    table.add_column("n", justify="right")
    for row in rows:
        share = f"{100 * row.value:.1f} %"
        if row.low is not None and row.high is not None:
            share += f" [{100 * row.low:.1f}, {100 * row.high:.1f}]"
        guess = "" if row.chance is None else f"{100 * row.chance:.1f} %"
        label = f"dev: {row.dataset}" if row.subset == "dev" else row.dataset
        table.add_row(label, str(row.details["variant"]), row.metric.replace("_", " "), share, guess, f"{row.n:,}")
    return table
