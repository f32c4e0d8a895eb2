"""Blocks, discarded work, decisions on problems, and withdrawals.

When a worker withdraws, their sentences and judgements are taken out, as the consent page promises, and their pay
stays owed. Texts, votes, remarks, drafts and signals are deleted. The ledger needs the rest: that something was
handed in, when, and what it earned. The places in tasks become free, so that others are asked instead.
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
"""Values that replace a deleted text. They are never exported."""


@dataclass(frozen=True)
class Withdrawal:
    """Result of a worker's withdrawal.

    The numbers of deleted judgements and texts, and the amount still owed.
    """

    code: str
    judgements: int
    texts: int
    open_cents: int
    is_forgotten: bool
    """Whether nothing ties the code to a person any more. While something is owed, the platform must know their
    name."""


def check_gold(study: Study, session: Session, worker_id: int) -> None:
    """Block a worker who fails too many gold questions.

    Only if the study's settings block automatically. They also say whether the worker's votes are then discarded.
    """
    settings = study.config.quality
    seen_count, right_count = gold_score(session, worker_id)
    is_failing = seen_count >= settings.gold_least_seen and right_count < settings.gold_least_accuracy * seen_count
    if not settings.block_by_gold or not is_failing:
        return
    worker = session.get_one(schema.Worker, worker_id)
    if worker.state != schema.ACTIVE:
        return
    reason = f"{right_count} of {seen_count} gold questions right"
    _block_worker(study, session, worker, reason, "system")
    if settings.discard_blocked:
        _discard_all(study, session, worker.id, f"{schema.WITH_WORKER}{reason}", "system", kinds=schema.VOTES)


@retried
def block(study: Study, code: str, why: str, actor: str, *, discard_work: bool = False) -> None:
    """Block a worker: they get no more tasks, and their leases end.

    With `discard_work`, everything they have handed in stops counting too. `why` is stored, `actor` is named in the
    audit log.
    """
    with study.store.write() as session:
        worker = _find_present_worker(session, code)
        _block_worker(study, session, worker, why, actor)
        if discard_work:
            _discard_all(study, session, worker.id, f"{schema.WITH_WORKER}{why}", actor)


@retried
def discard_votes(study: Study, code: str, actor: str) -> int:
    """Discard all votes of a blocked worker, so that others are asked instead.

    Returns the number of votes. Raises NotNow if the worker is not blocked.
    """
    with study.store.write() as session:
        worker = _find_present_worker(session, code)
        if worker.state != schema.BLOCKED:
            raise NotNow(f"{code} is not blocked; block them first")
        reason = f"{schema.WITH_WORKER}{worker.state_why or 'blocked'}"
        return _discard_all(study, session, worker.id, reason, actor, kinds=schema.VOTES)


def blocked_votes(study: Study) -> dict[str, int]:
    """Number of counting votes of each blocked worker, by the worker's code.

    Gold questions and workers without such votes are left out.
    """
    counted = (schema.Vote.counted, ~schema.Vote.gold, schema.Worker.state == schema.BLOCKED)
    query = select(schema.Worker.code, func.count()).join(schema.Vote, schema.Vote.worker_id == schema.Worker.id)
    query = query.where(*counted).group_by(schema.Worker.id, schema.Worker.code).order_by(schema.Worker.id)
    with study.store.read() as session:
        return {code: int(count) for code, count in session.execute(query)}


def unblock(study: Study, code: str, actor: str) -> None:
    """Let a blocked worker work again.

    Whatever their state was, they are active again. Work that was discarded stays so. Raises NotNow if they have
    withdrawn.
    """
    with study.store.write() as session:
        worker = _find_present_worker(session, code)
        worker.state = schema.ACTIVE
        worker.state_why = None
        study.log(session, actor, "unblock", code)


@retried
def discard(study: Study, submission_id: int, why: str, actor: str) -> None:
    """Discard a submission, so that somebody else is asked instead.

    It stays stored and paid, but no longer counts. `why` is the reason that its worker reads. Does nothing if it does
    not count already.
    """
    with study.store.write() as session:
        row = session.get(schema.Submission, submission_id, with_for_update=True)
        submission = found(row, f"no submission {submission_id}")
        if submission.counted:
            _discard_submission(study, session, submission, why, actor)


@retried
def adjudicate(study: Study, problem_id: int, valid: bool | None, note: str, requester: str) -> None:
    """Store a requester's decision on a problem, which overrules its votes.

    `valid` is None to withdraw an earlier decision, after which the votes decide again.
    """
    with study.store.write() as session:
        # A last vote, or somebody else who decides at the same moment, waits for this lock.
        lock = {"key_share": True}
        stored_row = session.get(schema.ProblemRow, problem_id, with_for_update=lock)
        row = found(stored_row, f"no problem {problem_id}")
        decision = schema.Adjudication(problem_id=problem_id, requester=requester, valid=valid, note=note[:1000])
        decision.at = study.now()
        session.add(decision)
        session.flush()
        settle(session, study, row)
        study.log(session, f"requester:{requester}", "adjudicate", row.public_id, valid=valid)


def _block_worker(study: Study, session: Session, worker: schema.Worker, why: str, actor: str) -> None:
    """Mark a worker as blocked and end their leases."""
    worker.state = schema.BLOCKED
    worker.state_why = why[:500]
    end_leases(session, schema.RELEASED, schema.Lease.worker_id == worker.id)
    study.log(session, actor, "block", worker.code, why=why[:500])


def _discard_submission(study: Study, session: Session, submission: schema.Submission, why: str, actor: str) -> None:
    """Discard one submission, and free its place in the task.

    It no longer counts. Problems written in it are withdrawn, and nobody new is asked about them.
    """
    submission.counted = False
    submission.why_not = f"{schema.DISCARDED}{why}"[:500]
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
    is_written_in_it = schema.ProblemRow.submission_id == submission.id
    written_rows = session.scalars(select(schema.ProblemRow).where(is_written_in_it)).all()
    # Tasks before problems, as a last vote does, so that nobody waits in a circle.
    conditions = (schema.Task.problem_id.in_([row.id for row in written_rows]), schema.Task.asked.is_not(None))
    for task in session.scalars(select(schema.Task).where(*conditions).order_by(schema.Task.id).with_for_update()):
        task.asked = task.accepted + task.held  # nobody new is asked about it
    for row in written_rows:
        row.withdrawn = True
        settle(session, study, row)
    study.log(session, actor, "discard", str(submission.id), why=why[:500])


def _ask_one_fewer(session: Session, task_id: int) -> None:
    """Lower the number of submissions that a task asks for by one."""
    lowered = update(schema.Task).where(schema.Task.id == task_id).values(asked=schema.Task.asked - 1)
    session.execute(lowered)


def _discard_all(
    study: Study, session: Session, worker_id: int, why: str, actor: str, *, kinds: Collection[str] | None = None
) -> int:
    """Discard the counting submissions of a worker, of all kinds or of `kinds`.

    Returns their number.
    """
    query = select(schema.Submission).where(schema.Submission.worker_id == worker_id, schema.Submission.counted)
    if kinds is not None:
        query = query.where(schema.Submission.kind.in_(kinds))
    submissions = session.scalars(query.order_by(schema.Submission.task_id)).all()
    for submission in submissions:
        _discard_submission(study, session, submission, why, actor)
    return len(submissions)


def _find_present_worker(session: Session, code: str) -> schema.Worker:
    """Find a worker by code and lock the row.

    Raises NotNow if the worker has withdrawn.
    """
    worker = by_code(session, code, for_update=True)
    if worker.state == schema.WITHDRAWN:
        raise NotNow(f"{code} has withdrawn")
    return worker


@retried
def withdraw(study: Study, code: str, actor: str) -> Withdrawal:
    """Delete a worker's texts and judgements, and end their participation.

    What they earned stays owed. Their identity on the platform is deleted as soon as nothing is owed.
    """
    with study.store.write() as session:
        worker = _find_present_worker(session, code)
        # Leases before tasks, as when something is handed in, so that nobody waits in a circle.
        judging_tasks = select(schema.Task.id).join(schema.ProblemRow, schema.ProblemRow.id == schema.Task.problem_id)
        about_theirs = schema.Lease.task_id.in_(judging_tasks.where(schema.ProblemRow.author_id == worker.id))
        end_leases(session, schema.RELEASED, or_(schema.Lease.worker_id == worker.id, about_theirs))
        _discard_all(study, session, worker.id, WITHDREW, actor)
        judgements, texts = _erase_work(session, worker.id)
        worker.state = schema.WITHDRAWN
        worker.state_why = None
        worker.native_speaker = worker.has_seen_wsc = None
        worker.session_version += 1
        open_cents = session.scalar(_select_open_cents(worker.id)) or 0
        is_forgotten = forget_if_paid(session, worker)
        study.log(session, actor, "withdraw", code, judgements=judgements, texts=texts)
    return Withdrawal(code, judgements, texts, int(open_cents), is_forgotten)


def forget_if_paid(session: Session, worker: schema.Worker) -> bool:
    """Delete a withdrawn worker's identity, unless something is owed to them.

    Returns whether nothing ties the worker's code to a person any more. Nothing is deleted for a worker who has not
    withdrawn.
    """
    if worker.state != schema.WITHDRAWN or session.scalar(_select_open_cents(worker.id)):
        return session.get(schema.Identity, worker.id) is None
    session.execute(delete(schema.Identity).where(schema.Identity.worker_id == worker.id))
    forget_visits(session, schema.PlatformVisit.worker_id == worker.id)
    return True


def _select_open_cents(worker_id: int) -> Select[int]:
    """Query of the amount not yet paid to a worker.

    Null if there is no such line of the ledger, however much they earned and were paid.
    """
    is_open = (schema.Payment.worker_id == worker_id, schema.Payment.settled_at.is_(None))
    return select(func.sum(schema.Payment.cents)).where(*is_open)


def _erase_work(session: Session, worker_id: int) -> tuple[int, int]:
    """Delete a worker's votes, texts, drafts and remarks.

    Their problems stay as rows with a placeholder as text. Others' remarks on the texts, and the worker's quiz answers
    and signals, are deleted too. Returns the numbers of votes and of texts.
    """
    erase = update(schema.ProblemRow).where(schema.ProblemRow.author_id == worker_id).values(ERASED)
    texts = session.execute(erase.returning(schema.ProblemRow.id)).all()
    delete_votes = delete(schema.Vote).where(schema.Vote.worker_id == worker_id)
    votes = session.execute(delete_votes.returning(schema.Vote.id)).all()
    blank: dict[str, Any] = {"fields": {}, "adversary": None, "history": [], "why_not": WITHDREW}
    empty_forms = update(schema.Submission).where(schema.Submission.worker_id == worker_id).values(blank)
    session.execute(empty_forms)
    leases = select(schema.Lease.id).where(schema.Lease.worker_id == worker_id)
    session.execute(delete(schema.Draft).where(schema.Draft.lease_id.in_(leases)))
    # What others said about a sentence may have it word for word.
    is_about_text = schema.Remark.problem_id.in_([row.id for row in texts])
    is_own = schema.Remark.worker_id == worker_id
    session.execute(delete(schema.Remark).where(or_(is_own, is_about_text)))
    for signals in (schema.Event, schema.QuizAttempt):
        session.execute(delete(signals).where(signals.worker_id == worker_id))
    return len(votes), len(texts)
