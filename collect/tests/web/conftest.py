"""A study on SQLite, its app, and browsers that fill in forms as people do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from collect_support.crew import Crew, form
from collect_support.passwords import quick_hashes  # noqa: F401
from collect_support.people import PASSWORD, Browser
from collect_support.real_browser import EXPECTED_MESSAGES
from collect_support.studies import Clock, ClockOfAll, studies_in
from fastapi import FastAPI
from support.waiting import HANGS, until

from winokit_collect.study import listings
from winokit_collect.study.study import Study
from winokit_collect.web.app import create_app


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return ClockOfAll(monkeypatch)


@pytest.fixture
def make_study(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Study]]:
    with studies_in(tmp_path, clock, twins=4, social_share=0) as make:
        yield make


@pytest.fixture
def study(make_study: Callable[..., Study]) -> Study:
    return make_study()


@pytest.fixture
def app(study: Study) -> FastAPI:
    return create_app(study)


@pytest.fixture
def stranger(app: FastAPI) -> Browser:
    return Browser(app)


@pytest.fixture
def worker(app: FastAPI, study: Study) -> Browser:
    return Browser(app).join(study)


@pytest.fixture
def requester(app: FastAPI, study: Study) -> Browser:
    return Browser(app).set_up(study)


@pytest.fixture
def refused(study: Study) -> Callable[[], list[tuple[str, str, int]]]:
    """A function that lists the refusals in the audit log, newest first, as (actor, address, status)."""

    def list_refusals() -> list[tuple[str, str, int]]:
        lines = listings.log_entries(study, action="refused")
        return [(line.actor, line.target, line.detail["status"]) for line in lines]

    return list_refusals


@pytest.fixture
def browser_of() -> Callable[..., Browser]:
    """A function that makes a browser for another study than the usual one."""
    return lambda study, **options: Browser(create_app(study, **options))


@pytest.fixture
def crew() -> Crew:
    return Crew()


@pytest.fixture
def twins() -> dict[str, str]:
    return form()


@pytest.fixture
def password() -> str:
    return PASSWORD


@pytest.fixture
def address(study: Study) -> Iterator[str]:
    """The URL at which the study is served, on a port that the system chose."""
    server = uvicorn.Server(uvicorn.Config(create_app(study), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    until(lambda: server.started)
    _, port = server.servers[0].sockets[0].getsockname()
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def person(chromium: Any, address: str) -> Iterator[Callable[..., Any]]:
    """A function that opens a page in a new browser. The test fails if one reports an error or asks another server.

    It also fails if a page asks for confirmation in a dialog, unless `is_sure`, which accepts all dialogs.
    """
    trouble: list[str] = []
    contexts: list[Any] = []

    def open_page(*, is_sure: bool = False, **options: Any) -> Any:
        context = chromium.new_context(base_url=address, **options)
        context.set_default_timeout(1000 * HANGS)
        context.on("console", lambda message: EXPECTED_MESSAGES.search(message.text) or trouble.append(message.text))
        context.on("weberror", lambda error: trouble.append(str(error.error)))
        if is_sure:
            context.on("dialog", lambda dialog: dialog.accept())
        else:
            context.on("dialog", lambda dialog: trouble.append(f"dialog: {dialog.message}"))
        context.on("request", lambda request: request.url.startswith(address) or trouble.append(request.url))
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []
