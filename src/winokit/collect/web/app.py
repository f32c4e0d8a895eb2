"""The web app of a study."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from winokit.collect.study.study import Study
from winokit.collect.web.error_pages import HANDLERS, LOGGED_A_MINUTE
from winokit.collect.web.limits import RateLimit
from winokit.collect.web.middleware import CollectMiddleware
from winokit.collect.web.rendering import STATIC
from winokit.collect.web.requester import entry as requester_entry
from winokit.collect.web.requester import home as requester_home
from winokit.collect.web.requester import problems, records, workers
from winokit.collect.web.sessions import Cookies
from winokit.collect.web.worker import entry, home, qualifying, voting, writing

WORKER_PAGES = (voting, writing, home, entry, qualifying)  # those that are asked for most are found first
REQUESTER_PAGES = (requester_entry, requester_home, problems, workers, records)
THREADS = 8
"""Pages that are made at once. They take turns at computing anyway, and more of them only wait for one another."""
ASKED_A_MINUTE = 20
"""How often one worker may ask the study's model: more often than anybody types a new pair."""


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
