"""From a dataset to what is kept of it: run the chosen method, its baselines at the same size, and look at each."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from winokit import __version__
from winokit.errors import BadInput, UnknownName
from winokit.methods.aflite.divergence import principal_components
from winokit.methods.aflite.null import NullModel
from winokit.methods.aflite.overuse import Overuse, Sides, overused_lengths, overused_polarity, overused_words
from winokit.methods.aflite.sequential import UNDECIDED, WITHIN, SequentialRank
from winokit.problem import Dataset
from winokit.results import BELOW, Metric, stands
from winokit.stages.debias.arms import (
    AFLITE,
    ALL,
    METHODS,
    PMI,
    RANDOM,
    DebiasArm,
    DebiasChoices,
    DebiasRows,
    DebiasWatch,
    by_majority,
    everything,
    null_of,
    of_seed,
    other_seeds,
    run_method,
)
from winokit.stages.debias.assessment import (
    Assessment,
    AssessmentHeader,
    bins_of,
    check_assessment,
    divergence_rows,
    null_rows,
    probe_row,
    rank_row,
    removal_rows,
    seed_rows,
    size_rows,
)
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.pictures import Pictures, pictures_of
from winokit.stages.debias.words import words_of

_USUAL = Assessment()


@dataclass(frozen=True)
class Overused:
    """What the removed problems have more of than the kept."""

    words: tuple[Overuse, ...] = ()
    """The surest over-use first, the surest under-use last."""
    lengths: tuple[Overuse, ...] = ()
    polarity: tuple[Overuse, ...] = ()


@dataclass(frozen=True)
class Debiased:
    """The outcome: what the chosen method keeps, and everything that is known about that."""

    dataset: Dataset
    method: str
    arms: tuple[DebiasArm, ...]
    metrics: list[Metric]
    overused: Overused
    pictures: Pictures | None
    settings: dict[str, Any]
    """Versions, seeds, choices, hashes, seconds."""
    notes: tuple[str, ...] = ()
    """What readers of the data and the features had to decide."""
    warnings: tuple[str, ...] = ()
    """What a reader of the outcome must not overlook."""
    null: NullModel | None = None
    """What AFLite removes from relabelled problems, where that was asked for."""
    seeds: tuple[DebiasArm, ...] = ()
    """What each seed of AFLite keeps: the chosen arm first, unless that is the majority of them."""

    @property
    def chosen(self) -> DebiasArm:
        """The arm of the chosen method."""
        return next(arm for arm in self.arms if arm.name == self.method)

    @property
    def kept(self) -> Dataset:
        """The problems that stay, with the share of seeds that keep each as a label, where there are several."""
        rows = np.flatnonzero(self.chosen.keep).tolist()
        return self.dataset.with_problems(self.dataset[row].with_labels(**self._kept_share(row)) for row in rows)

    @property
    def removed(self) -> Dataset:
        """The problems that go, with the phase and the score they went with as labels."""
        arm = self.chosen
        problems = []
        for row in np.flatnonzero(~arm.keep).tolist():
            labels: dict[str, Any] = {"removed_by": arm.name}
            if arm.phase is not None and arm.phase[row] > 0:  # a majority removes what the first seed may keep
                labels["removed_in_phase"] = int(arm.phase[row])
            if arm.scores is not None and np.isfinite(arm.scores[row]):
                labels["removed_score"] = round(float(arm.scores[row]), 6)
            if self.null is not None:
                labels["removed_q"] = round(float(self.null.q_values[row]), 6)
            problems.append(self.dataset[row].with_labels(**labels, **self._kept_share(row)))
        return self.dataset.with_problems(problems)

    @cached_property
    def seeds_keeping(self) -> NDArray[np.int64]:
        """For each problem the number of seeds that keep it."""
        found: NDArray[np.int64] = np.sum([arm.keep for arm in self.seeds], axis=0, dtype=np.int64)
        return found

    def _kept_share(self, row: int) -> dict[str, float]:
        many = len(self.seeds)
        return {"kept_share": round(int(self.seeds_keeping[row]) / many, 6)} if many > 1 else {}

    @cached_property
    def rows(self) -> dict[tuple[str, str], Metric]:
        """The rows by subset and metric."""
        return {(row.subset, row.metric): row for row in self.metrics}

    def find(self, subset: str, metric: str) -> Metric | None:
        """The row of that name."""
        return self.rows.get((subset, metric))


@dataclass
class _Clock:
    """Says what begins and remembers how long it took."""

    watch: DebiasWatch
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
    features: DebiasFeatures | None = None,
    choices: DebiasChoices | None = None,
    assessment: Assessment | None = _USUAL,
    watch: DebiasWatch | None = None,
) -> Debiased:
    """Filter a dataset by `aflite`, `pmi` or `random`, and compare it with the other methods at the same size.

    AFLite needs features; pmi and random do without, and are then not assessed in them. With `assessment=None` features
    are not looked at: they may be too many for one machine's memory.
    """
    if method not in METHODS:
        raise UnknownName("method of debiasing", method, METHODS)
    choices, watch = choices or DebiasChoices(), watch or DebiasWatch()
    clock = _Clock(watch)
    rows = rows_of(dataset, features)
    if features is not None and assessment is not None:
        check_assessment(rows, assessment)
    size = None if method == AFLITE else choices.size
    with clock.timed(method):
        chosen = run_method(method, rows, choices, size, watch)
    seeds: tuple[DebiasArm, ...] = (chosen,)
    if method == AFLITE and choices.seeds > 1:
        with clock.timed("seeds"):
            seeds = (chosen, *other_seeds(chosen, rows, choices))
        if choices.majority:
            first = replace(chosen, name=of_seed(AFLITE, chosen.settings["seed"]))
            chosen, seeds = by_majority(seeds), (first, *seeds[1:])
    null = None
    if method == AFLITE and choices.null_runs:
        with clock.timed("null"):
            null = null_of(seeds, rows, choices, watch)
    arms = _arms(chosen, rows, choices, clock)
    others = tuple(arm for arm in seeds if arm is not chosen)
    header = AssessmentHeader(
        dataset.card.name, features.model if features else "none", features.kind if features else "words"
    )
    metrics = [row for arm in (*arms, *others) for row in size_rows(arm, rows, header)]
    if len(seeds) > 1:
        metrics += seed_rows(chosen, seeds, header)
    if null is not None:
        metrics += null_rows(chosen, null, header)
        metrics += [rank_row(name, "p_null", found, header) for name, found in _ranks(chosen, seeds, null).items()]
    settings = _settings(dataset, method, features, choices)
    pictures = None
    if features is not None and assessment is not None:
        how = replace(assessment, bins=bins_of(arms, assessment))
        settings["assessment"] = asdict(how)
        assessed, pictures = _assessed(arms, chosen, others, rows, how, header, clock)
        metrics += assessed
    with clock.timed("words"):
        overused = overused_of(chosen, rows)
    settings["null_runs"], settings["seeds"] = choices.null_runs, len(seeds)
    settings["methods"] = {arm.name: arm.settings for arm in arms if arm.settings}
    settings["seconds"] = clock.seconds
    notes = (*dataset.notes, *(features.notes if features else ()))
    found = Debiased(dataset, method, arms, metrics, overused, pictures, settings, notes, null=null, seeds=seeds)
    return replace(found, warnings=tuple(_warnings(found)))


def _ranks(chosen: DebiasArm, seeds: tuple[DebiasArm, ...], null: NullModel) -> dict[str, SequentialRank]:
    """Where each seed's removals stand among those of relabelled runs; a majority is as sure as its least sure seed."""
    ranks = dict(zip((arm.name for arm in seeds), null.ranks, strict=True))
    return {chosen.name: max(null.ranks, key=lambda found: found.p_value)} | ranks


