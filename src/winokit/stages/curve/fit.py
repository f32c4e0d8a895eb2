"""The points of a learning curve, and the table of answers that the judge makes curves from.

A point is one training run on one test set. The trials of a table are its sizes and seeds
(`methods/metrics/judge_curves.py`).
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
    """One size in one restart."""

    dataset: str
    """The test set."""
    formalization: str
    asked: int
    size: int
    """What was trained on: at most what was asked, since groups are whole."""
    restart: int
    seed: int
    accuracy: Metric
    choices: IntArray = field(compare=False, repr=False)
    """The chosen candidate of each problem, in the test set's order; -1 for an abstention."""
    group_accuracy: Metric | None = None
    abstained: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def trial(self) -> TrialName:
        """The name of this run among those of its scorer."""
        return TrialName(self.seed, self.asked, f"restart {self.restart}")

    def score(self, measure: str) -> Metric | None:
        """Its accuracy or its group accuracy."""
        return self.accuracy if measure == ACCURACY else self.group_accuracy


def series_of(points: Sequence[CurvePoint], goal: CurveGoal, tests: Iterable[Dataset]) -> list[CurveSeries]:
    """Build the curves from their points.

    They are in the order of the points, single accuracy before group accuracy.
    """
    tests_by_name = {test.card.name: test for test in tests}
    goals = {ACCURACY: goal.human, GROUP: goal.human_group}
    curves = grouped(((point.dataset, point.formalization), point) for point in points)
    series = []
    for (dataset, formalization), curve_points in curves.items():
        scorer = Scorer("", formalization, formalization)
        choices = {point.trial: point.choices for point in curve_points}
        answers = Answers.of_trials(tests_by_name[dataset], choices, scorer)
        trained = {point.trial: point.size for point in curve_points}
        series += judge_curves(answers, goals, fit_from=goal.fit_from, trained=trained)
    return series


def write_points(points: Sequence[CurvePoint], path: Path) -> None:
    """Write points.csv, one row a point, with shares from 0 to 1."""
    table: list[Sequence[object]] = [COLUMNS]
    for point in points:
        point_columns = (point.dataset, point.formalization, point.asked, point.size, point.restart, point.seed)
        accuracy = _score_columns(point.accuracy)
        group_accuracy = _score_columns(point.group_accuracy)
        table.append([*point_columns, *accuracy, *group_accuracy, point.abstained, "; ".join(point.warnings)])
    write_whole(path, csv_bytes(table))


def _score_columns(row: Metric | None) -> list[object]:
    """Value, interval, n and chance of a row; empty without one."""
    if row is None:
        return [""] * 5
    return [row.value, row.low, row.high, row.n or "", row.chance]
