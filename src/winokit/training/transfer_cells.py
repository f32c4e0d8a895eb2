"""A cell of a table of transfer: what one arm has on one test set, as rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from winokit.training.exam import Row
from winokit.training.finetune import DEV, PREDICTIONS, Outcome
from winokit.training.gender_rows import gender_rows, has_gender
from winokit.training.selection import Named, Target

SUBSETS = {"accuracy": "all", "groups": "complete"}
"""The subsets of an audit's rows."""


@dataclass(frozen=True)
class Cell:
    """One arm on one test set: rows, or why there are none."""

    arm: str
    test: str
    rows: tuple[Row, ...] = field(default=())
    why: str | None = None
    chosen: int | None = None
    """The number of the setting that was chosen."""
    folder: str | None = None
    """Where its run is."""

    def row(self, metric: str, subset: str = "all", protocol: str = "accuracy") -> Row | None:
        """The row of that name."""
        named = (protocol, subset, metric)
        return next((row for row in self.rows if (row["protocol"], row["subset"], row["metric"]) == named), None)


def cell_of(
    arm: str, test: Target, outcome: Outcome, head: dict[str, Any], marks: Sequence[float] | None = None
) -> Cell:
    """The cell of a run, under the names of an audit's rows, with what every setting had where it was chosen."""
    own = rows_on(outcome, test.data.card.name)
    number = int(head["setting"])
    if not own:
        why = "its answers are hidden; predictions are in the run's folder"
        return Cell(arm, test.name, (), why, number, str(outcome.folder))
    found = [{**row, **head, "subset": SUBSETS[row["protocol"]]} for row in own]
    if has_gender(test.data):
        path = outcome.folder / PREDICTIONS / f"{own[0]['subset']}.jsonl"
        made = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        shared = {name: found[0][name] for name in ("dataset", "model", "scoring", "formalization")}
        right = [row["prediction"] == row["answer"] for row in made]
        found += gender_rows(test.data, right, {**shared, **head})
    if marks is not None and test.chosen_on is not None:
        found += [_choice(found[0], test.chosen_on, at, mark) for at, mark in enumerate(marks, 1)]
    return Cell(arm, test.name, tuple(found), None, number, str(outcome.folder))


def rows_on(outcome: Outcome, dataset: str) -> list[Row]:
    """A run's rows on a test set by its name; those of a dev set of the same name are others."""
    return [row for row in outcome.metrics if row["dataset"] == dataset and row["subset"] != DEV]


def choice_of(outcome: Outcome, chosen_on: Named) -> float:
    """What settings are compared by: accuracy where they are chosen, undecided problems counted 1/candidates."""
    own = [row for row in outcome.metrics if row["dataset"] == chosen_on.data.card.name]
    values = {row["metric"]: float(row["value"]) for row in own}
    return values.get("expected_accuracy", values["accuracy"])


def _choice(like: Row, chosen_on: Named, setting: int, mark: float) -> Row:
    """What a setting had on the set it was chosen on."""
    named = {"dataset": chosen_on.data.card.name, "protocol": "choice", "subset": f"setting-{setting}"}
    return {**like, **named, "metric": "accuracy", "value": mark, "n": len(chosen_on.data), "low": None, "high": None}
