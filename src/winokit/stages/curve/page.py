"""The page of a learning curve: does more training data help?

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
"""Least distance between labels of sizes, in per cent of the width. Closer ones would run into each other."""
MOST_LINES = 6
"""Tenths on the axis of shares up to which each has a line. Of more, every other one has."""
Place = tuple[float, float]
"""Per cent from the left and from the top."""


def write_curve_page(curve: "LearningCurve", folder: Path) -> Path:
    """Write the page of a curve into a folder.

    Returns the path of the page.
    """
    curves = curve.series
    test_names = dict.fromkeys(series.dataset for series in curves)
    return write_page(
        folder / INDEX,
        "stages/curve/page.html.j2",
        curve=curve,
        verdict=verdict_of_curve(curves),
        tests=list(test_names),
        restarts=max((point.restart for point in curve.points), default=1),
        charts=_make_charts(curves),
        columns=titles_of(curves),
        rows=by_size(curves),
        fits=fitted(curves),
        settings=flat(curve.run),
        sources=(CITATIONS["SAKAGUCHI"], CITATIONS["ELAZAR"]),
    )


def _make_charts(curves: Sequence[CurveSeries]) -> "list[CurveChart]":
    """Make the charts of accuracy and group accuracy.

    A measure has no chart if no curve of it has a size above zero.
    """
    charts = []
    for measure, title in TITLES.items():
        measured_curves = [curve for curve in curves if curve.measure == measure]
        if any(map(_has_trained_level, measured_curves)):
            charts.append(CurveChart(title, measured_curves))
    return charts


def _has_trained_level(curve: CurveSeries) -> bool:
    """Whether a curve has a size above zero."""
    return any(level.size for level in curve.levels)


class CurveDot(NamedTuple):
    """The mean score at one size of a curve, on the chart.

    Places are in per cent from the left and the top.
    """

    x: float
    y: float
    top: float | None
    """The upper end of the interval. None without an interval."""
    bottom: float | None
    said: str
    """The text that is shown on hovering."""
    hollow: bool
    """Whether the score cannot be distinguished from chance."""


class CurveLine(NamedTuple):
    """One curve on the chart.

    It has dots, the ends of the fitted line, and the scores of single restarts.
    """

    colour: int
    """The number of the colour."""
    name: str
    dots: list[CurveDot]
    ends: list[Place] | None
    """None if no line was fitted."""
    others: list[Place]
    """The scores of single restarts, for sizes with several."""


class CurveChart:
    """A chart of all curves of one measure, with axes.

    Places are in per cent from the left and the top.
    """

    def __init__(self, title: str, series: Sequence[CurveSeries]) -> None:
        """Lay out a chart of curves of one measure.

        The axis of shares holds all intervals, the chance level and the goal.
        """
        self.title = title
        levels = list(chain.from_iterable(curve.levels for curve in series))
        sizes = sorted({level.size for level in levels})
        self._start = ZERO if sizes[0] == 0 else LEFT
        self._logs = [math.log(size) for size in sizes if size > 0]
        coin_row = next((level.mean for level in levels if level.mean.chance is not None), None)
        guess = None if coin_row is None else coin_row.chance
        self.coin = name_coin(coin_row)
        """The name of the chance level."""
        goal = next((curve.reach.target / 100 for curve in series if curve.reach is not None), None)
        self._low, self._high = _axis_ends(levels, goal)
        self.guess = None if guess is None else self._place_share(guess)
        """The place of the chance level from the top. None if it is unknown."""
        self.goal = None if goal is None else self._place_share(goal)
        """The place of the goal from the top. None without a goal."""
        self.lines: list[CurveLine] = []
        for number, (name, curve) in enumerate(zip(names_of(series), series, strict=True)):
            self.lines.append(self._make_line(number % len(COLOURS), name, curve))
        dots = chain.from_iterable(line.dots for line in self.lines)
        self.hollow = any(dot.hollow for dot in dots)
        """Whether a dot is hollow."""
        self.ticks = self._make_ticks({level.asked: level.size for level in levels})
        """Places from the left and labels of the axis of sizes."""
        self.levels = self._make_rules()
        """Places from the top and labels of the horizontal lines."""

    def _make_rules(self) -> list[tuple[float, str]]:
        """Places from the top and labels of the tenths that are marked."""
        tenths = round((self._high - self._low) / 0.1)
        every = 1 if tenths <= MOST_LINES else 2
        shares = [self._low + 0.1 * tenth for tenth in range(0, tenths + 1, every)]
        return [(self._place_share(share), f"{100 * share:.0f}") for share in shares]

    def _place_size(self, size: float) -> float:
        """Place of a size in per cent from the left.

        The axis is logarithmic, and zero is at its left end.
        """
        if size <= 0:
            return LEFT
        first = self._logs[0]
        last = self._logs[-1]
        width = (last - first) or 1.0
        axis_share = (math.log(size) - first) / width
        return round(self._start + (RIGHT - self._start) * axis_share, 3)

    def _place_share(self, share: float) -> float:
        """Place of a score in per cent from the top."""
        axis_share = (share - self._low) / (self._high - self._low)
        return round(100 - 100 * axis_share, 3)

    def _make_line(self, colour: int, name: str, curve: CurveSeries) -> CurveLine:
        """Place a curve on the chart."""
        dots = [self._make_dot(level) for level in curve.levels]
        restarts: list[Place] = []
        for level in curve.levels:
            if len(level.values) > 1:
                xs = map(self._place_size, level.sizes)
                ys = map(self._place_share, level.values)
                restarts += zip(xs, ys, strict=True)
        ends = None
        if curve.fit is not None:
            first_size = curve.fitted[0]
            last_size = curve.fitted[-1]
            ends = [self._place_fit(curve.fit, first_size), self._place_fit(curve.fit, last_size)]
        return CurveLine(colour, name, dots, ends, restarts)

    def _make_dot(self, level: CurveLevel) -> CurveDot:
        """Place the mean of a size on the chart, with its interval."""
        mean = level.mean
        return CurveDot(
            x=self._place_size(level.size),
            y=self._place_share(mean.value),
            top=None if mean.high is None else self._place_share(mean.high),
            bottom=None if mean.low is None else self._place_share(mean.low),
            said=f"{level.asked:,}: {100 * mean.value:.1f} %",
            hollow=stands(mean) == AT,
        )

    def _place_fit(self, fit: LogFit, size: float) -> Place:
        """Place of the fitted line at a size."""
        return self._place_size(size), self._place_share(fit.at(size) / 100)

    def _make_ticks(self, sizes: Mapping[int, float]) -> list[tuple[float, str]]:
        """Places and labels under the axis of sizes.

        The first size, the last, and of the others as many as have room are shown. `sizes` are the sizes trained on, by
        the size that was asked for, which is the label.
        """
        first, *other_ticks = sorted((self._place_size(size), f"{asked:,}") for asked, size in sizes.items())
        shown_ticks = [first]
        last_ticks = other_ticks[-1:]
        for tick in other_ticks[:-1]:
            from_left = tick[0] - shown_ticks[-1][0]
            to_last = last_ticks[0][0] - tick[0]
            if min(from_left, to_last) >= APART:
                shown_ticks.append(tick)
        return [*shown_ticks, *last_ticks]


def _axis_ends(levels: Sequence[CurveLevel], goal: float | None) -> tuple[float, float]:
    """Shares at the bottom and the top of the axis.

    They are tenths that hold all scores, their intervals, chance and the goal, and two tenths or more apart.
    """
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
