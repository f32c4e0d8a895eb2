"""Hand in work: store it, count it if its task has a free place, and pay it.

Handing in the same work again changes nothing and returns the first receipt. Different work is a correction, for
some minutes and as long as nobody else works with the earlier version. It is stored, paid only once, and the
earlier version is kept in its history. Later it is refused with a message, so that no worker is thanked for work
that is not used.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, bindparam, delete, func, insert, select, update
from sqlalchemy.orm import Session

from winokit_collect.study import adversary, ledger, moderation, schema
from winokit_collect.study.gold import is_right, is_treated_as_last, settle
from winokit_collect.study.new_tasks import add_judgements
from winokit_collect.study.prepared import Prepared
from winokit_collect.study.refusals import AlreadyHandedIn, Incomplete, NotAllowed, NotFound, NotNow
from winokit_collect.study.store import retried
from winokit_collect.study.study import Study
from winokit_collect.study.tasks import END_LEASE, count_places, leased_to, take_within
from winokit_collect.study.texts import say
from winokit_collect.study.voting import read_ballot
from winokit_collect.study.writing import Twins, read_twins, refuse_broken, special_words

LOG = logging.getLogger("winokit.collect")
# Made once: making a query takes longer than running it.
_OF_SUBMISSION = (
    "task_id worker_id kind counted lease_id fields why_not late seconds pasted adversary submitted_at history"
)
_SUBMISSION = Prepared(insert(schema.SUBMISSIONS).returning(schema.SUBMISSIONS.c.id), *_OF_SUBMISSION.split())
_OF_VOTE = "task_id worker_id kind counted submission_id problem_id gold at is_right doubted"
_VOTE = Prepared(insert(schema.VOTE_ROWS), *_OF_VOTE.split(), *schema.ANSWERS)
_FREE_TASK = update(schema.TASKS).where(schema.TASKS.c.id == bindparam("wanted"), schema.IS_FREE)
_ACCEPT_ONE = _FREE_TASK.values(accepted=schema.TASKS.c.accepted + 1)
_TAKE_FREE = Prepared(_ACCEPT_ONE.returning(schema.TASKS.c.accepted, schema.TASKS.c.asked))
_IS_PASTE = (schema.Event.lease_id == bindparam("lease"), schema.Event.kind == "paste")
_PASTED = Prepared(select(func.sum(schema.Event.amount)).where(*_IS_PASTE))
NOT_COUNTED = say("receipts.not_counted")
MESSAGES = {None: say("receipts.thanks"), schema.LATE: say("receipts.late")}
"""Message for a worker, by the reason why the work does not count."""


class _NoNext(Exception):
    """Giving the next task failed with an error that ended the transaction."""


@dataclass(frozen=True)
class SubmissionReceipt:
    """Result of handing in a task.

    It says whether the work counts, and its pay in cents. `replayed` means that the same work had been handed in
    before.
    """

    submission_id: int
    kind: str
    counted: bool
    late: bool
    cents: int
    message: str
    replayed: bool = False
    corrected: bool = False
    """Whether it replaces earlier work, with which it is paid."""
    next_token: str | None = None
    """Token of the next task, if the worker was given one in the same transaction."""


@dataclass(frozen=True)
class HandedIn:
    """Work that a worker has handed in.

    It can be corrected up to `correct_until`.
    """

    fields: Mapping[str, Any]
    at: datetime
    correct_until: datetime | None
    """Time until which it can be corrected. None if it is too late, or somebody else works with it."""
    own_texts: tuple[str, ...]
    """Texts of twins in all versions, to which a correction may be similar. Empty for votes."""


def look_again(study: Study, worker_id: int, token: str) -> HandedIn | None:
    """Read what a worker has handed in under a lease's token.

    None if nothing was handed in yet.
    """
    with study.store.read() as session:
        leased = leased_to(session, worker_id, token)
        if leased.state != schema.SUBMITTED:
            return None
        submission = _find_submission(session, leased)
        return _describe_earlier_work(study, session, leased, submission)


def submit(
    study: Study, worker_id: int, token: str, fields: Mapping[str, Any], *, go_on: bool = False
) -> SubmissionReceipt:
    """Hand in a task of any kind, as `submit_vote` or `submit_twins` do.

    `go_on` is for votes, and ignored for twins.
    """
    with study.store.read() as session:
        is_vote = leased_to(session, worker_id, token).problem_id is not None
    if is_vote:
        return submit_vote(study, worker_id, token, fields, go_on=go_on)
    return submit_twins(study, worker_id, token, fields)


def submit_vote(
    study: Study, worker_id: int, token: str, fields: Mapping[str, Any], *, go_on: bool = False
) -> SubmissionReceipt:
    """Hand in a vote, or correct an earlier one.

    `fields` is the form as sent. If the form is refused, nothing is stored. With `go_on`, the worker also gets the next
    task, in the same transaction, which costs half as much as two. If giving the task fails, the vote is stored alone.

    Raises
    ------
    Incomplete
        Something is missing or broken, by field.
    AlreadyHandedIn
        Something else was handed in before, and it cannot be corrected any more.
    """
    try:
        return _take_vote(study, worker_id, token, fields, go_on=go_on)
    except _NoNext as error:
        LOG.warning("something is handed in once more, by itself, after %s", type(error.__cause__).__name__)
        return _take_vote(study, worker_id, token, fields, go_on=False)


@retried
def _take_vote(
    study: Study, worker_id: int, token: str, fields: Mapping[str, Any], *, go_on: bool
) -> SubmissionReceipt:
    """Store a vote in one transaction.

    Raises _NoNext if giving the next task fails.
    """
    with study.store.write() as session:
        leased = leased_to(session, worker_id, token, for_update=True)
        if leased.problem_id is None:
            raise NotFound(say("refusals.no_task"))
        ballot = read_ballot(study.config, leased, fields)
        if leased.state == schema.SUBMITTED:
            receipt = _correct_vote(study, session, leased, ballot)
        else:
            receipt = _add_vote(study, session, leased, ballot)
        if not go_on:
            return receipt
        next_token = _take_next(study, session, leased)
        return replace(receipt, next_token=next_token)


def submit_twins(study: Study, worker_id: int, token: str, fields: Mapping[str, Any]) -> SubmissionReceipt:
    """Hand in twins, or correct earlier ones.

    Raises the errors of `submit_vote`. The adversary is asked between two transactions, so that none waits for it. If
    another version was stored meanwhile, because the form was sent twice, everything is done again.
    """
    while True:
        before = _look_before(study, worker_id, token, fields)
        if isinstance(before, SubmissionReceipt):
            return before
        refused: Incomplete | None = None
        twins = verdict = None
        try:
            twins = refuse_broken(study, fields, before.domain, before.own_texts, before.topic)
            verdict = adversary.ask(study, fields)
        except Incomplete as error:
            refused = error
        receipt = _take_twins(study, worker_id, token, before.version, twins, verdict, refused)
        if receipt is not None:
            return receipt


@dataclass(frozen=True)
class _TwinsBefore:
    """State of a writing task before a new form is processed."""

    domain: str | None
    topic: Mapping[str, Any] | None
    own_texts: tuple[str, ...]
    version: int
    """Number of versions handed in so far."""


@retried
def _look_before(
    study: Study, worker_id: int, token: str, fields: Mapping[str, Any]
) -> SubmissionReceipt | _TwinsBefore:
    """Read what was handed in for a writing task before.

    Returns the first receipt if the form is the same as before. Raises AlreadyHandedIn if it can no longer be
    corrected.
    """
    with study.store.write() as session:
        leased = leased_to(session, worker_id, token, for_update=True)
        if leased.problem_id is not None:
            raise NotFound(say("refusals.no_task"))
        before = None
        if leased.state == schema.SUBMITTED:
            before = _find_submission(session, leased)
            sent = read_twins(fields).to_json()
            unchanged = _check_correctable(study, session, leased, before, sent)
            if unchanged is not None:
                return unchanged
        return _TwinsBefore(leased.task_domain, leased.topic, _list_texts(before), _count_versions(before))


@retried
def _take_twins(
    study: Study,
    worker_id: int,
    token: str,
    version: int,
    twins: Twins | None,
    verdict: adversary.AdversaryVerdict | None,
    refused: Incomplete | None,
) -> SubmissionReceipt | None:
    """Store twins, or raise `refused`.

    None, and nothing is stored, if the number of stored versions is no longer `version`.
    """
    with study.store.write() as session:
        leased = leased_to(session, worker_id, token, for_update=True)
        before = None
        if leased.state == schema.SUBMITTED:
            before = _find_submission(session, leased, for_update=True)
        if _count_versions(before) != version:
            return None
        if twins is None or refused is not None:
            assert refused is not None
            raise refused
        if before is None:
            return _add_pair(study, session, leased, twins, verdict)
        return _correct_pair(study, session, leased, before, twins, verdict)


def _take_next(study: Study, session: Session, leased: Row[Any]) -> str | None:
    """Give the worker another task of the same kind, and return its token.

    None if there is none that they may have. Raises _NoNext for an error of the database.
    """
    if leased.kind not in study.config.tasks.kinds:  # any more
        return None
    try:
        return take_within(study, session, leased.worker_id, leased.kind, waits=False)
    except (NotNow, NotAllowed):  # why is said to whoever asks again, without a vote to be thanked for
        return None
    except Exception as error:  # each driver has its own; and a vote must not be lost with what comes after it
        raise _NoNext from error


def _correct_vote(study: Study, session: Session, leased: Row[Any], ballot: Mapping[str, Any]) -> SubmissionReceipt:
    """Replace a stored vote by a correction.

    Returns the first receipt if nothing has changed.
    """
    submission = _find_submission(session, leased, for_update=True)
    unchanged = _check_correctable(study, session, leased, submission, ballot)
    if unchanged is not None:
        return unchanged
    _save_correction(study, submission, dict(ballot), None)
    right = is_right(study, leased, ballot["choice"]) if leased.gold else None
    own_vote = schema.Vote.submission_id == submission.id
    session.execute(update(schema.Vote).where(own_vote).values(**ballot, is_right=right))
    _apply_vote(study, session, leased, is_last=True)
    return _make_correction_receipt(session, submission)


def _correct_pair(
    study: Study,
    session: Session,
    leased: Row[Any],
    submission: schema.Submission,
    twins: Twins,
    verdict: adversary.AdversaryVerdict | None,
) -> SubmissionReceipt:
    """Replace stored twins by a correction.

    Returns the first receipt if nothing has changed.
    """
    sent = twins.to_json()
    unchanged = _check_correctable(study, session, leased, submission, sent)
    if unchanged is not None:
        return unchanged
    _save_correction(study, submission, sent, verdict)
    submission.pasted = _PASTED.scalar(session, lease=leased.lease_id) or 0
    if submission.counted:
        _replace_twins(study, session, leased, twins, submission.id)
    return _make_correction_receipt(session, submission)


def _save_correction(
    study: Study,
    submission: schema.Submission,
    sent: dict[str, Any],
    verdict: adversary.AdversaryVerdict | None,
) -> None:
    """Replace a submission's fields, and add the earlier ones to its history."""
    until = study.now().isoformat()
    earlier_version = {"fields": submission.fields, "adversary": submission.adversary, "until": until}
    submission.history = [*submission.history, earlier_version]
    submission.fields = sent
    submission.adversary = verdict.to_json() if verdict else None


