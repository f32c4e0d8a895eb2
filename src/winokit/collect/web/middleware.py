"""The outermost layer of the app: headers on every answer, a limit on every body, and a page for every accident."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from winokit.collect.study.refusals import Refused
from winokit.collect.web.error_pages import LOG, accident_page, refusal_page

MOST_BYTES = 64 * 1024
"""Of a body: a pair of twins at its longest, every letter written as %XX, with room to spare."""
YEAR = 365 * 86_400
NO_FRAMES = "'none'"
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class TooLarge(Refused):
    """A body beyond what any form of ours sends."""

    status = 413

    def __init__(self) -> None:
        super().__init__(f"that is more than the {MOST_BYTES:,} bytes any form here needs")


def policy(*, form_action: str = "", frames: str = NO_FRAMES) -> str:
    """A Content-Security-Policy: everything from here and nothing inline; forms may also go to one place named."""
    sources = "; ".join(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect"))
    forms = f"'self' {form_action}".strip()
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action {forms}; frame-ancestors {frames}"


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
                raise TooLarge
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
            raise TooLarge
        return message

    return receive_counted
