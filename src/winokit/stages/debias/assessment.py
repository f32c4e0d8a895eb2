"""What a filter changed, as rows: sizes, a held-out linear probe, and divergence along the first component.

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
        """Refuse what no arm of these problems can be looked at with, before minutes are spent on filtering."""
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
        """How many problems are kept, and how many groups lost some of their members and not all."""
        groups = Units.of_names(self.rows.groups)
        left = groups.sums(arm.keep)
        split = (left > 0) & (left < groups.sizes)
        several = int((groups.sizes > 1).sum())
        kept = int(arm.keep.sum())
        yield self.row(arm.name, "n_kept", kept, len(arm.keep))
        yield self.row(arm.name, "n_groups_split", int(split.sum()), several)
        yield self.row(arm.name, "share_first_answers", float((self.rows.y[arm.keep] == 0).mean()), kept, chance=0.5)

    def by_chance(self, chosen: DebiasArm, seeds: Sequence[DebiasArm], null: NullModel) -> Iterator[Metric]:
        """How many problems were removed, and how many are by chance: the mean, least and most of the relabelled runs.

        Each seed has a p-value by rank, n its number of draws; a majority is as sure as its least sure seed.
        """
        n = len(chosen.keep)
        drawn = null.null_removed
        sure = int((null.q_values[~chosen.keep] <= SURE).sum())
        note = f"mean, least and most of {len(drawn)} relabelled runs"
        yield self.row(chosen.name, "n_removed", int((~chosen.keep).sum()), n, chance=null.expected)
        yield self.row(chosen.name, "n_removed_by_chance", null.expected, n, min(drawn), max(drawn), note=note)
        yield self.row(chosen.name, "n_removed_surely", sure, n, note=f"q-value of {SURE} or less")
        ranks = {chosen.name: max(null.ranks, key=lambda each: each.p_value)}
        ranks |= zip((arm.name for arm in seeds), null.ranks, strict=True)
        for name, among in ranks.items():
            yield self.row(name, "p_null", among.p_value, among.draws)

    def overlaps(self, chosen: DebiasArm, seeds: Sequence[DebiasArm]) -> Iterator[Metric]:
        """How alike two seeds are in what they keep and in what they remove, and how alike sets at random would be.

        Jaccard's index: the share of what either has that both have; the mean, least and most over pairs of seeds.
        """
        pairs = list(combinations([arm.keep for arm in seeds], 2))
        note = f"Jaccard's index of two seeds: mean, least and most of {len(pairs)} pairs"
        for name, masks in (("kept", pairs), ("removed", [(~first, ~second) for first, second in pairs])):
            shares, expected = zip(*(_jaccard(first, second) for first, second in masks), strict=True)
            values = float(np.mean(shares)), len(chosen.keep), min(shares), max(shares), float(np.mean(expected))
            yield self.row(chosen.name, f"{name}_overlap", *values, note)

    def assessed(
        self,
        arms: Sequence[DebiasArm],
        chosen: DebiasArm,
        others: Sequence[DebiasArm],
        how: Assessment,
        timed: Callable[[str], AbstractContextManager[None]],
    ) -> Iterator[Metric]:
        """The rows of every arm in features; of `others`, other seeds, the probes alone, in folds of their own."""
        seeds = [(arm, replace(how, seed=arm.settings["seed"])) for arm in others]
        before = [(replace(arms[0], name=of_seed(ALL, its.seed)), its) for _, its in seeds]
        with timed("probe"):
            probed = (*((arm, how) for arm in arms), *before, *seeds)
            probes = {arm.name: self.probe(arm, its) for arm, its in probed}
        yield from probes.values()
        with timed("removals"):
            for arm, its in ((chosen, how), *seeds):
                yield from self.removals(arm, probes[arm.name], its)
        with timed("divergence"):
            for arm in arms:
                yield from self.divergences(arm, how)

    def probe(self, arm: DebiasArm, how: Assessment) -> Metric:
        """The probe's accuracy on what an arm keeps, judged as any scorer's answers."""
        probe = self._probe(arm.keep, how)
        answers = Answers(self.asked, np.flatnonzero(arm.keep), probe.choices, (PROBE,))
        (row,) = self.judge.cross_validated((PROTOCOL, arm.name, "probe_accuracy"), answers)
        return row

    def _probe(self, keep: Bools, how: Assessment) -> Probe:
        """The probe of some of the rows, in folds that split no unit."""
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
        """The probe of what an arm keeps among probes of as many problems at random, whole where the arm keeps them so.

        Nothing where nothing was removed, or where it was removed at random.
        """
        if arm.keep.all() or arm.name == RandomReduction.name:
            return
        drawn: list[float] = []

        def reached() -> Iterator[bool]:
            for number in count(how.seed + 1):
                keep = random_reduction(len(arm.keep), int(arm.keep.sum()), seed=number, groups=arm.whole)
                drawn.append(self._probe(keep, how).accuracy)
                yield drawn[-1] <= probe.value

        among = rank(reached(), how.removals)
        note = f"as many at random: mean, least and most of {len(drawn)} draws"
        values = float(np.mean(drawn)), probe.n, min(drawn), max(drawn), 0.5
        yield self.row(arm.name, "random_probe_accuracy", *values, note)
        yield self.row(arm.name, "p_random_removal", among.p_value, among.draws)

    @cached_property
    def components(self) -> divergence.Components:
        """The principal components of all problems."""
        assert self.rows.x is not None
        return divergence.principal_components(self.rows.x)

    def divergences(self, arm: DebiasArm, how: Assessment) -> Iterator[Metric]:
        """Divergence along the first component by every estimator, both ways.

        Rows of the subset `pmi` use the components of all problems, those of `pmi.refit` components of what is kept.
        """
        x = self.rows.x
        refit = f"{arm.name}.refit"
        assert x is not None
        estimates = list(self._estimates(arm.name, self.components.project(x, arm.keep)[:, 0], arm, how))
        yield from estimates
        if arm.keep.all():
            yield from (replace(estimate, subset=refit) for estimate in estimates)
        else:
            values = divergence.principal_components(x, arm.keep, count=1).project(x, arm.keep)[:, 0]
            yield from self._estimates(refit, values, arm, how)

    def _estimates(self, subset: str, values: Doubles, arm: DebiasArm, how: Assessment) -> Iterator[Metric]:
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


def _jaccard(first: Bools, second: Bools) -> tuple[float, float]:
    """The share of two sets that both have (two empty ones are the same), and what sets of these sizes would have."""
    sizes = (int(first.sum()), int(second.sum()))
    either = int((first | second).sum())
    both = sizes[0] * sizes[1] / len(first)
    share = int((first & second).sum()) / either if either else 1.0
    return share, both / (sum(sizes) - both) if any(sizes) else 1.0
