"""Coming in: the front door, invite links, and arrival from a platform. Nobody is let in by merely opening a link."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Response

from winokit.collect import PLATFORMS
from winokit.collect.platforms.base import arrive, platform_of, visitor_from
from winokit.collect.study import invites, workers
from winokit.collect.study.workers import WorkerInfo
from winokit.collect.web.forms import VISITOR, WORKER, Fields, Pages, plain
from winokit.collect.web.visit import HOME, Anybody, Visit, known_worker, policy

router = Pages(VISITOR)


@router.get("/")
def front_door(visit: Anybody) -> Response:
    """Where workers go on, and strangers are told how to come in."""
    return visit.page("front_door") if known_worker(visit.request) is None else visit.go(HOME)


@router.get("/join/{token}")
def invitation(visit: Anybody, token: str) -> Response:
    """What an invite link opens: a page with a button."""
    worker = known_worker(visit.request)
    if worker is not None:
        return visit.page("already_in", worker=worker)
    invite = invites.look(visit.study, token)
    return visit.page("welcome", action=f"/join/{token}", hidden={}, returning=invite.returning)


@router.form("/join/{token}")
def join(visit: Anybody, token: str) -> Response:
    """Use an invite link. A browser that is in already stays who it is."""
    return _let_in(visit, known_worker(visit.request) or invites.claim(visit.study, token))


@router.get("/start")
def arrival(visit: Anybody) -> Response:
    """What a platform's link opens; inside a frame of the platform, a way out of it, since a frame has no cookies."""
    platform, query = platform_of(visit.study), visit.request.query_params
    address = {name: plain(query[name]) for name in platform.parameters if name in query}
    visitor_from(visit.study, address)
    framed = visit.request.headers.get("sec-fetch-dest") == "iframe"
    own_window = f"/start?{urlencode(address)}" if framed else ""
    response = visit.page("welcome", action="/start", hidden=address, returning=False, own_window=own_window)
    response.headers["Content-Security-Policy"] = policy(frames=platform.frames)
    return response


@router.form("/start", *(name for own in PLATFORMS.homes for name in PLATFORMS[own].parameters))
def start(visit: Anybody, fields: Fields) -> Response:
    """Let in whom the platform has sent."""
    return _let_in(visit, arrive(visit.study, fields))


@router.form("/sign-out")
def sign_out(visit: Anybody) -> Response:
    """Forget who works in this browser, for somebody else to come in; a cookie that was copied ends too."""
    worker = known_worker(visit.request)
    if worker is not None:
        workers.end_sessions(visit.study, worker.code)
    response = visit.go("/")
    visit.cookies.take(response, WORKER)
    return response


def _let_in(visit: Visit, worker: WorkerInfo) -> Response:
    response = visit.go(HOME)
    visit.cookies.give(response, WORKER, [worker.code, worker.session_version])
    return response
