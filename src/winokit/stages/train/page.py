"""The page of a training run: verdict, curves and scores."""

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
"""The charts of the dev set: measure in the rows of curve.json, title, and key of the chance level there."""


def is_training(folder: Path) -> bool:
    """Whether a folder holds a finished training run, with results.json and curve.json."""
    has_results = (folder / RESULTS).is_file()
    has_curve = (folder / CURVE).is_file()
    return has_results and has_curve


def page_of(folder: Path) -> Path:
    """The path of the page in a run's folder."""
    return folder / REPORT / INDEX


def write_train_page(folder: Path) -> Path:
    """Write the page of a training run into its folder.

    Returns the path of the page. Its contents are read from results.json and curve.json. Raises BadInput if one of the
    two is missing or damaged.
    """
    with refusing(f"{folder}: not the folder of a finished training run", *UNREADABLE):
        page_values = _read_page_values(folder)
    return write_page(page_of(folder), "stages/train/page.html.j2", **page_values, sources=(CITATIONS["LIU"],))


def _read_page_values(folder: Path) -> dict[str, Any]:
    """Read the values of the page's template from a run's files.

    Raises one of the errors UNREADABLE for a missing or damaged file.
    """
    results = json.loads((folder / RESULTS).read_text("utf-8"))
    curve = json.loads((folder / CURVE).read_text("utf-8"))
    run = results["run"]
    metrics = [Metric.from_json(row) for row in results["metrics"]]
    rows = []
    for row in metrics:
        variant = str(row.details.get("variant", ""))
        rows.append((name_of_set(row), variant, row))
    verdict = verdict_of_training(metrics, results["warnings"], curve, run["seed"])
    return {
        "run": run,
        "verdict": verdict,
        "charts": tuple(charts_of_curve(curve)),
        "rows": rows,
        "settings": tuple(flat(run)),
        "notes": results["notes"],
    }


def charts_of_curve(curve: Mapping[str, Any]) -> Iterator[Chart]:
    """Yield charts of the training loss and of dev set accuracies.

    Without a dev set there is only the loss. `curve` is the content of curve.json.
    """
    yield _draw_loss(curve)
    dev_rows = curve["dev"]
    for measure, title, chance_key in MEASURES:
        is_measured = any(row[measure] is not None for row in dev_rows)
        if is_measured:
            yield _draw_dev_measure(curve, measure, title, curve[chance_key])


def _draw_loss(curve: Mapping[str, Any]) -> Chart:
    """Chart of the training loss by step.

    It shows the loss of guessing too, if that is known.
    """
    train_rows = curve["train"]
    losses = tuple(row["loss"] for row in train_rows)
    steps = tuple(row["step"] for row in train_rows)
    guessing_loss = curve["guessing_loss"]
    highest = max(losses)
    if guessing_loss is not None:
        highest = max(highest, guessing_loss)
    return Chart("Training loss", losses, steps, 0.0, highest, unit=STEP, mark=guessing_loss, mark_name="guessing")


def _draw_dev_measure(curve: Mapping[str, Any], measure: str, title: str, chance: float) -> Chart:
    """Chart of a measure on the dev set by step.

    It shows the chance level, and the step whose weights were kept.
    """
    dev_rows = curve["dev"]
    values = tuple(row[measure] for row in dev_rows if row[measure] is not None)
    steps = tuple(row["step"] for row in dev_rows)
    band: tuple[tuple[float, float], ...] = ()
    if measure == "accuracy":  # the only measure that has intervals in the curve
        band = tuple((row["low"], row["high"]) for row in dev_rows)
    interval_ends = chain.from_iterable(band)
    around_chance = (chance - MARGIN, chance + MARGIN)
    low, high = tenths_around((*values, *around_chance, *interval_ends))
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
