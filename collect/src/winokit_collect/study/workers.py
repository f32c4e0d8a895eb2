"""Workers of a study: joining, consent, screening, quizzes, and the next step of each."""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Row, and_, bindparam, func, select, text, update
from sqlalchemy.orm import Session, aliased, selectinload

from winokit_collect.study import schema
from winokit_collect.study.content import Question
from winokit_collect.study.prepared import Prepared
from winokit_collect.study.refusals import Incomplete, NotAllowed, NotNow, found
from winokit_collect.study.schema import (
    PAYMENTS,
    SUBMISSIONS,
    WORKERS,
    Identity,
    PlatformVisit,
    QuizAttempt,
    Worker,
)
from winokit_collect.study.study import Study
from winokit_collect.study.texts import say

LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
"""Digits and letters that nobody mistakes for one another when reading a code aloud."""
CONSENT = "consent"
SCREENING = "screening"
QUIZ = "quiz"
WORK = "work"
# Queries of every page are made once: making a query takes longer than running it.
_ME: BindParameter[int] = bindparam("me")
_BY_CODE = Prepared(select(WORKERS).where(WORKERS.c.code == bindparam("code")))
_LOCKED = select(Worker).where(Worker.id == _ME).with_for_update(key_share=True)
_LOCKED_ROW = Prepared(select(WORKERS).where(WORKERS.c.id == _ME).with_for_update(key_share=True))
_IS_EARNED = (PAYMENTS.c.worker_id == _ME, PAYMENTS.c.reason != schema.VISIT)
_EARNED = Prepared(select(func.sum(PAYMENTS.c.cents)).where(*_IS_EARNED))
# Both databases know it, and two workers may agree at the same moment.
_KEEP_TEXT = text("INSERT INTO consent_texts (sha256, text, at) VALUES (:sha256, :text, :at) ON CONFLICT DO NOTHING")
_KEEP_TEXT = _KEEP_TEXT.bindparams(bindparam("at", type_=schema.Moment))
_OWN_SUBMISSIONS = select(SUBMISSIONS.c.kind, func.count()).where(SUBMISSIONS.c.worker_id == _ME)
_DONE = Prepared(_OWN_SUBMISSIONS.group_by(SUBMISSIONS.c.kind))


@dataclass(frozen=True)
class QuizResult:
    """Result of an attempt at the quiz.

    `right` has one value per question. `attempts_left` is 0 if the quiz is passed, else the fewest left for any kind of
    task that is not passed.
    """

    share: float
    passed: bool
    right: tuple[bool, ...]
    attempts_left: int


def join(
    study: Study,
    platform: str,
    identity: Identity | None = None,
    *,
    code: str | None = None,
    me: int | None = None,
    verified: bool = True,
) -> Worker:
    """Let in a new worker, or one that a platform has sent before.

    `code` is the code of a new worker, random if None. A visit can only be continued in the browser in which it began.
    That is known by its hash in `identity`, or by the id `me` of the worker signed in there. If the platform has not
    `verified` the identity, the same holds for the worker's later visits. Raises NotAllowed in another browser.
    """
    with study.store.write() as session:
        if identity is not None:
            identity.arrived_at = study.now()
            is_same = (Identity.platform == platform, Identity.external_id == identity.external_id)
            stored = session.scalar(select(Identity).where(*is_same).with_for_update())
            if stored is not None:
                _update_identity(stored, identity, me=me, verified=verified)
                _save_visit(study, session, stored)
                return session.get_one(Worker, stored.worker_id)
        return add(study, session, platform, identity, code)


def _update_identity(stored: Identity, identity: Identity, *, me: int | None, verified: bool) -> None:
    """Update a stored identity with a new arrival.

    Raises NotAllowed if the arrival must be in the stored browser and is not.
    """
    goes_on = stored.session_id is not None and stored.session_id == identity.session_id
    is_own_browser = stored.browser in (None, identity.browser) or stored.worker_id == me
    if (goes_on or not verified) and not is_own_browser:
        raise NotAllowed(say("refusals.other_browser"))
    stored.study_id = identity.study_id
    stored.session_id = identity.session_id
    stored.browser = identity.browser
    if not goes_on:
        stored.arrived_at = identity.arrived_at


