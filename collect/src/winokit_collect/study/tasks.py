"""Lease tasks: a place of a task is reserved for one worker for a while.

Live leases plus counted submissions of a task never exceed the number asked for, whatever happens at the same time.
A place is taken by raising the task's `held` if one is free, which the database does for one transaction at a time,
and a constraint on the table makes sure of it. `next_task` decides who gets which task.
"""

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Row, bindparam, func, insert, select, update
from sqlalchemy.orm import Session

from winokit_collect.study import schema
from winokit_collect.study.next_task import count_tasks, count_with_gold, find_free_task, gold_task, situation
from winokit_collect.study.prepared import Prepared
from winokit_collect.study.refusals import NotAllowed, NotFound, NotNow, found
from winokit_collect.study.schema import DRAFTS, IS_LIVE, LEASES, PROBLEMS, SUBMISSIONS, TASKS, WORKERS, Lease
from winokit_collect.study.store import retried
from winokit_collect.study.study import Study
from winokit_collect.study.texts import say
from winokit_collect.study.voting import VoteTask, vote_task
from winokit_collect.study.workers import is_qualified, own_work, working
from winokit_collect.study.writing import draft_fields

LONGEST = 4
"""A lease extended by drafts lasts at most this many times its usual minutes."""
EVENTS = ("paste", "leave", "return")
MOST_EVENTS = 50
MOST_COUNTED = 100
FREE_SKIPS = 5
"""Number of judgements that every worker may skip."""

# Queries of every request are made once: making a query takes longer than running it.
_LEASED_COLUMNS = (
    WORKERS.c.state.label("worker_state"),
    LEASES.c.id.label("lease_id"),
    *LEASES.c["worker_id", "token", "kind", "state", "leased_at", "expires_at", "task_id"],
    *TASKS.c["gold", "topic", "problem_id"],
    TASKS.c.domain.label("task_domain"),
    *PROBLEMS.c[schema.PROBLEM_COLUMNS],
    DRAFTS.c.fields.label("draft"),
)
_LEASED_TASKS = (
    select(*_LEASED_COLUMNS)
    .select_from(LEASES)
    .join(WORKERS, WORKERS.c.id == LEASES.c.worker_id)
    .join(TASKS, TASKS.c.id == LEASES.c.task_id)
)
_LEASED_FORMS = _LEASED_TASKS.outerjoin(PROBLEMS, PROBLEMS.c.id == TASKS.c.problem_id).outerjoin(
    DRAFTS, DRAFTS.c.lease_id == LEASES.c.id
)
_LEASED = _LEASED_FORMS.where(LEASES.c.worker_id == bindparam("me"), LEASES.c.token == bindparam("token"))
_IS_SAME_KIND = (SUBMISSIONS.c.worker_id == LEASES.c.worker_id, SUBMISSIONS.c.kind == LEASES.c.kind)
_DONE = select(func.count()).where(*_IS_SAME_KIND).correlate(LEASES)
_EARLIER = LEASES.alias()
_ANSWER = LEASES.alias()
_IS_ANSWERED = (
    _EARLIER.c.worker_id == LEASES.c.worker_id,
    _EARLIER.c.kind == LEASES.c.kind,
    _EARLIER.c.state == schema.SUBMITTED,
)
_LAST = select(_EARLIER.c.id).where(*_IS_ANSWERED).order_by(_EARLIER.c.id.desc()).limit(1)
_LAST_ID = _LAST.correlate(LEASES).scalar_subquery()
_ANSWERS = select(_ANSWER.c.token).join(SUBMISSIONS, SUBMISSIONS.c.lease_id == _ANSWER.c.id)
_IS_RECENT = SUBMISSIONS.c.submitted_at > bindparam("since")
_LAST_ANSWER = _ANSWERS.where(_ANSWER.c.id == _LAST_ID, _IS_RECENT).correlate(LEASES)
_DONE_COLUMN = _DONE.scalar_subquery().label("done")
_LAST_TOKEN_COLUMN = _LAST_ANSWER.scalar_subquery().label("last_token")
_LEASED_SHOWN = Prepared(_LEASED.add_columns(_DONE_COLUMN, _LAST_TOKEN_COLUMN))
# The worker first, as everywhere: two requests of one worker happen one after the other, and nobody waits in a circle.
_LEASED_LOCKED = Prepared(_LEASED.with_for_update(key_share=True, of=[WORKERS, LEASES]))
_LEASED_READ = Prepared(_LEASED)
_NEW_COUNTS = {
    "held": TASKS.c.held + bindparam("more_reserved"),
    "accepted": TASKS.c.accepted + bindparam("more_accepted"),
}
_COUNTED_TASK = update(TASKS).where(TASKS.c.id == bindparam("counted"), TASKS.c.asked.is_not(None))
_COUNT = Prepared(_COUNTED_TASK.values(_NEW_COUNTS).returning(TASKS.c.accepted, TASKS.c.asked))
_NEW_TERMS: dict[str, Any] = {name: bindparam(f"new_{name}") for name in ("state", "leased_at", "expires_at")}
_GIVE_AGAIN = Prepared(update(LEASES).where(LEASES.c.token == bindparam("earlier")).values(_NEW_TERMS))
_NEW_LEASE = Prepared(insert(LEASES), "token", "task_id", "worker_id", "kind", "state", "leased_at", "expires_at")
_SKIPPED_COUNT = func.count().filter(LEASES.c.state == schema.RELEASED).label("skipped")
_HAD_COUNT = func.count().label("had")
_IS_OWN_KIND = (LEASES.c.worker_id == bindparam("me"), LEASES.c.kind == bindparam("kind"))
_SKIPPED = Prepared(select(_SKIPPED_COUNT, _HAD_COUNT).where(*_IS_OWN_KIND))
_TYPED: dict[str, BindParameter[Any]] = {"fields": bindparam("typed"), "saved_at": bindparam("now")}
_SAVE = Prepared(insert(DRAFTS).values(lease_id=bindparam("of"), **_TYPED))
_OWN_DRAFT = update(DRAFTS).where(DRAFTS.c.lease_id == bindparam("of"))
_SAVE_AGAIN = Prepared(_OWN_DRAFT.values(_TYPED).returning(DRAFTS.c.lease_id))
_LENGTHEN = Prepared(update(LEASES).where(LEASES.c.id == bindparam("lengthened")).values(expires_at=bindparam("until")))
END_LEASE = Prepared(update(LEASES).where(LEASES.c.id == bindparam("ended")).values(state=bindparam("new_state")))


