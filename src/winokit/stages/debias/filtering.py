"""A method and others on the same problems: what each keeps, and measures of that."""

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from winokit import __version__
from winokit.errors import BadInput
from winokit.methods.aflite.aflite import RepeatedAFLite
from winokit.methods.aflite.divergence import bins_for
from winokit.methods.aflite.inputs import Ints
from winokit.methods.aflite.methods import METHODS, DebiasArm, DebiasMethod, DebiasRows, has_size
from winokit.methods.aflite.null import NullModel, null_runs
from winokit.methods.aflite.overuse import Overused, Sides, overused_lengths, overused_polarity, overused_words
from winokit.problem import BLANK, Dataset, Problem
from winokit.progress import Progress, begin
from winokit.results import Brief, Metric
from winokit.stages.debias.assessment import ALL, DebiasMeasures, of_seed
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.page import Pictures, pictures_of
from winokit.stages.debias.settings import Assessment, DebiasComparison
from winokit.stages.debias.verdict import warnings_of
from winokit.text.language import language_of

PARTS = {"seeds": "other seeds", "null": "relabelled runs", "probe": "linear probe", "removals": "random removals"}
"""The names of parts of the work in the progress bar."""


@dataclass(frozen=True, repr=False)
class Debiased(Brief):
    """Result of a debiasing: what each method keeps at the same size, with measures."""

    dataset: Dataset
    method: str
    arms: tuple[DebiasArm, ...]
    metrics: list[Metric]
    overused: Overused
    pictures: Pictures | None
    settings: dict[str, Any]
    """Versions, seeds, choices, hashes, seconds."""
    notes: tuple[str, ...] = ()
    """Notes on the data and the features."""
    warnings: tuple[str, ...] = ()
    """Doubts about the outcome."""
    null: NullModel | None = None
    """What AFLite removes from relabelled problems; None if there are no relabelled runs."""
    seeds: tuple[DebiasArm, ...] = ()
    """What each seed of AFLite keeps: the chosen arm first, unless that is the majority of them."""
    folder: Path | None = None
    """Where it was saved."""

    @property
    def chosen(self) -> DebiasArm:
        """The arm of the chosen method."""
        return next(arm for arm in self.arms if arm.name == self.method)

    @property
    def kept(self) -> Dataset:
        """The kept problems; with several seeds, labelled with the share that keeps each."""
        rows = np.flatnonzero(self.chosen.keep).tolist()
        return self.dataset.with_problems(self.dataset[row].with_labels(**self._share_label(row)) for row in rows)

    @property
    def removed(self) -> Dataset:
        """The removed problems, labelled with the phase and score of their removal."""
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
            problems.append(self.dataset[row].with_labels(**labels, **self._share_label(row)))
        return self.dataset.with_problems(problems)

    @cached_property
    def seeds_keeping(self) -> Ints:
        """For each problem the number of seeds that keep it."""
        counts: Ints = np.sum([arm.keep for arm in self.seeds], axis=0, dtype=np.int64)
        return counts

    def _share_label(self, row: int) -> dict[str, float]:
        seed_count = len(self.seeds)
        if seed_count < 2:
            return {}
        return {"kept_share": round(int(self.seeds_keeping[row]) / seed_count, 6)}

    @cached_property
    def rows(self) -> dict[tuple[str, str], Metric]:
        """The rows by subset and metric."""
        return {(row.subset, row.metric): row for row in self.metrics}

    def find(self, subset: str, metric: str) -> Metric | None:
        """Return the row of that name, or None."""
        return self.rows.get((subset, metric))


def check_problems(dataset: Dataset) -> None:
    """Refuse problems that cannot be filtered.

    Each needs two candidates and a known answer, and answers must differ.
    """
    answers = [problem.answer for problem in dataset]
    hidden = answers.count(None)
    if hidden:
        raise BadInput(f"{hidden:,} of {len(dataset):,} problems have no answer, but debiasing needs answers")
    odd_problem = next((problem for problem in dataset if len(problem.candidates) != 2), None)
    if odd_problem is not None:
        count = len(odd_problem.candidates)
        raise BadInput(
            f"problem {odd_problem.id} has {count} candidates, but debiasing takes two: use convert --as binary"
        )
    if len(set(answers)) < 2:
        raise BadInput(f"all {len(dataset):,} problems have the same answer: there is nothing to debias")


