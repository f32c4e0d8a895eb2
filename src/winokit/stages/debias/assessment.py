"""Measures of a filter, as rows: sizes, a held-out linear probe, and divergence.

The probe of what is kept is ranked among probes of as many problems drawn at random. Two intervals, one before and one
after, say nothing of the difference: a few problems fewer move a probe about as much as another way to deal the folds.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property, partial
from itertools import combinations, count

import numpy as np

from winokit.answers import Answers, AskedProblems, Scorer
from winokit.errors import BadInput
from winokit.methods.aflite import divergence
from winokit.methods.aflite.inputs import Bools, Doubles, numbered
from winokit.methods.aflite.methods import DebiasArm, DebiasRows
from winokit.methods.aflite.null import NullModel
from winokit.methods.aflite.probe import Probe, linear_probe
from winokit.methods.aflite.random_reduction import RandomReduction, random_reduction
from winokit.methods.metrics.judge import Judge
from winokit.methods.metrics.judge_ranks import rank
from winokit.problem import Dataset
from winokit.results import Metric
from winokit.stages.debias.settings import Assessment
from winokit.units import Units

ALL = "all"
"""The arm that removes nothing."""
PROTOCOL = "debias"
PROBE = Scorer("probe")
"""Who answers in a linear probe."""
SURE = 0.05
"""The q-value up to which a removal is counted as more than chance."""


def of_seed(name: str, seed: int) -> str:
    """The name of an arm as another seed makes it: a subset of its own in the rows."""
    return f"{name}.seed{seed}"


class DebiasMeasures:
    """Measures what arms keep of some problems: everything here gives rows of results.

    Every problem of the dataset has an answer, and a row of `rows` at the same place.
    """

    def __init__(self, rows: DebiasRows, dataset: Dataset, model: str, scoring: str) -> None:
        self.rows = rows
        self.unit_numbers = numbered(rows.unit_names, len(rows))
        self.asked = AskedProblems.of(dataset)
        self.judge = Judge(dataset.card.name, Scorer(model, scoring))
        self.row = partial(Metric, dataset.card.name, model, scoring, None, PROTOCOL)

    def check(self, how: Assessment) -> None:
        """Refuse settings that cannot assess these problems, before minutes of filtering."""
        rows = len(self.rows)
        unit_count = self.rows.units.count
        if how.folds > unit_count:
            raise BadInput(
                f"expected no more folds than the {unit_count:,} units (--set folds), since problems that vary "
                f"together stay in one; found {how.folds:,}"
            )
        if how.bins is not None and how.bins > rows:
            raise BadInput(f"expected no more bins than the {rows:,} problems (--set bins); found {how.bins:,}")

    def sizes(self, arm: DebiasArm) -> Iterator[Metric]:
        """Rows with the number of kept problems and of groups that were split."""
        groups = Units.of_names(self.rows.groups)
        kept_members = groups.sums(arm.keep)
        is_split = (kept_members > 0) & (kept_members < groups.sizes)
        group_count = int((groups.sizes > 1).sum())
        kept_count = int(arm.keep.sum())
        yield self.row(arm.name, "n_kept", kept_count, len(arm.keep))
        yield self.row(arm.name, "n_groups_split", int(is_split.sum()), group_count)
        first_share = float((self.rows.y[arm.keep] == 0).mean())
        yield self.row(arm.name, "share_first_answers", first_share, kept_count, chance=0.5)

    def by_chance(self, chosen: DebiasArm, seeds: Sequence[DebiasArm], null: NullModel) -> Iterator[Metric]:
        """Rows with the number of removed problems, in fact and by chance.

        By chance: mean, least and most of the relabelled runs.

        Each seed has a p-value by rank, n its number of draws; a majority is as sure as its least sure seed.
        """
        n = len(chosen.keep)
        removed_counts = null.null_removed
        sure_count = int((null.q_values[~chosen.keep] <= SURE).sum())
        note = f"mean, least and most of {len(removed_counts)} relabelled runs"
        yield self.row(chosen.name, "n_removed", int((~chosen.keep).sum()), n, chance=null.expected)
        yield self.row(
            chosen.name, "n_removed_by_chance", null.expected, n, min(removed_counts), max(removed_counts), note=note
        )
        yield self.row(chosen.name, "n_removed_surely", sure_count, n, note=f"q-value of {SURE} or less")
        ranks = {chosen.name: max(null.ranks, key=lambda each: each.p_value)}
        ranks |= zip((arm.name for arm in seeds), null.ranks, strict=True)
        for name, among in ranks.items():
            yield self.row(name, "p_null", among.p_value, among.draws)

    def overlaps(self, chosen: DebiasArm, seeds: Sequence[DebiasArm]) -> Iterator[Metric]:
        """Rows with the agreement of two seeds, and the agreement of random sets.

        Jaccard's index: the share of what either has that both have; the mean, least and most over pairs of seeds.
        """
        pairs = list(combinations([arm.keep for arm in seeds], 2))
        note = f"Jaccard's index of two seeds: mean, least and most of {len(pairs)} pairs"
        removed_pairs = [(~first, ~second) for first, second in pairs]
        for name, masks in (("kept", pairs), ("removed", removed_pairs)):
            comparisons = [_compare_sets(first, second) for first, second in masks]
            shares = [share for share, _ in comparisons]
            mean_share = float(np.mean(shares))
            by_chance = float(np.mean([expected for _, expected in comparisons]))
            metric = f"{name}_overlap"
            yield self.row(chosen.name, metric, mean_share, len(chosen.keep), min(shares), max(shares), by_chance, note)

    def assessed(
        self,
        arms: Sequence[DebiasArm],
        chosen: DebiasArm,
        others: Sequence[DebiasArm],
        how: Assessment,
        timed: Callable[[str], AbstractContextManager[None]],
    ) -> Iterator[Metric]:
        """Rows of every arm that come from features.

        Of `others`, which are other seeds, only probes, each in its own folds.
        """
        seeds = [(arm, replace(how, seed=arm.settings["seed"])) for arm in others]
        probed = [(arm, how) for arm in arms]
        # What each seed is compared with: all problems, in the folds of that seed.
        for _, seed_settings in seeds:
            all_problems = replace(arms[0], name=of_seed(ALL, seed_settings.seed))
            probed.append((all_problems, seed_settings))
        probed += seeds
        with timed("probe"):
            probes = {arm.name: self.probe(arm, settings) for arm, settings in probed}
        yield from probes.values()
        with timed("removals"):
            for arm, settings in ((chosen, how), *seeds):
                yield from self.removals(arm, probes[arm.name], settings)
        with timed("divergence"):
            for arm in arms:
                yield from self.divergences(arm, how)

    def probe(self, arm: DebiasArm, how: Assessment) -> Metric:
        """Row with the probe's accuracy on what an arm keeps."""
        probe = self._fit_probe(arm.keep, how)
        answers = Answers(self.asked, np.flatnonzero(arm.keep), probe.choices, (PROBE,))
        (row,) = self.judge.cross_validated((PROTOCOL, arm.name, "probe_accuracy"), answers)
        return row

    def _fit_probe(self, keep: Bools, how: Assessment) -> Probe:
        """Fit the probe on some of the rows, in folds that split no unit."""
        x = self.rows.x
        assert x is not None
        kept_rows = np.flatnonzero(keep)
        if not keep.all() or not isinstance(x, np.ndarray):
            x = x[kept_rows]
        units = self.rows.units.take(kept_rows)
        return linear_probe(
            x, self.rows.y[keep], units, folds=how.folds, seed=how.seed, regularisation=how.regularisation
        )

    def removals(self, arm: DebiasArm, probe: Metric, how: Assessment) -> Iterator[Metric]:
        """Rows that rank the probe of what an arm keeps among random removals.

        Random removals keep as many problems, and whole groups if the arm keeps these whole. No rows if nothing was
        removed, or if it was removed at random.

        Nothing where nothing was removed, or where it was removed at random.
        """
        if arm.keep.all() or arm.name == RandomReduction.name:
            return
        accuracies: list[float] = []

        kept_count = int(arm.keep.sum())

        def draw_removals() -> Iterator[bool]:
            for seed in count(how.seed + 1):
                keep = random_reduction(len(arm.keep), kept_count, seed=seed, groups=arm.whole)
                accuracy = self._fit_probe(keep, how).accuracy
                accuracies.append(accuracy)
                yield accuracy <= probe.value

        probe_rank = rank(draw_removals(), how.removals)
        note = f"as many at random: mean, least and most of {len(accuracies)} draws"
        values = (float(np.mean(accuracies)), probe.n, min(accuracies), max(accuracies), 0.5)
        yield self.row(arm.name, "random_probe_accuracy", *values, note)
        yield self.row(arm.name, "p_random_removal", probe_rank.p_value, probe_rank.draws)

    @cached_property
    def components(self) -> divergence.Components:
        """The principal components of all problems."""
        assert self.rows.x is not None
        return divergence.principal_components(self.rows.x)

    def divergences(self, arm: DebiasArm, how: Assessment) -> Iterator[Metric]:
        """Rows with the divergence along the first component, both ways.

        There is a row for each estimator.

        Rows of the subset `pmi` use the components of all problems, those of `pmi.refit` components of what is kept.
        """
        x = self.rows.x
        refit = f"{arm.name}.refit"
        assert x is not None
        first_component = self.components.project(x, arm.keep)[:, 0]
        estimates = list(self._estimate_divergences(arm.name, first_component, arm, how))
        yield from estimates
        if arm.keep.all():
            yield from (replace(estimate, subset=refit) for estimate in estimates)
        else:
            components = divergence.principal_components(x, arm.keep, count=1)
            refit_component = components.project(x, arm.keep)[:, 0]
            yield from self._estimate_divergences(refit, refit_component, arm, how)

    def _estimate_divergences(self, subset: str, values: Doubles, arm: DebiasArm, how: Assessment) -> Iterator[Metric]:
        y = self.rows.y[arm.keep]
        numbers = np.unique(self.unit_numbers[arm.keep], return_inverse=True)[1]
        assert how.bins is not None
        for name, estimate in divergence.estimators(how.bins, how.smoothing, how.neighbours).items():
            both_ways = divergence.divergence(values, y, estimate)
            chance = divergence.by_chance(values, y, estimate, numbers, draws=how.chance_draws, seed=how.seed)
            errors: Sequence[float | None] = (None, None)
            if name != "knn":
                errors = divergence.standard_error(values, y, estimate, numbers, draws=how.draws, seed=how.seed)
            for suffix, value, guess, error in zip(("", "_reverse"), both_ways, chance, errors, strict=True):
                row_name = (PROTOCOL, subset, f"kl_{name}{suffix}")
                yield self.judge.estimate(row_name, value, len(y), error, guess)


def _compare_sets(first: Bools, second: Bools) -> tuple[float, float]:
    """Return Jaccard's index of two sets, and its mean for random sets of these sizes.

    Two empty sets have index 1.
    """
    sizes = (int(first.sum()), int(second.sum()))
    if not any(sizes):
        return 1.0, 1.0
    in_both = int((first & second).sum())
    in_either = int((first | second).sum())
    both_by_chance = sizes[0] * sizes[1] / len(first)
    return in_both / in_either, both_by_chance / (sum(sizes) - both_by_chance)
