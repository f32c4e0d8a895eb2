"""Paying what the ledger says is owed, through the study's platform: each line once.

`plan` puts what a worker is owed into a job; `step`, which the server calls again and again, takes one job one step
further. Before the platform is told to pay, the database says that it was: whoever moved a job from *planned* to *sent*
sends it, once. A job found as *sent* later, since a server was killed or no answer came, is never sent again by itself.
The platform is asked whether it shows one bonus of that amount more than before: then it is *confirmed*. If not, it is
*uncertain*, is asked about now and then, and a person can say what became of it.

A platform pays visits, not people. Each visit in which something was earned is closed first: approved, or found to be
approved, returned or timed out there already. What the platform paid for it by itself is taken off. The rest is one
bonus on one visit, and only that visit's bonuses say whether it was paid.

Nothing else can be done where a platform pays twice when told twice, as Prolific does. Its documentation also asks for
one request at a time, so that all servers of a study take turns.
"""

import logging
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, func, or_, select, update
from sqlalchemy.orm import Session

from winokit import WinokitError
from winokit_collect.platforms.base import (
    BaseReward,
    Busy,
    Platform,
    PlatformError,
    Uncertain,
    Visitor,
    VisitReport,
    check_reward,
    platform_of,
    visitor_of,
)
from winokit_collect.study.moderation import forget_if_paid
from winokit_collect.study.refusals import NotNow, found
from winokit_collect.study.schema import (
    APPROVED,
    CONFIRMED,
    OPEN,
    PLANNED,
    REFUSED,
    SCREENED_OUT,
    SENT,
    UNCERTAIN,
    UNDER_WAY,
    VISIT,
    Identity,
    Payment,
    PayoutJob,
    PlatformVisit,
    Worker,
)
from winokit_collect.study.study import Study

LEASE = timedelta(minutes=1)
ASK_AGAIN = timedelta(minutes=10)
"""How long a server may be at a step, longer than a platform is waited for; and when to ask again what became of it."""
POLL_SECONDS = 2.0
ACCIDENT_SECONDS = 30.0
BY_HAND = "by hand"
WITH_VISIT = "paid with the visit"
LOG = logging.getLogger("winokit.collect")


class ApprovalUncertain(Uncertain):
    """A platform did not say whether a visit was approved, and cannot be asked. Approving it again does no harm."""


def plan(
    study: Study, actor: str, codes: Sequence[str] | None = None, *, newest: int | None = None, by_hand: bool = False
) -> int:
    """Plan to pay what is open, of all workers or of some; how many payouts that makes.

    Lines after the `newest` that the requester has seen are left for another time. By hand, the requester has paid
    already, and says so. A worker whose last payout is under way gets no other; if it is uncertain, it is asked about.
    """
    is_open: list[ColumnElement[bool]] = [Payment.job_id.is_(None), Payment.settled_at.is_(None)]
    if newest is not None:
        is_open.append(Payment.id <= newest)
    by_hand = by_hand or platform_of(study).by_hand
    is_owed = func.sum(Payment.cents) > 0
    # A visit is to be approved even where the platform's own reward is more than what is owed.
    owed = select(Payment.worker_id).where(*is_open).group_by(Payment.worker_id)
    owed = owed.having(is_owed if by_hand else or_(is_owed, Payment.worker_id.in_(_select_open_visits(is_open))))
    busy = select(PayoutJob.worker_id).where(PayoutJob.state.in_(UNDER_WAY))
    named = [] if codes is None else [Worker.code.in_(codes)]
    now = study.now()
    with study.store.write() as session:
        wanted = select(Worker).where(Worker.id.in_(owed), *named).order_by(Worker.id)
        locked = [worker.id for worker in session.scalars(wanted.with_for_update(key_share=True))]
        # Once more: somebody else may have planned the same while we waited for the lock.
        still = owed.where(Payment.worker_id.in_(locked), Payment.worker_id.not_in(busy)).order_by(Payment.worker_id)
        about = {"state": PLANNED, "cents": 0, "planned_at": now, "planned_by": actor, "due_at": now}
        jobs = [PayoutJob(worker_id=worker, **about) for worker in session.scalars(still)]
        session.add_all(jobs)
        session.flush()
        own = select(PayoutJob.id).where(PayoutJob.worker_id == Payment.worker_id, PayoutJob.state == PLANNED)
        lines = update(Payment).where(*is_open, Payment.worker_id.in_([job.worker_id for job in jobs]))
        unseen = {"synchronize_session": False}
        session.execute(lines.values(job_id=own.scalar_subquery()), execution_options=unseen)
        sums = select(Payment.job_id, func.sum(Payment.cents)).where(Payment.job_id.in_([job.id for job in jobs]))
        cents = {job_id: int(total) for job_id, total in session.execute(sums.group_by(Payment.job_id))}
        for job in jobs:
            job.cents = cents[job.id]
            if by_hand:
                _confirm(study, session, job, BY_HAND, actor)
            else:
                _log(study, session, actor, job)
        doubtful = (PayoutJob.state == UNCERTAIN, PayoutJob.worker_id.in_(select(Worker.id).where(*named)))
        session.execute(update(PayoutJob).where(*doubtful).values(due_at=now))
    return len(jobs)


