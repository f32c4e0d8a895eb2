"""Everything a run needs to go on as if it had never stopped, in one file that is written whole.

Weights, optimiser, random numbers, and how far it came. On a CPU a resumed run ends with the same weights to the bit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import torch

from winokit.errors import BadInput

NAME = "checkpoint.pt"


def make_writable(folder: Path) -> None:
    """Make a folder, and see, before minutes of training, whether a file can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written ({error.strerror or error})") from None


def write_checkpoint(folder: Path, content: Mapping[str, Any]) -> None:
    """Write a checkpoint beside the old one, then put it in its place; it is on the disk when this returns."""
    temporary = folder / f".{NAME}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            torch.save(dict(content), file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / NAME)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise BadInput(f"{folder / NAME}: cannot be written ({error.strerror or error})") from None


def read_checkpoint(folder: Path, device: torch.device) -> dict[str, Any] | None:
    """The folder's checkpoint, or None where there is none."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        content: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # what is no checkpoint fails in as many ways as there are
        why = type(error).__name__
        raise BadInput(f"{path}: cannot be read as a checkpoint ({why}); remove it to start again") from None
    return content


def drop_checkpoint(folder: Path) -> None:
    """Remove a checkpoint that has served, and what killed writers left beside it."""
    for path in [folder / NAME, *folder.glob(f".{NAME}.*")]:
        path.unlink(missing_ok=True)


def random_state(device: torch.device) -> dict[str, torch.Tensor]:
    """Where the random numbers stand."""
    state = {"cpu": torch.get_rng_state()}
    return state | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def restore_random_state(state: Mapping[str, torch.Tensor], device: torch.device) -> None:
    """Put the random numbers where they stood."""
    torch.set_rng_state(state["cpu"].cpu())
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu(), device)
