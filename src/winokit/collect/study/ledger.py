"""What workers are owed and what was paid, line by line, in hundredths of the study's currency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from winokit.collect.study.refusals import Incomplete, NotFound
from winokit.collect.study.schema import LATE, PAYMENTS, Payment, Worker

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

BONUS, CORRECTION = "bonus", "correction"
MOST_CENTS = 100_000
_LINE = insert(PAYMENTS)  # made once: it is written with every submission


@dataclass(frozen=True)
class WorkerBalance:
    """What one worker is owed, what of it was paid, and what is left."""

    code: str
    platform: str
    earned_cents: int
    settled_cents: int

    @property
    def open_cents(self) -> int:
        """What is still to be paid."""
        return self.earned_cents - self.settled_cents


@dataclass(frozen=True)
class LedgerEntry:
    """A line of the ledger."""

    id: int
    code: str
    submission_id: int | None
    reason: str
    cents: int
    note: str
    at: datetime
    settled_at: datetime | None
    settlement: str | None


def pay(session: Session, study: Study, submitted: Mapping[str, Any], submission_id: int) -> int:
    """Write down what a submission earns: its kind's pay if it counts, or came late and the study pays for that."""
    kind = submitted["kind"]
    earns = submitted["counted"] or (submitted["why_not"] == LATE and study.config.pay.late)
    cents = study.config.pay.cents(kind) if earns else 0
    if cents:
        line = {"worker_id": submitted["worker_id"], "submission_id": submission_id, "reason": kind, "cents": cents}
        session.execute(_LINE, {**line, "at": study.now()})
    return cents


def bonus(study: Study, code: str, cents: int, note: str, actor: str) -> None:
    """Owe a worker something more; a negative amount corrects what was written before."""
    if not cents or abs(cents) > MOST_CENTS:
        raise Incomplete({"cents": f"an amount up to {MOST_CENTS / 100:,.2f} expected"})
    with study.store.write() as session:
        worker = session.scalar(select(Worker).where(Worker.code == code))
        if worker is None:
            raise NotFound(f"no worker {code}")
        reason = BONUS if cents > 0 else CORRECTION
        session.add(Payment(worker_id=worker.id, reason=reason, cents=cents, note=note[:500], at=study.now()))
        study.log(session, actor, reason, code, cents=cents)


def balances(study: Study) -> list[WorkerBalance]:
    """What each worker is owed, in the order in which they joined."""
    settled = func.sum(Payment.cents).filter(Payment.settled_at.is_not(None))
    query = (
        select(Worker.code, Worker.platform, func.sum(Payment.cents), settled)
        .join(Payment, Payment.worker_id == Worker.id)
        .group_by(Worker.id)
        .order_by(Worker.id)
    )
    with study.store.read() as session:
        return [
            WorkerBalance(code, platform, int(all_), int(paid or 0))
            for code, platform, all_, paid in session.execute(query)
        ]


def entries(study: Study, worker: str | None = None) -> list[LedgerEntry]:
    """The lines of the ledger, oldest first."""
    query = select(Payment, Worker.code).join(Worker, Worker.id == Payment.worker_id).order_by(Payment.id)
    if worker is not None:
        query = query.where(Worker.code == worker)
    with study.store.read() as session:
        return [
            LedgerEntry(p.id, code, p.submission_id, p.reason, p.cents, p.note, p.at, p.settled_at, p.settlement)
            for p, code in session.execute(query)
        ]
