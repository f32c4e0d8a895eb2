"""A database is migrated on opening, has the tables of the models, and fails to open in one plain line."""

import tarfile
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import bindparam, create_engine, func, inspect, select, text
from sqlalchemy.pool import NullPool
from support.waiting import until

from winokit.extend import BadInput
from winokit_collect.study import workers
from winokit_collect.study.prepared import Prepared
from winokit_collect.study.schema import WORKERS, Base, Payment, PayoutJob, PlatformVisit, Task, Worker
from winokit_collect.study.store import MIGRATIONS, Store, without_password
from winokit_collect.study.study import Study

EARLIER_STUDIES = Path(__file__).parents[3] / "tests" / "earlier" / "files"


MARCH_1 = "'2026-03-01 12:00:00+00'"
MARCH_3 = "'2026-03-03 12:00:00+00'"
MARCH_5 = "'2026-03-05 12:00:00+00'"
ROWS_BEFORE_VISITS = f"""
INSERT INTO workers (id, code, platform, state, joined_at, session_version, link_version, pilot) VALUES
    (1, 'w-1', 'prolific', 'active', {MARCH_1}, 1, 1, false),
    (2, 'w-2', 'prolific', 'active', {MARCH_1}, 1, 1, false),
    (3, 'w-3', 'prolific', 'active', {MARCH_1}, 1, 1, false);
INSERT INTO identities
    (worker_id, platform, external_id, study_id, session_id, approved_session, arrived_at) VALUES
    (1, 'prolific', 'p1', 'st', 's2', 's1', {MARCH_5}),
    (2, 'prolific', 'p2', 'st', 's3', 's3', {MARCH_1}),
    (3, 'prolific', 'p3', 'st', 's4', NULL, {MARCH_1});
INSERT INTO payout_jobs
    (id, worker_id, state, cents, planned_at, planned_by, due_at, sent_at, why) VALUES
    (1, 1, 'confirmed', 70, {MARCH_3}, 'requester:ann', {MARCH_3}, {MARCH_3}, ''),
    (2, 2, 'confirmed', 70, {MARCH_3}, 'requester:ann', {MARCH_3}, {MARCH_3}, ''),
    (3, 3, 'uncertain', 70, {MARCH_3}, 'requester:ann', {MARCH_3}, {MARCH_3}, '');
INSERT INTO payments (id, worker_id, reason, cents, note, at) VALUES
    (1, 1, 'visit', -50, '', {MARCH_3}),
    (2, 2, 'visit', -50, '', {MARCH_3})
"""
"""Rows of a study of revision 0009, the last one without a table of visits."""


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The URL of a database without tables."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")()
    return f"sqlite:///{tmp_path / 'study.db'}"


def schema_differences(store):
    """Differences between the tables and partial indexes of a database and those of the models."""
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, Base.metadata)  # it knows nothing of conditions
        actual = index_conditions(connection)
        expected = expected_conditions(connection)
    for name, condition in expected.items():
        if actual.get(name) != condition:
            differences.append((name, actual.get(name), condition))
    return differences


def index_conditions(connection, schema=None):
    """The condition of each index by its name, "None" if it holds all rows."""
    inspector = inspect(connection)
    key = f"{connection.dialect.name}_where"
    conditions = {}
    for table in inspector.get_table_names(schema):
        for index in inspector.get_indexes(table, schema):
            conditions[index["name"]] = str(index["dialect_options"].get(key))
    return conditions


def expected_conditions(connection):
    """The conditions of the indexes of the models, as this kind of database writes them."""
    if connection.dialect.name == "sqlite":
        with create_engine("sqlite://", poolclass=NullPool).connect() as new_database:
            Base.metadata.create_all(new_database)
            return index_conditions(new_database)
    connection.execute(text("CREATE SCHEMA wanted"))
    Base.metadata.create_all(connection.execution_options(schema_translate_map={None: "wanted"}))
    conditions = index_conditions(connection, "wanted")
    connection.rollback()
    return conditions


def test_a_place_that_another_test_has_used_is_empty_and_counts_from_one(postgresql):
    first_tasks = []
    for _ in range(2):
        with postgresql.study() as url:
            store = Store(url)
            with store.write() as session:
                for table in Base.metadata.tables.values():
                    assert session.scalar(select(func.count()).select_from(table)) == 0
                task = Task(kind="write", asked=1, rank=0, domain="physical", topic={})
                session.add(task)
                session.flush()
                first_tasks.append((url, task.id))
            store.close()
        until(lambda url=url: not postgresql.is_in_use(url))  # a server notices a little later that nobody is there
    assert first_tasks[0] == first_tasks[1]
    _, task_id = first_tasks[0]
    assert task_id == 1


