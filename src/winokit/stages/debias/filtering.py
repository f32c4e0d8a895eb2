"""Runs several methods on the same problems, and measures what each keeps.

An arm is one of these ways to filter, with the problems that it keeps.
"""

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
    """Result of a debiasing: the problems each method keeps, and measures of them."""

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
    """The arm of each seed of AFLite: the chosen one first, unless that is the majority of them."""
    folder: Path | None = None
    """The folder with its files; None if nothing was saved."""

    @property
    def chosen(self) -> DebiasArm:
        """The arm of the chosen method."""
        return next(arm for arm in self.arms if arm.name == self.method)

    @property
    def kept(self) -> Dataset:
        """The problems that the chosen arm keeps.

        With several seeds each has the label `kept_share`: the share of seeds that keep it.
        """
        problems = []
        for row in np.flatnonzero(self.chosen.keep).tolist():
            problem = self.dataset[row]
            labels = self._share_label(row)
            problems.append(problem.with_labels(**labels))
        return self.dataset.with_problems(problems)

    @property
    def removed(self) -> Dataset:
        """The removed problems, labelled with the phase and score of their removal."""
        problems = []
        for row in np.flatnonzero(~self.chosen.keep).tolist():
            problem = self.dataset[row]
            labels = self._removal_labels(row)
            share_label = self._share_label(row)
            problems.append(problem.with_labels(**labels, **share_label))
        return self.dataset.with_problems(problems)

    def _removal_labels(self, row: int) -> dict[str, Any]:
        """Labels of a removed problem: method, phase, score and q-value.

        Labels without a value are left out.
        """
        arm = self.chosen
        labels: dict[str, Any] = {"removed_by": arm.name}
        if arm.phase is not None:
            phase = int(arm.phase[row])
            if phase > 0:  # a majority removes problems that the first seed may keep
                labels["removed_in_phase"] = phase
        if arm.scores is not None:
            score = float(arm.scores[row])
            if np.isfinite(score):
                labels["removed_score"] = round(score, 6)
        if self.null is not None:
            q_value = float(self.null.q_values[row])
            labels["removed_q"] = round(q_value, 6)
        return labels

    @cached_property
    def seeds_keeping(self) -> Ints:
        """For each problem the number of seeds that keep it."""
        masks = [arm.keep for arm in self.seeds]
        counts: Ints = np.sum(masks, axis=0, dtype=np.int64)
        return counts

    def _share_label(self, row: int) -> dict[str, float]:
        """Label with the share of seeds that keep a problem.

        Empty if there is only one seed.
        """
        seed_count = len(self.seeds)
        if seed_count < 2:
            return {}
        keeping_count = int(self.seeds_keeping[row])
        return {"kept_share": round(keeping_count / seed_count, 6)}

    @cached_property
    def rows(self) -> dict[tuple[str, str], Metric]:
        """The result rows by subset and metric."""
        return {(row.subset, row.metric): row for row in self.metrics}

    def find(self, subset: str, metric: str) -> Metric | None:
        """Return the result row of a subset and metric, or None."""
        return self.rows.get((subset, metric))


def check_problems(dataset: Dataset) -> None:
    """Raise BadInput if the problems cannot be filtered.

    Each must have two candidates and an answer, and not all may have the same answer.
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
    """Runs methods on problems, and records the seconds of each part."""

    rows: DebiasRows
    progress: Progress | None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, part: str, title: str | None = None) -> Iterator[None]:
        """Add the seconds of the block to those of a part of the work.

        The progress bar shows `title`; None looks it up in `PARTS`.
        """
        begin(title or PARTS.get(part, part))
        start = time.perf_counter()
        yield
        earlier_seconds = self.seconds.get(part, 0.0)
        self.seconds[part] = round(earlier_seconds + time.perf_counter() - start, 3)

    def arm(self, method: DebiasMethod, size: int | None = None) -> DebiasArm:
        """Run one method on the problems, and return what it keeps.

        `size` is the number of problems that the chosen method keeps, or None for that method itself. Raises
        BadInput if no problem is kept.
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
    """Return the words of a problem's text, in lower case and without the blank.

    English is split as in the Penn Treebank: "didn't" is "did" and "n't".

    If the candidates are whole texts, each word is prefixed with the number of its text, as in `2:didn't`: without the
    number, the words of both texts together would not say which text is which.
    """
    tokens_of = language_of(problem.language).tokens
    if not problem.is_whole:
        tokens = tokens_of(problem.sentence)
        return [token.lower() for token in tokens if token != BLANK]
    words = []
    for number, text in enumerate(problem.texts, 1):
        tokens = tokens_of(text)
        words += [f"{number}:{token.lower()}" for token in tokens]
    return words


def rows_of(dataset: Dataset, features: DebiasFeatures | None) -> DebiasRows:
    """Return the problems as rows of words, answers, groups, units and features.

    `features` is None if no method looks at features.
    """
    words = [words_of_problem(problem) for problem in dataset]
    answers = np.array([problem.answer for problem in dataset], np.int64)
    groups = [problem.group for problem in dataset]
    x = features.rows if features else None
    return DebiasRows(words, answers, groups, dataset.units, x)


