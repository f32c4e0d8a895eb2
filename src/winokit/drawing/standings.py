"""Where rows stand against one who knows nothing: one at a time, several together, and how that is said."""

from __future__ import annotations

from collections.abc import Iterable

from winokit.drawing.decision import BAD, GOOD, PLAIN, SURE, VerdictPoint
from winokit.drawing.wording import say
from winokit.results import ABOVE, AT, BELOW, FLOOR, UNKNOWN, Metric, stands, tested

MIXED = "mixed"
EACH = (ABOVE, AT, BELOW, UNKNOWN)
"""All that one row may be."""
SEVERAL = (ABOVE, MIXED, AT, BELOW, UNKNOWN)
"""All that several may be together."""
SAID = {
    ABOVE: "above {level}",
    AT: "not told from {level}",
    BELOW: "below {level}",
    UNKNOWN: "with no interval to judge it by",
}
TONES = {ABOVE: GOOD, AT: BAD, BELOW: BAD, UNKNOWN: PLAIN}


def standing(row: Metric | None, among: int = 1) -> str:
    """Where a row stands, as one of so many that share a verdict's level (Bonferroni); unknown where there is none."""
    level = None if row is None else row.level
    if row is None or level is None:
        return UNKNOWN
    p = row.details.get("p")
    if p is None:
        return stands(row)
    return tested(row, float(p) * among, SURE)


def together(places: Iterable[str]) -> str:
    """Several as one: above where all are, mixed where some are, below where all are, and at (none above) else."""
    known = set(places) - {UNKNOWN}
    if not known:
        return UNKNOWN
    if ABOVE in known:
        return ABOVE if known == {ABOVE} else MIXED
    return BELOW if known == {BELOW} else AT


def said(row: Metric, place: str, unit: str = "problems") -> str:
    """A row with what it was computed on and where it stands, as part of a sentence."""
    level = "the commonest answer" if FLOOR in row.details else "guessing"
    where = SAID[place].format(level=f"{level} ({say_level(row)})")
    return f"{say(row)} of {row.n:,} {unit}, {where}"


def say_level(row: Metric) -> str:
    """The level a row is held against, as a percentage."""
    level = row.level
    return "unknown" if level is None else f"{100 * level:.1f}"


def point_of(fact: str, place: str, text: str) -> VerdictPoint:
    """A finding that claims where something stands, in the tone of that."""
    return VerdictPoint(text, TONES[place], {fact: place})
