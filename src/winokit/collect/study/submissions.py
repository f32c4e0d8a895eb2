"""Handing in: what a worker sends is stored, counted if there is a place for it, paid, and acted upon.

Handing in the same task again changes nothing and gives the first receipt again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, delete, func, insert, select, update
from sqlalchemy.orm import Session

from winokit.collect.study import adversary, ledger, moderation, schema
from winokit.collect.study.new_tasks import add_judgements, gold_answer
from winokit.collect.study.refusals import Incomplete
from winokit.collect.study.study import Study
from winokit.collect.study.tasks import END_LEASE, count_places, held_by
from winokit.collect.study.texts import say
from winokit.collect.study.validity import settle_problem
from winokit.collect.study.voting import read_ballot
from winokit.collect.study.writing import Twins, refuse_broken, special_words

# Made once: making a query takes longer than running it.
_SUBMISSION = insert(schema.SUBMISSIONS).returning(schema.SUBMISSIONS.c.id)
_TAKE_FREE = (
    update(schema.TASKS)
    .where(schema.TASKS.c.id == bindparam("wanted"), schema.IS_FREE)
    .values(accepted=schema.TASKS.c.accepted + 1)
    .returning(schema.TASKS.c.accepted, schema.TASKS.c.asked)
)
_PASTED = select(func.sum(schema.Event.amount)).where(
    schema.Event.lease_id == bindparam("lease"), schema.Event.kind == "paste"
)
NOT_COUNTED = say("receipts.not_counted")
MESSAGES = {
    None: say("receipts.thanks"),
    schema.LATE: say("receipts.late"),
}
"""What a worker is told, by why their work does not count."""


@dataclass(frozen=True)
class SubmissionReceipt:
    """What became of a submission."""

    submission_id: int
    kind: str
    counted: bool
    late: bool
    cents: int
    message: str
    replayed: bool = False


def submit(study: Study, worker_id: int, token: str, fields: Mapping[str, Any]) -> SubmissionReceipt:
    """Hand in a task. A form that cannot be taken raises Incomplete, and nothing is stored."""
    with study.store.write() as session:
        held = held_by(session, worker_id, token, for_update=True)
        if held.state == schema.SUBMITTED:
            return _receipt_of(session, held)
        if held.problem_id is not None:
            return _handed_in(study, session, held, read_ballot(study.config, held, fields))
    refused = verdict = None
    try:
        twins = refuse_broken(study, fields, held.task_domain)
        # The model is asked between two transactions, so that nobody waits for it.
        verdict = adversary.ask(study, fields)
    except Incomplete as error:
        refused = error
    with study.store.write() as session:
        held = held_by(session, worker_id, token, for_update=True)
        if held.state == schema.SUBMITTED:  # a form that is sent twice at once finds what was handed in before
            return _receipt_of(session, held)
        if refused is not None:
            raise refused
        return _handed_in(study, session, held, twins, verdict)


def _handed_in(
    study: Study,
    session: Session,
    held: Row[Any],
    content: Mapping[str, Any] | Twins,
    verdict: adversary.AdversaryVerdict | None = None,
) -> SubmissionReceipt:
    now = study.now()
    why_not, is_last = _take_place(session, held)
    session.execute(END_LEASE, {"ended": held.lease_id, "new_state": schema.SUBMITTED})
    shared = {"task_id": held.task_id, "worker_id": held.worker_id, "kind": held.kind, "counted": why_not is None}
    submission = {
        **shared,
        "lease_id": held.lease_id,
        "fields": content.to_json() if isinstance(content, Twins) else content,
        "why_not": why_not,
        "late": held.state != schema.LIVE or held.expires_at <= now,
        "seconds": (now - held.leased_at).total_seconds(),
        "pasted": session.scalar(_PASTED, {"lease": held.lease_id}) or 0 if isinstance(content, Twins) else 0,
        "adversary": verdict.to_json() if verdict else None,
        "submitted_at": now,
    }
    number = session.execute(_SUBMISSION, submission).scalar_one()
    if isinstance(content, Twins):
        session.execute(delete(schema.Draft).where(schema.Draft.lease_id == held.lease_id))
        if why_not is None:
            _add_twins(study, session, held, content, number)
    else:
        about = {"submission_id": number, "problem_id": held.problem_id, "gold": held.gold, "at": now}
        _add_vote(study, session, held, {**shared, **about, **content}, is_last=is_last)
    cents = ledger.pay(session, study, submission, number)
    return SubmissionReceipt(
        number, held.kind, why_not is None, bool(submission["late"]), cents, MESSAGES.get(why_not, NOT_COUNTED)
    )


def _receipt_of(session: Session, held: Row[Any]) -> SubmissionReceipt:
    """The receipt of what was handed in before."""
    submission = session.scalars(select(schema.Submission).where(schema.Submission.lease_id == held.lease_id)).one()
    paid = select(func.sum(schema.Payment.cents)).where(schema.Payment.submission_id == submission.id)
    cents = int(session.scalar(paid) or 0)
    message = MESSAGES.get(submission.why_not, NOT_COUNTED)
    known = (submission.id, submission.kind, submission.counted, submission.late)
    return SubmissionReceipt(*known, cents, message, replayed=True)


def _take_place(session: Session, held: Row[Any]) -> tuple[str | None, bool]:
    """Take the place that a submission counts in: why it has none, if so; and whether it was the last that was open."""
    # Also after its time, as long as nobody has ended it: then nobody else has the place.
    holds = held.state == schema.LIVE
    if held.worker_state != schema.ACTIVE:
        count_places(session, held.task_id, held=-int(holds))
        return schema.FROM_BLOCKED, False
    if holds or held.gold:
        counted = count_places(session, held.task_id, held=-int(holds), accepted=1)
    else:
        counted = session.execute(_TAKE_FREE, {"wanted": held.task_id}).one_or_none()
        if counted is None:
            return schema.LATE, False
    return None, counted is not None and counted.accepted >= counted.asked


def _add_vote(study: Study, session: Session, held: Row[Any], vote: dict[str, Any], *, is_last: bool) -> None:
    if held.gold:
        vote["is_right"] = vote["choice"] == gold_answer(schema.to_problem(held, study.config.language), held.kind)
    session.execute(insert(schema.VOTE_ROWS), vote)
    if held.gold:
        moderation.after_gold(study, session, held.worker_id)
    elif is_last and held.kind == schema.VALIDATE:  # nothing is decided before
        settle_problem(session, study.config, session.get_one(schema.ProblemRow, held.problem_id))


def _add_twins(study: Study, session: Session, held: Row[Any], twins: Twins, submission_id: int) -> None:
    """Store the two problems and ask others about them."""
    group = schema.Group(origin=schema.WRITTEN)
    session.add(group)
    session.flush()
    pair = []
    problems = twins.problems(study.config.language, held.task_domain)
    for problem, special_word in zip(problems, special_words(*twins.texts), strict=True):
        labels = {"topic": (held.topic or {}).get("topic"), "special_word": special_word}
        pair.append(problem.with_labels(**{key: value for key, value in labels.items() if value}))
    known = {"group_id": group.id, "author_id": held.worker_id, "submission_id": submission_id}
    rows = [schema.to_row(problem, schema.WRITTEN, study.now(), **known) for problem in pair]
    session.add_all(rows)
    session.flush()
    for problem, row in zip(pair, rows, strict=True):
        add_judgements(session, study, row, problem)
