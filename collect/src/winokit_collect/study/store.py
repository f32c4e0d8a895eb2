"""The database of a study: SQLite in the folder, or PostgreSQL by its URL.

It is migrated to the newest tables when it is opened. An SQLite database that cannot be written is copied, if it is
only to be read.

`read()` and `write()` each give a session. Changes that must not interleave are made in one `write()`. On SQLite it
begins with BEGIN IMMEDIATE, and one thread of the process writes at a time, so that waiting is fair. On PostgreSQL the
functions lock the rows they decide on.

A worker's submission is on the disk before the worker is thanked. SQLite writes ahead (WAL) and syncs the log at each
such commit (`synchronous=FULL`), PostgreSQL does so by itself (`synchronous_commit` by default). So nothing is lost if
the server is killed or the power fails. Only a lease or a draft may be lost if the power fails: these do not wait for
the disk (SQLite's NORMAL), since one of them follows every vote.
"""

import logging
import os
import select
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError
from sqlalchemy.orm import Session

from winokit import WinokitError
from winokit.extend import BadInput, tell
from winokit_collect.study.schema import Base

P = ParamSpec("P")
T = TypeVar("T")
LOG = logging.getLogger("winokit.collect")
MIGRATIONS = Path(__file__).parent / "migrations"
BUSY_SECONDS = 30
LOGS = ("-wal", "-shm")
"""Suffixes of the files that SQLite keeps beside an open database."""
ALONE = 7_461_029
"""Our number for PostgreSQL's advisory lock: servers that start together migrate one after the other."""
MIGRATING = threading.Lock()
"""Alembic keeps its state in global variables, so that one thread of a process migrates at a time."""
ROOM = {"cache_size": -16_000, "wal_autocheckpoint": 4_000}
"""Settings of SQLite: 16 MB of cached pages per connection, and a log of 16 MB before it is copied into the
database, which blocks everybody."""
PLANNING = {"plan_cache_mode": "force_generic_plan", "random_page_cost": "1.1", "max_parallel_workers_per_gather": "0"}
"""Settings of PostgreSQL. Without them it plans frequent statements again each time, reads whole tables instead of
indexes, and uses several cores for one page, so that other pages wait."""
NEVER = 10**9
BACKUPS = "backups"
"""Folder beside a database, for copies made before it is changed."""
LEAST_ROOM = 64 * 2**20
"""Free bytes below which a disk counts as nearly full: several times the size of SQLite's log."""
FULL = "database or disk is full"
DISK_FULL = "53100"
DAMAGED = ("malformed", "not a database")
RESTORE = "restore a backup: winokit collect restore STUDY BACKUP"
DEADLOCK = "40P01"
TRIES = 3
PAUSE = 0.1  # seconds, in which the others of the circle take the lock they wait for
ONE_STATE = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


class DiskFull(WinokitError, OSError):
    """The disk is full, and the transaction stored nothing."""


