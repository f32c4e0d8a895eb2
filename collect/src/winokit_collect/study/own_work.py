"""A worker's own record: what became of their pairs, what they are paid, and remarks on items.

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
    """One text of a pair: what became of it, and why it was turned down."""

    text: str
    state: str
    reasons: tuple[str, ...]


def pairs(study: Study, worker_id: int, page: int) -> ListingPage[tuple[Submission, list[OwnText]]]:
    """The pairs that a worker has handed in, newest first, each with what became of its two texts."""
    own = (Submission.worker_id == worker_id, Submission.kind == schema.WRITE)
    about = selectinload(Submission.written)
    shown = (about.selectinload(ProblemRow.votes), about.selectinload(ProblemRow.decisions))
    listing = page_of(study, Submission, own, [Submission.id.desc()], page, PAIRS, shown)
    rows = [(submission, _texts(study, submission)) for submission in listing.rows]
    return ListingPage(rows, listing.total, listing.number, listing.pages)


def _texts(study: Study, submission: Submission) -> list[OwnText]:
    if not submission.counted:
        sides = (str(submission.fields[side]) for side in ("first", "second") if side in submission.fields)
        return [OwnText(text, TURNED_DOWN, (_why_not(submission.why_not or ""),)) for text in sides]
    valid = None if schema.VALIDATE in study.config.tasks.kinds else True
    states = {True: ACCEPTED, False: TURNED_DOWN, None: WAITING}
    verdicts = [(row, valid if row.valid is None else row.valid) for row in submission.written]
    return [
        OwnText(f"{row.before}_{row.after}", states[verdict], _reasons(study, row) if verdict is False else ())
        for row, verdict in verdicts
    ]


def _why_not(why: str) -> str:
    """Why a submission does not count, for its worker: in a requester's words where those were meant for them."""
    discarded = why.removeprefix(schema.DISCARDED)
    if why == discarded or discarded.startswith(schema.WITH_WORKER):
        return say("own_work.late" if why == schema.LATE else "own_work.not_counted")
    return discarded


def _reasons(study: Study, row: ProblemRow) -> tuple[str, ...]:
    """The rules that the votes found broken; or that a requester decided so."""
    if row.decisions and row.decisions[0].valid is not None:
        return (say("own_work.requester"),)
    votes = [vote for vote in row.votes if vote.kind == schema.VALIDATE and vote.counted and not vote.gold]
    verdict = judge(judgements(votes, row.answer or 0), study.config.validity.rule)
    return tuple(say(f"own_work.failed_{rule}") for rule in verdict.failed)


def own_pay(
    study: Study, worker_id: int
) -> tuple[Sequence[Row[str, int, int, int, int]], Sequence[Row[int, datetime | None]]]:
    """What a worker has earned, by what it was for; and what was paid of it at once, the newest first.

    Rows of `reason`, `lines`, `cents`, `paid_cents` and `under_way_cents`; and of `cents` and `settled_at`.
    """
    cents = func.sum(Payment.cents)
    is_paid = Payment.settled_at.is_not(None)
    paid = func.coalesce(cents.filter(is_paid), 0).label("paid_cents")
    under_way = func.coalesce(cents.filter(~is_paid, Payment.job_id.is_not(None)), 0).label("under_way_cents")
    lines = select(Payment.reason, func.count().label("lines"), cents.label("cents"), paid, under_way)
    own = (Payment.worker_id == worker_id, Payment.reason != schema.VISIT)
    at = Payment.settled_at
    payouts = select(cents.label("cents"), at).where(*own, is_paid).group_by(at).order_by(at.desc()).limit(PAYOUTS)
    with study.store.read() as session:
        by_reason = session.execute(lines.where(*own).group_by(Payment.reason).order_by(Payment.reason)).all()
        return by_reason, session.execute(payouts).all()


def remark(study: Study, worker_id: int, token: str, fields: Mapping[str, str]) -> None:
    """Keep what a worker says about the item of a task, in the place of what they said of it before."""
    text = " ".join(fields.get("comment", "").split())[:LONGEST_REMARK]
    reason = fields.get("reason") or ("other" if text else "")
    if reason not in REASONS:
        raise Incomplete({"reason": say("remarks.choose")})
    with study.store.write() as session:
        leased = leased_to(session, worker_id, token, for_update=True)
        of = leased.lease_id
        row = session.scalar(select(Remark).where(Remark.lease_id == of)) or Remark(lease_id=of)
        row.worker_id, row.problem_id, row.kind = worker_id, leased.problem_id, leased.kind
        row.reason, row.text, row.at = reason, text, study.now()
        session.add(row)
