"""What a protocol sees: problems, predictions by variant, and a way to make rows with intervals and chance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from winokit.auditing.run import LeftOut
from winokit.auditing.variants import Variant
from winokit.metrics import Draws, gap_interval, mean_interval, share_interval
from winokit.problem import Dataset, Problem
from winokit.results import Metric
from winokit.scoring import Prediction

ORIGINAL = "original"


@dataclass(frozen=True, slots=True)
class Graded:
    """A labelled problem with its prediction."""

    problem: Problem
    prediction: Prediction

    @property
    def correct(self) -> bool:
        """Whether the prediction is right; an abstention is not."""
        return self.prediction.prediction is not None and self.prediction.prediction == self.problem.answer

    @property
    def chance(self) -> float:
        """What guessing gives."""
        return 1 / len(self.problem.candidates)

    @property
    def expected(self) -> float:
        """1 if right, the chance of a guess for an abstention, else 0 (Trichelair et al., 2018)."""
        return self.chance if self.prediction.prediction is None else float(self.correct)


@dataclass
class Sheet:
    """Everything protocols work on, for one dataset, model and scoring."""

    dataset: Dataset
    predictions: Mapping[str, Mapping[str, Prediction]]
    """Variant to problem id to prediction."""
    variants: Mapping[str, Variant]
    model: str
    scoring: str
    formalization: str | None = None
    seed: int = 0
    draws: int = 1000
    surprisal: Mapping[str, float] = field(default_factory=dict)
    """Per-word surprisal of each solved text, by problem id, where it is known."""
    left_out: list[LeftOut] = field(default_factory=list)
    _graded: dict[str, list[Graded]] = field(default_factory=dict, init=False, repr=False)

    def graded(self, variant: str = ORIGINAL) -> list[Graded]:
        """The labelled problems of a variant that have a prediction, in order; found once, asked for by many."""
        if variant not in self._graded:
            self._graded[variant] = self._find_graded(variant)
        return self._graded[variant]

    def _find_graded(self, variant: str) -> list[Graded]:
        problems: Iterable[Problem] = self.dataset if variant == ORIGINAL else self.variants[variant].problems
        found = self.predictions.get(variant, {})
        pairs = ((problem, found.get(original_id(problem))) for problem in problems if problem.answer is not None)
        return [Graded(problem, prediction) for problem, prediction in pairs if prediction is not None]

    def mean(
        self,
        name: tuple[str, str, str],
        values: Sequence[float],
        clusters: Sequence[object],
        chance: float | None = None,
        note: str | None = None,
    ) -> Iterable[Metric]:
        """A row for a mean, with an interval that resamples clusters; nothing where there is nothing to average."""
        if values:
            find = share_interval if set(values) <= {0.0, 1.0} else mean_interval
            interval = find(np.asarray(values), list(clusters), Draws(self.seed, self.draws))
            yield self.row(name, float(np.mean(values)), len(values), interval.low, interval.high, chance, note)

    def accuracy(
        self, protocol: str, subset: str, graded: Sequence[Graded], metric: str = "accuracy", note: str | None = None
    ) -> Iterable[Metric]:
        """An accuracy row: twins are one cluster."""
        chance = float(np.mean([g.chance for g in graded])) if graded else None
        yield from self.mean(
            (protocol, subset, metric), [float(g.correct) for g in graded], clusters(graded), chance, note
        )

    def gap(
        self, name: tuple[str, str, str], first: Sequence[Graded], second: Sequence[Graded], note: str | None = None
    ) -> Iterable[Metric]:
        """A row for the accuracy on one subset minus that on another; nothing where one is empty."""
        if first and second:
            both = [*first, *second]
            correct = np.array([float(one.correct) for one in both])
            is_first = np.arange(len(both)) < len(first)
            interval = gap_interval(correct, is_first, ~is_first, clusters(both), Draws(self.seed, self.draws))
            value = float(correct[is_first].mean() - correct[~is_first].mean())
            yield self.row(name, value, len(both), interval.low, interval.high, 0.0, note)

    def by_group(
        self,
        name: tuple[str, str, str],
        graded: Sequence[Graded],
        value: Callable[[Sequence[Graded]], float],
        chance: Callable[[Sequence[Graded]], float] | None = None,
        note: str | None = None,
    ) -> Iterable[Metric]:
        """A row for a mean over complete groups: `n` counts groups, and groups are what is resampled."""
        groups = self.complete(graded)
        expected = float(np.mean([chance(group) for group in groups])) if chance and groups else None
        yield from self.mean(name, [value(group) for group in groups], range(len(groups)), expected, note)

    def complete(self, graded: Sequence[Graded]) -> list[list[Graded]]:
        """The groups whose every member is among those graded."""
        members: dict[str, list[Graded]] = {}
        for one in graded:
            if one.problem.group is not None:
                members.setdefault(one.problem.group, []).append(one)
        whole = self.dataset.groups
        return [group for name, group in members.items() if len(group) == len(whole.get(name, ())) > 1]

    def row(
        self,
        name: tuple[str, str, str],
        value: float,
        n: int,
        low: float | None = None,
        high: float | None = None,
        chance: float | None = None,
        note: str | None = None,
    ) -> Metric:
        """A row under the sheet's dataset, model and scoring."""
        return Metric(
            self.dataset.card.name,
            self.model,
            self.scoring,
            self.formalization,
            *name,
            value,
            n,
            low,
            high,
            chance,
            note,
        )

    def leave_out(self, protocol: str, subset: str, why: str, n: int) -> None:
        """Say that problems could not be used."""
        self.left_out.append(LeftOut(protocol, subset, why, n))


def original_id(problem: Problem) -> str:
    """The id of the problem a variant was made from, or its own."""
    return str(problem.provenance.get("of") or problem.id)


def clusters(graded: Iterable[Graded]) -> list[str]:
    """What is resampled together: a group, or a problem alone."""
    return [one.problem.group or f"single {one.problem.id}" for one in graded]


def all_right(group: Sequence[Graded]) -> float:
    """1 if every member is right."""
    return float(all(one.correct for one in group))


def all_by_chance(group: Sequence[Graded]) -> float:
    """The probability that guessing gets every member right."""
    return float(np.prod([one.chance for one in group]))
