"""Options that the verbs which train have in common."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from winokit.errors import MissingExtra

FORMALIZATION_HELP = (
    "mc-mlm, mc-sent, mc-sent-no-softmax, mc-sent-no-pair-loss, p-sent or p-span, with switches after a question mark: "
    "mc-mlm?loss=margin, mc-sent?style=winogrande"
)
Trainable = Annotated[
    str, typer.Option("--model", help="builtin, or hf:NAME_OR_DIR: any encoder, or a trained folder.", metavar="SPEC")
]
LearningRate = Annotated[float, typer.Option("--learning-rate", help="The highest learning rate.")]
Epochs = Annotated[int, typer.Option("--epochs", help="Passes over the data.", min=1)]
BatchSize = Annotated[int, typer.Option("--batch-size", help="Problems in a batch.", min=1)]
Tokens = Annotated[int | None, typer.Option(help="Tokens in a batch, in place of a number of problems.")]
Accumulate = Annotated[int, typer.Option(help="Batches to a step.", min=1)]
Warmup = Annotated[float, typer.Option(help="Share of the steps over which the rate rises.")]
WeightDecay = Annotated[float, typer.Option(help="Weight decay, on every weight.")]
Clip = Annotated[float, typer.Option(help="Longest gradient; 0 for no limit.")]
EvaluateEvery = Annotated[
    int | None, typer.Option(help="Steps between evaluations on the dev set. Default: once an epoch.", min=1)
]
Patience = Annotated[int | None, typer.Option(help="Stop after so many evaluations without a better one.")]
Precision = Annotated[str, typer.Option(help="auto (bfloat16 on a GPU), float32 or bfloat16.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 or mps. Default: the best there is.")]
CheckpointEvery = Annotated[
    int | None, typer.Option(help="Steps between checkpoints; 0: none. Default: every two minutes.", min=0)
]
DropOverlap = Annotated[
    bool,
    typer.Option(
        "--drop-overlap",
        help="Leave out what gives held-out problems away (the same, near, or a twin); without it they are refused.",
    ),
]
Variant = Annotated[
    str | None,
    typer.Option(help="no-cands, part-sent, local-context or special-word; part-sent?style=code.", metavar="NAME"),
]
Arm = Annotated[str | None, typer.Option(help="original->variant or variant->variant: trained on, tested on.")]
Save = Annotated[bool, typer.Option("--save", help="Keep the weights of every run.")]


def need_training(verb: str) -> None:
    """Refuse where there is nothing to train with."""
    if not (find_spec("torch") and find_spec("transformers")):
        raise MissingExtra(f"winokit {verb}", "train")