def test_a_place_where_somebody_is_still_connected_is_nobody_elses(postgresql):
    with postgresql.study() as url:
        store = Store(url)
        with store.read() as session:
            session.scalar(select(1))
    with postgresql.study() as other_url:
        assert other_url != url
    store.close()


def test_a_new_database_has_the_tables_of_the_models_and_the_last_revision(database):
    store = Store(database)
    assert schema_differences(store) == []
    with store.read() as session:
        last = ScriptDirectory.from_config(_build_config()).get_current_head()
        assert session.scalar(text("SELECT version_num FROM alembic_version")) == last
    store.close()


def test_an_index_with_another_condition_or_none_is_a_difference(database):
    store = Store(database)
    with store.write() as session:
        for name, condition in (("ix_tasks_free", "WHERE free > 1"), ("uq_leases_one_live", "")):
            session.execute(text(f"DROP INDEX {name}"))
            columns = "tasks (kind, rank)" if name == "ix_tasks_free" else "leases (worker_id, kind)"
            unique = "UNIQUE" if name.startswith("uq") else ""
            session.execute(text(f"CREATE {unique} INDEX {name} ON {columns} {condition}"))
    assert {name for name, *_ in schema_differences(store)} == {"ix_tasks_free", "uq_leases_one_live"}
    store.close()


@pytest.mark.parametrize("name", ["study-0001", "study-0002"])
def test_the_migrations_give_a_real_study_of_an_earlier_version_the_tables_of_the_models(name, tmp_path):
    """Only a database of an earlier version has its first indexes: a new one is made from the models."""
    with tarfile.open(EARLIER_STUDIES / f"{name}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    store = Store(f"sqlite:///{tmp_path / name / 'study.db'}")
    assert schema_differences(store) == []
    store.close()


def test_a_database_can_be_taken_back_to_nothing(database):
    store = Store(database)
    script = ScriptDirectory.from_config(_build_config())
    with store.write() as session:
        context = MigrationContext.configure(session.connection())
        with Operations.context(context):
            for revision in script.walk_revisions():
                revision.module.downgrade()
        assert context.connection is not None
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection)
        missing_kinds = {change[0] for change in compare_metadata(context, Base.metadata)}
    assert {"add_table"} <= missing_kinds <= {"add_table", "add_index"}
    store.close()


def _build_config():
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def test_opening_a_study_again_changes_nothing(make_study, database):
    study = make_study()
    again = Study.open(study.folder, database)
    with again.store.read() as session:
        assert session.scalar(select(func.count()).select_from(Task)) == 4
    again.close()


