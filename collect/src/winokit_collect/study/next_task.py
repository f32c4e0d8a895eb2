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

Gold questions are looked for in the same query whether one is to come or not, from a place drawn for each worker on,
and under the same rules; for them the wish is a rule, too.
"""

from functools import cache
from typing import Any, TypeAlias

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Float,
    FromClause,
    Integer,
    Row,
    Select,
    bindparam,
    cast,
    exists,
    func,
    null,
    select,
)
from sqlalchemy.orm import Session

from winokit_collect.study import schema
from winokit_collect.study.config import StudyConfig
from winokit_collect.study.prepared import Prepared
from winokit_collect.study.schema import IS_FREE, IS_LIVE, LEASES, STATE, TASKS, WORKERS
from winokit_collect.study.study import Study

Found: TypeAlias = Select[int, str | None]
ME: BindParameter[int] = bindparam("me")
KIND: BindParameter[str] = bindparam("kind")
AFTER: BindParameter[int] = bindparam("after")
ANYWHERE: BindParameter[float] = bindparam("anywhere", type_=Float)  # beside a number it would be taken for an integer
BEFORE_ALL = -1
ENOUGH = 20
"""Gold questions of its own from which on a study needs no others."""


def situation(session: Session, study: Study, worker_id: int, kind: str) -> Row[Any]:
    """Where a worker stands in a kind of task, in one query.

    A row of `under_way` (the token of the task they have now), `paused` (the study's state), `last_rank` (where they
    stopped), `had` (how many tasks they have had), and the ids of a gold question for them: `own_gold`, of the study's
    own, of which there are `own_count` or more, and `given_gold`.
    """
    anywhere = _chance(study, worker_id, f"{kind}, from", 0)
    where = {"me": worker_id, "kind": kind, "anywhere": anywhere}
    now: Row[Any] = _situation(*_asked(study.config, kind)).all(session, **where)[0]
    return now


def free_task(session: Session, config: StudyConfig, worker_id: int, kind: str, last_rank: int, *, waits: bool) -> Any:
    """The next task with a free place that a worker may have, locked: its id, and the token of their expired lease."""
    places = dict.fromkeys((last_rank, BEFORE_ALL))
    # A task that another transaction is looking at is passed over, and waited for only if there is no other.
    for passing_over in (True, False) if waits else (True,):
        for query in _queries(*_asked(config, kind), passing_over):
            for after in places:
                task = query.one(session, me=worker_id, after=after)
                if task is not None:
                    return task
    return None


def how_many(session: Session, config: StudyConfig, worker_id: int, most: int) -> dict[str, tuple[int, int, int]]:
    """For each kind how many tasks a worker could have, counted up to `most`, has had, and has now, in one query.

    Kinds whose quiz they have failed for good are left out.
    """
    kinds = config.tasks.kinds
    query = _counts(tuple(_asked(config, kind) for kind in kinds), most)
    *counts, known = query.all(session, me=worker_id, after=BEFORE_ALL)[0]
    by_kind = zip(kinds, counts[::3], counts[1::3], counts[2::3], strict=True)
    return {kind: (free, had, live) for kind, free, had, live in by_kind if (known or {}).get(kind, True)}


def is_gold_turn(study: Study, worker_id: int, kind: str, had: int) -> bool:
    """Whether a gold question is due after so many tasks: drawn with the study's secret, which nobody can foresee."""
    return kind in schema.VOTES and _chance(study, worker_id, kind, had) < study.config.quality.gold_share


def gold_task(study: Study, worker_id: int, kind: str, now: Row[Any]) -> tuple[int, str | None] | None:
    """The gold question that is due, if one is and the worker has one left: as `free_task` does, without a lease."""
    if not is_gold_turn(study, worker_id, kind, now.had):
        return None
    # A file of the requester's is asked from to the end; what is bundled with winokit only for want of others.
    most = 0.5 if study.config.gold else 1.0
    own_first = _chance(study, worker_id, f"{kind}, own", now.had) < most * now.own_count / ENOUGH
    chosen = (now.own_gold or now.given_gold) if own_first else (now.given_gold or now.own_gold)
    return None if chosen is None else (chosen, None)


def with_gold(study: Study, worker_id: int, kind: str, had: int, free: int, most: int) -> int:
    """How many tasks a worker is given, gold among them, until they have had so many free ones; up to `most`.

    Whatever is handed in or skipped next, there is one less.
    """
    total = 0
    while free > 0 and total < most:
        free -= not is_gold_turn(study, worker_id, kind, had + total)
        total += 1
    return total


