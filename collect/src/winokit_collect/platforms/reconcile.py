"""Compare the ledger with the platform's records.

Every visit and every bonus is compared, in both directions. The result is the money on which the two disagree.

Our own records are not evidence: the platform may approve a visit by itself, a requester may pay a bonus by hand,
and an answer may be lost. So we ask the platform for everything, and look for each amount on the other side: first
for the same visit, then for the same worker if the visit is unknown, then among unknown visits if the worker's
identity was deleted. An amount that is left over is a difference.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from winokit_collect.platforms.base import (
    BaseReward,
    Busy,
    Platform,
    VisitReport,
    amount,
    offers_of,
    platform_of,
)
from winokit_collect.platforms.payout import close_visit
from winokit_collect.study.schema import (
    APPROVED,
    CONFIRMED,
    OPEN,
    SCREENED_OUT,
    UNDER_WAY,
    VISIT,
    Identity,
    Payment,
    PayoutJob,
    PlatformVisit,
    Worker,
)
from winokit_collect.study.study import Study

BONUS = "bonus"
TRIES = 5


@dataclass(frozen=True)
class BookItem:
    """One payment, as the ledger or the platform records it."""

    kind: str
    """`visit`, the platform's own reward, or `bonus`."""
    cents: int
    worker_id: int | None
    """None if the platform's person is not, or no longer, known here."""
    visit_id: int | None
    """None if it is unknown which visit it was for."""
    is_forgotten: bool = False
    """Whether nothing ties its visit to a person any more."""


@dataclass(frozen=True)
class Difference:
    """A payment on which the ledger and the platform disagree.

    The cents are 0 on a side that does not have it. `visit` is our number of the visit, None if it is unknown.
    """

    code: str
    """The worker's code; empty if the platform's person is not known here."""
    visit: int | None
    kind: str
    ledger_cents: int
    platform_cents: int
    why: str

    @property
    def cents(self) -> int:
        """The amount, in hundredths, by which they disagree."""
        return abs(self.platform_cents - self.ledger_cents)


@dataclass(frozen=True)
class Reconciliation:
    """Result of comparing the ledger with the platform's records.

    `ledger_cents` and `platform_cents` are the sums of all payments on each side, in hundredths.
    """

    platform: str
    currency: str
    at: datetime
    visits: int
    """Visits that the platform has."""
    ledger_cents: int
    platform_cents: int
    differences: Sequence[Difference]
    notes: Sequence[str]

    @property
    def disagreement_cents(self) -> int:
        """Sum of all differences, in hundredths."""
        return sum(difference.cents for difference in self.differences)

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain data, for scripts."""
        record = asdict(self)
        record["differences"] = [asdict(difference) | {"cents": difference.cents} for difference in self.differences]
        record["at"] = self.at.isoformat()
        return {"disagreement_cents": self.disagreement_cents, **record}


@dataclass(frozen=True)
class PlatformBooks:
    """The platform's records: visits with bonuses, and rewards by study.

    Studies are named by the platform's ids. A reward is None if the platform does not tell it.
    """

    reports: Sequence[VisitReport]
    rewards: dict[str | None, BaseReward | None]

    def base(self, report: VisitReport) -> int:
        """Reward in hundredths that the platform paid for a visit.

        0 if it is not approved.
        """
        reward = self.rewards.get(report.study_id)
        return reward.cents if reward is not None and report.state == APPROVED else 0


def reconcile(study: Study, *, wait: Callable[[float], None] = time.sleep) -> Reconciliation:
    """Compare the ledger with the platform's records, without changing either.

    `wait` is called with the seconds that the platform asks to wait.
    """
    platform = platform_of(study)
    books = _read_patiently(study, platform, wait)
    visits, people, codes = _read_people(study)
    ours, doubtful = _list_ledger_items(study, visits)
    theirs = list(_list_platform_items(books, visits, people))
    ledger_cents = sum(item.cents for item in ours)
    platform_cents = sum(item.cents for item in theirs)
    differences = list(_split_different_rewards(ours, theirs, codes, platform.title))
    _remove_agreed(ours, theirs)
    for item in ours:
        reason = _describe_ledger_item(item, platform)
        code = codes.get(item.worker_id, "")
        differences.append(Difference(code, item.visit_id, item.kind, item.cents, 0, reason))
    for item in theirs:
        reason = _describe_platform_item(item, platform, doubtful)
        code = codes.get(item.worker_id, "")
        differences.append(Difference(code, item.visit_id, item.kind, 0, item.cents, reason))
    return Reconciliation(
        platform=platform.title,
        currency=study.config.pay.currency,
        at=study.now(),
        visits=len(books.reports),
        ledger_cents=ledger_cents,
        platform_cents=platform_cents,
        differences=sorted(differences, key=lambda difference: (difference.code, difference.visit or 0)),
        notes=list(_list_notes(books, platform)),
    )


def adopt(study: Study, actor: str, *, wait: Callable[[float], None] = time.sleep) -> int:
    """Correct the ledger to the platform's own payments for visits.

    Returns the number of visits that changed. Visits that are still open on the platform, or not known here, are left
    out. A reward above what the ledger says is deducted from what its worker earns next, one below it is credited.
    Bonuses are left to the requester, who alone knows the reason of a payment by hand.
    """
    books = _read_patiently(study, platform_of(study), wait)
    changed = 0
    for report in books.reports:
        with study.store.write() as session:
            on_platform = PlatformVisit.platform == study.config.platform.name
            query = select(PlatformVisit).where(PlatformVisit.session_id == report.session_id, on_platform)
            row = session.scalar(query.with_for_update())
            if row is None or report.state == OPEN:
                continue
            if row.state == OPEN:
                close_visit(study, session, row, report.state, books.rewards.get(report.study_id))
                changed += 1
                continue
            lines = select(func.sum(Payment.cents)).where(Payment.visit_id == row.id, Payment.reason == VISIT)
            line_cents = int(session.scalar(lines) or 0)
            missing = books.base(report) + line_cents
            if missing:
                note = f"corrected to what {platform_of(study).title} paid for the visit"
                columns = {"worker_id": row.worker_id, "visit_id": row.id, "reason": VISIT, "note": note}
                session.add(Payment(**columns, cents=-missing, at=study.now()))
                row.state = report.state
                row.reward_cents = books.base(report)
                study.log(session, actor, "visit corrected", str(row.id), cents=missing)
                changed += 1
    return changed


def _read_patiently(study: Study, platform: Platform, wait: Callable[[float], None]) -> PlatformBooks:
    """Read the platform's records, and wait whenever it asks to.

    Raises Busy if it still asks to after several tries.
    """
    for _ in range(TRIES - 1):
        try:
            return _read_books(study, platform)
        except Busy as error:
            wait(error.seconds)
    return _read_books(study, platform)


def _read_books(study: Study, platform: Platform) -> PlatformBooks:
    """Read all visits to the study's offers, and their rewards."""
    offers = offers_of(study)
    reports = list(platform.visits(offers))
    study_ids = {report.study_id for report in reports}
    rewards = {study_id: platform.reward(study_id) for study_id in study_ids}
    return PlatformBooks(reports, rewards)


