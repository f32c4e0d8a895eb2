"""Leasing: a place of a task is given to one worker for a while, and to another when that while is over.

Whatever happens at the same time, live leases plus counted submissions of a task never exceed the number asked: a
place is taken by raising the task's `held` where there is one free, which the database does for one transaction at a
time, and a constraint on the table stands behind it.
Who gets which task is decided in `choosing`.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Table, bindparam, func, select, update
from sqlalchemy.orm import Session

from winokit.collect import forms
from winokit.collect import study as studies
from winokit.collect.choosing import ME, free_task, gold_task, how_many
from winokit.collect.refusals import NotFound, NotNow
from winokit.collect.schema import (
    EXPIRED,
    IS_LIVE,
    LIVE,
    RELEASED,
    SUBMITTED,
    Draft,
    Event,
    Lease,
    Submission,
    Task,
)
from winokit.collect.views import TaskView, view
from winokit.collect.workers import locked, working

if TYPE_CHECKING:
    from winokit.collect.study import Study

LONGEST = 4
"""A lease that is renewed by saving drafts lasts at most so many times its minutes."""
EVENTS = ("paste", "leave", "return")
MOST_EVENTS = 50
MOST_COUNTED = 100
ONE_SECOND = timedelta(seconds=1)

# What every request asks is made once: making a query takes longer than running it, and that of a mapped class to
# change a row ten times as long as that of its table.
_MINE = select(Lease).where(Lease.worker_id == ME)
_UNDER_WAY = _MINE.where(Lease.kind == bindparam("kind"), IS_LIVE)
_OWN = _MINE.where(Lease.token == bindparam("token"))
_OWN_LOCKED = _OWN.with_for_update()
_EARLIER = _MINE.where(Lease.task_id == bindparam("task"))
_TASKS = cast(Table, Task.__table__)
_COUNT = (
    update(_TASKS)
    .where(_TASKS.c.id == bindparam("counted"), _TASKS.c.asked.is_not(None))
    .values(held=_TASKS.c.held + bindparam("more_held"), accepted=_TASKS.c.accepted + bindparam("more_accepted"))
)


def available(study: Study, worker_id: int) -> dict[str, int]:
    """How many tasks of each kind the worker could get now, counted up to 100; kinds with none are left out."""
    _expire_now_and_then(study)
    with study.store.read() as session:
        held = set(session.scalars(select(Lease.kind).where(Lease.worker_id == worker_id, IS_LIVE)))
        counts = {
            kind: how_many(session, study.config, worker_id, kind, MOST_COUNTED) for kind in study.config.tasks.kinds
        }
    return {kind: max(count, kind in held) for kind, count in counts.items() if count or kind in held}


def lease(study: Study, worker_id: int, kind: str) -> TaskView:
    """Give the worker a task of a kind: the one they have under way, else a new one."""
    if kind not in study.config.tasks.kinds:
        raise NotFound(f"this study has no tasks of the kind {kind!r}")
    _expire_now_and_then(study)
    with study.store.write(quick=True) as session:
        worker = working(study, session, worker_id)
        under_way = session.scalar(_UNDER_WAY, {"me": worker_id, "kind": kind})
        if under_way is not None:
            return view(session, study.config, under_way, session.get_one(Task, under_way.task_id))
        _refuse_when_over(study, session, worker_id, kind)
        free = free_task(session, study.config, worker_id, kind)
        if free is None:
            raise NotNow("there is nothing left to do here at the moment; thank you")
        task = gold_task(session, study.config, worker, kind) or free
        count_places(session, task.id, held=1)
        given = _given(study, session, worker_id, task)
        session.flush()
        return view(session, study.config, given, task)


def look(study: Study, worker_id: int, token: str) -> TaskView:
    """A task that the worker has, or had and may still hand in."""
    with study.store.read() as session:
        own = own_lease(session, worker_id, token)
        return view(session, study.config, own, session.get_one(Task, own.task_id))


def give_back(study: Study, worker_id: int, token: str) -> None:
    """The worker does not want this task; it goes to somebody else."""
    with study.store.write(quick=True) as session:
        locked(session, worker_id)
        own = own_lease(session, worker_id, token, for_update=True)
        if own.state == LIVE:
            own.state = RELEASED
            count_places(session, own.task_id, held=-1)


def save_draft(study: Study, worker_id: int, token: str, fields: Mapping[str, str]) -> datetime:
    """Keep what the worker has typed, and the place with it; an expired lease stays expired."""
    kept = forms.draft_fields(fields)
    now = study.now()
    with study.store.write(quick=True) as session:
        own = own_lease(session, worker_id, token, for_update=True)
        if own.state == SUBMITTED:
            return now
        session.merge(Draft(lease_id=own.id, fields=kept, saved_at=now))
        if own.state == LIVE and own.expires_at > now:
            minutes = study.config.minutes(own.kind)
            longest = own.leased_at + timedelta(minutes=LONGEST * minutes)
            own.expires_at = max(own.expires_at, min(now + timedelta(minutes=minutes), longest))
    return now


def note_events(study: Study, worker_id: int, token: str, events: Sequence[Mapping[str, Any]]) -> int:
    """Keep signals of how a task is worked on; how many were taken."""
    taken = [event for event in events[:MOST_EVENTS] if event.get("kind") in EVENTS]
    with study.store.write(quick=True) as session:
        own = own_lease(session, worker_id, token)
        for event in taken:
            amount = event.get("amount", 0)
            amount = min(max(amount, 0), 100_000) if isinstance(amount, int) else 0
            session.add(Event(worker_id=worker_id, lease_id=own.id, kind=event["kind"], amount=amount, at=study.now()))
    return len(taken)


def expire(study: Study) -> int:
    """End the leases whose time is over and free their places; how many there were."""
    now = study.now()
    over = (IS_LIVE, Lease.expires_at <= now)
    with study.store.read() as session:
        if session.scalar(select(Lease.id).where(*over).limit(1)) is None:
            return 0
    with study.store.write(quick=True) as session:
        # Leases that another transaction holds are being submitted or ended there.
        ended = list(session.scalars(select(Lease).where(*over).order_by(Lease.id).with_for_update(skip_locked=True)))
        freed = Counter(one.task_id for one in ended)
        for one in ended:
            one.state = EXPIRED
        for task_id in sorted(freed):  # in one order everywhere, so that two transactions never wait for each other
            count_places(session, task_id, held=-freed[task_id])
        return len(ended)


def _expire_now_and_then(study: Study) -> None:
    """The same, once a second at most: every request asks for it."""
    if study.last_expired is None or study.now() - study.last_expired >= ONE_SECOND:
        study.last_expired = study.now()
        expire(study)


def count_places(session: Session, task_id: int, *, held: int = 0, accepted: int = 0) -> None:
    """Change a task's counters in one step of the database. A gold question has no places to count."""
    session.execute(_COUNT, {"counted": task_id, "more_held": held, "more_accepted": accepted})


