"""The plot of learning curves: sizes on a logarithmic axis, with a place of its own for nought."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winokit.drawing.figures import COLOURS, GREY, Figure
from winokit.stages.curve.fit import CurveSeries
from winokit.stages.curve.points import ACCURACY, GROUP, PointScore
from winokit.stages.curve.wording import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {ACCURACY: "Single: problems right, per cent", GROUP: "Group: all twins right, per cent"}
LEFT, RIGHT, ZERO = 5.0, 96.0, 19.0
"""Where the axis begins and ends, in per cent of the width, and where it begins if nought stands at its left."""
APART = 13.0
"""Labels of sizes closer than this would run into each other."""


@dataclass(frozen=True, slots=True)
class CurveDot:
    """One size of one curve, in per cent of the plot from the left and from the top."""

    x: float
    y: float
    top: float | None
    bottom: float | None
    said: str
    hollow: bool
    """Whether guessing is inside the interval."""


@dataclass(frozen=True, slots=True)
class CurveLine:
    """One curve: its colour's number, its dots, and the ends of the fitted line."""

    colour: int
    name: str
    dots: tuple[CurveDot, ...]
    ends: tuple[float, float, float, float] | None
    others: tuple[tuple[float, float], ...]
    """Every restart by itself."""


@dataclass(frozen=True, slots=True)
class CurveChart:
    """All curves of single or of group accuracy."""

    title: str
    lines: tuple[CurveLine, ...]
    ticks: tuple[tuple[float, str], ...]
    levels: tuple[tuple[float, str], ...]
    """Horizontal lines: places from the top and labels."""
    guess: float | None
    goal: float | None


class CurveAxis:
    """From sizes and shares to places."""

    def __init__(self, series: Sequence[CurveSeries]) -> None:
        sizes = sorted({level.size for one in series for level in one.levels})
        positive = [size for size in sizes if size > 0]
        self.zero = sizes[0] == 0
        self.first, self.last = math.log(positive[0]), math.log(positive[-1])
        self.low, self.high = _range(series)

    def x(self, size: float) -> float:
        """How far from the left."""
        if size <= 0:
            return LEFT
        start = ZERO if self.zero else LEFT
        return start + (RIGHT - start) * (math.log(size) - self.first) / ((self.last - self.first) or 1.0)

    def y(self, share: float) -> float:
        """How far from the top."""
        return 100 - 100 * (share - self.low) / (self.high - self.low)


def charts_of(series: Sequence[CurveSeries]) -> tuple[CurveChart, ...]:
    """The plot of single accuracy, and that of group accuracy where there are groups."""
    found = []
    for measure, title in TITLES.items():
        own = [one for one in series if one.measure == measure]
        if own and any(level.size > 0 for one in own for level in one.levels):
            found.append(_chart(title, own))
    return tuple(found)


def _chart(title: str, series: Sequence[CurveSeries]) -> CurveChart:
    axis = CurveAxis(series)
    guess, goal = _guess(series), _goal(series)
    lines = tuple(
        _line(at, name, one, axis) for at, (name, one) in enumerate(zip(names_of(series), series, strict=True))
    )
    steps = round((axis.high - axis.low) / 0.1)
    shown = [axis.low + 0.1 * step for step in range(steps + 1) if steps <= 6 or step % 2 == 0]
    return CurveChart(
        title,
        lines,
        tuple(_ticks(series, axis)),
        tuple((round(axis.y(share), 3), f"{100 * share:.0f}") for share in shown),
        None if guess is None else round(axis.y(guess), 3),
        None if goal is None else round(axis.y(goal), 3),
    )


def _line(at: int, name: str, one: CurveSeries, axis: CurveAxis) -> CurveLine:
    dots = []
    for level in one.levels:
        mean = level.mean
        known = mean.low is not None and mean.high is not None
        dots.append(
            CurveDot(
                round(axis.x(level.size), 3),
                round(axis.y(mean.value), 3),
                round(axis.y(mean.high or 0), 3) if known else None,
                round(axis.y(mean.low or 0), 3) if known else None,
                f"{level.asked:,}: {100 * mean.value:.1f} %",
                _guessed(mean),
            )
        )
    ends = None
    if one.fit is not None:
        low, high = one.fitted[0], one.fitted[-1]
        places = [(axis.x(size), axis.y(one.fit.at(size) / 100)) for size in (low, high)]
        ends = tuple(round(value, 3) for place in places for value in place)
    others = tuple(
        (round(axis.x(size), 3), round(axis.y(value), 3))
        for level in one.levels
        if len(level.values) > 1
        for size, value in zip(level.sizes, level.values, strict=True)
    )
    return CurveLine(at % len(COLOURS), name, tuple(dots), ends, others)  # type: ignore[arg-type]


