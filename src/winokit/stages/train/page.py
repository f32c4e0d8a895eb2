"""The page of a training run: its curve, its rows on every set, what is wrong with it, and what it is worth."""

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from winokit.drawing.page import INDEX, flat, write_page
from winokit.drawing.plots import STEP, Chart, tenths_around
from winokit.drawing.protocols import CITATIONS
from winokit.errors import refusing
from winokit.results import Metric
from winokit.stages.train.verdict import name_of_set, verdict_of_training

RESULTS = "results.json"
CURVE = "curve.json"
REPORT = "report"
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""Errors of a file that is missing or damaged."""
MARGIN = 0.05
"""How far the axis of a chart extends around chance, as a share."""
MEASURES = (
    ("accuracy", "Right on the dev set", "chance"),
    ("group_accuracy", "Whole groups right on the dev set", "group_chance"),
)
"""Of each chart of the dev set: its measure in the curve's rows, its title, and the key of its chance level."""


def is_training(folder: Path) -> bool:
    """Whether a folder holds a finished training run."""
    return (folder / RESULTS).is_file() and (folder / CURVE).is_file()


def page_of(folder: Path) -> Path:
    """The path of the page of a run's folder."""
    return folder / REPORT / INDEX


def write_train_page(folder: Path) -> Path:
    """Write the page of a training run from the files in its folder."""
    with refusing(f"{folder}: not the folder of a finished training run", *UNREADABLE):
        results = json.loads((folder / RESULTS).read_text("utf-8"))
        curve = json.loads((folder / CURVE).read_text("utf-8"))
        run = results["run"]
        rows = [Metric.from_json(row) for row in results["metrics"]]
        page_values = {
            "run": run,
            "verdict": verdict_of_training(rows, results["warnings"], curve, run["seed"]),
            "charts": tuple(charts_of_curve(curve)),
            "rows": [(name_of_set(row), str(row.details.get("variant", "")), row) for row in rows],
            "settings": tuple(flat(run)),
            "notes": results["notes"],
        }
    return write_page(page_of(folder), "stages/train/page.html.j2", **page_values, sources=(CITATIONS["LIU"],))


def charts_of_curve(curve: Mapping[str, Any]) -> Iterator[Chart]:
    """Charts of the training loss and, with a dev set, of its accuracies."""
    yield _draw_loss(curve)
    for measure, title, chance_key in MEASURES:
        if any(row[measure] is not None for row in curve["dev"]):
            yield _draw_dev_measure(curve, measure, title, curve[chance_key])


def _draw_loss(curve: Mapping[str, Any]) -> Chart:
    steps, losses = zip(*((row["step"], row["loss"]) for row in curve["train"]), strict=True)
    guessing = curve["guessing_loss"]
    highest = max(losses) if guessing is None else max(*losses, guessing)
    return Chart("Training loss", losses, steps, 0.0, highest, unit=STEP, mark=guessing, mark_name="guessing")


def _draw_dev_measure(curve: Mapping[str, Any], measure: str, title: str, chance: float) -> Chart:
    dev = curve["dev"]
    values = tuple(row[measure] for row in dev if row[measure] is not None)
    steps = tuple(row["step"] for row in dev)
    # Only accuracy has intervals in the curve.
    band = tuple((row["low"], row["high"]) for row in dev) if measure == "accuracy" else ()
    ends = list(chain.from_iterable(band))
    low, high = tenths_around((*values, chance - MARGIN, chance + MARGIN, *ends))
    return Chart(
        title,
        values,
        steps,
        low,
        high,
        STEP,
        True,
        chance,
        mark_name="guessing",
        band=band,
        kept_step=curve["kept_step"],
    )