def available(study: Study, worker_id: int) -> dict[str, int]:
    """Number of tasks of each kind that the worker could get now.

    Counted up to 100. Kinds without any are left out, and kinds whose quiz the worker has failed for good. Kinds whose
    quiz is still to be taken are included.
    """
    _expire_now_and_then(study)
    with study.store.read() as session:
        standing = count_tasks(session, study.config, worker_id, MOST_COUNTED)
    counts: dict[str, int] = {}
    for kind, (free, had, live) in standing.items():
        count = max(count_with_gold(study, worker_id, kind, had, free, MOST_COUNTED), live)
        if count:
            counts[kind] = count
    return counts


def can_go_on(study: Study, worker_id: int) -> bool:
    """Whether the worker can get another task now."""
    most = study.config.tasks.most_per_worker
    _, done = own_work(study, worker_id)
    if study.paused:
        return False
    return any(not most or done.get(kind, 0) < most for kind in available(study, worker_id))


@retried
def take(study: Study, worker_id: int, kind: str) -> str:
    """Lease a task of a kind to a worker.

    Returns the lease's token. If they have one of this kind already, that is returned. Raises NotNow if there is none,
    the study is paused, or they have done the most allowed. Raises NotAllowed if a step such as the quiz is missing.
    """
    if kind not in study.config.tasks.kinds:
        raise NotFound(say("refusals.no_kind"))
    _expire_now_and_then(study)
    with study.store.write(quick=True) as session:
        return take_within(study, session, worker_id, kind)


