"""`winokit embed`: a vector for each problem, for debiasing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from winokit.cli.common import DATA_HELP, As, Json, Lenient, print_json, progress_bar, tell
from winokit.cli.score import CacheFile, Limit, Model, open_cache


def embed(
    data: Annotated[str, typer.Argument(help=DATA_HELP, metavar="DATA", show_default=False)],
    model: Model = "builtin",
    out: Annotated[Path, typer.Option("--out", help="The .npy file to write; settings and ids go beside it.")] = Path(
        "X.npy"
    ),
    features: Annotated[
        str, typer.Option(help="concat (both candidates), difference or single (the blank).")
    ] = "concat",
    pooling: Annotated[str, typer.Option(help="first token, mean over tokens, or span (the candidate's).")] = "first",
    limit: Limit = None,
    as_: As = None,
    cache: CacheFile = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Embed every problem and write one row each to a .npy file."""
    from winokit.loading import load
    from winokit.models.registry import load_model
    from winokit.scoring import embed as run
    from winokit.scoring.features import write_features

    dataset = load(data, as_=as_, lenient=lenient)[:limit]
    tell(dataset.notes)
    loaded = load_model(model)
    with open_cache(cache) as kept, progress_bar("embedding") as progress:
        rows = run(dataset, loaded, features=features, pooling=pooling, cache=kept, progress=progress)
    beside = write_features(rows, dataset, out, {"model": model, "features": features, "pooling": pooling})
    if json:
        print_json({"out": str(out), "settings": str(beside), "rows": rows.shape[0], "columns": rows.shape[1]})
    else:
        typer.echo(f"{rows.shape[0]:,} x {rows.shape[1]:,} written to {out}, settings and ids to {beside}")
