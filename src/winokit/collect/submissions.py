"""Handing in: what a worker sends is stored, counted if there is a place for it, paid, and acted upon.

Handing in the same task again changes nothing and gives the first receipt again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from winokit.collect import adversary, ledger, quality, writing
from winokit.collect.forms import Ballot, Twins, read_ballot, read_twins
from winokit.collect.preparing import add_judgements, gold_answer
from winokit.collect.problems import Origin, to_problem, to_row
from winokit.collect.schema import (
    ACTIVE,
    FROM_BLOCKED,
    IS_FREE,
    LATE,
    LIVE,
    SUBMITTED,
    VALIDATE,
    WRITE,
    WRITTEN,
    Draft,
    Event,
    Group,
    Lease,
    Payment,
    ProblemRow,
    Submission,
    Task,
    Vote,
    Worker,
)
from winokit.collect.tasks import count_places, own_lease
from winokit.collect.validity import settle_problem
from winokit.collect.views import vote_view
from winokit.collect.workers import locked
from winokit.collect.writing import special_words

if TYPE_CHECKING:
    from winokit.collect.study import Study


@dataclass(frozen=True)
class Receipt:
    """What became of a submission."""

    submission_id: int
    kind: str
    counted: bool
    late: bool
    cents: int
    message: str
    replayed: bool = False


def submit(study: Study, worker_id: int, token: str, fields: Mapping[str, Any]) -> Receipt:
    """Hand in a task. A form that cannot be taken raises Incomplete, and nothing is stored."""
    with study.store.write() as session:
        hand = _Hand.of(session, worker_id, token)
        if hand.receipt is not None:
            return hand.receipt
        if hand.task.kind != WRITE:
            row = session.get_one(ProblemRow, hand.task.problem_id)  # kept at hand, or it would be read again
            shown = vote_view(study.config, hand.lease, row)
            return _handed_in(study, session, hand, read_ballot(shown, fields))
    twins = read_twins(fields)
    writing.refuse_broken(study, twins, hand.task.domain)
    # The model is asked between two transactions, so that nobody waits for it.
    verdict = adversary.ask_about(study, twins)
    with study.store.write() as session:
        hand = _Hand.of(session, worker_id, token)
        return hand.receipt or _handed_in(study, session, hand, twins, verdict)


@dataclass(frozen=True)
class _Hand:
    """A worker with a task in hand, kept from other transactions; and the receipt, if it was handed in before."""

    worker: Worker
    lease: Lease
    task: Task
    receipt: Receipt | None

    @classmethod
    def of(cls, session: Session, worker_id: int, token: str) -> _Hand:
        worker = locked(session, worker_id)
        lease = own_lease(session, worker_id, token, for_update=True)
        return cls(worker, lease, session.get_one(Task, lease.task_id), _receipt_of(session, lease))


def _handed_in(
    study: Study, session: Session, hand: _Hand, content: Ballot | Twins, verdict: adversary.Verdict | None = None
) -> Receipt:
    lease, task = hand.lease, hand.task
    late = lease.state != LIVE or lease.expires_at <= study.now()
    why_not = _why_not_counted(session, hand)
    lease.state = SUBMITTED
    submission = Submission(
        lease_id=lease.id,
        task_id=task.id,
        worker_id=hand.worker.id,
        kind=task.kind,
        fields=content.to_json(),
        counted=why_not is None,
        why_not=why_not,
        late=late,
        seconds=(study.now() - lease.leased_at).total_seconds(),
        pasted=_pasted(session, lease.id) if isinstance(content, Twins) else 0,
        adversary=verdict.to_json() if verdict else None,
        submitted_at=study.now(),
    )
    session.add(submission)
    session.flush()
    if isinstance(content, Ballot):
        _add_vote(study, session, submission, task, content)
    else:
        session.execute(delete(Draft).where(Draft.lease_id == lease.id))
        if submission.counted:
            _add_twins(study, session, submission, task, content)
    cents = ledger.pay(session, study, submission)
    return Receipt(submission.id, task.kind, submission.counted, late, cents, _message(submission))


def _receipt_of(session: Session, lease: Lease) -> Receipt | None:
    """The receipt of what was handed in before."""
    if lease.state != SUBMITTED:
        return None
    submission = session.scalars(select(Submission).where(Submission.lease_id == lease.id)).one()
    paid = select(func.sum(Payment.cents)).where(Payment.submission_id == submission.id)
    cents = int(session.scalar(paid) or 0)
    told = (submission.counted, submission.late, cents, _message(submission))
    return Receipt(submission.id, submission.kind, *told, replayed=True)


def _message(submission: Submission) -> str:
    if submission.counted:
        return "Thank you, your work is in."
    if submission.why_not == LATE:
        return "Thank you. Somebody else was given this task in the meantime, so your work is kept but not counted."
    return "Your work is kept but not counted."


def _why_not_counted(session: Session, hand: _Hand) -> str | None:
    """Take the place that a submission counts in, or say why it has none."""
    worker, lease, task = hand.worker, hand.lease, hand.task
    held = lease.state == LIVE  # also after its time, as long as nobody has ended it: then nobody else has the place
    if worker.state != ACTIVE:
        count_places(session, task.id, held=-int(held))
        return FROM_BLOCKED
    if held or task.asked is None:
        count_places(session, task.id, held=-int(held), accepted=1)
        return None
    free = update(Task).where(Task.id == task.id, IS_FREE)
    taken = session.execute(free.values(accepted=Task.accepted + 1).returning(Task.id)).scalar()
    return None if taken is not None else LATE


def _pasted(session: Session, lease_id: int) -> int:
    return session.scalar(select(func.sum(Event.amount)).where(Event.lease_id == lease_id, Event.kind == "paste")) or 0


def _add_vote(study: Study, session: Session, submission: Submission, task: Task, ballot: Ballot) -> None:
    row = session.get_one(ProblemRow, task.problem_id)
    known = gold_answer(to_problem(row), task.kind) if task.gold else None
    vote = Vote(
        submission_id=submission.id,
        task_id=task.id,
        problem_id=row.id,
        worker_id=submission.worker_id,
        kind=task.kind,
        choice=ballot.choice,
        equally_plausible=ballot.equally_plausible,
        local_decides=ballot.local_decides,
        counted=submission.counted,
        gold=task.gold,
        is_right=ballot.choice == known if task.gold else None,
        at=study.now(),
    )
    session.add(vote)
    session.flush()
    if task.gold:
        quality.after_gold(study, session, submission.worker_id)
    elif vote.counted and task.kind == VALIDATE:
        settle_problem(session, study.config, row)


def _add_twins(study: Study, session: Session, submission: Submission, task: Task, twins: Twins) -> None:
    """Store the two problems and ask others about them."""
    group = Group(origin=WRITTEN)
    session.add(group)
    session.flush()
    origin = Origin(WRITTEN, study.now(), group.id, submission.worker_id, submission.id)
    pair = twins.problems(task.domain)
    words = special_words(*twins.texts)
    for problem, special_word in zip(pair, words, strict=True):
        labels = {"topic": (task.topic or {}).get("topic", ""), "special_word": special_word}
        labelled = problem.with_labels(**{key: value for key, value in labels.items() if value})
        row = to_row(labelled, origin)
        session.add(row)
        session.flush()
        add_judgements(session, study, row, labelled)