def _save_visit(study: Study, session: Session, identity: Identity) -> None:
    """Store the platform's visit that an identity names, if it is new.

    Raises NotAllowed if another worker has this visit.
    """
    if identity.session_id is None:
        return
    same = (PlatformVisit.platform == identity.platform, PlatformVisit.session_id == identity.session_id)
    visit = session.scalar(select(PlatformVisit).where(*same))
    if visit is None:
        visit = PlatformVisit(worker_id=identity.worker_id, platform=identity.platform, arrived_at=study.now())
        visit.browser = identity.browser
        visit.study_id = identity.study_id
        visit.session_id = identity.session_id
        session.add(visit)
    elif visit.worker_id != identity.worker_id:
        raise NotAllowed(say("refusals.other_browser"))


def note_browser(
    study: Study, session: Session, worker_id: int, browser: str | None, invite_id: str | None = None
) -> None:
    """Store that a worker came by a link in a browser.

    Stored once for each browser and link. `browser` is a hash, or None if it is unknown. `invite_id` is None for a
    personal link.
    """
    is_same_browser = (PlatformVisit.worker_id == worker_id, PlatformVisit.browser.is_not_distinct_from(browser))
    is_same_link = PlatformVisit.invite_id.is_not_distinct_from(invite_id)
    visit_id = session.scalar(select(PlatformVisit.id).where(*is_same_browser, is_same_link))
    if visit_id:
        return
    columns = {"worker_id": worker_id, "platform": "links", "browser": browser, "invite_id": invite_id}
    session.add(PlatformVisit(**columns, arrived_at=study.now()))


def visits_of(study: Study, code: str) -> Sequence[PlatformVisit]:
    """All visits of a worker, oldest first, with their invite links."""
    visits = select(PlatformVisit).join(Worker, Worker.id == PlatformVisit.worker_id).where(Worker.code == code)
    visits = visits.options(selectinload(PlatformVisit.invite))
    visits = visits.order_by(PlatformVisit.arrived_at, PlatformVisit.id)
    with study.store.read() as session:
        return session.scalars(visits).all()


def codes_by_invite(study: Study) -> dict[str, list[str]]:
    """Codes of the workers who joined by each invite, by its id."""
    pairs = select(PlatformVisit.invite_id, Worker.code).join(Worker, Worker.id == PlatformVisit.worker_id)
    pairs = pairs.where(PlatformVisit.invite_id.is_not(None)).distinct()
    pairs = pairs.order_by(PlatformVisit.invite_id, Worker.code)
    codes: dict[str, list[str]] = {}
    with study.store.read() as session:
        for invite_id, code in session.execute(pairs):
            codes.setdefault(str(invite_id), []).append(code)
    return codes


def forget_visits(session: Session, *conditions: ColumnElement[bool]) -> None:
    """Empty the columns of visits that tie them to a person.

    `conditions` are SQL conditions on the visits. Payments stay.
    """
    empty = {"study_id": None, "session_id": None, "browser": None}
    unseen = {"synchronize_session": False}
    session.execute(update(PlatformVisit).where(*conditions).values(empty), execution_options=unseen)


def sharing_browsers(study: Study) -> dict[str, list[str]]:
    """Codes of other workers who used the same browser, by worker's code.

    Workers who share no browser are left out.
    """
    one_visit = aliased(PlatformVisit)
    other_visit = aliased(PlatformVisit)
    first = aliased(Worker)
    second = aliased(Worker)
    is_shared = (one_visit.browser == other_visit.browser, one_visit.worker_id != other_visit.worker_id)
    pairs = select(first.id, first.code, second.id, second.code)
    pairs = pairs.join(one_visit, one_visit.worker_id == first.id)
    pairs = pairs.join(other_visit, and_(*is_shared))
    pairs = pairs.join(second, second.id == other_visit.worker_id)
    pairs = pairs.distinct().order_by(first.id, second.id)
    shared: dict[str, list[str]] = {}
    with study.store.read() as session:
        for _, code, _, same_browser in session.execute(pairs):
            shared.setdefault(code, []).append(same_browser)
    return shared


