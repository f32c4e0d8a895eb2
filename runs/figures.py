"""The figures of docs/reproduction.md, drawn from runs/results: `python -m runs figures`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from runs.liu_trained import FORMALIZATIONS
from runs.store import Record, Store
from runs.tables import RESULTS, ROOT
from runs.trained import score, seeds
from runs.winogrande_aaai_trained import curve_records
from winokit.drawing.figures import COLOURS, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METRICS = {"accuracy": "single problems", "group_accuracy": "whole pairs"}


def main(_: Sequence[str] | None = None) -> int:
    """Draw every figure that has results."""
    winogrande, liu, square_one = (
        Store(RESULTS / f"trained-{name}.json") for name in ("winogrande", "liu", "square-one")
    )
    by_size = {
        winogrande["sets"].settings["train"][f"train:{size}"]: records
        for size, records in curve_records(winogrande).items()
    }
    if sum(map(bool, by_size.values())) > 1:
        written("curve-winogrande", lambda ax: draw_curve(ax, {"": by_size}, "winogrande-dev"))
    curves: dict[str, dict[int, list[Record]]] = {}
    for key in square_one.records:
        if key.startswith("word-curve/"):
            _, loss, size, _ = key.split("/")
            curves.setdefault(loss, {})[int(size)] = seeds(square_one, f"word-curve/{loss}/{size}")
    if curves:
        written("curve-square-one", lambda ax: draw_curve(ax, curves, "words-test"))
    if any(key.startswith("search/superglue-wsc/mpnet-head") for key in liu.records):
        written("search-superglue-wsc", lambda ax: draw_trials(ax, liu))
    return 0


def written(name: str, draw: Any) -> Path:
    """Draw a figure and write it beside the page."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    draw(figure.subplots())
    place = ROOT / "docs" / f"{name}.png"
    figure.savefig(place, dpi=110, metadata={"Software": None})
    return place


def draw_curve(ax: Axes, curves: dict[str, dict[int, list[Record]]], test: str) -> None:
    """Means by size, single and group, each run a faint dot, and what guessing gets; the untrained stand at 10."""
    colours = iter(COLOURS)
    for name, by_size in curves.items():
        for metric, said in METRICS.items():
            colour = next(colours)
            found = {
                max(size, 10): [100 * one.value for record in records if (one := score(record, test, None, metric))]
                for size, records in sorted(by_size.items())
            }
            found = {size: values for size, values in found.items() if values}
            label = f"{name}, {said}" if name else said
            ax.plot(list(found), [fmean(values) for values in found.values()], "o-", color=colour, label=label)
            for size, values in found.items():
                ax.plot([size] * len(values), values, "o", color=colour, alpha=0.35, markersize=3)
    for level in (50, 25):
        ax.axhline(level, color=GREY, linestyle="dashed", linewidth=1, label="guessing" if level == 50 else None)
    sizes = sorted({size for by_size in curves.values() for size in by_size})
    ax.set_xscale("log")
    ax.set_xticks([max(size, 10) for size in sizes], [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.set(xlabel="problems trained on, logarithmic", ylabel="accuracy, %", ylim=(0, 100))
    ax.legend(fontsize="small")


def draw_trials(ax: Axes, store: Store) -> None:
    """Every trial on SuperGLUE-WSC, formalization by formalization, with medians and lines for guessing."""
    names = [name for name in FORMALIZATIONS if f"search/superglue-wsc/mpnet-head/{name}" in store]
    for at, name in enumerate(names):
        summary = store[f"search/superglue-wsc/mpnet-head/{name}"]
        trials = seeds(store, f"liu/superglue-wsc/mpnet-head/{name}")
        values = [100 * one.value for record in trials if (one := score(record, "superglue-wsc-val"))]
        ax.plot(values, [at] * len(values), "o", color=COLOURS[0], alpha=0.4)
        median = summary.find("median")
        assert median is not None
        ax.plot([100 * median.value] * 2, [at - 0.3, at + 0.3], color=COLOURS[0], label=None if at else "median")
        if median.chance is not None:
            guess = [100 * median.chance] * 2
            ax.plot(guess, [at - 0.3, at + 0.3], color=GREY, linestyle="dotted", label=None if at else "guessing")
        if not at:
            floor = 100 * summary.value("floor")
            ax.axvline(floor, color=GREY, linestyle="dashed", linewidth=1, label="the commonest answer")
    ax.set_yticks(range(len(names)), [FORMALIZATIONS[name] for name in names])
    ax.invert_yaxis()
    ax.set(xlabel="accuracy on the validation set, %")
    ax.legend(fontsize="small")
