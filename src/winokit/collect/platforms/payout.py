"""Paying what the ledger says is owed, through the study's platform, never twice.

A worker's open lines are marked before the platform is asked. If it refuses, the marks are taken off; if it does not
say what it did, they stay, with a note, for the requester to look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select, update

from winokit.collect.platforms.base import Platform, PlatformError, Uncertain, Visitor, platform_of, visitor_of
from winokit.collect.study.ledger import balances
from winokit.collect.study.moderation import forget_if_paid
from winokit.collect.study.schema import SCREENED_OUT, Identity, Payment, Worker
from winokit.collect.study.study import Study
from winokit.collect.study.workers import by_code

UNCERTAIN = "uncertain: look at the platform"


@dataclass(frozen=True)
class WorkerPayout:
    """What became of one worker's open amount."""

    code: str
    cents: int
    receipt: str | None
    error: str | None = None


def settle(study: Study, actor: str, codes: Sequence[str] | None = None) -> list[WorkerPayout]:
    """Pay what is open, of all workers or of some; what became of each. One worker's trouble does not stop the rest."""
    platform = platform_of(study)
    payouts = []
    for balance in balances(study):
        if codes is None or balance.code in codes:
            try:
                payouts.append(_pay_worker(study, platform, balance.code, actor))
            except PlatformError as error:
                payouts.append(WorkerPayout(balance.code, 0, None, str(error)))
    return [payout for payout in payouts if payout is not None]


def _pay_worker(study: Study, platform: Platform, code: str, actor: str) -> WorkerPayout | None:
    """Approve a worker's visit and pay what is open; None where nothing is."""
    with study.store.read() as session:
        worker = by_code(session, code)
        identity = session.get(Identity, worker.id)
    visitor = visitor_of(identity)
    if visitor is None and not platform.by_hand:
        raise PlatformError(f"{code}: nothing is known of this worker on {platform.title}; pay by hand")
    if identity is not None and identity.session_id and identity.approved_session != identity.session_id:
        _approve(study, platform, worker, identity)
    lines, cents = _mark(study, worker.id)
    if cents <= 0:
        return None
    marked, doubt = update(Payment).where(Payment.id.in_(lines)), None
    try:
        receipt = platform.bonus(visitor or Visitor(code), cents, study.config.title, f"{code}-{max(lines)}")
    except Uncertain as error:
        receipt, doubt = UNCERTAIN, str(error)
    except Exception:
        with study.store.write() as session:
            session.execute(marked.values(settled_at=None))
        raise
    with study.store.write() as session:
        session.execute(marked.values(settlement=receipt))
        study.log(session, actor, "settle", code, cents=cents, receipt=receipt)
        if doubt is None:
            forget_if_paid(session, by_code(session, code))
    return WorkerPayout(code, cents, receipt if doubt is None else None, doubt)


def _approve(study: Study, platform: Platform, worker: Worker, identity: Identity) -> None:
    """Approve a visit, once; what the platform pays for it by itself is taken off what we owe."""
    visitor = Visitor(identity.external_id, identity.study_id, identity.session_id)
    screened_out = worker.state == SCREENED_OUT
    (platform.screen_out if screened_out else platform.approve)(visitor)
    base = 0 if screened_out else int(study.config.platform.base_reward * 100)
    with study.store.write() as session:
        session.get_one(Identity, worker.id).approved_session = identity.session_id
        if base:
            note = f"paid by {study.config.platform.name} for the visit"
            session.add(Payment(worker_id=worker.id, reason="visit", cents=-base, note=note, at=study.now()))


def _mark(study: Study, worker_id: int) -> tuple[list[int], int]:
    """Mark a worker's open lines as settled, where something is owed, so that nobody else pays them.

    Returns the lines and their sum.
    """
    with study.store.write() as session:
        query = select(Payment).where(Payment.worker_id == worker_id, Payment.settled_at.is_(None))
        lines = session.scalars(query.order_by(Payment.id).with_for_update()).all()
        cents = sum(line.cents for line in lines)
        for line in lines if cents > 0 else ():
            line.settled_at = study.now()
        return [line.id for line in lines], cents
