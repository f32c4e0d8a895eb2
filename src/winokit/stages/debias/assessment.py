"""Measures of a filter, as rows: sizes, a held-out linear probe, and divergence.

The probe of the kept problems is ranked among probes of equally many problems drawn at random. Comparing the intervals
before and after filtering would show nothing: dropping a few problems moves a probe about as much as dealing the folds
in another way.
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
"""Name of the arm that removes nothing."""
PROTOCOL = "debias"
PROBE = Scorer("probe")
"""The scorer named in rows of the linear probe."""
SURE = 0.05
"""The q-value up to which a removal is counted as more than chance."""


def of_seed(name: str, seed: int) -> str:
    """Name of the arm that another seed makes, used as `subset` in result rows.

    >>> of_seed("aflite", 3)
    'aflite.seed3'
    """
    return f"{name}.seed{seed}"


class DebiasMeasures:
    """Measures the problems that each arm keeps, as rows of results.

    An arm is one way to filter, with the problems that it keeps. Every problem of the dataset has an answer. Row i of
    `rows` is problem i. `model` and `scoring` are the names of the features' origin, written into every row.
    """

    def __init__(self, rows: DebiasRows, dataset: Dataset, model: str, scoring: str) -> None:
        self.rows = rows
        self.unit_numbers = numbered(rows.unit_names, len(rows))
        self.asked = AskedProblems.of(dataset)
        name = dataset.card.name
        self.judge = Judge(name, Scorer(model, scoring))
        self.row = partial(Metric, name, model, scoring, None, PROTOCOL)

    def check(self, settings: Assessment) -> None:
        """Raise BadInput if the problems are too few for these folds or bins.

        Called before minutes of filtering.
        """
        problem_count = len(self.rows)
        unit_count = self.rows.units.count
        folds = settings.folds
        bins = settings.bins
        if folds > unit_count:
            raise BadInput(
                f"expected no more folds than the {unit_count:,} units (--set folds), since problems that vary "
                f"together stay in one; found {folds:,}"
            )
        if bins is not None and bins > problem_count:
            raise BadInput(f"expected no more bins than the {problem_count:,} problems (--set bins); found {bins:,}")

    def sizes(self, arm: DebiasArm) -> Iterator[Metric]:
        """Rows with the kept problems, the split groups, and the share of first answers.

        A group is split if some of its members are kept and others are removed.
        """
        groups = Units.of_names(self.rows.groups)
        kept_members = groups.sums(arm.keep)
        is_split = (kept_members > 0) & (kept_members < groups.sizes)
        split_count = int(is_split.sum())
        group_count = int((groups.sizes > 1).sum())
        kept_count = int(arm.keep.sum())
        kept_answers = self.rows.y[arm.keep]
        first_share = float((kept_answers == 0).mean())
        yield self.row(arm.name, "n_kept", kept_count, len(arm.keep))
        yield self.row(arm.name, "n_groups_split", split_count, group_count)
        yield self.row(arm.name, "share_first_answers", first_share, kept_count, chance=0.5)

    def by_chance(self, chosen: DebiasArm, seeds: Sequence[DebiasArm], null: NullModel) -> Iterator[Metric]:
        """Rows that compare the number of removed problems with runs on shuffled labels.

        The row by chance has the mean, the minimum and the maximum of these runs. Each arm of `seeds` has a p-value by
        rank, whose n is its number of runs. The chosen arm has the largest of these p-values: the majority of several
        seeds is only as sure as its least sure seed.
        """
        n = len(chosen.keep)
        is_removed = ~chosen.keep
        removed_count = int(is_removed.sum())
        sure_count = int((null.q_values[is_removed] <= SURE).sum())
        counts_by_chance = null.null_removed
        ends = (min(counts_by_chance), max(counts_by_chance))
        note = f"mean, least and most of {len(counts_by_chance)} relabelled runs"
        yield self.row(chosen.name, "n_removed", removed_count, n, chance=null.expected)
        yield self.row(chosen.name, "n_removed_by_chance", null.expected, n, *ends, note=note)
        yield self.row(chosen.name, "n_removed_surely", sure_count, n, note=f"q-value of {SURE} or less")
        ranks = {chosen.name: max(null.ranks, key=lambda null_rank: null_rank.p_value)}
        for arm, seed_rank in zip(seeds, null.ranks, strict=True):
            ranks[arm.name] = seed_rank
        for name, null_rank in ranks.items():
            yield self.row(name, "p_null", null_rank.p_value, null_rank.draws)

    def overlaps(self, chosen: DebiasArm, seeds: Sequence[DebiasArm]) -> Iterator[Metric]:
        """Rows with the overlap of two seeds, in kept and in removed problems.

        The overlap is Jaccard's index: the size of the intersection over that of the union. A row has its mean,
        minimum and maximum over all pairs of seeds, and the mean of random sets of the same sizes.
        """
        n = len(chosen.keep)
        kept_masks = [arm.keep for arm in seeds]
        kept_pairs = list(combinations(kept_masks, 2))
        removed_pairs = [(~first, ~second) for first, second in kept_pairs]
        note = f"Jaccard's index of two seeds: mean, least and most of {len(kept_pairs)} pairs"
        for name, pairs in (("kept", kept_pairs), ("removed", removed_pairs)):
            shares = []
            shares_by_chance = []
            for first, second in pairs:
                share, share_by_chance = _compare_sets(first, second)
                shares.append(share)
                shares_by_chance.append(share_by_chance)
            mean_share = float(np.mean(shares))
            by_chance = float(np.mean(shares_by_chance))
            metric = f"{name}_overlap"
            yield self.row(chosen.name, metric, mean_share, n, min(shares), max(shares), by_chance, note)

    def assessed(
        self,
        arms: Sequence[DebiasArm],
        chosen: DebiasArm,
        others: Sequence[DebiasArm],
        settings: Assessment,
        timed: Callable[[str], AbstractContextManager[None]],
    ) -> Iterator[Metric]:
        """Rows that need features: probes, random removals and divergences.

        `others` are the arms of other seeds than the chosen one's. They have no divergences, and their probes use the
        folds of their seed. `timed` opens a context that counts the seconds of a part of the work, by its name.
        """
        seed_arms = []
        for arm in others:
            seed_settings = replace(settings, seed=arm.settings["seed"])
            seed_arms.append((arm, seed_settings))
        probed_arms = [(arm, settings) for arm in arms]
        # Each seed is compared with all problems in the folds of that seed.
        for _, seed_settings in seed_arms:
            all_problems = replace(arms[0], name=of_seed(ALL, seed_settings.seed))
            probed_arms.append((all_problems, seed_settings))
        probed_arms += seed_arms
        probes = {}
        with timed("probe"):
            for arm, arm_settings in probed_arms:
                probes[arm.name] = self.probe(arm, arm_settings)
        yield from probes.values()
        with timed("removals"):
            for arm, arm_settings in ((chosen, settings), *seed_arms):
                yield from self.removals(arm, probes[arm.name], arm_settings)
        with timed("divergence"):
            for arm in arms:
                yield from self.divergences(arm, settings)

    def probe(self, arm: DebiasArm, settings: Assessment) -> Metric:
        """Row with the accuracy of a linear probe, cross-validated on an arm's kept problems."""
        probe = self._fit_probe(arm.keep, settings)
        kept_rows = np.flatnonzero(arm.keep)
        answers = Answers(self.asked, kept_rows, probe.choices, (PROBE,))
        (row,) = self.judge.cross_validated((PROTOCOL, arm.name, "probe_accuracy"), answers)
        return row

    def _fit_probe(self, keep: Bools, settings: Assessment) -> Probe:
        """Fit the probe on rows to keep, in folds of whole units.

        `keep` flags them among all rows.
        """
        x = self.rows.x
        assert x is not None
        kept_rows = np.flatnonzero(keep)
        if not keep.all() or not isinstance(x, np.ndarray):
            x = x[kept_rows]
        y = self.rows.y[keep]
        units = self.rows.units.take(kept_rows)
        regularisation = settings.regularisation
        return linear_probe(x, y, units, folds=settings.folds, seed=settings.seed, regularisation=regularisation)

    def removals(self, arm: DebiasArm, probe: Metric, settings: Assessment) -> Iterator[Metric]:
        """Rows that rank an arm's probe among those after random removals.

        `probe` is the arm's row with `probe_accuracy`. Random removals keep as many problems as the arm, and whole
        groups if the arm keeps these whole. Yields nothing if the arm removed nothing, or removed it at random.
        """
        is_random = arm.name == RandomReduction.name
        if arm.keep.all() or is_random:
            return
        problem_count = len(arm.keep)
        kept_count = int(arm.keep.sum())
        accuracies: list[float] = []

        def draw_removals() -> Iterator[bool]:
            """Yield whether each random removal has a probe at or below the arm's.

            There is no end to them. The accuracy of each is added to `accuracies`.
            """
            for seed in count(settings.seed + 1):
                keep = random_reduction(problem_count, kept_count, seed=seed, groups=arm.whole)
                accuracy = self._fit_probe(keep, settings).accuracy
                accuracies.append(accuracy)
                yield accuracy <= probe.value

        probe_rank = rank(draw_removals(), settings.removals)
        note = f"as many at random: mean, least and most of {len(accuracies)} draws"
        mean = float(np.mean(accuracies))
        ends = (min(accuracies), max(accuracies))
        yield self.row(arm.name, "random_probe_accuracy", mean, probe.n, *ends, 0.5, note)
        yield self.row(arm.name, "p_random_removal", probe_rank.p_value, probe_rank.draws)

    @cached_property
    def components(self) -> divergence.Components:
        """The principal components of the features of all problems."""
        assert self.rows.x is not None
        return divergence.principal_components(self.rows.x)

    def divergences(self, arm: DebiasArm, settings: Assessment) -> Iterator[Metric]:
        """Rows with the divergence of the two answers along the first component.

        Each estimator has a row for each of the two directions. Rows with an arm's name as their subset (`pmi`) use the
        components of all problems. Rows of `pmi.refit` use the components of the problems that the arm keeps.
        """
        x = self.rows.x
        refit_name = f"{arm.name}.refit"
        assert x is not None
        first_component = self.components.project(x, arm.keep)[:, 0]
        estimates = list(self._estimate_divergences(arm.name, first_component, arm, settings))
        yield from estimates
        if arm.keep.all():
            for estimate in estimates:
                yield replace(estimate, subset=refit_name)
        else:
            components = divergence.principal_components(x, arm.keep, count=1)
            refit_component = components.project(x, arm.keep)[:, 0]
            yield from self._estimate_divergences(refit_name, refit_component, arm, settings)

    def _estimate_divergences(
        self, subset: str, values: Doubles, arm: DebiasArm, settings: Assessment
    ) -> Iterator[Metric]:
        """Yield a row for each estimator and direction.

        `values` has one number per kept problem.
        """
        y = self.rows.y[arm.keep]
        kept_units = self.unit_numbers[arm.keep]
        unit_numbers = np.unique(kept_units, return_inverse=True)[1]
        seed = settings.seed
        assert settings.bins is not None
        estimators = divergence.estimators(settings.bins, settings.smoothing, settings.neighbours)
        for name, estimate in estimators.items():
            both_ways = divergence.divergence(values, y, estimate)
            chance = divergence.by_chance(values, y, estimate, unit_numbers, draws=settings.chance_draws, seed=seed)
            errors: Sequence[float | None] = (None, None)
            if name != "knn":
                errors = divergence.standard_error(values, y, estimate, unit_numbers, draws=settings.draws, seed=seed)
            directions = zip(("", "_reverse"), both_ways, chance, errors, strict=True)
            for suffix, value, value_by_chance, error in directions:
                row_name = (PROTOCOL, subset, f"kl_{name}{suffix}")
                yield self.judge.estimate(row_name, value, len(y), error, value_by_chance)


def _compare_sets(first: Bools, second: Bools) -> tuple[float, float]:
    """Return Jaccard's index of two masks, and the index expected of random masks.

    The random masks are as large as these two. Two empty masks have index 1.
    """
    first_size = int(first.sum())
    second_size = int(second.sum())
    if not first_size and not second_size:
        return 1.0, 1.0
    in_both = int((first & second).sum())
    in_either = int((first | second).sum())
    both_by_chance = first_size * second_size / len(first)
    either_by_chance = first_size + second_size - both_by_chance
    return in_both / in_either, both_by_chance / either_by_chance
