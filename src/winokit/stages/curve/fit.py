"""The points of a learning curve, and the curves made of them.

A point is one training run on one test set. The judge (`methods/metrics/judge_curves.py`) reads a table of answers, in
which each size and seed is a trial.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from winokit.answers import Answers, IntArray, Scorer, TrialName
from winokit.files import csv_bytes, write_whole
from winokit.methods.metrics.judge_curves import ACCURACY, GROUP, CurveSeries, judge_curves
from winokit.problem import Dataset, grouped
from winokit.results import Metric
from winokit.stages.curve.settings import CurveGoal

COLUMNS = (
    *("dataset", "formalization", "asked", "size", "restart", "seed"),
    *(ACCURACY, "low", "high", "n", "chance"),
    *(GROUP, "group_low", "group_high", "groups", "group_chance", "abstained", "warnings"),
)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The scores of one training run on one test set.

    The run is of one size in one restart.
    """

    dataset: str
    """The name of the test set."""
    formalization: str
    asked: int
    """The size that was asked for, in problems."""
    size: int
    """The problems trained on: at most `asked`, since groups are whole."""
    restart: int
    """The number of the restart, from 1."""
    seed: int
    accuracy: Metric
    choices: IntArray = field(compare=False, repr=False)
    """The chosen candidate of each problem, in the test set's order; -1 for an abstention."""
    group_accuracy: Metric | None = None
    """None if the test set has no groups."""
    abstained: float = 0.0
    """Share of the test problems without an answer."""
    warnings: tuple[str, ...] = ()

    @property
    def trial(self) -> TrialName:
        """The name of this run among the trials of its formalization.

        It has seed, size and restart.
        """
        return TrialName(self.seed, self.asked, f"restart {self.restart}")

    def score(self, measure: str) -> Metric | None:
        """The row of a measure, accuracy or group accuracy.

        None if the test set has no groups.
        """
        return self.accuracy if measure == ACCURACY else self.group_accuracy


def series_of(points: Sequence[CurvePoint], goal: CurveGoal, tests: Iterable[Dataset]) -> list[CurveSeries]:
    """Build the curves of a run's points, with lines fitted to them.

    There is a curve of accuracy, then one of group accuracy, for each test set and formalization, in the order of the
    points. `goal` has the scores to extrapolate to, and the least size to fit. `tests` are all test sets of the points.
    """
    tests_by_name = {test.card.name: test for test in tests}
    goals = {ACCURACY: goal.human, GROUP: goal.human_group}
    curves = grouped(((point.dataset, point.formalization), point) for point in points)
    series = []
    for (dataset, formalization), curve_points in curves.items():
        scorer = Scorer("", formalization, formalization)
        choices = {point.trial: point.choices for point in curve_points}
        answers = Answers.of_trials(tests_by_name[dataset], choices, scorer)
        sizes = {point.trial: point.size for point in curve_points}
        series += judge_curves(answers, goals, fit_from=goal.fit_from, trained=sizes)
    return series


def write_points(points: Sequence[CurvePoint], path: Path) -> None:
    """Write the points to a csv file, a row per point.

    Scores are shares from 0 to 1.
    """
    table: list[Sequence[object]] = [COLUMNS]
    for point in points:
        point_columns = (point.dataset, point.formalization, point.asked, point.size, point.restart, point.seed)
        accuracy = _score_columns(point.accuracy)
        group_accuracy = _score_columns(point.group_accuracy)
        table.append([*point_columns, *accuracy, *group_accuracy, point.abstained, "; ".join(point.warnings)])
    write_whole(path, csv_bytes(table))


def _score_columns(row: Metric | None) -> list[object]:
    """Five csv cells of a row: value, low, high, n and chance.

    Empty cells for None.
    """
    if row is None:
        return [""] * 5
    return [row.value, row.low, row.high, row.n or "", row.chance]
