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
    """The verdict, a sentence per metric, and the numbers."""
    return [outcome.verdict, *outcome.sentences, table(HEADS, rows_of_tests(outcome), words=(-1,))]


def as_json(outcome: "GateOutcome") -> dict[str, Any]:
    """The outcome with its sentences."""
    return {**asdict(outcome), "sentences": outcome.sentences}


def code(outcome: "GateOutcome") -> int:
    """1 if the gate failed."""
    return 0 if outcome.passed else 1


def rows_of_tests(outcome: "GateOutcome") -> Iterator[tuple[str, ...]]:
    """The cells of each test."""
    for test in outcome.tests:
        ends = f"{points(test.low)} to {points(test.high)}"
        yield test.metric, percent(test.old), percent(test.new), points(test.drop), ends, test.verdict
