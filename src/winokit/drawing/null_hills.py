"""The null of each scorer as a hill, with its score beside it, all on one axis.

The hill is the normal curve with the row's null and its standard deviation, as the judge wrote them.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from winokit.drawing.wording import percent
from winokit.results import NULL, NULL_ERROR, Metric

WIDTH, HEIGHT = 200, 40
"""Of the drawing, without the numbers below it."""
REACH = 3.2
"""Standard deviations of the null that a hill shows on each side."""
LEAST_REACH = 0.1
"""What the axis shows at least on each side of a null: ten points."""
STEPS = 40
"""Straight pieces of an outline."""
SPACINGS = (0.05, 0.1, 0.25)
"""Distances of ticks; the first that needs no more than `MOST_TICKS`."""
MOST_TICKS = 7


@dataclass(frozen=True, slots=True)
class NullHill:
    """A row of right answers, and the ends of the axis it is drawn on."""

    row: Metric
    low: float
    high: float

    @property
    def null(self) -> float:
        """Mean of what the scorer's own choices would get."""
        return float(self.row.details[NULL] or 0.0)

    @property
    def error(self) -> float:
        """Standard deviation of what they would get."""
        return float(self.row.details[NULL_ERROR] or 0.0)

    @property
    def outline(self) -> str:
        """The hill as the points of an SVG polygon."""
        offsets = [REACH * (2 * step / STEPS - 1) for step in range(STEPS + 1)]
        corners = [(self.null + offset * self.error, math.exp(-offset * offset / 2)) for offset in offsets]
        return " ".join(f"{self.across(value)},{round(HEIGHT - (HEIGHT - 4) * tall, 2)}" for value, tall in corners)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Round values on the axis: how far to the right, and the label."""
        length = self.high - self.low
        spacing = next((each for each in SPACINGS if length / each <= MOST_TICKS), SPACINGS[-1])
        first = math.ceil(round(self.low / spacing, 6))
        last = math.floor(round(self.high / spacing, 6))
        values = [count * spacing for count in range(first, last + 1)]
        return tuple((self.across(value), f"{100 * value:.0f}") for value in values)

    @property
    def summary(self) -> str:
        """The picture in words."""
        return f"its score is {percent(self.row.value)}; its own choices would get {percent(self.null)}"

    def across(self, value: float) -> float:
        """How far to the right a value lies, kept inside the drawing."""
        share = (value - self.low) / (self.high - self.low)
        return round(WIDTH * min(max(share, 0.0), 1.0), 2)


def draw_hills(rows: Iterable[Metric | None]) -> list[NullHill | None]:
    """A hill for each row that has a null with a spread, on the axis of them all; None for others."""
    rows = list(rows)
    ends: list[float] = []
    for row in rows:
        if row is not None and _has_spread(row):
            ends += _ends_of(row)
    if not ends:
        return [None for _ in rows]
    margin = 0.05 * (max(ends) - min(ends))
    low = max(min(ends) - margin, 0.0)
    high = min(max(ends) + margin, 1.0)
    return [NullHill(row, low, high) if row is not None and _has_spread(row) else None for row in rows]


def _has_spread(row: Metric) -> bool:
    return row.details.get(NULL) is not None and bool(row.details.get(NULL_ERROR))


def _ends_of(row: Metric) -> list[float]:
    """The ends of a row's hill, its score and its interval."""
    null = float(row.details[NULL] or 0.0)
    error = float(row.details[NULL_ERROR] or 0.0)
    reach = max(REACH * error, LEAST_REACH)
    ends = [null - reach, null + reach, row.value, row.low, row.high]
    return [end for end in ends if end is not None]
