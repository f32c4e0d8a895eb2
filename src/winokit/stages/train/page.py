"""The page of a training run: its curve, what it has on every set, what is wrong with it, and how it was run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from winokit.drawing.charts import STEP, Chart, tenths_around
from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.protocols import LIU
from winokit.errors import BadInput
from winokit.results import Metric
from winokit.stages.train.verdict import verdict_of_training, where

RESULTS, CURVE, REPORT = "results.json", "curve.json", "report"


def is_training(folder: Path) -> bool:
    """Whether a folder holds a training run that came to its end."""
    return (folder / RESULTS).is_file() and (folder / CURVE).is_file()


def write_train_page(folder: Path) -> Path:
    """Write the page of a training run's folder from the files that are in it."""
    try:
        results = json.loads((folder / RESULTS).read_text("utf-8"))
        curve = json.loads((folder / CURVE).read_text("utf-8"))
        run, rows = results["run"], [Metric.from_json(row) for row in results["metrics"]]
        shown = {
            "run": run,
            "verdict": verdict_of_training(rows, results["warnings"], curve, run["seed"]),
            "charts": tuple(charts(curve)),
            "rows": [(where(row), str(row.details.get("variant", "")), row) for row in rows],
            "settings": tuple(flat(run)),
            "notes": results["notes"],
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{folder}: not the folder of a finished training run ({error})") from None
    write_page(page_of(folder), "stages/train/page.html.j2", **shown, sources=(LIU,))
    return page_of(folder)


def page_of(folder: Path) -> Path:
    """Where the page of a run's folder lies."""
    return folder / REPORT / INDEX


def charts(curve: Mapping[str, Any]) -> Iterator[Chart]:
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
