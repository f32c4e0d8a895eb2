"""What the scripts that train share: the settings of a run on the command line, a paper's own by default."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import winokit
from runs.store import Store
from runs.tables import Bench, default_data, percent, short
from runs.tables import grid as table
from winokit.errors import WinokitError
from winokit.methods.training.settings import TrainSettings
from winokit.results import rows_to_json

if TYPE_CHECKING:
    from winokit.stages.curve.fit import CurveSeries
    from winokit.stages.curve.run import LearningCurve


@dataclass
class Options(Bench):
    """What the user asked for."""

    out: Path = Path()

    @property
    def specs(self) -> list[str]:
        """The SPECs of the models."""
        return list(self.models.values())


@dataclass
class Outcome:
    """What a script found: tables to print, and flat rows for results.json."""

    tables: list[str]
    rows: list[dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)


def run(
    experiment: Callable[[Options], Outcome],
    about: str | None,
    *,
    models: Sequence[str] = ("builtin",),
    arguments: Callable[[argparse.ArgumentParser], object] | None = None,
) -> None:
    """Read the arguments, run the experiment, print its tables and write results.json; leave with an exit code."""
    name = Path(sys.argv[0]).stem
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", metavar="SPEC", help=f"repeatable; default: {' '.join(models)}")
    parser.add_argument("--data", type=Path, default=default_data(), metavar="DIR", help="folder of the datasets")
    parser.add_argument("--out", type=Path, default=Path("runs") / name, metavar="DIR", help="default: runs/NAME")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N problems of each dataset")
    parser.add_argument("--cache", metavar="FILE", help="where answers are kept; off: nowhere")
    if arguments:
        arguments(parser)
    given = parser.parse_args()
    named = {short(spec): spec for spec in given.model or models}
    store = Store(given.out / "results.json")
    options = Options(named, given.data, store, given.limit, given.cache, given, given.out)
    try:
        found = experiment(options)
        write_results(name, options, found)
    except WinokitError as error:
        sys.stderr.write(f"{name}: {error}\n")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    sys.stdout.write("\n\n".join((*found.tables, f"{options.out / 'results.json'}")) + "\n")


def write_results(name: str, options: Options, found: Outcome) -> None:
    """Write results.json: what was run, and the rows."""
    from winokit.files import write_whole

    about = {
        "script": name,
        "winokit": winokit.__version__,
        "python": platform.python_version(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "models": options.specs,
        "limit": options.limit,
        **found.settings,
    }
    text = json.dumps({"run": about, "metrics": found.rows}, indent=1, ensure_ascii=False, default=str)
    write_whole(options.out / "results.json", f"{text}\n".encode())


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
    for spec in options.specs:
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
