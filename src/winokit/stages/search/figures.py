"""The figures of a search as files: the distribution of Liu et al.'s Figure 1, and the best of ever more trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from winokit.drawing.figures import COLOURS, GREY, Figure, shortened
from winokit.stages.search.findings import TRIES, SearchFindings
from winokit.stages.search.luck import best_of
from winokit.stages.search.plots import TrialStrip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE = COLOURS[0], COLOURS[1]
WIDE = 0.35


def figures_of_search(findings: SearchFindings, shown: tuple[TrialStrip, ...]) -> dict[str, Figure]:
    """The figures by name."""
    width = max(4.5, 1.5 + 1.05 * len(shown))
    return {
        "distribution": Figure([lambda ax: draw_distribution(ax, findings, shown)], width, 4.2),
        "best-of": Figure([lambda ax: draw_best_of(ax, findings)], 6.5, 4.0),
    }


def draw_distribution(ax: Axes, findings: SearchFindings, shown: tuple[TrialStrip, ...]) -> None:
    """A violin and the trials themselves; a bar at the median, the upper quartile in words, as in the paper."""
    for place, strip in enumerate(shown):
        scores = np.array([100 * dot.score for dot in strip.dots])
        if len(set(scores)) > 1:
            drawn: Any = ax.violinplot([scores], [place], widths=2 * WIDE, showextrema=False)
            drawn["bodies"][0].set(facecolor=BLUE, edgecolor="none", alpha=0.18)
        reach = max(1, *(abs(dot.y) for dot in strip.dots))
        x = place + np.array([dot.y for dot in strip.dots]) * WIDE * 0.55 / reach
        hollow = np.array([dot.hollow for dot in strip.dots])
        ax.scatter(
            x, scores, s=11, facecolors=np.where(hollow, "white", BLUE), edgecolors=BLUE, linewidths=0.7, zorder=3
        )
        spread = strip.spread
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
    ax.set_xticks(range(len(shown)), [shortened(strip.title, 22) for strip in shown], rotation=25, ha="right")
    ax.set_xlim(-0.6, len(shown) - 0.3)
    if any(dot.hollow for strip in shown for dot in strip.dots):
        ax.scatter([], [], s=11, facecolors="white", edgecolors=BLUE, linewidths=0.7, label="not told from guessing")
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
        ax.axhline(100 * findings.human, color="#00795a", linestyle="dashdot", linewidth=1.1, label="people")
