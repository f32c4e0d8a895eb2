"""Coming in, and what comes before work: consent, screening, the quiz. Nobody is let in by merely opening a link."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from fastapi import Response
from sqlalchemy import Row

from winokit_collect import PLATFORMS
from winokit_collect.platforms.base import arrive, platform_of, visitor_from
from winokit_collect.study import invites, requesters, tasks, workers
from winokit_collect.study.content import Question
from winokit_collect.study.refusals import NotNow, TooMany
from winokit_collect.study.schema import Worker
from winokit_collect.study.texts import say
from winokit_collect.study.voting import YES_NO
from winokit_collect.web.forms import VISITOR, WORKER, Fields, Pages, plain
from winokit_collect.web.visit import (
    HOME,
    QUIZ,
    Anybody,
    AWorker,
    GoTo,
    Visit,
    WorkerVisit,
    known_worker,
    policy,
    run_slow,
)

door = Pages(VISITOR)
router = Pages(WORKER)


@door.get("/")
def front_door(visit: Anybody) -> Response:
    """Where workers go on, and strangers are told how to come in."""
    return visit.page("front_door") if known_worker(visit.request) is None else visit.go(HOME)


@door.get("/join/{token}")
@door.get("/return/{token}")
def invitation(visit: Anybody, token: str) -> Response:
    """What an invite link opens, or a personal one: a page with a button."""
    worker = known_worker(visit.request)
    if worker is not None:
        return visit.page("already_in", worker=worker)
    path = visit.request.scope["path"]
    if path.startswith("/return/"):
        returning = bool(invites.returning(visit.study, token))
    else:
        returning = invites.look(visit.study, token).worker_id is not None
    return visit.page("welcome", action=path, hidden={}, returning=returning)


@door.form("/join/{token}")
def join(visit: Anybody, token: str) -> Response:
    """Use an invite link. A browser that is in already stays who it is."""
    browser = visit.cookies.raw(visit.request, VISITOR)
    return _let_in(visit, known_worker(visit.request) or invites.claim(visit.study, token, browser=browser))


@door.form("/return/{token}")
def come_back(visit: Anybody, token: str) -> Response:
    """Use a personal link."""
    worker = known_worker(visit.request)
    if worker is None:
        worker = invites.returning(visit.study, token)
        invites.come_back(visit.study, worker, visit.cookies.raw(visit.request, VISITOR))
    else:
        visit.study.note(f"worker:{worker.code}", "return")
    return _let_in(visit, worker)


@door.get("/start")
def arrival(visit: Anybody) -> Response:
    """What a platform's link opens; inside a frame of the platform, a way out of it, since a frame has no cookies."""
    platform = platform_of(visit.study)
    query = visit.request.query_params
    address = {name: plain(query[name]) for name in platform.parameters if name in query}
    visitor_from(visit.study, address)
    framed = visit.request.headers.get("sec-fetch-dest") == "iframe"
    own_window = f"/start?{urlencode(address)}" if framed else ""
    response = visit.page("welcome", action="/start", hidden=address, returning=False, own_window=own_window)
    response.headers["Content-Security-Policy"] = policy(frames=platform.frames)
    return response


@door.form("/start", *(name for own in PLATFORMS.homes for name in PLATFORMS[own].parameters))
async def start(visit: Anybody, fields: Fields) -> Response:
    """Let in whom the platform has sent; to ask it takes a while."""
    return await run_slow(_start, visit, fields)


def _start(visit: Visit, fields: dict[str, str]) -> Response:
    # Whoever makes up addresses has us ask the platform, which may have enough of us then.
    wait = visit.request.app.state.arrivals.count(requesters.place_of(visit.caller))
    if wait:
        raise TooMany(say("refusals.too_often", count=wait), wait)
    worker = known_worker(visit.request)
    browser = visit.cookies.raw(visit.request, VISITOR)
    return _let_in(visit, arrive(visit.study, fields, browser=browser, me=worker and worker.id))


@door.form("/sign-out")
def sign_out(visit: Anybody) -> Response:
    """Forget who works in this browser, for somebody else to come in; a cookie that was copied ends too."""
    worker = known_worker(visit.request)
    if worker is not None:
        workers.end_sessions(visit.study, worker.code)
    response = visit.go("/")
    visit.cookies.take(response, WORKER)
    return response


def _let_in(visit: Visit, worker: Worker | Row[Any]) -> Response:
    response = visit.go(HOME)
    visit.cookies.give(response, WORKER, [worker.code, worker.session_version])
    return response


