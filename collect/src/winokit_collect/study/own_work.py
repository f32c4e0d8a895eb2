"""Pages of a worker's own work: their pairs, their pay, and their remarks.

Nothing here says who judged, how many votes are in, or which questions have known answers.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Row, func, select
from sqlalchemy.orm import selectinload

from winokit_collect.study import schema
from winokit_collect.study.listings import ListingPage, page_of
from winokit_collect.study.refusals import Incomplete
from winokit_collect.study.schema import Payment, ProblemRow, Remark, Submission
from winokit_collect.study.study import Study
from winokit_collect.study.tasks import leased_to
from winokit_collect.study.texts import say
from winokit_collect.study.validity import judge, judgements

ACCEPTED = "accepted"
TURNED_DOWN = "turned_down"
WAITING = "waiting"
REASONS = ("unclear", "mistake", "offensive", "other")
LONGEST_REMARK = 1000
PAIRS = 20
PAYOUTS = 20


class OwnText(NamedTuple):
    """One text of a worker's pair, with its state.

    It is accepted, waiting, or turned down for some reasons.
    """

    text: str
    state: str
    reasons: tuple[str, ...]


def pairs(study: Study, worker_id: int, page: int) -> ListingPage[tuple[Submission, list[OwnText]]]:
    """One page of a worker's submitted pairs, newest first.

    Each row is the submission and its two texts with their states. Pages are counted from 1.
    """
    conditions = (Submission.worker_id == worker_id, Submission.kind == schema.WRITE)
    problems = selectinload(Submission.written)
    loaded = (problems.selectinload(ProblemRow.votes), problems.selectinload(ProblemRow.decisions))
    listing = page_of(study, Submission, conditions, [Submission.id.desc()], page, PAIRS, loaded)
    rows = [(submission, _describe_texts(study, submission)) for submission in listing.rows]
    return ListingPage(rows, listing.total, listing.number, listing.pages)


def _describe_texts(study: Study, submission: Submission) -> list[OwnText]:
    """Describe the two texts of a pair, with their states and the reasons."""
    if not submission.counted:
        reason = _explain_rejection(submission.why_not or "")
        sides = [side for side in ("first", "second") if side in submission.fields]
        return [OwnText(str(submission.fields[side]), TURNED_DOWN, (reason,)) for side in sides]
    # Without votes on validity, whatever nobody has decided about is accepted.
    undecided_state = WAITING if schema.VALIDATE in study.config.tasks.kinds else ACCEPTED
    texts = []
    for row in submission.written:
        state = undecided_state
        reasons: tuple[str, ...] = ()
        if row.valid is True:
            state = ACCEPTED
        elif row.valid is False:
            state = TURNED_DOWN
            reasons = _list_reasons(study, row)
        texts.append(OwnText(f"{row.before}_{row.after}", state, reasons))
    return texts


def _explain_rejection(why: str) -> str:
    """Reason why a submission does not count, in words for its worker.

    `why` is the stored reason. If a requester wrote it for the worker, it is returned as it is.
    """
    discarded = why.removeprefix(schema.DISCARDED)
    if why == discarded or discarded.startswith(schema.WITH_WORKER):
        key = "own_work.late" if why == schema.LATE else "own_work.not_counted"
        return say(key)
    return discarded


def _list_reasons(study: Study, row: ProblemRow) -> tuple[str, ...]:
    """Reasons why a problem is invalid: the rules that its votes found broken.

    If a requester decided, only that is said.
    """
    if row.decisions and row.decisions[0].valid is not None:
        return (say("own_work.requester"),)
    votes = [vote for vote in row.votes if vote.kind == schema.VALIDATE and vote.counted and not vote.gold]
    judged = judgements(votes, row.answer or 0)
    verdict = judge(judged, study.config.validity.rule)
    return tuple(say(f"own_work.failed_{rule}") for rule in verdict.failed)


def own_pay(
    study: Study, worker_id: int
) -> tuple[Sequence[Row[str, int, int, int, int]], Sequence[Row[int, datetime | None]]]:
    """A worker's earnings by reason, and their last payouts, newest first.

    Rows of the earnings have `reason`, `lines`, `cents`, `paid_cents` and `under_way_cents` (part of a payout that is
    not finished). Rows of the payouts have `cents` and `settled_at`. Deductions of what a platform paid for a visit are
    left out of both. Lines settled at the same moment are one payout.
    """
    cents = func.sum(Payment.cents)
    is_paid = Payment.settled_at.is_not(None)
    paid = func.coalesce(cents.filter(is_paid), 0).label("paid_cents")
    under_way = func.coalesce(cents.filter(~is_paid, Payment.job_id.is_not(None)), 0).label("under_way_cents")
    lines = select(Payment.reason, func.count().label("lines"), cents.label("cents"), paid, under_way)
    conditions = (Payment.worker_id == worker_id, Payment.reason != schema.VISIT)
    lines = lines.where(*conditions).group_by(Payment.reason).order_by(Payment.reason)
    at = Payment.settled_at
    payouts = select(cents.label("cents"), at).where(*conditions, is_paid).group_by(at)
    payouts = payouts.order_by(at.desc()).limit(PAYOUTS)
    with study.store.read() as session:
        by_reason = session.execute(lines).all()
        return by_reason, session.execute(payouts).all()


def remark(study: Study, worker_id: int, token: str, fields: Mapping[str, str]) -> None:
    """Store a worker's remark on the problem that they are judging.

    `token` names the lease. The remark replaces an earlier one under the same lease. A text without a reason gets the
    reason `other`. Raises Incomplete without either, or for an unknown reason.
    """
    text = " ".join(fields.get("comment", "").split())[:LONGEST_REMARK]
    reason = fields.get("reason") or ("other" if text else "")
    if reason not in REASONS:
        raise Incomplete({"reason": say("remarks.choose")})
    with study.store.write() as session:
        leased = leased_to(session, worker_id, token, for_update=True)
        lease_id = leased.lease_id
        earlier = session.scalar(select(Remark).where(Remark.lease_id == lease_id))
        row = earlier or Remark(lease_id=lease_id)
        row.worker_id = worker_id
        row.problem_id = leased.problem_id
        row.kind = leased.kind
        row.reason = reason
        row.text = text
        row.at = study.now()
        session.add(row)
