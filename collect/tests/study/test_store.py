"""The database: migrated on opening, the same tables as the models, a plain word when it cannot be opened."""

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


def _moment(day):
    return f"'2026-03-{day:02} 12:00:00+00'"


BEFORE_VISITS = (
    *(
        "INSERT INTO workers (id, code, platform, state, joined_at, session_version, link_version, pilot)"
        f" VALUES ({number}, 'w-{number}', 'prolific', 'active', {_moment(1)}, 1, 1, false)"
        for number in (1, 2, 3)
    ),
    *(
        "INSERT INTO identities (worker_id, platform, external_id, study_id, session_id, approved_session, arrived_at)"
        f" VALUES ({number}, 'prolific', 'p{number}', 'st', '{session}', {approved}, {_moment(day)})"
        for number, session, approved, day in ((1, "s2", "'s1'", 5), (2, "s3", "'s3'", 1), (3, "s4", "NULL", 1))
    ),
    *(
        "INSERT INTO payout_jobs (id, worker_id, state, cents, planned_at, planned_by, due_at, sent_at, why)"
        f" VALUES ({number}, {number}, '{state}', 70, {_moment(3)}, 'requester:ann', {_moment(3)}, {_moment(3)}, '')"
        for number, state in ((1, "confirmed"), (2, "confirmed"), (3, "uncertain"))
    ),
    *(
        "INSERT INTO payments (id, worker_id, reason, cents, note, at)"
        f" VALUES ({number}, {number}, 'visit', -50, '', {_moment(3)})"
        for number in (1, 2)
    ),
)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The URL of a database without tables."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")()
    return f"sqlite:///{tmp_path / 'study.db'}"


def differences(store):
    """Where a database has other tables than the models, or other conditions of partial indexes."""
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        found = compare_metadata(context, Base.metadata)  # it knows nothing of conditions
        own = conditions(connection)
        wanted = wanted_conditions(connection)
        return found + [(name, own.get(name), where) for name, where in wanted.items() if own.get(name) != where]


def conditions(connection, schema=None):
    """The condition of each index, by the name of the index; "None" for one of all rows."""
    there = inspect(connection)
    indexes = [index for table in there.get_table_names(schema) for index in there.get_indexes(table, schema)]
    key = f"{connection.dialect.name}_where"
    return {index["name"]: str(index["dialect_options"].get(key)) for index in indexes}


def wanted_conditions(connection):
    """As the models have them, in the database's own words for them."""
    if connection.dialect.name == "sqlite":
        with create_engine("sqlite://", poolclass=NullPool).connect() as beside:
            Base.metadata.create_all(beside)
            return conditions(beside)
    connection.execute(text("CREATE SCHEMA wanted"))
    Base.metadata.create_all(connection.execution_options(schema_translate_map={None: "wanted"}))
    found = conditions(connection, "wanted")
    connection.rollback()
    return found


def test_a_place_that_another_test_has_used_is_empty_and_counts_from_one(postgresql):
    names = []
    for _ in range(2):
        with postgresql.study() as url:
            store = Store(url)
            with store.write() as session:
                for table in Base.metadata.tables.values():
                    assert session.scalar(select(func.count()).select_from(table)) == 0
                task = Task(kind="write", asked=1, rank=0, domain="physical", topic={})
                session.add(task)
                session.flush()
                names.append((url, task.id))
            store.close()
        until(lambda url=url: not postgresql.is_in_use(url))  # a server notices a little later that nobody is there
    assert names[0] == names[1]
    assert names[0][1] == 1


def test_a_place_where_somebody_is_still_connected_is_nobody_elses(postgresql):
    with postgresql.study() as url:
        store = Store(url)
        with store.read() as session:
            session.scalar(select(1))
    with postgresql.study() as other:
        assert other != url
    store.close()


def test_a_new_database_has_the_tables_of_the_models_and_the_last_revision(database):
    store = Store(database)
    assert differences(store) == []
    with store.read() as session:
        last = ScriptDirectory.from_config(_config()).get_current_head()
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
    assert {name for name, *_ in differences(store)} == {"ix_tasks_free", "uq_leases_one_live"}
    store.close()