def settle(study: Study, job_id: int, *, paid: bool, actor: str) -> None:
    """Say what became of a payout that is uncertain: it was paid, or it was not and is to be sent again.

    Before it is sent, the platform is asked once more.
    """
    with study.store.write() as session:
        job = _uncertain(session, job_id)
        if paid:
            _confirm(study, session, job, BY_HAND, actor)
        else:
            job.state, job.due_at, job.why = PLANNED, study.now(), "said not to be paid"
            job.settled_at = study.now()
            job.settled_by = actor
            _log(study, session, actor, job, said="not paid")


def take_back(study: Study, job_id: int, actor: str) -> int:
    """Undo "marked as paid" for everybody who was marked together with this payout; how many that were.

    Only what a person marked and no platform was told to pay: the lines are open again, as if nothing had been said.
    """
    with study.store.write() as session:
        marked = found(session.get(PayoutJob, job_id), f"no payout {job_id}")
        is_marked = (PayoutJob.state == CONFIRMED, PayoutJob.sent_at.is_(None))
        together = (PayoutJob.planned_at == marked.planned_at, PayoutJob.planned_by == marked.planned_by)
        by_hand = select(Payment.job_id).where(Payment.settlement == BY_HAND)
        query = select(PayoutJob).where(*is_marked, *together, PayoutJob.id.in_(by_hand)).order_by(PayoutJob.id)
        jobs = session.scalars(query.with_for_update()).all()
        if job_id not in [job.id for job in jobs]:
            raise NotNow(f"payout {job_id} was not marked as paid by hand; there is nothing to take back")
        for job in jobs:
            reopened = {"job_id": None, "settled_at": None, "settlement": None}
            session.execute(update(Payment).where(Payment.job_id == job.id).values(reopened))
            job.state = REFUSED
            job.why = f"taken back by {actor}"
            job.settled_at = study.now()
            job.settled_by = actor
            _log(study, session, actor, job, said="taken back")
        return len(jobs)


def ask_again(study: Study, job_id: int) -> None:
    """Have the platform asked about a payout that is uncertain, at the next step."""
    with study.store.write() as session:
        _uncertain(session, job_id).due_at = study.now()


def run(study: Study) -> None:
    """Take every step that is due."""
    while step(study):
        pass


def step(study: Study) -> bool:
    """Take one payout that is due one step further; whether there was any."""
    job = _claim(study)
    if job is None:
        return False
    platform = platform_of(study)
    try:
        worker, identity, visits, earned_at = _look_up(study, platform, job)
        if identity is None:
            raise PlatformError(f"{worker.code} is not known on {platform.title}; pay manually")
        if job.sent_at is not None:
            visit = next((visit for visit in visits if visit.id == job.visit_id), None)
            _ask(study, platform, visitor_of(identity, visit), job)
            return True
        open_visit = first_open(visits, earned_at)
        if open_visit is not None:
            _close_visit(study, platform, visitor_of(identity, open_visit), worker, open_visit, job)
        elif job.cents <= 0:
            _paid(study, job, WITH_VISIT, platform.title)
        else:
            visit = bonus_visit(visits)
            visitor = visitor_of(identity, visit)
            _send(study, platform, visitor, job, **_prepared(study, platform, visitor, worker, visit, job))
    except Busy as error:
        _leave_alone(study, job, error)
    except Exception as error:
        doubtful = job.sent_at is not None or isinstance(error, ApprovalUncertain)
        _set_aside(study, job, UNCERTAIN if doubtful else REFUSED, error)
    return True


