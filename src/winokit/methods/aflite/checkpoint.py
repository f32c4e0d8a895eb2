"""State of a filtering run after a phase, and its file.

A run that was killed goes on from the file, to the same result.
"""

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
ENSEMBLE = "ensemble."
"""Prefix of the ensemble's arrays in the file."""


@dataclass
class AfliteRun:
    """State of a run: the phase and score of each row, and the start of the next phase."""

    phase: Ints  # in which a row left; -1 while it stays
    scores: Doubles  # of the last phase a row was in
    first_scores: Doubles  # of the first phase
    numbers: Ints  # rows that are left, in the order they lie in memory
    history: list[dict[str, Any]] = field(default_factory=list)
    ensemble: dict[str, Any] = field(default_factory=dict)
    over: bool = False

    @classmethod
    def fresh(cls, count: int) -> "AfliteRun":
        """Return the state of `count` rows before the first phase."""
        phase = np.full(count, -1)
        scores = np.full(count, np.nan)
        first_scores = np.full(count, np.nan)
        return cls(phase, scores, first_scores, np.arange(count))


def identity(X: Floats, y: Ints, units: Ints, settings: dict[str, Any]) -> str:
    """Return a hash of everything that the result of a run depends on.

    These are the features, answers, units and settings. The backend is left out.
    """
    digest = hashlib.blake2b(digest_size=16)
    for array in (X, y, units):
        digest.update(f"{array.shape} {array.dtype}".encode())
        for start in range(0, len(array), 8192):
            block = array[start : start + 8192]
            digest.update(np.ascontiguousarray(block).data)
    # The backend may differ between the run that was killed and the one that goes on.
    decisive = {name: value for name, value in settings.items() if name != "backend"}
    digest.update(json.dumps(decisive, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def save(path: Path, run: AfliteRun, identity: str) -> None:
    """Write the state of a run, with the hash of what it depends on.

    The file is replaced at once: if the process is killed, the state of the phase before remains.
    """
    header = {"version": VERSION, "identity": identity, "history": run.history, "over": run.over}
    arrays = {name: getattr(run, name) for name in ("phase", "scores", "first_scores", "numbers")}
    for name, value in run.ensemble.items():
        arrays[ENSEMBLE + name] = np.asarray(value)
    header_array = np.array(json.dumps(header))
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, about=header_array, **arrays)
    write_whole(path, content.getvalue())


def resume(path: Path, identity: str) -> AfliteRun | None:
    """Return the state in the file, or None if there is no file yet.

    Raises BadInput if it is not a checkpoint, or one of another run: `identity` is the hash that it must have.
    """
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
            header = json.loads(str(arrays.pop("about")))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise BadInput(f"{path} is not a checkpoint of a filtering run: remove it to start again") from error
    version = header.get("version")
    if version != VERSION:
        raise BadInput(f"{path}: a checkpoint of version {version}, where {VERSION} is read: remove it to start again")
    if header.get("identity") != identity:
        raise BadInput(
            f"{path} belongs to a run with other features, answers or settings: remove it, or repeat that run's"
        )
    ensemble = {}
    for name in list(arrays):
        if name.startswith(ENSEMBLE):
            ensemble[name.removeprefix(ENSEMBLE)] = arrays.pop(name)
    try:
        return AfliteRun(**arrays, history=header["history"], over=header["over"], ensemble=ensemble)
    except (KeyError, TypeError) as error:
        raise BadInput(f"{path}: a checkpoint with other parts ({error}): remove it to start again") from None
