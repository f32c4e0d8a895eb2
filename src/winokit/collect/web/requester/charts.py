"""Where the bars and lines of the dashboard's charts go; a template draws them as SVG.

Charts are 600 units wide and 160 high, and a page scales them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate

from winokit.collect.study.progress import StudyDay

WIDTH, HEIGHT = 600.0, 160.0
MOST_DAYS = 60
WIDEST = 60.0


@dataclass(frozen=True)
class ChartSegment:
    """A part of a bar that is 100 wide."""

    name: str
    count: int
    share: float
    x: float
    width: float


@dataclass(frozen=True)
class ChartBox:
    """A rectangle; `series` is the place of what it stands for, which has a colour."""

    x: float
    y: float
    width: float
    height: float
    series: int
    title: str


@dataclass(frozen=True)
class ColumnChart:
    """A column a day, in layers."""

    boxes: tuple[ChartBox, ...]
    most: int
    first: str
    last: str


@dataclass(frozen=True)
class CurveChartBox:
    """Cost so far, as a line and the area below it, with a level to be reached."""

    line: str
    area: str
    end_x: float
    end_y: float
    level_y: float
    first: str
    last: str


def segments(parts: Sequence[tuple[str, int]]) -> tuple[ChartSegment, ...]:
    """Parts of a whole, side by side; empty where there is no whole.

    >>> [(one.x, one.width) for one in segments([("in", 3), ("free", 1)])]
    [(0.0, 75.0), (75.0, 25.0)]
    """
    total = sum(count for _, count in parts)
    if not total:
        return ()
    starts = accumulate((count for _, count in parts), initial=0)
    return tuple(
        ChartSegment(name, count, count / total, 100 * start / total, 100 * count / total)
        for (name, count), start in zip(parts, starts, strict=False)
    )


def day_columns(days: Sequence[StudyDay], kinds: Sequence[str]) -> ColumnChart | None:
    """Submissions of the last days, a column each, a layer for each kind; None before the first."""
    filled = _every_day(days)
    if not filled:
        return None
    most = max(1, *(sum(day.submissions.values()) for day in filled))
    step = WIDTH / len(filled)
    width = min(0.8 * step, WIDEST)
    boxes = []
    for place, day in enumerate(filled):
        below = 0
        for series, kind in enumerate(kinds):
            count = day.submissions.get(kind, 0)
            if count:
                below += count
                height = HEIGHT * count / most
                y = HEIGHT - HEIGHT * below / most
                boxes.append(
                    ChartBox(
                        place * step + (step - width) / 2, y, width, height, series, f"{day.date}: {count:,} {kind}"
                    )
                )
    return ColumnChart(tuple(boxes), most, filled[0].date, filled[-1].date)


def cost_curve(days: Sequence[StudyDay], expected_cents: int) -> CurveChartBox | None:
    """What the study has cost by the end of each day, against what it is expected to; None while nothing is owed."""
    filled = _every_day(days)
    total = list(accumulate((day.cents for day in filled), initial=0))
    top = max(expected_cents, *total)
    if not filled or top <= 0:
        return None
    step = WIDTH / (len(total) - 1)
    points = [(place * step, HEIGHT - HEIGHT * max(cents, 0) / top) for place, cents in enumerate(total)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    end_x, end_y = points[-1]
    area = f"0,{HEIGHT:.1f} {line} {end_x:.1f},{HEIGHT:.1f}"
    return CurveChartBox(
        line, area, end_x, end_y, HEIGHT - HEIGHT * expected_cents / top, filled[0].date, filled[-1].date
    )


def _every_day(days: Sequence[StudyDay]) -> list[StudyDay]:
    """The days between the first and the last, those without work included; the last sixty of them."""
    if not days:
        return []
    known = {day.date: day for day in days}
    last = date.fromisoformat(max(known))
    first = max(date.fromisoformat(min(known)), last - timedelta(days=MOST_DAYS - 1))
    dates = [str(first + timedelta(days=number)) for number in range((last - first).days + 1)]
    return [known.get(one) or StudyDay(one, {}, 0) for one in dates]