def first_open(visits: Sequence[PlatformVisit], earned_at: Sequence[datetime]) -> PlatformVisit | None:
    """The first visit that is still open and in which something was earned at one of these moments.

    What was earned before the first visit, or after the last one, belongs to that.
    """
    earning = set()
    for moment in earned_at:
        begun = [visit.id for visit in visits if visit.arrived_at <= moment]
        earning.update(begun[-1:] or [visit.id for visit in visits[:1]])
    return next((visit for visit in visits if visit.state == OPEN and visit.id in earning), None)


def bonus_visit(visits: Sequence[PlatformVisit]) -> PlatformVisit | None:
    """The visit that a bonus is sent for: the last one that was approved, or else the last."""
    approved = [visit for visit in visits if visit.state == APPROVED]
    if approved:
        return approved[-1]
    return visits[-1] if visits else None


def _select_open_visits(is_open: Sequence[ColumnElement[bool]]) -> Select[int]:
    """Workers who have earned something, not yet paid, since an open visit of theirs began."""
    since = (Payment.worker_id == PlatformVisit.worker_id, Payment.at >= PlatformVisit.arrived_at)
    earned = select(Payment.id).where(*is_open, *since, Payment.reason != VISIT).exists()
    has_session = PlatformVisit.session_id.is_not(None)
    return select(PlatformVisit.worker_id).where(PlatformVisit.state == OPEN, has_session, earned)


def _look_up(
    study: Study, platform: Platform, job: PayoutJob
) -> tuple[Worker, Identity | None, Sequence[PlatformVisit], Sequence[datetime]]:
    """The worker of a payout, who they are, their visits in order, and when its lines were earned."""
    of_worker = (PlatformVisit.worker_id == job.worker_id, PlatformVisit.session_id.is_not(None))
    on_platform = PlatformVisit.platform == study.config.platform.name
    visits = select(PlatformVisit).where(*of_worker, on_platform).order_by(PlatformVisit.arrived_at, PlatformVisit.id)
    moments = select(Payment.at).where(Payment.job_id == job.id, Payment.reason != VISIT)
    with study.store.read() as session:
        worker = session.get_one(Worker, job.worker_id)
        identity = session.get(Identity, job.worker_id)
        return worker, identity, session.scalars(visits).all(), session.scalars(moments).all()


def _claim(study: Study) -> PayoutJob | None:
    """The next payout that is due, kept from other servers for a while; None while another one is at work."""
    now = study.now()
    due = select(PayoutJob).where(PayoutJob.state.in_(UNDER_WAY), PayoutJob.due_at <= now).order_by(PayoutJob.id)
    with study.store.read() as session:
        if session.scalar(due.limit(1)) is None:
            return None
    at_work = select(PayoutJob.id).where(PayoutJob.state.in_((PLANNED, SENT)), PayoutJob.due_at > now)
    with study.store.write(alone=True) as session:
        job = None if session.scalar(at_work.limit(1)) else session.scalar(due.limit(1).with_for_update())
        if job is not None:
            job.due_at = now + LEASE
        return job


def _close_visit(
    study: Study, platform: Platform, visitor: Visitor, worker: Worker, visit: PlatformVisit, job: PayoutJob
) -> None:
    """Approve a visit, or note what became of it; what the platform paid for it is taken off what we owe, once."""
    screened_out = worker.state == SCREENED_OUT
    reward = None if screened_out else check_reward(study, platform, visitor.study_id)
    report = platform.look(visitor)
    if report is None or report.state == OPEN:
        state = _approve(platform, visitor, screened_out=screened_out)
    else:
        state = report.state
    _write_closed(study, visit, job, state, reward)


def _approve(platform: Platform, visitor: Visitor, *, screened_out: bool) -> str:
    """Approve a visit, or screen its worker out; its state after that.

    If the platform fails, it is asked what it did. It may have approved the visit all the same.
    """
    try:
        (platform.screen_out if screened_out else platform.approve)(visitor)
    except Busy:
        raise
    except PlatformError as error:
        report = _look_after(platform, visitor, error)
        if report is None or report.state == OPEN:
            raise
        return report.state
    return SCREENED_OUT if screened_out else APPROVED