def take_within(study: Study, session: Session, worker_id: int, kind: str, *, waits: bool = True) -> str:
    """Lease a task as `take` does, within an open transaction.

    A refusal comes before anything is changed. With `waits`, it may wait for a task that another transaction has
    locked. A transaction that holds locks on tasks itself must not wait.
    """
    worker = working(study, session, worker_id)
    now = situation(session, study, worker_id, kind)
    if now.under_way is not None:
        return str(now.under_way)
    if (now.paused or {}).get(schema.PAUSED):
        raise NotNow(say("refusals.paused"))
    if not is_qualified(study, worker, kind):
        raise NotAllowed(say("refusals.steps_first"))
    most = study.config.tasks.most_per_worker
    if most and _count_submissions(session, worker_id, kind) >= most:
        raise NotNow(say("refusals.most_done"))
    free = find_free_task(session, study.config, worker_id, kind, now.last_rank, waits=waits)
    if free is None:
        raise NotNow(say("refusals.nothing_left"))
    task_id, earlier = gold_task(study, worker_id, kind, now) or free
    count_places(session, task_id, reserved=1)
    return _give_task(study, session, worker_id, kind, task_id, earlier)


def _count_submissions(session: Session, worker_id: int, kind: str) -> int:
    """Number of submissions of a kind by a worker."""
    is_own = (schema.Submission.worker_id == worker_id, schema.Submission.kind == kind)
    return session.scalar(select(func.count()).where(*is_own)) or 0


def look(study: Study, worker_id: int, token: str) -> Row[Any] | VoteTask:
    """Read the task under a worker's token, which may be handed in already.

    A judgement is a VoteTask. A writing task is a row of `leased_to` with two more columns: `done` (number of the
    worker's submissions of this kind) and `last_token` (token of the last one, as long as it may be corrected).
    """
    since = study.now() - timedelta(minutes=study.config.tasks.correct_for)
    with study.store.read() as session:
        leased = _find_lease(session, _LEASED_SHOWN, me=worker_id, token=token, since=since)
    return leased if leased.problem_id is None else vote_task(study.config, leased)


def lease(study: Study, worker_id: int, kind: str) -> Row[Any] | VoteTask:
    """Lease a task to a worker, and read it as `look` does."""
    return look(study, worker_id, take(study, worker_id, kind))


def give_back(study: Study, worker_id: int, token: str) -> None:
    """Give a leased task back, so that another worker gets it.

    Raises NotNow if the worker has skipped too many judgements. An ended lease stays as it is.
    """
    with study.store.write(quick=True) as session:
        leased = leased_to(session, worker_id, token, for_update=True)
        if leased.state != schema.LIVE:
            return
        if leased.kind != schema.WRITE:
            counts = _SKIPPED.all(session, me=worker_id, kind=leased.kind)[0]
            most_skipped = max(FREE_SKIPS, study.config.quality.most_skipped * counts.had)
            if counts.skipped >= most_skipped:
                raise NotNow(say("refusals.most_skipped"))
        END_LEASE.all(session, ended=leased.lease_id, new_state=schema.RELEASED)
        count_places(session, leased.task_id, reserved=-1)


def save_draft(study: Study, worker_id: int, token: str, fields: Mapping[str, str]) -> datetime:
    """Store the form's fields as a draft, and extend the lease.

    Returns the time. A lease that has expired stays expired. Raises NotNow, and stores nothing, if the task was handed
    in.
    """
    now = study.now()
    with study.store.write(quick=True) as session:
        leased = leased_to(session, worker_id, token, for_update=True)
        if leased.state == schema.SUBMITTED:
            raise NotNow(say("refusals.no_draft"))
        draft = {"of": leased.lease_id, "typed": draft_fields(fields), "now": now}
        if not _SAVE_AGAIN.all(session, **draft):
            _SAVE.all(session, **draft)
        if leased.state == schema.LIVE and leased.expires_at > now:
            minutes = study.config.minutes(leased.kind)
            longest = leased.leased_at + timedelta(minutes=LONGEST * minutes)
            extended = min(now + timedelta(minutes=minutes), longest)
            until = max(leased.expires_at, extended)
            _LENGTHEN.all(session, lengthened=leased.lease_id, until=until)
    return now


