"""Watching over quality: gold questions, agreement with others, haste and pasting; blocks, discards, adjudication."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from winokit.collect.study.refusals import NotFound, NotNow
from winokit.collect.study.schema import (
    ACTIVE,
    BLOCKED,
    LIVE,
    RELEASED,
    WITHDRAWN,
    WRITE,
    Adjudication,
    Lease,
    Payment,
    ProblemRow,
    Submission,
    Task,
    Vote,
    Worker,
)
from winokit.collect.study.tasks import count_places
from winokit.collect.study.validity import settle_problem

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

FEW = 5
"""Fewer votes than this say nothing about a worker."""
LOW_AGREEMENT = 0.6
OFTEN = 0.2
"""A share of hasty submissions, or of pasted texts, from which on a worker is marked."""
PASTED = 40
"""Characters from the clipboard from which on a text counts as pasted: more than a name or a word."""


@dataclass(frozen=True)
class WorkerQuality:
    """What is known about one worker's work."""

    code: str
    state: str
    submissions: int
    votes: int
    agreement: float | None
    """Share of their votes that are those of most others on the same problem; None below five such votes."""
    gold_seen: int
    gold_right: int
    median_seconds: float | None
    hasty: int
    pasted: int
    earned_cents: int
    flags: tuple[str, ...] = field(default=())


def after_gold(study: Study, session: Session, worker_id: int) -> None:
    """Block a worker who fails too many gold questions, if the study does so by itself."""
    asked = study.config.quality
    query = select(func.count(), func.count().filter(Vote.is_right.is_(True))).where(
        Vote.worker_id == worker_id, Vote.gold
    )
    seen, right = session.execute(query).one()
    if asked.block_by_gold and seen >= asked.gold_least_seen and right < asked.gold_least_accuracy * seen:
        worker = session.get_one(Worker, worker_id)
        if worker.state == ACTIVE:
            _block(study, session, worker, f"{right} of {seen} gold questions right", "system")


def workers(study: Study) -> list[WorkerQuality]:
    """Everybody who has joined, in that order, those who have withdrawn included."""
    with study.store.read() as session:
        people = session.scalars(select(Worker).order_by(Worker.id)).all()
        handed_in: dict[int, list[Submission]] = defaultdict(list)
        for submission in session.scalars(select(Submission)):
            handed_in[submission.worker_id].append(submission)
        votes = session.scalars(select(Vote)).all()
        query = select(Payment.worker_id, func.sum(Payment.cents)).group_by(Payment.worker_id)
        earned = {worker: int(cents) for worker, cents in session.execute(query)}
    agreement = agreement_with_others(votes)
    gold: dict[int, list[bool]] = defaultdict(list)
    for vote in votes:
        if vote.gold:
            gold[vote.worker_id].append(bool(vote.is_right))
    return [
        _quality(
            study, person, handed_in[person.id], agreement.get(person.id), gold[person.id], earned.get(person.id, 0)
        )
        for person in people
    ]


def _quality(
    study: Study,
    worker: Worker,
    handed_in: Sequence[Submission],
    agreement: tuple[int, int] | None,
    gold: Sequence[bool],
    earned: int,
) -> WorkerQuality:
    asked = study.config.quality
    hasty = sum(
        one.seconds < (asked.fast_write_seconds if one.kind == WRITE else asked.fast_vote_seconds) for one in handed_in
    )
    pasted = sum(one.pasted >= PASTED for one in handed_in)
    agreed = agreement[0] / agreement[1] if agreement and agreement[1] >= FEW else None
    flags = []
    if len(gold) >= FEW and sum(gold) < asked.gold_least_accuracy * len(gold):
        flags.append("fails gold questions")
    if agreed is not None and agreed < LOW_AGREEMENT:
        flags.append("disagrees with others")
    if len(handed_in) >= FEW and hasty > OFTEN * len(handed_in):
        flags.append("hasty")
    if pasted and pasted > OFTEN * sum(one.kind == WRITE for one in handed_in):
        flags.append("pastes texts")
    return WorkerQuality(
        worker.code,
        worker.state,
        len(handed_in),
        sum(one.kind != WRITE for one in handed_in),
        agreed,
        len(gold),
        sum(gold),
        median(one.seconds for one in handed_in) if handed_in else None,
        hasty,
        pasted,
        earned,
        tuple(flags),
    )