def _look_after(platform: Platform, visitor: Visitor, error: PlatformError) -> VisitReport | None:
    """Look at a visit whose approval failed; None if the platform does not tell."""
    try:
        report = platform.look(visitor)
    except PlatformError:
        report = None
    if report is None and isinstance(error, Uncertain):
        raise ApprovalUncertain(f"{error}; the visit may have been approved") from error
    return report


def _write_closed(study: Study, visit: PlatformVisit, job: PayoutJob, state: str, reward: BaseReward | None) -> None:
    """Note that a visit is no longer open, with a line of what the platform paid for it."""
    with study.store.write() as session:
        row = session.get_one(PlatformVisit, visit.id, with_for_update=True)
        current = session.get_one(PayoutJob, job.id, with_for_update=True)
        if row.state != OPEN or current.due_at != job.due_at:
            return
        line = close_visit(study, session, row, state, reward)
        current.due_at = study.now()
        current.why = ""
        current.visit_id = row.id
        if current.state == UNCERTAIN:  # only about the approval, which is certain now
            current.state = PLANNED
        if line is not None:
            line.job_id = job.id
            current.cents += line.cents


def close_visit(
    study: Study, session: Session, row: PlatformVisit, state: str, reward: BaseReward | None
) -> Payment | None:
    """Let a visit be what it is on its platform; the line that takes its reward off what we owe, if it has one."""
    title = platform_of(study).title
    typed = int(study.config.platform.base_reward * 100)
    cents = 0 if state != APPROVED else typed if reward is None else reward.cents
    row.state, row.closed_at = state, study.now()
    row.reward_cents = cents
    row.currency = (reward and reward.currency) or study.config.pay.currency
    study.log(session, "system", f"visit {state}", str(row.id), cents=cents)
    if not cents:
        return None
    about = {"worker_id": row.worker_id, "visit_id": row.id, "reason": VISIT, "at": study.now()}
    line = Payment(**about, cents=-cents, note=f"paid by {title} for the visit")
    session.add(line)
    return line


def _prepared(
    study: Study, platform: Platform, visitor: Visitor, worker: Worker, visit: PlatformVisit | None, job: PayoutJob
) -> dict[str, str | int | None]:
    """What must be known of a payout before it is sent: its key, and what the platform shows without it."""
    visit_id = None if visit is None else visit.id
    with study.store.read() as session:
        last = session.scalar(select(func.max(Payment.id)).where(Payment.job_id == job.id))
        alike = (PayoutJob.worker_id == worker.id, PayoutJob.cents == job.cents, PayoutJob.state == CONFIRMED)
        # What was accepted a moment ago may not be shown yet, and must not be taken for this one. The platform
        # shows bonuses visit by visit, so that those of other visits say nothing here.
        on_visit = PayoutJob.visit_id.is_not_distinct_from(visit_id)
        own = session.scalar(select(func.count()).where(*alike, on_visit, PayoutJob.sent_at.is_not(None))) or 0
    shown = platform.tally(visitor, job.cents)
    key = platform.reserve(visitor, job.cents, study.config.title, f"{worker.code}-{last}")
    shown_before = None if shown is None else max(shown, own)
    return {"key": key, "shown_before": shown_before, "visit_id": visit_id}


def _send(study: Study, platform: Platform, visitor: Visitor, job: PayoutJob, **known: Any) -> None:
    """Note that a payout is sent, and have it paid then; unless others have touched it meanwhile."""
    known |= {"state": SENT, "sent_at": study.now(), "due_at": study.now() + LEASE}
    ours = (PayoutJob.id == job.id, PayoutJob.state == PLANNED, PayoutJob.due_at == job.due_at)
    with study.store.write() as session:
        if not session.execute(update(PayoutJob).where(*ours).values(known).returning(PayoutJob.id)).all():
            return
    sent_before = job.sent_at
    for name, value in known.items():
        setattr(job, name, value)
    try:
        receipt = platform.bonus(visitor, job.cents, study.config.title, job.key or "")
    except Busy as error:  # nothing was paid now; what was sent before stays in doubt
        _leave_alone(study, job, error, state=PLANNED, sent_at=sent_before)
    except Exception as error:
        is_no = isinstance(error, PlatformError) and not isinstance(error, Uncertain)
        _set_aside(study, job, REFUSED if is_no else UNCERTAIN, error)
    else:
        _paid(study, job, receipt, platform.title)


