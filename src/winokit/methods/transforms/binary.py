"""Problems with more than two candidates as binary ones: the right candidate against each of the others.

PDP's 60 problems become the 80 that the papers count.
"""

from __future__ import annotations

from collections.abc import Iterable

from winokit.problem import Dataset, Problem


def binary(dataset: Dataset) -> Dataset:
    """One problem for each right candidate and distractor, in the candidates' order; binary problems stay."""
    hidden = [problem for problem in dataset if len(problem.candidates) > 2 and problem.answer is None]
    notes = [f"{len(hidden)} problems have no answer to set against each distractor; left out"] if hidden else []
    return dataset.with_problems((made for problem in dataset for made in _pairs(problem)), notes)


def _pairs(problem: Problem) -> Iterable[Problem]:
    if len(problem.candidates) == 2:
        yield problem
    elif problem.answer is not None:
        for index, candidate in enumerate(problem.candidates):
            if index < problem.answer:
                yield problem.replace(candidates=(candidate, problem.right), answer=1)
            elif index > problem.answer:
                yield problem.replace(candidates=(problem.right, candidate), answer=0)
