"""How each model fares on each version: accuracy and group accuracy with intervals, over what can be evaluated on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from winokit.errors import BadInput
from winokit.files import read_object
from winokit.methods.metrics.accuracy import chance
from winokit.methods.metrics.groups import all_right, complete_groups, group_accuracy_chance
from winokit.methods.metrics.intervals import share_interval
from winokit.problem import Dataset
from winokit.stages.evolve.pool import EvolvePool
from winokit.stages.evolve.solved import EvolveAnswers
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
    stays: Dataset,
    against: Sequence[EvolveAnswers],
    watched: Sequence[EvolveAnswers],
    version: str,
) -> Iterator[Fare]:
    """Every model on dev and test of the previous version, and on what `stays` for the new one to evaluate on."""
    before = pool.asked.filter(lambda problem: not pool.is_new(problem))
    for answers, is_against in [*((model, True) for model in against), *((model, False) for model in watched)]:
        if len(before):
            yield from _fares(before, answers, pool.version, against=False)
        yield from _fares(stays, answers, version, against=is_against)


def _fares(problems: Dataset, answers: EvolveAnswers, version: str, *, against: bool) -> Iterator[Fare]:
    right = np.array([answers.right[p.id] for p in problems], np.bool_)
    groups = [p.group for p in problems]
    sizes = [len(p.candidates) for p in problems]
    rows = [(ACCURACY, right, problems.clusters, chance(sizes))]
    if complete_groups(groups):
        whole = all_right(right, groups)
        by_chance = group_accuracy_chance([1 / size for size in sizes], groups)
        rows.append((GROUP_ACCURACY, whole, tuple(range(len(whole))), by_chance))
    for metric, values, clusters, by_chance in rows:
        ends, value = share_interval(values, clusters), float(values.mean())
        yield Fare(version, answers.model, against, metric, value, ends.low, ends.high, len(values), by_chance)


def coarse_fare(fare: Fare) -> Fare:
    """A fare that may be published though hidden answers are in it: to the nearest step, its interval a step wider."""
    steps = steps_of(fare.n)
    ends = (math.floor(fare.low * steps), math.ceil(fare.high * steps))
    value, low, high = (on_grid(level, steps) for level in (round(fare.value * steps), *ends))
    return replace(fare, value=value, low=low, high=high)


def known_fares(previous: Path | None, measured: Iterable[Fare]) -> tuple[Fare, ...]:
    """What is known of all versions: what was measured last counts, what was filtered against stays so.

    The previous release recorded what was known of the versions before it.
    """
    path = previous / RECORD if previous is not None else None
    known: dict[tuple[str, str, str], Fare] = {}
    if path is not None and path.is_file():
        content = read_object(path)
        try:
            earlier = [Fare(**row) for row in content["fares"]]
        except (KeyError, TypeError) as error:
            raise BadInput(f"{path}: not what winokit release writes ({error})") from None
        known = {(fare.version, fare.model, fare.metric): fare for fare in earlier}
    for fare in measured:
        key = (fare.version, fare.model, fare.metric)
        known[key] = replace(fare, against=fare.against or (key in known and known[key].against))
    return tuple(known.values())
