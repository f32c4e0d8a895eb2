"""What the scripts of runs/ share: their arguments, where the data lies, scoring, Markdown tables and results.json.

Each script has one function, from `Options` to `Outcome`, and hands it to `run`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import winokit
from winokit.errors import BadInput, WinokitError
from winokit.results import rows_to_json

if TYPE_CHECKING:
    from winokit.data.runs import Run
    from winokit.methods.scoring.scorer import Prediction
    from winokit.models.base import Model
    from winokit.problem import Dataset, Problem
    from winokit.results import Metric

ROOT = Path(__file__).parents[1]
LABELS = ("trichelair/WSC_switched_label.json", "trichelair/WSC_associative_label.json")


@dataclass
class Options:
    """What the user asked for."""

    models: list[str]
    data: Path
    out: Path
    limit: int | None = None
    cache: str | None = None
    more: argparse.Namespace = field(default_factory=argparse.Namespace)
    """A script's own arguments."""

    def file(self, name: str) -> Path:
        """A file of the datasets, by its path in their folder."""
        path = self.data / name
        if not path.exists():
            raise BadInput(f"{path}: no such file; name the folder of the datasets (--data, or WINOKIT_DATA)")
        return path

    def load(self, name: str, format: str | None = None, **how: Any) -> Dataset:
        """A dataset of the folder, the first `limit` problems of it; `open` and the like are bundled names."""
        bundled = "/" not in name
        place = name if bundled else f"{format}:{self.file(name)}" if format else self.file(name)
        return winokit.load(place, **how)[: self.limit]

    def wsc273(self) -> Dataset:
        """WSC273 with Trichelair et al.'s labels."""
        return self.load("wsc/WSCollection.xml", "wsc273", labels=[self.file(name) for name in LABELS])


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
    options = Options(given.model or list(models), given.data, given.out, given.limit, given.cache, given)
    try:
        found = experiment(options)
        write_results(name, options, found)
    except WinokitError as error:
        sys.stderr.write(f"{name}: {error}\n")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    say(*found.tables, f"{options.out / 'results.json'}")


def default_data() -> Path:
    """$WINOKIT_DATA, else ../shared/data beside the repository."""
    return Path(os.environ.get("WINOKIT_DATA") or ROOT.parent / "shared" / "data")


def say(*paragraphs: str) -> None:
    """Print paragraphs with an empty line between them."""
    sys.stdout.write("\n\n".join(paragraphs) + "\n")


def write_results(name: str, options: Options, found: Outcome) -> None:
    """Write results.json: what was run, and the rows."""
    from winokit.files import write_whole

    about = {
        "script": name,
        "winokit": winokit.__version__,
        "python": platform.python_version(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "models": options.models,
        "limit": options.limit,
        **found.settings,
    }
    text = json.dumps({"run": about, "metrics": found.rows}, indent=1, ensure_ascii=False, default=str)
    write_whole(options.out / "results.json", f"{text}\n".encode())


@lru_cache(2)
def loaded(spec: str) -> Model:
    """A model, kept for the next dataset."""
    return winokit.load_model(spec)


def predicted(dataset: Dataset, spec: str, options: Options, scoring: str | None = None) -> list[Prediction]:
    """A prediction for each problem, in order; kept as a file of the output folder too."""
    from winokit.drawing.tables import progress_bar
    from winokit.methods.scoring.cache import open_cache
    from winokit.methods.scoring.scorer import ScoringPlan, score_variants, write_predictions

    with open_cache(options.cache) as cache, progress_bar(f"{dataset.card.name}, {short(spec)}") as progress:
        rows = score_variants({"original": dataset}, loaded(spec), ScoringPlan(scoring), cache=cache, progress=progress)
    write_predictions(rows, predictions_file(dataset, spec, scoring, options))
    return rows


def predictions_file(dataset: Dataset, spec: str, scoring: str | None, options: Options) -> Path:
    """Where the predictions of a model for a dataset are kept."""
    parts = (dataset.card.name, short(spec), *([scoring] if scoring else []))
    return options.out / "predictions" / f"{'-'.join(plain(part) for part in parts)}.jsonl"


def judged(
    dataset: Dataset,
    spec: str,
    options: Options,
    *,
    scoring: str | None = None,
    protocols: Sequence[str] = ("accuracy", "groups"),
) -> Run:
    """An audit of a model on a dataset, which may be a variant of another: it is then judged by itself."""
    itself = dataset.with_problems(problem.replace(provenance={}) for problem in dataset)
    predicted(itself, spec, options, scoring)
    path = predictions_file(dataset, spec, scoring, options)
    return winokit.audit(itself, predictions=[path], protocol=protocols)


def named(dataset: Dataset, name: str, problems: Iterable[Problem | str]) -> Dataset:
    """A dataset of the problems that could be made, under a name of its own."""
    from winokit.problem import Card, Dataset, Problem

    return Dataset((one for one in problems if isinstance(one, Problem)), Card(f"{dataset.card.name} {name}"))


def plain(name: str) -> str:
    """A name fit for a file."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-")


def short(spec: str) -> str:
    """A model's SPEC without the folders it lies in.

    >>> short("ensemble:hf:/models/smollm2+ngram:/models/quotes.arpa")
    'ensemble:hf:smollm2+ngram:quotes.arpa'
    """
    return re.sub(r"(?<=[:+])[^:+?]*/", "", spec)


def rows_of(run: Run) -> list[dict[str, Any]]:
    """An audit's rows as results.json has them."""
    return rows_to_json(run.metrics)


def row(dataset: str, model: str, protocol: str, subset: str, metric: str, value: float, n: int) -> dict[str, Any]:
    """A row of a script's own, in the shape of an audit's."""
    named = {"dataset": dataset, "model": model, "scoring": None, "formalization": None, "protocol": protocol}
    return {**named, "subset": subset, "metric": metric, "value": value, "n": n, "low": None, "high": None}


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table.

    >>> print(table(["a", "b"], [[1, None]]))
    | a | b |
    |---|---|
    | 1 |  |
    """
    lines = [header, ["---"] * len(header), *rows]
    joined = [" | ".join("" if cell is None else str(cell) for cell in line) for line in lines]
    return "\n".join(f"|{line.replace(' ', '')}|" if at == 1 else f"| {line} |" for at, line in enumerate(joined))


def percent(metric: Metric | float | None, *, interval: bool = False) -> str:
    """A share in per cent, with its interval if asked for; empty where there is none."""
    if metric is None:
        return ""
    if isinstance(metric, (int, float)):
        return f"{100 * metric:.1f}"
    told = f"{100 * metric.value:.1f}"
    if not interval or metric.low is None or metric.high is None:
        return told
    return f"{told} [{100 * metric.low:.1f}, {100 * metric.high:.1f}]"


def answered(run: Run) -> str:
    """The share of problems a model did not abstain on, in per cent."""
    abstained = run.find("accuracy", "all", "abstained")
    return "" if abstained is None else f"{100 - 100 * abstained.value:.0f}"


def single_and_group(run: Run) -> list[str]:
    """Accuracy on problems and on whole groups, with intervals."""
    names = (("accuracy", "all", "accuracy"), ("groups", "complete", "group_accuracy"))
    return [percent(run.find(*name), interval=True) for name in names]