def filter_and_compare(
    dataset: Dataset,
    method: DebiasMethod,
    features: DebiasFeatures | None,
    comparison: DebiasComparison,
    progress: Progress | None,
) -> Debiased:
    """Run a method and the methods to compare with, and measure what each keeps.

    Nothing is written. `features` is None if neither a method nor the assessment uses them.
    """
    rows = rows_of(dataset, features)
    model = features.model if features else "none"
    scoring = features.kind if features else "words"
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
        smallest_size = min(int(arm.keep.sum()) for arm in arms)
        bins = assessment.bins or bins_for(smallest_size)
        assessment = replace(assessment, bins=bins)
        metrics += measures.assessed(arms, repeated.chosen, repeated.others, assessment, work.timed)
        pictures = pictures_of(arms, rows, measures.components, bins)
    with work.timed("words"):
        overused = find_overused(rows, repeated.chosen)
    settings = describe_debias(dataset, method, features, assessment, arms, repeated, work)
    notes = dataset.notes
    if features:
        notes = (*notes, *features.notes)
    filtering = Debiased(
        dataset,
        method.name,
        arms,
        metrics,
        overused,
        pictures,
        settings,
        notes=notes,
        null=repeated.null,
        seeds=repeated.seeds,
    )
    warnings = tuple(warnings_of(filtering))
    return replace(filtering, warnings=warnings)


@dataclass(frozen=True)
class RepeatedMethod:
    """All runs of one method: with several seeds, and on relabelled problems."""

    chosen: DebiasArm
    seeds: tuple[DebiasArm, ...]
    """The arm of each seed: the chosen one first, unless that is the majority of these."""
    null: NullModel | None = None
    """Runs on relabelled problems; None if there are none."""

    @property
    def others(self) -> tuple[DebiasArm, ...]:
        """The arms of seeds other than the chosen one."""
        return tuple(arm for arm in self.seeds if arm is not self.chosen)


def repeat_method(method: DebiasMethod, work: TimedWork) -> RepeatedMethod:
    """Run a method with all of its seeds and on relabelled problems.

    Only AFLite has several seeds and relabelled runs. Any other method runs once.
    """
    first = work.arm(method)
    if not isinstance(method, RepeatedAFLite):
        return RepeatedMethod(first, (first,))
    others = method.others()
    seeds = [first]
    if others:
        with work.timed("seeds"):
            for other in others:
                arm = other.arm(work.rows)
                arm_name = of_seed(method.name, other.seed)
                seeds.append(replace(arm, name=arm_name))
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
    """Return an arm with the rows that more than half of arms keep.

    Its name, scores, phases and history are those of the first arm. Raises BadInput if no row is kept by that many.
    """
    keeping_share = np.mean([arm.keep for arm in seeds], axis=0)
    keep = keeping_share > 0.5
    if not keep.any():
        raise BadInput(
            f"no problem is kept by more than half of {len(seeds)} seeds: the first one's are (majority = off)"
        )
    first = seeds[0]
    settings = {**first.settings, "majority_of_seeds": len(seeds)}
    return replace(first, keep=keep, settings=settings)


def _make_run_progress(progress: Progress | None, run_count: int) -> Callable[[int], None] | None:
    """Return a function to be called with the number of finished runs.

    It passes that on to `progress`, with `run_count` as the number of all. None if no progress is shown.
    """
    if progress is None:
        return None
    return lambda done: progress(done, run_count)


def compare_methods(
    chosen: DebiasArm, method: DebiasMethod, names: Sequence[str], work: TimedWork
) -> tuple[DebiasArm, ...]:
    """Run the methods of these names at the size that the chosen arm has.

    Returns the arm of all problems, then those methods and the chosen arm in the order of pages. `method` is the one
    behind the chosen arm, from which others take shared settings such as the seed. If the chosen arm removes nothing,
    no other method is run.
    """
    size = int(chosen.keep.sum())
    arms = {chosen.name: chosen}
    method_names = list(METHODS)[::-1]
    if size < len(work.rows):
        for name in method_names:
            if name in names and name not in arms:
                other_method = _make_method(METHODS[name], method, size)
                arms[name] = work.arm(other_method, size)
    everything = DebiasArm(ALL, np.ones(len(work.rows), np.bool_))
    order = dict.fromkeys((*method_names, chosen.name))
    filtered_arms = [arms[name] for name in order if name in arms]
    return (everything, *filtered_arms)


def _make_method(kind: type[DebiasMethod], method: DebiasMethod, size: int) -> DebiasMethod:
    """Make a method of a class with the shared settings of another.

    It gets the size too, if the class takes one.
    """
    settings = {name: getattr(method, name) for name in kind.shared if hasattr(method, name)}
    if has_size(kind):
        settings["size"] = size
    return kind(**settings)


def _measure_sizes(measures: DebiasMeasures, arms: Sequence[DebiasArm], repeated: RepeatedMethod) -> Iterator[Metric]:
    """Yield rows with sizes of all arms, agreement of seeds, and removals by chance."""
    for arm in (*arms, *repeated.others):
        yield from measures.sizes(arm)
    if len(repeated.seeds) > 1:
        yield from measures.overlaps(repeated.chosen, repeated.seeds)
    if repeated.null is not None:
        yield from measures.by_chance(repeated.chosen, repeated.seeds, repeated.null)


def find_overused(rows: DebiasRows, chosen: DebiasArm) -> Overused:
    """Compare the words, lengths and negations of removed problems with those of kept ones.

    Empty if nothing was removed.
    """
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
    """Return the versions, seeds, choices and seconds of a debiasing, for its record."""
    feature_settings = features.settings if features else None
    assessment_settings = None if assessment is None else asdict(assessment)
    method_settings = {arm.name: arm.settings for arm in arms if arm.settings}
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
        "features": feature_settings,
        "assessment": assessment_settings,
        "words": "lower-cased Penn-Treebank-like tokens of the text, without the blank",
        "null_runs": getattr(method, "null_runs", 0),
        "seeds": len(repeated.seeds),
        "methods": method_settings,
        "seconds": work.seconds,
    }
