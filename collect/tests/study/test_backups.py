"""A backup restores a study after a mistake, a kill or damage, and a migration keeps a copy."""

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


def read_texts(study):
    with study.store.read() as session:
        query = select(ProblemRow.before).where(ProblemRow.origin == "written").order_by(ProblemRow.id)
        return session.scalars(query).all()


def read_topics(study):
    """Id and topic of each task, and whether the topic is NULL in the database."""
    with study.store.read() as session:
        return session.execute(select(Task.id, Task.topic, Task.topic.is_(None)).order_by(Task.id)).all()


def test_a_mistake_is_undone_and_everything_is_counted(study, database, crew, tmp_path):
    worker = crew.newcomer(study)
    crew.write(study, worker)
    texts_before = read_texts(study)
    topics_before = read_topics(study)
    backup = backups.make_backup(study, tmp_path / "kept.tar.gz")
    assert backup.counts["workers"] == 1
    moderation.withdraw(study, worker.code, "requester:ann")
    guidelines = study.folder / study.config.guidelines
    guideline_text = guidelines.read_text()
    guidelines.write_text("a mistake")
    study.close()
    restored, replaced_folder = backups.restore_backup(study.folder, backup.path, database)
    assert restored.counts == backup.counts
    again = Study.open(study.folder, database, clock=study.now)
    assert read_texts(again) == texts_before
    assert texts_before != []
    assert read_topics(again) == topics_before
    assert guidelines.read_text() == guideline_text
    assert (replaced_folder / guidelines.name).read_text() == "a mistake"
    assert workers.join(again, "links").id == 2  # numbers go on
    crew.write(again, crew.newcomer(again), 5)
    again.close()


def test_a_study_moves_from_one_kind_of_database_to_the_other(study, crew, tmp_path):
    crew.write(study, crew.newcomer(study))
    backup = backups.make_backup(study, tmp_path / "kept.tar.gz")
    new_folder = tmp_path / "other"
    _, replaced_folder = backups.restore_backup(new_folder, backup.path, f"sqlite:///{new_folder / 'study.db'}")
    assert replaced_folder is None
    with closing(Study.open(new_folder, f"sqlite:///{new_folder / 'study.db'}", clock=study.now)) as moved:
        assert read_texts(moved) == read_texts(study)
        assert read_topics(moved) == read_topics(study)


@pytest.fixture
def on_file(tmp_path, clock):
    with studies_in(tmp_path, clock, twins=4) as make:
        yield make()


def database_path(study):
    return study.folder / "study.db"


def test_the_log_of_a_server_that_was_killed_is_not_played_back_onto_a_backup(on_file, crew, tmp_path):
    backup = backups.make_backup(on_file, tmp_path / "kept.tar.gz")
    for _ in range(3):
        crew.newcomer(on_file)
    log = database_path(on_file).with_name("study.db-wal")
    log_bytes = log.read_bytes()
    assert log_bytes
    on_file.close()
    log.write_bytes(log_bytes)
    backups.restore_backup(on_file.folder, backup.path)
    with closing(Study.open(on_file.folder)) as again, again.store.read() as session:
        assert session.scalars(select(Worker.id)).all() == []


def test_a_study_that_is_served_is_not_restored(on_file, tmp_path):
    backup = backups.make_backup(on_file, tmp_path / "kept.tar.gz")
    with pytest.raises(BadInput, match="in use; stop the server first"):
        backups.restore_backup(on_file.folder, backup.path)
    assert not (on_file.folder / "backups").exists()


def test_a_damaged_database_is_refused_in_one_line_and_restored(on_file, crew, tmp_path):
    crew.write(on_file, crew.newcomer(on_file))
    backup = backups.make_backup(on_file, tmp_path / "kept.tar.gz")
    on_file.close()
    path = database_path(on_file)
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xff" * 40_000 + content[48_192:])
    with pytest.raises(BadInput, match="restore a backup: winokit collect restore") as caught:
        Study.open(on_file.folder)
    assert "\n" not in str(caught.value)
    backups.restore_backup(on_file.folder, backup.path)
    with closing(Study.open(on_file.folder)) as again:
        assert len(read_texts(again)) == 2


@pytest.mark.parametrize("spoil", ["cut", "text", "other database"])
def test_a_backup_that_is_not_whole_is_refused_before_anything_is_moved(on_file, tmp_path, spoil):
    backup_path = backups.make_backup(on_file, tmp_path / "kept.tar.gz").path
    if spoil == "cut":
        backup_path.write_bytes(backup_path.read_bytes()[:2000])
    elif spoil == "text":
        backup_path.write_text("not an archive")
    else:
        with tarfile.open(backup_path) as archive:
            archive.extractall(tmp_path / "in", filter="data")
        with closing(sqlite3.connect(tmp_path / "in" / "study.db")) as inside:
            inside.execute("DELETE FROM tasks")
            inside.commit()
        with tarfile.open(backup_path, "w:gz") as archive:
            archive.add(tmp_path / "in", "")
    on_file.close()
    with pytest.raises(BadInput, match=r"not a backup|not whole|not the one"):
        backups.restore_backup(on_file.folder, backup_path)
    assert database_path(on_file).exists()
    assert not (on_file.folder / "backups").exists()


