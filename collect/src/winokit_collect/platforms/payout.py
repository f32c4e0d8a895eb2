"""Payment of what the ledger says is owed, through the study's platform, each line once.

`plan` puts the amount that a worker is owed into a job. `step`, which the server calls again and again, takes one job
one step further. The database marks a job as *sent* before the platform is asked to pay. Whoever moved it from
*planned* to *sent* sends it, once. A job that is still *sent* later, since a server was killed or no answer came, is
never sent again by itself. If the platform shows one bonus of that amount more than before, the job is *confirmed*. If
not, it is *uncertain*: the platform is asked about it now and then, and a person can decide whether it was paid.

A platform pays visits, not people. Each visit in which something was earned is closed first: approved, or found to be
approved, returned or timed out there already. The platform's own pay for it is deducted. The rest is one bonus on one
visit, and only that visit's bonuses show whether it was paid.

This is necessary because a platform such as Prolific pays twice if it is asked twice. Its documentation also asks for
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
"""Time that a server reserves a payout for a step (`LEASE`, longer than it waits for a platform), and time after which
the platform is asked again about an uncertain one (`ASK_AGAIN`)."""
POLL_SECONDS = 2.0
ACCIDENT_SECONDS = 30.0
BY_HAND = "by hand"
WITH_VISIT = "paid with the visit"
LOG = logging.getLogger("winokit.collect")


class ApprovalUncertain(Uncertain):
    """It is unknown whether the platform approved a visit.

    The platform did not say so, and cannot be asked. Approving it again does no harm.
    """


def plan(
    study: Study, actor: str, codes: Sequence[str] | None = None, *, newest: int | None = None, by_hand: bool = False
) -> int:
    """Plan payouts of the open amounts of all or some workers.

    `codes` are the workers' codes, None for all. Returns the number of payouts. Lines of the ledger with a number above
    `newest` are left out, since the requester has not seen them. With `by_hand`, the requester has paid already, and
    the lines are settled at once. A worker whose last payout is not finished gets no new one. If it is uncertain, the
    platform is asked about it. Workers who are owed nothing get one too, if they earned something in a visit that is
    still to be approved. Its amount may then be 0 or less.
    """
    is_open: list[ColumnElement[bool]] = [Payment.job_id.is_(None), Payment.settled_at.is_(None)]
    if newest is not None:
        is_open.append(Payment.id <= newest)
    by_hand = by_hand or platform_of(study).by_hand
    is_owed = func.sum(Payment.cents) > 0
    # A visit is to be approved even where the platform's own reward is more than what is owed.
    owed = select(Payment.worker_id).where(*is_open).group_by(Payment.worker_id)
    if by_hand:
        owed = owed.having(is_owed)
    else:
        has_open_visit = Payment.worker_id.in_(_select_open_visits(is_open))
        owed = owed.having(or_(is_owed, has_open_visit))
    busy = select(PayoutJob.worker_id).where(PayoutJob.state.in_(UNDER_WAY))
    is_named = [] if codes is None else [Worker.code.in_(codes)]
    now = study.now()
    with study.store.write() as session:
        workers = select(Worker).where(Worker.id.in_(owed), *is_named).order_by(Worker.id)
        locked_ids = [worker.id for worker in session.scalars(workers.with_for_update(key_share=True))]
        # Once more: somebody else may have planned the same while we waited for the lock.
        still_owed = owed.where(Payment.worker_id.in_(locked_ids), Payment.worker_id.not_in(busy))
        still_owed = still_owed.order_by(Payment.worker_id)
        columns = {"state": PLANNED, "cents": 0, "planned_at": now, "planned_by": actor, "due_at": now}
        jobs = [PayoutJob(worker_id=worker_id, **columns) for worker_id in session.scalars(still_owed)]
        session.add_all(jobs)
        session.flush()
        own_job = select(PayoutJob.id).where(PayoutJob.worker_id == Payment.worker_id, PayoutJob.state == PLANNED)
        worker_ids = [job.worker_id for job in jobs]
        lines = update(Payment).where(*is_open, Payment.worker_id.in_(worker_ids))
        unseen = {"synchronize_session": False}
        session.execute(lines.values(job_id=own_job.scalar_subquery()), execution_options=unseen)
        job_ids = [job.id for job in jobs]
        sums = select(Payment.job_id, func.sum(Payment.cents)).where(Payment.job_id.in_(job_ids))
        totals = session.execute(sums.group_by(Payment.job_id))
        cents = {job_id: int(total) for job_id, total in totals}
        for job in jobs:
            job.cents = cents[job.id]
            if by_hand:
                _settle_lines(study, session, job, BY_HAND, actor)
            else:
                _log_payout(study, session, actor, job)
        named_workers = select(Worker.id).where(*is_named)
        is_doubtful = (PayoutJob.state == UNCERTAIN, PayoutJob.worker_id.in_(named_workers))
        session.execute(update(PayoutJob).where(*is_doubtful).values(due_at=now))
    return len(jobs)


def settle(study: Study, job_id: int, *, paid: bool, actor: str) -> None:
    """Store a requester's decision about an uncertain payout.

    If it was not `paid`, it is sent again, after the platform was asked once more. Raises NotNow if the payout is not
    uncertain.
    """
    with study.store.write() as session:
        job = _find_uncertain(session, job_id)
        if paid:
            _settle_lines(study, session, job, BY_HAND, actor)
        else:
            job.state = PLANNED
            job.due_at = study.now()
            job.why = "said not to be paid"
            job.settled_at = study.now()
            job.settled_by = actor
            _log_payout(study, session, actor, job, said="not paid")


def take_back(study: Study, job_id: int, actor: str) -> int:
    """Undo a payment by hand, and all that were marked with it.

    They are those marked by the same requester at the same moment. Returns the number of payouts. Their lines of the
    ledger are open again. Raises NotNow if the payout was not marked by hand.
    """
    with study.store.write() as session:
        marked = found(session.get(PayoutJob, job_id), f"no payout {job_id}")
        is_marked = (PayoutJob.state == CONFIRMED, PayoutJob.sent_at.is_(None))
        together = (PayoutJob.planned_at == marked.planned_at, PayoutJob.planned_by == marked.planned_by)
        by_hand = select(Payment.job_id).where(Payment.settlement == BY_HAND)
        query = select(PayoutJob).where(*is_marked, *together, PayoutJob.id.in_(by_hand))
        query = query.order_by(PayoutJob.id)
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
            _log_payout(study, session, actor, job, said="taken back")
        return len(jobs)


def ask_again(study: Study, job_id: int) -> None:
    """Let the next step ask the platform about an uncertain payout.

    Raises NotNow if it is in another state.
    """
    with study.store.write() as session:
        job = _find_uncertain(session, job_id)
        job.due_at = study.now()


def run(study: Study) -> None:
    """Process payouts until no step is due."""
    while step(study):
        pass


def step(study: Study) -> bool:
    """Process one step of one payout that is due.

    Returns whether there was any. A step closes a visit, sends a bonus, or asks the platform about one that is
    uncertain. Errors are stored with the payout.
    """
    job = _claim_next(study)
    if job is None:
        return False
    platform = platform_of(study)
    try:
        worker, identity, visits, earned_at = _read_payout(study, platform, job)
        if identity is None:
            raise PlatformError(f"{worker.code} is not known on {platform.title}; pay manually")
        if job.sent_at is not None:
            visit = next((visit for visit in visits if visit.id == job.visit_id), None)
            _ask_platform(study, platform, visitor_of(identity, visit), job)
            return True
        open_visit = find_visit_to_close(visits, earned_at)
        if open_visit is not None:
            _close_visit(study, platform, visitor_of(identity, open_visit), worker, open_visit, job)
        elif job.cents <= 0:
            _confirm_paid(study, job, WITH_VISIT, platform.title)
        else:
            visit = bonus_visit(visits)
            visitor = visitor_of(identity, visit)
            changes = _prepare_payout(study, platform, visitor, worker, visit, job)
            _send_payout(study, platform, visitor, job, **changes)
    except Busy as error:
        _postpone_payout(study, job, error)
    except Exception as error:
        is_doubtful = job.sent_at is not None or isinstance(error, ApprovalUncertain)
        _store_failure(study, job, UNCERTAIN if is_doubtful else REFUSED, error)
    return True


def find_visit_to_close(visits: Sequence[PlatformVisit], earned_at: Sequence[datetime]) -> PlatformVisit | None:
    """The first open visit during which a worker earned something, or None.

    `visits` are in order of arrival, `earned_at` has the moments of earning. Each moment belongs to the last visit that
    had begun by then, or to the first visit if none had.
    """
    earning = set()
    for moment in earned_at:
        begun = [visit.id for visit in visits if visit.arrived_at <= moment]
        earning.update(begun[-1:] or [visit.id for visit in visits[:1]])
    return next((visit for visit in visits if visit.state == OPEN and visit.id in earning), None)


def bonus_visit(visits: Sequence[PlatformVisit]) -> PlatformVisit | None:
    """Choose the visit that a bonus is sent for.

    The last approved visit, or else the last one. None without visits.
    """
    approved = [visit for visit in visits if visit.state == APPROVED]
    if approved:
        return approved[-1]
    return visits[-1] if visits else None


def _select_open_visits(is_open: Sequence[ColumnElement[bool]]) -> Select[int]:
    """Query workers with an open visit that has unpaid earnings.

    It selects their ids. `is_open` are the conditions for an unpaid line of the ledger.
    """
    since = (Payment.worker_id == PlatformVisit.worker_id, Payment.at >= PlatformVisit.arrived_at)
    earned = select(Payment.id).where(*is_open, *since, Payment.reason != VISIT).exists()
    has_session = PlatformVisit.session_id.is_not(None)
    return select(PlatformVisit.worker_id).where(PlatformVisit.state == OPEN, has_session, earned)


def _read_payout(
    study: Study, platform: Platform, job: PayoutJob
) -> tuple[Worker, Identity | None, Sequence[PlatformVisit], Sequence[datetime]]:
    """Read a payout's worker, identity, visits and moments of earning.

    The identity is None if it was deleted. Visits are in order of arrival. Only visits through this platform count.
    Moments are those of the ledger lines in the payout.
    """
    of_worker = (PlatformVisit.worker_id == job.worker_id, PlatformVisit.session_id.is_not(None))
    on_platform = PlatformVisit.platform == study.config.platform.name
    visits = select(PlatformVisit).where(*of_worker, on_platform).order_by(PlatformVisit.arrived_at, PlatformVisit.id)
    moments = select(Payment.at).where(Payment.job_id == job.id, Payment.reason != VISIT)
    with study.store.read() as session:
        worker = session.get_one(Worker, job.worker_id)
        identity = session.get(Identity, job.worker_id)
        return worker, identity, session.scalars(visits).all(), session.scalars(moments).all()


def _claim_next(study: Study) -> PayoutJob | None:
    """Reserve the next due payout for this server, for one minute.

    None if none is due, or if another server is processing one.
    """
    now = study.now()
    due = select(PayoutJob).where(PayoutJob.state.in_(UNDER_WAY), PayoutJob.due_at <= now).order_by(PayoutJob.id)
    with study.store.read() as session:
        if session.scalar(due.limit(1)) is None:
            return None
    at_work = select(PayoutJob.id).where(PayoutJob.state.in_((PLANNED, SENT)), PayoutJob.due_at > now)
    with study.store.write(alone=True) as session:
        if session.scalar(at_work.limit(1)):
            return None
        job = session.scalar(due.limit(1).with_for_update())
        if job is not None:
            job.due_at = now + LEASE
        return job


def _close_visit(
    study: Study, platform: Platform, visitor: Visitor, worker: Worker, visit: PlatformVisit, job: PayoutJob
) -> None:
    """Approve an open visit, or store the state that the platform reports.

    The platform is asked first, and told to approve it if it is open there. The platform's reward for it is then
    deducted from what is owed. Raises RewardDiffers if that is not the one in study.toml.
    """
    screened_out = worker.state == SCREENED_OUT
    reward = None if screened_out else check_reward(study, platform, visitor.study_id)
    report = platform.look(visitor)
    if report is None or report.state == OPEN:
        state = _approve_visit(platform, visitor, screened_out=screened_out)
    else:
        state = report.state
    _write_closed(study, visit, job, state, reward)


def _approve_visit(platform: Platform, visitor: Visitor, *, screened_out: bool) -> str:
    """Approve a visit, or screen its worker out.

    Returns the visit's new state. If that fails, the platform is asked about the visit, which may have been approved
    all the same.
    """
    try:
        if screened_out:
            platform.screen_out(visitor)
        else:
            platform.approve(visitor)
    except Busy:
        raise
    except PlatformError as error:
        report = _look_after_failure(platform, visitor, error)
        if report is None or report.state == OPEN:
            raise
        return report.state
    return SCREENED_OUT if screened_out else APPROVED


def _look_after_failure(platform: Platform, visitor: Visitor, error: PlatformError) -> VisitReport | None:
    """Report of a visit whose approval failed.

    None if the platform cannot be asked. Raises ApprovalUncertain if it is then unknown whether it was approved.
    """
    try:
        report = platform.look(visitor)
    except PlatformError:
        report = None
    if report is None and isinstance(error, Uncertain):
        raise ApprovalUncertain(f"{error}; the visit may have been approved") from error
    return report


def _write_closed(study: Study, visit: PlatformVisit, job: PayoutJob, state: str, reward: BaseReward | None) -> None:
    """Store a visit's final state and the reward that the platform paid.

    The reward becomes one of the payout's lines. Nothing is stored if the visit or the payout was changed meanwhile.
    """
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
    """Store a visit's final state and reward.

    Only an approved visit has a reward: `reward`, or that of study.toml if it is None. Returns the new ledger line that
    deducts it from what is owed, or None if there is no reward.
    """
    title = platform_of(study).title
    settings_cents = int(study.config.platform.base_reward * 100)
    cents = 0
    if state == APPROVED:
        cents = settings_cents if reward is None else reward.cents
    row.state = state
    row.closed_at = study.now()
    row.reward_cents = cents
    row.currency = (reward and reward.currency) or study.config.pay.currency
    study.log(session, "system", f"visit {state}", str(row.id), cents=cents)
    if not cents:
        return None
    columns = {"worker_id": row.worker_id, "visit_id": row.id, "reason": VISIT, "at": study.now()}
    line = Payment(**columns, cents=-cents, note=f"paid by {title} for the visit")
    session.add(line)
    return line


def _prepare_payout(
    study: Study, platform: Platform, visitor: Visitor, worker: Worker, visit: PlatformVisit | None, job: PayoutJob
) -> dict[str, str | int | None]:
    """Prepare the bonus of a payout with the platform, without paying it.

    Returns the columns to store: the platform's key, the number of equal bonuses that it shows already, and the visit.
    The number is None if the platform cannot be asked.
    """
    visit_id = None if visit is None else visit.id
    with study.store.read() as session:
        last = session.scalar(select(func.max(Payment.id)).where(Payment.job_id == job.id))
        alike = (PayoutJob.worker_id == worker.id, PayoutJob.cents == job.cents, PayoutJob.state == CONFIRMED)
        # A bonus that was accepted a moment ago may not be shown yet, and must not be taken for this one. The
        # platform shows bonuses visit by visit, so that those of other visits do not count here.
        on_visit = PayoutJob.visit_id.is_not_distinct_from(visit_id)
        sent = select(func.count()).where(*alike, on_visit, PayoutJob.sent_at.is_not(None))
        sent_count = session.scalar(sent) or 0
    shown_count = platform.tally(visitor, job.cents)
    key = platform.reserve(visitor, job.cents, study.config.title, f"{worker.code}-{last}")
    shown_before = None if shown_count is None else max(shown_count, sent_count)
    return {"key": key, "shown_before": shown_before, "visit_id": visit_id}


def _send_payout(study: Study, platform: Platform, visitor: Visitor, job: PayoutJob, **changes: Any) -> None:
    """Mark a payout as sent, ask the platform to pay it, and store the outcome.

    The outcome is paid, planned for later, refused or uncertain: errors of the platform are stored, not raised.
    `changes` are further columns to store. Nothing is sent if the payout was changed meanwhile.
    """
    changes |= {"state": SENT, "sent_at": study.now(), "due_at": study.now() + LEASE}
    is_untouched = (PayoutJob.id == job.id, PayoutJob.state == PLANNED, PayoutJob.due_at == job.due_at)
    mark_sent = update(PayoutJob).where(*is_untouched).values(changes)
    with study.store.write() as session:
        if not session.execute(mark_sent.returning(PayoutJob.id)).all():
            return
    sent_before = job.sent_at
    for name, value in changes.items():
        setattr(job, name, value)
    try:
        receipt = platform.bonus(visitor, job.cents, study.config.title, job.key or "")
    except Busy as error:  # Nothing was paid now. An earlier sending stays in doubt.
        _postpone_payout(study, job, error, state=PLANNED, sent_at=sent_before)
    except Exception as error:
        is_refusal = isinstance(error, PlatformError) and not isinstance(error, Uncertain)
        _store_failure(study, job, REFUSED if is_refusal else UNCERTAIN, error)
    else:
        _confirm_paid(study, job, receipt, platform.title)


def _ask_platform(study: Study, platform: Platform, visitor: Visitor, job: PayoutJob) -> None:
    """Ask the platform whether a payout that was sent has been paid.

    It is confirmed if the platform shows one more bonus of this amount than before. Otherwise it is uncertain, or sent
    again if a person has said that it was not paid.
    """
    shown_count = platform.tally(visitor, job.cents)
    can_compare = shown_count is not None and job.shown_before is not None
    if shown_count is not None and job.shown_before is not None and shown_count > job.shown_before:
        _confirm_paid(study, job, job.key or "", platform.title)
    elif job.state != PLANNED:
        reason = "does not show it" if can_compare else "does not tell"
        _store_failure(study, job, UNCERTAIN, PlatformError(f"{platform.title} {reason}"))
    else:
        _send_payout(study, platform, visitor, job)


def _confirm_paid(study: Study, job: PayoutJob, receipt: str, by: str) -> None:
    """Mark a payout as paid, unless it is finished already.

    `by` is who confirmed it: the platform's name or a person.
    """
    with study.store.write() as session:
        current = session.get_one(PayoutJob, job.id, with_for_update=True)
        if current.state in UNDER_WAY:
            _settle_lines(study, session, current, receipt, by)


def _settle_lines(study: Study, session: Session, job: PayoutJob, receipt: str, by: str) -> None:
    """Mark a payout and its ledger lines as paid.

    If its sum is negative, because the visit's reward was more than what was owed, the lines stay open for the next
    payout. If the worker is to be forgotten once they are paid, their identity is deleted.
    """
    lines = update(Payment).where(Payment.job_id == job.id)
    settled = {"job_id": None} if job.cents < 0 else {"settled_at": study.now(), "settlement": receipt}
    session.execute(lines.values(settled))
    job.cents = max(job.cents, 0)
    job.state = CONFIRMED
    job.why = ""
    job.settled_at = study.now()
    job.settled_by = by
    _log_payout(study, session, by if receipt == BY_HAND else job.planned_by, job, receipt=receipt)
    session.flush()
    forget_if_paid(session, session.get_one(Worker, job.worker_id))


def _store_failure(study: Study, job: PayoutJob, state: str, error: Exception) -> None:
    """Mark a payout as refused or uncertain, with the error.

    The lines of a refused payout are open again. Nothing is stored if the payout was changed meanwhile. The platform is
    asked about an uncertain one again after ten minutes.
    """
    why = str(error) if isinstance(error, WinokitError) else f"{type(error).__name__}: {error}"
    with study.store.write() as session:
        current = session.get_one(PayoutJob, job.id, with_for_update=True)
        if current.due_at != job.due_at or current.state not in UNDER_WAY:
            return
        is_new = current.state != state
        current.state = state
        current.why = why[:500]
        if state == REFUSED:
            current.settled_at = study.now()
            current.settled_by = platform_of(study).title
            session.execute(update(Payment).where(Payment.job_id == job.id).values(job_id=None))
        else:
            current.due_at = study.now() + ASK_AGAIN
        if is_new:
            _log_payout(study, session, current.planned_by, current, why=why[:200])


def _postpone_payout(study: Study, job: PayoutJob, error: Busy, **changes: Any) -> None:
    """Postpone a payout by the time that the platform asks to wait.

    `changes` are further columns to store. Other payouts wait with it.
    """
    with study.store.write() as session:
        current = session.get_one(PayoutJob, job.id, with_for_update=True)
        if current.due_at != job.due_at or current.state not in UNDER_WAY:
            return
        for name, value in changes.items():
            setattr(current, name, value)
        current.due_at = study.now() + timedelta(seconds=error.seconds)
        current.why = f"{error}; trying again in {error.seconds:.0f} s"


def _find_uncertain(session: Session, job_id: int) -> PayoutJob:
    """Find an uncertain payout and lock it.

    Raises NotNow if it is in another state.
    """
    job = found(session.get(PayoutJob, job_id, with_for_update=True), f"no payout {job_id}")
    if job.state != UNCERTAIN:
        raise NotNow(f"payout {job_id} is not uncertain: it is {job.state}")
    return job


def _log_payout(study: Study, session: Session, actor: str, job: PayoutJob, **detail: Any) -> None:
    """Add a payout's state to the audit log."""
    worker = session.get_one(Worker, job.worker_id)
    study.log(session, actor, f"payout {job.state}", worker.code, payout=job.id, cents=job.cents, **detail)


class PayoutRunner:
    """A server's thread that processes payouts while the block runs.

    It also continues payouts that another server has left.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Look for due payouts now, instead of after the usual pause."""
        self._wake.set()

    def __enter__(self) -> "PayoutRunner":
        """Start the thread."""
        self._stopping = False
        self._thread = threading.Thread(target=self._run_steps, name="payouts", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the thread, after the step that it has begun."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run_steps(self) -> None:
        """Process due payouts until the thread is stopped."""
        while not self._stopping:
            self._wake.clear()
            try:
                wait = 0.0 if step(self._study) else POLL_SECONDS
            except Exception:
                LOG.exception("an error while paying; it will be retried")
                wait = ACCIDENT_SECONDS
            if wait and not self._stopping:
                self._wake.wait(wait)
