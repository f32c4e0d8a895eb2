"""The page of a training run: its curve, what it has on every set, what is wrong with it, and how it was run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.drawing.charts import STEP, Chart, tenths_around
from winokit.drawing.decision import Verdict
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.protocols import LIU, Citation
from winokit.drawing.wording import say, say_chance, say_interval
from winokit.errors import BadInput
from winokit.results import Metric
from winokit.stages.train.verdict import verdict_of_training, where

RESULTS, CURVE, REPORT = "results.json", "curve.json", "report"


@dataclass(frozen=True, slots=True)
class TrainLine:
    """A line of the table of results."""

    where: str
    variant: str
    metric: str
    value: str
    interval: str
    chance: str
    n: int


@dataclass(frozen=True, slots=True)
class TrainPage:
    """Everything the page shows."""

    model: str
    formalization: str
    train: str
    verdict: Verdict
    charts: tuple[Chart, ...]
    lines: tuple[TrainLine, ...]
    run: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    sources: tuple[Citation, ...] = (LIU,)


def is_training(folder: Path) -> bool:
    """Whether a folder holds a training run that came to its end."""
    return (folder / RESULTS).is_file() and (folder / CURVE).is_file()


def write_train_page(folder: Path) -> Path:
    """Write the page of a training run's folder from the files that are in it."""
    try:
        results = json.loads((folder / RESULTS).read_text("utf-8"))
        curve = json.loads((folder / CURVE).read_text("utf-8"))
        page = train_page(results, curve)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{folder}: not the folder of a finished training run ({error})") from None
    write_page(page_of(folder), "stages/train/page.html.j2", page=page)
    return page_of(folder)


def page_of(folder: Path) -> Path:
    """Where the page of a run's folder lies."""
    return folder / REPORT / INDEX


def train_page(results: Mapping[str, Any], curve: Mapping[str, Any]) -> TrainPage:
    """Everything the page of a run shows."""
    run, rows = results["run"], [Metric.from_json(row) for row in results["metrics"]]
    return TrainPage(
        model=str(run["model"]),
        formalization=str(run["formalization"]),
        train=str(run["train"]),
        verdict=verdict_of_training(rows, results["warnings"], curve, run["seed"]),
        charts=tuple(_charts(curve)),
        lines=tuple(_line(row) for row in rows),
        run=tuple(flat(run)),
        notes=tuple(results["notes"]),
    )


def _charts(curve: Mapping[str, Any]) -> Iterator[Chart]:
    """Training loss by step and, where there is a dev set, accuracy on it and that of its whole groups."""
    steps, losses = zip(*((row["step"], row["loss"]) for row in curve["train"]), strict=True)
    guessing = curve["guessing_loss"]
    highest = max(losses) if guessing is None else max(*losses, guessing)
    yield Chart("Training loss", losses, steps, 0.0, highest, unit=STEP, mark=guessing, mark_name="guessing")
    dev = curve["dev"]
    intervals = tuple((row["low"], row["high"]) for row in dev)
    measures = (
        ("accuracy", "Right on the dev set", "chance", intervals),
        ("group_accuracy", "Whole groups right on the dev set", "group_chance", ()),
    )
    for name, title, level, band in measures:
        values = tuple(row[name] for row in dev if row[name] is not None)
        if values:
            guessed = curve[level]
            inside = (*values, guessed - 0.05, guessed + 0.05, *(end for interval in band for end in interval))
            yield Chart(
                *(title, values, tuple(row["step"] for row in dev), *tenths_around(inside), STEP, True, guessed),
                mark_name="guessing",
                band=band,
                kept=curve["kept_step"],
            )


def _line(row: Metric) -> TrainLine:
    metric, variant = row.metric.replace("_", " "), str(row.details.get("variant", ""))
    return TrainLine(where(row), variant, metric, say(row), say_interval(row), say_chance(row), row.n)
