"""Each problem three times: what hangs together counts once, so nothing may get surer."""

from collections.abc import Sequence
from typing import TypeVar

from winokit.problem import Dataset, Problem

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
