"""One value over phases or steps, before anybody draws: a line, the level that means something, the place kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from winokit.drawing.wording import percent

PHASE, STEP = "phase", "step"


@dataclass(frozen=True, slots=True)
class Chart:
    """A value at each of some phases or steps; places on the page are in per cent from the left and from the top."""

    title: str
    values: tuple[float, ...]
    at: tuple[int, ...]
    """The phase or step of each value; phase 0 is before any."""
    low: float
    high: float
    unit: str = PHASE
    percent: bool = False
    mark: float | None = None
    """The level that means something."""
    mark_name: str = ""
    band: tuple[tuple[float, float], ...] = ()
    """The interval of each value, where it is known."""
    kept: int | None = None
    """The step whose weights were kept."""

    @property
    def places(self) -> tuple[tuple[float, float], ...]:
        """Where each value stands."""
        return tuple((self.across(at), self.height(value)) for at, value in zip(self.at, self.values, strict=True))

    @property
    def points(self) -> str:
        """The line for an SVG that is 100 wide and 100 high."""
        return _path(self.places)

    @property
    def outline(self) -> str:
        """The band for the same SVG: along its upper edge and back along the lower."""
        ends = [(self.across(at), *ends) for at, ends in zip(self.at, self.band, strict=True)]
        upper = [(x, self.height(high)) for x, _, high in ends]
        return _path([*upper, *((x, self.height(low)) for x, low, _ in reversed(ends))])

    def across(self, at: int) -> float:
        """How far from the left a phase or step lies; alone, in the middle."""
        first, last = self.at[0], self.at[-1]
        return 50.0 if first == last else 100 * (at - first) / (last - first)

    def height(self, value: float) -> float:
        """How far below the top a value lies."""
        return 100 - 100 * (value - self.low) / ((self.high - self.low) or 1)

    def say(self, value: float) -> str:
        """A value of the chart: a share, a count, or a number to two places."""
        if self.percent:
            return percent(value, 0)
        return f"{value:,.0f}" if value == round(value) else f"{value:.2f}"


def _path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in places)


def tenths_around(values: Sequence[float]) -> tuple[float, float]:
    """Tenths that hold all values, and never the same one twice.

    >>> tenths_around([0.44, 0.5]), tenths_around([0.5])
    ((0.4, 0.5), (0.5, 0.6))
    """
    low, high = math.floor(10 * min(values) + 1e-9), math.ceil(10 * max(values) - 1e-9)
    return low / 10, max(high, low + 1) / 10
