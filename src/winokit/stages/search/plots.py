"""The numbers of the plots of a search, before anybody draws: a strip of trials, the medians by setting."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from winokit.drawing.plots import Forest
from winokit.stages.search.findings import SearchFinding, SearchFindings
from winokit.stages.search.space import SearchRange
from winokit.stages.search.spread import Spread
from winokit.stages.search.trials import Trial

CLOSE, ROOM = 1.1, 4
"""Dots closer than this, in per cent of the axis, stand above one another, at most so many to either side."""
STEP = 0.05
PARTS = 3
"""A range of settings is shown in so many parts."""


@dataclass(frozen=True, slots=True)
class TrialDot:
    """A trial: where it lies on the axis, in per cent; how far from the middle line; and whether it learned nothing."""

    x: float
    y: int
    score: float
    number: int
    hollow: bool


@dataclass(frozen=True, slots=True)
class TrialStrip:
    """One formalization on the axis: its trials and their quartiles."""

    title: str
    dots: tuple[TrialDot, ...]
    spread: Spread
    degenerate: int


@dataclass(frozen=True, slots=True)
class BySetting:
    """Medians by the value of one setting."""

    name: str
    lines: tuple[tuple[str, tuple[tuple[float, int] | None, ...]], ...]
    """The value, and for each formalization the median and of how many; None where no trial has it."""


def axis(findings: SearchFindings) -> Forest:
    """An axis that holds every trial and every line that means something."""
    lines = [findings.chance, findings.majority, *([] if findings.human is None else [findings.human])]
    values = [*lines, *(score for one in findings.found for score in one.scores)]
    low, high = math.floor(min(values) / STEP) * STEP, math.ceil(max(values) / STEP) * STEP
    return Forest((), max(0.0, low), min(1.0, max(high, low + 2 * STEP)))


def ticks(scale: Forest) -> tuple[float, ...]:
    """Round numbers along an axis, about five.

    >>> ticks(Forest((), 0.45, 1.0))
    (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    """
    between = next(step for step in (0.05, 0.1, 0.2) if (scale.high - scale.low) / step < 6 or step == 0.2)
    first, last = math.ceil(scale.low / between - 1e-9), math.floor(scale.high / between + 1e-9)
    return tuple(round(number * between, 2) for number in range(first, last + 1))


def strips(findings: SearchFindings, scale: Forest) -> tuple[TrialStrip, ...]:
    """The strips of all formalizations that have a trial to show."""
    shown = [one for one in findings.found if one.spread is not None]
    return tuple(_strip(one, one.spread, scale) for one in shown if one.spread is not None)


def _strip(finding: SearchFinding, spread: Spread, scale: Forest) -> TrialStrip:
    scored = [trial for trial in finding.trials if trial.ended.accuracy is not None]
    return TrialStrip(finding.formalization, tuple(_dots(scored, scale)), spread, finding.degenerate)


def _dots(trials: Sequence[Trial], scale: Forest) -> Iterator[TrialDot]:
    """Dots in order of score; those that would cover one another take turns above and below."""
    last: dict[int, float] = {}
    places = [0, *(side * step for step in range(1, ROOM + 1) for side in (1, -1))]
    for trial in sorted(trials, key=lambda trial: (trial.ended.accuracy or 0.0, trial.number)):
        score = trial.ended.accuracy or 0.0
        x = scale.place(score)
        y = next(
            (place for place in places if x - last.get(place, -math.inf) >= CLOSE), places[trial.number % len(places)]
        )
        last[y] = x
        yield TrialDot(x, y, score, trial.number, trial.degenerate)


def by_setting(findings: SearchFindings) -> tuple[BySetting, ...]:
    """Medians by every setting that was varied."""
    return tuple(_by_setting(findings, name) for name in findings.space.varied)


def _by_setting(findings: SearchFindings, name: str) -> BySetting:
    some = getattr(findings.space, name)
    if isinstance(some, SearchRange):
        edges = np.geomspace(some.low, some.high, PARTS + 1)
        edges[-1] = math.inf  # the last part has its end in it
        ends = [f"{low:.2g} to {min(high, some.high):.2g}" for low, high in pairwise(edges)]
        parts = list(zip(ends, edges[:-1], edges[1:], strict=True))
    else:
        parts = [(f"{value:g}", value, math.nextafter(value, math.inf)) for value in some.values]
    return BySetting(
        name.replace("_", " "),
        tuple((title, tuple(_median(one, name, low, high) for one in findings.found)) for title, low, high in parts),
    )


def _median(finding: SearchFinding, name: str, low: float, high: float) -> tuple[float, int] | None:
    scores = [
        trial.ended.accuracy
        for trial in finding.trials
        if trial.ended.accuracy is not None and low <= trial.drawn[name] < high
    ]
    return (float(np.median(scores)), len(scores)) if scores else None
