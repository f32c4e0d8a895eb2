"""The page of a training run: its curve, what it has on every set, what is wrong with it, and how it was run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.errors import BadInput
from winokit.report.charts import STEP, Chart, tenths_around
from winokit.report.pages import flat
from winokit.report.protocols import LIU, Source
from winokit.report.wording import percent
from winokit.report.write import INDEX, write_page

RESULTS, CURVE, REPORT = "results.json", "curve.json", "report"


@dataclass(frozen=True, slots=True)
class Line:
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
    sentences: tuple[tuple[str, str], ...]
    charts: tuple[Chart, ...]
    lines: tuple[Line, ...]
    run: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    sources: tuple[Source, ...] = (LIU,)


def is_training(folder: Path) -> bool:
    """Whether a folder holds a training run that came to its end."""
    return (folder / RESULTS).is_file() and (folder / CURVE).is_file()


def write_train_page(folder: Path) -> Path:
    """Write the page of a training run's folder from the files that are in it."""
    try:
        results = json.loads((folder / RESULTS).read_text("utf-8"))
        curve = json.loads((folder / CURVE).read_text("utf-8"))
        page = train_page(results, curve)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{folder}: not the folder of a finished training run ({error})") from None
    write_page(folder / REPORT / INDEX, "train.html.j2", page=page)
    return folder / REPORT / INDEX


def train_page(results: Mapping[str, Any], curve: Mapping[str, Any]) -> TrainPage:
    """Everything the page of a run shows."""
    run = results["run"]
    return TrainPage(
        model=str(run["model"]),
        formalization=str(run["formalization"]),
        train=str(run["train"]),
        sentences=tuple(_sentences(results, curve)),
        charts=tuple(_charts(curve)),
        lines=tuple(_line(row) for row in results["metrics"]),
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


def _sentences(results: Mapping[str, Any], curve: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """How far it came, what is above guessing, and what is wrong."""
    early = ", stopped early" if curve["stopped_early"] else ""
    kept = f"; the weights of step {curve['kept_step']:,} were kept" if curve["dev"] else ""
    seconds = f"{curve['seconds']:,.0f} seconds"
    yield "plain", f"{curve['steps']:,} steps over {curve['examples']:,} examples in {seconds}{early}{kept}."
    for row in results["metrics"]:
        if row["metric"] == "accuracy" and row["low"] is not None:
            above = row["low"] > row["chance"]
            told = "above guessing" if above else "not told from guessing"
            yield ("good" if above else "bad"), f"{_where(row)}: {percent(row['value'])}, {told}."
    for warning in results["warnings"]:
        yield "bad", f"{warning[0].upper()}{warning[1:]}."


def _line(row: Mapping[str, Any]) -> Line:
    interval = "" if row["low"] is None else f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
    chance = "" if row["chance"] is None else percent(row["chance"])
    metric = row["metric"].replace("_", " ")
    return Line(_where(row), row["variant"], metric, percent(row["value"]), interval, chance, row["n"])


def _where(row: Mapping[str, Any]) -> str:
    return f"dev: {row['dataset']}" if row["subset"] == "dev" else str(row["dataset"])
