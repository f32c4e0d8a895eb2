"""Workers: how they come in, consent, are screened and qualify, and what they may do next."""

import secrets
from collections.abc import Collection, Mapping, Sequence
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
# Asked for every page, and made once: making a query takes longer than running it.
_ME: BindParameter[int] = bindparam("me")
_BY_CODE = Prepared(select(WORKERS).where(WORKERS.c.code == bindparam("code")))
_LOCKED = select(Worker).where(Worker.id == _ME).with_for_update(key_share=True)
_LOCKED_ROW = Prepared(select(WORKERS).where(WORKERS.c.id == _ME).with_for_update(key_share=True))
_EARNED = Prepared(
    select(func.sum(PAYMENTS.c.cents)).where(PAYMENTS.c.worker_id == _ME, PAYMENTS.c.reason != schema.VISIT)
)
# Both databases know it, and two workers may agree at the same moment.
_KEEP_TEXT = text("INSERT INTO consent_texts (sha256, text, at) VALUES (:sha256, :text, :at) ON CONFLICT DO NOTHING")
_KEEP_TEXT = _KEEP_TEXT.bindparams(bindparam("at", type_=schema.Moment))
_DONE = Prepared(
    select(SUBMISSIONS.c.kind, func.count()).where(SUBMISSIONS.c.worker_id == _ME).group_by(SUBMISSIONS.c.kind)
)


@dataclass(frozen=True)
class QuizResult:
    """How a try at the quiz went."""

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
    """A new worker, or the one that a platform has sent before. Without a code they are given a random one.

    A visit that has begun goes on in its own browser, which is known by its hash, or by who works in it (`me`); and so
    does any other of theirs where the platform has not `verified` that it is them.
    """
    with study.store.write() as session:
        if identity is not None:
            identity.arrived_at = study.now()
            same = (Identity.platform == platform, Identity.external_id == identity.external_id)
            known = session.scalar(select(Identity).where(*same).with_for_update())
            if known is not None:
                goes_on = known.session_id is not None and known.session_id == identity.session_id
                own = known.browser in (None, identity.browser) or known.worker_id == me
                if (goes_on or not verified) and not own:
                    raise NotAllowed(say("refusals.other_browser"))
                for name in ("study_id", "session_id", "browser", *(() if goes_on else ("arrived_at",))):
                    setattr(known, name, getattr(identity, name))
                _keep_session(study, session, known)
                return session.get_one(Worker, known.worker_id)
        return add(study, session, platform, identity, code)


def _keep_session(study: Study, session: Session, identity: Identity) -> None:
    """Keep the visit that somebody is in; one that another worker is known by is refused."""
    if identity.session_id is None:
        return
    same = (PlatformVisit.platform == identity.platform, PlatformVisit.session_id == identity.session_id)
    visit = session.scalar(select(PlatformVisit).where(*same))
    if visit is None:
        about = {"worker_id": identity.worker_id, "platform": identity.platform, "browser": identity.browser}
        about |= {"study_id": identity.study_id, "session_id": identity.session_id, "arrived_at": study.now()}
        session.add(PlatformVisit(**about))
    elif visit.worker_id != identity.worker_id:
        raise NotAllowed(say("refusals.other_browser"))


def note_browser(
    study: Study, session: Session, worker_id: int, browser: str | None, invite_id: str | None = None
) -> None:
    """Keep in which browser somebody came by a link, once for each browser and link."""
    same = (PlatformVisit.worker_id == worker_id, PlatformVisit.browser.is_not_distinct_from(browser))
    if session.scalar(select(PlatformVisit.id).where(*same, PlatformVisit.invite_id.is_not_distinct_from(invite_id))):
        return
    about = {"worker_id": worker_id, "platform": "links", "browser": browser, "invite_id": invite_id}
    session.add(PlatformVisit(**about, arrived_at=study.now()))


def visits_of(study: Study, code: str) -> Sequence[PlatformVisit]:
    """A worker's visits, oldest first, each with the link that let them in."""
    visits = select(PlatformVisit).join(Worker, Worker.id == PlatformVisit.worker_id).where(Worker.code == code)
    with study.store.read() as session:
        query = visits.options(selectinload(PlatformVisit.invite)).order_by(PlatformVisit.arrived_at, PlatformVisit.id)
        return session.scalars(query).all()


