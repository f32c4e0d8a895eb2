"""The web app of a study: its pages, headers, limits, and pages for errors.

A refused request gets a page that says why, and where to go. Suspicious requests are also written into the audit
log.
"""

import logging
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from winokit import WinokitError
from winokit_collect.platforms.payout import PayoutRunner
from winokit_collect.study.progress import KeptSnapshot
from winokit_collect.study.refusals import Incomplete, Refused, TooMany
from winokit_collect.study.schema import State
from winokit_collect.study.second_opinions import SecondOpinions
from winokit_collect.study.study import Study
from winokit_collect.study.texts import BUILT_IN, say
from winokit_collect.web import account, dashboard, entry, home, pay, preview, problems, workers, writing
from winokit_collect.web.forms import Cookies, misfits, plain
from winokit_collect.web.rendering import STATIC
from winokit_collect.web.visit import DASHBOARD, NO_FRAMES, GoTo, Visit, known_requester, known_worker, policy

WORKERS = (home.router, writing.router, entry.door, entry.router)
"""Routers of workers' pages, the most frequent pages first."""
REQUESTERS = (account.door, *(page.router for page in (account, dashboard, pay, preview, problems, workers)))
THREADS = 8
"""Number of pages that are made at once. They take turns at computing, so that more would only wait."""
ASKED_A_MINUTE = 20
"""Times a minute that one worker may ask the study's model. Nobody types new pairs that fast."""
ARRIVALS_A_MINUTE = 30
"""Arrivals a minute from one network that are checked with the platform. A whole university may share one."""
REFUSALS_A_MINUTE = 60
"""Refusals a minute that are written into the audit log, so that a flood does not fill the disk."""
MOST_BYTES = 64 * 1024
"""Largest body in bytes: the longest pair of twins with every letter written as %XX, with room to spare."""
TOO_LARGE = say("refusals.too_large", count=f"{MOST_BYTES:,}")
YEAR = 365 * 86_400
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
LOG = logging.getLogger("winokit.collect")
REASONS = {404: say("refusals.no_page"), 405: say("refusals.no_method")}


class TooLarge(Refused):
    """The request's body is larger than any form of the app."""

    status = 413


class RateLimit:
    """A limit of events per minute, for each key.

    Counted in memory, by each server process separately.
    """

    def __init__(self, most: int) -> None:
        self._most = RateLimitItemPerMinute(most)
        self._limiter = FixedWindowRateLimiter(MemoryStorage())

    def count(self, who: object = "") -> int:
        """Count one event for the key `who`.

        Returns 0, or the seconds to wait if there were too many.
        """
        if self._limiter.hit(self._most, str(who)):
            return 0
        window = self._limiter.get_window_stats(self._most, str(who))
        seconds = window.reset_time - time.time()
        return max(1, math.ceil(seconds))


class CollectMiddleware:
    """ASGI layer that adds security headers, limits bodies, and handles unexpected errors.

    `secure` says whether people reach the app over TLS.
    """

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self.app = app
        self.secure = secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection. Anything but HTTP is passed on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # as if it were to be read; the server keeps the body to itself
            scope = {**scope, "method": "GET"}
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                is_static = scope["path"].startswith("/static/")
                lasts = is_static and message["status"] in (200, 304)
                headers = MutableHeaders(scope=message)
                self._add_headers(headers, lasts)
            await send(message)

        try:
            declared = Headers(scope=scope).get("content-length", "0")
            if not declared.isdecimal() or int(declared) > MOST_BYTES:
                raise TooLarge(TOO_LARGE)
            await self.app(scope, _count_body(receive), send_with_headers)
        except TooLarge as error:
            page = await run_in_threadpool(refusal_page, Request(scope), error)
            await page(scope, receive, send_with_headers)
        except ClientDisconnect:
            LOG.warning("%s %s: whoever asked went away", scope["method"], _describe_address(scope))
        except Exception:
            LOG.exception("an accident at %s %s", scope["method"], _describe_address(scope))
            if started:
                raise
            page = await run_in_threadpool(accident_page, Request(scope))
            await page(scope, receive, send_with_headers)

    def _add_headers(self, headers: MutableHeaders, lasts: bool) -> None:
        """Add the security headers.

        `lasts` lets browsers keep the file for a year.
        """
        headers.update(ALWAYS)
        headers.setdefault("Content-Security-Policy", policy())
        if headers["Content-Security-Policy"].endswith(NO_FRAMES):
            headers["X-Frame-Options"] = "DENY"
        # Browsers may keep a static file for good: its address changes with its content.
        headers["Cache-Control"] = f"public, max-age={YEAR}, immutable" if lasts else "no-store"
        if self.secure:
            headers["Strict-Transport-Security"] = f"max-age={YEAR}"


def _count_body(receive: Receive) -> Receive:
    """Wrap `receive` so that it counts the bytes of the body.

    It raises TooLarge once there are more than allowed, whatever Content-Length says.
    """
    total = 0

    async def receive_counted() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MOST_BYTES:
            raise TooLarge(TOO_LARGE)
        return message

    return receive_counted


