"""`winokit transfer`: train on one dataset, choose on another, test on a third."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winokit.cli.common import As, Json, Lenient, console, print_json, progress_bar, tell
from winokit.cli.training_options import (
    FORMALIZATION_HELP,
    Accumulate,
    CheckpointEvery,
    Clip,
    Device,
    DropOverlap,
    EvaluateEvery,
    Patience,
    Precision,
    Save,
    Tokens,
    Trainable,
    Warmup,
    WeightDecay,
    need_training,
)
from winokit.results import rows_to_json

if TYPE_CHECKING:
    from winokit.stages.transfer.plan import TrainingArm
    from winokit.stages.transfer.run import Transfer
    from winokit.stages.transfer.selection import NamedData, TransferTarget

PAPERS = "papers"


def transfer(
    train: Annotated[
        list[str],
        typer.Option(
            "--train",
            help="An arm: DATA, NAME=DATA, DATA+DATA for both together, DATA>DATA for one after the other; repeatable.",
            metavar="DATA",
            show_default=False,
        ),
    ],
    test: Annotated[
        list[str],
        typer.Option("--test", help="DATA or NAME=DATA; repeatable.", metavar="DATA", show_default=False),
    ],
    choose: Annotated[
        list[str] | None,
        typer.Option(
            "--choose",
            help="Choose on this: DATA for every test set, TEST=DATA for one of them, or papers: by the papers' rules, "
            "among these and the test sets. Repeatable. Default: nothing is chosen.",
            metavar="DATA",
        ),
    ] = None,
    model: Trainable = "builtin",
    formalization: Annotated[str, typer.Option(help=f"{FORMALIZATION_HELP}.", metavar="NAME")] = "mc-mlm",
    out: Annotated[Path, typer.Option("--out", help="The folder to write.")] = Path("runs/transfer"),
    learning_rate: Annotated[
        list[float] | None, typer.Option("--learning-rate", help="Repeatable: one is chosen. Default: 1e-5.")
    ] = None,
    epochs: Annotated[
        list[int] | None, typer.Option("--epochs", help="Repeatable: one is chosen. Default: 8.", min=1)
    ] = None,
    batch_size: Annotated[
        list[int] | None, typer.Option("--batch-size", help="Repeatable: one is chosen. Default: 16.", min=1)
    ] = None,
    seed: Annotated[list[int] | None, typer.Option("--seed", help="Repeatable: one is chosen. Default: 0.")] = None,
    keep: Annotated[str, typer.Option(help="The last weights of each run, or the best where it is chosen.")] = "last",
    steps: Annotated[int | None, typer.Option(help="At most so many steps.", min=1)] = None,
    tokens: Tokens = None,
    accumulate: Accumulate = 1,
    warmup: Warmup = 0.1,
    weight_decay: WeightDecay = 0.0,
    clip: Clip = 1.0,
    evaluate_every: EvaluateEvery = None,
    patience: Patience = None,
    precision: Precision = "auto",
    device: Device = None,
    checkpoint_every: CheckpointEvery = None,
    drop_overlap: DropOverlap = False,
    save: Save = False,
    as_: As = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Train arms, choose settings for each test set on another set, and test: WinoGrande's Tables 5 and 6.

    Choosing on what is tested, or on what overlaps it, is refused. The same command goes on where it was
    interrupted.
    """
    need_training("transfer")
    from winokit.methods.training.settings import TrainSettings
    from winokit.stages.transfer.plan import TransferPlan, grid_of
    from winokit.stages.transfer.run import transfer as run

    settings = TrainSettings(
        formalization=formalization,
        steps=steps,
        tokens=tokens,
        accumulate=accumulate,
        warmup=warmup,
        weight_decay=weight_decay,
        clip=clip,
        evaluate_every=evaluate_every,
        patience=patience,
        keep=keep,  # type: ignore[arg-type]
        precision=precision,  # type: ignore[arg-type]
        checkpoint_every=checkpoint_every,
    )
    grid = grid_of(
        settings,
        learning_rate=learning_rate or (1e-5,),
        epochs=epochs or (8,),
        batch_size=batch_size or (16,),
        seed=seed or (0,),
    )
    tests = _tests(test, choose or [], (as_, lenient, drop_overlap))
    arms = [_arm(one, as_, lenient) for one in train]
    plan = TransferPlan(model, grid, device, save)
    with progress_bar("transfer") as told:
        found = run(arms, tests, out, plan, drop_overlap=drop_overlap, progress=told)
    _show(found, out, json)


def _arm(text: str, as_: str | None, lenient: bool) -> TrainingArm:
    from winokit.data.loading import load
    from winokit.errors import BadInput
    from winokit.stages.transfer.plan import TrainingArm
    from winokit.stages.transfer.run import ARROW

    name, data = _named(text)
    parts = [part.strip() for part in data.split(ARROW)] if not Path(data).exists() else [data]
    if not all(parts):
        raise BadInput(f"--train {text}: DATA{ARROW}DATA expected, the first trained on first")
    stages = tuple(load(part, as_=as_, lenient=lenient) for part in parts)
    return TrainingArm(name or ARROW.join(stage.card.name for stage in stages), stages)


def _tests(tests: list[str], choices: list[str], how: tuple[str | None, bool, bool]) -> tuple[TransferTarget, ...]:
    from winokit.stages.transfer.selection import with_choices

    as_, lenient, drop_overlap = how
    named = [_set(one, as_, lenient) for one in tests]
    own: dict[str, NamedData] = {}
    pool: list[NamedData] = []
    for choice in choices:
        for_test, data = _named(choice)
        if for_test:
            own[for_test] = _set(data, as_, lenient)
        elif choice != PAPERS:
            pool.append(_set(data, as_, lenient))
    return with_choices(named, own=own, pool=pool, by_rule=PAPERS in choices, drop_overlap=drop_overlap)


def _set(text: str, as_: str | None, lenient: bool) -> NamedData:
    from winokit.data.loading import load
    from winokit.stages.transfer.selection import NamedData

    name, data = _named(text)
    loaded = load(data, as_=as_, lenient=lenient)
    tell(loaded.notes)
    return NamedData(name or loaded.card.name, loaded)


def _named(text: str) -> tuple[str, str]:
    """NAME=DATA apart; a file whose name has an equals sign is DATA alone."""
    name, equals, data = text.partition("=")
    if not equals or Path(text).exists() or "/" in name:
        return "", text
    return name.strip(), data.strip()


def _show(found: Transfer, folder: Path, json: bool) -> None:
    """Write tables and page, and say what came of it."""
    from winokit.stages.transfer.page import write_transfer_page
    from winokit.stages.transfer.table import terminal_table
    from winokit.stages.transfer.tables import tables_of

    found.save(folder)
    page = write_transfer_page(found, folder / "report")
    tell(found.notes)
    if json:
        left_out = [{"arm": cell.arm, "test": cell.test, "why": cell.why} for cell in found.cells if cell.why]
        told = {"run": found.run, "metrics": rows_to_json(found.metrics), "left_out": left_out}
        print_json({**told, "warnings": found.warnings, "out": str(folder), "report": str(page)})
        return
    for table in tables_of(found):
        console().print(terminal_table(table))
        for foot in table.feet:
            typer.echo(foot)
        typer.echo()
    for warning in found.warnings:
        typer.echo(f"! {warning}")
    typer.echo(f"{folder / 'tables.md'}, results.json; page: {page}")
