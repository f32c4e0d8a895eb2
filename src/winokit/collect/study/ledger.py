"""What workers are owed and what was paid, line by line, in hundredths of the study's currency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, func, insert, select
from sqlalchemy.orm import Session, selectinload

from winokit.collect.study.refusals import Incomplete
from winokit.collect.study.schema import LATE, PAYMENTS, Payment, Worker
from winokit.collect.study.study import Study
from winokit.collect.study.workers import by_code

MOST_CENTS = 100_000


def pay(session: Session, study: Study, submitted: Mapping[str, Any], submission_id: int) -> int:
    """Write down what a submission earns: its kind's pay if it counts, or came late and the study pays for that."""
    kind = submitted["kind"]
    earns = submitted["counted"] or (submitted["why_not"] == LATE and study.config.pay.late)
    cents = study.config.pay.cents(kind) if earns else 0
    if cents:
        line = {"worker_id": submitted["worker_id"], "submission_id": submission_id, "reason": kind, "cents": cents}
        session.execute(insert(PAYMENTS), {**line, "at": study.now()})
    return cents


def bonus(study: Study, code: str, cents: int, note: str, actor: str) -> None:
    """Owe a worker something more; a negative amount corrects what was written before."""
    if not cents or abs(cents) > MOST_CENTS:
        raise Incomplete({"cents": f"an amount up to {MOST_CENTS / 100:,.2f} expected"})
    with study.store.write() as session:
        worker = by_code(session, code)
        reason = "bonus" if cents > 0 else "correction"
        session.add(Payment(worker_id=worker.id, reason=reason, cents=cents, note=note[:500], at=study.now()))
        study.log(session, actor, reason, code, cents=cents)


def balances(study: Study) -> Sequence[Row[str, str, int, int, int]]:
    """What each worker is owed, in the order in which they joined.

    Rows of `code`, `platform`, `earned_cents`, `settled_cents` and `open_cents`, which is still to be paid.
    """
    earned = func.sum(Payment.cents)
    settled = func.coalesce(func.sum(Payment.cents).filter(Payment.settled_at.is_not(None)), 0)
    cents = (earned.label("earned_cents"), settled.label("settled_cents"), (earned - settled).label("open_cents"))
    query = select(Worker.code, Worker.platform, *cents).join(Payment, Payment.worker_id == Worker.id)
    with study.store.read() as session:
        return session.execute(query.group_by(Worker.id).order_by(Worker.id)).all()


def entries(study: Study) -> Sequence[Payment]:
    """The lines of the ledger, oldest first, each with its worker."""
    with study.store.read() as session:
        return session.scalars(select(Payment).options(selectinload(Payment.worker)).order_by(Payment.id)).all()
