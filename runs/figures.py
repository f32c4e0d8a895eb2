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
UNTRAINED_AT = 10
"""The x position of models that were trained on nothing: a logarithmic axis has no zero."""


def main(_: Sequence[str] | None = None) -> int:
    """Draw every figure that has stored results, and return 0."""
    draw_winogrande_curve(Store(RESULTS / "trained-winogrande.json"))
    draw_square_one_curves(Store(RESULTS / "trained-square-one.json"))
    liu = Store(RESULTS / "trained-liu.json")
    if any(key.startswith("search/") for key in liu.records):
        save_figure("trials-liu", lambda figure: draw_searches(figure, liu))
    return 0


def draw_winogrande_curve(winogrande: Store) -> None:
    """Save WinoGrande's learning curve, if at least two training sizes have runs."""
    problem_counts = winogrande["sets"].settings["train"]
    by_size = {}
    for size, records in curve_records(winogrande).items():
        by_size[problem_counts[f"train:{size}"]] = records
    sizes_with_runs = [size for size, records in by_size.items() if records]
    if len(sizes_with_runs) > 1:
        save_figure("curve-winogrande", lambda figure: draw_curve(figure.subplots(), {"": by_size}, "winogrande-dev"))


def draw_square_one_curves(square_one: Store) -> None:
    """Save the learning curves of special words, one per loss, if any has runs."""
    curves: dict[str, dict[int, list[Record]]] = {}
    for key in square_one.records:
        if key.startswith("word-curve/"):
            _, loss, size, _ = key.split("/")
            curves.setdefault(loss, {})[int(size)] = seeds(square_one, f"word-curve/{loss}/{size}")
    if curves:
        save_figure("curve-square-one", lambda figure: draw_curve(figure.subplots(), curves, "words-test"))


def save_figure(name: str, draw: Callable[[Figure], None]) -> Path:
    """Write docs/NAME.png with what `draw` puts on an empty figure, and return its path."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    draw(figure)
    path = ROOT / "docs" / f"{name}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return path


def draw_curve(ax: Axes, curves: dict[str, dict[int, list[Record]]], test: str) -> None:
    """Draw accuracy against training size, one pair of lines per curve.

    `curves` holds the runs by curve name and number of training problems. Lines join the means over runs,
    of single problems and of whole pairs; each run is a faint dot; dashed lines are guessing.
    """
    colours = iter(COLOURS)
    for name, by_size in curves.items():
        for metric, metric_label in METRICS.items():
            label = f"{name}, {metric_label}" if name else metric_label
            draw_line(ax, percents_by_size(by_size, test, metric), label, next(colours))
    for level in (50, 25):
        label_once = "guessing" if level == 50 else None
        ax.axhline(level, color=GREY, linestyle="dashed", linewidth=1, label=label_once)
    sorted_sizes = sorted(set().union(*curves.values()))
    tick_positions = [max(size, UNTRAINED_AT) for size in sorted_sizes]
    ax.set_xscale("log")
    ax.set_xticks(tick_positions, [f"{size:,}" for size in sorted_sizes])
    ax.minorticks_off()
    ax.set(xlabel="problems trained on, logarithmic", ylabel="accuracy, %", ylim=(0, 100))
    ax.legend(fontsize="small")


def percents_by_size(by_size: dict[int, list[Record]], test: str, metric: str) -> dict[int, list[float]]:
    """A metric on a test set in per cent, one value per run, by x position.

    Sizes without values are left out.
    """
    percents = {}
    for size, records in sorted(by_size.items()):
        values = percents_of_runs(records, test, metric)
        if values:
            percents[max(size, UNTRAINED_AT)] = values
    return percents


def percents_of_runs(records: Sequence[Record], test: str, metric: str = "accuracy") -> list[float]:
    """A metric on a test set in per cent, for every run that has it."""
    rows = [score(record, test, None, metric) for record in records]
    return [100 * row.value for row in rows if row is not None]


def draw_line(ax: Axes, percents: dict[int, list[float]], label: str, colour: str) -> None:
    """Draw a line through the means, and a faint dot for every run."""
    means = [fmean(values) for values in percents.values()]
    ax.plot(list(percents), means, "o-", color=colour, label=label)
    for size, values in percents.items():
        ax.plot([size] * len(values), values, "o", color=colour, alpha=0.35, markersize=3)


def draw_searches(figure: Figure, store: Store) -> None:
    """Draw the trials on each training set side by side, with one legend for all."""
    axes = figure.subplots(1, len(SEARCHED), sharey=True)
    for ax, (train_name, test) in zip(axes, SEARCHED.items(), strict=True):
        draw_trials(ax, store, train_name, test)
    axes[0].set_yticks(range(len(FORMALIZATIONS)), FORMALIZATIONS.values())
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    handle_by_label = dict(zip(labels, handles, strict=True))
    figure.legend(
        handle_by_label.values(),
        handle_by_label.keys(),
        loc="outside lower center",
        ncols=len(handle_by_label),
        fontsize="small",
    )


def draw_trials(ax: Axes, store: Store, train_name: str, test: str) -> None:
    """Draw every trial of a training set, one row of dots per formalization.

    Each row also has its median and, if stored, the accuracy of guessing; a vertical line is the commonest answer.
    """
    for row_index, name in enumerate(FORMALIZATIONS):
        summary = store.records.get(f"search/{train_name}/mpnet-head/{name}")
        if summary is None:
            continue
        trials = seeds(store, f"liu/{train_name}/mpnet-head/{name}")
        values = percents_of_runs(trials, test)
        ax.plot(values, [row_index] * len(values), "o", color=COLOURS[0], alpha=0.4, label="a trial")
        median = summary.find("median")
        assert median is not None
        bar_ends = [row_index - 0.3, row_index + 0.3]
        ax.plot([100 * median.value] * 2, bar_ends, color=COLOURS[0], linewidth=2, label="median")
        if median.chance is not None:
            ax.plot([100 * median.chance] * 2, bar_ends, color=GREY, linestyle="dotted", label="guessing")
        floor = 100 * summary.value("floor")
        ax.axvline(floor, color=GREY, linestyle="dashed", linewidth=1, label="the commonest answer")
    ax.set(xlabel="accuracy, %", title=SETS[train_name], xlim=(45, 92))
