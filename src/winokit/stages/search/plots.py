"""The plots of a search: first their numbers, then as figures for slides and papers.

A strip of trials is the distribution of Liu et al.'s (2020) Figure 1; beside it the best of ever more trials, and the
medians by setting.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from winokit.drawing.figures import COLOURS, GREY, Axes, Figure, shortened
from winokit.drawing.plots import Forest
from winokit.stages.search.findings import TRIES, SearchFinding, SearchFindings
from winokit.stages.search.luck import best_of
from winokit.stages.search.trials import Trial

CLOSE, ROOM = 1.1, 4
"""Dots closer than this, in per cent of the axis, stand above one another, at most so many to either side."""
STEP = 0.05
PARTS = 3
"""A range of settings is shown in so many parts."""
BLUE, ORANGE, GREEN = COLOURS[0], COLOURS[1], "#00795a"
WIDE = 0.35
"""Half the width of a violin."""


class TrialDot(NamedTuple):
    """A trial: where it lies on the axis, in per cent; how far from the middle line; and whether it learned nothing."""

    x: float
    y: int
    score: float
    number: int
    hollow: bool


Strips = Sequence[tuple[SearchFinding, Sequence[TrialDot]]]
"""Each formalization that has a trial to show, and its trials on the axis."""


def axis(findings: SearchFindings) -> Forest:
    """An axis that holds every trial and every line that means something."""
    lines = [findings.chance, findings.majority, *([] if findings.human is None else [findings.human])]
    values = [*lines, *(score for one in findings.found for score in (one.chance, *one.scores))]
    low, high = math.floor(min(values) / STEP) * STEP, math.ceil(max(values) / STEP) * STEP
    return Forest((), max(0.0, low), min(1.0, max(high, low + 2 * STEP)))


def ticks(scale: Forest) -> tuple[float, ...]:
    """Round numbers along an axis, about five.

    >>> ticks(Forest((), 0.45, 1.0))
    (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    """
    between = next(step for step in (0.05, 0.1, 0.2) if (scale.high - scale.low) / step < 6 or step == 0.2)
    first, last = math.ceil(scale.low / between - 1e-9), math.floor(scale.high / between + 1e-9)
    return tuple(round(number * between, 2) for number in range(first, last + 1))


def dots_of(trials: Sequence[Trial], scale: Forest) -> Iterator[TrialDot]:
    """Dots in order of score; those that would cover one another take turns above and below."""
    last: dict[int, float] = {}
    places = [0, *(side * step for step in range(1, ROOM + 1) for side in (1, -1))]
    scored = [(trial.ended.accuracy, trial.number, trial) for trial in trials if trial.ended.accuracy is not None]
    for score, _, trial in sorted(scored, key=lambda dot: dot[:2]):
        x = scale.place(score)
        y = next(
            (place for place in places if x - last.get(place, -math.inf) >= CLOSE), places[trial.number % len(places)]
        )
        last[y] = x
        yield TrialDot(x, y, score, trial.number, trial.degenerate)


def by_setting(findings: SearchFindings, name: str) -> Iterator[tuple[str, list[tuple[float, int] | None]]]:
    """Each value of a setting, and for each formalization the median and of how many; None where no trial has it."""
    some = findings.space.parts[name]
    parts = [(f"{value:g}", value, math.nextafter(value, math.inf)) for value in some.values]
    if some.is_range:
        lowest, highest = some.values
        edges = np.geomspace(lowest, highest, PARTS + 1).tolist()
        titles = [f"{low:.2g} to {high:.2g}" for low, high in pairwise(edges)]
        # the last part has its end in it
        parts = list(zip(titles, edges[:-1], [*edges[1:-1], math.inf], strict=True))
    for title, low, high in parts:
        within = ([trial for trial in one.trials if low <= trial.drawn[name] < high] for one in findings.found)
        scores = [[t.ended.accuracy for t in trials if t.ended.accuracy is not None] for trials in within]
        yield title, [(float(np.median(own)), len(own)) if own else None for own in scores]


def figures_of_search(findings: SearchFindings, shown: Strips) -> dict[str, Figure]:
    """The figures by name."""
    width = max(4.5, 1.5 + 1.05 * len(shown))
    return {
        "distribution": Figure([lambda ax: draw_distribution(ax, findings, shown)], width, 4.2),
        "best-of": Figure([lambda ax: draw_best_of(ax, findings)], 6.5, 4.0),
    }


def draw_distribution(ax: Axes, findings: SearchFindings, shown: Strips) -> None:
    """A violin and the trials themselves; a bar at the median, the upper quartile in words, as in the paper."""
    for place, (finding, dots) in enumerate(shown):
        scores, spread = np.array([100 * dot.score for dot in dots]), finding.spread
        assert spread is not None
        if len(set(scores)) > 1:
            drawn: Any = ax.violinplot([scores], [place], widths=2 * WIDE, showextrema=False)
            drawn["bodies"][0].set(facecolor=BLUE, edgecolor="none", alpha=0.18)
        reach = max(1, *(abs(dot.y) for dot in dots))
        x = place + np.array([dot.y for dot in dots]) * WIDE * 0.55 / reach
        hollow = np.array([dot.hollow for dot in dots])
        ax.scatter(
            x, scores, s=11, facecolors=np.where(hollow, "white", BLUE), edgecolors=BLUE, linewidths=0.7, zorder=3
        )
        # Named once, for the legend.
        half, middle = ("middle half", "median") if place == 0 else ("", "")
        quartiles = (100 * spread.lower_quartile, 100 * spread.upper_quartile)
        ax.vlines(place, *quartiles, color=GREY, linewidth=4, alpha=0.45, label=half)
        ends = (place - WIDE, place + WIDE)
        ax.hlines(100 * spread.median, *ends, color=ORANGE, linewidth=2, zorder=4, label=middle)
        ax.annotate(
            f"{100 * spread.upper_quartile:.1f}",
            (place + WIDE, 100 * spread.upper_quartile),
            (2, 0),
            textcoords="offset points",
            fontsize=7,
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
    _lines(ax, findings)
    ax.set_xticks(
        range(len(shown)), [shortened(finding.formalization, 22) for finding, _ in shown], rotation=25, ha="right"
    )
    ax.set_xlim(-0.6, len(shown) - 0.3)
    if any(dot.hollow for _, dots in shown for dot in dots):
        ax.scatter(
            [], [], s=11, facecolors="white", edgecolors=BLUE, linewidths=0.7, label="indistinguishable from guessing"
        )
    ax.set_ylabel("per cent right on the dev set\n(number: upper quartile)")
    ax.grid(axis="y", color="#e2e1db", linewidth=0.8)
    ax.set_axisbelow(True)


def draw_best_of(ax: Axes, findings: SearchFindings) -> None:
    """The expected best score of one trial, two, and so on."""
    for place, one in enumerate(findings.found):
        if one.scores:
            tries = np.arange(1, len(one.scores) + 1)
            values = [100 * best_of(one.scores, int(number)) for number in tries]
            told = [number - 1 for number in TRIES if number <= len(tries)]
            again, place_of_colour = divmod(place, len(COLOURS))
            colour, name = COLOURS[place_of_colour], shortened(one.formalization, 24)
            ax.plot(tries, values, (".-", ".--", ".:")[again % 3], color=colour, label=name, markevery=told)
    _lines(ax, findings)
    most = max(len(one.scores) for one in findings.found)
    marks = [number for number in TRIES if number < 0.8 * most] + [most]
    ax.set_xscale("log")
    ax.set_xticks(marks, [str(number) for number in marks])
    ax.minorticks_off()
    ax.set_xlabel("trials, logarithmic")
    ax.set_ylabel("per cent right on the dev set,\nexpected of the best")


def _lines(ax: Axes, findings: SearchFindings) -> None:
    """Guessing, the commonest answer, people."""
    ax.axhline(100 * findings.chance, color=GREY, linestyle="dotted", linewidth=1.3, label="guessing")
    if abs(findings.majority - findings.chance) > 0.005:
        ax.axhline(100 * findings.majority, color=GREY, linestyle="dashed", linewidth=1.1, label="commonest answer")
    if findings.human is not None:
        ax.axhline(100 * findings.human, color=GREEN, linestyle="dashdot", linewidth=1.1, label="people")
