"""What is refused, as a page that says why and where to go; the suspicious part of it also goes to the audit log."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from winokit.collect.study.refusals import NotFound, Refused, TooMany
from winokit.collect.web.forms import NO_ADDRESS, plain
from winokit.collect.web.visit import GoTo, Visit, known_requester, known_worker
from winokit.errors import WinokitError

LOG = logging.getLogger("winokit.collect")
TITLES = {
    403: "That is not possible",
    404: "There is nothing here",
    405: "That is not how this page works",
    409: "Not at the moment",
    410: "This link has had its day",
    413: "That is too much",
    422: "Something is missing",
    429: "A moment, please",
}
WHYS = {404: "there is no page at this address", 405: "please use the links and buttons of the pages"}
SUSPICIOUS = (403, 413, 429)
LOGGED_A_MINUTE = 60
"""Refusals that go to the audit log: a flood must not fill the disk."""
REQUESTERS, OWN_THINGS = "/requester", "/task/"
"""Below the second path everything is somebody's own, and asking for what is not is suspicious too."""


def refusal_page(request: Request, error: Exception) -> Response:
    """The page for something refused, and a line in the audit log where it looks like an attempt."""
    status = error.status if isinstance(error, Refused) else getattr(error, "status_code", 400)
    why = str(error) if isinstance(error, WinokitError) else WHYS.get(status, HTTPStatus(status).phrase)
    suspicious = status in SUSPICIOUS or request.scope["path"].startswith(OWN_THINGS)
    if suspicious and not request.app.state.refusals.count():
        # The shape of the address, since the address itself may hold a token.
        path = str(getattr(request.scope.get("route"), "path", None) or plain(request.scope["path"]))
        request.app.state.study.note(_actor(request), "refused", path[:200], status=status, why=why[:200])
    response = _page(request, status, TITLES.get(status, "That did not work"), why)
    if isinstance(error, TooMany):
        response.headers["Retry-After"] = str(error.wait)
    return response


def accident_page(request: Request) -> Response:
    """The page for a mistake of ours."""
    return _page(request, 500, "Something went wrong here", "the fault is ours; what you had saved is kept")


def _page(request: Request, status: int, title: str, why: str) -> Response:
    visit = Visit(request)
    if visit.is_htmx:
        return visit.piece("refusal", status=status, why=why)
    return visit.page("error", status=status, title=title, why=why)


def _out_of_order(request: Request, error: Exception) -> Response:
    """Something is wrong with the study itself. Its requester is told what; others have no use for names of files."""
    if request.url.path.startswith(REQUESTERS):
        return refusal_page(request, error)
    LOG.error("%s %s: %s", request.method, request.url.path, error)
    return accident_page(request)


def _go(request: Request, error: Exception) -> Response:
    if Visit(request).is_htmx:
        return Response(status_code=403, headers={"HX-Redirect": str(error)})
    return RedirectResponse(str(error), 303)


def _actor(request: Request) -> str:
    requester = known_requester(request) if request.url.path.startswith(REQUESTERS) else None
    if requester is not None:
        return f"requester:{requester.name}"
    worker = known_worker(request)
    return f"worker:{worker.code}" if worker is not None else "stranger"


HANDLERS: dict[int | type[Exception], Any] = {
    GoTo: _go,
    Refused: refusal_page,
    WinokitError: _out_of_order,
    HTTPException: refusal_page,
    RequestValidationError: lambda request, _: refusal_page(request, NotFound(NO_ADDRESS)),
}
"""One page for everything that is refused."""
