"""A filtering run as it stands after a phase, and its file: a killed run goes on to the same result."""

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.methods.aflite.inputs import Doubles, Floats, Ints

VERSION = 1


@dataclass
class AfliteRun:
    """When each row left, its scores, and what the next phase starts from."""

    phase: Ints  # -1 while a row stays
    scores: Doubles  # of the last phase a row was in
    first_scores: Doubles
    numbers: Ints  # rows that are left, in the order they lie in memory
    history: list[dict[str, Any]] = field(default_factory=list)
    ensemble: dict[str, Any] = field(default_factory=dict)
    over: bool = False

    @classmethod
    def fresh(cls, count: int) -> "AfliteRun":
        """A run before its first phase."""
        return cls(np.full(count, -1), np.full(count, np.nan), np.full(count, np.nan), np.arange(count))


def identity(X: Floats, y: Ints, units: Ints, settings: dict[str, Any]) -> str:
    """A hash of everything the result depends on."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (X, y, units):
        digest.update(f"{array.shape} {array.dtype}".encode())
        for start in range(0, len(array), 8192):
            digest.update(np.ascontiguousarray(array[start : start + 8192]).data)
    # The backend may differ between the run that was killed and the one that goes on.
    decisive = {name: value for name, value in settings.items() if name != "backend"}
    digest.update(json.dumps(decisive, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def save(path: Path, run: AfliteRun, whose: str) -> None:
    """Write the run whole, so that a kill leaves the phase before it."""
    out = io.BytesIO()
    about = {"version": VERSION, "identity": whose, "history": run.history, "over": run.over}
    arrays = {name: getattr(run, name) for name in ("phase", "scores", "first_scores", "numbers")}
    extra = {f"ensemble.{name}": np.asarray(value) for name, value in run.ensemble.items()}
    np.savez(out, allow_pickle=False, about=np.array(json.dumps(about)), **arrays, **extra)
    write_whole(path, out.getvalue())


def resume(path: Path, whose: str) -> AfliteRun | None:
    """The run in the file, None where there is no file yet."""
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
            about = json.loads(str(arrays.pop("about")))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} is not a checkpoint of a filtering run: remove it to start again") from error
    if about.get("version") != VERSION:
        raise BadInput(
            f"{path}: a checkpoint of version {about.get('version')}, where {VERSION} is read: remove it to start again"
        )
    if about.get("identity") != whose:
        raise BadInput(
            f"{path} belongs to a run with other features, answers or settings: remove it, or repeat that run's"
        )
    prefix = "ensemble."
    ensemble = {name.removeprefix(prefix): arrays.pop(name) for name in list(arrays) if name.startswith(prefix)}
    try:
        return AfliteRun(**arrays, history=about["history"], over=about["over"], ensemble=ensemble)
    except (KeyError, TypeError) as error:
        raise BadInput(f"{path}: a checkpoint with other parts ({error}): remove it to start again") from None
