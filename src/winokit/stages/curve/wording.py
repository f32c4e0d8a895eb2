"""What a learning curve comes to, in words: the line, where it arrives, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from winokit.drawing.wording import NOTHING, PER_CENT, points
from winokit.methods.metrics import PUBLISHED
from winokit.stages.curve.fit import CurveReach, CurveSeries

NAMES = {"accuracy": "single", "group_accuracy": "group"}
"""As the papers call the two scores."""
DOUBLING = math.log(2)
SAID = 118_000
"""Training problems that are said to be needed for human accuracy, beside WinoGrande's line."""
LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
BEYOND = 1e15
"""More problems than this are as good as none."""


def amount(size: float) -> str:
    """A number of problems to three digits, large ones in words.

    >>> amount(1_186_923), amount(117_643.2), amount(38.2), amount(math.inf)
    ('1.19 million', '118,000', '38', 'never')
    """
    if not size < BEYOND:
        return "never"
    for unit, name in LARGE:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{float(f'{size:.3g}'):,.0f}"


def formula(series: CurveSeries) -> str:
    """The line as the papers write it, in per cent."""
    if series.fit is None:
        return NOTHING
    sign = "−" if series.fit.intercept < 0 else "+"
    slope = f"{series.fit.slope:.3f}".replace("-", "−")
    return f"{slope}·ln x {sign} {abs(series.fit.intercept):.2f}"


def doubling(series: CurveSeries) -> str:
    """Points gained by training on twice as much, with the interval."""
    if series.fit is None:
        return NOTHING
    interval = series.fit.slope_interval()
    gained = points(series.fit.slope * DOUBLING / 100)
    if not math.isfinite(interval.low):
        return gained
    return f"{gained} [{points(interval.low * DOUBLING / 100)}, {points(interval.high * DOUBLING / 100)}]"


def arrival(reach: CurveReach | None) -> str:
    """The size at which the goal is reached, with its interval."""
    if reach is None:
        return NOTHING
    if not reach.low < BEYOND:
        return amount(reach.low)
    return f"{amount(reach.size)} [{_end(reach.low)}, {_end(reach.high)}]"


def _end(size: float) -> str:
    """An end of an interval of sizes: less than one problem is none."""
    return "0" if size < 1 else "no end" if not size < BEYOND else amount(size)


def names_of(series: Sequence[CurveSeries]) -> list[str]:
    """What tells curves apart: the formalization, the test set, or both."""
    sets, kinds = {one.dataset for one in series}, {one.formalization for one in series}
    found = []
    for one in series:
        parts = [one.formalization] if len(kinds) > 1 or len(sets) == 1 else []
        parts += [one.dataset] if len(sets) > 1 else []
        found.append(" on ".join(part for part in parts if part) or one.dataset)
    return found


def published(human: float | None) -> dict[str, Any]:
    """What WinoGrande's published line says, and what is said of it.

    >>> published(94.0)["n_to_reach"], round(published(94.0)["at_118000"], 1)
    (1187023, 82.8)
    """
    target = human or 94.0
    reached, there = PUBLISHED.reaches(target), PUBLISHED.at(SAID)
    line = f"{PUBLISHED.slope}·ln x + {PUBLISHED.intercept}"
    return {
        "slope": PUBLISHED.slope,
        "intercept": PUBLISHED.intercept,
        "human": target,
        "n_to_reach": round(reached),
        f"at_{SAID}": there,
        "said": (
            f"RoBERTa on WinoGrande (Sakaguchi et al., 2020): {line} reaches {target:g}{PER_CENT} at {amount(reached)} "
            f"training problems. At {SAID:,}, the number given beside it, the line has {there:.1f}{PER_CENT}."
        ),
    }


def of_reach(one: CurveSeries, largest: float) -> str:
    """Where the goal is reached, as a sentence."""
    reach, fit = one.reach, one.fit
    assert reach is not None
    assert fit is not None
    goal = f"{reach.target:g}{PER_CENT}"
    if fit.slope <= 0:
        return f"the line does not rise, and never has {goal}."
    if reach.size <= largest:
        return f"the line has {goal} at {amount(reach.size)} problems, which is within what was trained on."
    if not reach.size < BEYOND:
        return f"the line rises too little to have {goal} at any number of problems there could be."
    told = f"the line would have {goal} at {amount(reach.size)} problems"
    if not one.sure:
        return f"{told}, give or take nobody knows how much."
    if one.rises:
        return f"{told} (95{PER_CENT}: {_end(reach.low)} to {_end(reach.high)}), if it went on like that."
    return f"{told}, but its slope may be nought: at {_end(reach.low)} problems or at none."
