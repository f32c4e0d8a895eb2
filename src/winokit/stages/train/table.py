"""A training run on the terminal and for scripts."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import say, say_chance, say_interval
from winokit.results import Metric, rows_to_json
from winokit.stages.train.page import page_of
from winokit.stages.train.verdict import name_of_set

if TYPE_CHECKING:
    from winokit.methods.training.finetune import TrainOutcome

HEADS = ("set", "variant", "result", "share", "chance", "n")
"""Headings of the table of rows."""


def as_json(outcome: "TrainOutcome") -> dict[str, Any]:
    """JSON output of the command: folder, settings, rows and warnings.

    `report` is the path of the page.
    """
    page = page_of(outcome.folder)
    return {
        "out": str(outcome.folder),
        "run": outcome.run,
        "metrics": rows_to_json(outcome.metrics),
        "warnings": outcome.warnings,
        "report": str(page),
    }


def lines(outcome: "TrainOutcome") -> Lines:
    """Yield terminal output: a sentence, rows, warnings and next commands."""
    if outcome.resumed is not None:
        yield f"went on from step {outcome.resumed:,}"
    yield describe_run(outcome)
    if outcome.metrics:
        yield table(HEADS, map(_make_cells, outcome.metrics), left=3)
    yield from (f"! {warning}" for warning in outcome.warnings)
    yield from _suggest_next_steps(outcome)


def describe_run(outcome: "TrainOutcome") -> str:
    """Sentence on a run: formalization, data, steps and time.

    It names the best step too, if weights were chosen.
    """
    curve = outcome.curve
    run = outcome.run
    examples = curve["examples"]
    seconds = max(curve["seconds"], 1e-3)
    train_rows = curve["train"]
    epochs = train_rows[-1]["epoch"] if train_rows else 0
    speed = examples * epochs / seconds
    time = f"{seconds:,.0f} s ({speed:,.0f} per second)"
    work = f"{curve['steps']:,} steps, {epochs:.1f} epochs of {examples:,} examples"
    sentence = f"{run['formalization']} on {run['train']}: {work} in {time}"
    if curve["stopped_early"]:
        sentence += ", stopped early"
    has_chosen_weights = curve["dev"] and run["keep"] == "best"
    if has_chosen_weights:
        sentence += f"; step {curve['kept_step']:,} is best on the dev set"
    return sentence


def _suggest_next_steps(outcome: "TrainOutcome") -> Iterator[str]:
    """Yield the report's path, and the command that audits the model."""
    yield f"report: {page_of(outcome.folder)}"
    yield f"audit it: winokit audit DATA --model hf:{outcome.folder}"


def _make_cells(row: Metric) -> Sequence[str]:
    """Cells of a row of the table, in the order of HEADS."""
    variant = str(row.details["variant"])
    metric = row.metric.replace("_", " ")
    share = f"{say(row)} {say_interval(row)}".strip()
    chance = say_chance(row)
    return name_of_set(row), variant, metric, share, chance, f"{row.n:,}"