def refusal_page(request: Request, error: Exception) -> Response:
    """Page that says why a request was refused.

    Suspicious requests are also written into the audit log, up to a limit per minute.
    """
    status = error.status if isinstance(error, Refused) else getattr(error, "status_code", 400)
    reason = str(error) if isinstance(error, WinokitError) else REASONS.get(status, say("errors.other"))
    # Below /task/ everything belongs to somebody, so that asking for another's task is suspicious too.
    is_about_task = request.scope["path"].startswith("/task/")
    is_suspicious = status in (403, 413, 429) or (status != 409 and is_about_task)
    if is_suspicious and not request.app.state.refusals.count():
        address = _describe_address(request.scope)
        request.app.state.study.note(_find_actor(request), "refused", address, status=status, why=reason[:200])
    texts = Visit(request).texts
    if isinstance(error, Incomplete) and texts is not BUILT_IN:  # The names of fields are of no use to a worker.
        messages = [texts.say(message) for message in error.problems.values()]
        reason = "; ".join(messages)
    elif isinstance(error, Refused):
        reason = error.args[0]
    response = _render_refusal(request, status, reason)
    if isinstance(error, TooMany):
        response.headers["Retry-After"] = str(error.wait)
    return response


def accident_page(request: Request) -> Response:
    """Page for an unexpected error of the app."""
    return _render_refusal(request, 500, say("refusals.accident"))


def _render_refusal(request: Request, status: int, reason: str) -> Response:
    """Render an error page, or a piece of it if a script asks."""
    visit = Visit(request)
    message = visit.texts.say(reason)
    if visit.is_htmx:
        return visit.piece("refusal", status=status, why=message)
    key = f"errors.{status}"
    title = key if key in visit.texts.lines else "errors.other"
    return visit.page("error", status=status, title=title, why=message)


def _handle_study_error(request: Request, error: Exception) -> Response:
    """Handle an error of the study itself, such as a missing file.

    A requester sees its message. Anybody else sees a general one, and it is logged.
    """
    if request.url.path.startswith(DASHBOARD):
        return refusal_page(request, error)
    LOG.error("%s %s: %s", request.method, _describe_address(request.scope), error)
    return accident_page(request)


def _handle_http_error(request: Request, error: Exception) -> Response:
    """Page for an error that FastAPI raised.

    If our own error is its cause, that is raised again.
    """
    if isinstance(error.__cause__, (TooLarge, ClientDisconnect)):
        raise error.__cause__
    return refusal_page(request, error)


def _handle_invalid_request(request: Request, error: RequestValidationError) -> Response:
    """Page for an address or a form whose values are not valid."""
    return refusal_page(request, misfits(request, error))


def _redirect_elsewhere(request: Request, error: Exception) -> Response:
    """Redirect to the path of a GoTo error.

    A script is told to load that page.
    """
    if Visit(request).is_htmx:
        return Response(status_code=403, headers={"HX-Redirect": str(error)})
    return RedirectResponse(str(error), 303)


def _describe_address(scope: Scope) -> str:
    """Pattern of a request's path, for logs.

    The path itself may contain a secret token.
    """
    pattern = getattr(scope.get("route"), "path", None) or plain(scope["path"])
    return " ".join(str(pattern).split())[:200]


def _find_actor(request: Request) -> str:
    """Name of a request's sender, for the audit log."""
    if request.url.path.startswith(DASHBOARD):
        requester = known_requester(request)
        if requester is not None:
            return f"requester:{requester.name}"
    worker = known_worker(request)
    return f"worker:{worker.code}" if worker is not None else "stranger"


def health(request: Request) -> Response:
    """Tell a monitor whether database and disk are in order.

    Status 200 or 503, without details.
    """
    try:
        with request.app.state.study.store.read() as session:
            session.scalar(select(State.key).limit(1))
    except SQLAlchemyError as error:
        LOG.error("the database cannot be reached: %s", type(error).__name__)
        return JSONResponse({"status": "the database cannot be reached"}, 503)
    trouble = request.app.state.study.store.disk_trouble()
    if trouble:
        return JSONResponse({"status": trouble}, 503)
    return JSONResponse({"status": "ok"})


def _load_study(app: FastAPI) -> None:
    """Load data that takes long in a large study, before the first request."""
    app.state.study.earlier.load(app.state.study)
    if app.state.snapshots.keeps:
        app.state.snapshots.get()


@asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[None]:
    """Run the app's background threads while it serves requests."""
    current_default_thread_limiter().total_tokens = THREADS
    await run_in_threadpool(_load_study, app)
    with app.state.payouts, app.state.second_opinions:
        yield


def create_app(study: Study, *, secure: bool = False, url: str = "") -> FastAPI:
    """Make the web app of a study.

    `secure` says whether people reach it over TLS. `url` is the public address with which links begin, empty for the
    one that the browser uses.
    """
    handlers: dict[int | type[Exception], Any] = {
        GoTo: _redirect_elsewhere,
        Refused: refusal_page,
        WinokitError: _handle_study_error,
        HTTPException: _handle_http_error,
        RequestValidationError: _handle_invalid_request,
    }
    app = FastAPI(
        title=study.config.title,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=running,
        exception_handlers=handlers,
    )
    app.state.study = study
    app.state.url = url
    app.state.cookies = Cookies(study.signer, secure=secure)
    app.state.payouts = PayoutRunner(study)
    app.state.snapshots = KeptSnapshot(study)
    app.state.second_opinions = SecondOpinions(study)
    app.state.refusals = RateLimit(REFUSALS_A_MINUTE)
    app.state.arrivals = RateLimit(ARRIVALS_A_MINUTE)
    app.state.adversary_limit = RateLimit(ASKED_A_MINUTE)
    app.add_middleware(CollectMiddleware, secure=secure)
    app.get("/health")(health)
    for router in (*WORKERS, *REQUESTERS):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC))
    return app
