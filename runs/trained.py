"""Stored runs of what was trained, and what tables ask of them.

They were made by a queue of jobs with a training loop of its own, which is gone: what a table trains now goes through
`winokit train` (`runs.training`). Each record has rows and predictions under `SET@STEP`; differences between arms, gaps
and what a search came to are records beside them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from statistics import fmean, stdev

from runs.store import Record, Store
from runs.tables import number
from winokit.results import Metric

STORES = ("trained-winogrande", "trained-liu", "trained-square-one")
WITH_RUNS = "with_runs"
"""The metric of a difference whose interval is over problems and runs."""
WORDS_TEST = "words-test"
BOTH = "both"
"""Pronouns of either gender: every text is on both sides of that gap, so that how hard a text is drops out of it."""


def score(record: Record, name: str, step: int | str | None = None, metric: str = "accuracy") -> Metric | None:
    """Row of a metric over all problems of a dataset.

    None if the record has none. `step` is the training step, by default the last one that was stored.
    For accuracy, the row in which undecided problems count one half is preferred.
    """
    at_step = last(record, name) if step is None else step
    rows = [row for row in record.rows if row.dataset == f"{name}@{at_step}" and row.subset == "all"]
    if metric == "accuracy":
        expected = next((row for row in rows if row.metric == "expected_accuracy"), None)
        if expected is not None:
            return expected
    return next((row for row in rows if row.metric == metric), None)


def steps_of(record: Record, name: str) -> list[int]:
    """Training steps at which a dataset was predicted, ascending."""
    steps = []
    for dataset_at_step in record.predictions:
        dataset, _, step = dataset_at_step.rpartition("@")
        if dataset == name:
            steps.append(int(step))
    return sorted(steps)


def last(record: Record, name: str) -> int:
    """Last training step at which a dataset was predicted, or -1 if there is none."""
    return max(steps_of(record, name), default=-1)


def chosen_step(record: Record, test: str, store: Store) -> int | None:
    """Training step that the papers' rule chooses for a test set: the best on the set the rule names.

    The first of equally good steps. None if there is no rule for the test set, or no such set to choose on.
    """
    rules = json.loads(store["sets"].texts["rules"])
    empty = json.loads(store["sets"].texts["empty"])
    arm = record.key.split("/")[1]
    chosen_on = rules.get(test)
    if chosen_on is None or chosen_on in empty.get(arm, {}):
        return None
    best_step: int | None = None
    best_value = -math.inf
    for step in steps_of(record, chosen_on):
        metric = score(record, chosen_on, step)
        if metric is not None and metric.value > best_value:
            best_step = step
            best_value = metric.value
    return best_step


def seeds(store: Store, name: str) -> list[Record]:
    """Records of all seeds of one arm, in stored order."""
    return [record for record in store.records.values() if arm_of(record) == name]


def arm_of(record: Record) -> str:
    """Name that the seeds of a run share: its key without the last part."""
    return record.key.rpartition("/")[0]


def seed_of(record: Record) -> str:
    """Last part of a run's key: its seed, or the number of its draw."""
    return record.key.rpartition("/")[2]


def mean_sd(values: Iterable[Metric | float | None]) -> str:
    """Mean and standard deviation in per cent, None values left out.

    Only the mean if there is one value; empty if there is none.
    """
    percents = [100 * value for value in plain_values(values)]
    if not percents:
        return ""
    mean = number(fmean(percents))
    return f"{mean} ± {number(stdev(percents))}" if len(percents) > 1 else mean


def plain_values(values: Iterable[Metric | float | None]) -> list[float]:
    """Metrics and numbers as plain numbers, None left out."""
    numbers = []
    for value in values:
        if isinstance(value, Metric):
            numbers.append(value.value)
        elif value is not None:
            numbers.append(value)
    return numbers
