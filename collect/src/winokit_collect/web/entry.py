"""Joining a study, and the steps before work: consent, screening, the quiz.

Nobody is let in by merely opening a link.
"""

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
    """First page: redirects workers to their home, and tells others how to join."""
    if known_worker(visit.request) is None:
        return visit.page("front_door")
    return visit.go(HOME)


@door.get("/join/{token}")
@door.get("/return/{token}")
def invitation(visit: Anybody, token: str) -> Response:
    """Page behind an invite or personal link, with a button."""
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
    """Use an invite link, and sign the new worker in.

    A browser in which a worker is signed in already keeps that worker.
    """
    browser = visit.cookies.raw(visit.request, VISITOR)
    worker = known_worker(visit.request) or invites.claim(visit.study, token, browser=browser)
    return _log_in_worker(visit, worker)


@door.form("/return/{token}")
def come_back(visit: Anybody, token: str) -> Response:
    """Use a personal link, and sign the worker in.

    A browser in which a worker is signed in already keeps that worker, whoever the link belongs to.
    """
    worker = known_worker(visit.request)
    if worker is None:
        worker = invites.returning(visit.study, token)
        invites.come_back(visit.study, worker, visit.cookies.raw(visit.request, VISITOR))
    else:
        visit.study.note(f"worker:{worker.code}", "return")
    return _log_in_worker(visit, worker)


def _list_platform_parameters() -> list[str]:
    """Names of the parameters that any platform's link may have."""
    names: list[str] = []
    for platform in PLATFORMS.homes:
        names += PLATFORMS[platform].parameters
    return names


@door.get("/start")
def arrival(visit: Anybody) -> Response:
    """Page behind a platform's link, with a button to begin.

    Inside a frame of the platform the button opens a new window, since a frame has no cookies.
    """
    platform = platform_of(visit.study)
    query = visit.request.query_params
    address = {name: plain(query[name]) for name in platform.parameters if name in query}
    visitor_from(visit.study, address)
    is_framed = visit.request.headers.get("sec-fetch-dest") == "iframe"
    own_window = f"/start?{urlencode(address)}" if is_framed else ""
    response = visit.page("welcome", action="/start", hidden=address, returning=False, own_window=own_window)
    response.headers["Content-Security-Policy"] = policy(frames=platform.frames)
    return response


@door.form("/start", *_list_platform_parameters())
async def start(visit: Anybody, fields: Fields) -> Response:
    """Let in a worker whom the platform has sent.

    In a thread, since the platform is asked about them.
    """
    return await run_slow(_verify_arrival, visit, fields)


def _verify_arrival(visit: Visit, fields: dict[str, str]) -> Response:
    # Invented addresses make us ask the platform, which may then refuse to answer us.
    """Check an arrival with the platform, and sign the worker in.

    Raises TooMany after too many arrivals from one network.
    """
    network = requesters.network_of(visit.caller)
    wait = visit.request.app.state.arrivals.count(network)
    if wait:
        raise TooMany(say("refusals.too_often", count=wait), wait)
    worker = known_worker(visit.request)
    browser = visit.cookies.raw(visit.request, VISITOR)
    arrived = arrive(visit.study, fields, browser=browser, me=worker and worker.id)
    return _log_in_worker(visit, arrived)


@door.form("/sign-out")
def sign_out(visit: Anybody) -> Response:
    """Sign the worker out of all browsers.

    Somebody else can then use this one.
    """
    worker = known_worker(visit.request)
    if worker is not None:
        workers.end_sessions(visit.study, worker.code)
    response = visit.go("/")
    visit.cookies.take(response, WORKER)
    return response


def _log_in_worker(visit: Visit, worker: Worker | Row[Any]) -> Response:
    """Redirect to the worker's home, with the cookie of their session."""
    response = visit.go(HOME)
    visit.cookies.give(response, WORKER, [worker.code, worker.session_version])
    return response


@router.get("/consent")
@router.get("/screening")
def step(visit: AWorker) -> Response:
    """Page of the consent text, or of the screening questions."""
    _require_step(visit)
    return visit.page(visit.step, answers={})


@router.get(QUIZ)
def quiz(visit: AWorker, kind: str = "") -> Response:
    """Page with the quiz for a kind of task.

    Without `kind`, for the first kind that the worker needs one for.
    """
    available = [kind] if kind else list(tasks.available(visit.study, visit.worker.id))
    for kinds in (available, visit.study.config.tasks.kinds):
        next_kind = workers.next_quiz(visit.study, visit.worker, kinds)
        if next_kind is not None:
            return _show_quiz(visit, [next_kind], {})
    return _show_quiz(visit, visit.study.config.tasks.kinds, {})


