"""Remove everything that a pilot has left behind, except the money.

The study then begins as if there had been no pilot.

Earnings in a pilot are owed and paid like any other. So nothing is removed while a payout is under way, or while
something is owed and not written off. Payments stay in the ledger, under the worker's code.
"""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import Session

from winokit_collect.study import schema
from winokit_collect.study.gold import settle
from winokit_collect.study.refusals import NotNow
from winokit_collect.study.schema import IS_LIVE, Lease, Payment, PayoutJob, ProblemRow, Submission, Task, Vote, Worker
from winokit_collect.study.store import retried
from winokit_collect.study.study import Study
from winokit_collect.study.workers import forget_visits
from winokit_collect.study.writing import EarlierText

UNSEEN = {"synchronize_session": False}
"""Options of statements on rows that the session has not loaded as objects."""


@dataclass(frozen=True)
class PilotRemoval:
    """Numbers of rows removed with a pilot, and the amount written off.

    `submissions` includes those of others that judged the pilot's texts.
    """

    workers: int
    submissions: int
    problems: int
    written_off_cents: int


def count_people(study: Study) -> int:
    """Number of pilot workers whose data can be removed.

    Those who have withdrawn, or were removed before, are left out.
    """
    with study.store.read() as session:
        return session.scalar(select(func.count()).where(Worker.pilot, Worker.state != schema.WITHDRAWN)) or 0


@retried
def remove_pilot_data(study: Study, actor: str = "system", *, write_off: bool = False) -> PilotRemoval:
    """Delete the workers of a pilot with their work.

    Others' votes on that work are deleted too. Workers who were paid stay in the ledger as codes. With `write_off`,
    amounts still owed to them are cancelled. Raises NotNow if something is owed otherwise, or if a payout is under way.
    """
    people = select(Worker.id).where(Worker.pilot)
    problems = select(ProblemRow.id).where(ProblemRow.author_id.in_(people))
    tasks = select(Task.id).where(Task.problem_id.in_(problems))
    leases = select(Lease.id).where(or_(Lease.worker_id.in_(people), Lease.task_id.in_(tasks)))
    submissions = select(Submission.id).where(Submission.lease_id.in_(leases))
    is_open = (Payment.worker_id.in_(people), Payment.settled_at.is_(None))
    under_way = select(PayoutJob.id).where(PayoutJob.worker_id.in_(people), PayoutJob.state.in_(schema.UNDER_WAY))
    with study.store.write(alone=True) as session:
        session.execute(people.with_for_update())
        owed = int(session.scalar(select(func.sum(Payment.cents)).where(*is_open)) or 0)
        if session.scalar(under_way.limit(1)):
            raise NotNow("a payout to a pilot worker is in progress; wait until it is confirmed")
        if owed and not write_off:
            amount = f"{owed / 100:,.2f} {study.config.pay.currency}"
            raise NotNow(f"{amount} are still owed to pilot workers; pay them first, or write it off")
        worker_count = session.scalar(select(func.count()).where(Worker.id.in_(people))) or 0
        submission_count = session.scalar(select(func.count()).where(Submission.id.in_(submissions))) or 0
        problem_count = session.scalar(select(func.count()).where(ProblemRow.id.in_(problems))) or 0
        judged = select(Vote.problem_id).where(Vote.submission_id.in_(submissions), ~Vote.problem_id.in_(problems))
        others_problems = session.scalars(judged.where(~Vote.gold).distinct()).all()
        # What hangs on something goes before it; the ledger's lines only forget what they were for.
        session.execute(delete(Payment).where(*is_open))
        session.execute(update(Payment).where(Payment.submission_id.in_(submissions)).values(submission_id=None))
        is_empty = ~select(ProblemRow.id).where(ProblemRow.group_id == schema.Group.id).exists()
        own_links = select(schema.Invite.id).where(schema.Invite.worker_id.in_(people))
        paid = select(Payment.worker_id).union(select(PayoutJob.worker_id))
        is_unpaid = ~schema.PlatformVisit.worker_id.in_(paid)
        forget_visits(session, schema.PlatformVisit.worker_id.in_(people))
        unlinked = update(schema.PlatformVisit).where(schema.PlatformVisit.invite_id.in_(own_links))
        session.execute(unlinked.values(invite_id=None), execution_options=UNSEEN)
        _delete_rows(session, Vote, Vote.submission_id.in_(submissions))
        _delete_rows(session, Submission, Submission.lease_id.in_(leases))
        _delete_rows(session, schema.Draft, schema.Draft.lease_id.in_(leases))
        _delete_rows(session, schema.Remark, schema.Remark.lease_id.in_(leases))
        is_pilot_event = or_(schema.Event.lease_id.in_(leases), schema.Event.worker_id.in_(people))
        _delete_rows(session, schema.Event, is_pilot_event)
        _delete_rows(session, Lease, Lease.id.in_(leases))
        _delete_rows(session, schema.Adjudication, schema.Adjudication.problem_id.in_(problems))
        _delete_rows(session, Task, Task.id.in_(tasks))
        _delete_rows(session, ProblemRow, ProblemRow.id.in_(problems))
        _delete_rows(session, schema.Group, (schema.Group.origin == schema.WRITTEN) & is_empty)
        _delete_rows(session, schema.QuizAttempt, schema.QuizAttempt.worker_id.in_(people))
        _delete_rows(session, schema.Consent, schema.Consent.worker_id.in_(people))
        _delete_rows(session, schema.Identity, schema.Identity.worker_id.in_(people))
        _delete_rows(session, schema.PlatformVisit, schema.PlatformVisit.worker_id.in_(people) & is_unpaid)
        _delete_rows(session, schema.Invite, schema.Invite.worker_id.in_(people))
        _delete_rows(session, Worker, Worker.pilot & ~Worker.id.in_(paid))
        gone = {"state": schema.WITHDRAWN, "session_version": Worker.session_version + 1}
        session.execute(update(Worker).where(Worker.pilot).values(gone), execution_options=UNSEEN)
        accepted = select(func.count()).where(Submission.task_id == Task.id, Submission.counted).scalar_subquery()
        reserved = select(func.count()).where(Lease.task_id == Task.id, IS_LIVE).scalar_subquery()
        is_changed = or_(Task.accepted != accepted, Task.held != reserved)
        recount = update(Task).where(Task.asked.is_not(None), is_changed)
        session.execute(recount.values(accepted=accepted, held=reserved), execution_options=UNSEEN)
        for number in others_problems:
            settle(session, study, session.get_one(ProblemRow, number))
        done = PilotRemoval(worker_count, submission_count, problem_count, owed)
        study.log(session, actor, "remove pilot", **vars(done))
    study.earlier = EarlierText()  # The old one still holds the removed texts.
    return done


def _delete_rows(session: Session, table: type[schema.Base], condition: ColumnElement[bool]) -> None:
    """Delete the rows of a table that fulfil a condition."""
    session.execute(delete(table).where(condition), execution_options=UNSEEN)