def add(
    study: Study, session: Session, platform: str, identity: Identity | None = None, code: str | None = None
) -> Worker:
    """Add a new worker, in an open transaction.

    Without `code`, the worker gets a random one.
    """
    if not code:
        letters = "".join(secrets.choice(LETTERS) for _ in range(10))
        code = f"w-{letters}"
    worker = Worker(code=code, platform=platform, state=schema.ACTIVE, joined_at=study.now(), pilot=study.pilot)
    session.add(worker)
    session.flush()
    if identity is not None:
        identity.worker_id = worker.id
        identity.platform = platform
        session.add(identity)
        _save_visit(study, session, identity)
    study.log(session, f"worker:{worker.code}", "join", platform)
    return worker


def get(study: Study, code: str) -> Row[Any]:
    """Read a worker's row by code. Raises NotFound."""
    with study.store.read() as session:
        return found(_BY_CODE.one(session, code=code), say("refusals.no_worker"))


def by_code(session: Session, code: str, *, for_update: bool = False) -> Worker:
    """Find a worker by code, as an object that can be changed.

    Raises NotFound. With `for_update`, the row is locked.
    """
    query = select(Worker).where(Worker.code == code)
    if for_update:
        query = query.with_for_update(key_share=True)
    return found(session.scalar(query), f"no worker {code}")


def end_sessions(study: Study, code: str) -> None:
    """Sign a worker out of all browsers."""
    with study.store.write() as session:
        raised = {"session_version": Worker.session_version + 1}
        session.execute(update(Worker).where(Worker.code == code).values(raised))
        study.log(session, f"worker:{code}", "sign out")


def consent(study: Study, worker_id: int) -> Worker:
    """Store a worker's agreement to the present consent text.

    The text is stored with it. Does nothing if they have agreed to it before.
    """
    with study.store.write() as session:
        worker = locked(session, worker_id)
        if not has_consented(study, worker):
            worker.consented_at = study.now()
            worker.consent_sha256 = study.consent_sha256
            session.execute(_KEEP_TEXT, {"sha256": study.consent_sha256, "text": study.consent, "at": study.now()})
            session.add(schema.Consent(worker_id=worker.id, sha256=study.consent_sha256, at=study.now()))
            study.log(session, f"worker:{worker.code}", "consent", study.consent_sha256[:12])
        return worker


def has_consented(study: Study, worker: Worker | Row[Any]) -> bool:
    """Whether a worker has agreed to the consent text in its present version."""
    return worker.consented_at is not None and worker.consent_sha256 == study.consent_sha256


def screen(study: Study, worker_id: int, native_speaker: bool, has_seen_wsc: bool) -> Worker:
    """Store a worker's answers to the screening questions.

    They count only the first time. A worker who does not fit the study is screened out.
    """
    with study.store.write() as session:
        worker = locked(session, worker_id)
        if step_of(study, worker) != SCREENING:
            return worker
        worker.native_speaker = native_speaker
        worker.has_seen_wsc = has_seen_wsc
        worker.screened_at = study.now()
        quality = study.config.quality
        lacks_language = quality.native_speaker and not native_speaker
        is_familiar = quality.never_seen_wsc and has_seen_wsc
        if lacks_language or is_familiar:
            worker.state = schema.SCREENED_OUT
            worker.state_why = "screening"
        study.log(session, f"worker:{worker.code}", "screen", worker.state)
        return worker


def quiz_for(study: Study, worker: Worker | Row[Any], kinds: Collection[str]) -> list[Question]:
    """Questions that a worker must answer for some kinds of task.

    Until they have passed a quiz, this includes the questions for all kinds.
    """
    asked_kinds = set(kinds)
    if worker.qualified_at is None:
        asked_kinds.add("")
    return [question for question in study.quiz if question.kind in asked_kinds]


def must_qualify(study: Study, worker: Worker | Row[Any], kind: str) -> bool:
    """Whether a worker still needs a quiz for a kind of task.

    False if they have passed or finally failed that quiz, and if no quiz by kind was decided for them yet: they take
    their first one anyway (`step_of`).
    """
    decided_kinds = worker.qualified_for
    if decided_kinds is None or kind in decided_kinds:
        return False
    return any(question.kind == kind for question in study.quiz)