def test_a_backup_holds_the_key_is_private_and_overwrites_nothing(on_file, tmp_path):
    assert on_file.signer
    backup = backups.make_backup(on_file, tmp_path / "kept.tar.gz")
    assert backup.has_key
    assert backup.path.stat().st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="exists already"):
        backups.make_backup(on_file, backup.path)


def test_the_commands_back_up_and_restore(on_file):
    notes = []
    with telling(notes.append):
        backup_report = verbs.backup(on_file.folder)
    assert any("no secret.key" in note for note in notes)
    on_file.close()
    with pytest.raises(BadInput, match="confirm with --yes"):
        verbs.restore(on_file.folder, backup_report.record["backup"])
    restore_report = verbs.restore(on_file.folder, backup_report.record["backup"], yes=True)
    assert restore_report.record["counts"] == backup_report.record["counts"]


def take_back_one_revision(path):
    """Downgrade a database by one revision, and return the revision it has then."""
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(store.MIGRATIONS))
    last = next(ScriptDirectory.from_config(config).walk_revisions())
    database = Store(f"sqlite:///{path}")
    with database.write() as session:
        with Operations.context(MigrationContext.configure(session.connection())):
            last.module.downgrade()
        session.execute(text(f"UPDATE alembic_version SET version_num = '{last.down_revision}'"))
    database.close()
    return last.down_revision


def revision_of(path):
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT version_num FROM alembic_version").fetchone()[0]


def test_looking_migrates_nothing_and_a_migration_keeps_a_copy_and_says_so(on_file):
    on_file.close()
    path = database_path(on_file)
    old_revision = take_back_one_revision(path)
    with closing(Study.open(on_file.folder, to_read=True)):
        assert revision_of(path) == old_revision
    assert not (path.parent / "backups").exists()
    notes = []
    with telling(notes.append), closing(Study.open(on_file.folder)):
        assert revision_of(path) == store.newest_revision() != old_revision
    (copy,) = (path.parent / "backups").iterdir()
    assert revision_of(copy) == old_revision
    assert copy.stat().st_mode & 0o077 == 0
    migration = f"the database is from an earlier version ({old_revision}) and is migrated"
    assert notes == [f"{migration}; a copy of it is kept: {copy}"]


def test_without_room_for_a_copy_nothing_is_migrated(on_file, monkeypatch):
    on_file.close()
    path = database_path(on_file)
    old_revision = take_back_one_revision(path)

    def fail_to_write(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "copy_sqlite", fail_to_write)
    with pytest.raises(BadInput, match="no copy could be made before the migration"):
        Study.open(on_file.folder)
    assert revision_of(path) == old_revision


def test_on_a_server_the_copy_is_a_schema(postgresql):
    with postgresql.study() as url:
        database = Store(url)
        with database.write() as session:
            copy_name = store._copy_to_schema(session.connection(), "before_migration_test")
            assert session.scalar(text("SELECT COUNT(*) FROM before_migration_test.alembic_version")) == 1
            session.execute(text("DROP SCHEMA before_migration_test CASCADE"))
        assert copy_name == "schema before_migration_test"
        database.close()


def test_a_database_that_may_only_be_read_is_refused_where_it_would_be_written(on_file, monkeypatch):
    on_file.close()
    monkeypatch.setattr(store, "_is_writable", lambda path: False)
    with pytest.raises(BadInput, match="cannot be written"):
        Study.open(on_file.folder)
    Study.open(on_file.folder, to_read=True).close()


def test_a_full_disk_is_noticed_and_forgotten_when_there_is_room_again(on_file):
    def fail_to_write(*_):
        raise sqlite3.OperationalError("database or disk is full")

    engine = on_file.store.engine
    event.listen(engine, "before_cursor_execute", fail_to_write)
    with pytest.raises(DiskFull, match="nothing was stored"):
        on_file.note("requester:ann", "look")
    assert on_file.store.disk_trouble() == "the disk is full"
    event.remove(engine, "before_cursor_execute", fail_to_write)
    on_file.note("requester:ann", "look")
    assert on_file.store.disk_trouble() == ""


def test_a_nearly_full_disk_is_told(on_file, monkeypatch):
    usage = store.shutil.disk_usage(on_file.folder)
    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: usage._replace(free=1000))
    assert on_file.store.disk_trouble() == "the disk is nearly full"


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_closes_its_database(on_file, signal_number):
    """A log left beside the database would be played back onto a restored one."""
    path = database_path(on_file)
    on_file.close()
    server = Server(on_file.folder)
    log = path.with_name("study.db-wal")
    assert log.exists()
    server.process.send_signal(signal_number)
    output = server.wait_for_end()
    assert not log.exists()
    assert "Traceback" not in output