def _read_people(study: Study) -> tuple[dict[str, PlatformVisit], dict[str, int], dict[int | None, str]]:
    """Read the study's visits and workers by the platform's ids.

    Returns visits by session id, our worker ids by the person's id on the platform, and the workers' codes by worker
    id.
    """
    name = study.config.platform.name
    on_platform = (PlatformVisit.platform == name, PlatformVisit.session_id.is_not(None))
    people = select(Identity.external_id, Identity.worker_id).where(Identity.platform == name)
    with study.store.read(steady=True) as session:
        rows = session.scalars(select(PlatformVisit).where(*on_platform))
        visits = {str(visit.session_id): visit for visit in rows}
        workers = dict(session.execute(people).all())
        codes: dict[int | None, str] = {}
        for worker_id, code in session.execute(select(Worker.id, Worker.code)):
            codes[worker_id] = code
    return visits, workers, codes


def _list_ledger_items(
    study: Study, visits: dict[str, PlatformVisit]
) -> tuple[list[BookItem], set[tuple[int | None, int]]]:
    """List the payments that the ledger says were made through the platform.

    Also returns the bonuses that were sent and are not confirmed, as pairs of visit id and cents.
    """
    remembered = {visit.id for visit in visits.values()}
    of_platform = Worker.platform == study.config.platform.name
    columns = (Payment.worker_id, Payment.visit_id)
    lines = select(*columns, -func.sum(Payment.cents)).join(Worker).where(Payment.reason == VISIT, of_platform)
    jobs = select(PayoutJob.worker_id, PayoutJob.visit_id, PayoutJob.cents, PayoutJob.state).join(Worker)
    jobs = jobs.where(of_platform, PayoutJob.sent_at.is_not(None), PayoutJob.cents > 0)
    items: list[BookItem] = []
    doubtful: set[tuple[int | None, int]] = set()
    with study.store.read(steady=True) as session:
        by_visit = lines.where(Payment.visit_id.is_not(None)).group_by(*columns)
        without_visit = lines.where(Payment.visit_id.is_(None)).group_by(*columns, Payment.id)
        for query in (by_visit, without_visit):
            for worker_id, visit_id, cents in session.execute(query):
                forgotten = visit_id is not None and visit_id not in remembered
                items.append(BookItem(VISIT, int(cents), worker_id, visit_id, forgotten))
        for worker_id, visit_id, cents, state in session.execute(jobs):
            if state == CONFIRMED:
                forgotten = visit_id is not None and visit_id not in remembered
                items.append(BookItem(BONUS, cents, worker_id, visit_id, forgotten))
            elif state in UNDER_WAY:
                doubtful.add((visit_id, cents))
    return [item for item in items if item.cents], doubtful


