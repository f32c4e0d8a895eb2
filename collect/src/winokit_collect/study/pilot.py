"""Removing what a pilot has left behind, so that the study begins as if there had been none; but for the money.

What somebody earned in a pilot is owed and paid like anything else. So nothing is removed while a payout is under way,
or something is owed and nobody has said that it is written off; and what was paid stays in the ledger, under the code.
"""

from dataclasses import dataclass

from sqlalchemy import delete, func, or_, select, update

from winokit_collect.study import schema
from winokit_collect.study.gold import settle
from winokit_collect.study.refusals import NotNow
from winokit_collect.study.schema import IS_LIVE, Lease, Payment, PayoutJob, ProblemRow, Submission, Task, Vote, Worker
from winokit_collect.study.store import retried
from winokit_collect.study.study import Study
from winokit_collect.study.workers import forget_visits
from winokit_collect.study.writing import EarlierText

UNSEEN = {"synchronize_session": False}
"""Nothing that is deleted was read as an object before."""


@dataclass(frozen=True)
class PilotRemoval:
    """What was removed."""

    workers: int
    submissions: int
    problems: int
    written_off_cents: int


def count_people(study: Study) -> int:
    """How many people of a pilot there is something to remove of."""
    with study.store.read() as session:
        return session.scalar(select(func.count()).where(Worker.pilot, Worker.state != schema.WITHDRAWN)) or 0


@retried
def remove_pilot_data(study: Study, actor: str = "system", *, write_off: bool = False) -> PilotRemoval:
    """Delete what people did in a pilot, and what others said about it; who was paid stays as a code in the ledger."""
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
        counts = [
            session.scalar(select(func.count()).where(table.id.in_(which))) or 0
            for table, which in ((Worker, people), (Submission, submissions), (ProblemRow, problems))
        ]
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
        for table, which in (
            (Vote, Vote.submission_id.in_(submissions)),
            (Submission, Submission.lease_id.in_(leases)),
            (schema.Draft, schema.Draft.lease_id.in_(leases)),
            (schema.Remark, schema.Remark.lease_id.in_(leases)),
            (schema.Event, or_(schema.Event.lease_id.in_(leases), schema.Event.worker_id.in_(people))),
            (Lease, Lease.id.in_(leases)),
            (schema.Adjudication, schema.Adjudication.problem_id.in_(problems)),
            (Task, Task.id.in_(tasks)),
            (ProblemRow, ProblemRow.id.in_(problems)),
            (schema.Group, (schema.Group.origin == schema.WRITTEN) & is_empty),
            (schema.QuizAttempt, schema.QuizAttempt.worker_id.in_(people)),
            (schema.Consent, schema.Consent.worker_id.in_(people)),
            (schema.Identity, schema.Identity.worker_id.in_(people)),
            (schema.PlatformVisit, schema.PlatformVisit.worker_id.in_(people) & is_unpaid),
            (schema.Invite, schema.Invite.worker_id.in_(people)),
            (Worker, Worker.pilot & ~Worker.id.in_(paid)),
        ):
            session.execute(delete(table).where(which), execution_options=UNSEEN)
        gone = {"state": schema.WITHDRAWN, "session_version": Worker.session_version + 1}
        session.execute(update(Worker).where(Worker.pilot).values(gone), execution_options=UNSEEN)
        counted = select(func.count()).where(Submission.task_id == Task.id, Submission.counted).scalar_subquery()
        held = select(func.count()).where(Lease.task_id == Task.id, IS_LIVE).scalar_subquery()
        recount = update(Task).where(Task.asked.is_not(None), or_(Task.accepted != counted, Task.held != held))
        session.execute(recount.values(accepted=counted, held=held), execution_options=UNSEEN)
        for number in others_problems:
            settle(session, study, session.get_one(ProblemRow, number))
        done = PilotRemoval(counts[0], counts[1], counts[2], owed)
        study.log(session, actor, "remove pilot", **vars(done))
    study.earlier = EarlierText()  # which remembers what was written
    return done
