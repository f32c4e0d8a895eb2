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

from sqlalchemy import BindParameter, ColumnElement, Select, bindparam, exists, func, select
from sqlalchemy.orm import Session, aliased

from winokit.collect.config import StudyConfig
from winokit.collect.schema import (
    ASSOCIATIVE,
    EVALUATE,
    IS_FREE,
    LIVE,
    RELEASED,
    SUBMITTED,
    VOTES,
    WRITE,
    Lease,
    Task,
    Worker,
)

ME: BindParameter[int] = bindparam("me")
AFTER: BindParameter[int] = bindparam("after")
BEFORE_ALL = -1


def free_task(session: Session, config: StudyConfig, worker_id: int, kind: str) -> Task | None:
    """The next task with a free place that a worker may have, locked."""
    places = dict.fromkeys((_last_rank(session, worker_id, kind), BEFORE_ALL))
    # A task that another transaction is looking at is passed over, and waited for only if there is no other.
    for passing_over in (True, False):
        for query in _queries(*_asked(config, kind), passing_over):
            for after in places:
                found = session.scalar(query, {"me": worker_id, "after": after})
                if found is not None:
                    return found
    return None


def how_many(session: Session, config: StudyConfig, worker_id: int, kind: str, most: int) -> int:
    """How many tasks of a kind a worker could have, counted up to `most`."""
    some = _may_have(*_asked(config, kind)).limit(most).subquery()
    return session.scalar(select(func.count()).select_from(some), {"me": worker_id, "after": BEFORE_ALL}) or 0


def gold_task(session: Session, config: StudyConfig, worker: Worker, kind: str) -> Task | None:
    """A gold question the worker has not seen, as often as the config says."""
    if kind not in VOTES or not config.quality.gold_share:
        return None
    done = session.scalar(_HAD, {"me": worker.id, "kind": kind})
    chance = random.Random(f"{config.seed} {worker.code} {kind} {done}")
    if chance.random() >= config.quality.gold_share:
        return None
    unseen = session.scalars(_gold_query(), {"me": worker.id, "kind": kind}).all()
    return session.get_one(Task, chance.choice(unseen)) if unseen else None


_HAD = select(func.count()).where(Lease.worker_id == ME, Lease.kind == bindparam("kind"))
_LAST = (
    select(Task.rank)
    .join(Lease, Lease.task_id == Task.id)
    .where(Lease.worker_id == ME, Lease.kind == bindparam("kind"), ~Task.gold)
    .order_by(Lease.id.desc())
    .limit(1)
)


def _asked(config: StudyConfig, kind: str) -> tuple[str, bool, bool]:
    """What the choice depends on: the kind, whether twins stay apart, whether clauses are judged too."""
    return kind, config.tasks.twins_apart == "always", ASSOCIATIVE in config.tasks.kinds


def _last_rank(session: Session, worker_id: int, kind: str) -> int:
    last = session.scalar(_LAST, {"me": worker_id, "kind": kind})
    return BEFORE_ALL if last is None else last


@cache
def _queries(kind: str, apart: bool, clauses: bool, passing_over: bool) -> tuple[Select[Task], ...]:
    """The queries to try, the stricter first. Made once: making them takes longer than running them."""
    rules = _may_have(kind, apart, clauses).order_by(Task.rank).limit(1).with_for_update(skip_locked=passing_over)
    if kind == WRITE:
        return (rules,)
    return rules.where(_twin_unseen()), rules


@cache
def _may_have(kind: str, apart: bool, clauses: bool) -> Select[Task]:
    """The tasks that the rules let a worker have."""
    taken = exists().where(
        Lease.worker_id == ME, Lease.task_id == Task.id, Lease.state.in_((LIVE, SUBMITTED, RELEASED))
    )
    query = select(Task).where(Task.kind == kind, IS_FREE, Task.rank > AFTER, ~taken)
    if kind == WRITE:
        return query
    query = query.where(Task.author_id.is_distinct_from(ME))
    other = aliased(Task)
    if kind == EVALUATE:
        query = query.where(~_has_had(other, other.family == Task.family, other.problem_id != Task.problem_id))
    if kind == ASSOCIATIVE:
        query = query.where(~_has_had(other, other.problem_id == Task.problem_id, other.kind != ASSOCIATIVE))
    elif clauses:
        query = query.where(~_clause_waits())
    return query.where(_twin_unseen()) if apart else query


@cache
def _gold_query() -> Select[int]:
    other = aliased(Task)
    seen = _has_had(other, other.problem_id == Task.problem_id)
    return select(Task.id).where(Task.gold, Task.kind == bindparam("kind"), ~seen).order_by(Task.id)


def _twin_unseen() -> ColumnElement[bool]:
    other = aliased(Task)
    return ~_has_had(other, other.group_id == Task.group_id, other.problem_id != Task.problem_id)


def _clause_waits() -> ColumnElement[bool]:
    """Whether the worker could still judge the clause of this task's problem."""
    clause = aliased(Task)
    had = exists().where(Lease.worker_id == ME, Lease.task_id == clause.id)
    return exists().where(clause.problem_id == Task.problem_id, clause.kind == ASSOCIATIVE, clause.free > 0, ~had)


def _has_had(other: type[Task], *which: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether the worker has had another task like this, in whatever way it ended.

    Two questions in one another, so that SQLite looks for the few other tasks first and not for all of the worker's.
    """
    return exists().where(*which, exists().where(Lease.worker_id == ME, Lease.task_id == other.id))