def came_by(study: Study) -> dict[str, list[str]]:
    """The codes of workers who came in by each link."""
    pairs = select(PlatformVisit.invite_id, Worker.code).join(Worker, Worker.id == PlatformVisit.worker_id)
    pairs = pairs.where(PlatformVisit.invite_id.is_not(None)).distinct().order_by(PlatformVisit.invite_id, Worker.code)
    codes: dict[str, list[str]] = {}
    with study.store.read() as session:
        for invite_id, code in session.execute(pairs):
            codes.setdefault(str(invite_id), []).append(code)
    return codes


def forget_visits(session: Session, *which: ColumnElement[bool]) -> None:
    """Empty what ties visits to a person; what was paid for them stays."""
    empty = {"study_id": None, "session_id": None, "browser": None}
    unseen = {"synchronize_session": False}
    session.execute(update(PlatformVisit).where(*which).values(empty), execution_options=unseen)


def sharing_browsers(study: Study) -> dict[str, list[str]]:
    """Codes of the other workers in the same browser, by the code of each."""
    one = aliased(PlatformVisit)
    other = aliased(PlatformVisit)
    first = aliased(Worker)
    second = aliased(Worker)
    same = (one.browser == other.browser, one.worker_id != other.worker_id)
    pairs = (
        select(first.id, first.code, second.id, second.code)
        .join(one, one.worker_id == first.id)
        .join(other, and_(*same))
    )
    pairs = pairs.join(second, second.id == other.worker_id).distinct().order_by(first.id, second.id)
    shared: dict[str, list[str]] = {}
    with study.store.read() as session:
        for _, code, _, same_browser in session.execute(pairs):
            shared.setdefault(code, []).append(same_browser)
    return shared


def add(
    study: Study, session: Session, platform: str, identity: Identity | None = None, code: str | None = None
) -> Worker:
    """A new worker, within a transaction."""
    code = code or f"w-{''.join(secrets.choice(LETTERS) for _ in range(10))}"
    worker = Worker(code=code, platform=platform, state=schema.ACTIVE, joined_at=study.now(), pilot=study.pilot)
    session.add(worker)
    session.flush()
    if identity is not None:
        identity.worker_id = worker.id
        identity.platform = platform
        session.add(identity)
        _keep_session(study, session, identity)
    study.log(session, f"worker:{worker.code}", "join", platform)
    return worker


def get(study: Study, code: str) -> Row[Any]:
    """The row of the worker with a code."""
    with study.store.read() as session:
        return found(_BY_CODE.one(session, code=code), say("refusals.no_worker"))


def by_code(session: Session, code: str, *, for_update: bool = False) -> Worker:
    """The same as an object, to be changed; for an update, kept from other transactions."""
    query = select(Worker).where(Worker.code == code)
    return found(session.scalar(query.with_for_update(key_share=True) if for_update else query), f"no worker {code}")


def end_sessions(study: Study, code: str) -> None:
    """Sign a worker out of every browser; a new link lets them in again."""
    with study.store.write() as session:
        raised = {"session_version": Worker.session_version + 1}
        session.execute(update(Worker).where(Worker.code == code).values(raised))
        study.log(session, f"worker:{code}", "sign out")


def consent(study: Study, worker_id: int) -> Worker:
    """The worker has read what is asked of them and agrees; the text is kept with its hash."""
    with study.store.write() as session:
        worker = locked(session, worker_id)
        if not has_consented(study, worker):
            worker.consented_at, worker.consent_sha256 = study.now(), study.consent_sha256
            session.execute(_KEEP_TEXT, {"sha256": study.consent_sha256, "text": study.consent, "at": study.now()})
            session.add(schema.Consent(worker_id=worker.id, sha256=study.consent_sha256, at=study.now()))
            study.log(session, f"worker:{worker.code}", "consent", study.consent_sha256[:12])
        return worker


def has_consented(study: Study, worker: Worker | Row[Any]) -> bool:
    """Whether a worker has agreed to the text as it is now."""
    return worker.consented_at is not None and worker.consent_sha256 == study.consent_sha256


