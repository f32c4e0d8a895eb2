"""A cell of a table of transfer: what one arm has on one test set, as rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from winokit.methods.formalizations.base import Formalization
from winokit.methods.metrics.measuring import BLIND, MetricColumns, RowHead, clusters_by_id, gender_rows, has_gender
from winokit.methods.training.finetune import PREDICTIONS, TrainOutcome
from winokit.results import Detail, Metric
from winokit.stages.transfer.selection import NamedData, TransferTarget

SUBSETS = {"accuracy": "all", "groups": "complete"}
"""The subsets of an audit's rows."""


@dataclass(frozen=True)
class TransferCell:
    """One arm on one test set: rows, or why there are none."""

    arm: str
    test: str
    rows: tuple[Metric, ...] = field(default=())
    why: str | None = None
    chosen: int | None = None
    """The number of the setting that was chosen."""
    folder: str | None = None
    """Where its run is."""

    def row(self, metric: str, subset: str = "all", protocol: str = "accuracy") -> Metric | None:
        """The row of that name."""
        named = (protocol, subset, metric)
        return next((row for row in self.rows if (row.protocol, row.subset, row.metric) == named), None)


def cell_of(
    test: TransferTarget,
    outcome: TrainOutcome,
    model: str,
    about: Mapping[str, Detail],
    marks: Sequence[float] | None = None,
) -> TransferCell:
    """The cell of a run, under the names of an audit's rows, with what every setting had where it was chosen.

    `about` says the arm, the setting that was chosen and on what; every row has it.
    """
    own = outcome.on(test.data.card.name)
    arm, number, folder = str(about["arm"]), int(about["setting"] or 0), str(outcome.folder)
    if not own:
        why = "its answers are hidden; predictions are in the run's folder"
        return TransferCell(arm, test.name, (), why, number, folder)
    found = [replace(row, model=model, subset=SUBSETS[row.protocol], details={**row.details, **about}) for row in own]
    if has_gender(test.data):
        path = outcome.folder / PREDICTIONS / f"{own[0].subset}.jsonl"
        choices = [json.loads(line)["prediction"] for line in path.read_text("utf-8").splitlines()]
        like = found[0]
        head = RowHead(like.dataset, like.model, like.scoring, like.formalization, about)
        note = None if Formalization.parse(like.scoring).definition.reads_pronoun else BLIND
        columns = MetricColumns(test.data, choices, clusters_by_id(test.data))
        answered = [row for row, problem in enumerate(test.data) if problem.answer is not None]
        found += gender_rows(head, columns.take(answered), note)
    if marks is not None and test.chosen_on is not None:
        found += [_choice(found[0], test.chosen_on, at, mark) for at, mark in enumerate(marks, 1)]
    return TransferCell(arm, test.name, tuple(found), None, number, folder)


def choice_of(outcome: TrainOutcome, chosen_on: NamedData) -> float:
    """What settings are compared by: accuracy where they are chosen, undecided problems counted 1/candidates."""
    values = {row.metric: row.value for row in outcome.metrics if row.dataset == chosen_on.data.card.name}
    return values.get("expected_accuracy", values["accuracy"])


def _choice(like: Metric, chosen_on: NamedData, setting: int, mark: float) -> Metric:
    """What a setting had on the set it was chosen on."""
    named = replace(like, dataset=chosen_on.data.card.name, protocol="choice", subset=f"setting-{setting}")
    return replace(named, metric="accuracy", value=mark, n=len(chosen_on.data), low=None, high=None)
