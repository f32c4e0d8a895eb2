"""How each model fares on each version: accuracy and group accuracy with intervals, over what can be evaluated on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from winokit.errors import BadInput
from winokit.methods.metrics.accuracy import chance
from winokit.methods.metrics.groups import all_right, complete_groups, group_accuracy_chance
from winokit.methods.metrics.intervals import share_interval
from winokit.problem import Dataset
from winokit.stages.evolve.answers import EvolveAnswers
from winokit.stages.evolve.pool import EvolvePool
from winokit.stages.grade.ladder import on_grid, steps_of

RECORD = "evolution.json"
ACCURACY, GROUP_ACCURACY = "accuracy", "group_accuracy"


@dataclass(frozen=True, slots=True)
class Fare:
    """One model on one version."""

    version: str
    model: str
    against: bool
    """Whether this version was filtered against the model: then a fall is of our own making."""
    metric: str
    value: float
    low: float
    high: float
    n: int
    chance: float


def fares(
    pool: EvolvePool,
    asked: Dataset,
    stays: Dataset,
    against: Sequence[EvolveAnswers],
    watched: Sequence[EvolveAnswers],
    version: str,
) -> tuple[Fare, ...]:
    """Every model on dev and test of the previous version, and on what the new one can evaluate on."""
    before = asked.filter(lambda problem: not pool.is_new(problem))
    found: list[Fare] = []
    for one, filtered in [(one, True) for one in against] + [(one, False) for one in watched]:
        if len(before):
            found += _fares(before, one, pool.version, against=False)
        found += _fares(stays, one, version, against=filtered)
    return tuple(found)


def _fares(problems: Dataset, answers: EvolveAnswers, version: str, *, against: bool) -> Iterator[Fare]:
    right = np.array([answers.right[p.id] for p in problems], np.bool_)
    groups = [p.group for p in problems]
    sizes = [len(p.candidates) for p in problems]
    found = share_interval(right, problems.clusters)
    value = float(right.mean())
    yield Fare(version, answers.model, against, ACCURACY, value, found.low, found.high, len(right), chance(sizes))
    if complete_groups(groups):
        whole = all_right(right, groups)
        found = share_interval(whole, range(len(whole)))
        by_chance = group_accuracy_chance([1 / size for size in sizes], groups)
        value, n = float(whole.mean()), len(whole)
        yield Fare(version, answers.model, against, GROUP_ACCURACY, value, found.low, found.high, n, by_chance)


def coarse_fare(fare: Fare) -> Fare:
    """A fare that may be published though hidden answers are in it: to the nearest step, its interval a step wider."""
    steps = steps_of(fare.n)
    ends = (math.floor(fare.low * steps), math.ceil(fare.high * steps))
    value, low, high = (on_grid(level, steps) for level in (round(fare.value * steps), *ends))
    return replace(fare, value=value, low=low, high=high)


def earlier_fares(previous: Path | None) -> tuple[Fare, ...]:
    """What the previous release recorded of versions before it."""
    if previous is None or not (previous / RECORD).is_file():
        return ()
    path = previous / RECORD
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return tuple(Fare(**row) for row in content["fares"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: not what winokit release writes ({error})") from None


def joined_fares(earlier: Sequence[Fare], told: Sequence[Fare]) -> tuple[Fare, ...]:
    """What is known of all versions: what was measured last counts, what was filtered against stays so."""
    known = {(one.version, one.model, one.metric): one for one in earlier}
    for one in told:
        key = (one.version, one.model, one.metric)
        against = one.against or (key in known and known[key].against)
        known[key] = replace(one, against=against)
    return tuple(known.values())