def is_qualified(study: Study, worker: Worker | Row[Any], kind: str) -> bool:
    """Whether a worker may have a kind of task, by its quiz.

    True if they passed the quiz or need none.
    """
    decided_kinds = worker.qualified_for or {}
    return bool(decided_kinds.get(kind, not must_qualify(study, worker, kind)))


def next_quiz(study: Study, worker: Worker | Row[Any], kinds: Collection[str]) -> str | None:
    """The first kind of task for which a worker must take a quiz.

    None if there is none.
    """
    for kind in kinds:
        if _is_undecided(worker, kind) and quiz_for(study, worker, [kind]):
            return kind
    return None


def _is_undecided(worker: Worker | Row[Any], kind: str) -> bool:
    """Whether a kind's quiz is neither passed nor finally failed."""
    if worker.qualified_for is None:
        return worker.qualified_at is None
    return kind not in worker.qualified_for


def take_quiz(study: Study, worker_id: int, answers: Sequence[int], kinds: Collection[str] | None = None) -> QuizResult:
    """Mark a worker's answers to the quiz.

    `kinds` are the kinds of task it is for, None for all. `answers` are indexes of options, in the order of the
    questions. Each kind is passed or failed separately. Failing the last attempt excludes the worker from that kind,
    and screens them out if no kind is left. Questions for all kinds are counted for the first of these kinds. The first
    attempt is paid if the study pays for it. Raises NotNow if no quiz is due, and Incomplete if the number of answers
    is wrong.
    """
    with study.store.write() as session:
        worker = locked(session, worker_id)
        is_first = worker.qualified_at is None
        asked_kinds = [kind for kind in kinds or study.config.tasks.kinds if _is_undecided(worker, kind)]
        quiz = quiz_for(study, worker, asked_kinds)
        right_step = QUIZ if is_first else WORK
        has_quiz = bool(asked_kinds) and (bool(quiz) or is_first)
        if step_of(study, worker) != right_step or not has_quiz:
            raise NotNow(say("refusals.no_quiz"))
        if len(answers) != len(quiz):
            raise Incomplete({"answers": f"{len(quiz)} answers expected, found {len(answers)}"})
        right = tuple(answer == question.answer for answer, question in zip(answers, quiz, strict=True))
        share = _compute_share(right)
        if is_first:
            _pay_quiz(study, session, worker)
        question_kinds = [question.kind or asked_kinds[0] for question in quiz]
        tries_left = []
        for kind in asked_kinds:
            kind_answers: list[int] = []
            kind_right: list[bool] = []
            for question_kind, answer, is_right in zip(question_kinds, answers, right, strict=True):
                if question_kind == kind:
                    kind_answers.append(answer)
                    kind_right.append(is_right)
            kind_passed, left_count = _save_attempt(study, session, worker, kind, kind_answers, kind_right)
            if not kind_passed:
                tries_left.append(left_count)
        if len(tries_left) < len(asked_kinds):
            worker.qualified_at = worker.qualified_at or study.now()
        elif is_first and not _has_kind_left(study, worker):
            worker.state = schema.SCREENED_OUT
            worker.state_why = "quiz"
        passed = not tries_left
        outcome = "passed" if passed else "failed"
        study.log(session, f"worker:{worker.code}", "quiz", outcome, share=share)
        return QuizResult(share, passed, right, min(tries_left, default=0))


def _compute_share(right: Sequence[bool]) -> float:
    """Share of right answers, 1 if there are no questions."""
    return sum(right) / len(right) if right else 1.0


def _save_attempt(
    study: Study, session: Session, worker: Worker, kind: str, answers: list[int], right: list[bool]
) -> tuple[bool, int]:
    """Store an attempt at the quiz for one kind of task.

    Returns whether it is passed, and the number of attempts left.
    """
    share = _compute_share(right)
    passed = share >= study.config.quality.quiz_pass_mark
    earlier_tries = select(func.count()).where(QuizAttempt.worker_id == worker.id, QuizAttempt.kind == kind)
    earlier_count = session.scalar(earlier_tries) or 0
    left_count = max(0, study.config.quality.quiz_attempts - 1 - earlier_count)
    attempt = QuizAttempt(worker_id=worker.id, kind=kind, answers=answers, share=share, passed=passed)
    attempt.at = study.now()
    session.add(attempt)
    if passed or not left_count:
        worker.qualified_for = {**(worker.qualified_for or {}), kind: passed}
    return passed, left_count