@router.get("/consent")
@router.get("/screening")
def step(visit: AWorker) -> Response:
    """What taking part means, or the questions of screening."""
    _be_there(visit)
    return visit.page(visit.step, answers={})


@router.get(QUIZ)
def quiz(visit: AWorker, kind: str = "") -> Response:
    """Questions before one kind of task, of those there are for a worker."""
    available = [kind] if kind else list(tasks.available(visit.study, visit.worker.id))
    for kinds in (available, visit.study.config.tasks.kinds):
        next_kind = workers.next_quiz(visit.study, visit.worker, kinds)
        if next_kind is not None:
            return _quiz_page(visit, [next_kind], {})
    return _quiz_page(visit, visit.study.config.tasks.kinds, {})


@router.form("/consent", "agree")
def consent(visit: AWorker, fields: Fields) -> Response:
    """Agree; nothing else can be said here but by leaving."""
    _be_there(visit)
    if fields.get("agree") != "yes":
        return visit.page("consent", status=422, problems={"agree": say("consent.tick")})
    visit.worker = workers.consent(visit.study, visit.worker.id)
    return visit.go(visit.next_path)


@router.form("/screening", "native_speaker", "has_seen_wsc")
def screening(visit: AWorker, fields: Fields) -> Response:
    """Answer them, once."""
    _be_there(visit)
    quality = visit.study.config.quality
    asked = {"native_speaker": quality.native_speaker, "has_seen_wsc": quality.never_seen_wsc}
    missing = [name for name, is_asked in asked.items() if is_asked and fields.get(name) not in YES_NO]
    if missing:
        problems = dict.fromkeys(missing, say("voting.choose_yes_no"))
        return visit.page("screening", status=422, problems=problems, answers=fields)
    # A question that the study does not ask cannot turn anybody away.
    native = YES_NO.get(fields.get("native_speaker", ""), True)
    seen = YES_NO.get(fields.get("has_seen_wsc", ""), False)
    visit.worker = workers.screen(visit.study, visit.worker.id, native_speaker=native, has_seen_wsc=seen)
    return visit.go(visit.next_path)


@router.form(QUIZ, "kinds", "q1", "q2", "q3")
def take_quiz(visit: AWorker, fields: Fields) -> Response:
    """Mark a try. Explanations are shown once nothing hangs on them any more."""
    # What is asked about is what a worker qualifies for, so that nobody gains by asking for less.
    asked = fields.get("kinds", "").split()
    kinds = visit.study.config.tasks.kinds
    kinds = [kind for kind in kinds if kind in asked] or kinds
    answers = []
    missing = {}
    questions = _questions(visit, kinds)
    for number, question in enumerate(questions, 1):
        choice = fields.get(f"q{number}", "")
        if choice in map(str, range(len(question.options))):
            answers.append(int(choice))
        else:
            missing[f"q{number}"] = say("quiz.choose")
    if missing:
        return _quiz_page(visit, kinds, fields, status=422, problems=missing)
    result = workers.take_quiz(visit.study, visit.worker.id, answers, kinds)
    if result.passed or not result.attempts_left:
        visit.worker = workers.get(visit.study, visit.worker.code)
        other_kinds = list(tasks.available(visit.study, visit.worker.id)) or visit.study.config.tasks.kinds
        next_kind = workers.next_quiz(visit.study, visit.worker, other_kinds)
        return visit.page(
            "quiz_result", result=result, answers=answers, questions=questions, next_kind=next_kind, kinds=kinds
        )
    return _quiz_page(visit, kinds, fields, result=result)


def _questions(visit: WorkerVisit, kinds: Sequence[str]) -> list[Question]:
    """The questions before some kinds of task; a worker for whom there are none now is sent to where they are."""
    if visit.step != workers.WORK or not any(workers.must_qualify(visit.study, visit.worker, kind) for kind in kinds):
        _be_there(visit)
    return workers.quiz_for(visit.study, visit.worker, kinds)


def _quiz_page(visit: WorkerVisit, kinds: Sequence[str], answers: Mapping[str, str], **context: Any) -> Response:
    asked = {"kinds": kinds, "questions": _questions(visit, kinds), "answers": answers}
    return visit.page("quiz", **{"result": None, **asked, **context})


def _be_there(visit: WorkerVisit) -> None:
    """Send a worker who is not at the step that a page is named after to where they are."""
    if visit.step == workers.CONSENT and visit.study.why_closed:
        raise NotNow(say("refusals.not_open"))
    if visit.request.scope["path"] != visit.next_path:
        raise GoTo(visit.next_path)
