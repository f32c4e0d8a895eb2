"""`winokit score`: a score for each candidate of each problem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from winokit.cli.common import DATA_HELP, As, Json, Lenient, print_json, progress_bar, tell

if TYPE_CHECKING:
    from winokit.methods.scoring import Cache

MODEL_HELP = (
    "builtin, random, hf:NAME_OR_DIR, gguf:FILE, chat:MODEL@URL, ngram:FILE, hunter:INDEX, ensemble:A+B, "
    "python:MODULE:FUNCTION."
)
Model = Annotated[str, typer.Option("--model", help=MODEL_HELP, metavar="SPEC")]
CacheFile = Annotated[
    str | None,
    typer.Option(
        "--cache", help="Where answers are kept; 'off' keeps none. Default: the user's cache.", metavar="FILE"
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", help="Only the first N problems.", min=1, metavar="N")]


def score(
    data: Annotated[str, typer.Argument(help=DATA_HELP, metavar="DATA", show_default=False)],
    model: Model = "builtin",
    scoring: Annotated[
        str | None, typer.Option("--scoring", help="How to score; default: what suits the model.", metavar="NAME")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Where to write the predictions.")] = Path("predictions.jsonl"),
    shots: Annotated[int, typer.Option(help="Solved problems to put before each, never its twin.", min=0)] = 0,
    substitution: Annotated[
        str, typer.Option(help="How candidates go into the blank: auto, literal or natural.")
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Seed for choosing the shots.", min=0)] = 0,
    limit: Limit = None,
    as_: As = None,
    cache: CacheFile = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Score every problem with a model and write predictions.jsonl.

    Answers are kept as they come: run the same command again after an interruption and it goes on.
    """
    from winokit.data.loading import load
    from winokit.methods.scoring import ScoringPlan, check_replaceable, close_calls, write_predictions
    from winokit.methods.scoring import score as run
    from winokit.models.base import notes_of
    from winokit.models.registry import load_model

    check_replaceable(out)
    dataset = load(data, as_=as_, lenient=lenient)[:limit]
    tell(dataset.notes)
    plan = ScoringPlan(scoring, substitution, shots, seed=seed)
    loaded = load_model(model)
    tell(notes_of(loaded))
    with open_cache(cache) as kept, progress_bar("scoring") as progress:
        predictions = run(dataset, loaded, plan, cache=kept, progress=progress)
    write_predictions(predictions, out)
    labelled = [p for p in predictions if p.answer is not None]
    right = sum(p.prediction == p.answer for p in labelled)
    abstained = [p for p in predictions if p.prediction is None]
    summary = {
        "out": str(out),
        "model": model,
        "scoring": predictions[0].scoring,
        "problems": len(predictions),
        "answered": len(predictions) - len(abstained),
        "right": right,
        "labelled": len(labelled),
        "close_calls": close_calls(predictions),
    }
    if json:
        print_json(summary)
        return
    typer.echo(f"{len(predictions):,} predictions by {model} ({summary['scoring']}) written to {out}")
    if labelled:
        typer.echo(f"{right:,} of {len(labelled):,} right ({right / len(labelled):.1%})")
    if abstained:
        typer.echo(f"{len(abstained):,} not answered; the first: {abstained[0].why}")
    if summary["close_calls"]:
        typer.echo(f"{summary['close_calls']:,} rest on a margin below 0.0001, which another batch size could turn")


def open_cache(name: str | None) -> Cache:
    """The cache the user named, the usual one, or none."""
    from winokit.methods.scoring import Cache, default_path

    return Cache(None if name == "off" else Path(name) if name else default_path())