def note_events(study: Study, worker_id: int, token: str, events: Sequence[Mapping[str, Any]]) -> int:
    """Store signals from a task's page, such as pastes.

    Unknown signals are dropped. Returns the number stored. Only the first MOST_EVENTS are looked at.
    """
    accepted_events = [event for event in events[:MOST_EVENTS] if event.get("kind") in EVENTS]
    with study.store.write(quick=True) as session:
        lease_id = leased_to(session, worker_id, token).lease_id
        now = study.now()
        for event in accepted_events:
            amount = event.get("amount", 0)
            amount = min(max(amount, 0), 100_000) if isinstance(amount, int) else 0
            row = schema.Event(worker_id=worker_id, lease_id=lease_id, kind=event["kind"], amount=amount, at=now)
            session.add(row)
    return len(accepted_events)


@retried
def expire(study: Study) -> int:
    """End all leases that have expired, and free their places.

    Returns their number.
    """
    over = Lease.expires_at <= study.now()
    with study.store.read() as session:
        first_id = session.scalar(select(Lease.id).where(IS_LIVE, over).limit(1))
        if first_id is None:
            return 0
    with study.store.write(quick=True) as session:
        # Leases that another transaction holds are being submitted or ended there.
        return end_leases(session, schema.EXPIRED, over, skip_locked=True)


def end_leases(session: Session, state: str, *conditions: ColumnElement[bool], skip_locked: bool = False) -> int:
    """End the live leases that fulfil some conditions, and free their places.

    `state` is their new state. With `skip_locked`, leases that another transaction has locked are left alone. Returns
    the number of ended leases.
    """
    query = select(Lease).where(IS_LIVE, *conditions).order_by(Lease.task_id)
    ended = session.scalars(query.with_for_update(skip_locked=skip_locked)).all()
    for lease in ended:
        lease.state = state
    counts = Counter(lease.task_id for lease in ended)
    # In one order everywhere, so that two transactions never wait for each other.
    for task_id, count in counts.items():
        count_places(session, task_id, reserved=-count)
    return len(ended)


def _expire_now_and_then(study: Study) -> None:
    """End expired leases, at most once a second."""
    if study.last_expired is None or study.now() - study.last_expired >= timedelta(seconds=1):
        study.last_expired = study.now()
        expire(study)


def count_places(session: Session, task_id: int, *, reserved: int = 0, accepted: int = 0) -> Row[Any] | None:
    """Add to a task's counters of reserved places and accepted submissions.

    A place is one of the submissions that the task asks for. Returns the row (accepted, asked) after that, or None for
    a gold question, which has no counters.
    """
    return _COUNT.one(session, counted=task_id, more_reserved=reserved, more_accepted=accepted)


def leased_to(session: Session, worker_id: int, token: str, *, for_update: bool = False) -> Row[Any]:
    """Read a worker's lease by its token, with its task, problem and draft.

    Leases that have ended are found too. Raises NotFound for another worker's lease. With `for_update`, the worker and
    the lease are locked.
    """
    query = _LEASED_LOCKED if for_update else _LEASED_READ
    return _find_lease(session, query, me=worker_id, token=token)


def _find_lease(session: Session, query: Prepared, **values: Any) -> Row[Any]:
    """Run a query for a lease. Raises NotFound if there is none."""
    row = query.one(session, **values)
    return found(row, say("refusals.no_task"))


def _give_task(study: Study, session: Session, worker_id: int, kind: str, task_id: int, earlier: str | None) -> str:
    """Lease a task to a worker, and return the token.

    `earlier` is the token of their expired lease on it, which is then renewed with its draft, or None.
    """
    now = study.now()
    until = now + timedelta(minutes=study.config.minutes(kind))
    if earlier is not None:
        again = {"new_state": schema.LIVE, "new_leased_at": now, "new_expires_at": until}
        _GIVE_AGAIN.all(session, earlier=earlier, **again)
        return earlier
    token = secrets.token_urlsafe(18)
    new = {"token": token, "task_id": task_id, "worker_id": worker_id, "kind": kind}
    _NEW_LEASE.all(session, **new, state=schema.LIVE, leased_at=now, expires_at=until)
    return token
