"""Comparisons of every two scorers of several runs, and the scorers' names."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count

from winokit.answers import ORIGINAL, Answers
from winokit.data.runs import Run
from winokit.drawing.plots import ShownScorer, scorers
from winokit.errors import BadInput, UnknownName
from winokit.methods.metrics.judge_pairs import (
    Comparison,
    PairMeasure,
    PairVerdict,
    SharedAnswers,
    compare_answers,
    verdicts,
)

Comparisons = Mapping[tuple[str, str, str], Comparison]
"""Tests by the names of the first and the second scorer, and the measure: accuracy, group_accuracy …"""
MISSING = {
    "group_accuracy": "no complete group in common",
    "consistency": "no predictions in common for problems with candidates switched",
}
"""Why two runs cannot be compared by a measure."""
SWITCHED = "switched"
"""The variant that consistency needs."""


@dataclass(frozen=True, slots=True)
class RunColumn:
    """A scorer of a run, under a name of its own.

    No other column has the name.
    """

    name: str
    run: str
    """Name of its run."""
    scorer: ShownScorer


@dataclass(frozen=True, slots=True)
class ScorerPair:
    """One paired test of two scorers by one measure, and its verdict."""

    first: str
    second: str
    measure: str
    verdict: PairVerdict

    @property
    def found(self) -> Comparison:
        """The test without correction for the number of tests."""
        return self.verdict.comparison

    @property
    def p_corrected(self) -> float:
        """The p-value, corrected for the number of tests."""
        return self.verdict.p_corrected

    @property
    def word(self) -> str:
        """The verdict in a few words."""
        return self.verdict.word

    @property
    def measure_title(self) -> str:
        """Name of the measure, in the middle of a sentence."""
        return self.measure.replace("_", " ")

    @property
    def ahead(self) -> str | None:
        """Name of the better scorer, or None if none is shown better.

        Tests are corrected for their number.
        """
        names = {1: self.first, -1: self.second}
        return names.get(self.verdict.lead)

    @property
    def refusers(self) -> list[str]:
        """Names of the scorers of the pair that answer nothing."""
        names = []
        if self.found.first_refuses:
            names.append(self.first)
        if self.found.second_refuses:
            names.append(self.second)
        return names


def columns_of_named(runs: Mapping[str, Run]) -> list[RunColumn]:
    """Make a column for each scorer, named after its run.

    If a run has several scorers, the scorer's name is added. It is used alone if there is one run.
    """
    columns = []
    for run_name, run in runs.items():
        run_scorers = scorers(run)
        for scorer in run_scorers:
            column_name = run_name
            if len(run_scorers) > 1:
                column_name = scorer.name if len(runs) == 1 else f"{run_name} · {scorer.name}"
            columns.append(RunColumn(column_name, run_name, scorer))
    return _make_distinct(columns)


def columns_of_models(runs: Mapping[str, Run]) -> list[RunColumn]:
    """Make a column for each scorer, named after its model.

    The scoring and the run are added only if two columns would have one name.
    """
    columns = []
    for name, run in runs.items():
        columns += [RunColumn(scorer.name, name, scorer) for scorer in scorers(run)]
    columns = _lengthen_names(_add_scoring, columns)
    columns = _lengthen_names(_add_run, columns)
    return _make_distinct(columns)


def _add_scoring(column: RunColumn) -> str:
    """Longer name of a column: its model and its scoring."""
    return f"{column.scorer.model} · {column.scorer.scoring}"


def _add_run(column: RunColumn) -> str:
    """Longer name of a column: its scorer, and its run in brackets."""
    return f"{column.scorer.name} ({column.run})"


def _lengthen_names(longer_name: Callable[[RunColumn], str], columns: Sequence[RunColumn]) -> list[RunColumn]:
    """Give columns that share a name a longer one.

    Names stay if the longer ones are the same too.
    """
    longer_names: dict[str, set[str]] = {}
    for column in columns:
        longer_names.setdefault(column.name, set()).add(longer_name(column))
    renamed = []
    for column in columns:
        if len(longer_names[column.name]) > 1:
            column = replace(column, name=longer_name(column))
        renamed.append(column)
    return renamed


def number_notes(columns: Sequence[RunColumn]) -> list[str]:
    """Note the columns whose name has a number.

    Another column would have the same name without it.
    """
    notes = []
    for column in columns:
        expected = {column.run, column.scorer.name, f"{column.run} · {column.scorer.name}"}
        expected |= {_add_scoring(column), _add_run(column)}
        if column.name not in expected:
            notes.append(
                f"{column.name} is {column.scorer.name} of the run {column.run}; "
                "without the number it would be called like another column"
            )
    return notes


def names_apart(names: Sequence[str]) -> list[str]:
    """Make names distinct: a name that is there already gets a number.

    >>> names_apart(["model", "other", "model"])
    ['model', 'other', 'model (2)']
    """
    distinct: list[str] = []
    for name in names:
        if name in distinct:
            name = _number_name(name, {*names, *distinct})
        distinct.append(name)
    return distinct


def _number_name(name: str, taken: set[str]) -> str:
    """Add the first number from 2 on that is free.

    Names that are not free are in `taken`.
    """
    numbered_names = (f"{name} ({number})" for number in count(2))
    return next(numbered for numbered in numbered_names if numbered not in taken)


def _make_distinct(columns: Sequence[RunColumn]) -> list[RunColumn]:
    """Rename columns so that their names are distinct."""
    names = names_apart([column.name for column in columns])
    return [replace(column, name=name) for name, column in zip(names, columns, strict=True)]


def compare_runs(
    runs: Mapping[str, Run],
    measures: Sequence[PairMeasure] | None = None,
    columns: Sequence[RunColumn] | None = None,
) -> dict[tuple[str, str, str], Comparison]:
    """Compare every two scorers by each measure.

    The measures are accuracy and, if there are groups, group accuracy by default. Problems are matched by id, which
    depends on their text alone: runs over different files of the same problems can be compared. Scorers that share no
    problem are passed over. An abstention is not a right answer, except in expected accuracy. A scorer that answers
    nothing is never ahead. `columns` are the scorers, None for all. Raises BadInput if there are fewer than two
    scorers, or if a measure suits no two of them.
    """
    if columns is None:
        columns = columns_of_named(runs)
    answers = _collect_column_answers(runs, columns, ORIGINAL)
    if len(answers) < 2:
        raise BadInput("a comparison needs at least two scorers: name two runs, or one with two models")
    switched: dict[str, Answers] = {}
    if measures is not None and "consistency" in measures:
        switched = _collect_column_answers(runs, columns, SWITCHED)
    comparisons: dict[tuple[str, str, str], Comparison] = {}
    for first, second in combinations(answers, 2):
        both_switched = None
        if first in switched and second in switched:
            both_switched = switched[first], switched[second]
        tests = compare_answers(answers[first], answers[second], measures, switched=both_switched)
        for measure, test in tests.items():
            comparisons[first, second, measure] = test
    _check_found(measures or (), comparisons, answers.values())
    return comparisons


def _collect_column_answers(runs: Mapping[str, Run], columns: Sequence[RunColumn], variant: str) -> dict[str, Answers]:
    """Answers to a variant by column.

    Scorers without answers are left out.
    """
    answers = {}
    for column in columns:
        table = _find_answers(runs[column.run], column.scorer, variant)
        if table is not None:
            answers[column.name] = table
    return answers


def _find_answers(run: Run, scorer: ShownScorer, variant: str) -> Answers | None:
    """Return a scorer's answers to a variant in a run.

    None without predictions.
    """
    try:
        answers = run.answers(variant, scorer.model, scorer.scoring, scorer.formalization)
    except UnknownName:
        return None
    return answers if len(answers) else None


def _check_found(measures: Iterable[str], comparisons: Comparisons, tables: Iterable[Answers]) -> None:
    """Raise BadInput for a measure without any test.

    Tests are missing if no two scorers could be compared by it. `tables` are the answers of the scorers. Nothing is
    raised if no two of them share a problem.
    """
    tested_measures = {measure for _, _, measure in comparisons}
    for measure in measures:
        if measure not in tested_measures and _share_problems(list(tables)):
            raise BadInput(f"{measure}: the runs cannot be compared by it: {MISSING.get(measure, 'nothing in common')}")


def _share_problems(tables: Sequence[Answers]) -> bool:
    """Whether any two scorers answered a problem in common."""
    return any(len(SharedAnswers.of(first, second)) for first, second in combinations(tables, 2))


def paired(comparisons: Comparisons, margin: float | None = None) -> list[ScorerPair]:
    """Judge all tests, with Holm's correction for their number.

    `margin` is the difference that matters, in points, or None.
    """
    margin_share = None if margin is None else margin / 100
    pair_verdicts = verdicts(list(comparisons.values()), margin_share)
    return [ScorerPair(*names, verdict) for names, verdict in zip(comparisons, pair_verdicts, strict=True)]
