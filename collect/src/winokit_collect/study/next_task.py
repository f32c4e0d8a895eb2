"""Choose the task that a worker gets next.

These rules always hold:

- nobody judges what they wrote, and nobody gets a task twice, so that three votes are those of three people;
- nobody sees a problem both whole and as a variant, and nobody judges its clause alone after reading the whole problem.
  So if both are asked, a worker who could judge the clause does that before they see the whole problem. Otherwise a
  small crowd would soon have nobody left for the clauses.

This rule holds as long as the worker has other tasks left:

- nobody judges both twins, since whoever has solved one knows that the other has the other answer
  (`twins_apart = "always"` makes it hold always).

All workers go through the tasks in the same order, from where they stopped last, and then from the start again. So the
first problems are finished early, and the twin of a problem comes as late as possible.

The same query looks for a gold question, whether one is due or not. It begins at a different place for each worker, and
follows the same rules, the last one always.
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
"""Number of gold questions made of the study's own problems at which no others are needed."""


def situation(session: Session, study: Study, worker_id: int, kind: str) -> Row[Any]:
    """Read what decides which task of a kind a worker gets next.

    One query reads it all. The row has `under_way` (token of the task they have now), `paused` (whether the study is),
    `last_rank` (rank of their last task), `had` (number of tasks they have had), `own_gold` and `given_gold` (ids of a
    gold question that they may get, made of the study's problems or from a file), and `own_count` (number of gold
    questions made of the study's problems, counted up to ENOUGH).
    """
    anywhere = _draw_chance(study, worker_id, f"{kind}, from", 0)
    query = _build_situation(*_read_query_options(study.config, kind))
    rows = query.all(session, me=worker_id, kind=kind, anywhere=anywhere)
    situation_row: Row[Any] = rows[0]
    return situation_row


def find_free_task(
    session: Session, config: StudyConfig, worker_id: int, kind: str, last_rank: int, *, waits: bool
) -> Any:
    """Find and lock the next task that a worker may have.

    Returns the task's id and the token of the worker's own expired lease on it, or None if there is no task. With
    `waits`, it waits for tasks that another transaction has locked.
    """
    first_ranks = dict.fromkeys((last_rank, BEFORE_ALL))
    # A task that another transaction is looking at is passed over, and waited for only if there is no other.
    ways = (True, False) if waits else (True,)
    for passing_over in ways:
        for query in _build_queries(*_read_query_options(config, kind), passing_over):
            for after in first_ranks:
                task = query.one(session, me=worker_id, after=after)
                if task is not None:
                    return task
    return None


def count_tasks(session: Session, config: StudyConfig, worker_id: int, most: int) -> dict[str, tuple[int, int, int]]:
    """Count the tasks a worker could get, has had, and has now.

    Three numbers for each kind. The first is counted up to `most`, the second has no tasks that expired, the third is 0
    or 1. Kinds whose quiz the worker has failed for good are left out.
    """
    kinds = config.tasks.kinds
    query = _build_counts(tuple(_read_query_options(config, kind) for kind in kinds), most)
    *counts, qualified_for = query.all(session, me=worker_id, after=BEFORE_ALL)[0]
    may_work = qualified_for or {}
    numbers: dict[str, tuple[int, int, int]] = {}
    for kind, free, had, live in zip(kinds, counts[::3], counts[1::3], counts[2::3], strict=True):
        if may_work.get(kind, True):
            numbers[kind] = (free, had, live)
    return numbers


def is_gold_turn(study: Study, worker_id: int, kind: str, had: int) -> bool:
    """Whether a worker gets a gold question next.

    A gold question is one with a known answer. `had` is the number of tasks of the kind that they have had. Drawn with
    the study's secret, so that nobody can foresee it. Never for writing.
    """
    if kind not in schema.VOTES:
        return False
    return _draw_chance(study, worker_id, kind, had) < study.config.quality.gold_share


def gold_task(study: Study, worker_id: int, kind: str, situation_row: Row[Any]) -> tuple[int, str | None] | None:
    """Choose the gold question that a worker gets next, as (task id, None).

    None if none is due, or if the worker has had them all. `situation_row` is the row of `situation`.
    """
    if not is_gold_turn(study, worker_id, kind, situation_row.had):
        return None
    # A file of the requester's is asked from to the end; what is bundled with winokit only for want of others.
    most = 0.5 if study.config.gold else 1.0
    own_share = most * situation_row.own_count / ENOUGH
    own_first = _draw_chance(study, worker_id, f"{kind}, own", situation_row.had) < own_share
    if own_first:
        chosen = situation_row.own_gold or situation_row.given_gold
    else:
        chosen = situation_row.given_gold or situation_row.own_gold
    return None if chosen is None else (chosen, None)