class Store:
    """The database of a study, with sessions to read and to write.

    It is created or migrated to the newest tables when it is opened. With `to_read`, an SQLite database that cannot be
    written, or would need a migration, is copied to a temporary folder first.
    """

    def __init__(self, url: str, *, connections: int = 20, to_read: bool = False) -> None:
        self.url = _parse_url(url)
        self._copy: TemporaryDirectory[str] | None = None
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.is_full = False
        self._to_read = to_read
        path = Path(self.url.database or "")
        if self.is_sqlite and path.is_file():
            self._copy_if_needed(path)
        # The last connection to come back is the first to go out again: it still has its pages and queries at hand.
        pool = {"pool_size": connections, "max_overflow": connections, "pool_use_lifo": True}
        if self.is_sqlite:
            self.engine = _make_sqlite_engine(self.url, pool)
            self._glance = self.engine
            self._steady = self.engine
        else:
            self.engine = _make_postgresql_engine(self.url, pool)
            self._glance = self.engine.execution_options(isolation_level="AUTOCOMMIT")
            self._steady = self.engine.execution_options(**ONE_STATE)
        self._durable = self.engine.execution_options(synchronous="FULL")
        self._quick = self.engine.execution_options(synchronous="NORMAL")
        self._writing = threading.Lock() if self.is_sqlite else nullcontext()
        try:
            self._migrate_tables()
        except BaseException:
            self.close()  # nobody else can, of a store that was never made
            raise

    def _copy_if_needed(self, path: Path) -> None:
        """Copy a database that is only read, if it cannot be opened as it is.

        That is an SQLite database that cannot be written or must be migrated. Raises BadInput if it should be written
        and cannot be.
        """
        is_writable = _is_writable(path)
        if self._to_read and (not is_writable or _is_older(path)):
            self._copy = TemporaryDirectory(prefix="winokit-study-")
            copy_path = _copy_readonly(path, Path(self._copy.name))
            self.url = self.url.set(database=str(copy_path))
        elif not is_writable:
            raise BadInput(f"{path}: the database or its folder cannot be written; free them, or run as their owner")

    @contextmanager
    def read(self, *, steady: bool = False) -> Iterator[Session]:
        """A session that only reads.

        A `steady` session sees one unchanging state of the database. Any other sees what is committed meanwhile, and is
        cheaper on PostgreSQL.
        """
        engine = self._steady if steady else self._glance
        with engine.connect() as line, Session(line, expire_on_commit=False) as session:
            if steady:
                line.begin()
            yield session

    @contextmanager
    def write(self, *, alone: bool = False, quick: bool = False) -> Iterator[Session]:
        """A session whose changes are committed together at the end of the block.

        An error in the block undoes them all. Two sessions that are `alone` never run at the same time, even in
        different servers. A `quick` one does not wait for the disk: it is for leases and drafts, which may be lost if
        the power fails.
        """
        engine = self._quick if quick else self._durable
        with (
            self._check_disk(),
            self._writing,
            engine.connect() as line,
            line.begin(),
            Session(line, expire_on_commit=False) as session,
        ):
            if alone and not self.is_sqlite:
                line.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ALONE})
            yield session
            session.commit()  # of what is left to be sent; the line's own transaction ends after it

    @contextmanager
    def _check_disk(self) -> Iterator[None]:
        """Remember in `is_full` whether the transaction in the block found the disk full.

        Raises DiskFull if it did.
        """
        try:
            yield
        except DBAPIError as error:
            reason = str(error.orig)
            self.is_full = getattr(error.orig, "sqlstate", None) == DISK_FULL or FULL in reason
            if self.is_full:
                raise DiskFull("the disk is full, and nothing was stored; make room on it") from None
            raise
        self.is_full = False

    def disk_trouble(self) -> str:
        """Describe a full or nearly full disk, or return an empty text.

        For PostgreSQL it is known only once a transaction has failed.
        """
        if self.is_full:
            return "the disk is full"
        path = Path(self.url.database or "")
        if self.is_sqlite and path.is_file() and shutil.disk_usage(path.parent).free < LEAST_ROOM:
            return "the disk is nearly full"
        return ""

    def close(self) -> None:
        """Close all connections, and delete a temporary copy of the database."""
        self.engine.dispose()
        if self._copy is not None:
            self._copy.cleanup()

    def _migrate_tables(self) -> None:
        """Create the tables, or migrate them to the newest revision.

        Raises BadInput if the database is damaged, newer than this winokit, or not a study's.
        """
        try:
            self._check_undamaged()
            with MIGRATING, self.write(alone=True) as session:
                connection = session.connection()
                names = inspect(connection).get_table_names()
                config = _make_alembic_config(connection)
                if "alembic_version" in names:
                    self._copy_before_migrating(connection, ScriptDirectory.from_config(config))
                    command.upgrade(config, "head")
                elif names and self.is_sqlite:  # something else keeps its tables here
                    address = self.url.render_as_string()
                    raise BadInput(f"{address}: not a study's database (it has the table {names[0]!r})")
                else:
                    Base.metadata.create_all(connection, checkfirst=False)
                    command.stamp(config, "head")
        except DBAPIError as error:
            reason = str(error.orig).strip().splitlines()[0]
            advice = f"; {RESTORE}" if any(sign in reason for sign in DAMAGED) else ""
            address = self.url.render_as_string()
            raise BadInput(f"{address}: the database cannot be opened ({reason}){advice}") from None
        except CommandError as error:  # a revision that no migration of ours has
            address = self.url.render_as_string()
            raise BadInput(f"{address}: written by a newer winokit, or not a study's ({error})") from None

    def _check_undamaged(self) -> None:
        """Raise BadInput if an SQLite database is damaged."""
        if not self.is_sqlite or not Path(self.url.database or "").is_file():
            return
        with self.read() as session:
            damage = str(session.scalar(text("PRAGMA quick_check(1)")))
        if damage != "ok":
            reason = " ".join(damage.split())[:200]
            raise BadInput(f"{self.url.render_as_string()}: the database is damaged ({reason}); {RESTORE}")

    def _copy_before_migrating(self, connection: Connection, scripts: ScriptDirectory) -> None:
        """Copy an older database before its migration, and tell the user where.

        Does nothing if the database needs no migration, or is a temporary copy itself. Raises BadInput for an older
        PostgreSQL database that is only to be read, and CommandError if no migration knows its revision.
        """
        revision = str(connection.scalar(text("SELECT version_num FROM alembic_version")))
        scripts.get_revision(revision)
        if revision == scripts.get_current_head() or self._copy is not None:
            return
        if self._to_read:  # a PostgreSQL server's: there is no file to copy
            address = self.url.render_as_string()
            reason = "from an earlier version; winokit collect serve migrates it, after making a copy"
            raise BadInput(f"{address}: {reason}")
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        if self.is_sqlite:
            copy_name = _copy_to_backups(Path(self.url.database or ""), f"before-migration-{revision}-{stamp}")
        else:
            schema_stamp = stamp.replace("-", "_")
            copy_name = _copy_to_schema(connection, f"before_migration_{revision}_{schema_stamp}")
        reason = f"the database is from an earlier version ({revision}) and is migrated"
        tell([f"{reason}; a copy of it is kept: {copy_name}"])