def _list_platform_items(
    books: PlatformBooks, visits: dict[str, PlatformVisit], people: dict[str, int]
) -> Iterator[BookItem]:
    """Yield the payments that the platform says it made."""
    for report in books.reports:
        visit = visits.get(report.session_id)
        worker_id = people.get(report.external_id) if visit is None else visit.worker_id
        visit_id = None if visit is None else visit.id
        base_cents = books.base(report)
        if base_cents:
            yield BookItem(VISIT, base_cents, worker_id, visit_id)
        for cents in report.bonuses:
            yield BookItem(BONUS, cents, worker_id, visit_id)


def _split_different_rewards(
    ours: list[BookItem], theirs: list[BookItem], codes: dict[int | None, str], title: str
) -> Iterator[Difference]:
    """Yield the visits for which both sides have a different reward.

    Both items of such a difference are removed from their lists.
    """
    bases = {item.visit_id: item for item in ours if item.kind == VISIT and item.visit_id is not None}
    visit_items = [item for item in theirs if item.kind == VISIT and item.visit_id is not None]
    for item in visit_items:
        base = bases.get(item.visit_id or 0)
        if base is None or base.cents == item.cents:
            continue
        ours.remove(base)
        theirs.remove(item)
        reason = f"the ledger says {amount(base.cents)} for the visit, {title} pays {amount(item.cents)}"
        yield Difference(codes.get(base.worker_id, ""), base.visit_id, VISIT, base.cents, item.cents, reason)


def _remove_agreed(ours: list[BookItem], theirs: list[BookItem]) -> None:
    """Remove the payments that are on both lists.

    Payments for the same visit are matched first, then those to the same worker, then those of workers whose identity
    was deleted.
    """

    def same_visit(item: BookItem) -> object:
        return item.visit_id

    def same_worker(item: BookItem) -> object:
        return item.worker_id

    def have_visits(our_item: BookItem, their_item: BookItem) -> bool:
        return our_item.visit_id is not None and their_item.visit_id is not None

    def lack_visit(our_item: BookItem, their_item: BookItem) -> bool:
        return our_item.visit_id is None or their_item.visit_id is None

    def are_forgotten(our_item: BookItem, their_item: BookItem) -> bool:
        return our_item.is_forgotten and their_item.visit_id is None

    _match_pairs(ours, theirs, same_visit, have_visits)
    _match_pairs(ours, theirs, same_worker, lack_visit)
    _match_pairs(ours, theirs, lambda item: None, are_forgotten)


def _match_pairs(
    ours: list[BookItem],
    theirs: list[BookItem],
    owner_of: Callable[[BookItem], object],
    may_pair: Callable[[BookItem, BookItem], bool],
) -> None:
    """Remove pairs of items that are the same payment.

    They have the same kind, cents and owner. `owner_of` maps an item to its visit or worker, and `may_pair` says
    whether two items may be matched.
    """
    waiting: dict[object, list[BookItem]] = defaultdict(list)
    for item in theirs:
        waiting[item.kind, item.cents, owner_of(item)].append(item)
    for our_item in list(ours):
        others = waiting[our_item.kind, our_item.cents, owner_of(our_item)]
        their_item = next((item for item in others if may_pair(our_item, item)), None)
        if their_item is not None:
            others.remove(their_item)
            theirs.remove(their_item)
            ours.remove(our_item)


def _describe_ledger_item(item: BookItem, platform: Platform) -> str:
    """Explain a payment that only the ledger has."""
    if item.is_forgotten:
        return f"its worker was forgotten here; {platform.title} shows no such amount for anybody unknown"
    if item.kind == VISIT:
        return f"the ledger says that {platform.title} paid for this visit; it did not"
    return f"the ledger says that this bonus was paid; {platform.title} does not show it"


def _describe_platform_item(item: BookItem, platform: Platform, doubtful: set[tuple[int | None, int]]) -> str:
    """Explain a payment that only the platform has.

    `doubtful` has the bonuses that were sent and are not confirmed, as pairs of visit id and cents.
    """
    if item.worker_id is None:
        return f"{platform.title} paid somebody who is not known here"
    if item.kind == VISIT:
        return f"{platform.title} paid for this visit; the ledger does not know"
    if (item.visit_id, item.cents) in doubtful:
        return f"this payout is in doubt here, and {platform.title} shows it"
    return f"{platform.title} shows this bonus; the ledger does not know it"


def _list_notes(books: PlatformBooks, platform: Platform) -> Iterator[str]:
    """Yield notes on payments that the comparison cannot check."""
    screened = sum(report.state == SCREENED_OUT for report in books.reports)
    if screened:
        yield f"{screened} screened out: {platform.title} pays them a fixed reward of its own, which is not compared"
    if any(reward is None for reward in books.rewards.values()):
        yield f"{platform.title} does not tell what a visit pays; only bonuses are compared"