def screen(study: Study, worker_id: int, native_speaker: bool, has_seen_wsc: bool) -> Worker:
    """The worker's word on the two questions of screening, once. Those whom the study is not for are told so."""
    with study.store.write() as session:
        worker = locked(session, worker_id)
        if step_of(study, worker) != SCREENING:
            return worker
        worker.native_speaker, worker.has_seen_wsc, worker.screened_at = native_speaker, has_seen_wsc, study.now()
        quality = study.config.quality
        if (quality.native_speaker and not native_speaker) or (quality.never_seen_wsc and has_seen_wsc):
            worker.state = schema.SCREENED_OUT
            worker.state_why = "screening"
        study.log(session, f"worker:{worker.code}", "screen", worker.state)
        return worker


def quiz_for(study: Study, worker: Worker | Row[Any], kinds: Collection[str]) -> list[Question]:
    """The questions that prepare a worker for some kinds of task; the first time, also those that are for all."""
    is_first = worker.qualified_at is None
    return [question for question in study.quiz if question.kind in kinds or (is_first and not question.kind)]


def must_qualify(study: Study, worker: Worker | Row[Any], kind: str) -> bool:
    """Whether there are questions left between a worker and a kind of task."""
    known = worker.qualified_for
    return known is not None and kind not in known and any(question.kind == kind for question in study.quiz)


def is_qualified(study: Study, worker: Worker | Row[Any], kind: str) -> bool:
    """Whether a worker may have a kind of task, as far as quizzes go."""
    return bool((worker.qualified_for or {}).get(kind, not must_qualify(study, worker, kind)))


def next_quiz(study: Study, worker: Worker | Row[Any], kinds: Collection[str]) -> str | None:
    """The first of some kinds of task that a worker must take a quiz for; None if there is none."""
    for kind in kinds:
        if _is_undecided(worker, kind) and quiz_for(study, worker, [kind]):
            return kind
    return None


def _is_undecided(worker: Worker | Row[Any], kind: str) -> bool:
    """Whether a worker has neither passed the quiz of a kind nor failed it for good."""
    if worker.qualified_for is None:
        return worker.qualified_at is None
    return kind not in worker.qualified_for


def take_quiz(study: Study, worker_id: int, answers: Sequence[int], kinds: Collection[str] | None = None) -> QuizResult:
    """Mark a try at the quiz for some kinds of task, or for all; each is passed or failed by itself.

    Whoever has failed the last time is kept from that kind; whoever has failed all of them is screened out. Questions
    that are for all kinds are asked until the first is passed, and belong to the first of these kinds.
    """
    with study.store.write() as session:
        worker = locked(session, worker_id)
        is_first = worker.qualified_at is None
        asked_kinds = [kind for kind in kinds or study.config.tasks.kinds if _is_undecided(worker, kind)]
        quiz = quiz_for(study, worker, asked_kinds)
        if step_of(study, worker) != (QUIZ if is_first else WORK) or not asked_kinds or not (quiz or is_first):
            raise NotNow(say("refusals.no_quiz"))
        if len(answers) != len(quiz):
            raise Incomplete({"answers": f"{len(quiz)} answers expected, found {len(answers)}"})
        right = tuple(answer == question.answer for answer, question in zip(answers, quiz, strict=True))
        if is_first:
            _pay_quiz(study, session, worker)
        passed_kinds = []
        tries_left = []
        for kind in asked_kinds:
            places = [place for place, question in enumerate(quiz) if (question.kind or asked_kinds[0]) == kind]
            marks = {place: right[place] for place in places}
            passed, left = _mark_kind(study, session, worker, kind, [answers[place] for place in places], marks)
            if passed:
                passed_kinds.append(kind)
            else:
                tries_left.append(left)
        if passed_kinds:
            worker.qualified_at = worker.qualified_at or study.now()
        elif is_first and not _has_kind_left(study, worker):
            worker.state = schema.SCREENED_OUT
            worker.state_why = "quiz"
        share = sum(right) / len(right) if right else 1.0
        passed = len(passed_kinds) == len(asked_kinds)
        study.log(session, f"worker:{worker.code}", "quiz", "passed" if passed else "failed", share=share)
        return QuizResult(share, passed, right, min(tries_left, default=0))


