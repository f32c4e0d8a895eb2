"""What the scripts that train share: the settings of a run on the command line, a paper's own by default."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from common import Options, Outcome, percent, short, table

from winokit.methods.training.settings import TrainSettings
from winokit.results import rows_to_json

if TYPE_CHECKING:
    from winokit.stages.curve.fit import CurveSeries
    from winokit.stages.curve.run import LearningCurve


def settings_arguments(paper: TrainSettings, *, seeds: int = 3) -> Callable[[argparse.ArgumentParser], None]:
    """Add the settings of a run, with those of a paper as defaults, to a script's arguments."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--formalization", default=paper.formalization, help=f"default: {paper.formalization}")
        parser.add_argument("--learning-rate", type=float, default=paper.learning_rate)
        parser.add_argument("--epochs", type=int, default=paper.epochs)
        parser.add_argument("--batch-size", type=int, default=paper.batch_size)
        parser.add_argument("--seeds", type=int, default=seeds, help=f"runs of each kind; default: {seeds}")

    return add


def settings_of(options: Options, paper: TrainSettings) -> TrainSettings:
    """The settings as asked for; the last weights are kept, so that nothing is chosen on what is scored."""
    given = options.more
    return replace(
        paper,
        formalization=given.formalization,
        learning_rate=given.learning_rate,
        epochs=given.epochs,
        batch_size=given.batch_size,
        keep="last",
    )


def curve_outcome(options: Options, curve: Callable[[str, Path], LearningCurve]) -> Outcome:
    """The learning curves of every model: a table each, and its page in the output folder."""
    tables, rows = [], []
    for spec in options.models:
        out = options.out / short(spec).replace(":", "-")
        found = curve(spec, out).save(out)
        tables += [f"{short(spec)}:", *_curve_tables(found), *found.warnings]
        rows += rows_to_json(found.metrics)
    return Outcome(tables, rows)


def _curve_tables(found: LearningCurve) -> list[str]:
    """Single and group accuracy by size, mean and standard deviation over restarts, and the lines through them."""
    made = []
    for name in dict.fromkeys(one.formalization for one in found.series):
        own = [one for one in found.series if one.formalization == name]
        lines = [
            [f"{one[0].asked:,}", *(f"{percent(level.mean.value)} ± {100 * (level.spread or 0):.1f}" for level in one)]
            for one in zip(*(series.levels for series in own), strict=True)
        ]
        made.append(table([f"{name}: trained on", *(f"{one.measure}, %" for one in own)], lines))
        made += [_line(one) for one in own]
    return made


def _line(series: CurveSeries) -> str:
    """The fit in words."""
    if series.fit is None:
        return f"{series.measure}: too few sizes for a line"
    fit, slope, reach = series.fit, series.fit.slope_interval(), series.reach
    told = f"{series.measure}: {fit.slope:.2f} ln x + {fit.intercept:.1f}, slope [{slope.low:.2f}, {slope.high:.2f}]"
    if reach is not None:
        told += f"; {reach.target:g} % at {reach.size:.3g} [{reach.low:.3g}, {reach.high:.3g}]"
    return told + (f"; area {series.auc.value:.4f}" if series.auc is not None else "")