@router.form("/consent", "agree")
def consent(visit: AWorker, fields: Fields) -> Response:
    """Store the worker's agreement to the consent text."""
    _require_step(visit)
    if fields.get("agree") != "yes":
        return visit.page("consent", status=422, problems={"agree": say("consent.tick")})
    visit.worker = workers.consent(visit.study, visit.worker.id)
    return visit.go(visit.next_path)


@router.form("/screening", "native_speaker", "has_seen_wsc")
def screening(visit: AWorker, fields: Fields) -> Response:
    """Store the worker's answers to the screening questions."""
    _require_step(visit)
    quality = visit.study.config.quality
    asks = {"native_speaker": quality.native_speaker, "has_seen_wsc": quality.never_seen_wsc}
    missing = [name for name, is_asked in asks.items() if is_asked and fields.get(name) not in YES_NO]
    if missing:
        problems = dict.fromkeys(missing, say("voting.choose_yes_no"))
        return visit.page("screening", status=422, problems=problems, answers=fields)
    # A question that the study does not ask cannot turn anybody away.
    native_speaker = YES_NO.get(fields.get("native_speaker", ""), True)
    has_seen_wsc = YES_NO.get(fields.get("has_seen_wsc", ""), False)
    visit.worker = workers.screen(visit.study, visit.worker.id, native_speaker, has_seen_wsc)
    return visit.go(visit.next_path)


@router.form(QUIZ, "kinds", "q1", "q2", "q3")
def take_quiz(visit: AWorker, fields: Fields) -> Response:
    """Mark an attempt at the quiz.

    The right answers are explained once it is passed, or when no attempt is left.
    """
    # Workers qualify only for the kinds in the form, so that nobody gains by asking for fewer.
    named_kinds = fields.get("kinds", "").split()
    kinds = visit.study.config.tasks.kinds
    kinds = [kind for kind in kinds if kind in named_kinds] or kinds
    answers = []
    missing = {}
    questions = _find_questions(visit, kinds)
    for number, question in enumerate(questions, 1):
        choice = fields.get(f"q{number}", "")
        choices = [str(index) for index in range(len(question.options))]
        if choice in choices:
            answers.append(int(choice))
        else:
            missing[f"q{number}"] = say("quiz.choose")
    if missing:
        return _show_quiz(visit, kinds, fields, status=422, problems=missing)
    result = workers.take_quiz(visit.study, visit.worker.id, answers, kinds)
    if result.passed or not result.attempts_left:
        visit.worker = workers.get(visit.study, visit.worker.code)
        other_kinds = list(tasks.available(visit.study, visit.worker.id)) or visit.study.config.tasks.kinds
        next_kind = workers.next_quiz(visit.study, visit.worker, other_kinds)
        return visit.page(
            "quiz_result", result=result, answers=answers, questions=questions, next_kind=next_kind, kinds=kinds
        )
    return _show_quiz(visit, kinds, fields, result=result)


def _find_questions(visit: WorkerVisit, kinds: Sequence[str]) -> list[Question]:
    """Questions of the quiz for some kinds of task.

    A worker who needs no quiz for them is redirected to their present step.
    """
    is_working = visit.step == workers.WORK
    if not is_working or not any(workers.must_qualify(visit.study, visit.worker, kind) for kind in kinds):
        _require_step(visit)
    return workers.quiz_for(visit.study, visit.worker, kinds)


def _show_quiz(visit: WorkerVisit, kinds: Sequence[str], answers: Mapping[str, str], **context: Any) -> Response:
    """Render the quiz for some kinds of task."""
    questions = _find_questions(visit, kinds)
    context.setdefault("result", None)
    return visit.page("quiz", kinds=kinds, questions=questions, answers=answers, **context)


def _require_step(visit: WorkerVisit) -> None:
    """Redirect a worker to their present step, if this page is another.

    Raises NotNow for the consent page of a study that is closed.
    """
    if visit.step == workers.CONSENT and visit.study.why_closed:
        raise NotNow(say("refusals.not_open"))
    if visit.request.scope["path"] != visit.next_path:
        raise GoTo(visit.next_path)
