"""Write backups of a study and restore them.

A backup is one file with a study's database, texts and key. It is opened and counted when it is made.

The database in a backup is always SQLite's, so a backup can also move a study between SQLite and PostgreSQL. A
backup of a running server has one consistent state.

A backup is checked before it is restored. Existing files are not deleted but moved into the folder of backups.
SQLite's log is moved with its database: next to another database, SQLite would apply the log to it.
"""

import hashlib
import io
import json
import os
import sqlite3
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa
from sqlalchemy import make_url
from sqlalchemy.orm import Session

from winokit.extend import BadInput
from winokit_collect.study.schema import Base
from winokit_collect.study.store import BACKUPS, LOGS, Store, copy_sqlite
from winokit_collect.study.study import DATABASE, SECRET, Study, database_url

MANIFEST = "backup.json"
FOLDER = "study/"
SCHEMA = 1
LEFT_OUT = (BACKUPS, "export")
"""Folders of a study that are left out of backups."""
ROWS = 1000
COUNTED = ("workers", "submissions", "votes", "problems", "payments", "visits")
"""Tables whose numbers of rows are shown."""


@dataclass(frozen=True)
class Backup:
    """Facts about a backup file: its path, date and numbers of rows."""

    path: Path
    made_at: str
    counts: Mapping[str, int]
    """Number of rows of each table."""
    has_key: bool

    @property
    def summary(self) -> str:
        """The numbers of rows of the main tables, in words."""
        return ", ".join(f"{self.counts.get(table, 0):,} {table}" for table in COUNTED)


def make_backup(study: Study, path: Path) -> Backup:
    """Write a backup of a study into a new file, and check it.

    The study may be in use. Raises BadInput if the file exists or cannot be written.
    """
    if path.exists():
        raise BadInput(f"{path}: exists already; name another file")
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=".backup-") as folder:
            database = Path(folder) / DATABASE
            _copy_database(study.store, database)
            counts = count_rows(database)
            manifest = {"schema": SCHEMA, "made_at": datetime.now(UTC).isoformat(timespec="seconds"), "counts": counts}
            manifest["sha256"] = hashlib.sha256(database.read_bytes()).hexdigest()
            _write_archive(part, manifest, database, study.folder)
        backup = look_at_backup(part)
        part.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise BadInput(f"{path}: the backup could not be written ({error}); nothing else was changed") from None
    finally:
        part.unlink(missing_ok=True)
    return Backup(path, backup.made_at, backup.counts, backup.has_key)


def look_at_backup(path: Path) -> Backup:
    """Read a backup's date and numbers of rows.

    Raises BadInput if it is incomplete or damaged.
    """
    with _unpack_backup(path) as (backup, _):
        return backup


