"""Problems with candidates split into yes/no judgements, one a candidate: SuperGLUE-WSC's form."""

from __future__ import annotations

from winokit.problem import Dataset


def judgements(dataset: Dataset) -> Dataset:
    """One yes/no problem for each candidate of each problem; judgements stay as they are."""
    return dataset.with_problems(
        problem
        if problem.query is not None
        else problem.replace(
            candidates=("no", "yes"),
            query=candidate,
            answer=None if problem.answer is None else int(index == problem.answer),
            group=None,
        )
        for problem in dataset
        for index, candidate in enumerate(problem.candidates if problem.query is None else [""])
    )
