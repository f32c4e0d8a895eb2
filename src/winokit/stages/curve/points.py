"""The points of a learning curve: one training run each, or anyone's numbers from a csv file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.results import ABOVE, AT, BELOW, UNKNOWN

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

    @property
    def stands(self) -> str:
        """Where its interval lies against guessing; unknown without either."""
        if self.low is None or self.high is None or self.chance is None:
            return UNKNOWN
        return ABOVE if self.low > self.chance else BELOW if self.high < self.chance else AT


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
        scores = [("",) * 5 if one is None else astuple(one) for one in (point.accuracy, point.group_accuracy)]
        writer.writerow([*named, *scores[0], *scores[1], point.abstained, "; ".join(point.warnings)])
    write_whole(path, text.getvalue().encode())


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
    placed = [(f"{path}:{line}", row) for line, row in enumerate(named, 2)]
    shares = [_number(place, row, name) for place, row in placed for name in (ACCURACY, GROUP)]
    scale = 100.0 if any(share is not None and share > 1 for share in shares) else 1.0
    return [_point(place, {**row, "dataset": row.get("dataset") or path.stem}, scale) for place, row in placed]


def _folded(name: str) -> str:
    return name.strip().casefold().replace(" ", "_")


def _point(place: str, row: Mapping[str, str], scale: float) -> CurvePoint:
    size, asked = _number(place, row, SIZE), _number(place, row, "asked")
    if size is None or size < 0 or size != int(size):
        raise BadInput(f"{place}: field 'size': a whole number expected, found {row.get(SIZE)!r}")
    scores: list[PointScore | None] = []
    for name, chance in ((ACCURACY, "chance"), (GROUP, "group_chance")):
        share = _number(place, row, name)
        if share is not None and not 0 <= share / scale <= 1:
            raise BadInput(f"{place}: field {name!r}: a share or a percentage expected, found {row[name]!r}")
        scores.append(None if share is None else PointScore(share / scale, chance=_number(place, row, chance)))
    accuracy, group = scores
    if accuracy is None and group is None:
        raise BadInput(f"{place}: neither an accuracy nor a group accuracy")
    named = row["dataset"], row.get("formalization") or "", int(size if asked is None else asked), int(size)
    return CurvePoint(*named, int(_number(place, row, "restart") or 1), None, accuracy, group)


def _number(place: str, row: Mapping[str, str], name: str) -> float | None:
    text = (row.get(name) or "").strip().replace(",", "").removesuffix("%").strip()
    try:
        number = float(text) if text else None
    except ValueError:
        number = math.nan
    if number is not None and not math.isfinite(number):
        raise BadInput(f"{place}: field {name!r}: a number expected, found {row[name]!r}")
    return number