def _make_correction_receipt(session: Session, submission: schema.Submission) -> SubmissionReceipt:
    """Receipt of a correction."""
    receipt = _make_earlier_receipt(session, submission)
    return replace(receipt, message=say("receipts.corrected"), replayed=False, corrected=True)


def _check_correctable(
    study: Study, session: Session, leased: Row[Any], submission: schema.Submission, sent: Mapping[str, Any]
) -> SubmissionReceipt | None:
    """Check that a submission can be replaced by the fields `sent`.

    Returns the first receipt if they are the same as before, else None. Raises AlreadyHandedIn if it is too late.
    """
    if submission.fields == sent:
        return _make_earlier_receipt(session, submission)
    # Lock them against whoever is about to be given them, or to decide about them. Who was faster is seen below.
    tasks = select(schema.Task.id).where(_is_about(leased, submission))
    session.execute(tasks.with_for_update())
    problems = select(schema.ProblemRow.id).where(schema.ProblemRow.submission_id == submission.id)
    session.execute(problems.with_for_update())
    before = _describe_earlier_work(study, session, leased, submission)
    if before.correct_until is None:
        raise AlreadyHandedIn(say("refusals.handed_in"), before.fields, sent, before.at)
    return None


def _describe_earlier_work(study: Study, session: Session, leased: Row[Any], submission: schema.Submission) -> HandedIn:
    """Describe a submission, and until when it can be corrected.

    It can be for some minutes, by a worker who is still active, unless it was discarded, another worker was given the
    twins, or a requester has decided on the problem.
    """
    until = submission.submitted_at + timedelta(minutes=study.config.tasks.correct_for)
    is_about = _is_about(leased, submission)
    problem_ids = select(schema.Task.problem_id).where(is_about)
    leases = select(schema.Lease.id).join(schema.Task).where(is_about).limit(1)
    decisions = select(schema.Adjudication.id).where(schema.Adjudication.problem_id.in_(problem_ids)).limit(1)
    is_in_time = study.now() < until and leased.worker_state == schema.ACTIVE
    is_valid = submission.why_not in (None, schema.LATE)
    is_undecided = session.scalar(decisions) is None or leased.gold
    is_vote = leased.problem_id is not None
    is_free = is_in_time and is_valid and is_undecided and (is_vote or session.scalar(leases) is None)
    correct_until = until if is_free else None
    return HandedIn(submission.fields, submission.submitted_at, correct_until, _list_texts(submission))


