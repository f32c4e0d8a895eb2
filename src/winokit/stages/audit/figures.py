"""The figures of a report, drawn with matplotlib for slides and papers."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from winokit.drawing.figures import GREY, NONE, PART, WHOLE, Figure, forest_figures, shortened, whole_ticks
from winokit.drawing.wording import percent
from winokit.results import Metric
from winokit.stages.audit.page import AuditPage
from winokit.stages.audit.plots import Confusion, GroupStack, Histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STACK_NAMES = ("every twin right", "some right", "none right")
STACK_COLOURS = (WHOLE, PART, NONE)
"""Names and colours of the shares of a `GroupStack`, in its order."""


def figures_of(page: AuditPage) -> dict[str, Figure]:
    """Make the figures of a report that its run has data for.

    They are by name.
    """
    names = [scorer.name for scorer in page.scorers]
    forests = ("forest", "finer", "switching", "artifacts", "differences")
    figures = forest_figures({name: getattr(page, name) for name in forests}, names)
    if page.ranked:
        rows = [scorer.mark.row for scorer in page.judged if scorer.mark]
        figures["ranking"] = Figure([partial(draw_ranking, rows=rows)], 7.5, 3.0)
    if page.stacks:
        height = 1.2 + 0.75 * len(page.stacks)
        figures["groups"] = Figure([partial(draw_stacks, stacks=page.stacks)], 7.5, height)
    if page.histograms:
        panels = [partial(draw_histogram, histogram=histogram) for histogram in page.histograms]
        figures["margins"] = Figure(panels, 4.5, 3.2)
    if page.confusions:
        panels = [partial(draw_confusion, confusion=confusion) for confusion in page.confusions]
        figures["position"] = Figure(panels, 3.4, 3.0)
    return figures


def draw_ranking(ax: "Axes", rows: Sequence[Metric]) -> None:
    """Draw the accuracy of every scorer with its interval and chance.

    `rows` are accuracies, the best first.
    """
    ranks = range(1, len(rows) + 1)
    lows = [100 * _get_low_end(row) for row in rows]
    highs = [100 * _get_high_end(row) for row in rows]
    ax.vlines(ranks, lows, highs, colors=PART, linewidth=1.2)
    ax.plot(ranks, [100 * row.value for row in rows], ".", color=WHOLE, markersize=3)
    ax.plot(ranks, [100 * (row.chance or 0) for row in rows], ":", color=GREY)
    whole_ticks(ax.xaxis)
    ax.set_xlabel("scorers, best first (dotted: chance)")
    ax.set_ylabel("accuracy, per cent")


def _get_low_end(row: Metric) -> float:
    """Lower end of a row's interval, or its value without an interval."""
    return row.value if row.low is None else row.low


def _get_high_end(row: Metric) -> float:
    """Upper end of a row's interval, or its value without an interval."""
    return row.value if row.high is None else row.high


def draw_stacks(ax: "Axes", stacks: Sequence[GroupStack]) -> None:
    """Draw the shares of groups with all, some or no members right.

    Each scorer has a bar. A thin bar below it has the shares that guessing gives, if they are known.
    """
    for y, stack in enumerate(stacks):
        _draw_stack(ax, y, stack)
        if stack.chance is not None:
            _draw_chance(ax, y, stack.chance)
    ax.set_yticks(range(len(stacks)), [f"{shortened(stack.scorer)}\n{stack.n:,} groups" for stack in stacks])
    ax.set_ylim(len(stacks) - 0.4, -0.5)
    ax.set_xlim(0, 100)
    guessed = " (thin: guessing)" if any(stack.chance for stack in stacks) else ""
    ax.set_xlabel(f"per cent of groups{guessed}")


def _draw_stack(ax: "Axes", y: int, stack: GroupStack) -> None:
    """Draw the bar of one scorer. The first bar labels the legend.

    `y` is the number of the bar from the top, from 0. Shares of less than 6 per cent have no number in them.
    """
    left_end = 0.0
    for row, colour, name in zip(stack.shares, STACK_COLOURS, STACK_NAMES, strict=True):
        share = 100 * row.value
        label = name if y == 0 else None
        ax.barh(y, share, left=left_end, height=0.5, color=colour, label=label)
        if share >= 6:
            ink = "black" if colour == PART else "white"
            ax.text(left_end + share / 2, y, f"{share:.1f} %", ha="center", va="center", color=ink)
        left_end += share


def _draw_chance(ax: "Axes", y: int, chances: Sequence[float]) -> None:
    """Draw the thin bar with the shares that guessing gives."""
    left_end = 0.0
    for chance, colour in zip(chances, STACK_COLOURS, strict=True):
        ax.barh(y + 0.36, 100 * chance, left=left_end, height=0.1, color=colour, alpha=0.55)
        left_end += 100 * chance


def draw_histogram(ax: "Axes", histogram: Histogram) -> None:
    """Draw the margins of right answers upwards, of wrong ones downwards."""
    width = histogram.edges[1] - histogram.edges[0]
    starts = histogram.edges[:-1]
    ax.bar(starts, histogram.right, width * 0.92, align="edge", color=WHOLE)
    ax.bar(starts, [-n for n in histogram.wrong], width * 0.92, align="edge", color=NONE)
    ax.axhline(0, color=GREY, linewidth=0.8)
    whole_ticks(ax.yaxis)
    is_open = " (last bin open)" if histogram.beyond else ""
    ax.set_xlabel(f"margin between the two best scores{is_open}")
    ax.set_ylabel("wrong ← problems → right")
    ax.set_title(shortened(histogram.scorer, 48), loc="left", fontsize=9)


def draw_confusion(ax: "Axes", confusion: Confusion) -> None:
    """Draw how often each candidate was chosen when each was right.

    A row is the place of the right candidate, a column the chosen place. Cells are shaded by their share of the row.
    """
    counts = np.array(confusion.counts)
    row_count, column_count = counts.shape
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row in range(row_count):
        for column in range(column_count):
            share = float(shares[row, column])
            ink = "white" if share > 0.6 else "black"
            text = f"{counts[row, column]:,}\n{percent(share, 0)}"
            ax.text(column, row, text, ha="center", va="center", color=ink)
    column_names = list(confusion.places)
    if confusion.abstained:
        column_names.append("no answer")
    ax.set_xticks(range(column_count), column_names)
    ax.set_yticks(range(row_count), list(confusion.places))
    ax.set_xlabel("chosen candidate")
    ax.set_ylabel("right candidate")
    ax.set_title(shortened(confusion.scorer, 40), loc="left", fontsize=9)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
