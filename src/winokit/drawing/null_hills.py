"""Null distributions as hills, each with its scorer's score, on one axis.

A hill is the normal curve with the row's null and its standard deviation, as the judge wrote them.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from winokit.drawing.wording import percent
from winokit.results import NULL, NULL_ERROR, Metric

WIDTH, HEIGHT = 200, 40
"""Size of the drawing, without the numbers below it."""
REACH = 3.2
"""Standard deviations of the null that a hill shows on each side."""
LEAST_REACH = 0.1
"""Smallest distance that the axis shows on each side of a null: ten points."""
STEPS = 40
"""Straight pieces of an outline."""
SPACINGS = (0.05, 0.1, 0.25)
"""Distances of ticks; the first that needs no more than `MOST_TICKS`."""
MOST_TICKS = 7


@dataclass(frozen=True, slots=True)
class NullHill:
    """A row with a null, and the ends of its axis."""

    row: Metric
    low: float
    high: float

    @property
    def null(self) -> float:
        """Expected share if right answers change places."""
        return float(self.row.details[NULL] or 0.0)

    @property
    def error(self) -> float:
        """Standard deviation of that share."""
        return float(self.row.details[NULL_ERROR] or 0.0)

    @property
    def outline(self) -> str:
        """Outline of the hill, as the points of an SVG polygon."""
        offsets = [REACH * (2 * step / STEPS - 1) for step in range(STEPS + 1)]
        corners = [(self.null + offset * self.error, math.exp(-offset * offset / 2)) for offset in offsets]
        return " ".join(f"{self.across(value)},{round(HEIGHT - (HEIGHT - 4) * tall, 2)}" for value, tall in corners)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Round values on the axis, as pairs of horizontal position and label."""
        length = self.high - self.low
        spacing = next((each for each in SPACINGS if length / each <= MOST_TICKS), SPACINGS[-1])
        first = math.ceil(round(self.low / spacing, 6))
        last = math.floor(round(self.high / spacing, 6))
        values = [count * spacing for count in range(first, last + 1)]
        return tuple((self.across(value), f"{100 * value:.0f}") for value in values)

    @property
    def summary(self) -> str:
        """Score and null in words, for readers who cannot see the hill."""
        return f"its score is {percent(self.row.value)}; its own choices would get {percent(self.null)}"

    def across(self, value: float) -> float:
        """Horizontal position of a value, kept inside the drawing.

        It is from 0 to 200, the width of the drawing.
        """
        share = (value - self.low) / (self.high - self.low)
        return round(WIDTH * min(max(share, 0.0), 1.0), 2)


def draw_hills(rows: Iterable[Metric | None]) -> list[NullHill | None]:
    """One hill per row, all on the same axis.

    None for a row that is None, or that has no null with a spread.
    """
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
    """Whether a row has a null, with a standard deviation above 0."""
    return row.details.get(NULL) is not None and bool(row.details.get(NULL_ERROR))


def _ends_of(row: Metric) -> list[float]:
    """Values that the axis must include for a row.

    These are the ends of its hill and of its interval, and its score.
    """
    null = float(row.details[NULL] or 0.0)
    error = float(row.details[NULL_ERROR] or 0.0)
    reach = max(REACH * error, LEAST_REACH)
    ends = [null - reach, null + reach, row.value, row.low, row.high]
    return [end for end in ends if end is not None]