def count_with_gold(study: Study, worker_id: int, kind: str, had: int, free: int, most: int) -> int:
    """Number of tasks until a worker has done `free` ordinary ones.

    Gold questions between them are counted, at most up to `most`. So the number shown goes down by one with each task,
    gold or not.
    """
    total = 0
    while free > 0 and total < most:
        if not is_gold_turn(study, worker_id, kind, had + total):
            free -= 1
        total += 1
    return total


def _draw_chance(study: Study, worker_id: int, purpose: str, had: int) -> float:
    """Draw a number from 0 to 1 with the study's secret.

    It is the same for the same arguments.
    """
    digest = study.signer.digest("gold", f"{worker_id} {purpose} {had}")
    digits = digest[:13]  # as many as a float holds
    return int(digits, 16) / float(16**13)


_OWN = (LEASES.c.worker_id == ME, LEASES.c.kind == KIND)
_LAST = (
    select(TASKS.c.rank)
    .join(LEASES, LEASES.c.task_id == TASKS.c.id)
    .where(*_OWN, ~TASKS.c.gold)
    .order_by(LEASES.c.id.desc())
    .limit(1)
)
_UNDER_WAY = select(LEASES.c.token).where(*_OWN, IS_LIVE)
_PAUSED = select(STATE.c.value).where(STATE.c.key == schema.PAUSED)
# A task whose time is over may come again, and gold in the place of gold.
_HAD = select(func.count()).select_from(LEASES).where(*_OWN, LEASES.c.state != schema.EXPIRED)
_SITUATION = select(
    _UNDER_WAY.scalar_subquery().label("under_way"),
    _PAUSED.scalar_subquery().label("paused"),
    func.coalesce(_LAST.scalar_subquery(), BEFORE_ALL).label("last_rank"),
    _HAD.scalar_subquery().label("had"),
)


@cache
def _build_situation(kind: str, apart: bool, clauses: bool) -> Prepared:
    """Build the query of `situation`.

    `apart` says whether a worker may never judge both twins, `clauses` whether the study has clauses judged alone.
    """
    if kind == schema.WRITE:
        no_gold = [null().label(name) for name in ("own_gold", "given_gold", "own_count")]
        return Prepared(_SITUATION.add_columns(*no_gold))
    gold = (TASKS.c.gold, TASKS.c.kind == kind)
    is_own = TASKS.c.rank < 0
    # Over numbers, which their index has in order: the database stops at the first that the worker may have.
    last_id = select(func.max(TASKS.c.id)).where(*gold).scalar_subquery()
    start = cast(last_id * ANYWHERE, Integer)
    fitting = select(TASKS.c.id).where(*gold, *_list_rules(kind, clauses), _is_twin_unseen())
    fitting = fitting.order_by(TASKS.c.id).limit(1)
    same = TASKS.alias()
    fitting = fitting.where(~_has_had(same, same.c.problem_id == TASKS.c.problem_id))
    columns = []
    for name, condition in (("own_gold", is_own), ("given_gold", ~is_own)):
        from_start = fitting.where(condition, TASKS.c.id >= start).scalar_subquery()
        before_start = fitting.where(condition, TASKS.c.id < start).scalar_subquery()
        columns.append(func.coalesce(from_start, before_start).label(name))
    enough = select(TASKS.c.id).where(*gold, is_own).limit(ENOUGH).subquery()
    own_count = select(func.count()).select_from(enough).scalar_subquery().label("own_count")
    return Prepared(_SITUATION.add_columns(*columns, own_count))


def _read_query_options(config: StudyConfig, kind: str) -> tuple[str, bool, bool]:
    """Read the settings on which the queries depend: kind, twins apart, clauses judged."""
    return kind, config.tasks.twins_apart == "always", schema.ASSOCIATIVE in config.tasks.kinds