def _is_about(leased: Row[Any], submission: schema.Submission) -> ColumnElement[bool]:
    """SQL condition: a task is about a submission.

    For a vote that is its own task, for twins each task to judge them.
    """
    if leased.problem_id is not None:
        is_own_task: ColumnElement[bool] = schema.Task.id == leased.task_id
        return is_own_task
    problem_ids = select(schema.ProblemRow.id).where(schema.ProblemRow.submission_id == submission.id)
    return schema.Task.problem_id.in_(problem_ids)


def _list_texts(submission: schema.Submission | None) -> tuple[str, ...]:
    """The texts of a submission of twins, in all its versions.

    Empty for None.
    """
    if submission is None:
        return ()
    earlier_versions = [version["fields"] for version in submission.history]
    texts = []
    for fields in (submission.fields, *earlier_versions):
        texts += [fields[name] for name in ("first", "second") if name in fields]
    return tuple(texts)


def _count_versions(submission: schema.Submission | None) -> int:
    """Number of versions of a submission. 0 for None."""
    return 0 if submission is None else 1 + len(submission.history)


def _find_submission(session: Session, leased: Row[Any], *, for_update: bool = False) -> schema.Submission:
    """Find the submission of a lease that was handed in.

    Its own query, since it may have been stored while we waited for the lock on the lease.
    """
    query = select(schema.Submission).where(schema.Submission.lease_id == leased.lease_id)
    if for_update:
        query = query.with_for_update()
    return session.scalars(query).one()


