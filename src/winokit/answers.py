"""The table of answers: choices of scorers, with their problems and units.

Asking models, reading files and training write it; the judge (`winokit.methods.metrics.judge`) reads it. A row is one
choice; its columns are problem, unit, group, variant, scorer, sample, trial, choice and scores. Facts about a problem
(its right answer, its candidates, its unit) are stored once, in `AskedProblems`, however many scorers chose.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.problem import ORIGINAL, Dataset, Problem, grouped, original_id
from winokit.units import Units, require_units

ABSTAINED = -1
"""The choice of a scorer that does not choose."""

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Scorer(NamedTuple):
    """A model with its scoring, and its formalization if fine-tuned."""

    model: str = ""
    scoring: str = ""
    formalization: str | None = None


class TrialName(NamedTuple):
    """Name of one of several training runs of a scorer.

    It has a seed, a training size, a name, or several of these.
    """

    seed: int | None = None
    size: int | None = None
    name: str = ""


class AskedProblems:
    """Labelled problems that scorers answered, with columns for metrics.

    They are in one variant or several; `variants` names that of each, by default the original. Units and sizes of
    groups are those of the whole dataset: a group that lost a member is not complete.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        units: Units,
        group_sizes: Mapping[str, int],
        variants: Sequence[str] | None = None,
        dataset: str = "",
    ) -> None:
        self.problems = tuple(problems)
        self.units = require_units(units, len(variants) if variants is not None else len(self.problems))
        self.group_sizes = group_sizes
        self.variants = tuple(variants) if variants is not None else (ORIGINAL,) * len(self.problems)
        self.dataset = dataset

    @classmethod
    def of(cls, dataset: Dataset, variants: Mapping[str, Iterable[Problem]] | None = None) -> AskedProblems:
        """Take the labelled problems of a dataset and of its variants.

        Problems of a variant are left out if they were not made from a problem of the dataset.
        """
        group_sizes = {name: len(members) for name, members in dataset.groups.items()}
        unit_numbers = unit_number_by_id(dataset)
        problems: list[Problem] = []
        names: list[str] = []
        for name, members in {ORIGINAL: dataset, **(variants or {})}.items():
            labelled = [p for p in members if p.answer is not None and original_id(p) in unit_numbers]
            problems += labelled
            names += [name] * len(labelled)
        numbers = np.array([unit_numbers[original_id(problem)] for problem in problems], np.int64)
        return cls(problems, Units(numbers), group_sizes, names, dataset.card.name)

    def __len__(self) -> int:
        return len(self.problems)

    @cached_property
    def answers(self) -> IntArray:
        """Index of the right candidate of each problem."""
        return np.fromiter((problem.answer or 0 for problem in self.problems), np.int64, len(self))

    @cached_property
    def candidates(self) -> IntArray:
        """Number of candidates of each problem."""
        return np.fromiter((len(problem.candidates) for problem in self.problems), np.int64, len(self))

    @cached_property
    def groups(self) -> tuple[str | None, ...]:
        """Group of each problem, or None if it has none."""
        return tuple(problem.group for problem in self.problems)

    @cached_property
    def rows_of_variant(self) -> dict[str, IntArray]:
        """Row indices of the problems of each variant."""
        rows: dict[str, list[int]] = {}
        for index, variant in enumerate(self.variants):
            rows.setdefault(variant, []).append(index)
        return {variant: np.array(indices, np.int64) for variant, indices in rows.items()}

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Id of the original of each problem."""
        return tuple(map(original_id, self.problems))

    @cached_property
    def row_of(self) -> dict[tuple[str, str], int]:
        """Row index of each problem by variant and original's id."""
        keys = zip(self.variants, self.ids, strict=True)
        return {key: index for index, key in enumerate(keys)}