def _guessed(mean: PointScore) -> bool:
    """Whether guessing is inside the interval."""
    if mean.low is None or mean.high is None or mean.chance is None:
        return False
    return mean.low <= mean.chance <= mean.high


def _ticks(series: Sequence[CurveSeries], axis: CurveAxis) -> list[tuple[float, str]]:
    """Sizes under the axis: the first, the last, and of those between as many as have room."""
    asked = {level.asked: axis.x(level.size) for one in series for level in one.levels}
    places = sorted((round(place, 3), f"{size:,}") for size, place in asked.items())
    kept = places[:1]
    for place in places[1:-1]:
        if place[0] - kept[-1][0] >= APART and places[-1][0] - place[0] >= APART:
            kept.append(place)
    return [*kept, *places[-1:]] if len(places) > 1 else kept


def _guess(series: Sequence[CurveSeries]) -> float | None:
    return next((level.mean.chance for one in series for level in one.levels if level.mean.chance is not None), None)


def _goal(series: Sequence[CurveSeries]) -> float | None:
    return next((one.reach.target / 100 for one in series if one.reach is not None), None)


def _range(series: Sequence[CurveSeries]) -> tuple[float, float]:
    """Tenths that hold every interval, guessing and the goal."""
    means = [level.mean for one in series for level in one.levels]
    values = [value for mean in means for value in (mean.value, mean.low, mean.high, mean.chance) if value is not None]
    values += [value for one in series for level in one.levels for value in level.values]
    goal = _goal(series)
    low, high = min(values), max([*values, *([] if goal is None else [goal])])
    bottom = math.floor(10 * low - 0.2) / 10
    return max(0.0, bottom), min(1.0, max(math.ceil(10 * high + 0.2) / 10, bottom + 0.2))


def figures_of_curve(series: Sequence[CurveSeries]) -> dict[str, Figure]:
    """The plot as a file: single and group side by side."""
    panels = [
        _panel(title, own)
        for measure, title in TITLES.items()
        if (own := [one for one in series if one.measure == measure])
        and any(level.size > 0 for one in own for level in one.levels)
    ]
    return {"curve": Figure(panels, 4.6, 3.6)} if panels else {}


def _panel(title: str, series: Sequence[CurveSeries]) -> Callable[[Axes], None]:
    return lambda ax: draw_curve(ax, title, series)


def draw_curve(ax: Axes, title: str, series: Sequence[CurveSeries]) -> None:
    """Means with intervals, single restarts in pale, the fitted line, what guessing gives and the goal."""
    axis = CurveAxis(series)
    for at, (name, one) in enumerate(zip(names_of(series), series, strict=True)):
        colour = COLOURS[at % len(COLOURS)]
        for level in one.levels:
            mean, x = level.mean, axis.x(level.size)
            face = "white" if _guessed(mean) else colour
            ax.plot(x, 100 * mean.value, "o", color=colour, markerfacecolor=face, markersize=5, zorder=3)
            if mean.low is not None and mean.high is not None:
                ax.plot([x, x], [100 * mean.low, 100 * mean.high], color=colour, linewidth=1.2)
            for size, value in zip(level.sizes, level.values, strict=True):
                ax.plot(axis.x(size), 100 * value, "o", color=colour, markersize=3, alpha=0.35, markeredgewidth=0)
        ax.plot([], [], "o", color=colour, markersize=5, label=name)
        if one.fit is not None:
            ends = (one.fitted[0], one.fitted[-1])
            ax.plot([axis.x(size) for size in ends], [one.fit.at(size) for size in ends], color=colour, linewidth=1.5)
    if any(len(level.values) > 1 for one in series for level in one.levels):
        ax.plot([], [], "o", color=GREY, markersize=3, alpha=0.35, markeredgewidth=0, label="one restart")
    for share, label, style in ((_guess(series), "guessing", "dashed"), (_goal(series), "goal", "dotted")):
        if share is not None:
            ax.axhline(100 * share, color=GREY, linestyle=style, linewidth=1, label=label)
    ticks = _ticks(series, axis)
    ax.set_xticks([place for place, _ in ticks], [label for _, label in ticks])
    hollow = any(_guessed(level.mean) for one in series for level in one.levels)
    note = "\n(hollow: guessing is not ruled out)" if hollow else ""
    ax.set(xlim=(0, 100), ylim=(100 * axis.low, 100 * axis.high))
    ax.set(xlabel=f"problems trained on, logarithmic{note}", ylabel=title)