def _make_alembic_config(connection: Connection) -> Config:
    """Configuration of Alembic for an open connection."""
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def newest_revision() -> str:
    """Revision of the newest migration."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return str(ScriptDirectory.from_config(config).get_current_head())


def _is_older(path: Path) -> bool:
    """Whether an SQLite database is of an older revision.

    It then needs a migration. False if it is not a study's.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            (revision,) = database.execute("SELECT version_num FROM alembic_version").fetchone()
    except (sqlite3.Error, TypeError):  # not a study's: whoever opens it says so
        return False
    return bool(revision != newest_revision())


def _copy_to_backups(path: Path, name: str) -> str:
    """Copy an SQLite database into the folder of backups beside it.

    Returns the path of the copy, which is named after `name`. Raises BadInput if it cannot be written.
    """
    copy_path = path.parent / BACKUPS / f"{name}.db"
    try:
        copy_path.parent.mkdir(mode=0o700, exist_ok=True)
        copy_sqlite(path, copy_path)
    except (OSError, sqlite3.Error) as error:
        copy_path.unlink(missing_ok=True)
        raise BadInput(
            f"{copy_path}: no copy could be made before the migration ({error}); nothing was changed"
        ) from None
    return str(copy_path)


def copy_sqlite(path: Path, target: Path) -> None:
    """Copy an SQLite database into a single file, even while in use.

    Only the owner can read the copy.
    """
    _keep_private(target)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")


def _copy_to_schema(connection: Connection, name: str) -> str:
    """Copy all tables of a PostgreSQL database into a new schema.

    Returns a description of the copy.
    """
    connection.execute(text(f"CREATE SCHEMA {name}"))
    for table in inspect(connection).get_table_names():
        connection.execute(text(f"CREATE TABLE {name}.{table} AS TABLE {table}"))
    return f"schema {name}"


