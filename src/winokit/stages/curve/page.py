"""The page of a learning curve: does more training data help, how sure is that, and where would it lead?

The plot has sizes on a logarithmic axis, with a place of its own for zero. It is laid out in per cent of the width from
the left and of the height from the top.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import COLOURS
from winokit.drawing.protocols import CITATIONS
from winokit.drawing.wording import name_coin
from winokit.methods.metrics.judge_curves import ACCURACY, GROUP, CurveSeries
from winokit.results import AT, stands
from winokit.stages.curve.table import by_size, fitted, names_of, titles_of
from winokit.stages.curve.verdict import verdict_of_curve

if TYPE_CHECKING:
    from winokit.stages.curve.run import LearningCurve

TITLES = {ACCURACY: "Single: problems right, per cent", GROUP: "Group: all twins right, per cent"}
LEFT, RIGHT, ZERO = 5.0, 96.0, 19.0
"""Where the axis begins and ends, in per cent of the width, and where it begins if zero stands at its left."""
APART = 13.0
"""Labels of sizes closer than this would run into each other."""
Place = tuple[float, float]
"""From the left and from the top."""


def write_curve_page(curve: "LearningCurve", folder: Path) -> Path:
    """Write the page of a curve and return it."""
    curves, charts = curve.series, []
    for measure, title in TITLES.items():
        own = [series for series in curves if series.measure == measure]
        if any(level.size for series in own for level in series.levels):
            charts.append(CurveChart(title, own))
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


class CurveDot(NamedTuple):
    """One size of one curve; hollow where it cannot be distinguished from chance."""

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
        self.title, levels = title, [level for curve in series for level in curve.levels]
        sizes = sorted({level.size for level in levels})
        self._start = ZERO if sizes[0] == 0 else LEFT
        self._logs = [math.log(size) for size in sizes if size > 0]
        tossed = next((level.mean for level in levels if level.mean.chance is not None), None)
        guess = None if tossed is None else tossed.chance
        self.coin = name_coin(tossed)
        goal = next((curve.reach.target / 100 for curve in series if curve.reach is not None), None)
        known = [value for level in levels for value in (*level.values, level.mean.value, level.mean.low)]
        known += [value for level in levels for value in (level.mean.high, level.mean.chance)]
        values = [value for value in known if value is not None]
        bottom, highest = math.floor(10 * min(values) - 0.2) / 10, max([*values, goal or 0.0])
        self._low = max(0.0, bottom)
        self._high = min(1.0, max(math.ceil(10 * highest + 0.2) / 10, bottom + 0.2))
        self.guess, self.goal = (None if share is None else self._y(share) for share in (guess, goal))
        self.lines = [self._line(at % len(COLOURS), name, series[at]) for at, name in enumerate(names_of(series))]
        self.hollow = any(dot.hollow for line in self.lines for dot in line.dots)
        self.ticks = self._ticks({level.asked: level.size for level in levels})
        steps = round((self._high - self._low) / 0.1)
        shares = [self._low + 0.1 * step for step in range(steps + 1) if steps <= 6 or step % 2 == 0]
        self.levels = [(self._y(share), f"{100 * share:.0f}") for share in shares]
        """Horizontal lines: places from the top and labels."""

    def _x(self, size: float) -> float:
        if size <= 0:
            return LEFT
        first, last = self._logs[0], self._logs[-1]
        return round(self._start + (RIGHT - self._start) * (math.log(size) - first) / ((last - first) or 1.0), 3)

    def _y(self, share: float) -> float:
        return round(100 - 100 * (share - self._low) / (self._high - self._low), 3)

    def _line(self, colour: int, name: str, curve: CurveSeries) -> CurveLine:
        dots, others, ends = [], [], None
        for level in curve.levels:
            mean, said = level.mean, f"{level.asked:,}: {100 * level.mean.value:.1f} %"
            top, bottom = (None if end is None else self._y(end) for end in (mean.high, mean.low))
            dots.append(CurveDot(self._x(level.size), self._y(mean.value), top, bottom, said, stands(mean) == AT))
            if len(level.values) > 1:
                others += [(self._x(at), self._y(share)) for at, share in zip(level.sizes, level.values, strict=True)]
        if curve.fit is not None:
            ends = [(self._x(size), self._y(curve.fit.at(size) / 100)) for size in (curve.fitted[0], curve.fitted[-1])]
        return CurveLine(colour, name, dots, ends, others)

    def _ticks(self, sizes: Mapping[int, float]) -> list[tuple[float, str]]:
        """Sizes under the axis: the first, the last, and of those between as many as have room."""
        first, *rest = sorted((self._x(size), f"{asked:,}") for asked, size in sizes.items())
        kept = [first]
        for place in rest[:-1]:
            if place[0] - kept[-1][0] >= APART and rest[-1][0] - place[0] >= APART:
                kept.append(place)
        return [*kept, *rest[-1:]]
