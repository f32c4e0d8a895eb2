"""Problems as rows and rows as problems, and the two things judges are shown of them: the clause and the switch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Row

from winokit.collect.study.schema import ProblemRow
from winokit.methods.transforms.local_context import local_context
from winokit.methods.transforms.part_sent import part_sent
from winokit.methods.transforms.switch import switch
from winokit.problem import Problem


@dataclass(frozen=True)
class Origin:
    """Where a stored problem comes from."""

    kind: str
    at: datetime
    group_id: int | None = None
    author_id: int | None = None
    submission_id: int | None = None
    variant: str = "original"


def to_row(problem: Problem, origin: Origin) -> ProblemRow:
    """A row for a problem. A variant belongs to the family of its original."""
    return ProblemRow(
        public_id=problem.id,
        family=str(problem.provenance.get("of", problem.id)) if origin.variant != "original" else problem.id,
        group_id=origin.group_id,
        origin=origin.kind,
        variant=origin.variant,
        before=problem.before,
        after=problem.after,
        candidates=list(problem.candidates),
        answer=problem.answer,
        pronoun=problem.pronoun,
        query=problem.query,
        domain=problem.domain,
        labels=dict(problem.labels),
        occurrence=problem.occurrence,
        author_id=origin.author_id,
        submission_id=origin.submission_id,
        created_at=origin.at,
    )


def to_problem(row: ProblemRow | Row[Any]) -> Problem:
    """The problem of a row, or of its columns."""
    return Problem(
        row.before,
        row.after,
        tuple(row.candidates),
        row.answer,
        pronoun=row.pronoun,
        query=row.query,
        domain=row.domain,
        labels=dict(row.labels),
        occurrence=row.occurrence,
    )


@lru_cache(10_000)
def clause(problem: Problem) -> str | None:
    """The clause with the blank, or the words next to it where the text has no joint; None where neither can be cut.

    Trichelair et al. (2018) showed their judges the clause with the pronoun and the two candidates, and no more.

    >>> clause(Problem("The cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0))
    'because _ was loose.'
    """
    for cut in (part_sent, local_context):
        made = cut(problem)
        if not isinstance(made, str):
            return made.text
    return None


@lru_cache(10_000)
def switched_text(problem: Problem) -> str | None:
    """The text with the candidates in each other's places, or None where they cannot change them."""
    made = switch(problem)
    return None if isinstance(made, str) else made.text