def _add_vote(study: Study, session: Session, leased: Row[Any], ballot: Mapping[str, Any]) -> SubmissionReceipt:
    """Store and pay a new vote.

    The problem is decided if it is the last one.
    """
    why_not, is_last = _occupy_slot(session, leased)
    submission = _describe_submission(study, leased, dict(ballot), why_not)
    number = _add_submission(session, submission)
    shared = {name: submission[name] for name in ("task_id", "worker_id", "kind", "counted")}
    vote_columns = {"submission_id": number, "problem_id": leased.problem_id, "gold": leased.gold, "at": study.now()}
    right = is_right(study, leased, ballot["choice"]) if leased.gold else None
    vote = dict.fromkeys(schema.ANSWERS) | shared | vote_columns | dict(ballot)
    _VOTE.all(session, **vote, is_right=right, doubted=False)
    # As often as others are, gold is treated like the last vote on a problem: time tells nothing then.
    is_last = is_treated_as_last(study, leased) if leased.gold else is_last
    _apply_vote(study, session, leased, is_last=is_last)
    return _pay_submission(study, session, submission, number)


def _add_pair(
    study: Study,
    session: Session,
    leased: Row[Any],
    twins: Twins,
    verdict: adversary.AdversaryVerdict | None,
) -> SubmissionReceipt:
    """Store new twins, with tasks for others to judge them, and pay them."""
    why_not, _ = _occupy_slot(session, leased)
    submission = _describe_submission(study, leased, twins.to_json(), why_not)
    submission["pasted"] = _PASTED.scalar(session, lease=leased.lease_id) or 0
    submission["adversary"] = verdict.to_json() if verdict else None
    number = _add_submission(session, submission)
    session.execute(delete(schema.Draft).where(schema.Draft.lease_id == leased.lease_id))
    if why_not is None:
        _add_twins(study, session, leased, twins, number)
    return _pay_submission(study, session, submission, number)


def _describe_submission(study: Study, leased: Row[Any], fields: dict[str, Any], why_not: str | None) -> dict[str, Any]:
    """Columns of a new submission, by name.

    `why_not` is the reason why it does not count, or None. `pasted` and `adversary` are filled in by the caller.
    """
    now = study.now()
    return {
        "task_id": leased.task_id,
        "worker_id": leased.worker_id,
        "kind": leased.kind,
        "counted": why_not is None,
        "lease_id": leased.lease_id,
        "fields": fields,
        "why_not": why_not,
        "late": leased.state != schema.LIVE or leased.expires_at <= now,
        "seconds": (now - leased.leased_at).total_seconds(),
        "pasted": 0,
        "adversary": None,
        "submitted_at": now,
    }


