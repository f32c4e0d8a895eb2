"""The outcome of a gate on the terminal and for scripts."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import percent, points

if TYPE_CHECKING:
    from winokit.stages.gate.verdict import GateOutcome

HEADS = ("metric", "old", "new", "drop", "interval", "verdict")


def lines(outcome: "GateOutcome") -> Lines:
    """Lines for the terminal: verdict, sentences on metrics, and a table."""
    return [outcome.verdict, *outcome.sentences, table(HEADS, rows_of_tests(outcome), words=(-1,))]


def as_json(outcome: "GateOutcome") -> dict[str, Any]:
    """The outcome with its sentences as JSON-ready values."""
    return {**asdict(outcome), "sentences": outcome.sentences}


def code(outcome: "GateOutcome") -> int:
    """Exit code: 1 if the gate failed, else 0."""
    return 0 if outcome.passed else 1


def rows_of_tests(outcome: "GateOutcome") -> Iterator[tuple[str, ...]]:
    """Cells of each test, in the order of `HEADS`."""
    for test in outcome.tests:
        interval = f"{points(test.low)} to {points(test.high)}"
        yield test.metric, percent(test.old), percent(test.new), points(test.drop), interval, test.verdict