def _chance(study: Study, worker_id: int, purpose: str, had: int) -> float:
    """A number from 0 to 1 that only the study's secret tells."""
    digits = study.signer.digest("gold", f"{worker_id} {purpose} {had}")[:13]  # as many as a float holds
    return int(digits, 16) / float(16**13)


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
    # One whose time is over may come again, and gold in the place of gold.
    select(func.count())
    .select_from(LEASES)
    .where(*_OWN, LEASES.c.state != schema.EXPIRED)
    .scalar_subquery()
    .label("had"),
)


@cache
def _situation(kind: str, apart: bool, clauses: bool) -> Prepared:
    """The query of `situation`."""
    if kind == schema.WRITE:
        return Prepared(
            _SITUATION.add_columns(*(null().label(name) for name in ("own_gold", "given_gold", "own_count")))
        )
    gold = (TASKS.c.gold, TASKS.c.kind == kind)
    is_own = TASKS.c.rank < 0
    # Over numbers, which their index has in order: the database stops at the first that the worker may have.
    start = cast(select(func.max(TASKS.c.id)).where(*gold).scalar_subquery() * ANYWHERE, Integer)
    fitting = select(TASKS.c.id).where(*gold, *_rules(kind, clauses), _twin_unseen()).order_by(TASKS.c.id).limit(1)
    same = TASKS.alias()
    fitting = fitting.where(~_has_had(same, same.c.problem_id == TASKS.c.problem_id))
    columns = []
    for name, which in (("own_gold", is_own), ("given_gold", ~is_own)):
        sides = (fitting.where(which, TASKS.c.id >= start), fitting.where(which, TASKS.c.id < start))
        columns.append(func.coalesce(*(side.scalar_subquery() for side in sides)).label(name))
    enough = select(TASKS.c.id).where(*gold, is_own).limit(ENOUGH).subquery()
    own_count = select(func.count()).select_from(enough).scalar_subquery().label("own_count")
    return Prepared(_SITUATION.add_columns(*columns, own_count))


def _asked(config: StudyConfig, kind: str) -> tuple[str, bool, bool]:
    """What the choice depends on: the kind, whether twins stay apart, whether clauses are judged too."""
    return kind, config.tasks.twins_apart == "always", schema.ASSOCIATIVE in config.tasks.kinds


@cache
def _queries(kind: str, apart: bool, clauses: bool, passing_over: bool) -> tuple[Prepared, ...]:
    """The queries to try, the stricter first. Made once: making them takes longer than running them."""
    rules = _may_have(kind, apart, clauses).order_by(TASKS.c.rank).limit(1)
    rules = rules.with_for_update(skip_locked=passing_over, of=TASKS)
    if kind == schema.WRITE:
        return (Prepared(rules),)
    return Prepared(rules.where(_twin_unseen())), Prepared(rules)


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
    query = query.where(*_rules(kind, clauses))
    return query.where(_twin_unseen()) if apart else query


def _rules(kind: str, clauses: bool) -> list[ColumnElement[bool]]:
    """What always holds for a judgement."""
    other = TASKS.alias()
    rules = [TASKS.c.author_id.is_distinct_from(ME)]
    if kind == schema.EVALUATE:
        rules += [~_has_had(other, other.c.family == TASKS.c.family, other.c.problem_id != TASKS.c.problem_id)]
    if kind == schema.ASSOCIATIVE:
        whole = (other.c.problem_id == TASKS.c.problem_id, other.c.kind != schema.ASSOCIATIVE)
        rules += [~_has_had(other, *whole)]
    elif clauses:
        rules += [~_clause_waits()]
    return rules


@cache
def _counts(asked: tuple[tuple[str, bool, bool], ...], most: int) -> Prepared:
    """The query of `how_many`."""
    numbers = []
    for kind, apart, clauses in asked:
        own = select(func.count()).where(LEASES.c.worker_id == ME, LEASES.c.kind == kind)
        # In their order, which tells PostgreSQL to look at those with a free place and no others.
        places = _may_have(kind, apart, clauses).order_by(TASKS.c.rank).limit(most)
        free = select(func.count()).select_from(places.subquery())
        numbers += [free, own.where(LEASES.c.state != schema.EXPIRED), own.where(IS_LIVE)]
    known = select(WORKERS.c.qualified_for).where(WORKERS.c.id == ME)
    return Prepared(select(*(number.scalar_subquery() for number in (*numbers, known))))


def _twin_unseen() -> ColumnElement[bool]:
    other = TASKS.alias()
    return ~_has_had(other, other.c.group_id == TASKS.c.group_id, other.c.problem_id != TASKS.c.problem_id)


def _clause_waits() -> ColumnElement[bool]:
    """Whether the worker could still judge the clause of this task's problem."""
    clause = TASKS.alias()
    lease = LEASES.alias()
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
