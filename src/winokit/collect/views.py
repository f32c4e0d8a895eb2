"""What a worker is shown of a task: no author, no answer, no vote of others, nothing that tells gold from the rest."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy.orm import Session

from winokit.checks.rules import Limits
from winokit.collect.config import StudyConfig
from winokit.collect.problems import clause, switched_text, to_problem
from winokit.collect.schema import ASSOCIATIVE, SWITCHABLE, VALIDATE, WRITE, Draft, Lease, ProblemRow, Task


@dataclass(frozen=True)
class WriteTask:
    """A topic to write a pair of twins about."""

    kind: str
    token: str
    """Names the task in web addresses and forms; it is this worker's alone."""
    expires_at: datetime
    topic: str
    words: tuple[str, ...]
    """Words of the topic; one of them, or another that the topic brings to mind, becomes the anchor."""
    domain: str
    """`social` (two people of one gender) or `physical` (two things)."""
    limits: Limits
    draft: dict[str, Any]
    """The form's fields as last saved; empty at first."""


@dataclass(frozen=True)
class VoteTask:
    """A problem to judge. Fields that a kind does not show are None, so that a page cannot show them by mistake."""

    kind: str
    token: str
    expires_at: datetime
    before: str | None
    after: str | None
    """The text around the blank; None for `associative`, which shows the clause alone."""
    pronoun: str | None
    query: str | None
    """For a yes/no judgement (SuperGLUE-WSC): does the blank refer to this?"""
    options: tuple[tuple[int, str], ...]
    """(value of the form's `choice`, candidate), in an order of this worker's own."""
    clause: str | None
    """The clause with the blank: for `associative`, and for the third question of `validate`."""
    switched: str | None
    """For `switchable`: the text with the candidates in each other's places."""
    may_abstain: bool


TaskView: TypeAlias = WriteTask | VoteTask


def view(session: Session, config: StudyConfig, lease: Lease, task: Task) -> TaskView:
    """What the holder of a lease is shown."""
    if task.kind == WRITE:
        draft = session.get(Draft, lease.id)
        topic = task.topic or {}
        return WriteTask(
            WRITE,
            lease.token,
            lease.expires_at,
            str(topic.get("topic", "")),
            tuple(topic.get("words", ())),
            task.domain or "",
            config.rules.limits,
            dict(draft.fields) if draft else {},
        )
    return vote_view(config, lease, session.get_one(ProblemRow, task.problem_id))


def vote_view(config: StudyConfig, lease: Lease, row: ProblemRow) -> VoteTask:
    """What the holder of a lease on a vote is shown."""
    problem = to_problem(row)
    options = list(enumerate(problem.candidates))
    # An order of the lease's own, the same on every reload: no place on the page is the right one more often.
    random.Random(lease.token).shuffle(options)
    whole = lease.kind != ASSOCIATIVE
    return VoteTask(
        lease.kind,
        lease.token,
        lease.expires_at,
        problem.before if whole else None,
        problem.after if whole else None,
        problem.pronoun if whole else None,
        problem.query if whole else None,
        tuple(options),
        clause(problem) if lease.kind in (VALIDATE, ASSOCIATIVE) else None,
        switched_text(problem) if lease.kind == SWITCHABLE else None,
        config.evaluate.abstain and lease.kind == "evaluate",
    )
