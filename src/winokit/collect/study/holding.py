"""What a worker has in hand: a lease, its task, the problem it is about and a draft, in one query."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session

from winokit.collect.study.problems import to_problem
from winokit.collect.study.refusals import NotFound
from winokit.collect.study.schema import DRAFTS, LEASES, PROBLEMS, SUBMISSIONS, TASKS, WORKERS
from winokit.problem import Problem

# Made once: making a query takes longer than running it.
_OWN = (
    select(
        WORKERS.c.state.label("worker_state"),
        LEASES.c.id.label("lease_id"),
        *LEASES.c["token", "kind", "state", "leased_at", "expires_at", "task_id"],
        TASKS.c.gold,
        TASKS.c.topic,
        TASKS.c.domain.label("task_domain"),
        TASKS.c.problem_id,
        *PROBLEMS.c["before", "after", "candidates", "answer", "pronoun", "query", "domain", "labels", "occurrence"],
        DRAFTS.c.fields.label("draft"),
    )
    .select_from(LEASES)
    .join(WORKERS, WORKERS.c.id == LEASES.c.worker_id)
    .join(TASKS, TASKS.c.id == LEASES.c.task_id)
    .outerjoin(PROBLEMS, PROBLEMS.c.id == TASKS.c.problem_id)
    .outerjoin(DRAFTS, DRAFTS.c.lease_id == LEASES.c.id)
    .where(LEASES.c.worker_id == bindparam("me"), LEASES.c.token == bindparam("token"))
)
_DONE = select(func.count()).where(SUBMISSIONS.c.worker_id == LEASES.c.worker_id, SUBMISSIONS.c.kind == LEASES.c.kind)
_OWN_SHOWN = _OWN.add_columns(_DONE.correlate(LEASES).scalar_subquery().label("done"))
# The worker first, as everywhere: two requests of one worker happen one after the other, and nobody waits in a circle.
_OWN_LOCKED = _OWN.with_for_update(key_share=True, of=[WORKERS, LEASES])


@dataclass(frozen=True)
class HeldProblem:
    """A task in a worker's hand."""

    worker_id: int
    worker_state: str
    lease_id: int
    token: str
    kind: str
    state: str
    """Of the lease: it may be over."""
    leased_at: datetime
    expires_at: datetime
    task_id: int
    gold: bool
    topic: dict[str, Any]
    domain: str | None
    problem_id: int | None
    problem: Problem | None
    """What there is to judge; None where there is something to write."""
    draft: dict[str, Any]
    done: int | None = None
    """How much of the kind the worker has handed in; None where that was not asked."""


def held_by(session: Session, worker_id: int, token: str, *, for_update: bool = False) -> HeldProblem:
    """What a worker has, or had, under a token; another's looks as if there were none.

    For an update, worker and lease are kept from other transactions.
    """
    query = _OWN_LOCKED if for_update else _OWN_SHOWN
    row: Any = session.execute(query, {"me": worker_id, "token": token}).one_or_none()
    if row is None:
        raise NotFound("no such task of yours")
    return HeldProblem(
        worker_id,
        row.worker_state,
        row.lease_id,
        row.token,
        row.kind,
        row.state,
        row.leased_at,
        row.expires_at,
        row.task_id,
        row.gold,
        row.topic or {},
        row.task_domain,
        row.problem_id,
        None if row.problem_id is None else to_problem(row),
        row.draft or {},
        None if for_update else row.done,
    )