def restore_backup(folder: Path, path: Path, db: str | None = None) -> tuple[Backup, Path | None]:
    """Restore a study from a backup.

    Returns the backup, and the folder into which the replaced files were moved, or None if nothing was replaced. The
    server must be stopped. Files of the study that the backup does not have stay. `db` is the URL of the database to
    fill, None for the usual one (`database_url`) by the backup's settings. Raises BadInput if the backup is damaged, or
    the database in use.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    aside = folder / BACKUPS / f"before-restore-{stamp}"
    with _unpack_backup(path) as (backup, unpacked):
        files = unpacked / FOLDER
        url = database_url(folder, db, files)
        target = make_url(url)
        is_sqlite = target.get_backend_name() == "sqlite"
        database = Path(target.database or "")
        moved = _move_aside(folder, files, database if is_sqlite else None, aside)
        if is_sqlite:
            database.parent.mkdir(parents=True, exist_ok=True)
            copy_sqlite(unpacked / DATABASE, database)
        else:
            _replace_on_server(url, unpacked / DATABASE, aside)
        for file in _list_files(files):
            target_path = folder / file.relative_to(files)
            target_path.parent.mkdir(parents=True, exist_ok=True)
            content = file.read_bytes()
            target_path.write_bytes(content)
            target_path.chmod(0o600)
    with closing(Study.open(folder, db)) as study:
        counts_now = _count_tables(study.store)
    lost_from = [name for name, count in counts_now.items() if count < backup.counts.get(name, 0)]
    if lost_from:
        raise BadInput(f"{folder}: {lost_from[0]} has fewer rows than the backup; what was there before is in {aside}")
    has_replaced = moved or aside.exists()
    return backup, aside if has_replaced else None


def count_rows(path: Path) -> dict[str, int]:
    """Number of rows of each table of an SQLite database.

    Raises BadInput if it is damaged.
    """
    with closing(sqlite3.connect(path)) as database:
        (damage,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if damage != "ok":
            description = " ".join(damage.split())[:200]
            raise BadInput(f"{path}: the database is damaged ({description})")
        rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = sorted(name for (name,) in rows)
        counts = {}
        for table in tables:
            (counts[table],) = database.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()
        return counts


def _count_tables(store: Store) -> dict[str, int]:
    """Number of rows of each table of an open database."""
    with store.read() as session:
        counts = {}
        for name, table in Base.metadata.tables.items():
            query = sa.select(sa.func.count()).select_from(table)
            counts[name] = session.scalar(query) or 0
        return counts


def _copy_database(store: Store, target: Path) -> None:
    """Copy a study's database, in one consistent state, into an SQLite file."""
    if store.is_sqlite:
        copy_sqlite(Path(store.url.database or ""), target)
        return
    copy = Store(f"sqlite:///{target}")
    try:
        with store.read(steady=True) as source, copy.write() as session:
            _copy_rows(source, session)
    finally:
        copy.close()
    with closing(sqlite3.connect(target)) as database:
        database.execute("PRAGMA journal_mode=DELETE")


def _copy_rows(source: Session, target: Session) -> None:
    """Copy all rows of all tables.

    A table is copied after the tables that it refers to.
    """
    for table in Base.metadata.sorted_tables:
        columns = [column for column in table.columns if column.computed is None]
        selected = [_select_copied_column(column) for column in columns]
        values = {column.name: _make_insert_parameter(column, target) for column in columns}
        query = sa.select(*selected).execution_options(yield_per=ROWS)
        insertion = sa.insert(table).values(values)
        for part in source.execute(query).partitions(ROWS):
            target.execute(insertion, [_rename_values(row) for row in part])


def _rename_values(row: sa.Row[Any]) -> dict[str, Any]:
    """Map a row's values to the names of the insert's parameters.

    SQLAlchemy does not allow parameters that are named like columns.
    """
    return {f"new_{name}": value for name, value in row._mapping.items()}