@dataclass
class TimedWork:
    """The problems as methods see them, and the time of each part of the work."""

    rows: DebiasRows
    progress: Progress | None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, what: str, title: str | None = None) -> Iterator[None]:
        """Count the seconds of a part, and name it in the progress bar."""
        begin(title or PARTS.get(what, what))
        start = time.perf_counter()
        yield
        self.seconds[what] = round(self.seconds.get(what, 0.0) + time.perf_counter() - start, 3)

    def arm(self, method: DebiasMethod, size: int | None = None) -> DebiasArm:
        """Run one method; raises BadInput if it keeps no problem.

        `size` is the number of problems at which methods are compared.
        """
        with self.timed(method.name, method.title):
            arm = method.arm(self.rows, size, self.progress)
        if arm.keep.any():
            return arm
        reason = ""
        if arm.whole is not None:
            unit_noun = "units" if arm.whole is self.rows.unit_names else "groups"
            size_limit = getattr(method, "size", None)
            reason = f": {unit_noun} are kept whole, and none fits into a size of {size_limit} (--size)"
        raise BadInput(f"{method.name} keeps no problem{reason}")


def words_of_problem(problem: Problem) -> list[str]:
    """Return the words of a text, in lower case.

    English is split as in the Penn Treebank: "didn't" is "did" and "n't".

    A word of whole texts to choose from has the number of its text: in a bag of both, no word would tell them apart.
    """
    tokens_of = language_of(problem.language).tokens
    if not problem.is_whole:
        return [word.lower() for word in tokens_of(problem.sentence) if word != BLANK]
    words = []
    for number, text in enumerate(problem.texts, 1):
        words += [f"{number}:{word.lower()}" for word in tokens_of(text)]
    return words


def rows_of(dataset: Dataset, features: DebiasFeatures | None) -> DebiasRows:
    """The problems as methods see them."""
    words = [words_of_problem(problem) for problem in dataset]
    answers = np.array([problem.answer for problem in dataset], np.int64)
    groups = [problem.group for problem in dataset]
    return DebiasRows(words, answers, groups, dataset.units, features.rows if features else None)


def filter_and_compare(
    dataset: Dataset,
    method: DebiasMethod,
    features: DebiasFeatures | None,
    comparison: DebiasComparison,
    progress: Progress | None,
) -> Debiased:
    """Run the method and those beside it, and measure what each keeps."""
    rows = rows_of(dataset, features)
    model, scoring = (features.model, features.kind) if features else ("none", "words")
    measures = DebiasMeasures(rows, dataset, model, scoring)
    assessment = comparison.assessment_for(method.seed)
    if assessment is not None:
        measures.check(assessment)
    work = TimedWork(rows, progress)
    repeated = repeat_method(method, work)
    arms = compare_methods(repeated.chosen, method, comparison.method_names, work)
    metrics = [*_measure_sizes(measures, arms, repeated)]
    pictures = None
    if assessment is not None:
        bins = assessment.bins or bins_for(min(int(arm.keep.sum()) for arm in arms))
        assessment = replace(assessment, bins=bins)
        metrics += measures.assessed(arms, repeated.chosen, repeated.others, assessment, work.timed)
        pictures = pictures_of(arms, rows, measures.components, bins)
    with work.timed("words"):
        overused = find_overused(rows, repeated.chosen)
    filtering = Debiased(
        dataset,
        method.name,
        arms,
        metrics,
        overused,
        pictures,
        describe_debias(dataset, method, features, assessment, arms, repeated, work),
        notes=(*dataset.notes, *(features.notes if features else ())),
        null=repeated.null,
        seeds=repeated.seeds,
    )
    return replace(filtering, warnings=tuple(warnings_of(filtering)))


@dataclass(frozen=True)
class RepeatedMethod:
    """The arm of a method, those of its other seeds, and its runs on relabelled problems."""

    chosen: DebiasArm
    seeds: tuple[DebiasArm, ...]
    """The chosen arm first, unless that is the majority of these."""
    null: NullModel | None = None

    @property
    def others(self) -> tuple[DebiasArm, ...]:
        """The arms of seeds other than the chosen one."""
        return tuple(arm for arm in self.seeds if arm is not self.chosen)


