"""Comparisons of every two scorers of several runs, and the scorers' names."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count

from winokit.answers import Answers
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
"""By the names of the first and the second scorer and what was compared: accuracy, group_accuracy …"""
MISSING = {
    "group_accuracy": "no complete group in common",
    "consistency": "no predictions in common for problems with candidates switched",
}
"""Why two runs cannot be compared by a measure."""
SWITCHED = "switched"
"""The variant that consistency needs."""


@dataclass(frozen=True, slots=True)
class RunColumn:
    """A scorer of a run, and what it is called, unlike any other."""

    name: str
    run: str
    """The name of its run."""
    scorer: ShownScorer


@dataclass(frozen=True, slots=True)
class ScorerPair:
    """One paired test of two scorers, and what may be said by it."""

    first: str
    second: str
    measure: str
    verdict: PairVerdict

    @property
    def found(self) -> Comparison:
        """The test."""
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
        """The better of the two, if a difference is left after correction."""
        names = {1: self.first, -1: self.second}
        return names.get(self.verdict.lead)

    @property
    def refusers(self) -> list[str]:
        """Scorers of the pair that answer nothing."""
        comparison = self.found
        refuses = ((self.first, comparison.first_refuses), (self.second, comparison.second_refuses))
        return [name for name, is_refuser in refuses if is_refuser]


def columns_of_named(runs: Mapping[str, Run]) -> list[RunColumn]:
    """Return scorers by the names of their runs.

    The model's name is added if a run has several.
    """
    columns = []
    for name, run in runs.items():
        run_scorers = scorers(run)
        for scorer in run_scorers:
            both = scorer.name if len(runs) == 1 else f"{name} · {scorer.name}"
            columns.append(RunColumn(name if len(run_scorers) == 1 else both, name, scorer))
    return _make_distinct(columns)


def columns_of_models(runs: Mapping[str, Run]) -> list[RunColumn]:
    """Return scorers by their models.

    Scoring or run are added only to tell two of one name apart.
    """
    columns = []
    for name, run in runs.items():
        columns += [RunColumn(scorer.name, name, scorer) for scorer in scorers(run)]
    columns = _lengthen_names(_add_scoring, columns)
    columns = _lengthen_names(_add_run, columns)
    return _make_distinct(columns)


def _add_scoring(column: RunColumn) -> str:
    return f"{column.scorer.model} · {column.scorer.scoring}"


def _add_run(column: RunColumn) -> str:
    return f"{column.scorer.name} ({column.run})"


def _lengthen_names(longer_name: Callable[[RunColumn], str], columns: Sequence[RunColumn]) -> list[RunColumn]:
    """The columns, those of one name by a longer one if it tells any of them apart."""
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
    """A note for each column that has a number only to tell it from another."""
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
    """Names as they are, those that an earlier one has with a number that makes them unlike all others."""
    apart: list[str] = []
    for name in names:
        if name in apart:
            name = _number_name(name, {*names, *apart})
        apart.append(name)
    return apart


def _number_name(name: str, taken: set[str]) -> str:
    """The name with the first number from 2 that makes it a new one."""
    numbered = (f"{name} ({number})" for number in count(2))
    return next(own for own in numbered if own not in taken)


def _make_distinct(columns: Sequence[RunColumn]) -> list[RunColumn]:
    """Columns with names unlike one another."""
    names = names_apart([column.name for column in columns])
    return [replace(column, name=name) for name, column in zip(names, columns, strict=True)]


def compare_runs(
    runs: Mapping[str, Run],
    measures: Sequence[PairMeasure] | None = None,
    columns: Sequence[RunColumn] | None = None,
) -> dict[tuple[str, str, str], Comparison]:
    """Compare every two scorers, by default on accuracy and, where there are groups, on group accuracy.

    Problems are matched by id, which depends on their text alone: runs over different files of the same problems can be
    compared. Scorers that share no problem are passed over. An abstention is not a right answer, unless expected
    accuracy is asked for; a scorer that answers nothing is never ahead.
    """
    all_columns = columns_of_named(runs) if columns is None else columns
    tables = {column.name: _find_answers(runs[column.run], column.scorer) for column in all_columns}
    answers = {name: table for name, table in tables.items() if table is not None}
    if len(answers) < 2:
        raise BadInput("a comparison needs at least two scorers: name two runs, or one with two models")
    switched: dict[str, Answers] = {}
    if measures is not None and "consistency" in measures:
        for column in all_columns:
            table = _find_answers(runs[column.run], column.scorer, SWITCHED)
            if table is not None:
                switched[column.name] = table
    comparisons: dict[tuple[str, str, str], Comparison] = {}
    for first, second in combinations(answers, 2):
        both_switched = None
        if first in switched and second in switched:
            both_switched = switched[first], switched[second]
        comparison = compare_answers(answers[first], answers[second], measures, switched=both_switched)
        comparisons |= {(first, second, measure): test for measure, test in comparison.items()}
    _check_found(measures or (), comparisons, answers.values())
    return comparisons


def _find_answers(run: Run, scorer: ShownScorer, variant: str = "original") -> Answers | None:
    """Return a scorer's answers in a run, or None without predictions."""
    try:
        answers = run.answers(variant, scorer.model, scorer.scoring, scorer.formalization)
    except UnknownName:
        return None
    return answers if len(answers) else None


def _check_found(measures: Iterable[str], comparisons: Comparisons, tables: Iterable[Answers]) -> None:
    """Refuse a measure by which no two of the runs can be compared, if they share problems at all."""
    present = {measure for _, _, measure in comparisons}
    for measure in measures:
        if measure not in present and _share_problems(list(tables)):
            raise BadInput(f"{measure}: the runs cannot be compared by it: {MISSING.get(measure, 'nothing in common')}")


def _share_problems(tables: Sequence[Answers]) -> bool:
    """Whether any two scorers answered a problem in common."""
    return any(len(SharedAnswers.of(first, second)) for first, second in combinations(tables, 2))


def paired(comparisons: Comparisons, margin: float | None = None) -> list[ScorerPair]:
    """Add Holm's correction over all tests. `margin` is in points."""
    share = None if margin is None else margin / 100
    judged = verdicts(list(comparisons.values()), share)
    return [ScorerPair(*names, verdict) for names, verdict in zip(comparisons, judged, strict=True)]
