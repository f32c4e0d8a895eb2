"""The ledger of what workers are owed and were paid.

Amounts are in hundredths of the study's currency.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, func, insert, select
from sqlalchemy.orm import Session, selectinload

from winokit_collect.study.prepared import Prepared
from winokit_collect.study.refusals import Incomplete
from winokit_collect.study.schema import (
    CONFIRMED,
    LATE,
    PAYMENTS,
    PLANNED,
    REFUSED,
    SENT,
    UNCERTAIN,
    Group,
    Payment,
    PayoutJob,
    ProblemRow,
    Submission,
    Worker,
)
from winokit_collect.study.study import Study
from winokit_collect.study.workers import by_code

MOST_CENTS = 100_000
FOOLED = "fooled"
"""Reason of the ledger line for a pair that fools the model."""
_LINE = Prepared(insert(PAYMENTS), "worker_id", "submission_id", "reason", "cents", "note", "at")


def pay(session: Session, study: Study, submitted: Mapping[str, Any], submission_id: int) -> int:
    """Add the pay for a submission to the ledger.

    Returns its cents. 0 and no line if it earns nothing: it must count, or have come late in a study that pays for late
    work.
    """
    kind = submitted["kind"]
    is_late = submitted["why_not"] == LATE
    earns = submitted["counted"] or (is_late and study.config.pay.late)
    cents = study.config.pay.cents(kind) if earns else 0
    if cents:
        line = {"worker_id": submitted["worker_id"], "submission_id": submission_id, "reason": kind, "cents": cents}
        _LINE.all(session, **line, note="", at=study.now())
    return cents


def settle_fooling(session: Session, study: Study, row: ProblemRow) -> None:
    """Add or remove the bonus for a pair that fools the model.

    The author is owed it while both problems are valid. To be called after every decision about a problem. A bonus that
    is already paid or part of a payout stays, and so does the bonus for a pair that is withdrawn later.
    """
    cents = study.config.pay.cents(FOOLED)
    if not cents or row.submission_id is None:
        return
    # Of two last votes at the same moment, one on either twin, the later one must see the earlier.
    session.execute(select(Group.id).where(Group.id == row.group_id).with_for_update())
    session.flush()
    columns = (ProblemRow.valid, ProblemRow.withdrawn, Submission.adversary, Submission.worker_id)
    pair = select(*columns).join(Submission, Submission.id == ProblemRow.submission_id)
    problems = session.execute(pair.where(Submission.id == row.submission_id)).all()
    line = (Payment.submission_id == row.submission_id, Payment.reason == FOOLED)
    if not all(problem.valid for problem in problems):
        is_untouched = (Payment.settled_at.is_(None), Payment.job_id.is_(None))
        session.execute(delete(Payment).where(*line, *is_untouched))
        return
    earned = all(p.adversary and p.adversary["fooled"] and not p.withdrawn for p in problems)
    if earned and session.scalar(select(Payment.id).where(*line)) is None:
        author = problems[0].worker_id
        owed = {"worker_id": author, "submission_id": row.submission_id, "reason": FOOLED, "cents": cents}
        _LINE.all(session, **owed, note="", at=study.now())


def bonus(study: Study, code: str, cents: int, note: str, actor: str) -> None:
    """Add a bonus for a worker to the ledger.

    A negative amount is a correction. Raises Incomplete if the amount is 0 or too large. Raises NotFound for an unknown
    code.
    """
    if not cents or abs(cents) > MOST_CENTS:
        raise Incomplete({"cents": f"an amount up to {MOST_CENTS / 100:,.2f} expected"})
    with study.store.write() as session:
        worker = by_code(session, code)
        reason = "bonus" if cents > 0 else "correction"
        session.add(Payment(worker_id=worker.id, reason=reason, cents=cents, note=note[:500], at=study.now()))
        study.log(session, actor, reason, code, cents=cents)


def balances(study: Study) -> Sequence[Row[str, str, int, int, int, int, int]]:
    """Earned, paid and open amounts of each worker, in the order of joining.

    Each row has `code`, `platform`, `earned_cents`, `settled_cents` (paid), `under_way_cents` (part of a payout that is
    not finished), `lines` (number of ledger lines) and `open_cents` (still to be paid).
    """
    earned = func.sum(Payment.cents)
    is_settled = Payment.settled_at.is_not(None)
    settled = func.coalesce(earned.filter(is_settled), 0)
    under_way = func.coalesce(earned.filter(~is_settled, Payment.job_id.is_not(None)), 0)
    cents = (earned.label("earned_cents"), settled.label("settled_cents"), under_way.label("under_way_cents"))
    lines = func.count().label("lines")
    open_ = (earned - settled - under_way).label("open_cents")
    sums = select(Payment.worker_id, *cents, lines, open_).group_by(Payment.worker_id).subquery()
    _, *sum_columns = sums.c
    query = select(Worker.code, Worker.platform, *sum_columns).join(sums, sums.c.worker_id == Worker.id)
    with study.store.read() as session:
        return session.execute(query.order_by(Worker.id)).all()


def entries(study: Study) -> Sequence[Payment]:
    """All lines of the ledger, oldest first, with their workers loaded."""
    with study.store.read() as session:
        query = select(Payment).options(selectinload(Payment.worker)).order_by(Payment.id)
        return session.scalars(query).all()


def newest_entries(study: Study, most: int) -> Sequence[Payment]:
    """The newest `most` lines of the ledger, newest first.

    Workers and payouts are loaded with them.
    """
    loaded = (selectinload(Payment.worker), selectinload(Payment.job))
    with study.store.read() as session:
        query = select(Payment).options(*loaded).order_by(Payment.id.desc()).limit(most)
        return session.scalars(query).all()


@dataclass(frozen=True)
class PayoutProgress:
    """Progress of unfinished payouts, and payouts that need attention.

    `done` and `planned` count all payouts that were planned together with one that is not finished. Both are 0 if all
    are finished.
    """

    done: int
    planned: int
    uncertain: Sequence[PayoutJob]
    ended: Sequence[PayoutJob]
    """Payouts that were confirmed or refused last, newest first."""
    waiting: Sequence[str] = ()
    """Reasons why the platform asked to wait."""


def payouts(study: Study, most: int) -> PayoutProgress:
    """Read the progress of payouts, with the `most` that ended last."""
    is_left = PayoutJob.state.in_((PLANNED, SENT))
    together = PayoutJob.planned_at.in_(select(PayoutJob.planned_at).where(is_left))
    jobs = select(PayoutJob).options(selectinload(PayoutJob.worker))
    ended = jobs.where(PayoutJob.state.in_((CONFIRMED, REFUSED)))
    with study.store.read() as session:
        counts = select(func.count().filter(is_left), func.count()).where(together)
        left_count, planned_count = session.execute(counts).one()
        uncertain = session.scalars(jobs.where(PayoutJob.state == UNCERTAIN).order_by(PayoutJob.id)).all()
        ended = ended.order_by(PayoutJob.settled_at.desc(), PayoutJob.id.desc())
        last_ended = session.scalars(ended.limit(most)).all()
        reasons = select(PayoutJob.why).where(is_left, PayoutJob.why != "").distinct()
        waiting = session.scalars(reasons).all()
        return PayoutProgress(planned_count - left_count, planned_count, uncertain, last_ended, waiting)
