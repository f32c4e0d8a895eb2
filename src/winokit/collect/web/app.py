"""The web app of a study: its pages, and around them headers on every answer, limits, and a page for every accident."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from winokit.collect.study.refusals import Refused
from winokit.collect.study.study import Study
from winokit.collect.web.error_pages import HANDLERS, LOG, LOGGED_A_MINUTE, accident_page, refusal_page
from winokit.collect.web.forms import Cookies
from winokit.collect.web.rendering import STATIC
from winokit.collect.web.requester import entry as requester_entry
from winokit.collect.web.requester import home as requester_home
from winokit.collect.web.requester import problems, records, workers
from winokit.collect.web.visit import NO_FRAMES, policy
from winokit.collect.web.worker import entry, home, qualifying, writing

WORKER_PAGES = (home, writing, entry, qualifying)  # those that are asked for most are found first
REQUESTER_PAGES = (requester_entry, requester_home, problems, workers, records)
THREADS = 8
"""Pages that are made at once. They take turns at computing anyway, and more of them only wait for one another."""
ASKED_A_MINUTE = 20
"""How often one worker may ask the study's model: more often than anybody types a new pair."""
MOST_REMEMBERED, MINUTE = 10_000, timedelta(minutes=1)
MOST_BYTES = 64 * 1024
"""Of a body: a pair of twins at its longest, every letter written as %XX, with room to spare."""
TOO_LARGE = f"that is more than the {MOST_BYTES:,} bytes any form here needs"
YEAR = 365 * 86_400
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class TooLarge(Refused):
    """A body beyond what any form of ours sends."""

    status = 413


class RateLimit:
    """So many of something in a minute, for each who asks.

    Kept in memory: a server that is started anew begins to count anew, and several count by themselves.
    """

    def __init__(self, study: Study, most: int) -> None:
        self._study, self._most = study, most
        self._recent: OrderedDict[Hashable, deque[datetime]] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, who: Hashable = None) -> int:
        """Count one more; 0, or the seconds to wait where it is one too many."""
        now = self._study.now()
        with self._lock:
            recent = self._recent.setdefault(who, deque())
            self._recent.move_to_end(who)
            while len(self._recent) > MOST_REMEMBERED:
                self._recent.popitem(last=False)
            while recent and recent[0] <= now - MINUTE:
                recent.popleft()
            if len(recent) >= self._most:
                return max(1, math.ceil((recent[0] + MINUTE - now).total_seconds()))
            recent.append(now)
            return 0


class CollectMiddleware:
    """An ASGI layer around everything, static files and errors included."""

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self.app, self.secure = app, secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                lasts = scope["path"].startswith("/static/") and message["status"] in (200, 304)
                self._add_headers(MutableHeaders(scope=message), lasts)
            await send(message)

        try:
            declared = Headers(scope=scope).get("content-length", "0")
            if not declared.isdecimal() or int(declared) > MOST_BYTES:
                raise TooLarge(TOO_LARGE)
            await self.app(scope, _counted(receive), send_with_headers)
        except TooLarge as error:
            page = await run_in_threadpool(refusal_page, Request(scope), error)
            await page(scope, receive, send_with_headers)
        except Exception:
            LOG.exception("an accident at %s %s", scope["method"], scope["path"])
            if started:
                raise
            page = await run_in_threadpool(accident_page, Request(scope))
            await page(scope, receive, send_with_headers)

    def _add_headers(self, headers: MutableHeaders, lasts: bool) -> None:
        headers.update(ALWAYS)
        headers.setdefault("Content-Security-Policy", policy())
        if headers["Content-Security-Policy"].endswith(NO_FRAMES):
            headers["X-Frame-Options"] = "DENY"
        # Browsers may keep a static file for good: its address changes with its content.
        headers["Cache-Control"] = f"public, max-age={YEAR}, immutable" if lasts else "no-store"
        if self.secure:
            headers["Strict-Transport-Security"] = f"max-age={YEAR}"


def _counted(receive: Receive) -> Receive:
    """A body that is refused as soon as it has grown too large, whatever its sender said about it."""
    total = 0

    async def receive_counted() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > MOST_BYTES:
            raise TooLarge(TOO_LARGE)
        return message

    return receive_counted


@asynccontextmanager
async def few_threads(_app: FastAPI) -> AsyncIterator[None]:
    """Keep the number of threads down as long as the app runs."""
    current_default_thread_limiter().total_tokens = THREADS
    yield


def create_app(study: Study, *, secure: bool = False) -> FastAPI:
    """The app that serves a study; `secure` where people reach it over TLS."""
    app = FastAPI(
        title=study.config.title,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=few_threads,
        exception_handlers=HANDLERS,
    )
    app.state.study = study
    app.state.cookies = Cookies(study.signer, secure=secure)
    app.state.refusals = RateLimit(study, LOGGED_A_MINUTE)
    app.state.adversary_limit = RateLimit(study, ASKED_A_MINUTE)
    app.add_middleware(CollectMiddleware, secure=secure)
    app.include_router(requester_entry.door)
    for pages in (*WORKER_PAGES, *REQUESTER_PAGES):
        app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=STATIC))
    return app
