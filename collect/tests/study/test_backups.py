"""Backups that restore: after a mistake, a kill, damage; and a database is never changed without a copy."""

import signal
import sqlite3
import tarfile
from contextlib import closing

import pytest
from collect_support.server import Server
from collect_support.studies import studies_in
from sqlalchemy import event, select, text

from winokit.extend import BadInput, telling
from winokit_collect import verbs
from winokit_collect.study import backups, moderation, store, workers
from winokit_collect.study.schema import ProblemRow, Task, Worker
from winokit_collect.study.store import DiskFull, Store
from winokit_collect.study.study import Study


def texts(study):
    with study.store.read() as session:
        written = select(ProblemRow.before).where(ProblemRow.origin == "written").order_by(ProblemRow.id)
        return session.scalars(written).all()


def topics(study):
    """JSON: also where it is missing."""
    with study.store.read() as session:
        return session.execute(select(Task.id, Task.topic, Task.topic.is_(None)).order_by(Task.id)).all()


def test_a_mistake_is_undone_and_everything_is_counted(study, database, crew, tmp_path):
    worker = crew.newcomer(study)
    crew.write(study, worker)
    before = texts(study)
    prepared = topics(study)
    made = backups.make_backup(study, tmp_path / "kept.tar.gz")
    assert made.counts["workers"] == 1
    moderation.withdraw(study, worker.code, "requester:ann")
    guidelines = study.folder / study.config.guidelines
    ours = guidelines.read_text()
    guidelines.write_text("a mistake")
    study.close()
    restored, kept = backups.restore_backup(study.folder, made.path, database)
    assert restored.counts == made.counts
    again = Study.open(study.folder, database, clock=study.now)
    assert texts(again) == before != []
    assert topics(again) == prepared
    assert guidelines.read_text() == ours
    assert (kept / guidelines.name).read_text() == "a mistake"
    assert workers.join(again, "links").id == 2  # numbers go on
    crew.write(again, crew.newcomer(again), 5)
    again.close()


def test_a_study_moves_from_one_kind_of_database_to_the_other(study, crew, tmp_path):
    crew.write(study, crew.newcomer(study))
    made = backups.make_backup(study, tmp_path / "kept.tar.gz")
    other = tmp_path / "other"
    _, kept = backups.restore_backup(other, made.path, f"sqlite:///{other / 'study.db'}")
    assert kept is None
    with closing(Study.open(other, f"sqlite:///{other / 'study.db'}", clock=study.now)) as moved:
        assert texts(moved) == texts(study)
        assert topics(moved) == topics(study)


@pytest.fixture
def on_file(tmp_path, clock):
    with studies_in(tmp_path, clock, twins=4) as make:
        yield make()


def path_of(study):
    return study.folder / "study.db"


def test_the_log_of_a_server_that_was_killed_is_not_played_back_onto_a_backup(on_file, crew, tmp_path):
    made = backups.make_backup(on_file, tmp_path / "kept.tar.gz")
    for _ in range(3):
        crew.newcomer(on_file)
    log = path_of(on_file).with_name("study.db-wal")
    left_behind = log.read_bytes()
    assert left_behind
    on_file.close()
    log.write_bytes(left_behind)
    backups.restore_backup(on_file.folder, made.path)
    with closing(Study.open(on_file.folder)) as again, again.store.read() as session:
        assert session.scalars(select(Worker.id)).all() == []


def test_a_study_that_is_served_is_not_restored(on_file, tmp_path):
    made = backups.make_backup(on_file, tmp_path / "kept.tar.gz")
    with pytest.raises(BadInput, match="in use; stop the server first"):
        backups.restore_backup(on_file.folder, made.path)
    assert not (on_file.folder / "backups").exists()


def test_a_damaged_database_is_refused_in_one_line_and_restored(on_file, crew, tmp_path):
    crew.write(on_file, crew.newcomer(on_file))
    made = backups.make_backup(on_file, tmp_path / "kept.tar.gz")
    on_file.close()
    path = path_of(on_file)
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * 40_000 + whole[48_192:])
    with pytest.raises(BadInput, match="restore a backup: winokit collect restore") as caught:
        Study.open(on_file.folder)
    assert "\n" not in str(caught.value)
    backups.restore_backup(on_file.folder, made.path)
    with closing(Study.open(on_file.folder)) as again:
        assert len(texts(again)) == 2


@pytest.mark.parametrize("spoil", ["cut", "text", "other database"])
def test_a_backup_that_is_not_whole_is_refused_before_anything_is_moved(on_file, tmp_path, spoil):
    made = backups.make_backup(on_file, tmp_path / "kept.tar.gz").path
    if spoil == "cut":
        made.write_bytes(made.read_bytes()[:2000])
    elif spoil == "text":
        made.write_text("not an archive")
    else:
        with tarfile.open(made) as archive:
            archive.extractall(tmp_path / "in", filter="data")
        with closing(sqlite3.connect(tmp_path / "in" / "study.db")) as inside:
            inside.execute("DELETE FROM tasks")
            inside.commit()
        with tarfile.open(made, "w:gz") as archive:
            archive.add(tmp_path / "in", "")
    on_file.close()
    with pytest.raises(BadInput, match=r"not a backup|not whole|not the one"):
        backups.restore_backup(on_file.folder, made)
    assert path_of(on_file).exists()
    assert not (on_file.folder / "backups").exists()