def rows_of(dataset: Dataset, features: DebiasFeatures | None = None) -> DebiasRows:
    """The problems as filters see them."""
    check_problems(dataset)
    y = np.array([problem.answer for problem in dataset], np.int64)
    return DebiasRows(words_of(dataset), y, [problem.group for problem in dataset], features.rows if features else None)


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


def _arms(chosen: DebiasArm, rows: DebiasRows, choices: DebiasChoices, clock: _Clock) -> tuple[DebiasArm, ...]:
    """All problems, then random, pmi and aflite as far as asked for, at the size of the chosen method."""
    found = {chosen.name: chosen}
    size = int(chosen.keep.sum())
    for name in (RANDOM, PMI, AFLITE):
        if name in choices.compare and name not in found and size < len(rows):
            with clock.timed(name):
                found[name] = run_method(name, rows, choices, size, clock.watch)
    return (everything(rows), *(found[name] for name in (RANDOM, PMI, AFLITE) if name in found))


def _assessed(
    arms: tuple[DebiasArm, ...],
    chosen: DebiasArm,
    others: tuple[DebiasArm, ...],
    rows: DebiasRows,
    how: Assessment,
    header: AssessmentHeader,
    clock: _Clock,
) -> tuple[list[Metric], Pictures]:
    """The rows of every arm in features, and the picture; of other seeds the probes alone, in folds of their own."""
    assert rows.x is not None
    probes: dict[str, Metric] = {}
    seeds = [(arm, replace(how, seed=arm.settings["seed"])) for arm in others]
    with clock.timed("probe"):
        before = [(replace(everything(rows), name=of_seed(ALL, its.seed)), its) for _, its in seeds]
        for arm, its in (*((arm, how) for arm in arms), *before, *seeds):
            probes[arm.name] = probe_row(arm, rows, its, header)
    metrics = list(probes.values())
    with clock.timed("removals"):
        for arm, its in ((chosen, how), *seeds):
            metrics += removal_rows(arm, probes[arm.name], rows, its, header)
    with clock.timed("divergence"):
        components = principal_components(rows.x)
        for arm in arms:
            metrics += divergence_rows(arm, rows, how, components, header)
    return metrics, pictures_of(arms, rows, components, bins_of(arms, how))