def _has_kind_left(study: Study, worker: Worker) -> bool:
    """Whether there is a quiz that the worker has not finally failed."""
    kinds = {question.kind for question in study.quiz if question.kind} or set(study.config.tasks.kinds[:1])
    decided_kinds = worker.qualified_for or {}
    return any(decided_kinds.get(kind, True) for kind in kinds)


def _pay_quiz(study: Study, session: Session, worker: Worker) -> None:
    """Add the pay for the first attempt at a quiz to the ledger."""
    cents = int(study.config.pay.quiz * 100)
    tried = select(QuizAttempt.id).where(QuizAttempt.worker_id == worker.id).limit(1)
    if cents and session.scalar(tried) is None:
        session.add(schema.Payment(worker_id=worker.id, reason=QUIZ, cents=cents, at=study.now()))


def own_work(study: Study, worker_id: int) -> tuple[int, dict[str, int]]:
    """A worker's earnings in cents, and their number of submissions by kind.

    Deductions of what a platform paid for a visit are left out of the earnings.
    """
    with study.store.read() as session:
        earned_cents = _EARNED.scalar(session, me=worker_id) or 0
        counts = _DONE.all(session, me=worker_id)
        return int(earned_cents), {kind: int(count) for kind, count in counts}


def forget(study: Study, code: str, actor: str) -> None:
    """Delete a worker's identity on the platform.

    Texts and votes stay, under the worker's code. Raises NotNow while a payout is in progress, and NotFound if there is
    no identity. What is still owed cannot be paid through the platform then.
    """
    with study.store.write() as session:
        under_way = schema.PayoutJob.state.in_(schema.UNDER_WAY)
        jobs = select(schema.PayoutJob.id).join(Worker).where(Worker.code == code, under_way)
        if session.scalar(jobs):
            raise NotNow(f"a payout to {code} is in progress; wait until it is confirmed")
        query = select(Identity).join(Worker, Worker.id == Identity.worker_id).where(Worker.code == code)
        identity = found(session.scalar(query), f"no personal data is stored about {code}")
        session.delete(identity)
        forget_visits(session, PlatformVisit.worker_id == identity.worker_id)
        study.log(session, actor, "forget", code)


def locked(session: Session, worker_id: int) -> Worker:
    """Lock a worker's row and return it as an object.

    Two requests of one worker are then processed one after the other.
    """
    options = {"populate_existing": True}
    worker = session.scalar(_LOCKED, {"me": worker_id}, execution_options=options)
    return found(worker, say("refusals.no_worker"))


def working(study: Study, session: Session, worker_id: int) -> Row[Any]:
    """Lock the row of a worker who may work, and return its columns.

    Raises NotAllowed if the worker has not passed all steps, or may no longer work.
    """
    worker = found(_LOCKED_ROW.one(session, me=worker_id), say("refusals.no_worker"))
    if step_of(study, worker) != WORK:
        # The reason stays with the requester: "2 of 5 gold questions" would reveal that there are any.
        has_left = worker.state != schema.ACTIVE
        key = "refusals.not_any_more" if has_left else "refusals.steps_first"
        raise NotAllowed(say(key))
    return worker


def step_of(study: Study, worker: Worker | Row[Any]) -> str:
    """The step that a worker must do next: consent, screening, quiz or work.

    For a worker who may no longer work, their state, such as blocked.
    """
    if worker.state != schema.ACTIVE:
        return worker.state
    if not has_consented(study, worker):
        return CONSENT
    quality = study.config.quality
    has_screening = quality.native_speaker or quality.never_seen_wsc
    if has_screening and worker.screened_at is None:
        return SCREENING
    must_take_quiz = study.quiz and worker.qualified_at is None
    return QUIZ if must_take_quiz else WORK
