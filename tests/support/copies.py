"""Each problem three times: copies are one unit, so that no interval may get narrower."""

from collections.abc import Sequence
from typing import TypeVar

from winokit.problem import Dataset, Problem
from winokit.results import Metric

T = TypeVar("T")
COPIES = 3


def thrice(dataset: Dataset) -> Dataset:
    """Three copies of each problem, each with groups of its own, under a template for their unit."""
    copies = []
    for copy in range(COPIES):
        for problem, unit in zip(dataset, dataset.units.numbers.tolist(), strict=True):
            copies.append(_copy_problem(problem, f"unit-{unit}", copy))
    return Dataset(copies, dataset.card)


def repeated(values: Sequence[T]) -> list[T]:
    """Values of the problems of `thrice`, from those of the original problems."""
    return [*values] * COPIES


def _copy_problem(problem: Problem, template: str, copy: int) -> Problem:
    """Copy a problem under a template, with a text and a group of the copy's own."""
    group = None if problem.group is None else f"{problem.group}/{copy}"
    labels = {**problem.labels, "template": template}
    return problem.replace(before=f"Copy {copy}: {problem.before}", group=group, labels=labels)


def check_not_surer(rows: Sequence[Metric], copied_rows: Sequence[Metric]) -> None:
    """Fail where a row of the copies has a narrower interval, or a smaller p, than that of the originals."""
    row_by_name = _index_by_name(rows)
    copied_by_name = _index_by_name(copied_rows)
    assert copied_by_name.keys() == row_by_name.keys()
    for copied in copied_rows:
        row = row_by_name[copied.protocol, copied.subset, copied.metric]
        assert abs(copied.value - row.value) < 1e-9, copied
        _check_interval_not_narrower(row, copied)
        if row.p is not None:
            assert copied.p is not None
            assert copied.p >= row.p - 1e-9, copied


def _check_interval_not_narrower(row: Metric, copied: Metric) -> None:
    """Fail if the row of the copies has a narrower interval, or none where the original has one."""
    if row.low is None or row.high is None:
        return
    assert copied.low is not None
    assert copied.high is not None
    assert copied.high - copied.low >= row.high - row.low - 1e-9, copied


def _index_by_name(rows: Sequence[Metric]) -> dict[tuple[str, str, str], Metric]:
    """Rows by protocol, subset and metric."""
    return {(row.protocol, row.subset, row.metric): row for row in rows}