def overused_of(arm: DebiasArm, rows: DebiasRows) -> Overused:
    """What an arm's removed problems over-use; nothing where it removed nothing."""
    if arm.keep.all():
        return Overused()
    sides, best = Sides(~arm.keep, rows.groups), arm.removal_order
    return Overused(
        tuple(overused_words(rows.texts, sides, best=best)),
        tuple(overused_lengths(rows.texts, sides, best=best)),
        tuple(overused_polarity(rows.texts, sides, best=best)),
    )


def _warnings(found: Debiased) -> Iterator[str]:
    """What a reader must not overlook."""
    rank, by_chance = found.find(found.method, "p_null"), found.find(found.method, "n_removed_by_chance")
    outcome = SequentialRank(rank.value, rank.n).outcome if rank else None
    if by_chance and outcome == WITHIN:
        went = min(int((~arm.keep).sum()) for arm in (found.seeds if found.settings["majority"] else (found.chosen,)))
        yield (
            f"no more than chance: {went:,} problems were removed{' by a seed' if found.settings['majority'] else ''}, "
            f"and relabelled runs remove {by_chance.low:,.0f} to {by_chance.high:,.0f}"
        )
    if rank and outcome == UNDECIDED:
        yield (
            f"undecided: {rank.n} relabelled runs are too few to tell what was removed from chance; "
            "19 are enough (--null-runs)"
        )
    before, after = (found.find(name, "probe_accuracy") for name in (ALL, found.method))
    if before and after and stands(after) == BELOW != stands(before):
        yield (
            f"over-filtered: a linear probe gets {after.value:.1%} of what is kept, below chance; "
            "problems were removed that chance got right"
        )
    kept, removed = (found.find(found.method, f"{name}_overlap") for name in ("kept", "removed"))
    if kept and removed and kept.value < 1:
        yield (
            f"what is kept depends on the seed: of {len(found.seeds)} seeds, two share {kept.value:.0%} of what either "
            f"keeps and {removed.value:.0%} of what either removes"
        )


def _settings(dataset: Dataset, method: str, features: DebiasFeatures | None, choices: DebiasChoices) -> dict[str, Any]:
    return {
        "winokit": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "dataset": dataset.card.name,
        "content_hash": dataset.content_hash,
        "method": method,
        "seed": choices.seed,
        "majority": choices.majority,
        "features": features.settings if features else None,
        "assessment": None,
        "words": "lower-cased Penn-Treebank-like tokens of the text, without the blank",
    }
