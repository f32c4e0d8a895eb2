"""What a filter changed, as flat rows: sizes, a held-out linear probe, and divergence along the first component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winokit.debias.components import Components, principal_components
from winokit.debias.divergence import (
    NEIGHBOURS,
    SMOOTHING,
    Divergence,
    Estimator,
    bins_for,
    by_chance,
    divergence,
    estimators,
    standard_error,
)
from winokit.debias.null import Null
from winokit.debias.probe import Probe, linear_probe
from winokit.debias.whole_groups import numbered
from winokit.errors import BadInput
from winokit.filtering.arms import Arm, Rows
from winokit.metrics import Draws, share_interval

Row: TypeAlias = dict[str, Any]
"""A row of results.json; the keys are those of an audit's."""
PROTOCOL = "debias"
NORMAL = 1.959964
"""Standard errors on either side of a 95 % interval."""
REFIT = "refit"
SURE = 0.05
"""The q-value up to which a removal is counted as more than chance."""


@dataclass(frozen=True)
class Assessment:
    """How to look at what is left."""

    folds: int = 5
    regularisation: float = 1.0
    bins: int | None = None
    """Of histograms; by default fitted to the smallest arm and the same for all."""
    smoothing: float = SMOOTHING
    neighbours: int = NEIGHBOURS
    draws: int = 100
    """Resamples for the standard errors of divergences."""
    chance_draws: int = 10
    """Draws with answers turned at random, for what an estimator gives on no difference."""
    seed: int = 0

    def estimators(self) -> Mapping[str, Estimator]:
        """The three estimators of divergence."""
        assert self.bins is not None
        return estimators(self.bins, self.smoothing, self.neighbours)


@dataclass(frozen=True)
class Header:
    """What all rows of a run have in common."""

    dataset: str
    model: str
    scoring: str

    def row(self, subset: str, metric: str, value: float, n: int, **more: Any) -> Row:
        """One row, with None for what it does not have."""
        start = {"dataset": self.dataset, "model": self.model, "scoring": self.scoring, "formalization": None}
        rest = {"low": None, "high": None, "chance": None, "note": None} | more
        return {**start, "protocol": PROTOCOL, "subset": subset, "metric": metric, "value": value, "n": n, **rest}


def size_rows(arm: Arm, rows: Rows, header: Header) -> Iterator[Row]:
    """How many problems are kept, and how many groups lost some of their members and not all."""
    numbers = numbered(rows.groups, len(rows))
    members, left = np.bincount(numbers), np.bincount(numbers, arm.keep)
    kept = int(arm.keep.sum())
    yield header.row(arm.name, "n_kept", kept, len(rows))
    yield header.row(arm.name, "n_groups_split", int(((left > 0) & (left < members)).sum()), int((members > 1).sum()))
    yield header.row(arm.name, "share_first_answers", float((rows.y[arm.keep] == 0).mean()), kept, chance=0.5)


def null_rows(arm: Arm, null: Null | None, header: Header) -> Iterator[Row]:
    """How many problems went, and how many would by chance; the interval is where another relabelled run would fall."""
    if null is None:
        return
    n, (low, high) = len(arm.keep), null.interval
    sure = int((null.q_values[~arm.keep] <= SURE).sum())
    yield header.row(arm.name, "n_removed", null.removed, n, chance=null.expected)
    yield header.row(arm.name, "n_removed_by_chance", null.expected, n, low=low, high=high)
    yield header.row(arm.name, "n_removed_surely", sure, n, note=f"q-value of {SURE} or less")
    yield header.row(arm.name, "p_null", null.p_value, len(null.null_removed))


def probe_arm(arm: Arm, rows: Rows, how: Assessment) -> Probe:
    """The held-out probe on what an arm keeps."""
    assert rows.x is not None
    x = rows.x if arm.keep.all() and isinstance(rows.x, np.ndarray) else rows.x[np.flatnonzero(arm.keep)]
    groups = [group for group, kept in zip(rows.groups, arm.keep, strict=True) if kept]
    return linear_probe(x, rows.y[arm.keep], groups, folds=how.folds, seed=how.seed, regularisation=how.regularisation)


def probe_row(arm: Arm, probe: Probe, rows: Rows, how: Assessment, header: Header) -> Row:
    """The probe's accuracy; the interval draws whole groups."""
    groups = [group for group, kept in zip(rows.groups, arm.keep, strict=True) if kept]
    found = share_interval(probe.correct, groups, Draws(seed=how.seed))
    more = {"low": found.low, "high": found.high, "chance": 0.5}
    return header.row(arm.name, "probe_accuracy", probe.accuracy, len(probe.correct), **more)


def divergence_rows(arm: Arm, rows: Rows, how: Assessment, fixed: Components, header: Header) -> Iterator[Row]:
    """Divergence along the first component by every estimator, both ways.

    Rows of the subset `pmi` use the components of all problems, those of `pmi.refit` components of what is kept.
    """
    assert rows.x is not None
    values = fixed.project(rows.x, arm.keep)[:, 0]
    found = list(_estimates(arm.name, values, arm, rows, how, header))
    yield from found
    refit = f"{arm.name}.{REFIT}"
    if arm.keep.all():
        yield from ({**row, "subset": refit} for row in found)
        return
    values = principal_components(rows.x, arm.keep, count=1).project(rows.x, arm.keep)[:, 0]
    yield from _estimates(refit, values, arm, rows, how, header)


def _estimates(
    subset: str, values: NDArray[Any], arm: Arm, rows: Rows, how: Assessment, header: Header
) -> Iterator[Row]:
    y, numbers = rows.y[arm.keep], numbered(rows.groups, len(rows))[arm.keep]
    numbers = np.unique(numbers, return_inverse=True)[1]
    for name, estimate in how.estimators().items():
        found = divergence(values, y, estimate)
        chance = by_chance(values, y, estimate, numbers, draws=how.chance_draws, seed=how.seed)
        error = None
        if name != "knn":
            error = standard_error(values, y, estimate, numbers, draws=how.draws, seed=how.seed)
        for way, suffix in (("forward", ""), ("reverse", "_reverse")):
            value = getattr(found, way)
            more = {"chance": getattr(chance, way), **_interval(value, error, way)}
            yield header.row(subset, f"kl_{name}{suffix}", value, len(y), **more)


def _interval(value: float, error: Divergence | None, way: str) -> dict[str, float]:
    if error is None:
        return {}
    half = NORMAL * getattr(error, way)
    return {"low": max(0.0, value - half), "high": value + half}


def check_assessment(rows: Rows, how: Assessment) -> None:
    """Refuse what no arm of these problems can be looked at with, before minutes are spent on filtering."""
    groups = int(numbered(rows.groups, len(rows)).max()) + 1
    if how.folds > groups:
        raise BadInput(f"no more folds than the {groups:,} groups expected (--folds); found {how.folds:,}")
    if how.bins is not None and how.bins > len(rows):
        raise BadInput(f"no more bins than the {len(rows):,} problems expected (--bins); found {how.bins:,}")


def bins_of(arms: tuple[Arm, ...], how: Assessment) -> int:
    """Bins that suit the smallest arm, so that all are counted alike."""
    return how.bins or bins_for(min(int(arm.keep.sum()) for arm in arms))
