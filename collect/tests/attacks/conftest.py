"""A study under attack: people with cookies in process, and a server of its own for what needs a real socket."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from collect_support.crew import form
from collect_support.passwords import quick_hashes  # noqa: F401
from collect_support.people import PASSWORD, Page, Person
from collect_support.server import Server
from collect_support.studies import Clock, ClockOfAll, database_of, studies_in
from fastapi import FastAPI

from winokit.extend import write_whole
from winokit_collect.study import listings
from winokit_collect.study.config import parse_config
from winokit_collect.study.study import Study
from winokit_collect.web.app import create_app

VOTE = {"choice": "1", "equally_plausible": "no", "local_decides": "no"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return ClockOfAll(monkeypatch)


@pytest.fixture
def make_study(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Study]]:
    with studies_in(tmp_path, clock, twins=20, social_share=0) as make:
        yield make


@pytest.fixture
def study(make_study: Callable[..., Study]) -> Study:
    return make_study()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with database_of(request, tmp_path) as url:
        yield url


@pytest.fixture
def either_study(database: str, make_study: Callable[..., Study]) -> Study:
    """A study on each of the two databases."""
    return make_study(database)


@pytest.fixture
def app(study: Study) -> FastAPI:
    return create_app(study)


@pytest.fixture
def person() -> type[Person]:
    return Person


@pytest.fixture
def stranger(app: FastAPI) -> Person:
    return Person(app)


@pytest.fixture
def worker(app: FastAPI, study: Study) -> Person:
    return Person(app).join(study)


@pytest.fixture
def requester(app: FastAPI, study: Study) -> Person:
    return Person(app).set_up(study)


@pytest.fixture
def refused(study: Study) -> Callable[[], list[tuple[str, str, int]]]:
    """A function that lists the refusals in the audit log, newest first, as (actor, address, status)."""

    def list_refusals() -> list[tuple[str, str, int]]:
        lines = listings.log_entries(study, action="refused")
        return [(line.actor, line.target, line.detail["status"]) for line in lines]

    return list_refusals


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Study]]:
    """A server in a process of its own and the study it serves. At the end it must not have printed a traceback."""
    if os.name != "posix":
        pytest.skip("needs signals and /proc")
    quality = {"quiz_pass_mark": 0, "gold_share": 0}
    config = parse_config({"title": "Twins", "quality": quality})
    folder = tmp_path_factory.mktemp("served") / "study"
    write_whole(folder / "consent.md", b"# Consent")
    study = Study.create(folder, config)
    server = Server(folder)
    yield server, study
    output = server.stop()
    study.close()
    assert "Traceback" not in output, output


@pytest.fixture
def twins() -> dict[str, str]:
    return form()


@pytest.fixture
def vote() -> dict[str, str]:
    return dict(VOTE)


@pytest.fixture
def password() -> str:
    return PASSWORD


@pytest.fixture
def page_of() -> type[Page]:
    return Page