@cache
def _build_queries(kind: str, apart: bool, clauses: bool, passing_over: bool) -> tuple[Prepared, ...]:
    """Build the queries that look for a task, in order of trying.

    The first leaves out twins of problems that the worker has judged. `passing_over` skips tasks that others have
    locked. Cached, since building takes longer than running.
    """
    rules = _select_allowed_tasks(kind, apart, clauses).order_by(TASKS.c.rank).limit(1)
    rules = rules.with_for_update(skip_locked=passing_over, of=TASKS)
    if kind == schema.WRITE:
        return (Prepared(rules),)
    return Prepared(rules.where(_is_twin_unseen())), Prepared(rules)


@cache
def _select_allowed_tasks(kind: str, apart: bool, clauses: bool) -> Found:
    """Select the free tasks that the rules let a worker have.

    Each row has the task's id, and the token of the worker's own expired lease on it, or null.
    """
    lease = LEASES.alias()
    is_own_lease = (lease.c.worker_id == ME, lease.c.task_id == TASKS.c.id)
    is_taken = exists().where(*is_own_lease, lease.c.state != schema.EXPIRED)
    # Not a join: PostgreSQL would look at all tasks and sort them, where it can stop at the first.
    query = select(TASKS.c.id, select(lease.c.token).where(*is_own_lease).scalar_subquery())
    query = query.where(TASKS.c.kind == kind, IS_FREE, TASKS.c.rank > AFTER, ~is_taken)
    if kind == schema.WRITE:
        return query
    query = query.where(*_list_rules(kind, clauses))
    return query.where(_is_twin_unseen()) if apart else query


def _list_rules(kind: str, clauses: bool) -> list[ColumnElement[bool]]:
    """SQL conditions that every judgement must fulfil for its worker."""
    other = TASKS.alias()
    rules = [TASKS.c.author_id.is_distinct_from(ME)]
    if kind == schema.EVALUATE:
        is_variant = (other.c.family == TASKS.c.family, other.c.problem_id != TASKS.c.problem_id)
        rules += [~_has_had(other, *is_variant)]
    if kind == schema.ASSOCIATIVE:
        is_whole_text = (other.c.problem_id == TASKS.c.problem_id, other.c.kind != schema.ASSOCIATIVE)
        rules += [~_has_had(other, *is_whole_text)]
    elif clauses:
        rules += [~_has_waiting_clause()]
    return rules


@cache
def _build_counts(options: tuple[tuple[str, bool, bool], ...], most: int) -> Prepared:
    """Build the query of `count_tasks`, for the options of each kind."""
    numbers = []
    for kind, apart, clauses in options:
        own_leases = select(func.count()).where(LEASES.c.worker_id == ME, LEASES.c.kind == kind)
        # In their order, which tells PostgreSQL to look at those with a free place and no others.
        places = _select_allowed_tasks(kind, apart, clauses).order_by(TASKS.c.rank).limit(most)
        free = select(func.count()).select_from(places.subquery())
        numbers += [free, own_leases.where(LEASES.c.state != schema.EXPIRED), own_leases.where(IS_LIVE)]
    qualification = select(WORKERS.c.qualified_for).where(WORKERS.c.id == ME)
    columns = [number.scalar_subquery() for number in (*numbers, qualification)]
    return Prepared(select(*columns))


def _is_twin_unseen() -> ColumnElement[bool]:
    """SQL condition: the worker has had no task on the problem's twin."""
    other = TASKS.alias()
    is_twin = (other.c.group_id == TASKS.c.group_id, other.c.problem_id != TASKS.c.problem_id)
    return ~_has_had(other, *is_twin)


def _has_waiting_clause() -> ColumnElement[bool]:
    """SQL condition: the worker could still judge the problem's clause alone."""
    clause = TASKS.alias()
    lease = LEASES.alias()
    had = exists().where(lease.c.worker_id == ME, lease.c.task_id == clause.c.id)
    is_clause = (clause.c.problem_id == TASKS.c.problem_id, clause.c.kind == schema.ASSOCIATIVE)
    return exists().where(*is_clause, clause.c.free > 0, ~had)


def _has_had(other: FromClause, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """SQL condition: the worker has had another task, however it ended.

    `other` is the table of other tasks, of which `conditions` select some. Two nested conditions, so that SQLite looks
    up the few other tasks first, and not all tasks of the worker.
    """
    lease = LEASES.alias()
    has_lease = exists().where(lease.c.worker_id == ME, lease.c.task_id == other.c.id)
    return exists().where(*conditions, has_lease)
