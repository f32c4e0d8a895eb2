"""A study on SQLite, its app, and browsers that fill in forms as people do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from support.crew import Crew, form
from support.people import PASSWORD, Browser
from support.studies import RunningClock, studies_in

from winokit.collect.study import listings
from winokit.collect.study.study import Study
from winokit.collect.web.app import create_app


@pytest.fixture
def clock() -> RunningClock:
    return RunningClock()


@pytest.fixture
def make_study(tmp_path: Path, clock: RunningClock) -> Iterator[Callable[..., Study]]:
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
    """What the audit log says was refused: who, where, with which status."""
    return lambda: [
        (line.actor, line.target, line.detail["status"]) for line in listings.log_entries(study, action="refused")
    ]


@pytest.fixture
def browser_of() -> Callable[..., Browser]:
    """Makes browsers for other studies than the usual one."""
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