def repeat_method(method: DebiasMethod, work: TimedWork) -> RepeatedMethod:
    """Run a method, AFLite with every seed and on relabelled problems too."""
    first = work.arm(method)
    if not isinstance(method, RepeatedAFLite):
        return RepeatedMethod(first, (first,))
    others = method.others()
    seeds = [first]
    if others:
        with work.timed("seeds"):
            seeds += [replace(other.arm(work.rows), name=of_seed(method.name, other.seed)) for other in others]
    chosen = first
    if method.majority:
        chosen = majority_of_seeds(seeds)
        seeds[0] = replace(first, name=of_seed(method.name, method.seed))
    null = None
    if method.null_runs:
        with work.timed("null"):
            null = null_runs(
                method,
                work.rows.x,
                work.rows.y,
                work.rows.units,
                others=others,
                runs=method.null_runs,
                seed=method.seed,
                progress=_make_run_progress(work.progress, method.null_runs),
            )
    return RepeatedMethod(chosen, tuple(seeds), null)


def majority_of_seeds(seeds: Sequence[DebiasArm]) -> DebiasArm:
    """The first arm, keeping what more than half of the seeds keep. Raises BadInput if that is nothing."""
    keep = np.mean([arm.keep for arm in seeds], axis=0) > 0.5
    if not keep.any():
        raise BadInput(
            f"no problem is kept by more than half of {len(seeds)} seeds: the first one's are (majority = off)"
        )
    first = seeds[0]
    return replace(first, keep=keep, settings={**first.settings, "majority_of_seeds": len(seeds)})


def _make_run_progress(progress: Progress | None, run_count: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    return lambda done: progress(done, run_count)


def compare_methods(
    chosen: DebiasArm, method: DebiasMethod, names: Sequence[str], work: TimedWork
) -> tuple[DebiasArm, ...]:
    """All problems, then the methods to compare with and the chosen one, each at its size."""
    size = int(chosen.keep.sum())
    arms = {chosen.name: chosen}
    known_names = list(METHODS)[::-1]
    for name in known_names:
        if name in names and name not in arms and size < len(work.rows):
            kind = METHODS[name]
            settings = {each: getattr(method, each) for each in kind.shared if hasattr(method, each)}
            if has_size(kind):
                settings["size"] = size
            arms[name] = work.arm(kind(**settings), size)
    everything = DebiasArm(ALL, np.ones(len(work.rows), np.bool_))
    order = dict.fromkeys((*known_names, chosen.name))
    return (everything, *(arms[name] for name in order if name in arms))


def _measure_sizes(measures: DebiasMeasures, arms: Sequence[DebiasArm], repeated: RepeatedMethod) -> Iterator[Metric]:
    """The sizes of all arms, how far seeds agree, and how much chance removes."""
    for arm in (*arms, *repeated.others):
        yield from measures.sizes(arm)
    if len(repeated.seeds) > 1:
        yield from measures.overlaps(repeated.chosen, repeated.seeds)
    if repeated.null is not None:
        yield from measures.by_chance(repeated.chosen, repeated.seeds, repeated.null)


def find_overused(rows: DebiasRows, chosen: DebiasArm) -> Overused:
    """Find traits that are commoner among removed problems than among kept ones."""
    if chosen.keep.all():
        return Overused()
    sides = Sides(~chosen.keep, rows.units, chosen.removal_order)
    return Overused(
        overused_words(rows.texts, sides),
        overused_lengths(rows.texts, sides),
        overused_polarity(rows.texts, sides),
    )


def describe_debias(
    dataset: Dataset,
    method: DebiasMethod,
    features: DebiasFeatures | None,
    assessment: Assessment | None,
    arms: Sequence[DebiasArm],
    repeated: RepeatedMethod,
    work: TimedWork,
) -> dict[str, Any]:
    """The settings of a debiasing: what would be needed to do it again, and the seconds it took."""
    return {
        "winokit": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "dataset": dataset.card.name,
        "content_hash": dataset.content_hash,
        "method": method.name,
        "seed": method.seed,
        "majority": getattr(method, "majority", False),
        "features": features.settings if features else None,
        "assessment": None if assessment is None else asdict(assessment),
        "words": "lower-cased Penn-Treebank-like tokens of the text, without the blank",
        "null_runs": getattr(method, "null_runs", 0),
        "seeds": len(repeated.seeds),
        "methods": {arm.name: arm.settings for arm in arms if arm.settings},
        "seconds": work.seconds,
    }