def _mark_kind(
    study: Study, session: Session, worker: Worker, kind: str, answers: list[int], marks: Mapping[int, bool]
) -> tuple[bool, int]:
    """Keep a try at the quiz of one kind: whether it is passed, and how many tries are left."""
    share = sum(marks.values()) / len(marks) if marks else 1.0
    passed = share >= study.config.quality.quiz_pass_mark
    before = select(func.count()).where(QuizAttempt.worker_id == worker.id, QuizAttempt.kind == kind)
    left = max(0, study.config.quality.quiz_attempts - 1 - (session.scalar(before) or 0))
    about = {"worker_id": worker.id, "kind": kind, "answers": answers, "share": share, "passed": passed}
    session.add(QuizAttempt(**about, at=study.now()))
    if passed or not left:
        worker.qualified_for = {**(worker.qualified_for or {}), kind: passed}
    return passed, left


def _has_kind_left(study: Study, worker: Worker) -> bool:
    """Whether there is a kind of task with questions that a worker has not failed for good."""
    asked = {question.kind for question in study.quiz if question.kind} or set(study.config.tasks.kinds[:1])
    return any((worker.qualified_for or {}).get(kind, True) for kind in asked)


def _pay_quiz(study: Study, session: Session, worker: Worker) -> None:
    """Owe a worker what the study pays for the first quiz, once."""
    cents = int(study.config.pay.quiz * 100)
    tried = select(QuizAttempt.id).where(QuizAttempt.worker_id == worker.id).limit(1)
    if cents and session.scalar(tried) is None:
        session.add(schema.Payment(worker_id=worker.id, reason=QUIZ, cents=cents, at=study.now()))


def own_work(study: Study, worker_id: int) -> tuple[int, dict[str, int]]:
    """What a worker has earned, in hundredths, and how much they have handed in, by kind."""
    with study.store.read() as session:
        earned = _EARNED.scalar(session, me=worker_id) or 0
        return int(earned), {kind: int(count) for kind, count in _DONE.all(session, me=worker_id)}


def forget(study: Study, code: str, actor: str) -> None:
    """Delete who a worker is on their platform; what they wrote and voted stays, under the code."""
    with study.store.write() as session:
        under_way = schema.PayoutJob.state.in_(schema.UNDER_WAY)
        if session.scalar(select(schema.PayoutJob.id).join(Worker).where(Worker.code == code, under_way)):
            raise NotNow(f"a payout to {code} is in progress; wait until it is confirmed")
        query = select(Identity).join(Worker, Worker.id == Identity.worker_id).where(Worker.code == code)
        identity = found(session.scalar(query), f"no personal data is stored about {code}")
        session.delete(identity)
        forget_visits(session, PlatformVisit.worker_id == identity.worker_id)
        study.log(session, actor, "forget", code)


def locked(session: Session, worker_id: int) -> Worker:
    """The worker's row, kept from other transactions: two requests of one worker happen one after the other."""
    options = {"populate_existing": True}
    return found(session.scalar(_LOCKED, {"me": worker_id}, execution_options=options), say("refusals.no_worker"))


def working(study: Study, session: Session, worker_id: int) -> Row[Any]:
    """The same row, as it stands, of somebody who may work."""
    worker = found(_LOCKED_ROW.one(session, me=worker_id), say("refusals.no_worker"))
    if step_of(study, worker) != WORK:
        # Why is the requester's business: "2 of 5 gold questions" would tell that there are any.
        left = worker.state != schema.ACTIVE
        raise NotAllowed(say("refusals.not_any_more" if left else "refusals.steps_first"))
    return worker


def step_of(study: Study, worker: Worker | Row[Any]) -> str:
    """Where a worker must go now; the state of somebody who has no more to do here."""
    if worker.state != schema.ACTIVE:
        return worker.state
    if not has_consented(study, worker):
        return CONSENT
    quality = study.config.quality
    if worker.screened_at is None and (quality.native_speaker or quality.never_seen_wsc):
        return SCREENING
    return QUIZ if study.quiz and worker.qualified_at is None else WORK
