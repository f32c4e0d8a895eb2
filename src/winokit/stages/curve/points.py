"""The points of a learning curve: one training run each, or anyone's numbers from a csv file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.files import write_whole

SIZE, ACCURACY, GROUP = "size", "accuracy", "group_accuracy"
OTHER_NAMES = {"x": SIZE, "n_train": SIZE, "train_size": SIZE, "single": ACCURACY, "y": ACCURACY, "group": GROUP}
"""What columns of other people's files are called."""
COLUMNS = (
    *("dataset", "formalization", "asked", SIZE, "restart", "seed"),
    *(ACCURACY, "low", "high", "n", "chance"),
    *(GROUP, "group_low", "group_high", "groups", "group_chance", "abstained", "warnings"),
)


@dataclass(frozen=True, slots=True)
class PointScore:
    """A share with its interval, over how many, and what guessing gives; unknown parts are None."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One size in one restart."""

    dataset: str
    """The test set."""
    formalization: str
    asked: int
    size: int
    """What was trained on: at most what was asked, since groups are whole."""
    restart: int
    seed: int | None
    accuracy: PointScore | None
    group_accuracy: PointScore | None = None
    abstained: float = 0.0
    warnings: tuple[str, ...] = ()
    right: NDArray[np.bool_] | None = field(default=None, compare=False, repr=False)
    """Of each problem whether it is right, in the test set's order; None for numbers from a file."""

    def score(self, measure: str) -> PointScore | None:
        """Its accuracy or its group accuracy."""
        return self.accuracy if measure == ACCURACY else self.group_accuracy


def write_points(points: Sequence[CurvePoint], path: Path) -> None:
    """Write points.csv, one row a point, with shares from 0 to 1."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for point in points:
        named = (point.dataset, point.formalization, point.asked, point.size, point.restart, point.seed)
        scores = (*_cells(point.accuracy), *_cells(point.group_accuracy))
        writer.writerow([*named, *scores, point.abstained, "; ".join(point.warnings)])
    write_whole(path, text.getvalue().encode())


def _cells(score: PointScore | None) -> tuple[object, ...]:
    return ("",) * 5 if score is None else (score.value, score.low, score.high, score.n, score.chance)


def read_points(path: Path) -> list[CurvePoint]:
    """Points from a csv file with a size and an accuracy (single), a group accuracy (group) or both in each row.

    Numbers above 1 mean per cent. `dataset`, `formalization` and `restart` tell curves and restarts apart.
    """
    try:
        rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: cannot be read as a csv file of points ({error})") from None
    if not rows:
        raise BadInput(f"{path}: no points: a header with size and accuracy expected, and a row a point")
    named = [{OTHER_NAMES.get(_folded(key), _folded(key)): value for key, value in row.items() if key} for row in rows]
    known = set(named[0])
    if SIZE not in known or not known & {ACCURACY, GROUP}:
        raise BadInput(f"{path}: columns size and accuracy (or group_accuracy) expected, found {', '.join(rows[0])}")
    values = [_number(path, at, row, name) for at, row in enumerate(named, 2) for name in (ACCURACY, GROUP)]
    scale = 100.0 if any(value is not None and value > 1 for value in values) else 1.0
    return [_point(path, at, row, scale) for at, row in enumerate(named, 2)]


def _folded(name: str) -> str:
    return name.strip().casefold().replace(" ", "_")


def _point(path: Path, line: int, row: Mapping[str, str], scale: float) -> CurvePoint:
    size = _number(path, line, row, SIZE)
    if size is None or size < 0 or size != int(size):
        raise BadInput(f"{path}:{line}: field 'size': a whole number expected, found {row.get(SIZE)!r}")
    accuracy, group = (_score(path, line, row, name, scale) for name in (ACCURACY, GROUP))
    if accuracy is None and group is None:
        raise BadInput(f"{path}:{line}: neither an accuracy nor a group accuracy")
    asked = _number(path, line, row, "asked")
    return CurvePoint(
        row.get("dataset") or path.stem,
        row.get("formalization") or "",
        int(size if asked is None else asked),
        int(size),
        int(_number(path, line, row, "restart") or 1),
        None,
        accuracy,
        group,
    )


def _score(path: Path, line: int, row: Mapping[str, str], name: str, scale: float) -> PointScore | None:
    value = _number(path, line, row, name)
    if value is None:
        return None
    if not 0 <= value / scale <= 1:
        raise BadInput(f"{path}:{line}: field {name!r}: a share or a percentage expected, found {row[name]!r}")
    guess = _number(path, line, row, "chance" if name == ACCURACY else "group_chance")
    return PointScore(value / scale, chance=guess)


def _number(path: Path, line: int, row: Mapping[str, str], name: str) -> float | None:
    text = (row.get(name) or "").strip().replace(",", "").removesuffix("%").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise BadInput(f"{path}:{line}: field {name!r}: a number expected, found {row[name]!r}") from None
    if not np.isfinite(value):
        raise BadInput(f"{path}:{line}: field {name!r}: a number expected, found {row[name]!r}")
    return value
