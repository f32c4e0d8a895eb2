"""The paper's Figure 1 as counts: where the two answers lie along the first two components, before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winokit.methods.aflite.divergence import Components
from winokit.stages.debias.arms import DebiasArm, DebiasRows

CELLS = 32
OUTSIDE = 0.001
"""Share of rows left out of the picture at each end: a few outliers would squeeze all others into a corner."""


@dataclass(frozen=True)
class Picture:
    """Counts of one arm: [answer, second component, first component], and [answer, first component]."""

    arm: str
    n: int
    plane: NDArray[np.int64]
    line: NDArray[np.int64]


@dataclass(frozen=True)
class Pictures:
    """All arms on the same axes, those of all problems."""

    arms: tuple[Picture, ...]
    first: tuple[float, float]
    """Where the first axis begins and ends."""
    second: tuple[float, float]
    shares: tuple[float, float]
    """How much of the variance each component has."""


def pictures_of(arms: tuple[DebiasArm, ...], rows: DebiasRows, components: Components, bins: int) -> Pictures:
    """Count every arm's rows along the components of all rows."""
    assert rows.x is not None
    places = components.project(rows.x)
    ends = [_ends(places[:, axis]) for axis in (0, 1)]
    return Pictures(
        tuple(_picture(arm, places, rows.y, ends, bins) for arm in arms),
        ends[0],
        ends[1],
        (float(components.shares[0]), float(components.shares[1])),
    )


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(values, (OUTSIDE, 1 - OUTSIDE))
    return (float(low), float(high)) if high > low else (float(low) - 0.5, float(high) + 0.5)


def _picture(
    arm: DebiasArm, places: NDArray[np.float64], y: NDArray[np.int64], ends: list[tuple[float, float]], bins: int
) -> Picture:
    of = [places[arm.keep & (y == answer)] for answer in (0, 1)]
    plane = [np.histogram2d(part[:, 1], part[:, 0], CELLS, (ends[1], ends[0]))[0] for part in of]
    line = [np.histogram(part[:, 0], bins, ends[0])[0] for part in of]
    return Picture(arm.name, int(arm.keep.sum()), np.array(plane, np.int64), np.array(line, np.int64))