@pytest.mark.parametrize("name", ["study-0001", "study-0002"])
def test_the_migrations_give_a_real_study_of_an_earlier_version_the_tables_of_the_models(name, tmp_path):
    """A new database is made from the models: only an old one has the first indexes as they were made then."""
    with tarfile.open(Path(__file__).parents[3] / "tests" / "earlier" / "files" / f"{name}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    store = Store(f"sqlite:///{tmp_path / name / 'study.db'}")
    assert differences(store) == []
    store.close()


def test_a_database_can_be_taken_back_to_nothing(database):
    store = Store(database)
    script = ScriptDirectory.from_config(_config())
    with store.write() as session:
        context = MigrationContext.configure(session.connection())
        with Operations.context(context):
            for revision in script.walk_revisions():
                revision.module.downgrade()
        assert context.connection is not None
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection)
        made = {change[0] for change in compare_metadata(context, Base.metadata)}
    assert {"add_table"} <= made <= {"add_table", "add_index"}
    store.close()


def _config():
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
    def spoil():
        with study.store.write() as session:
            session.execute(text("DELETE FROM tasks"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        spoil()
    with study.store.read() as session:
        assert session.scalar(select(func.count()).select_from(Task)) == 4


def test_sqlite_writes_ahead_and_what_was_acknowledged_to_the_disk(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'x.db'}")
    told = []
    for opened in (store.write(), store.write(quick=True), store.write()):
        with opened as session:
            told.append([session.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")])
    full = 2
    normal = 1
    assert told == [["wal", full], ["wal", normal], ["wal", full]]
    store.close()


def test_a_database_of_the_first_version_is_brought_up_to_date_with_what_is_in_it(database):
    store = Store(database)
    later = list(ScriptDirectory.from_config(_config()).walk_revisions())[:-1]
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
    assert differences(store)
    store.close()
    again = Store(database)
    assert differences(again) == [], "the migrations make the tables of the models"
    with again.read() as session:
        assert session.execute(select(Worker.code, Worker.session_version)).all() == [("w-old", 1)]
        paid = session.scalars(select(Payment)).one()
        assert (paid.cents, paid.settlement, paid.settled_at.day, paid.job_id) == (40, "old-1", 2, None)
    again.close()


def test_what_a_study_knew_of_visits_becomes_rows_of_their_table(database):
    """Ann was paid for her first visit and came again; Ben's only visit is approved; Eve was in doubt."""
    taken_back = Store(database)
    with taken_back.write() as session:
        later = [each for each in ScriptDirectory.from_config(_config()).walk_revisions() if each.revision > "0009"]
        with Operations.context(MigrationContext.configure(session.connection())):
            for revision in later:
                revision.module.downgrade()
        session.execute(text("UPDATE alembic_version SET version_num = '0009'"))
        for statement in BEFORE_VISITS:
            session.execute(text(statement))
    taken_back.close()
    store = Store(database)
    assert differences(store) == []
    with store.read() as session:
        visits = session.scalars(select(PlatformVisit).order_by(PlatformVisit.worker_id, PlatformVisit.id)).all()
        known = [(each.worker_id, each.session_id, each.state, each.reward_cents) for each in visits]
        ann, again, ben, eve = visits
        jobs = dict(session.execute(select(PayoutJob.id, PayoutJob.visit_id)).all())
        lines = dict(session.execute(select(Payment.id, Payment.visit_id)).all())
    store.close()
    assert known == [
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
        with study.store.write() as other:
            other.execute(text("DELETE FROM tasks"))
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
    number = Prepared(select(func.pg_backend_pid()))

    def break_it():
        with getattr(store, kind)() as session:
            broken.append(number.scalar(session))
            with other.read() as killer:
                killer.execute(text("SELECT pg_terminate_backend(:number, 5000)"), {"number": broken[0]})
            number.scalar(session)

    broken = []
    with pytest.raises(Exception, match=r"terminating connection|connection is lost"):
        break_it()
    for again in (store.read(), store.write()):
        with again as session:
            assert number.scalar(session) not in (None, *broken)
    store.close()
    other.close()


def test_a_prepared_statement_says_what_sqlalchemy_says_of_every_type(study):
    worker = workers.join(study, "links")
    row = select(WORKERS).where(WORKERS.c.id == bindparam("me"))
    with study.store.write() as session:
        session.get_one(Worker, worker.id).qualified_for = {"write": True}
        assert tuple(Prepared(row).one(session, me=worker.id)) == tuple(session.execute(row, {"me": worker.id}).one())
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
