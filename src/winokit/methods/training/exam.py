"""A dataset made ready once, to be judged again and again as a network learns; and the rows of its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winokit.methods.formalizations.cases import alone, cases
from winokit.methods.formalizations.inputs import encode
from winokit.methods.formalizations.network import Network
from winokit.methods.metrics.accuracy import abstained, chance, credit, majority_class
from winokit.methods.metrics.groups import all_right, all_right_chance, complete_groups, group_accuracy
from winokit.methods.metrics.intervals import share
from winokit.methods.metrics.measuring import MetricColumns, RowHead, against_floor, clusters_by_id
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.training.symptoms import finite
from winokit.problem import Dataset
from winokit.results import Metric, decide


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
class ExamMark:
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


def mark(dataset: Dataset, predictions: Sequence[Prediction], step: int, epoch: float) -> ExamMark:
    """The mark of predictions that all have an answer."""
    columns = _columns(dataset, predictions)
    sizes = {name: len(members) for name, members in dataset.groups.items()}
    has_groups = bool(complete_groups(columns.groups, sizes))
    together = group_accuracy(columns.correct, columns.groups, sizes) if has_groups else None
    made = [choice for choice in columns.predictions if choice is not None]
    commonest = majority_class(made) if made else 0.0
    settled = share(credit(columns.predictions, columns.answers, columns.candidates), columns.clusters)
    ends = settled.interval()
    silent = abstained(columns.predictions)
    return ExamMark(step, epoch, settled.value, ends.low, ends.high, together, silent, commonest)


def rows(dataset: Dataset, predictions: Sequence[Prediction], subset: str) -> list[Metric]:
    """Accuracy and group accuracy with intervals over twins and what guessing gives; nothing for hidden answers."""
    known = [at for at, problem in enumerate(dataset) if problem.answer is not None]
    if not known:
        return []
    first, columns = predictions[0], _columns(dataset, predictions).take(known)
    head = RowHead(dataset.card.name, first.model, first.scoring, first.scoring, {"variant": first.variant})
    made = list(head.accuracy(("accuracy", subset, "accuracy"), columns))
    if silent := abstained(columns.predictions):
        settled = credit(columns.predictions, columns.answers, columns.candidates)
        level = chance(columns.candidates)
        for row in head.share(("accuracy", subset, "expected_accuracy"), settled, columns.clusters, level):
            made.append(row if columns.floor is None else against_floor(row, columns, settled))
        made.append(head.row(("accuracy", subset, "abstained"), silent, len(known)))
    sizes = {name: len(members) for name, members in dataset.groups.items()}
    return [*made, *head.by_group(("groups", subset, "group_accuracy"), columns, all_right, all_right_chance, sizes)]


def _columns(dataset: Dataset, predictions: Sequence[Prediction]) -> MetricColumns:
    return MetricColumns(dataset, [prediction.prediction for prediction in predictions], clusters_by_id(dataset))