def _add_submission(session: Session, submission: Mapping[str, Any]) -> int:
    """Store a submission, end its lease, and return its number."""
    END_LEASE.all(session, ended=submission["lease_id"], new_state=schema.SUBMITTED)
    return int(_SUBMISSION.scalar(session, **submission, history=[]))


def _pay_submission(study: Study, session: Session, submission: Mapping[str, Any], number: int) -> SubmissionReceipt:
    """Add the ledger line for a submission, and return its receipt."""
    cents = ledger.pay(session, study, submission, number)
    message = MESSAGES.get(submission["why_not"], NOT_COUNTED)
    counted = bool(submission["counted"])
    late = bool(submission["late"])
    return SubmissionReceipt(number, str(submission["kind"]), counted, late, cents, message)


def _make_earlier_receipt(session: Session, submission: schema.Submission) -> SubmissionReceipt:
    """Receipt of a submission that was stored before."""
    paid = select(func.sum(schema.Payment.cents)).where(schema.Payment.submission_id == submission.id)
    cents = int(session.scalar(paid) or 0)
    message = MESSAGES.get(submission.why_not, NOT_COUNTED)
    return SubmissionReceipt(
        submission.id, submission.kind, submission.counted, submission.late, cents, message, replayed=True
    )


def _occupy_slot(session: Session, leased: Row[Any]) -> tuple[str | None, bool]:
    """Take one of the task's places for a submission.

    Returns the reason why it does not count, or None: the worker is blocked, or it came late and no place is free. Also
    returns whether it was the task's last place.
    """
    # Also after its time, as long as nobody has ended it: then nobody else has the place.
    is_reserved = leased.state == schema.LIVE
    if leased.worker_state != schema.ACTIVE:
        count_places(session, leased.task_id, reserved=-int(is_reserved))
        return schema.FROM_BLOCKED, False
    if is_reserved or leased.gold:
        counted = count_places(session, leased.task_id, reserved=-int(is_reserved), accepted=1)
    else:
        counted = _TAKE_FREE.one(session, wanted=leased.task_id)
        if counted is None:
            return schema.LATE, False
    return None, counted is not None and counted.accepted >= counted.asked


def _apply_vote(study: Study, session: Session, leased: Row[Any], *, is_last: bool) -> None:
    """Check the worker's gold questions, and decide the problem if all voted.

    Gold questions take the same steps, so that the time it takes reveals nothing.
    """
    if study.config.quality.gold_share:
        moderation.check_gold(study, session, leased.worker_id)
    if is_last:  # Nothing is decided before. The lock waits for a requester who decides at the same moment.
        row = session.get_one(schema.ProblemRow, leased.problem_id, with_for_update={"key_share": True})
        settle(session, study, row, leased.kind)


def _replace_twins(study: Study, session: Session, leased: Row[Any], twins: Twins, submission_id: int) -> None:
    """Replace stored twins that no other worker has been given."""
    is_of_submission = schema.ProblemRow.submission_id == submission_id
    rows = session.scalars(select(schema.ProblemRow).where(is_of_submission)).all()
    group = session.get_one(schema.Group, rows[0].group_id)
    problem_ids = [row.id for row in rows]
    session.execute(delete(schema.Task).where(schema.Task.problem_id.in_(problem_ids)))
    for row in rows:
        session.delete(row)
    session.flush()
    _add_twins(study, session, leased, twins, submission_id, group)


def _add_twins(
    study: Study,
    session: Session,
    leased: Row[Any],
    twins: Twins,
    submission_id: int,
    group: schema.Group | None = None,
) -> None:
    """Store two problems in a group, with tasks for others to judge them.

    Without `group`, a new one is made.
    """
    group = group or schema.Group(origin=schema.WRITTEN)
    session.add(group)
    session.flush()
    pair = []
    problems = twins.problems(study.config.language, leased.task_domain)
    topic = (leased.topic or {}).get("topic")
    for problem, special_word in zip(problems, special_words(*twins.texts), strict=True):
        labels = {"topic": topic, "special_word": special_word}
        given_labels = {key: value for key, value in labels.items() if value}
        pair.append(problem.with_labels(**given_labels))
    references = {"group_id": group.id, "author_id": leased.worker_id, "submission_id": submission_id}
    references["settings_id"] = study.settings_id
    rows = [schema.to_row(problem, schema.WRITTEN, study.now(), **references) for problem in pair]
    session.add_all(rows)
    session.flush()
    for problem, row in zip(pair, rows, strict=True):
        add_judgements(session, study, row, problem)
