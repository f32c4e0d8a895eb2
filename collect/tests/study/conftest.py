"""Studies to test with: every test that takes one runs on SQLite and on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from collect_support.crew import Crew
from collect_support.passwords import quick_hashes  # noqa: F401
from collect_support.studies import Clock, database_of, studies_in

from winokit_collect.study.study import Study

MakeStudy = Callable[..., Study]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without a study."""
    with database_of(request, tmp_path) as url:
        yield url


@pytest.fixture
def make_study(database: str, tmp_path: Path, clock: Clock) -> Iterator[MakeStudy]:
    def on_database(**sections: Any) -> Study:
        return make(database, **sections)

    with studies_in(tmp_path, clock, twins=4) as make:
        yield on_database


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    return make_study()


@pytest.fixture
def crew() -> Crew:
    return Crew()
