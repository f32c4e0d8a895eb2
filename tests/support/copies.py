"""Each problem three times: what hangs together counts once, so nothing may get surer."""

from collections.abc import Sequence
from typing import TypeVar

from winokit.problem import Dataset, Problem
from winokit.results import Metric

T = TypeVar("T")
COPIES = 3


def thrice(dataset: Dataset) -> Dataset:
    """Three copies of each problem, in groups of their own, all made from the template of their unit."""
    copies = [
        _copied(problem, f"unit-{unit}", copy)
        for copy in range(COPIES)
        for problem, unit in zip(dataset, dataset.units.numbers.tolist(), strict=True)
    ]
    return Dataset(copies, dataset.card)


def repeated(values: Sequence[T]) -> list[T]:
    """Values of the problems of a dataset as values of the problems of `thrice`."""
    return [*values] * COPIES


def _copied(problem: Problem, template: str, copy: int) -> Problem:
    return problem.replace(
        before=f"Copy {copy}: {problem.before}",
        group=None if problem.group is None else f"{problem.group}/{copy}",
        labels={**problem.labels, "template": template},
    )


def check_not_surer(rows: Sequence[Metric], copied_rows: Sequence[Metric]) -> None:
    """Fail where a row of the copies has a narrower interval, or a smaller p, than that of the originals."""
    by_name = {_name_of(row): row for row in rows}
    assert {_name_of(row) for row in copied_rows} == set(by_name)
    for copied in copied_rows:
        row = by_name[_name_of(copied)]
        assert abs(copied.value - row.value) < 1e-9, copied
        if row.low is not None and row.high is not None:
            assert copied.low is not None
            assert copied.high is not None
            assert copied.high - copied.low >= row.high - row.low - 1e-9, copied
        if row.p is not None:
            assert copied.p is not None
            assert copied.p >= row.p - 1e-9, copied


def _name_of(row: Metric) -> tuple[str, str, str]:
    return row.protocol, row.subset, row.metric
