"""Options of verbs that are not derived yet."""

from __future__ import annotations

from typing import Annotated

import typer

from winokit.methods.scoring.cache import open_cache as open_cache
from winokit.models.registry import MODEL_HELP as MODEL_HELP

Model = Annotated[str, typer.Option("--model", help=MODEL_HELP, metavar="SPEC")]
CacheFile = Annotated[
    str | None,
    typer.Option(
        "--cache", help="Where answers are kept; 'off' keeps none. Default: the user's cache.", metavar="FILE"
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", help="Only the first N problems.", min=1, metavar="N")]
