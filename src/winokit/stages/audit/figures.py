"""The figures of a report, drawn with matplotlib for slides and papers."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from winokit.drawing.figures import GREY, NONE, PART, WHOLE, Figure, forest_figures, shortened, whole_ticks
from winokit.drawing.wording import percent
from winokit.results import Metric
from winokit.stages.audit.page import AuditPage
from winokit.stages.audit.plots import Confusion, GroupStack, Histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def figures_of(page: AuditPage) -> dict[str, Figure]:
    """The figures of a report by name."""
    names = [scorer.name for scorer in page.scorers]
    forests = ("forest", "finer", "switching", "artifacts", "differences")
    figures = forest_figures({name: getattr(page, name) for name in forests}, names)
    if page.ranked:
        rows = [each.mark.row for each in page.judged if each.mark]
        figures["ranking"] = Figure([partial(draw_ranking, rows=rows)], 7.5, 3.0)
    if page.stacks:
        figures["groups"] = Figure([partial(draw_stacks, stacks=page.stacks)], 7.5, 1.2 + 0.75 * len(page.stacks))
    if page.histograms:
        panels = [partial(draw_histogram, histogram=histogram) for histogram in page.histograms]
        figures["margins"] = Figure(panels, 4.5, 3.2)
    if page.confusions:
        places = [partial(draw_confusion, confusion=confusion) for confusion in page.confusions]
        figures["position"] = Figure(places, 3.4, 3.0)
    return figures


def draw_ranking(ax: "Axes", rows: Sequence[Metric]) -> None:
    """Accuracy of every scorer with its interval, from the best to the worst, above what guessing gives."""
    places = range(1, len(rows) + 1)
    ends = [(100 * (row.value if end is None else end)) for row in rows for end in (row.low, row.high)]
    ax.vlines(places, ends[::2], ends[1::2], colors=PART, linewidth=1.2)
    ax.plot(places, [100 * row.value for row in rows], ".", color=WHOLE, markersize=3)
    ax.plot(places, [100 * (row.chance or 0) for row in rows], ":", color=GREY)
    whole_ticks(ax.xaxis)
    ax.set_xlabel("scorers, best first (dotted: chance)")
    ax.set_ylabel("accuracy, per cent")


def draw_stacks(ax: "Axes", stacks: Sequence[GroupStack]) -> None:
    """Whole, in part, none: one bar per scorer, what guessing gives as a thin bar below it."""
    names = ("every twin right", "some right", "none right")
    for y, stack in enumerate(stacks):
        left_end = guess = 0.0
        for place, (row, colour) in enumerate(zip(stack.shares, (WHOLE, PART, NONE), strict=True)):
            share = 100 * row.value
            ax.barh(y, share, left=left_end, height=0.5, color=colour, label=names[place] if y == 0 else None)
            if share >= 6:
                ink = "black" if colour == PART else "white"
                ax.text(left_end + share / 2, y, f"{share:.1f} %", ha="center", va="center", color=ink)
            left_end += share
            if stack.chance is not None:
                ax.barh(y + 0.36, 100 * stack.chance[place], left=guess, height=0.1, color=colour, alpha=0.55)
                guess += 100 * stack.chance[place]
    ax.set_yticks(range(len(stacks)), [f"{shortened(stack.scorer)}\n{stack.n:,} groups" for stack in stacks])
    ax.set_ylim(len(stacks) - 0.4, -0.5)
    ax.set_xlim(0, 100)
    guessed = " (thin: guessing)" if any(stack.chance for stack in stacks) else ""
    ax.set_xlabel(f"per cent of groups{guessed}")


def draw_histogram(ax: "Axes", histogram: Histogram) -> None:
    """Margins of right answers above the line, of wrong ones below."""
    width = histogram.edges[1] - histogram.edges[0]
    starts = histogram.edges[:-1]
    ax.bar(starts, histogram.right, width * 0.92, align="edge", color=WHOLE)
    ax.bar(starts, [-n for n in histogram.wrong], width * 0.92, align="edge", color=NONE)
    ax.axhline(0, color=GREY, linewidth=0.8)
    whole_ticks(ax.yaxis)
    ax.set_xlabel("margin between the two best scores" + (" (last bin open)" if histogram.beyond else ""))
    ax.set_ylabel("wrong ← problems → right")
    ax.set_title(shortened(histogram.scorer, 48), loc="left", fontsize=9)


def draw_confusion(ax: "Axes", confusion: Confusion) -> None:
    """Place of the right candidate against the place chosen, shaded by share of the row."""
    rows = len(confusion.counts)
    columns = len(confusion.counts[0])
    shares = [[confusion.share(row, column) for column in range(columns)] for row in range(rows)]
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row in range(rows):
        for column in range(columns):
            ink = "white" if shares[row][column] > 0.6 else "black"
            text = f"{confusion.counts[row][column]:,}\n{percent(shares[row][column], 0)}"
            ax.text(column, row, text, ha="center", va="center", color=ink)
    ax.set_xticks(range(columns), [*confusion.places, *(["no answer"] if confusion.abstained else [])])
    ax.set_yticks(range(rows), list(confusion.places))
    ax.set_xlabel("chosen candidate")
    ax.set_ylabel("right candidate")
    ax.set_title(shortened(confusion.scorer, 40), loc="left", fontsize=9)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
