"""What a filter changed, as rows: sizes, a held-out linear probe, and divergence along the first component.

The probe of what is kept is ranked among probes of as many problems drawn at random. Two intervals, one before and one
after, say nothing of the difference: a few problems fewer move a probe about as much as another way to deal the folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, count
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.methods.aflite.divergence import (
    NEIGHBOURS,
    SMOOTHING,
    Components,
    bins_for,
    by_chance,
    divergence,
    estimators,
    principal_components,
    standard_error,
)
from winokit.methods.aflite.inputs import Bools, numbered
from winokit.methods.aflite.methods import DebiasArm, DebiasRows
from winokit.methods.aflite.null import NullModel
from winokit.methods.aflite.probe import Probe, linear_probe
from winokit.methods.aflite.random_reduction import RandomReduction, random_reduction
from winokit.methods.aflite.sequential import rank
from winokit.methods.metrics.intervals import share_interval
from winokit.results import Metric
from winokit.settings import Help, Settings

ALL = "all"
"""The arm that removes nothing."""
PROTOCOL = "debias"
NORMAL = 1.959964
"""Standard errors on either side of a 95 % interval."""
SURE = 0.05
"""The q-value up to which a removal is counted as more than chance."""


@dataclass(frozen=True)
class Assessment(Settings):
    """How to look at what is left."""

    folds: Annotated[int, Help("Folds of the linear probe.", least=2)] = 5
    regularisation: float = 1.0
    bins: Annotated[int | None, Help("Bins of histograms. Default: fitted to the smallest arm.", least=2)] = None
    smoothing: float = SMOOTHING
    neighbours: Annotated[int, Help("Neighbours of the k-NN estimate of divergence.", least=1)] = NEIGHBOURS
    draws: int = 100
    """Resamples for the standard errors of divergences."""
    chance_draws: int = 10
    """Draws with answers turned at random, for what an estimator gives on no difference."""
    removals: int = 19
    """Random removals of as many problems, at most, that the probe of what is kept is ranked among; 19 can tell."""
    seed: int = 0


RowMaker = Callable[..., Metric]
"""Makes a row from its subset, metric, value and n: what all rows of a run have in common is filled in."""


def rows_by(dataset: str, model: str, scoring: str) -> RowMaker:
    """Rows of one run."""
    return partial(Metric, dataset, model, scoring, None, PROTOCOL)


def of_seed(name: str, seed: int) -> str:
    """The name of an arm as another seed makes it: a subset of its own in the rows."""
    return f"{name}.seed{seed}"


def size_rows(arm: DebiasArm, rows: DebiasRows, row: RowMaker) -> Iterator[Metric]:
    """How many problems are kept, and how many groups lost some of their members and not all."""
    numbers = numbered(rows.groups, len(rows))
    members, left = np.bincount(numbers), np.bincount(numbers, arm.keep)
    kept = int(arm.keep.sum())
    yield row(arm.name, "n_kept", kept, len(rows))
    yield row(arm.name, "n_groups_split", int(((left > 0) & (left < members)).sum()), int((members > 1).sum()))
    yield row(arm.name, "share_first_answers", float((rows.y[arm.keep] == 0).mean()), kept, chance=0.5)


def null_rows(chosen: DebiasArm, seeds: Sequence[DebiasArm], null: NullModel, row: RowMaker) -> Iterator[Metric]:
    """How many problems went, and how many go by chance: the mean, least and most of the relabelled runs.

    Each seed has a p-value by rank, n its number of draws; a majority is as sure as its least sure seed.
    """
    n, drawn = len(chosen.keep), null.null_removed
    sure = int((null.q_values[~chosen.keep] <= SURE).sum())
    by_chance = {"low": min(drawn), "high": max(drawn), "note": f"mean, least and most of {len(drawn)} relabelled runs"}
    yield row(chosen.name, "n_removed", int((~chosen.keep).sum()), n, chance=null.expected)
    yield row(chosen.name, "n_removed_by_chance", null.expected, n, **by_chance)
    yield row(chosen.name, "n_removed_surely", sure, n, note=f"q-value of {SURE} or less")
    ranks = {chosen.name: max(null.ranks, key=lambda each: each.p_value)}
    ranks |= zip((arm.name for arm in seeds), null.ranks, strict=True)
    for name, among in ranks.items():
        yield row(name, "p_null", among.p_value, among.draws)


def seed_rows(chosen: DebiasArm, seeds: tuple[DebiasArm, ...], row: RowMaker) -> Iterator[Metric]:
    """How alike two seeds are, in what they keep and in what they remove, and how alike sets drawn at random would be.

    Jaccard's index: the share of what either has that both have; the mean, least and most over pairs of seeds.
    """
    pairs = list(combinations([arm.keep for arm in seeds], 2))
    for name, masks in (("kept", pairs), ("removed", [(~first, ~second) for first, second in pairs])):
        found = [_jaccard(first, second) for first, second in masks]
        chance = float(np.mean([_jaccard_by_chance(first, second) for first, second in masks]))
        note = f"Jaccard's index of two seeds: mean, least and most of {len(pairs)} pairs"
        value, n = float(np.mean(found)), len(chosen.keep)
        more = {"low": min(found), "high": max(found), "chance": chance, "note": note}
        yield row(chosen.name, f"{name}_overlap", value, n, **more)


def _jaccard(first: Bools, second: Bools) -> float:
    """Two empty sets are the same."""
    either = int((first | second).sum())
    return int((first & second).sum()) / either if either else 1.0


def _jaccard_by_chance(first: Bools, second: Bools) -> float:
    """Of two sets of these sizes, drawn apart from each other: the overlap to expect over the union to expect."""
    sizes = int(first.sum()), int(second.sum())
    both = sizes[0] * sizes[1] / len(first)
    return both / (sum(sizes) - both) if any(sizes) else 1.0


def probe_of(keep: Bools, rows: DebiasRows, how: Assessment) -> Probe:
    """The held-out probe on what is kept."""
    assert rows.x is not None
    x = rows.x if keep.all() and isinstance(rows.x, np.ndarray) else rows.x[np.flatnonzero(keep)]
    groups = _groups(keep, rows)
    return linear_probe(x, rows.y[keep], groups, folds=how.folds, seed=how.seed, regularisation=how.regularisation)


def _groups(keep: Bools, rows: DebiasRows) -> list[str | None]:
    return [group for group, kept in zip(rows.groups, keep, strict=True) if kept]


def probe_row(arm: DebiasArm, rows: DebiasRows, how: Assessment, row: RowMaker) -> Metric:
    """The probe's accuracy on what an arm keeps, with an interval over groups."""
    probe = probe_of(arm.keep, rows, how)
    found = share_interval(probe.correct, _groups(arm.keep, rows))
    more = {"low": found.low, "high": found.high, "chance": 0.5}
    return row(arm.name, "probe_accuracy", probe.accuracy, len(probe.correct), **more)