def test_a_failed_transaction_leaves_nothing(study):
    def delete_and_fail():
        with study.store.write() as session:
            session.execute(text("DELETE FROM tasks"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        delete_and_fail()
    with study.store.read() as session:
        assert session.scalar(select(func.count()).select_from(Task)) == 4


def test_sqlite_writes_ahead_and_what_was_acknowledged_to_the_disk(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'x.db'}")
    settings = []
    for transaction in (store.write(), store.write(quick=True), store.write()):
        with transaction as session:
            journal_mode = session.execute(text("PRAGMA journal_mode")).scalar()
            synchronous = session.execute(text("PRAGMA synchronous")).scalar()
            settings.append((journal_mode, synchronous))
    full = 2
    normal = 1
    assert settings == [("wal", full), ("wal", normal), ("wal", full)]
    store.close()


def test_a_database_of_the_first_version_is_brought_up_to_date_with_what_is_in_it(database):
    store = Store(database)
    *later, _first = ScriptDirectory.from_config(_build_config()).walk_revisions()
    with store.write() as session:
        with Operations.context(MigrationContext.configure(session.connection())):
            for revision in later:
                revision.module.downgrade()
        session.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        row = "('w-old', 'links', 'active', '2026-03-01 12:00:00')"
        session.execute(text(f"INSERT INTO workers (code, platform, state, joined_at) VALUES {row}"))
        line = "(1, 'bonus', 40, '', '2026-03-01 12:00:00', '2026-03-02 12:00:00', 'old-1')"
        columns = "worker_id, reason, cents, note, at, settled_at, settlement"
        session.execute(text(f"INSERT INTO payments ({columns}) VALUES {line}"))
    assert schema_differences(store)
    store.close()
    again = Store(database)
    assert schema_differences(again) == [], "the migrations make the tables of the models"
    with again.read() as session:
        assert session.execute(select(Worker.code, Worker.session_version)).all() == [("w-old", 1)]
        payment = session.scalars(select(Payment)).one()
    assert (payment.cents, payment.settlement) == (40, "old-1")
    assert payment.settled_at.day == 2
    assert payment.job_id is None
    again.close()


def test_what_a_study_knew_of_visits_becomes_rows_of_their_table(database):
    """Ann was paid for her first visit and came again, Ben's only visit is approved, and Eve was in doubt."""
    old_store = Store(database)
    script = ScriptDirectory.from_config(_build_config())
    with old_store.write() as session:
        later = [revision for revision in script.walk_revisions() if revision.revision > "0009"]
        with Operations.context(MigrationContext.configure(session.connection())):
            for revision in later:
                revision.module.downgrade()
        session.execute(text("UPDATE alembic_version SET version_num = '0009'"))
        for statement in ROWS_BEFORE_VISITS.split(";"):
            session.execute(text(statement))
    old_store.close()
    store = Store(database)
    assert schema_differences(store) == []
    with store.read() as session:
        visits = session.scalars(select(PlatformVisit).order_by(PlatformVisit.worker_id, PlatformVisit.id)).all()
        visit_rows = [(visit.worker_id, visit.session_id, visit.state, visit.reward_cents) for visit in visits]
        ann, again, ben, eve = visits
        jobs = dict(session.execute(select(PayoutJob.id, PayoutJob.visit_id)).all())
        lines = dict(session.execute(select(Payment.id, Payment.visit_id)).all())
    store.close()
    assert visit_rows == [
        (1, "s1", "approved", 50),
        (1, "s2", "open", None),
        (2, "s3", "approved", 50),
        (3, "s4", "open", None),
    ]
    assert jobs == {1: None, 2: ben.id, 3: eve.id}
    assert lines == {1: ann.id, 2: ben.id}
    assert again.arrived_at > ann.arrived_at


def test_a_steady_look_sees_one_state_whatever_happens_meanwhile(study):
    count = select(func.count()).select_from(Task)
    with study.store.read(steady=True) as session:
        before = session.scalar(count)
        with study.store.write() as other_session:
            other_session.execute(text("DELETE FROM tasks"))
        assert session.scalar(count) == before
    with study.store.read() as session:
        assert session.scalar(count) == 0


def test_a_server_that_closed_its_connections_is_connected_to_anew(postgresql):
    store = Store(postgresql())
    with store.read() as session:
        number = session.scalar(text("SELECT pg_backend_pid()"))
    other = Store(postgresql())
    with other.read() as session:
        session.execute(text("SELECT pg_terminate_backend(:number, 5000)"), {"number": number})
    with store.read() as session:
        assert session.scalar(text("SELECT pg_backend_pid()")) != number
    store.close()
    other.close()


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_connection_that_breaks_under_a_prepared_statement_is_replaced(postgresql, kind):
    store = Store(postgresql())
    other = Store(postgresql())
    backend_id = Prepared(select(func.pg_backend_pid()))

    def break_connection():
        with getattr(store, kind)() as session:
            broken_ids.append(backend_id.scalar(session))
            with other.read() as killer:
                killer.execute(text("SELECT pg_terminate_backend(:number, 5000)"), {"number": broken_ids[0]})
            backend_id.scalar(session)

    broken_ids = []
    with pytest.raises(Exception, match=r"terminating connection|connection is lost"):
        break_connection()
    for again in (store.read(), store.write()):
        with again as session:
            assert backend_id.scalar(session) not in (None, *broken_ids)
    store.close()
    other.close()


def test_a_prepared_statement_says_what_sqlalchemy_says_of_every_type(study):
    worker = workers.join(study, "links")
    row = select(WORKERS).where(WORKERS.c.id == bindparam("me"))
    with study.store.write() as session:
        session.get_one(Worker, worker.id).qualified_for = {"write": True}
        expected_row = session.execute(row, {"me": worker.id}).one()
        assert tuple(Prepared(row).one(session, me=worker.id)) == tuple(expected_row)
        assert Prepared(row).one(session, me=worker.id).qualified_for == {"write": True}, "what was changed comes first"
        assert Prepared(row).one(session, me=-1) is None
        with pytest.raises(Exception, match=r"\bme\b"):  # each driver has its own word for it
            Prepared(row).one(session)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("nonsense", "a database URL"),
        ("mysql://me@there/x", "sqlite or postgresql expected, found mysql"),
        ("sqlite:////nowhere/at/all/x.db", "cannot be opened"),
        ("postgresql://me:secret@127.0.0.1:1/x?connect_timeout=2", "cannot be opened"),
    ],
)
def test_a_database_that_cannot_be_opened_is_one_line_without_its_password(url, complaint):
    with pytest.raises(BadInput, match=complaint) as caught:
        Store(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_password_is_not_written_into_the_config():
    assert without_password("postgresql://me:secret@there/x") == "postgresql://me@there/x"