def retried(transaction: Callable[P, T]) -> Callable[P, T]:
    """Decorator that repeats a transaction after a deadlock in PostgreSQL.

    It is tried three times in all. Other errors are raised at once.
    """

    @wraps(transaction)
    def done(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(TRIES - 1):
            try:
                return transaction(*args, **kwargs)
            except Exception as error:
                driver_error = getattr(error, "orig", error)
                if getattr(driver_error, "sqlstate", None) != DEADLOCK:
                    raise
                name = transaction.__name__.strip("_")
                LOG.warning("%s is done once more, after a deadlock", name)
                time.sleep(PAUSE)
        return transaction(*args, **kwargs)

    return done


def without_password(url: str) -> str:
    """A database URL without its password, to be written into a file.

    PostgreSQL then takes the password from the environment or ~/.pgpass.
    """
    parsed = _parse_url(url)
    public = parsed._replace(drivername=parsed.get_backend_name(), password=None)
    return public.render_as_string()


def _parse_url(url: str) -> URL:
    """Parse a database URL. Raises BadInput if it is neither SQLite's nor PostgreSQL's."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise BadInput(f"{url!r}: a database URL such as postgresql://user@host/name expected") from None
    name = parsed.get_backend_name()
    if name not in ("sqlite", "postgresql"):
        raise BadInput(f"{parsed.render_as_string()}: sqlite or postgresql expected, found {name}")
    if parsed.drivername == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    return parsed


def _is_writable(path: Path) -> bool:
    """Whether a file and its folder can both be written."""
    can_check = os.access in os.supports_effective_ids
    return all(os.access(each_path, os.W_OK, effective_ids=can_check) for each_path in (path, path.parent))


def _keep_private(path: Path) -> None:
    """Make a database file readable by its owner only.

    It is created if it is missing. SQLite's logs beside it are treated the same. Nothing is raised if that is not
    possible.
    """
    with suppress(OSError):  # If it cannot be made, SQLite says why.
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)
        os.close(descriptor)
    logs = [path.with_name(path.name + suffix) for suffix in LOGS]
    for file in (path, *logs):
        with suppress(OSError):  # somebody else's, or one that may only be read
            is_readable_by_others = file.stat().st_mode & 0o077
            if is_readable_by_others:
                file.chmod(0o600)


def _copy_readonly(path: Path, folder: Path) -> Path:
    """Copy a database that cannot be written, with its log's content.

    Returns the path of the copy.
    """
    copy = folder / path.name
    try:
        with (
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
    except sqlite3.Error:  # SQLite cannot put its logs beside it, so nobody is writing to it either.
        for name in (path.name, path.name + LOGS[0]):
            file = path.with_name(name)
            if not file.exists():
                continue
            try:
                shutil.copyfile(file, folder / name)
            except OSError as error:
                raise BadInput(f"{path}: cannot be read ({error.strerror or error})") from None
    return copy


def _make_sqlite_engine(url: URL, pool: Mapping[str, Any]) -> Engine:
    """Make an engine that opens SQLite databases with the settings of a study."""
    if url.database and not url.database.startswith((":", "file:")):
        _keep_private(Path(url.database))
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}, **pool)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves, below
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA foreign_keys=ON")
        for name, value in ROOM.items():
            connection.execute(f"PRAGMA {name}={value}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        synchronous = connection.get_execution_options().get("synchronous")
        driver: Any = connection.connection.driver_connection
        if synchronous:
            driver.execute(f"PRAGMA synchronous={synchronous}")
        driver.execute("BEGIN IMMEDIATE" if synchronous else "BEGIN")

    return engine


def _make_postgresql_engine(url: URL, pool: Mapping[str, Any]) -> Engine:
    """Make an engine that connects to PostgreSQL with the settings of a study."""
    engine = create_engine(url, **pool)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        for name, value in PLANNING.items():
            connection.execute(f"SET {name} = {value}")
        connection.commit()
        # Only statements that are `Prepared`: the others are too rare, and too many.
        connection.prepare_threshold = NEVER

    @event.listens_for(engine, "checkout")
    def refuse_dead(connection: Any, _record: Any, _proxy: Any) -> None:
        # An idle server says nothing, so anything to read is its farewell, or the end of the connection. Asking it
        # whether it is alive, as the pool could, would be one more message for every page.
        readable, _, _ = select.select([connection.fileno()], [], [], 0)
        if readable:
            raise DisconnectionError

    return engine
