"""The plots of a filtering as files: the paper's Figure 1 in two rows, the probe, and the phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from winokit.drawing.charts import Chart
from winokit.drawing.figures import COLOURS, GREY, Figure, draw_forest, forest_height, whole_ticks
from winokit.drawing.plots import Forest
from winokit.stages.debias.pictures import Pictures
from winokit.stages.debias.plots import ARMS, axes_of, mixed, nats
from winokit.stages.debias.run import Debiased

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRST, SECOND = COLOURS[0], COLOURS[1]


def figures_of_filtering(filtering: Debiased, probe: Forest, charts: tuple[Chart, ...]) -> dict[str, Figure]:
    """The figures by name."""
    found: dict[str, Figure] = {}
    pictures = filtering.pictures
    if pictures is not None:
        width = 2.6 * len(pictures.arms)
        found["components"] = Figure([lambda ax: draw_panels(ax, filtering, pictures)], width, 4.8)
    if probe.blocks:
        found["probe"] = Figure([lambda ax: draw_forest(ax, probe, [])], 7.5, forest_height(probe))
    if charts:
        found["phases"] = Figure([_chart(chart) for chart in charts], 3.4, 2.6)
    return found


def draw_panels(ax: Axes, filtering: Debiased, pictures: Pictures) -> None:
    """Figure 1: above, cells of the plane coloured by answer; below, the two answers along the first component."""
    from matplotlib.colors import to_rgb

    place = ax.get_subplotspec()
    assert place is not None
    ax.set_axis_off()
    grid = place.subgridspec(2, len(pictures.arms), height_ratios=(3, 2), hspace=0.02)
    colours = np.array([to_rgb(FIRST), to_rgb(SECOND)])
    fullest = max(float(one.plane.sum(axis=0).max()) / one.n for one in pictures.arms)
    highest = max(float(one.line.max()) / one.n for one in pictures.arms)
    extent = (*pictures.first, *pictures.second)
    edges = np.linspace(*pictures.first, pictures.arms[0].line.shape[1] + 1)
    across, up = axes_of(pictures)
    for column, one in enumerate(pictures.arms):
        above, below = (ax.figure.add_subplot(grid[row, column]) for row in (0, 1))
        first, depth = mixed(one, fullest)
        ink = first[..., None] * colours[0] + (1 - first[..., None]) * colours[1]
        image = 1 - depth[..., None] * (1 - ink)
        above.imshow(image, origin="lower", extent=extent, aspect="auto", interpolation="nearest")
        above.set_title(f"{ARMS[one.arm]}\n{one.n:,} problems", fontsize=9)
        above.set_xticks([])
        above.set_yticks([])
        for answer, colour in enumerate((FIRST, SECOND)):
            name = ("first candidate is right", "second candidate is right")[answer]
            below.stairs(one.line[answer] / one.n, edges, fill=True, color=colour, alpha=0.35)
            below.stairs(one.line[answer] / one.n, edges, color=colour, label=name)
        below.set_ylim(0, 1.05 * highest)
        below.set_xlim(*pictures.first)
        below.set_yticks([])
        divergence = filtering.find(one.arm, "kl_histogram")
        if divergence is not None:
            chance = "" if divergence.chance is None else f" (by chance {nats(divergence.chance)})"
            below.set_title(f"KL {nats(divergence.value)}{chance}", fontsize=8)
        if column == 0:
            above.set_ylabel(up.replace(", ", "\n"))
            below.set_ylabel("share of\nproblems")
    ax.figure.supxlabel(across, fontsize="medium")


def _chart(chart: Chart) -> Callable[[Axes], None]:
    return lambda ax: draw_chart(ax, chart)


def draw_chart(ax: Axes, chart: Chart) -> None:
    """One value over phases; a dotted line at the level that means something."""
    scale = 100 if chart.percent else 1
    ax.plot(chart.at, [scale * value for value in chart.values], ".-", color=FIRST, markersize=4)
    if chart.mark is not None:
        ax.axhline(scale * chart.mark, color=GREY, linestyle="dotted", linewidth=1.3, zorder=3)
    ax.set_ylim(scale * chart.low, scale * chart.high * 1.05 if chart.low == 0 else scale * chart.high)
    ax.set_xlabel(chart.unit + (f" (dotted: {chart.mark_name})" if chart.mark_name else ""))
    ax.set_ylabel("per cent" if chart.percent else "problems")
    ax.set_title(chart.title, loc="left", fontsize=9)
    whole_ticks(ax.xaxis)
    whole_ticks(ax.yaxis)
