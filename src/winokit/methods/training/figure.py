"""The curve of a run, drawn: training loss and dev accuracy by step, with what guessing gives."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winokit.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREY = "#0067a3", "#c2500a", "#5d6066"


def write_figure(curve: Mapping[str, Any], path: Path) -> None:
    """Write the figure of a run's curve as PNG; without a dev set it is the loss alone."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    with rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        panels = 2 if curve["dev"] else 1
        figure = Figure(figsize=(4.5 * panels, 3.2), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, panels, squeeze=False)[0]
        for draw, ax in zip((_draw_loss, _draw_accuracy), axes, strict=False):
            draw(ax, curve)
            ax.set_xlabel("step")
            ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
            if ax.get_legend_handles_labels()[0]:  # above the panel, where it hides nothing
                ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, fontsize=7)
        out = BytesIO()
        with warnings.catch_warnings():
            # matplotlib complains where a figure of one point is laid out.
            warnings.simplefilter("ignore", UserWarning)
            figure.savefig(out, format="png", dpi=160)
    write_whole(path, out.getvalue())


def _draw_loss(ax: Axes, curve: Mapping[str, Any]) -> None:
    ax.plot([row["step"] for row in curve["train"]], [row["loss"] for row in curve["train"]], color=BLUE)
    if curve["guessing_loss"] is not None:
        ax.axhline(curve["guessing_loss"], color=GREY, linestyle="--", linewidth=1, label="guessing")
    ax.set(ylabel="training loss")


def _draw_accuracy(ax: Axes, curve: Mapping[str, Any]) -> None:
    """Dev accuracy with its interval, and that of whole groups; the weights that were kept are marked."""
    dev = curve["dev"]
    steps = [row["step"] for row in dev]
    low, high = [100 * row["low"] for row in dev], [100 * row["high"] for row in dev]
    ax.fill_between(steps, low, high, color=BLUE, alpha=0.15, linewidth=0)
    lines = (("accuracy", "problems", BLUE, "chance"), ("group_accuracy", "whole groups", ORANGE, "group_chance"))
    for name, label, colour, guessing in lines:
        if dev[0][name] is not None:
            ax.plot(steps, [100 * row[name] for row in dev], color=colour, marker="o", markersize=3, label=label)
            level = 100 * curve[guessing]
            ax.axhline(level, color=colour, linestyle="--", linewidth=1, alpha=0.6, label=f"{label}, guessing")
    if curve["kept_step"] is not None:
        ax.axvline(curve["kept_step"], color=GREY, linestyle=":", linewidth=1, label="weights kept")
    ax.set(ylabel="per cent right on the dev set", ylim=(0, 100))
