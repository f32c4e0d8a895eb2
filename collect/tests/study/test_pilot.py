"""Work done in a pilot is marked and can be removed, without any money lost on the way."""

import json

import pytest
from sqlalchemy import func, select

from winokit_collect.study import (
    export,
    invites,
    ledger,
    new_tasks,
    own_work,
    pilot,
    progress,
    quality,
    schema,
    submissions,
    tasks,
    workers,
)
from winokit_collect.study.refusals import LinkExpired, NotNow
from winokit_collect.study.schema import Base, Payment, ProblemRow, Task, Worker
from winokit_collect.study.study import FILL_IN

KEPT_TABLES = ("requesters", "audit_log", "state", "alembic_version", "login_failures", "consent_texts")


def count_rows(study):
    """Number of rows of each table that the removal of a pilot may change, by name."""
    tables = {name: table for name, table in Base.metadata.tables.items() if name not in KEPT_TABLES}
    with study.store.read() as session:
        return {name: session.scalar(select(func.count()).select_from(table)) for name, table in tables.items()}


def task_counters(study):
    """Number, asked, accepted and held votes of each task, in order."""
    with study.store.read() as session:
        return session.execute(select(Task.id, Task.asked, Task.accepted, Task.held).order_by(Task.id)).all()


def read_json_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def piloted(study, crew):
    """A study with a pair of twins and some judgements from a pilot, its counts before the pilot, and the writer."""
    counts_before = (count_rows(study), task_counters(study))
    study.pilot = True
    writer, *judges = (crew.newcomer(study) for _ in range(4))
    crew.write(study, writer)
    for judge in judges[:2]:
        crew.vote(study, judge)
    task = tasks.lease(study, judges[2].id, schema.VALIDATE)
    own_work.remark(study, judges[2].id, task.token, {"reason": "unclear"})
    tasks.lease(study, writer.id, schema.WRITE)
    return study, counts_before, writer


def test_it_is_as_if_there_had_been_no_pilot(piloted):
    study, counts_before, _ = piloted
    report = pilot.remove_pilot_data(study, "requester:ada", write_off=True)
    assert (report.workers, report.submissions, report.problems) == (4, 3, 2)
    assert report.written_off_cents == 46
    assert (count_rows(study), task_counters(study)) == counts_before
    assert not progress.snapshot(study).to_json()["workers"]
    assert pilot.remove_pilot_data(study).workers == 0


def test_what_is_owed_is_not_removed_unless_it_is_written_off(piloted):
    study, _, _ = piloted
    counts_before = count_rows(study)
    with pytest.raises(NotNow, match=r"0\.46 USD are still owed"):
        pilot.remove_pilot_data(study)
    assert count_rows(study) == counts_before


def test_what_was_paid_stays_in_the_ledger_under_the_code(piloted):
    from winokit_collect.platforms import payout

    study, _, writer = piloted
    payout.plan(study, "requester:ada")
    assert pilot.remove_pilot_data(study).written_off_cents == 0
    (payment,) = (entry for entry in ledger.entries(study) if entry.cents == 40)
    assert payment.worker.code == writer.code
    assert payment.submission_id is None
    assert workers.get(study, writer.code).state == schema.WITHDRAWN
    assert sum(entry.cents for entry in ledger.entries(study)) == 46


def test_a_payout_under_way_is_waited_for(piloted):
    study, _, writer = piloted
    with study.store.write() as session:
        job = schema.PayoutJob(
            worker_id=writer.id,
            state=schema.UNCERTAIN,
            cents=40,
            planned_by="a",
            why="",
            planned_at=study.now(),
            due_at=study.now(),
        )
        session.add(job)
    with pytest.raises(NotNow, match="in progress"):
        pilot.remove_pilot_data(study, write_off=True)


