"""The page of a learning curve: does more training data help, how sure is that, and where would it lead?

The plot has sizes on a logarithmic axis, with a place of its own for zero. It is laid out in per cent of the width from
the left and of the height from the top.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import COLOURS
from winokit.drawing.protocols import CITATIONS
from winokit.drawing.wording import name_coin
from winokit.methods.metrics.judge_curves import ACCURACY, GROUP, CurveLevel, CurveSeries, LogFit
from winokit.results import AT, stands
from winokit.stages.curve.table import by_size, fitted, names_of, titles_of
from winokit.stages.curve.verdict import verdict_of_curve

if TYPE_CHECKING:
    from winokit.stages.curve.run import LearningCurve

TITLES = {ACCURACY: "Single: problems right, per cent", GROUP: "Group: all twins right, per cent"}
LEFT = 5.0
RIGHT = 96.0
ZERO = 19.0
"""Where the axis begins and ends, in per cent of the width, and where it begins if zero stands at its left."""
APART = 13.0
"""Labels of sizes closer than this would run into each other."""
Place = tuple[float, float]
"""From the left and from the top."""


def write_curve_page(curve: "LearningCurve", folder: Path) -> Path:
    """Write the page of a curve and return it."""
    curves = curve.series
    charts = []
    for measure, title in TITLES.items():
        measured = [series for series in curves if series.measure == measure]
        if any(map(_has_trained_level, measured)):
            charts.append(CurveChart(title, measured))
    return write_page(
        folder / INDEX,
        "stages/curve/page.html.j2",
        curve=curve,
        verdict=verdict_of_curve(curves),
        tests=list(dict.fromkeys(series.dataset for series in curves)),
        restarts=max((point.restart for point in curve.points), default=1),
        charts=charts,
        columns=titles_of(curves),
        rows=by_size(curves),
        fits=fitted(curves),
        settings=flat(curve.run),
        sources=(CITATIONS["SAKAGUCHI"], CITATIONS["ELAZAR"]),
    )


def _has_trained_level(curve: CurveSeries) -> bool:
    """Whether a curve has a size above zero."""
    return any(level.size for level in curve.levels)


class CurveDot(NamedTuple):
    """One size of one curve. It is hollow if it cannot be distinguished from chance."""

    x: float
    y: float
    top: float | None
    bottom: float | None
    said: str
    hollow: bool


class CurveLine(NamedTuple):
    """One curve: its colour's number, its dots, the ends of the fitted line, and every restart by itself."""

    colour: int
    name: str
    dots: list[CurveDot]
    ends: list[Place] | None
    others: list[Place]


class CurveChart:
    """All curves of single or of group accuracy, from sizes and shares to places."""

    def __init__(self, title: str, series: Sequence[CurveSeries]) -> None:
        """Sizes from the first to the last, and tenths that hold every interval, a coin and the goal."""
        self.title = title
        levels = list(chain.from_iterable(curve.levels for curve in series))
        sizes = sorted({level.size for level in levels})
        self._start = ZERO if sizes[0] == 0 else LEFT
        self._logs = [math.log(size) for size in sizes if size > 0]
        coin_row = next((level.mean for level in levels if level.mean.chance is not None), None)
        guess = None if coin_row is None else coin_row.chance
        self.coin = name_coin(coin_row)
        goal = next((curve.reach.target / 100 for curve in series if curve.reach is not None), None)
        self._low, self._high = _axis_ends(levels, goal)
        self.guess = None if guess is None else self._place_share(guess)
        self.goal = None if goal is None else self._place_share(goal)
        self.lines: list[CurveLine] = []
        for number, (name, curve) in enumerate(zip(names_of(series), series, strict=True)):
            self.lines.append(self._make_line(number % len(COLOURS), name, curve))
        dots = chain.from_iterable(line.dots for line in self.lines)
        self.hollow = any(dot.hollow for dot in dots)
        self.ticks = self._make_ticks({level.asked: level.size for level in levels})
        tenths = round((self._high - self._low) / 0.1)
        every = 1 if tenths <= 6 else 2
        shares = [self._low + 0.1 * tenth for tenth in range(0, tenths + 1, every)]
        self.levels = [(self._place_share(share), f"{100 * share:.0f}") for share in shares]
        """Horizontal lines: places from the top and labels."""

    def _place_size(self, size: float) -> float:
        if size <= 0:
            return LEFT
        first = self._logs[0]
        last = self._logs[-1]
        width = (last - first) or 1.0
        return round(self._start + (RIGHT - self._start) * (math.log(size) - first) / width, 3)

    def _place_share(self, share: float) -> float:
        return round(100 - 100 * (share - self._low) / (self._high - self._low), 3)

    def _make_line(self, colour: int, name: str, curve: CurveSeries) -> CurveLine:
        dots = [self._make_dot(level) for level in curve.levels]
        restarts: list[Place] = []
        for level in curve.levels:
            if len(level.values) > 1:
                restarts += zip(map(self._place_size, level.sizes), map(self._place_share, level.values), strict=True)
        ends = None
        if curve.fit is not None:
            ends = [self._place_fit(curve.fit, size) for size in (curve.fitted[0], curve.fitted[-1])]
        return CurveLine(colour, name, dots, ends, restarts)

    def _make_dot(self, level: CurveLevel) -> CurveDot:
        mean = level.mean
        top = None if mean.high is None else self._place_share(mean.high)
        bottom = None if mean.low is None else self._place_share(mean.low)
        label = f"{level.asked:,}: {100 * mean.value:.1f} %"
        is_hollow = stands(mean) == AT
        return CurveDot(self._place_size(level.size), self._place_share(mean.value), top, bottom, label, is_hollow)

    def _place_fit(self, fit: LogFit, size: float) -> Place:
        return self._place_size(size), self._place_share(fit.at(size) / 100)

    def _make_ticks(self, sizes: Mapping[int, float]) -> list[tuple[float, str]]:
        """Sizes under the axis: the first, the last, and of those between as many as have room."""
        first, *other_ticks = sorted((self._place_size(size), f"{asked:,}") for asked, size in sizes.items())
        shown_ticks = [first]
        for tick in other_ticks[:-1]:
            from_left = tick[0] - shown_ticks[-1][0]
            to_last = other_ticks[-1][0] - tick[0]
            if min(from_left, to_last) >= APART:
                shown_ticks.append(tick)
        return [*shown_ticks, *other_ticks[-1:]]


def _axis_ends(levels: Sequence[CurveLevel], goal: float | None) -> tuple[float, float]:
    """Shares at the bottom and the top of the axis: tenths that hold all values and the goal."""
    values: list[float] = []
    for level in levels:
        mean = level.mean
        ends = (mean.value, mean.low, mean.high, mean.chance)
        values += level.values
        values += [end for end in ends if end is not None]
    bottom = math.floor(10 * min(values) - 0.2) / 10
    highest = max([*values, goal or 0.0])
    top = math.ceil(10 * highest + 0.2) / 10
    return max(0.0, bottom), min(1.0, max(top, bottom + 0.2))
