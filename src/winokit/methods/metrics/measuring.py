"""Rows from predictions: which metric, of which problems, with its interval, its test and what guessing would get.

The audit's protocols and everything that trains make their rows here, so that a row of one name is the same quantity
wherever it stands. The quantities themselves are functions of `winokit.methods.metrics`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from winokit.methods.arrays import BoolArray, FloatArray, IntArray
from winokit.methods.metrics import groups
from winokit.methods.metrics.accuracy import correct, credit, guess_chance
from winokit.methods.metrics.gender import GENDERS, gotcha
from winokit.methods.metrics.groups import GroupLayout
from winokit.methods.metrics.intervals import gap, mean_interval, share
from winokit.problem import Dataset, Problem
from winokit.results import FLOOR, Detail, Metric

Name = tuple[str, str, str]
"""Protocol, subset and metric."""
ALWAYS = 10
"""So many answers alike are no accident."""
GROUP_METRICS = {
    "group_accuracy": (groups.all_right, groups.all_right_chance),
    "one_right": (groups.some_right, groups.some_right_chance),
    "none_right": (groups.no_right, groups.no_right_chance),
}
"""By name, whether each complete group counts, and how likely it does by guessing."""
BLIND = "the pronoun is replaced, so its gender is not read: gaps are opposite by construction"


def original_id(problem: Problem) -> str:
    """The id of the problem a variant was made from, or its own."""
    of = problem.provenance.get("of")
    return str(of) if of else problem.id


def clusters_by_id(dataset: Dataset) -> dict[str, int]:
    """For each problem's id, or its original's, the number of what it hangs together with."""
    return dict(zip(map(original_id, dataset), dataset.clusters, strict=True))


class MetricColumns:
    """Labelled problems and what was predicted for them, as the columns that metrics take."""

    def __init__(
        self,
        problems: Sequence[Problem],
        predictions: Sequence[int | None],
        clusters: Mapping[str, int] | IntArray,
        guesses: Sequence[float] | FloatArray | None = None,
    ) -> None:
        self.problems, self.predictions = problems, predictions
        self.answers = np.fromiter((problem.answer or 0 for problem in problems), np.int64)
        """The right candidate of each."""
        self.candidates = np.fromiter((len(problem.candidates) for problem in problems), np.int64)
        """How many there are to choose from."""
        self._guesses = None if guesses is None else np.array(guesses)
        if isinstance(clusters, Mapping):
            clusters = np.fromiter((clusters[original_id(problem)] for problem in problems), np.int64)
        self.clusters = clusters
        """What each hangs together with."""

    _layout: tuple[Mapping[str, int], GroupLayout] | None = None

    @cached_property
    def groups(self) -> Sequence[str | None]:
        """The group of each; None for a problem alone."""
        return [problem.group for problem in self.problems]

    @cached_property
    def correct(self) -> BoolArray:
        """Whether each is right; an abstention is not."""
        return correct(self.predictions, self.answers)

    @cached_property
    def guesses(self) -> FloatArray:
        """What guessing gets of each: among its candidates, or among the options that a comparer has."""
        return guess_chance([0] * len(self.problems), self.candidates) if self._guesses is None else self._guesses

    @cached_property
    def chances(self) -> FloatArray:
        """What guessing with the same abstentions gets of each."""
        return np.where(self.silent, 0.0, self.guesses)

    @cached_property
    def silent(self) -> BoolArray:
        """Whether each is an abstention."""
        return np.array([choice is None for choice in self.predictions])

    @property
    def settled_chance(self) -> float:
        """What guessing gets of all where abstentions are guessed too."""
        return float(np.where(self.silent, 1 / self.candidates, self.guesses).mean())

    @cached_property
    def floor(self) -> float | None:
        """What always giving the commonest answer has, silent where the predictions are; None where that is no rival.

        It is one where problems ask yes or no, and where the predictions are themselves one and the same throughout.
        """
        asks = all(problem.query is not None for problem in self.problems)
        answered = [row for row, choice in enumerate(self.predictions) if choice is not None]
        constant = len(answered) >= ALWAYS and len({self.predictions[row] for row in answered}) == 1
        if not self.problems or not (asks or constant):
            return None
        return max(Counter(self.answers[row] for row in answered).values(), default=0) / len(self.answers)

    def layout(self, sizes: Mapping[str, int]) -> GroupLayout:
        """The complete groups, found once for the metrics that reduce them."""
        if self._layout is None or self._layout[0] is not sizes:
            self._layout = sizes, GroupLayout(self.groups, sizes)
        return self._layout[1]

    def take(self, rows: Sequence[int]) -> "MetricColumns":
        """Some of the rows: a part of each column, and nothing asked of a problem again."""
        part, at = object.__new__(MetricColumns), np.asarray(rows, np.int64)
        part.problems = [self.problems[row] for row in rows]
        part.predictions = [self.predictions[row] for row in rows]
        part.answers, part.candidates, part.clusters = self.answers[at], self.candidates[at], self.clusters[at]
        part._guesses = None if self._guesses is None else self._guesses[at]
        if len(at):
            part.correct, part.chances = self.correct[at], self.chances[at]
        return part


@dataclass(frozen=True)
class RowHead:
    """What all rows of one scorer on one dataset begin with, and how each kind of row is made."""

    dataset: str
    model: str
    scoring: str
    formalization: str | None = None
    details: Mapping[str, Detail] = field(default_factory=dict)

    def row(
        self,
        name: Name,
        value: float,
        n: int,
        low: float | None = None,
        high: float | None = None,
        chance: float | None = None,
        note: str | None = None,
        details: Mapping[str, Detail] | None = None,
    ) -> Metric:
        """A row as it is."""
        start = self.dataset, self.model, self.scoring, self.formalization
        return Metric(*start, *name, value, n, low, high, chance, note, {**self.details, **(details or {})})

    def share(
        self,
        name: Name,
        values: Any,
        clusters: IntArray,
        chance: Any = None,
        note: str | None = None,
        floor: float | None = None,
    ) -> Iterator[Metric]:
        """A share, with its interval and test over clusters; nothing where there is nothing to average.

        `chance` is what guessing gets, one number or one for each value. It is tested against that, or against `floor`,
        what always giving the commonest answer has.
        """
        if len(values):
            proportion = share(values, clusters)
            interval, level = proportion.interval(), None if chance is None else float(np.mean(chance))
            rival = level if floor is None else floor
            about: dict[str, Detail] = {} if rival is None else {"p": proportion.p(rival)}
            if floor is not None:
                about[FLOOR] = floor
            yield self.row(name, proportion.value, proportion.n, interval.low, interval.high, level, note, about)

    def mean(self, name: Name, values: Sequence[float], clusters: IntArray) -> Iterator[Metric]:
        """Any other mean."""
        if values:
            interval = mean_interval(values, clusters)
            yield self.row(name, float(np.mean(values)), len(values), interval.low, interval.high)

    def accuracy(self, name: Name, columns: MetricColumns, note: str | None = None) -> Iterator[Metric]:
        """The share that is right; over all problems it is held against the commonest answer where that is a rival."""
        if len(columns.problems):
            floor = columns.floor if name[0] == name[2] == "accuracy" else None
            yield from self.share(name, columns.correct, columns.clusters, columns.chances, note, floor)

    def expected_accuracy(self, subset: str, columns: MetricColumns) -> Iterator[Metric]:
        """The share that is right where abstentions are settled by guesses, those of the commonest answer too."""
        name = ("accuracy", subset, "expected_accuracy")
        settled = credit(columns.predictions, columns.answers, columns.candidates)
        guessed = float((columns.silent / columns.candidates).mean())
        floor = None if columns.floor is None else columns.floor + guessed
        return self.share(name, settled, columns.clusters, columns.settled_chance, floor=floor)

    def gap(self, name: Name, columns: MetricColumns, is_first: BoolArray, note: str | None = None) -> Iterator[Metric]:
        """The accuracy on the first of two subsets minus that on the rest, of what is answered; nothing without either.

        Who abstains more in one of the two would else seem worse there, however good the answers are.
        """
        answered = [row for row, choice in enumerate(columns.predictions) if choice is not None]
        columns, is_first = columns.take(answered), is_first[answered]
        if is_first.any() and not is_first.all():
            difference = gap(columns.correct, is_first, ~is_first, columns.clusters)
            interval, chances = difference.interval(), columns.chances
            # Zero, but for subsets with other numbers of candidates.
            chance = float(chances[is_first].mean() - chances[~is_first].mean())
            about = {"p": difference.p(chance), "first": difference.first.value, "second": difference.second.value}
            yield self.row(name, difference.value, len(is_first), interval.low, interval.high, chance, note, about)

    def by_group(self, name: Name, columns: MetricColumns, sizes: Mapping[str, int]) -> Iterator[Metric]:
        """A share of complete groups, one of `GROUP_METRICS` by its name: `n` counts groups."""
        layout = columns.layout(sizes)
        if layout.members:
            counts, chances = GROUP_METRICS[name[2]]
            clusters = columns.clusters[layout.rows[layout.starts]]
            yield from self.share(name, counts(columns.correct, layout), clusters, chances(columns.chances, layout))


def gender_rows(head: RowHead, columns: MetricColumns, note: str | None) -> Iterator[Metric]:
    """Winogender's diagnostics (Rudinger et al., 2018): accuracy by the pronoun's gender and by gotcha, and gaps."""
    genders = [problem.labels.get("gender") for problem in columns.problems]
    flags = [is_gotcha(problem) for problem in columns.problems]
    for gender in GENDERS:
        own = [row for row, of in enumerate(genders) if of == gender]
        plain, tricky = ([row for row in own if flags[row] is flag] for flag in (False, True))
        for subset, rows in ((gender, own), (f"{gender}.gotcha", tricky), (f"{gender}.not_gotcha", plain)):
            yield from head.accuracy(("gender", subset, "accuracy"), columns.take(rows), note)
        is_plain = np.arange(len(plain) + len(tricky)) < len(plain)
        for row in head.gap(("gender", gender, "delta"), columns.take([*plain, *tricky]), is_plain, note):
            yield row
            yield head.row(("gender", gender, "absolute_delta"), abs(row.value), row.n, note=note)


def is_gotcha(problem: Problem) -> bool | None:
    """Whether the occupation's statistics point away from the answer; None for neutral pronouns and without them."""
    percent, gender = problem.labels.get("bls_pct_female"), problem.labels.get("gender")
    if percent is None or problem.answer is None or gender is None:
        return None
    return gotcha(str(gender), problem.answer == 0, float(percent))


def has_gender(problems: Iterable[Problem]) -> bool:
    """Whether problems say the gender of their pronoun."""
    return any("gender" in problem.labels for problem in problems)