def test_others_keep_what_they_did_and_their_pay(study, crew):
    writer = crew.newcomer(study)
    judge = crew.newcomer(study)
    crew.write(study, writer)
    study.pilot = True
    for _ in range(2):
        crew.vote(study, crew.newcomer(study))
    study.pilot = False
    crew.vote(study, judge)
    accepted_votes = select(func.sum(Task.accepted)).where(Task.kind == schema.VALIDATE)
    with study.store.read() as session:
        assert session.scalar(accepted_votes) == 3
    pilot.remove_pilot_data(study, write_off=True)
    with study.store.read() as session:
        assert session.scalar(accepted_votes) == 1
        assert session.scalar(select(func.count()).select_from(ProblemRow)) == 2
        assert set(session.scalars(select(ProblemRow.valid))) == {None}
        assert session.scalar(select(func.sum(Payment.cents))) == 43
        assert session.scalar(select(func.count()).select_from(Worker)) == 2


def test_remarks_and_gold_of_a_pilot_go_with_it_and_what_others_wrote_stays(make_study, crew):
    study = make_study(tasks={"votes": 2}, quality={"gold_share": 1e-9})
    crew.write(study, crew.newcomer(study))
    study.pilot = True
    for judge in (crew.newcomer(study), crew.newcomer(study)):
        for _ in range(2):
            task = tasks.lease(study, judge.id, schema.VALIDATE)
            own_work.remark(study, judge.id, task.token, {"comment": "odd"})
            submissions.submit(study, judge.id, task.token, crew.ballot(task))
    own_gold = select(func.count()).where(Task.gold, Task.rank < 0)
    with study.store.read() as session:
        assert session.scalar(own_gold) == 2
    pilot.remove_pilot_data(study, write_off=True)
    with study.store.read() as session:
        assert session.scalar(own_gold) == 0, "nobody has settled it any more"
        assert session.scalar(select(func.count()).select_from(schema.Remark)) == 0
    counts = count_rows(study)
    assert counts["problems"] - counts["votes"] >= 2


def test_the_texts_of_a_pilot_can_be_written_again(piloted, crew):
    study, _, _ = piloted
    pilot.remove_pilot_data(study, write_off=True)
    study.pilot = False
    crew.write(study, crew.newcomer(study))
    assert count_rows(study)["problems"] == 2


def test_an_export_says_what_is_from_a_pilot(piloted, tmp_path):
    study, _, _ = piloted
    study.pilot = False
    export.export(study, tmp_path / "out")
    _card, *problems = read_json_lines(tmp_path / "out" / "others.jsonl")
    assert [problem["provenance"]["pilot"] for problem in problems] == [True, True]
    votes = read_json_lines(tmp_path / "out" / "votes.jsonl")
    assert {vote["pilot"] for vote in votes} == {True}
    people = read_json_lines(tmp_path / "out" / "workers.jsonl")
    assert {person["pilot"] for person in people} == {True}


def test_a_consent_page_with_gaps_keeps_the_doors_shut_but_in_a_pilot(study):
    token = invites.create(study, uses=5).path.rpartition("/")[2]
    study.consent = f"# Consent **[{FILL_IN}: who]**"
    with pytest.raises(NotNow):
        invites.create(study)
    with pytest.raises(NotNow):
        invites.look(study, token)
    with pytest.raises(NotNow):
        invites.claim(study, token)
    study.pilot = True
    worker = invites.claim(study, token)
    assert worker.pilot
    personal_token = invites.personal_path(study, worker).rpartition("/")[2]
    assert invites.returning(study, personal_token).code == worker.code
    study.pilot = False  # who came in a pilot has read what was not finished
    with pytest.raises(LinkExpired):
        invites.returning(study, personal_token)


def test_a_new_pilot_begins_with_all_its_tasks(piloted):
    study, _, _ = piloted
    pilot.remove_pilot_data(study, write_off=True)
    new_tasks.prepare(study)
    counters = {tuple(row[1:]) for row in task_counters(study)}
    assert counters == {(1, 0, 0)}


def test_somebody_new_is_not_shown_with_what_a_removed_worker_did(piloted, crew, monkeypatch):
    study, _, writer = piloted
    monkeypatch.setattr(quality, "LARGE", 1)
    assert writer.code in [row.code for row in quality.workers_page(study, 1).rows]
    pilot.remove_pilot_data(study, write_off=True)
    codes = [crew.newcomer(study).code for _ in range(4)]  # SQLite gives them the numbers of those who are gone
    rows = quality.workers_page(study, 1).rows
    assert [(row.code, row.submissions, row.earned_cents) for row in rows] == [(code, 0, 0) for code in codes]