def own_lease(session: Session, worker_id: int, token: str, *, for_update: bool = False) -> Lease:
    """The worker's lease; another's looks as if there were none."""
    found = session.scalar(_OWN_LOCKED if for_update else _OWN, {"me": worker_id, "token": token})
    if found is None:
        raise NotFound("no such task of yours")
    return found


def _refuse_when_over(study: Study, session: Session, worker_id: int, kind: str) -> None:
    if studies.is_paused(session):
        raise NotNow("the study is paused; please come back later")
    most = study.config.tasks.most_per_worker
    if most:
        own = (Submission.worker_id == worker_id, Submission.kind == kind)
        if (session.scalar(select(func.count()).where(*own)) or 0) >= most:
            raise NotNow("you have done as many of these as one person may; thank you")


def _given(study: Study, session: Session, worker_id: int, task: Task) -> Lease:
    """A lease on a task; the worker's own expired one is taken up again, with its draft."""
    now = study.now()
    until = now + timedelta(minutes=study.config.minutes(task.kind))
    earlier = session.scalar(_EARLIER, {"me": worker_id, "task": task.id})
    if earlier is not None:
        earlier.state, earlier.leased_at, earlier.expires_at = LIVE, now, until
        return earlier
    token = secrets.token_urlsafe(18)
    given = Lease(
        token=token, task_id=task.id, worker_id=worker_id, kind=task.kind, state=LIVE, leased_at=now, expires_at=until
    )
    session.add(given)
    return given
