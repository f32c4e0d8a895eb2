"""From a dataset to what is kept of it: run the chosen method, its baselines at the same size, and look at each."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import scipy

from winokit import __version__
from winokit.debias.components import principal_components
from winokit.debias.null import Null
from winokit.debias.overuse import Overuse, Sides, overused_lengths, overused_polarity, overused_words
from winokit.errors import BadInput, UnknownName
from winokit.filtering.arms import (
    AFLITE,
    ALL,
    METHODS,
    PMI,
    RANDOM,
    Arm,
    Choices,
    Rows,
    Watch,
    everything,
    null_of,
    run_method,
)
from winokit.filtering.assessment import (
    Assessment,
    Header,
    Row,
    bins_of,
    check_assessment,
    divergence_rows,
    null_rows,
    probe_arm,
    probe_row,
    size_rows,
)
from winokit.filtering.features import Features
from winokit.filtering.pictures import Pictures, pictures_of
from winokit.filtering.words import words_of
from winokit.problem import Dataset

COIN = 0.5
_USUAL = Assessment()


@dataclass(frozen=True)
class Overused:
    """What the removed problems have more of than the kept."""

    words: tuple[Overuse, ...] = ()
    """The surest over-use first, the surest under-use last."""
    lengths: tuple[Overuse, ...] = ()
    polarity: tuple[Overuse, ...] = ()


@dataclass(frozen=True)
class Filtering:
    """The outcome: what the chosen method keeps, and everything that is known about that."""

    dataset: Dataset
    method: str
    arms: tuple[Arm, ...]
    metrics: list[Row]
    overused: Overused
    pictures: Pictures | None
    settings: dict[str, Any]
    """Versions, seeds, choices, hashes, seconds."""
    notes: tuple[str, ...] = ()
    """What readers of the data and the features had to decide."""
    warnings: tuple[str, ...] = ()
    """What a reader of the outcome must not overlook."""
    null: Null | None = None
    """What AFLite removes from relabelled problems, where that was asked for."""

    @property
    def chosen(self) -> Arm:
        """The arm of the chosen method."""
        return next(arm for arm in self.arms if arm.name == self.method)

    @property
    def kept(self) -> Dataset:
        """The problems that stay."""
        keep = self.chosen.keep
        return self.dataset.with_problems(p for p, stays in zip(self.dataset, keep, strict=True) if stays)

    @property
    def removed(self) -> Dataset:
        """The problems that go, with the phase and the score they went with as labels."""
        arm = self.chosen
        problems = []
        for row in np.flatnonzero(~arm.keep).tolist():
            labels: dict[str, Any] = {"removed_by": arm.name}
            if arm.phase is not None:
                labels["removed_in_phase"] = int(arm.phase[row])
            if arm.scores is not None and np.isfinite(arm.scores[row]):
                labels["removed_score"] = round(float(arm.scores[row]), 6)
            if self.null is not None:
                labels["removed_q"] = round(float(self.null.q_values[row]), 6)
            problems.append(self.dataset[row].with_labels(**labels))
        return self.dataset.with_problems(problems)

    def find(self, subset: str, metric: str) -> Row | None:
        """The row of that name."""
        return next((row for row in self.metrics if (row["subset"], row["metric"]) == (subset, metric)), None)


@dataclass
class _Clock:
    """Says what begins and remembers how long it took."""

    watch: Watch
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        self.watch.step(what)
        start = time.perf_counter()
        yield
        self.seconds[what] = round(self.seconds.get(what, 0.0) + time.perf_counter() - start, 3)


def filter_problems(
    dataset: Dataset,
    method: str = AFLITE,
    *,
    features: Features | None = None,
    choices: Choices | None = None,
    assessment: Assessment | None = _USUAL,
    watch: Watch | None = None,
) -> Filtering:
    """Filter a dataset by `aflite`, `pmi` or `random`, and compare it with the other methods at the same size.

    AFLite needs features; pmi and random do without, and are then not assessed in them. With `assessment=None` features
    are not looked at: they may be too many for one machine's memory.
    """
    if method not in METHODS:
        raise UnknownName("method of debiasing", method, METHODS)
    choices, watch = choices or Choices(), watch or Watch()
    clock = _Clock(watch)
    rows = rows_of(dataset, features)
    if features is not None and assessment is not None:
        check_assessment(rows, assessment)
    size = None if method == AFLITE else choices.size
    with clock.timed(method):
        chosen = run_method(method, rows, choices, size, watch)
    null = None
    if method == AFLITE and choices.null_runs:
        with clock.timed("null"):
            null = null_of(chosen, rows, choices, watch)
    arms = _arms(chosen, rows, choices, clock)
    header = Header(dataset.card.name, features.model if features else "none", features.kind if features else "words")
    metrics = [row for arm in arms for row in size_rows(arm, rows, header)]
    metrics += null_rows(chosen, null, header)
    settings = _settings(dataset, method, features, choices)
    pictures = None
    if features is not None and assessment is not None:
        how = replace(assessment, bins=bins_of(arms, assessment))
        settings["assessment"] = asdict(how)
        found, pictures = _assessed(arms, rows, how, header, clock)
        metrics += found
    with clock.timed("words"):
        overused = overused_of(chosen, rows)
    settings["null_runs"] = choices.null_runs
    settings["methods"] = {arm.name: arm.settings for arm in arms if arm.settings}
    settings["seconds"] = clock.seconds
    notes = (*dataset.notes, *(features.notes if features else ()))
    warnings = tuple(_warnings(chosen, null, metrics))
    return Filtering(dataset, method, arms, metrics, overused, pictures, settings, notes, warnings, null)


def rows_of(dataset: Dataset, features: Features | None = None) -> Rows:
    """The problems as filters see them."""
    check_problems(dataset)
    y = np.array([problem.answer for problem in dataset], np.int64)
    return Rows(words_of(dataset), y, [problem.group for problem in dataset], features.rows if features else None)


def check_problems(dataset: Dataset) -> None:
    """Refuse problems that cannot be filtered: each must have two candidates and a known answer, and answers differ."""
    answers = [problem.answer for problem in dataset]
    hidden = answers.count(None)
    if hidden:
        raise BadInput(f"{hidden:,} of {len(dataset):,} problems have no answer, and debiasing needs them")
    more = next((problem for problem in dataset if len(problem.candidates) != 2), None)
    if more is not None:
        raise BadInput(f"problem {more.id} has {len(more.candidates)} candidates and debiasing takes two: --as binary")
    if len(set(answers)) < 2:
        raise BadInput(f"all {len(dataset):,} problems have the same answer: there is nothing to debias")


def _arms(chosen: Arm, rows: Rows, choices: Choices, clock: _Clock) -> tuple[Arm, ...]:
    """All problems, then random, pmi and aflite as far as asked for, at the size of the chosen method."""
    found = {chosen.name: chosen}
    size = int(chosen.keep.sum())
    for name in (RANDOM, PMI, AFLITE):
        if name in choices.compare and name not in found and size < len(rows):
            with clock.timed(name):
                found[name] = run_method(name, rows, choices, size, clock.watch)
    return (everything(rows), *(found[name] for name in (RANDOM, PMI, AFLITE) if name in found))


def _assessed(
    arms: tuple[Arm, ...], rows: Rows, how: Assessment, header: Header, clock: _Clock
) -> tuple[list[Row], Pictures]:
    """The rows of every arm in features, and the picture."""
    assert rows.x is not None
    metrics: list[Row] = []
    with clock.timed("probe"):
        metrics += [probe_row(arm, probe_arm(arm, rows, how), rows, how, header) for arm in arms]
    with clock.timed("divergence"):
        components = principal_components(rows.x)
        for arm in arms:
            metrics += divergence_rows(arm, rows, how, components, header)
    return metrics, pictures_of(arms, rows, components, bins_of(arms, how))


def overused_of(arm: Arm, rows: Rows) -> Overused:
    """What an arm's removed problems over-use; nothing where it removed nothing."""
    if arm.keep.all():
        return Overused()
    sides, best = Sides(~arm.keep, rows.groups), arm.removal_order
    return Overused(
        tuple(overused_words(rows.texts, sides, best=best)),
        tuple(overused_lengths(rows.texts, sides, best=best)),
        tuple(overused_polarity(rows.texts, sides, best=best)),
    )


def _warnings(chosen: Arm, null: Null | None, metrics: list[Row]) -> Iterator[str]:
    """What a reader must not overlook."""
    if null is not None and null.removed <= null.interval[1]:
        yield (
            f"no more than chance: {null.removed:,} problems were removed, and relabelled runs remove "
            f"{null.interval[0]:,.0f} to {null.interval[1]:,.0f}"
        )
    before, after = (_probe(name, metrics) for name in (ALL, chosen.name))
    if before and after and after["high"] < COIN <= before["high"]:
        yield (
            f"over-filtered: a linear probe gets {after['value']:.1%} of what is kept, below chance; "
            "problems were removed that chance got right"
        )


def _probe(name: str, metrics: list[Row]) -> Row | None:
    return next((row for row in metrics if (row["subset"], row["metric"]) == (name, "probe_accuracy")), None)


def _settings(dataset: Dataset, method: str, features: Features | None, choices: Choices) -> dict[str, Any]:
    return {
        "winokit": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "dataset": dataset.card.name,
        "content_hash": dataset.content_hash,
        "method": method,
        "seed": choices.seed,
        "features": features.settings if features else None,
        "assessment": None,
        "words": "lower-cased Penn-Treebank-like tokens of the text, without the blank",
    }
