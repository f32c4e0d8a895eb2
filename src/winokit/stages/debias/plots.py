"""The numbers of the plots of a filtering, before anybody draws: the paper's Figure 1, and phase by phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winokit.drawing.charts import Chart, tenths_around
from winokit.drawing.plots import Forest, ForestBlock, ForestLine, ForestMark
from winokit.drawing.wording import percent
from winokit.results import Metric, stands
from winokit.stages.debias.pictures import Picture, Pictures
from winokit.stages.debias.run import Debiased

ARMS = {"all": "All problems", "random": "Random reduction", "pmi": "PMI filtering", "aflite": "AFLite"}
SAID = {**ARMS, "all": "all problems", "random": "random reduction"}
"""The same in the middle of a sentence."""
MIXES, DEPTHS = 10, 6
"""Shades of a cell: how much of it is the first answer, and how full it is."""


@dataclass(frozen=True, slots=True)
class Shade:
    """All cells of one colour, as one path in units of cells."""

    first: int
    """Per cent of the first answer."""
    depth: float
    path: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One arm of Figure 1: cells of the plane, the two answers along the first component, how far apart they are."""

    arm: str
    title: str
    n: int
    cells: int
    shades: tuple[Shade, ...]
    outlines: tuple[str, str]
    divergence: Metric | None


def panels(filtering: Debiased) -> tuple[Panel, ...]:
    """The panels of Figure 1; every arm on the axes of all problems, and as dense as its share of rows says."""
    found = filtering.pictures
    if found is None:
        return ()
    fullest = max(float(one.plane.sum(axis=0).max()) / one.n for one in found.arms)
    highest = max(float(one.line.max()) / one.n for one in found.arms)
    return tuple(
        Panel(
            one.arm,
            ARMS[one.arm],
            one.n,
            one.plane.shape[1],
            _shades(one, fullest),
            (_outline(one.line[0] / one.n / highest), _outline(one.line[1] / one.n / highest)),
            filtering.find(one.arm, "kl_histogram"),
        )
        for one in found.arms
    )


def mixed(picture: Picture, fullest: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each cell the share of the first answer, and how full it is from 0 to 1: a square root, to see the thin."""
    total = picture.plane.sum(axis=0)
    first = np.divide(picture.plane[0], total, out=np.full(total.shape, 0.5), where=total > 0)
    return first, np.sqrt(total / picture.n / fullest)


def _shades(picture: Picture, fullest: float) -> tuple[Shade, ...]:
    first, depth = mixed(picture, fullest)
    paths: dict[tuple[int, int], list[str]] = {}
    high = len(first) - 1
    for y, x in np.argwhere(depth > 0).tolist():
        key = (round(first[y, x] * MIXES), max(1, round(depth[y, x] * DEPTHS)))
        paths.setdefault(key, []).append(f"M{x} {high - y}h1v1h-1z")
    return tuple(
        Shade(100 * mix // MIXES, round(deep / DEPTHS, 3), "".join(path)) for (mix, deep), path in sorted(paths.items())
    )


def _outline(heights: NDArray[np.float64]) -> str:
    """Steps of a histogram as a path, 100 wide and 100 high, closed along the bottom."""
    edges = np.linspace(0, 100, len(heights) + 1)
    steps = "".join(
        f"V{100 - 100 * height:.2f}H{edge:.2f}"
        for height, edge in zip(heights.tolist(), edges[1:].tolist(), strict=True)
    )
    return f"M0 100{steps}V100z"


def probe_forest(filtering: Debiased) -> Forest:
    """The probe before and after, on an axis around chance that holds every interval."""
    probes = [(name, row) for name in ARMS if (row := filtering.find(name, "probe_accuracy"))]
    lines = tuple(ForestLine(ARMS[name], (ForestMark(0, row, stands(row)),)) for name, row in probes)
    ends = [abs(end - 0.5) for _, row in probes for end in (row.value, row.low, row.high) if end is not None]
    reach = next((reach for reach in (0.05, 0.1, 0.25) if max(ends, default=0.0) <= reach), 0.5)
    return Forest((ForestBlock("Linear probe", "", lines),) if lines else (), 0.5 - reach, 0.5 + reach)


def phase_charts(history: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> tuple[Chart, ...]:
    """Rows left, and how predictable they are, after each phase; nothing where there was one phase alone."""
    if len(history) < 2:
        return ()
    phases = tuple(range(1, len(history) + 1))
    left = (float(history[0]["rows"]), *(float(phase["rows"] - phase["removed"]) for phase in history))
    accuracy = tuple(float(phase["accuracy"]) for phase in history)
    over = tuple(phase["at_threshold"] / phase["rows"] for phase in history)
    removed = tuple(float(phase["removed"]) for phase in history)
    around = tenths_around((*accuracy, 0.45, 0.55))
    cutoff, train = float(settings["cutoff"]), float(settings["train_size"])
    return (
        Chart("Problems left", left, (0, *phases), 0.0, left[0], mark=train, mark_name="train size"),
        Chart("Removed in each phase", removed, phases, 0.0, max(*removed, cutoff), mark=cutoff, mark_name="cutoff"),
        Chart("Share at or over the threshold", over, phases, 0.0, max(0.1, tenths_around(over)[1]), percent=True),
        Chart("Held-out accuracy", accuracy, phases, *around, percent=True, mark=0.5, mark_name="chance"),
    )


def nats(value: float) -> str:
    """A divergence to three places.

    >>> nats(0.02481), nats(-0.0002)
    ('0.025', '0.000')
    """
    said = f"{abs(value):.3f}"
    return f"−{said}" if value < 0 and float(said) else said


def axes_of(found: Pictures) -> tuple[str, str]:
    """What the two axes are, with their shares of the variance."""
    names = ("first component", "second component")
    shares = (f"{percent(share, 0)} of the variance" for share in found.shares)
    first, second = (f"{name}, {share}" for name, share in zip(names, shares, strict=True))
    return first, second