def _ask(study: Study, platform: Platform, visitor: Visitor, job: PayoutJob) -> None:
    """Ask what became of a payout; if a person has said that it was not paid, and it is not shown, send it again."""
    shown = platform.tally(visitor, job.cents)
    more = None if shown is None or job.shown_before is None else shown - job.shown_before
    if more is not None and more > 0:
        _paid(study, job, job.key or "", platform.title)
    elif job.state != PLANNED:
        why = f"{platform.title} {'does not tell' if more is None else 'does not show it'}"
        _set_aside(study, job, UNCERTAIN, PlatformError(why))
    else:
        _send(study, platform, visitor, job)


def _paid(study: Study, job: PayoutJob, receipt: str, by: str) -> None:
    """Confirm a payout, whatever others have made of it meanwhile: that it was paid is certain."""
    with study.store.write() as session:
        current = session.get_one(PayoutJob, job.id, with_for_update=True)
        if current.state in UNDER_WAY:
            _confirm(study, session, current, receipt, by)


def _confirm(study: Study, session: Session, job: PayoutJob, receipt: str, by: str) -> None:
    """Note that a payout is paid, with its lines. If the visit's own reward was more, they stay open for another."""
    lines = update(Payment).where(Payment.job_id == job.id)
    settled = {"job_id": None} if job.cents < 0 else {"settled_at": study.now(), "settlement": receipt}
    session.execute(lines.values(settled))
    job.cents = max(job.cents, 0)
    job.state = CONFIRMED
    job.why = ""
    job.settled_at = study.now()
    job.settled_by = by
    _log(study, session, by if receipt == BY_HAND else job.planned_by, job, receipt=receipt)
    session.flush()
    forget_if_paid(session, session.get_one(Worker, job.worker_id))


def _set_aside(study: Study, job: PayoutJob, state: str, error: Exception) -> None:
    """Leave a payout as refused, its lines open again, or as uncertain; unless others have taken it up meanwhile."""
    why = str(error) if isinstance(error, WinokitError) else f"{type(error).__name__}: {error}"
    with study.store.write() as session:
        current = session.get_one(PayoutJob, job.id, with_for_update=True)
        if current.due_at != job.due_at or current.state not in UNDER_WAY:
            return
        is_new = current.state != state
        current.state = state
        current.why = why[:500]
        if state == REFUSED:
            current.settled_at, current.settled_by = study.now(), platform_of(study).title
            session.execute(update(Payment).where(Payment.job_id == job.id).values(job_id=None))
        else:
            current.due_at = study.now() + ASK_AGAIN
        if is_new:
            _log(study, session, current.planned_by, current, why=why[:200])


def _leave_alone(study: Study, job: PayoutJob, error: Busy, **changes: Any) -> None:
    """Leave a payout alone for as long as its platform asks.

    All other payouts wait with it, since none goes out while one is at work.
    """
    with study.store.write() as session:
        current = session.get_one(PayoutJob, job.id, with_for_update=True)
        if current.due_at != job.due_at or current.state not in UNDER_WAY:
            return
        for name, value in changes.items():
            setattr(current, name, value)
        current.due_at = study.now() + timedelta(seconds=error.seconds)
        current.why = f"{error}; trying again in {error.seconds:.0f} s"


def _uncertain(session: Session, job_id: int) -> PayoutJob:
    job = found(session.get(PayoutJob, job_id, with_for_update=True), f"no payout {job_id}")
    if job.state != UNCERTAIN:
        raise NotNow(f"payout {job_id} is not uncertain: it is {job.state}")
    return job


def _log(study: Study, session: Session, actor: str, job: PayoutJob, **detail: Any) -> None:
    worker = session.get_one(Worker, job.worker_id)
    study.log(session, actor, f"payout {job.state}", worker.code, payout=job.id, cents=job.cents, **detail)


class PayoutRunner:
    """The server's thread that takes the steps of payouts, those that another server has left behind too."""

    def __init__(self, study: Study) -> None:
        self._study, self._wake, self._stopping = study, threading.Event(), False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Look now whether something is due."""
        self._wake.set()

    def __enter__(self) -> "PayoutRunner":
        """Begin."""
        self._stopping, self._thread = False, threading.Thread(target=self._run, name="payouts", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End after the step under way."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            try:
                wait = 0.0 if step(self._study) else POLL_SECONDS
            except Exception:
                LOG.exception("an error while paying; it will be retried")
                wait = ACCIDENT_SECONDS
            if wait and not self._stopping:
                self._wake.wait(wait)