def removal_rows(arm: DebiasArm, probe: Metric, rows: DebiasRows, how: Assessment, row: RowMaker) -> Iterator[Metric]:
    """The probe of what an arm keeps among probes of as many problems drawn at random, in groups if the arm has them.

    Nothing where nothing was removed, or where it was removed at random.
    """
    if arm.keep.all() or arm.name == RandomReduction.name:
        return
    groups, drawn = rows.groups if arm.whole else None, []

    def reached() -> Iterator[bool]:
        for number in count(how.seed + 1):
            keep = random_reduction(len(rows), int(arm.keep.sum()), seed=number, groups=groups)
            drawn.append(probe_of(keep, rows, how).accuracy)
            yield drawn[-1] <= probe.value

    among = rank(reached(), how.removals)
    more = {"low": min(drawn), "high": max(drawn), "chance": 0.5}
    note = f"as many at random: mean, least and most of {len(drawn)} draws"
    yield row(arm.name, "random_probe_accuracy", float(np.mean(drawn)), probe.n, **more, note=note)
    yield row(arm.name, "p_random_removal", among.p_value, among.draws)


def divergence_rows(
    arm: DebiasArm, rows: DebiasRows, how: Assessment, fixed: Components, row: RowMaker
) -> Iterator[Metric]:
    """Divergence along the first component by every estimator, both ways.

    Rows of the subset `pmi` use the components of all problems, those of `pmi.refit` components of what is kept.
    """
    assert rows.x is not None
    values = fixed.project(rows.x, arm.keep)[:, 0]
    estimates = list(_estimates(arm.name, values, arm, rows, how, row))
    yield from estimates
    refit = f"{arm.name}.refit"
    if arm.keep.all():
        yield from (replace(estimate, subset=refit) for estimate in estimates)
        return
    values = principal_components(rows.x, arm.keep, count=1).project(rows.x, arm.keep)[:, 0]
    yield from _estimates(refit, values, arm, rows, how, row)


def _estimates(
    subset: str, values: NDArray[Any], arm: DebiasArm, rows: DebiasRows, how: Assessment, row: RowMaker
) -> Iterator[Metric]:
    y, numbers = rows.y[arm.keep], numbered(rows.groups, len(rows))[arm.keep]
    numbers = np.unique(numbers, return_inverse=True)[1]
    for name, estimate in estimators(bins_of((arm,), how), how.smoothing, how.neighbours).items():
        found = divergence(values, y, estimate)
        chance = by_chance(values, y, estimate, numbers, draws=how.chance_draws, seed=how.seed)
        errors: Sequence[float | None] = (None, None)
        if name != "knn":
            errors = standard_error(values, y, estimate, numbers, draws=how.draws, seed=how.seed)
        for suffix, value, guess, error in zip(("", "_reverse"), found, chance, errors, strict=True):
            ends = {} if error is None else {"low": max(0.0, value - NORMAL * error), "high": value + NORMAL * error}
            yield row(subset, f"kl_{name}{suffix}", value, len(y), chance=guess, **ends)


def check_assessment(rows: DebiasRows, how: Assessment) -> None:
    """Refuse what no arm of these problems can be looked at with, before minutes are spent on filtering."""
    groups = int(numbered(rows.groups, len(rows)).max()) + 1
    if how.folds > groups:
        raise BadInput(f"no more folds than the {groups:,} groups expected (--folds); found {how.folds:,}")
    if how.bins is not None and how.bins > len(rows):
        raise BadInput(f"no more bins than the {len(rows):,} problems expected (--bins); found {how.bins:,}")


def bins_of(arms: tuple[DebiasArm, ...], how: Assessment) -> int:
    """Bins that suit the smallest arm, so that all are counted alike."""
    return how.bins or bins_for(min(int(arm.keep.sum()) for arm in arms))
