"""The figures of docs/evidence/reproduction.md, drawn from runs/results: `python -m runs figures`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from runs.liu_trained import FORMALIZATIONS, SEARCHED
from runs.store import Record, Store
from runs.tables import RESULTS, ROOT
from runs.trained import score, seeds
from runs.winogrande_aaai_trained import curve_records
from winokit.drawing.figures import COLOURS, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETS = {"superglue-wsc": "SuperGLUE-WSC", "dpr": "DPR, test", "winogrande-m": "WinoGrande-m, dev"}
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
        written("curve-winogrande", lambda figure: draw_curve(figure.subplots(), {"": by_size}, "winogrande-dev"))
    curves: dict[str, dict[int, list[Record]]] = {}
    for key in square_one.records:
        if key.startswith("word-curve/"):
            _, loss, size, _ = key.split("/")
            curves.setdefault(loss, {})[int(size)] = seeds(square_one, f"word-curve/{loss}/{size}")
    if curves:
        written("curve-square-one", lambda figure: draw_curve(figure.subplots(), curves, "words-test"))
    if any(key.startswith("search/") for key in liu.records):
        written("trials-liu", lambda figure: draw_searches(figure, liu))
    return 0


def written(name: str, draw: Callable[[Figure], None]) -> Path:
    """Draw a figure and write it beside the page."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    draw(figure)
    place = ROOT / "docs" / f"{name}.png"
    figure.savefig(place, dpi=110, metadata={"Software": None})
    return place


def draw_curve(ax: Axes, curves: dict[str, dict[int, list[Record]]], test: str) -> None:
    """Means by size, single and group, each run a faint dot, and what guessing gets; the untrained stand at 10."""
    colours = iter(COLOURS)
    for name, by_size in curves.items():
        for metric, said in METRICS.items():
            colour = next(colours)
            percents = {
                max(size, 10): [100 * row.value for record in records if (row := score(record, test, None, metric))]
                for size, records in sorted(by_size.items())
            }
            percents = {size: values for size, values in percents.items() if values}
            label = f"{name}, {said}" if name else said
            ax.plot(list(percents), [fmean(values) for values in percents.values()], "o-", color=colour, label=label)
            for size, values in percents.items():
                ax.plot([size] * len(values), values, "o", color=colour, alpha=0.35, markersize=3)
    for level in (50, 25):
        ax.axhline(level, color=GREY, linestyle="dashed", linewidth=1, label="guessing" if level == 50 else None)
    sizes = sorted({size for by_size in curves.values() for size in by_size})
    ax.set_xscale("log")
    ax.set_xticks([max(size, 10) for size in sizes], [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.set(xlabel="problems trained on, logarithmic", ylabel="accuracy, %", ylim=(0, 100))
    ax.legend(fontsize="small")


def draw_searches(figure: Figure, store: Store) -> None:
    """The trials on each set beside each other, and what the lines are."""
    axes = figure.subplots(1, len(SEARCHED), sharey=True)
    for ax, (on, dev) in zip(axes, SEARCHED.items(), strict=True):
        draw_trials(ax, store, on, dev)
    axes[0].set_yticks(range(len(FORMALIZATIONS)), FORMALIZATIONS.values())
    axes[0].invert_yaxis()
    lines = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines), fontsize="small")


def draw_trials(ax: Axes, store: Store, on: str, dev: str) -> None:
    """Every trial on a set, formalization by formalization, with medians and lines for guessing."""
    for at, name in enumerate(FORMALIZATIONS):
        summary = store.records.get(f"search/{on}/mpnet-head/{name}")
        if summary is None:
            continue
        trials = seeds(store, f"liu/{on}/mpnet-head/{name}")
        values = [100 * row.value for record in trials if (row := score(record, dev))]
        ax.plot(values, [at] * len(values), "o", color=COLOURS[0], alpha=0.4, label="a trial")
        median = summary.find("median")
        assert median is not None
        place = [at - 0.3, at + 0.3]
        ax.plot([100 * median.value] * 2, place, color=COLOURS[0], linewidth=2, label="median")
        if median.chance is not None:
            ax.plot([100 * median.chance] * 2, place, color=GREY, linestyle="dotted", label="guessing")
        floor = 100 * summary.value("floor")
        ax.axvline(floor, color=GREY, linestyle="dashed", linewidth=1, label="the commonest answer")
    ax.set(xlabel="accuracy, %", title=SETS[on], xlim=(45, 92))
