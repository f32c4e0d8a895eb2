"""`winokit train`: fine-tune an encoder under one of six formalizations."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from winokit.cli.common import DATA_HELP, As, Json, Lenient, print_json, progress_bar, tell
from winokit.errors import MissingExtra

if TYPE_CHECKING:
    from rich.table import Table

    from winokit.training import Data, Outcome

FORMALIZATION_HELP = (
    "mc-mlm, mc-sent, mc-sent-no-softmax, mc-sent-no-pair-loss, p-sent or p-span, with switches after a question mark: "
    "mc-mlm?loss=margin, mc-sent?style=paper."
)
VARIANT_HELP = "no-cands, part-sent, local-context or special-word; part-sent?style=code for the authors' version."


def train(
    data: Annotated[str, typer.Argument(help=DATA_HELP, metavar="DATA", show_default=False)],
    model: Annotated[
        str,
        typer.Option("--model", help="builtin, or hf:NAME_OR_DIR: any encoder, or a trained folder.", metavar="SPEC"),
    ] = "builtin",
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
    variant: Annotated[str | None, typer.Option(help=VARIANT_HELP, metavar="NAME")] = None,
    arm: Annotated[
        str | None, typer.Option(help="original->variant or variant->variant: trained on, tested on.")
    ] = None,
    learning_rate: Annotated[float, typer.Option(help="The highest learning rate.")] = 1e-5,
    epochs: Annotated[int, typer.Option(help="Passes over the data.", min=1)] = 8,
    steps: Annotated[int | None, typer.Option(help="At most so many steps.", min=1)] = None,
    batch_size: Annotated[int, typer.Option(help="Problems in a batch.", min=1)] = 16,
    tokens: Annotated[int | None, typer.Option(help="Tokens in a batch, in place of a number of problems.")] = None,
    accumulate: Annotated[int, typer.Option(help="Batches to a step.", min=1)] = 1,
    warmup: Annotated[float, typer.Option(help="Share of the steps over which the rate rises.")] = 0.1,
    weight_decay: Annotated[float, typer.Option(help="Weight decay, on every weight.")] = 0.0,
    clip: Annotated[float, typer.Option(help="Longest gradient; 0 for no limit.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Of head, dropout, order of batches and holdout.")] = 0,
    evaluate_every: Annotated[
        int | None, typer.Option(help="Steps between evaluations. Default: once an epoch.", min=1)
    ] = None,
    patience: Annotated[int | None, typer.Option(help="Stop after so many evaluations without a better one.")] = None,
    keep: Annotated[str, typer.Option(help="Which weights: best on the dev set, or last.")] = "best",
    precision: Annotated[str, typer.Option(help="auto (bfloat16 on a GPU), float32 or bfloat16.")] = "auto",
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 or mps. Default: the best there is.")] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option(help="Steps between checkpoints; 0: none. Default: every two minutes.", min=0)
    ] = None,
    drop_overlap: Annotated[
        bool, typer.Option("--drop-overlap", help="Leave out training problems that a dev or test set has too.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Train on the first N problems only.", min=1, metavar="N")] = None,
    as_: As = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Fine-tune a model, choose weights on a dev set, test it, and leave a folder that loads as hf:DIR.

    The same command goes on where it was interrupted.
    """
    if not (find_spec("torch") and find_spec("transformers")):
        raise MissingExtra("winokit train", "train")
    from winokit.report.train_page import write_train_page
    from winokit.training import Settings, finetune

    settings = Settings(
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
    name = f"{loaded.train.card.name}-{formalization.partition('?')[0]}".replace("/", "-")
    folder = out or Path("trained") / name
    with progress_bar("training") as progress:
        outcome = finetune(checked, folder, model, settings, device=device, progress=progress)
    page = write_train_page(folder)
    tell([*checked.train.notes, *outcome.notes])
    if json:
        told = {"out": str(folder), "run": outcome.run, "metrics": outcome.metrics, "warnings": outcome.warnings}
        print_json({**told, "report": str(page)})
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
) -> Data:
    """What is trained on, chosen on and tested on, as the options name it."""
    from winokit.errors import BadInput
    from winokit.loading import load
    from winokit.training import Arm, Data, hold_out

    as_, lenient, limit, seed = how
    if dev is not None and holdout is not None:
        raise BadInput("--dev and --holdout: one dev set is enough, choose one of the two")
    chosen_on = None if dev is None else load(dev, as_=as_, lenient=lenient)
    train = load(data, as_=as_, lenient=lenient)
    if holdout is not None:
        train, chosen_on = hold_out(train, holdout, seed)
    tested_on = tuple(load(test, as_=as_, lenient=lenient) for test in tests)
    return Data(train[:limit], chosen_on, tested_on, Arm.of(*arm))


def _sentence(outcome: Outcome) -> str:
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


def _table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in (("set", "left"), ("variant", "left"), ("result", "left"), ("share", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    table.add_column("chance", justify="right")
    table.add_column("n", justify="right")
    for row in rows:
        share = f"{100 * row['value']:.1f} %"
        if row["low"] is not None:
            share += f" [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
        guess = "" if row["chance"] is None else f"{100 * row['chance']:.1f} %"
        label = f"dev: {row['dataset']}" if row["subset"] == "dev" else row["dataset"]
        table.add_row(label, row["variant"], row["metric"].replace("_", " "), share, guess, f"{row['n']:,}")
    return table
