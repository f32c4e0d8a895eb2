"""Removing what a pilot has left behind, so that the study begins as if there had been none; but for the money.

What somebody earned in a pilot is owed and paid like anything else. So nothing is removed while a payout is under way,
or something is owed and nobody has said that it is written off; and what was paid stays in the ledger, under the code.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, func, or_, select, update

from winokit.collect.study import schema
from winokit.collect.study.refusals import NotNow
from winokit.collect.study.schema import Lease, Payment, PayoutJob, ProblemRow, Submission, Task, Vote, Worker
from winokit.collect.study.study import Study
from winokit.collect.study.validity import settle_problem
from winokit.collect.study.writing import EarlierText


@dataclass(frozen=True)
class PilotRemoval:
    """What was removed."""

    workers: int
    submissions: int
    problems: int
    written_off_cents: int


def remove_pilot_data(study: Study, actor: str = "system", *, write_off: bool = False) -> PilotRemoval:
    """Delete what people did in a pilot, and what others said about it; who was paid stays as a code in the ledger.

    Raises
    ------
    NotNow
        Something is owed, and is not to be written off; or a payout is under way.
    """
    with study.store.write(alone=True) as session:
        people = list(session.scalars(select(Worker.id).where(Worker.pilot).order_by(Worker.id).with_for_update()))
        is_open = (Payment.worker_id.in_(people), Payment.settled_at.is_(None))
        owed = int(session.scalar(select(func.sum(Payment.cents)).where(*is_open)) or 0)
        under_way = select(PayoutJob.id).where(PayoutJob.worker_id.in_(people), PayoutJob.state.in_(schema.UNDER_WAY))
        if session.scalar(under_way.limit(1)):
            raise NotNow("a payout to somebody of the pilot is under way; wait until it is confirmed")
        if owed and not write_off:
            amount = f"{owed / 100:,.2f} {study.config.pay.currency}"
            raise NotNow(f"{amount} are owed to people of the pilot; pay them first, or say that it is written off")
        session.execute(delete(Payment).where(*is_open))

        problems = list(session.scalars(select(ProblemRow.id).where(ProblemRow.author_id.in_(people))))
        groups = select(ProblemRow.group_id).where(ProblemRow.id.in_(problems), ProblemRow.group_id.is_not(None))
        group_ids = list(session.scalars(groups.distinct()))
        tasks = list(session.scalars(select(Task.id).where(Task.problem_id.in_(problems))))
        leases = list(session.scalars(select(Lease.id).where(_either(Lease, people, tasks))))
        theirs = list(session.scalars(select(Submission.id).where(_either(Submission, people, tasks))))
        shared = list(session.scalars(select(Lease.task_id).where(Lease.id.in_(leases), ~Lease.task_id.in_(tasks))))
        judged = select(Vote.problem_id).where(Vote.submission_id.in_(theirs), ~Vote.problem_id.in_(problems))
        others_problems = list(session.scalars(judged.distinct()))
        # What hangs on something goes before it; the ledger's lines only forget what they were for.
        session.execute(update(Payment).where(Payment.submission_id.in_(theirs)).values(submission_id=None))
        about_leases = (schema.Draft.lease_id.in_(leases), schema.Event.lease_id.in_(leases))
        for table, which in (
            (Vote, Vote.submission_id.in_(theirs)),
            (Submission, Submission.id.in_(theirs)),
            (schema.Draft, about_leases[0]),
            (schema.Event, or_(about_leases[1], schema.Event.worker_id.in_(people))),
            (Lease, Lease.id.in_(leases)),
            (schema.Adjudication, schema.Adjudication.problem_id.in_(problems)),
            (Task, Task.id.in_(tasks)),
            (ProblemRow, ProblemRow.id.in_(problems)),
            (schema.Group, schema.Group.id.in_(group_ids)),
            (schema.QuizAttempt, schema.QuizAttempt.worker_id.in_(people)),
            (schema.Identity, schema.Identity.worker_id.in_(people)),
            (schema.Invite, schema.Invite.worker_id.in_(people)),
        ):
            session.execute(delete(table).where(which))
        counted = select(func.count()).where(Submission.task_id == Task.id, Submission.counted).scalar_subquery()
        held = select(func.count()).where(Lease.task_id == Task.id, schema.IS_LIVE).scalar_subquery()
        recount = update(Task).where(Task.id.in_(shared), Task.asked.is_not(None))
        session.execute(recount.values(accepted=counted, held=held), execution_options={"synchronize_session": False})
        for row in session.scalars(select(ProblemRow).where(ProblemRow.id.in_(others_problems))).all():
            settle_problem(session, study.config, row)

        paid = select(Payment.worker_id).union(select(PayoutJob.worker_id))
        session.execute(delete(Worker).where(Worker.id.in_(people), ~Worker.id.in_(paid)))
        gone = {"state": schema.WITHDRAWN, "session_version": Worker.session_version + 1}
        session.execute(update(Worker).where(Worker.id.in_(people)).values(gone))
        done = PilotRemoval(len(people), len(theirs), len(problems), owed)
        study.log(session, actor, "remove pilot", **vars(done))
    study.earlier = EarlierText()  # which remembers what was written
    return done


def _either(table: type[Lease | Submission], people: list[int], tasks: list[int]) -> ColumnElement[bool]:
    """What somebody of the pilot has or handed in, or what is about their problems."""
    return or_(table.worker_id.in_(people), table.task_id.in_(tasks))