def agreement_with_others(votes: Sequence[Vote]) -> dict[int, tuple[int, int]]:
    """For each worker: how many votes are those of most others on the same problem, of how many with such a most."""
    by_task: dict[int, list[Vote]] = defaultdict(list)
    for vote in votes:
        if vote.counted and not vote.gold:
            by_task[vote.task_id].append(vote)
    found: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for together in by_task.values():
        for vote in together:
            others = Counter(other.choice for other in together if other is not vote).most_common(2)
            if others and (len(others) == 1 or others[0][1] > others[1][1]):
                found[vote.worker_id][0] += vote.choice == others[0][0]
                found[vote.worker_id][1] += 1
    return {worker: (agreed, of) for worker, (agreed, of) in found.items()}


def block(study: Study, code: str, why: str, actor: str, *, discard_work: bool = False) -> None:
    """Give a worker no more tasks and free what they hold; if asked, take out all they have handed in."""
    with study.store.write() as session:
        worker = present_worker(session, code)
        _block(study, session, worker, why, actor)
        if discard_work:
            query = select(Submission).where(Submission.worker_id == worker.id, Submission.counted)
            for submission in session.scalars(query.order_by(Submission.task_id)).all():
                take_out(study, session, submission, f"worker blocked: {why}", actor)


def unblock(study: Study, code: str, actor: str) -> None:
    """Let a worker work again."""
    with study.store.write() as session:
        worker = present_worker(session, code)
        worker.state, worker.state_why = ACTIVE, None
        study.log(session, actor, "unblock", code)


def discard(study: Study, submission_id: int, why: str, actor: str) -> None:
    """Take a submission out: it stays stored and paid, no longer counts, and its place is asked for again."""
    with study.store.write() as session:
        submission = session.get(Submission, submission_id, with_for_update=True)
        if submission is None:
            raise NotFound(f"no submission {submission_id}")
        if submission.counted:
            take_out(study, session, submission, why, actor)


def adjudicate(study: Study, problem_id: int, valid: bool | None, note: str, requester: str) -> None:
    """Decide over the votes on a problem, or take such a decision back."""
    with study.store.write() as session:
        row = session.get(ProblemRow, problem_id)
        if row is None:
            raise NotFound(f"no problem {problem_id}")
        session.add(
            Adjudication(problem_id=problem_id, requester=requester, valid=valid, note=note[:1000], at=study.now())
        )
        session.flush()
        settle_problem(session, study.config, row)
        study.log(session, f"requester:{requester}", "adjudicate", row.public_id, valid=valid)


def _block(study: Study, session: Session, worker: Worker, why: str, actor: str) -> None:
    worker.state, worker.state_why = BLOCKED, why[:500]
    release(session, Lease.worker_id == worker.id)
    study.log(session, actor, "block", worker.code, why=why[:500])


def release(session: Session, *which: ColumnElement[bool]) -> None:
    """End some leases and free their places."""
    query = select(Lease).where(Lease.state == LIVE, *which).order_by(Lease.task_id).with_for_update()
    for lease in session.scalars(query):
        lease.state = RELEASED
        count_places(session, lease.task_id, held=-1)


def take_out(study: Study, session: Session, submission: Submission, why: str, actor: str) -> None:
    """Let a submission count no more, with what hangs on it: its place is free, and what was written is withdrawn."""
    submission.counted, submission.why_not = False, f"discarded: {why}"[:500]
    count_places(session, submission.task_id, accepted=-1)
    vote = session.scalar(select(Vote).where(Vote.submission_id == submission.id))
    if vote is not None:
        vote.counted = False
        session.flush()
        if not vote.gold:
            settle_problem(session, study.config, session.get_one(ProblemRow, vote.problem_id))
    written = session.scalars(select(ProblemRow).where(ProblemRow.submission_id == submission.id)).all()
    for row in written:
        row.withdrawn = True
        for task in session.scalars(select(Task).where(Task.problem_id == row.id).with_for_update()):
            task.asked = task.accepted + task.held  # nobody new is asked about it
    study.log(session, actor, "discard", str(submission.id), why=why[:500])


def present_worker(session: Session, code: str) -> Worker:
    """A worker who has not withdrawn, kept from other transactions."""
    found = session.scalar(select(Worker).where(Worker.code == code).with_for_update(key_share=True))
    if found is None:
        raise NotFound(f"no worker {code}")
    if found.state == WITHDRAWN:
        raise NotNow(f"{code} has withdrawn")
    return found
