"""A dataset made ready once, to be judged again and again as a network learns; and the rows of its results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from winokit.formalizations import Network, cases, encode
from winokit.formalizations.cases import alone
from winokit.metrics import (
    Draws,
    Interval,
    abstained,
    chance,
    complete_groups,
    correct,
    credit,
    group_accuracy,
    guess_chance,
    majority_class,
    mean_interval,
    share_interval,
)
from winokit.metrics.arrays import FloatArray
from winokit.problem import Dataset
from winokit.results import Metric, decide
from winokit.scoring import Prediction
from winokit.training.symptoms import finite

FLOOR = "floor"
"""The detail of a row that says what one who knows nothing has, where that is more than guessing gives."""


class Exam:
    """The problems of a dataset as a network reads them."""

    def __init__(self, dataset: Dataset, network: Network, variant: str) -> None:
        self.dataset, self.variant = dataset, variant
        self.cases = cases(dataset, network.formalization)
        self.encoded = encode(self.cases, network.formalization, network.reader)
        unread = [why for why in self.encoded if isinstance(why, str)]
        lonely = alone(self.cases) if network.formalization.definition.compares else 0
        self.notes: list[str] = []
        """What a reader of its results should know."""
        if unread:
            self.notes.append(f"{dataset.card.name}: problems not answered: {len(unread):,} (the first: {unread[0]})")
        if lonely:
            self.notes.append(f"{dataset.card.name}: judgements without a rival, answered yes: {lonely:,}")

    def sit(self, network: Network, model: str = "") -> list[Prediction]:
        """A prediction for each problem."""
        formalization = network.formalization
        readable = [(at, one) for at, one in enumerate(self.encoded) if not isinstance(one, str)]
        scores: dict[int, tuple[float, ...] | str] = {
            at: why for at, why in enumerate(self.encoded) if isinstance(why, str)
        }
        for index, numbers in network.numbers([one for _, one in readable]):
            at = readable[index][0]
            scores[at] = formalization.definition.decide(self.cases[at], finite(numbers), formalization.switches)
        named = self.variant, model, formalization.spec
        return [self._prediction(at, scores[at], named) for at in range(len(self.cases))]

    def _prediction(self, at: int, scores: tuple[float, ...] | str, named: tuple[str, str, str]) -> Prediction:
        problem = self.cases[at].problem
        whose = str(problem.provenance.get("of", problem.id)), *named
        if isinstance(scores, str):
            return Prediction(*whose, None, None, problem.answer, scores)
        prediction, why = decide(scores)
        return Prediction(*whose, scores, prediction, problem.answer, why)


@dataclass(frozen=True, slots=True)
class Mark:
    """How a network does on a dev set at some step. Undecided problems count 1/candidates."""

    step: int
    epoch: float
    accuracy: float
    low: float
    high: float
    """Where the accuracy plausibly lies, twins drawn together."""
    group_accuracy: float | None
    abstained: float
    """Share of problems without a prediction."""
    commonest: float
    """Share of the commonest prediction, as a candidate's index, among those made."""


def mark(dataset: Dataset, predictions: Sequence[Prediction], step: int, epoch: float) -> Mark:
    """The mark of predictions that all have an answer."""
    chosen, answers, sizes = _columns(dataset, predictions)
    groups = [problem.group for problem in dataset]
    together = group_accuracy(correct(chosen, answers), groups) if complete_groups(groups) else None
    made = [choice for choice in chosen if choice is not None]
    commonest = majority_class(made) if made else 0.0
    points = credit(chosen, answers, sizes)
    interval = (mean_interval if None in chosen else share_interval)(points, groups, Draws())
    return Mark(step, epoch, float(points.mean()), interval.low, interval.high, together, abstained(chosen), commonest)


def rows(dataset: Dataset, predictions: Sequence[Prediction], subset: str, seed: int = 0) -> list[Metric]:
    """Accuracy and group accuracy with intervals over twins and what guessing gives; nothing for hidden answers.

    Guessing abstains where the predictions do, so that an abstention, which is wrong, lowers both alike.
    """
    known = [at for at, problem in enumerate(dataset) if problem.answer is not None]
    if not known:
        return []
    dataset, predictions = Dataset([dataset[at] for at in known], dataset.card), [predictions[at] for at in known]
    chosen, answers, sizes = _columns(dataset, predictions)
    groups = [problem.group for problem in dataset]
    right, guess, how = correct(chosen, answers), guess_chance(chosen, sizes), Draws(seed)
    first = predictions[0]

    def row(named: str, values: FloatArray, interval: Interval | None = None, chance: float | None = None) -> Metric:
        protocol, _, metric = named.partition("/")
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        where = dataset.card.name, first.model, first.scoring, first.scoring, protocol, subset, metric
        variant = {"variant": first.variant}
        return Metric(*where, float(values.mean()), len(values), low, high, chance, details=variant)

    flags, undecided = right.astype(np.float64), np.array([float(choice is None) for choice in chosen])
    made = [row("accuracy/accuracy", flags, share_interval(right, groups, how), float(guess.mean()))]
    if None in chosen:
        points = credit(chosen, answers, sizes)
        made.append(row("accuracy/expected_accuracy", points, mean_interval(points, groups, how), chance(sizes)))
        made.append(row("accuracy/abstained", undecided))
    if all(problem.query is not None for problem in dataset):
        # Where problems ask yes or no, always giving the commonest answer takes no knowledge either.
        floors = {row.metric: majority_class(answers) * (1 - undecided.mean()) for row in made}
        floors["expected_accuracy"] = floors["accuracy"] + float((undecided / np.array(sizes)).mean())
        made = [replace(row, details={**row.details, FLOOR: float(floors[row.metric])}) for row in made]
    if members := complete_groups(groups):
        together, guessed = (np.array([one[own].prod() for own in members.values()]) for one in (flags, guess))
        interval = share_interval(together, list(range(len(together))), how)
        made.append(row("groups/group_accuracy", together, interval, float(guessed.mean())))
    return made


def _columns(dataset: Dataset, predictions: Iterable[Prediction]) -> tuple[list[int | None], list[int], list[int]]:
    return (
        [prediction.prediction for prediction in predictions],
        [-1 if problem.answer is None else problem.answer for problem in dataset],
        [len(problem.candidates) for problem in dataset],
    )
