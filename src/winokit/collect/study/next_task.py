"""Which task a worker gets next.

Rules, which always hold:

- nobody judges what they wrote, and nobody gets a task twice, so that three votes are those of three people;
- nobody sees a problem both whole and as a variant, nor judges its clause alone after having read it whole; so where
  both are asked, whoever could judge the clause of a problem does that before they are shown the whole: otherwise a
  small crowd soon has nobody left for the clauses.

A wish, which holds as long as that leaves the worker anything to do:

- nobody judges both twins, since whoever has solved one knows that the other has the other answer
  (`twins_apart = "always"` makes a rule of it).

Everybody goes through the tasks in one order, from where they stopped last and then from the start again. So early
problems are finished early, and the twin of a problem comes as late as can be.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any, TypeAlias

from sqlalchemy import BindParameter, ColumnElement, FromClause, Row, Select, bindparam, exists, func, select
from sqlalchemy.orm import Session

from winokit.collect.study import schema
from winokit.collect.study.config import StudyConfig
from winokit.collect.study.schema import IS_FREE, IS_LIVE, LEASES, STATE, TASKS

Found: TypeAlias = Select[int, str | None]
ME: BindParameter[int] = bindparam("me")
KIND: BindParameter[str] = bindparam("kind")
AFTER: BindParameter[int] = bindparam("after")
BEFORE_ALL = -1


def situation(session: Session, worker_id: int, kind: str) -> Row[Any, Any, Any, Any]:
    """Where a worker stands in a kind of task, in one query.

    A row of `under_way` (the token of the task they have now), `paused` (the study's state), `last_rank` (where they
    stopped) and `had` (how many tasks they have had).
    """
    return session.execute(_SITUATION, {"me": worker_id, "kind": kind}).one()


def free_task(
    session: Session, config: StudyConfig, worker_id: int, kind: str, last_rank: int
) -> Row[int, str | None] | None:
    """The next task with a free place that a worker may have, locked: its id, and the token of their expired lease."""
    places = dict.fromkeys((last_rank, BEFORE_ALL))
    # A task that another transaction is looking at is passed over, and waited for only if there is no other.
    for passing_over in (True, False):
        for query in _queries(*_asked(config, kind), passing_over):
            for after in places:
                task = session.execute(query, {"me": worker_id, "after": after}).one_or_none()
                if task is not None:
                    return task
    return None


def how_many(session: Session, config: StudyConfig, worker_id: int, kind: str, most: int) -> int:
    """How many tasks of a kind a worker could have, counted up to `most`."""
    return session.scalar(_count(*_asked(config, kind), most), {"me": worker_id, "after": BEFORE_ALL}) or 0


def gold_task(
    session: Session, config: StudyConfig, worker: Row[Any], kind: str, had: int
) -> tuple[int, str | None] | None:
    """A gold question the worker has not seen, as often as the config says: as `free_task` does, without a lease."""
    if kind not in schema.VOTES or not config.quality.gold_share:
        return None
    chance = random.Random(f"{config.seed} {worker.code} {kind} {had}")
    if chance.random() >= config.quality.gold_share:
        return None
    unseen = session.scalars(_gold_query(), {"me": worker.id, "kind": kind}).all()
    return (chance.choice(unseen), None) if unseen else None


_OWN = (LEASES.c.worker_id == ME, LEASES.c.kind == KIND)
_LAST = (
    select(TASKS.c.rank)
    .join(LEASES, LEASES.c.task_id == TASKS.c.id)
    .where(*_OWN, ~TASKS.c.gold)
    .order_by(LEASES.c.id.desc())
    .limit(1)
)
_SITUATION = select(
    select(LEASES.c.token).where(*_OWN, IS_LIVE).scalar_subquery().label("under_way"),
    select(STATE.c.value).where(STATE.c.key == schema.PAUSED).scalar_subquery().label("paused"),
    func.coalesce(_LAST.scalar_subquery(), BEFORE_ALL).label("last_rank"),
    select(func.count()).select_from(LEASES).where(*_OWN).scalar_subquery().label("had"),
)


def _asked(config: StudyConfig, kind: str) -> tuple[str, bool, bool]:
    """What the choice depends on: the kind, whether twins stay apart, whether clauses are judged too."""
    return kind, config.tasks.twins_apart == "always", schema.ASSOCIATIVE in config.tasks.kinds


@cache
def _queries(kind: str, apart: bool, clauses: bool, passing_over: bool) -> tuple[Found, ...]:
    """The queries to try, the stricter first. Made once: making them takes longer than running them."""
    rules = _may_have(kind, apart, clauses).order_by(TASKS.c.rank).limit(1)
    rules = rules.with_for_update(skip_locked=passing_over, of=TASKS)
    if kind == schema.WRITE:
        return (rules,)
    return rules.where(_twin_unseen()), rules


@cache
def _may_have(kind: str, apart: bool, clauses: bool) -> Found:
    """The tasks that the rules let a worker have, each with their own lease on it if that has expired."""
    lease = LEASES.alias()
    own = (lease.c.worker_id == ME, lease.c.task_id == TASKS.c.id)
    taken = exists().where(*own, lease.c.state != schema.EXPIRED)
    # Not a join: PostgreSQL would look at all tasks and sort them, where it can stop at the first.
    query = select(TASKS.c.id, select(lease.c.token).where(*own).scalar_subquery())
    query = query.where(TASKS.c.kind == kind, IS_FREE, TASKS.c.rank > AFTER, ~taken)
    if kind == schema.WRITE:
        return query
    query = query.where(TASKS.c.author_id.is_distinct_from(ME))
    other = TASKS.alias()
    if kind == schema.EVALUATE:
        query = query.where(
            ~_has_had(other, other.c.family == TASKS.c.family, other.c.problem_id != TASKS.c.problem_id)
        )
    if kind == schema.ASSOCIATIVE:
        query = query.where(
            ~_has_had(other, other.c.problem_id == TASKS.c.problem_id, other.c.kind != schema.ASSOCIATIVE)
        )
    elif clauses:
        query = query.where(~_clause_waits())
    return query.where(_twin_unseen()) if apart else query


@cache
def _count(kind: str, apart: bool, clauses: bool, most: int) -> Select[int]:
    return select(func.count()).select_from(_may_have(kind, apart, clauses).limit(most).subquery())


@cache
def _gold_query() -> Select[int]:
    other = TASKS.alias()
    seen = _has_had(other, other.c.problem_id == TASKS.c.problem_id)
    return select(TASKS.c.id).where(TASKS.c.gold, TASKS.c.kind == bindparam("kind"), ~seen).order_by(TASKS.c.id)


def _twin_unseen() -> ColumnElement[bool]:
    other = TASKS.alias()
    return ~_has_had(other, other.c.group_id == TASKS.c.group_id, other.c.problem_id != TASKS.c.problem_id)


def _clause_waits() -> ColumnElement[bool]:
    """Whether the worker could still judge the clause of this task's problem."""
    clause, lease = TASKS.alias(), LEASES.alias()
    had = exists().where(lease.c.worker_id == ME, lease.c.task_id == clause.c.id)
    return exists().where(
        clause.c.problem_id == TASKS.c.problem_id, clause.c.kind == schema.ASSOCIATIVE, clause.c.free > 0, ~had
    )


def _has_had(other: FromClause, *which: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether the worker has had another task like this, in whatever way it ended.

    Two questions in one another, so that SQLite looks for the few other tasks first and not for all of the worker's.
    """
    lease = LEASES.alias()
    return exists().where(*which, exists().where(lease.c.worker_id == ME, lease.c.task_id == other.c.id))