def _select_copied_column(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    """The expression that reads a column for copying.

    JSON is read as text, so that a JSON null stays distinct from a missing value.
    """
    if isinstance(column.type, sa.JSON):
        return sa.cast(column, sa.Text).label(column.name)
    return column


def _make_insert_parameter(column: sa.Column[Any], target: Session) -> sa.ColumnElement[Any]:
    """The insert parameter for a copied value.

    SQLite stores JSON as text, PostgreSQL parses it.
    """
    if not isinstance(column.type, sa.JSON):
        return sa.bindparam(f"new_{column.name}", type_=column.type)
    value = sa.bindparam(f"new_{column.name}", type_=sa.Text)
    is_sqlite = target.get_bind().dialect.name == "sqlite"
    return sa.type_coerce(value, sa.Text) if is_sqlite else sa.cast(value, sa.JSON)


def _replace_on_server(url: str, database: Path, aside: Path) -> None:
    """Replace a PostgreSQL database's rows by those of an SQLite file.

    A copy of the old rows is written into the folder `aside` first.
    """
    source = Store(f"sqlite:///{database}")
    store = Store(url)
    try:
        aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        _copy_database(store, aside / DATABASE)
        with source.read(steady=True) as rows, store.write(alone=True) as session:
            for table in reversed(Base.metadata.sorted_tables):
                session.execute(table.delete())
            _copy_rows(rows, session)
            for table in Base.metadata.sorted_tables:
                _reset_id_sequence(session, table)
    finally:
        source.close()
        store.close()


def _reset_id_sequence(session: Session, table: sa.Table) -> None:
    """Set a table's id sequence in PostgreSQL to its last id."""
    if "id" not in table.columns or not isinstance(table.columns["id"].type, sa.Integer):
        return
    number = table.columns["id"]
    sequence = sa.func.pg_get_serial_sequence(table.name, "id")
    last = sa.func.coalesce(sa.func.max(number), 1)
    is_used = sa.func.count(number) > 0
    session.execute(sa.select(sa.func.setval(sequence, last, is_used)))


def _list_files(folder: Path) -> Iterator[Path]:
    """List the files of a study to back up, in sorted order.

    The database, hidden files, backups and exports are left out. Symbolic links are not followed.
    """
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        is_database = path.name.startswith(DATABASE)
        is_hidden = any(part.startswith(".") for part in inside.parts)
        is_left_out = inside.parts[0] in LEFT_OUT or is_database or is_hidden
        if path.is_file() and not path.is_symlink() and not is_left_out:
            yield path


def _write_archive(path: Path, manifest: Mapping[str, Any], database: Path, folder: Path) -> None:
    """Write a backup's parts into an archive that only its owner can read.

    The parts are the manifest, the database and the files of the folder.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as raw, tarfile.open(fileobj=raw, mode="w:gz") as archive:
        manifest_bytes = (json.dumps(manifest, indent=1) + "\n").encode()
        entry = tarfile.TarInfo(MANIFEST)
        entry.size = len(manifest_bytes)
        archive.addfile(entry, io.BytesIO(manifest_bytes))
        archive.add(database, DATABASE)
        for file in _list_files(folder):
            inside = file.relative_to(folder).as_posix()
            archive.add(file, f"{FOLDER}{inside}")
        raw.flush()
    with path.open("rb") as archive_file:
        os.fsync(archive_file.fileno())


@contextmanager
def _unpack_backup(path: Path) -> Iterator[tuple[Backup, Path]]:
    """Unpack a backup into a temporary folder and check it.

    Yields the backup and the folder, which is deleted at the end of the block. Raises BadInput if the backup is
    damaged.
    """
    with TemporaryDirectory(prefix="winokit-backup-") as name:
        folder = Path(name)
        try:
            with tarfile.open(path, "r:gz") as archive:
                archive.extractall(folder, filter="data")
            manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
            schema = manifest["schema"]
            counts = dict(manifest["counts"])
            database_bytes = (folder / DATABASE).read_bytes()
            digest = hashlib.sha256(database_bytes).hexdigest()
        except (OSError, EOFError, ValueError, KeyError, TypeError, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise BadInput(f"{path}: not a backup of a study, or not whole ({reason})") from None
        if schema != SCHEMA:
            raise BadInput(f"{path}: a backup of schema {schema}, from a newer winokit; this one reads {SCHEMA}")
        if digest != manifest.get("sha256") or count_rows(folder / DATABASE) != counts:
            raise BadInput(f"{path}: the database in it is not the one that was backed up; use another backup")
        has_key = (folder / FOLDER / SECRET).is_file()
        made_at = str(manifest.get("made_at", ""))
        yield Backup(path, made_at, counts, has_key), folder


def _move_aside(folder: Path, files: Path, database: Path | None, aside: Path) -> bool:
    """Move the files that a restore would replace into the folder `aside`.

    Returns whether there were any. `files` is the unpacked backup. `database` is the SQLite database to move, or None.
    Raises BadInput before anything is moved if the database is in use.
    """
    replaced = [folder / file.relative_to(files) for file in _list_files(files)]
    if database is not None:
        _refuse_in_use(database)
        logs = [database.with_name(database.name + suffix) for suffix in LOGS]
        replaced += [database, *logs]
    present = [path for path in replaced if path.exists()]
    for path in present:
        inside = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
        target_path = aside / inside
        target_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.replace(target_path)
    return bool(present)


def _refuse_in_use(database: Path) -> None:
    """Raise BadInput if a server has the SQLite database open.

    To find out, its journal mode is set to DELETE, so that its log is emptied into the database and removed. A file
    that is missing, or no database, is not refused.
    """
    if not database.exists():
        return
    with closing(sqlite3.connect(database, timeout=1)) as opened:
        try:
            # Leaving the log behind needs the database for oneself, and is refused while anybody else has it open.
            opened.execute("PRAGMA journal_mode=DELETE").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise BadInput(f"{database}: in use; stop the server first, then restore") from None
        except sqlite3.DatabaseError:
            pass
