"""Stored runs of what was trained, and what tables ask of them.

They were made by a queue of jobs with a training loop of its own, which is gone: what a table trains now goes through
`winokit train` (`runs.training`). Each record has rows and predictions under `SET@STEP`; differences between arms, gaps
and what a search came to are records beside them.
"""

from __future__ import annotations

import json
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
    """Accuracy on a set, undecided problems counting one half; or another metric over all of it."""
    place = f"{name}@{last(record, name) if step is None else step}"
    own = [row for row in record.rows if row.dataset == place and row.subset == "all"]
    if metric == "accuracy":
        own.sort(key=lambda row: row.metric != "expected_accuracy")
        return next((row for row in own if row.metric in ("accuracy", "expected_accuracy")), None)
    return next((row for row in own if row.metric == metric), None)


def steps_of(record: Record, name: str) -> list[int]:
    """The steps at which a set was predicted."""
    return sorted(int(place.rsplit("@", 1)[1]) for place in record.predictions if place.rsplit("@", 1)[0] == name)


def last(record: Record, name: str) -> int:
    """The last of them; -1 for none."""
    return max(steps_of(record, name), default=-1)


def chosen_step(record: Record, test: str, store: Store) -> int | None:
    """The step that the papers' rule chooses for a test set, of equals the first; None where nothing can be chosen."""
    rules, empty = (json.loads(store["sets"].texts[key]) for key in ("rules", "empty"))
    arm = record.key.split("/")[1]
    on = rules.get(test)
    if on is None or on in empty.get(arm, {}):
        return None
    values = {step: metric.value for step in steps_of(record, on) if (metric := score(record, on, step)) is not None}
    return min(values, key=lambda step: (-values[step], step)) if values else None


def seeds(store: Store, name: str) -> list[Record]:
    """The records of one arm, seed by seed."""
    return [record for record in store.records.values() if arm_of(record) == name]


def arm_of(record: Record) -> str:
    """What a run's seeds share: its name without the last part."""
    return record.key.rpartition("/")[0]


def seed_of(record: Record) -> str:
    """The last part of a run's name: its seed, or the number of its draw."""
    return record.key.rpartition("/")[2]


def mean_sd(values: Iterable[Metric | float | None]) -> str:
    """Mean and standard deviation in per cent; the mean alone of one; nothing of none."""
    known = [100 * (value.value if isinstance(value, Metric) else value) for value in values if value is not None]
    if not known:
        return ""
    return number(fmean(known)) + (f" ± {number(stdev(known))}" if len(known) > 1 else "")


def minutes(records: Iterable[Record]) -> float:
    """How long jobs took, added up."""
    return sum(record.seconds or 0 for record in records) / 60
