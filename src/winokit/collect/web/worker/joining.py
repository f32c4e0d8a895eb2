"""Coming in: the front door, invite links, and arrival from a platform. Nobody is let in by merely opening a link."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response

from winokit.collect import platforms
from winokit.collect.platforms import platform_of
from winokit.collect.study import invites, workers
from winokit.collect.study.refusals import NotFound
from winokit.collect.study.workers import WorkerInfo
from winokit.collect.web.guard import Fields, guard, plain, takes
from winokit.collect.web.sessions import VISITOR, WORKER
from winokit.collect.web.shell import policy
from winokit.collect.web.visit import HOME, Anybody, Visit, known_worker

router = APIRouter(dependencies=[Depends(guard(VISITOR))], tags=["joining"])
FROM_PLATFORM = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "workerId", "assignmentId", "hitId")
MTURK = "https://www.mturk.com https://worker.mturk.com https://workersandbox.mturk.com"


@router.get("/")
def front_door(visit: Anybody) -> Response:
    """Where workers go on, and strangers are told how to come in."""
    if known_worker(visit.request) is not None:
        return visit.go(HOME)
    return visit.page("front_door")


@router.get("/join/{token}")
def invitation(visit: Anybody, token: str) -> Response:
    """What an invite link opens: a page with a button."""
    worker = known_worker(visit.request)
    if worker is not None:
        return visit.page("already_in", worker=worker)
    invite = invites.look(visit.study, token)
    return visit.page("welcome", action=f"/join/{token}", hidden={}, returning=invite.worker is not None)


@router.post("/join/{token}", openapi_extra=takes())
def join(visit: Anybody, token: str) -> Response:
    """Use an invite link. A browser that is in already stays who it is."""
    return _let_in(visit, known_worker(visit.request) or invites.claim(visit.study, token))


@router.get("/start")
def arrival(visit: Anybody) -> Response:
    """What a platform's link opens; inside a frame of the platform, a way out of it, since a frame has no cookies."""
    told = _from_platform(visit.request)
    visitor = platform_of(visit.study).arrival(told)
    if visitor is None:
        raise NotFound("please use the link you were given")
    framed = visit.request.headers.get("sec-fetch-dest") == "iframe"
    own_window = f"/start?{urlencode(told)}" if framed else ""
    response = visit.page("welcome", action="/start", hidden=told, returning=False, own_window=own_window)
    if visit.study.config.platform.name == "mturk":
        response.headers["Content-Security-Policy"] = policy(frames=MTURK)
    return response


@router.post("/start", openapi_extra=takes(*FROM_PLATFORM))
def start(visit: Anybody, fields: Fields) -> Response:
    """Let in whom the platform has sent."""
    told = {name: value for name, value in fields.items() if name in FROM_PLATFORM}
    return _let_in(visit, platforms.arrive(visit.study, told))


@router.post("/sign-out", openapi_extra=takes())
def sign_out(visit: Anybody) -> Response:
    """Forget who works in this browser, for somebody else to come in; a cookie that was copied ends too."""
    worker = known_worker(visit.request)
    if worker is not None:
        workers.end_sessions(visit.study, worker.code)
    response = visit.go("/")
    visit.cookies.take(response, WORKER)
    return response


def _from_platform(request: Request) -> dict[str, str]:
    return {name: plain(request.query_params[name]) for name in FROM_PLATFORM if name in request.query_params}


def _let_in(visit: Visit, worker: WorkerInfo) -> Response:
    response = visit.go(HOME)
    visit.cookies.give(response, WORKER, [worker.code, worker.session_version])
    return response
