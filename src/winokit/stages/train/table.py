"""A training run on the terminal and for scripts: how it went, and what it has on every set."""

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


def as_json(outcome: "TrainOutcome") -> dict[str, Any]:
    """The run's folder, settings, rows and warnings."""
    return {
        "out": str(outcome.folder),
        "run": outcome.run,
        "metrics": rows_to_json(outcome.metrics),
        "warnings": outcome.warnings,
        "report": str(page_of(outcome.folder)),
    }


def lines(outcome: "TrainOutcome") -> Lines:
    """Describe the run, then list its rows and its warnings."""
    if outcome.resumed is not None:
        yield f"went on from step {outcome.resumed:,}"
    yield describe_run(outcome)
    if outcome.metrics:
        yield table(HEADS, map(_make_cells, outcome.metrics), left=3)
    yield from (f"! {warning}" for warning in outcome.warnings)
    yield from _suggest_next_steps(outcome)


def describe_run(outcome: "TrainOutcome") -> str:
    """One sentence: the formalization, the data, the number of steps, and the time they took."""
    curve = outcome.curve
    run = outcome.run
    seconds = max(curve["seconds"], 1e-3)
    epochs = curve["train"][-1]["epoch"] if curve["train"] else 0
    speed = curve["examples"] * epochs / seconds
    has_chosen_weights = curve["dev"] and run["keep"] == "best"
    best_step_note = f"; step {curve['kept_step']:,} is best on the dev set" if has_chosen_weights else ""
    early = ", stopped early" if curve["stopped_early"] else ""
    return (
        f"{run['formalization']} on {run['train']}: {curve['steps']:,} steps, {epochs:.1f} epochs of "
        f"{curve['examples']:,} examples in {seconds:,.0f} s ({speed:,.0f} per second){early}{best_step_note}"
    )


def _suggest_next_steps(outcome: "TrainOutcome") -> Iterator[str]:
    yield f"report: {page_of(outcome.folder)}"
    yield f"audit it: winokit audit DATA --model hf:{outcome.folder}"


def _make_cells(row: Metric) -> Sequence[str]:
    metric = row.metric.replace("_", " ")
    share = f"{say(row)} {say_interval(row)}".strip()
    return name_of_set(row), str(row.details["variant"]), metric, share, say_chance(row), f"{row.n:,}"
