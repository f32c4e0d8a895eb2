"""What a requester does about work and workers: blocks, discards, decisions over votes, withdrawals.

A worker who withdraws has their sentences and judgements taken out, as the consent page promises; pay stays owed.
Texts, votes, remarks, drafts and signals are deleted, not marked. What remains is what the ledger hangs on: that
something was handed in, when, and what it earned. The places become free, so that others are asked instead.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, delete, func, or_, select, update
from sqlalchemy.orm import Session

from winokit_collect.study import schema
from winokit_collect.study.gold import gold_score, settle
from winokit_collect.study.refusals import NotNow, found
from winokit_collect.study.store import retried
from winokit_collect.study.study import Study
from winokit_collect.study.tasks import count_places, end_leases
from winokit_collect.study.workers import by_code, forget_visits

WITHDREW = "withdrawn by the worker"
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


def check_gold(study: Study, session: Session, worker_id: int) -> None:
    """Block a worker who fails too many gold questions, if the study does so by itself."""
    asked = study.config.quality
    seen, right = gold_score(session, worker_id)
    if asked.block_by_gold and seen >= asked.gold_least_seen and right < asked.gold_least_accuracy * seen:
        worker = session.get_one(schema.Worker, worker_id)
        if worker.state == schema.ACTIVE:
            why = f"{right} of {seen} gold questions right"
            _block(study, session, worker, why, "system")
            if asked.discard_blocked:
                _take_out_all(study, session, worker.id, f"{schema.WITH_WORKER}{why}", "system", kinds=schema.VOTES)


@retried
def block(study: Study, code: str, why: str, actor: str, *, discard_work: bool = False) -> None:
    """Give a worker no more tasks and free what they hold; if asked, take out all they have handed in."""
    with study.store.write() as session:
        worker = _present_worker(session, code)
        _block(study, session, worker, why, actor)
        if discard_work:
            _take_out_all(study, session, worker.id, f"{schema.WITH_WORKER}{why}", actor)


@retried
def discard_votes(study: Study, code: str, actor: str) -> int:
    """Take out a blocked worker's votes; how many that were. Others are asked."""
    with study.store.write() as session:
        worker = _present_worker(session, code)
        if worker.state != schema.BLOCKED:
            raise NotNow(f"{code} is not blocked; block them first")
        why = f"{schema.WITH_WORKER}{worker.state_why or 'blocked'}"
        return _take_out_all(study, session, worker.id, why, actor, kinds=schema.VOTES)


def blocked_votes(study: Study) -> dict[str, int]:
    """Votes of each blocked worker that still decide something, by code."""
    counted = (schema.Vote.counted, ~schema.Vote.gold, schema.Worker.state == schema.BLOCKED)
    query = select(schema.Worker.code, func.count()).join(schema.Vote, schema.Vote.worker_id == schema.Worker.id)
    query = query.where(*counted).group_by(schema.Worker.id, schema.Worker.code).order_by(schema.Worker.id)
    with study.store.read() as session:
        return {code: int(count) for code, count in session.execute(query)}


def unblock(study: Study, code: str, actor: str) -> None:
    """Let a worker work again."""
    with study.store.write() as session:
        worker = _present_worker(session, code)
        worker.state = schema.ACTIVE
        worker.state_why = None
        study.log(session, actor, "unblock", code)


@retried
def discard(study: Study, submission_id: int, why: str, actor: str) -> None:
    """Take a submission out: it stays stored and paid, no longer counts, and its place is asked for again."""
    with study.store.write() as session:
        row = session.get(schema.Submission, submission_id, with_for_update=True)
        submission = found(row, f"no submission {submission_id}")
        if submission.counted:
            _take_out(study, session, submission, why, actor)


@retried
def adjudicate(study: Study, problem_id: int, valid: bool | None, note: str, requester: str) -> None:
    """Decide over the votes on a problem, or take such a decision back."""
    with study.store.write() as session:
        kept = {"key_share": True}  # from a last vote, and from another who decides at the same moment
        row = found(session.get(schema.ProblemRow, problem_id, with_for_update=kept), f"no problem {problem_id}")
        session.add(
            schema.Adjudication(
                problem_id=problem_id, requester=requester, valid=valid, note=note[:1000], at=study.now()
            )
        )
        session.flush()
        settle(session, study, row)
        study.log(session, f"requester:{requester}", "adjudicate", row.public_id, valid=valid)


def _block(study: Study, session: Session, worker: schema.Worker, why: str, actor: str) -> None:
    worker.state = schema.BLOCKED
    worker.state_why = why[:500]
    end_leases(session, schema.RELEASED, schema.Lease.worker_id == worker.id)
    study.log(session, actor, "block", worker.code, why=why[:500])


