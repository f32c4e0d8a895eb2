"""`winokit.toml`: what is said once for a folder, so that no command has to repeat it.

Beside data it says how these are read. In the folder where commands are typed it has the settings that are no options:

    language = "de"

    [columns]
    text = "satz"
    options = "auswahl"

    [training]
    weight_decay = 0.01
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from winokit.errors import BadInput, check_known, refusing
from winokit.files import read_text

FILE = "winokit.toml"
READING = ("language", "as", "columns")
"""What it says of the data beside it."""
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "asking": (
        *("cache", "forget", "seed", "substitution", "shots_from", "prompt"),
        *("price_in", "price_out", "max_requests", "max_tokens_total", "max_cost"),
    ),
    "cluster": ("address", "cores_each", "gpus_each", "memory_each", "workers"),
    "training": (
        *("formalization", "learning_rate", "epochs", "steps", "batch_size", "seed", "device"),
        *("tokens", "accumulate", "warmup", "weight_decay", "clip", "evaluate_every", "patience"),
        *("keep", "precision", "checkpoint_every", "save", "sampler", "devices", "threads"),
    ),
    "goal": ("human", "human_group", "fit_from"),
    "embedding": ("kind", "pooling", "allow_uninformed"),
    "assessment": ("assess", "folds", "bins", "neighbours"),
    "aflite": (
        *("regularisation", "stratified", "ties", "min_predictions", "stop_below"),
        *("tolerance", "max_steps", "majority", "null_runs", "seeds"),
    ),
    "convert": ("source_ids", "labels_apart", "variant", "style"),
    "pmi": ("variant", "smoothing", "count", "alone"),
    "release": (
        *("name", "licence", "date", "dev", "test", "sizes", "split", "complete", "singles", "formalization"),
        *("seed", "audit", "collection", "about", "hidden", "secret", "reveal"),
        *("majority", "alpha", "bring_back", "previous_hidden"),
    ),
}
"""The sections of settings, and the settings that each may have."""


def read_project(folder: Path) -> Mapping[str, Any]:
    """What winokit.toml of a folder says; empty if there is none.

    Raises BadInput if it cannot be read, or has a key or a setting that nobody knows.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    with refusing(f"{path}: cannot be read", tomllib.TOMLDecodeError):
        table = tomllib.loads(read_text(path).removeprefix("\ufeff"))
    for key, value in table.items():
        if key in SECTIONS and isinstance(value, dict):
            for name in value:
                check_known(f"setting of [{key}] in {path}", name, SECTIONS[key])
        elif key not in READING:
            raise BadInput(
                f'{path}: expected language = "…", as = "…", [columns] or [{"], [".join(SECTIONS)}], found {key}'
            )
    return table
