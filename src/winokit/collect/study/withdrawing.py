"""Withdrawing: a worker's sentences and judgements are taken out, as the consent page promises; pay stays owed.

Texts, votes, drafts and signals are deleted, not marked. What remains is what the ledger hangs on: that something was
handed in, when, and what it earned. The places become free, so that others are asked instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, delete, func, or_, select, update
from sqlalchemy.orm import Session

from winokit.collect.study.quality import present_worker, release, take_out
from winokit.collect.study.schema import (
    WITHDRAWN,
    Draft,
    Event,
    Identity,
    Lease,
    Payment,
    ProblemRow,
    QuizAttempt,
    Submission,
    Task,
    Vote,
    Worker,
)

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

WHY = "withdrawn by the worker"
ERASED: dict[str, Any] = {
    "before": "(withdrawn by its author) ",
    "after": "",
    "candidates": ["(withdrawn)", "(erased)"],
    "pronoun": None,
    "labels": {},
    "withdrawn": True,
}
"""What stands in the place of a text; it is never exported."""


@dataclass(frozen=True)
class Withdrawal:
    """What was taken out, and what is still owed."""

    code: str
    judgements: int
    texts: int
    open_cents: int
    is_forgotten: bool
    """Nothing ties the code to a person any more. While a platform has to pay them, it must know whom."""


def withdraw(study: Study, code: str, actor: str) -> Withdrawal:
    """Take a worker out of the study; there is no way back."""
    with study.store.write() as session:
        worker = present_worker(session, code)
        # Leases before tasks, as when something is handed in, so that nobody waits in a circle.
        asked = select(Task.id).join(ProblemRow, ProblemRow.id == Task.problem_id)
        about_theirs = Lease.task_id.in_(asked.where(ProblemRow.author_id == worker.id))
        release(session, or_(Lease.worker_id == worker.id, about_theirs))
        for submission in session.scalars(_counted(worker.id)).all():
            take_out(study, session, submission, WHY, actor)
        judgements, texts = _erase(session, worker.id)
        worker.state, worker.state_why = WITHDRAWN, None
        worker.native_speaker = worker.has_seen_wsc = None
        worker.session_version += 1
        open_cents = session.scalar(_open(worker.id)) or 0
        is_forgotten = forget_if_paid(session, worker)
        study.log(session, actor, "withdraw", code, judgements=judgements, texts=texts)
    return Withdrawal(code, judgements, texts, int(open_cents), is_forgotten)


def forget_if_paid(session: Session, worker: Worker) -> bool:
    """Delete who a worker is who has withdrawn, unless something is owed; whether nothing is known now."""
    identity = session.get(Identity, worker.id)
    if identity is None:
        return True
    if worker.state != WITHDRAWN or session.scalar(_open(worker.id)):
        return False
    session.delete(identity)
    return True


def _counted(worker_id: int) -> Select[Submission]:
    return select(Submission).where(Submission.worker_id == worker_id, Submission.counted).order_by(Submission.task_id)


def _open(worker_id: int) -> Select[int]:
    return select(func.sum(Payment.cents)).where(Payment.worker_id == worker_id, Payment.settled_at.is_(None))


def _erase(session: Session, worker_id: int) -> tuple[int, int]:
    """Delete what a worker said and wrote; how many judgements and texts there were."""
    erase = update(ProblemRow).where(ProblemRow.author_id == worker_id).values(ERASED)
    texts = session.execute(erase.returning(ProblemRow.id)).all()
    votes = session.execute(delete(Vote).where(Vote.worker_id == worker_id).returning(Vote.id)).all()
    blank: dict[str, Any] = {"fields": {}, "adversary": None, "why_not": WHY}
    session.execute(update(Submission).where(Submission.worker_id == worker_id).values(blank))
    leases = select(Lease.id).where(Lease.worker_id == worker_id)
    session.execute(delete(Draft).where(Draft.lease_id.in_(leases)))
    session.execute(delete(Event).where(Event.worker_id == worker_id))
    session.execute(delete(QuizAttempt).where(QuizAttempt.worker_id == worker_id))
    return len(votes), len(texts)