def _take_out(study: Study, session: Session, submission: schema.Submission, why: str, actor: str) -> None:
    """Let a submission count no more, with what hangs on it: its place is free, and what was written is withdrawn."""
    submission.counted, submission.why_not = False, f"{schema.DISCARDED}{why}"[:500]
    count_places(session, submission.task_id, accepted=-1)
    vote = session.scalar(select(schema.Vote).where(schema.Vote.submission_id == submission.id))
    if vote is not None:
        vote.counted = False
        if vote.doubted:  # somebody else was asked in its place already
            _ask_one_fewer(session, submission.task_id)
            vote.doubted = False
        session.flush()
        if not vote.gold:
            settle(session, study, session.get_one(schema.ProblemRow, vote.problem_id))
    written = session.scalars(select(schema.ProblemRow).where(schema.ProblemRow.submission_id == submission.id)).all()
    # Tasks before problems, as a last vote does, so that nobody waits in a circle.
    about = (schema.Task.problem_id.in_([row.id for row in written]), schema.Task.asked.is_not(None))
    for task in session.scalars(select(schema.Task).where(*about).order_by(schema.Task.id).with_for_update()):
        task.asked = task.accepted + task.held  # nobody new is asked about it
    for row in written:
        row.withdrawn = True
        settle(session, study, row)
    study.log(session, actor, "discard", str(submission.id), why=why[:500])


def _ask_one_fewer(session: Session, task_id: int) -> None:
    lowered = update(schema.Task).where(schema.Task.id == task_id).values(asked=schema.Task.asked - 1)
    session.execute(lowered)


def _take_out_all(
    study: Study, session: Session, worker_id: int, why: str, actor: str, *, kinds: Collection[str] | None = None
) -> int:
    """Take out submissions of a worker, all or some kinds; how many that were."""
    query = select(schema.Submission).where(schema.Submission.worker_id == worker_id, schema.Submission.counted)
    if kinds is not None:
        query = query.where(schema.Submission.kind.in_(kinds))
    submissions = session.scalars(query.order_by(schema.Submission.task_id)).all()
    for submission in submissions:
        _take_out(study, session, submission, why, actor)
    return len(submissions)


def _present_worker(session: Session, code: str) -> schema.Worker:
    """A worker who has not withdrawn, kept from other transactions."""
    worker = by_code(session, code, for_update=True)
    if worker.state == schema.WITHDRAWN:
        raise NotNow(f"{code} has withdrawn")
    return worker


@retried
def withdraw(study: Study, code: str, actor: str) -> Withdrawal:
    """Take a worker out of the study; there is no way back."""
    with study.store.write() as session:
        worker = _present_worker(session, code)
        # Leases before tasks, as when something is handed in, so that nobody waits in a circle.
        asked = select(schema.Task.id).join(schema.ProblemRow, schema.ProblemRow.id == schema.Task.problem_id)
        about_theirs = schema.Lease.task_id.in_(asked.where(schema.ProblemRow.author_id == worker.id))
        end_leases(session, schema.RELEASED, or_(schema.Lease.worker_id == worker.id, about_theirs))
        _take_out_all(study, session, worker.id, WITHDREW, actor)
        judgements, texts = _erase(session, worker.id)
        worker.state = schema.WITHDRAWN
        worker.state_why = None
        worker.native_speaker = worker.has_seen_wsc = None
        worker.session_version += 1
        open_cents = session.scalar(_open(worker.id)) or 0
        is_forgotten = forget_if_paid(session, worker)
        study.log(session, actor, "withdraw", code, judgements=judgements, texts=texts)
    return Withdrawal(code, judgements, texts, int(open_cents), is_forgotten)


def forget_if_paid(session: Session, worker: schema.Worker) -> bool:
    """Delete who a worker is who has withdrawn, unless something is owed; whether nothing is known now."""
    if worker.state != schema.WITHDRAWN or session.scalar(_open(worker.id)):
        return session.get(schema.Identity, worker.id) is None
    session.execute(delete(schema.Identity).where(schema.Identity.worker_id == worker.id))
    forget_visits(session, schema.PlatformVisit.worker_id == worker.id)
    return True


def _open(worker_id: int) -> Select[int]:
    return select(func.sum(schema.Payment.cents)).where(
        schema.Payment.worker_id == worker_id, schema.Payment.settled_at.is_(None)
    )


def _erase(session: Session, worker_id: int) -> tuple[int, int]:
    """Delete what a worker said and wrote; how many judgements and texts there were."""
    erase = update(schema.ProblemRow).where(schema.ProblemRow.author_id == worker_id).values(ERASED)
    texts = session.execute(erase.returning(schema.ProblemRow.id)).all()
    votes = session.execute(
        delete(schema.Vote).where(schema.Vote.worker_id == worker_id).returning(schema.Vote.id)
    ).all()
    blank: dict[str, Any] = {"fields": {}, "adversary": None, "history": [], "why_not": WITHDREW}
    session.execute(update(schema.Submission).where(schema.Submission.worker_id == worker_id).values(blank))
    leases = select(schema.Lease.id).where(schema.Lease.worker_id == worker_id)
    session.execute(delete(schema.Draft).where(schema.Draft.lease_id.in_(leases)))
    # What others said about a sentence may have it word for word.
    theirs = schema.Remark.problem_id.in_([row.id for row in texts])
    session.execute(delete(schema.Remark).where(or_(schema.Remark.worker_id == worker_id, theirs)))
    for signals in (schema.Event, schema.QuizAttempt):
        session.execute(delete(signals).where(signals.worker_id == worker_id))
    return len(votes), len(texts)