def unit_number_by_id(dataset: Dataset) -> dict[str, int]:
    """Unit number of each problem of a dataset, by original's id."""
    return dict(zip(map(original_id, dataset), dataset.units.numbers.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Answers:
    """Table of answers: one scorer's choice for one problem per row.

    `Answers.of_choices` makes it from one scorer's choices. Metrics take a table of one scorer, one variant and one
    trial; `by` splits a larger one. A scorer that was asked several times has a row for each sample: shares are means
    over samples then, a group counts once in each sample, and units hold all samples of their problems. Any selection
    of rows is a table again.

    >>> twins = [Problem("Ana thanked Ruth because ", end, ("Ana", "Ruth"), answer, group="help")
    ...          for answer, end in enumerate([" was helped.", " helped."])]
    >>> answers = Answers.of_choices(Dataset(twins), [0, None])
    >>> answers.correct.tolist(), answers.silent.tolist(), answers.units.count
    ([True, False], [False, True], 1)
    """

    asked: AskedProblems
    problem_index: IntArray
    """Index of each row's problem in `asked`."""
    choices: IntArray
    """Index of the chosen candidate, by row; -1 for an abstention."""
    scorers: tuple[Scorer, ...] = (Scorer(),)
    scorer_index: IntArray | None = None
    """Index into `scorers` of each row; None if there is only one."""
    trials: tuple[TrialName, ...] = (TrialName(),)
    trial_index: IntArray | None = None
    """Index into `trials` of each row; None if there is only one."""
    samples: IntArray | None = None
    """Number of the sample of each row, from 0; None if each problem has one answer."""
    scores: tuple[tuple[float, ...] | None, ...] | None = None
    """Score of each candidate, by row; None if scores are not known."""
    option_chances: FloatArray | None = None
    """Probability that a guess is right, by row; None for 1/candidates. A comparer guesses among its options."""
    whole: Answers | None = None
    """Table that a subset is part of: the null is computed once for all of it."""
    whole_rows: IntArray | None = None
    """Indices of these rows in `whole`."""

    @classmethod
    def of_choices(
        cls,
        dataset: Dataset,
        choices: Sequence[int | None] | NDArray[Any],
        scorer: Scorer = Scorer(),
        variant: str = ORIGINAL,
        scores: Sequence[tuple[float, ...] | None] | None = None,
    ) -> Answers:
        """Make the table of one scorer's choices for a dataset.

        `choices` and `scores` are in the order of the problems; None is an abstention. Unlabelled problems are left
        out. Raises BadInput for another number of choices.
        """
        if len(choices) != len(dataset):
            raise BadInput(f"expected a choice per problem, found {len(choices):,} for {len(dataset):,} problems")
        asked_problems = AskedProblems.of(dataset)
        labelled = [index for index, problem in enumerate(dataset) if problem.answer is not None]
        kept_choices = [choices[index] for index in labelled]
        kept_scores = None if scores is None else tuple(scores[index] for index in labelled)
        asked_problems.variants = (variant,) * len(asked_problems)
        return cls(
            asked_problems, np.arange(len(asked_problems)), choice_numbers(kept_choices), (scorer,), scores=kept_scores
        )

    @classmethod
    def of_trials(
        cls,
        dataset: Dataset,
        choices: Mapping[TrialName, Sequence[int | None] | NDArray[Any]],
        scorer: Scorer = Scorer(),
    ) -> Answers:
        """Make the table of several trials of one scorer for a dataset.

        `choices` has those of each trial, in the order of the problems. In the table, trials follow one another.
        Unlabelled problems are left out.
        """
        lengths = {len(trial_choices) for trial_choices in choices.values()}
        if lengths != {len(dataset)}:
            raise BadInput(f"expected a choice per problem and trial, found {sorted(lengths)} for {len(dataset):,}")
        labelled = [index for index, problem in enumerate(dataset) if problem.answer is not None]
        by_trial: list[IntArray] = []
        for trial_choices in choices.values():
            labelled_choices = [trial_choices[index] for index in labelled]
            by_trial.append(choice_numbers(labelled_choices))
        problem_index = np.tile(np.arange(len(labelled)), len(choices))
        trial_index = np.repeat(np.arange(len(choices)), len(labelled))
        return cls(
            AskedProblems.of(dataset),
            problem_index,
            np.concatenate(by_trial),
            (scorer,),
            trials=tuple(choices),
            trial_index=trial_index,
        )

    def __len__(self) -> int:
        return len(self.problem_index)

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Answers:
        """Select rows, in the order given.

        `rows` are indices, or a flag for each row.
        """
        index = _read_row_indices(rows)
        scores = self.scores
        if scores is not None:
            scores = tuple(scores[row] for row in index)
        option_chances = None if self.option_chances is None else self.option_chances[index]
        return replace(
            self,
            problem_index=self.problem_index[index],
            choices=self.choices[index],
            scorer_index=_take_rows(self.scorer_index, index),
            trial_index=_take_rows(self.trial_index, index),
            samples=_take_rows(self.samples, index),
            scores=scores,
            option_chances=option_chances,
        )

    def subset(self, rows: Sequence[int] | NDArray[Any]) -> Answers:
        """Select rows that remember the whole table they are part of.

        `rows` are indices, or a flag for each row. Right answers change places over the whole table, so a subset
        shares its null.
        """
        index = _read_row_indices(rows)
        if self.whole is None or self.whole_rows is None:
            return replace(self.take(index), whole=self, whole_rows=index)
        return replace(self.take(index), whole_rows=self.whole_rows[index])

    def with_units(self, unit_of: Mapping[str, Hashable]) -> Answers:
        """Return the same answers with other units.

        `unit_of` has the unit of each original by its id, such as those that a release stores. A subset becomes a table
        of its own, with a null of its own.
        """
        units = Units.of_names(unit_of[name] for name in self.asked.ids)
        asked_problems = AskedProblems(
            self.asked.problems, units, self.asked.group_sizes, self.asked.variants, self.asked.dataset
        )
        return replace(self, asked=asked_problems, whole=None, whole_rows=None)

    def by(self, column: str) -> Iterator[tuple[Any, Answers]]:
        """Split the table by `variant`, `scorer`, `trial` or `sample`.

        Yields each value of that column with the table of its rows.
        """
        keys = self._list_column(column)
        for key in dict.fromkeys(keys):
            rows = [row for row, row_key in enumerate(keys) if row_key == key]
            yield key, self.take(rows)

    def _list_column(self, column: str) -> list[Any]:
        """Value of a column in each row."""
        if column == "variant":
            return [self.asked.variants[index] for index in self.problem_index]
        if column == "scorer":
            return _list_names(self.scorers, self.scorer_index, len(self))
        if column == "trial":
            return _list_names(self.trials, self.trial_index, len(self))
        if column == "sample":
            return self.sample_numbers
        raise BadInput(f"expected variant, scorer, trial or sample, found {column!r}")

    def sample_tables(self) -> list[Answers]:
        """List one table per sample, of problems that have all samples.

        Just this table if there are no samples.
        """
        if self.samples is None:
            return [self]
        rows_by_problem = grouped((index, row) for row, index in enumerate(self.problem_index.tolist()))
        complete = [rows for rows in rows_by_problem.values() if len(rows) == self.sample_count]
        by_sample = [sorted(rows, key=self.sample_numbers.__getitem__) for rows in complete]
        columns = zip(*by_sample, strict=True) if by_sample else [()] * self.sample_count
        return [replace(self.take(list(rows)), samples=None) for rows in columns]

    def matched(self, other: Answers) -> tuple[Answers, Answers]:
        """Select the rows of two tables about the same originals and samples.

        Both results have the same order, that of this table.
        """
        row_of = {key: row for row, key in enumerate(other.keys)}
        rows = [row for row, key in enumerate(self.keys) if key in row_of]
        other_rows = [row_of[self.keys[row]] for row in rows]
        return self.subset(rows), other.subset(other_rows)

    @cached_property
    def ids(self) -> list[str]:
        """Id of the original problem of each row."""
        names = self.asked.ids
        return [names[index] for index in self.problem_index]

    @cached_property
    def sample_numbers(self) -> list[int]:
        """Number of the sample of each row, from 0."""
        return [0] * len(self) if self.samples is None else self.samples.tolist()

    @cached_property
    def keys(self) -> list[tuple[str, int]]:
        """Original's id and sample number of each row."""
        return list(zip(self.ids, self.sample_numbers, strict=True))

    @cached_property
    def sample_count(self) -> int:
        """Largest number of samples of a problem."""
        if self.samples is None or not len(self):
            return 1
        return int(self.samples.max()) + 1

    @cached_property
    def problem_count(self) -> int:
        """Number of distinct problems, however many samples."""
        return len(self) if self.samples is None else len(np.unique(self.problem_index))

    @cached_property
    def problems(self) -> list[Problem]:
        """Problem of each row, as it was asked."""
        return [self.asked.problems[index] for index in self.problem_index]

    @cached_property
    def answers(self) -> IntArray:
        """Index of the right candidate of each row."""
        return self.asked.answers[self.problem_index]

    @cached_property
    def candidates(self) -> IntArray:
        """Number of candidates of each row's problem."""
        return self.asked.candidates[self.problem_index]

    @cached_property
    def units(self) -> Units:
        """Unit of each row."""
        return self.asked.units.take(self.problem_index)

    @cached_property
    def groups(self) -> list[str | None]:
        """Group of each row, or None for a problem without a group.

        Each sample of a group is a group of its own.
        """
        groups = self.asked.groups
        row_groups = [groups[index] for index in self.problem_index]
        if self.samples is None:
            return row_groups
        named_samples = zip(row_groups, self.sample_numbers, strict=True)
        return [name and sampled_name(name, number) for name, number in named_samples]

    @cached_property
    def group_sizes(self) -> Mapping[str, int]:
        """Number of members of each group in the whole dataset."""
        if self.samples is None:
            return self.asked.group_sizes
        sizes: dict[str, int] = {}
        for number in range(self.sample_count):
            sizes |= {sampled_name(name, number): size for name, size in self.asked.group_sizes.items()}
        return sizes

    @cached_property
    def correct(self) -> BoolArray:
        """Whether each row is right. An abstention is not."""
        is_right: BoolArray = self.choices == self.answers
        return is_right

    @cached_property
    def silent(self) -> BoolArray:
        """Whether each row is an abstention."""
        is_silent: BoolArray = self.choices == ABSTAINED
        return is_silent

    @property
    def predictions(self) -> list[int | None]:
        """Chosen candidate of each row, or None for an abstention."""
        predictions: list[int | None] = self.choices.tolist()
        for row in np.flatnonzero(self.silent):
            predictions[row] = None
        return predictions

    @cached_property
    def guesses(self) -> FloatArray:
        """Probability that a coin is right, for each row.

        It is 1/candidates, unless `option_chances` says otherwise.
        """
        return 1 / self.candidates if self.option_chances is None else self.option_chances

    @cached_property
    def chances(self) -> FloatArray:
        """Probability that a coin with the same abstentions is right.

        0 for an abstention.
        """
        return np.where(self.silent, 0.0, self.guesses)


def sampled_name(group: str, sample: int) -> str:
    """Name of one sample of a group."""
    return f"{group}\t{sample}"


def choice_numbers(choices: Sequence[int | None] | NDArray[Any]) -> IntArray:
    """Convert choices to an array, with -1 for an abstention (None)."""
    if isinstance(choices, np.ndarray):
        return choices.astype(np.int64)
    numbers = list(choices)
    for index, choice in enumerate(numbers):
        if choice is None:
            numbers[index] = ABSTAINED
    return np.array(numbers, np.int64)


def _read_row_indices(rows: Sequence[int] | NDArray[Any]) -> IntArray:
    """Convert row indices or flags to indices."""
    index = np.asarray(rows) if len(rows) else np.zeros(0, np.int64)
    return np.flatnonzero(index) if index.dtype == np.bool_ else index


def _take_rows(column: IntArray | None, index: IntArray) -> IntArray | None:
    """Select entries of a column, or None if there is no column."""
    return None if column is None else column[index]


def _list_names(names: Sequence[Any], index: IntArray | None, length: int) -> list[Any]:
    """Name of each row, by the index into `names`.

    Without an index, all rows have the only name. `length` is the number of rows.
    """
    if index is None:
        return [names[0]] * length
    return [names[name_index] for name_index in index]