def test_a_backup_holds_the_key_is_private_and_overwrites_nothing(on_file, tmp_path):
    assert on_file.signer
    made = backups.make_backup(on_file, tmp_path / "kept.tar.gz")
    assert made.has_key
    assert made.path.stat().st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="exists already"):
        backups.make_backup(on_file, made.path)


def test_the_commands_back_up_and_restore(on_file):
    said = []
    with telling(said.append):
        answer = verbs.backup(on_file.folder)
    assert any("no secret.key" in note for note in said)
    on_file.close()
    with pytest.raises(BadInput, match="confirm with --yes"):
        verbs.restore(on_file.folder, answer.record["backup"])
    done = verbs.restore(on_file.folder, answer.record["backup"], yes=True)
    assert done.record["counts"] == answer.record["counts"]


def take_back_one_revision(path):
    """A database as the version before left it."""
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(store.MIGRATIONS))
    last = next(ScriptDirectory.from_config(config).walk_revisions())
    older = Store(f"sqlite:///{path}")
    with older.write() as session:
        with Operations.context(MigrationContext.configure(session.connection())):
            last.module.downgrade()
        session.execute(text(f"UPDATE alembic_version SET version_num = '{last.down_revision}'"))
    older.close()
    return last.down_revision


def revision_of(path):
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT version_num FROM alembic_version").fetchone()[0]


def test_looking_migrates_nothing_and_a_migration_keeps_a_copy_and_says_so(on_file):
    on_file.close()
    path = path_of(on_file)
    older = take_back_one_revision(path)
    with closing(Study.open(on_file.folder, to_read=True)):
        assert revision_of(path) == older
    assert not (path.parent / "backups").exists()
    said = []
    with telling(said.append), closing(Study.open(on_file.folder)):
        assert revision_of(path) == store.newest_revision() != older
    (kept,) = (path.parent / "backups").iterdir()
    assert revision_of(kept) == older
    assert kept.stat().st_mode & 0o077 == 0
    assert said == [f"the database is from an earlier version ({older}) and is migrated; a copy of it is kept: {kept}"]


def test_without_room_for_a_copy_nothing_is_migrated(on_file, monkeypatch):
    on_file.close()
    path = path_of(on_file)
    older = take_back_one_revision(path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "copy_sqlite", full)
    with pytest.raises(BadInput, match="no copy could be made before the migration"):
        Study.open(on_file.folder)
    assert revision_of(path) == older


def test_on_a_server_the_copy_is_a_schema(postgresql):
    with postgresql.study() as url:
        place = Store(url)
        with place.write() as session:
            kept = store._copy_to_schema(session.connection(), "before_migration_test")
            assert session.scalar(text("SELECT COUNT(*) FROM before_migration_test.alembic_version")) == 1
            session.execute(text("DROP SCHEMA before_migration_test CASCADE"))
        assert kept == "schema before_migration_test"
        place.close()


def test_a_database_that_may_only_be_read_is_refused_where_it_would_be_written(on_file, monkeypatch):
    on_file.close()
    monkeypatch.setattr(store, "_is_writable", lambda path: False)
    with pytest.raises(BadInput, match="cannot be written"):
        Study.open(on_file.folder)
    Study.open(on_file.folder, to_read=True).close()


def test_a_full_disk_is_noticed_and_forgotten_when_there_is_room_again(on_file):
    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    engine = on_file.store.engine
    event.listen(engine, "before_cursor_execute", full)
    with pytest.raises(DiskFull, match="nothing was stored"):
        on_file.note("requester:ann", "look")
    assert on_file.store.disk_trouble() == "the disk is full"
    event.remove(engine, "before_cursor_execute", full)
    on_file.note("requester:ann", "look")
    assert on_file.store.disk_trouble() == ""


def test_a_nearly_full_disk_is_told(on_file, monkeypatch):
    usage = store.shutil.disk_usage(on_file.folder)
    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: usage._replace(free=1000))
    assert on_file.store.disk_trouble() == "the disk is nearly full"


@pytest.mark.parametrize("wish", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_closes_its_database(on_file, wish):
    """Its log stayed beside the database, to be played back onto whatever took its place."""
    path = path_of(on_file)
    on_file.close()
    server = Server(on_file.folder)
    log = path.with_name("study.db-wal")
    assert log.exists()
    server.process.send_signal(wish)
    said = server.wait_for_end()
    assert not log.exists()
    assert "Traceback" not in said
