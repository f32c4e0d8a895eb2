"""A pilot: what people do in it is marked, and can be removed; money is never lost on the way."""

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

LEFT = ("requesters", "audit_log", "state", "alembic_version", "login_failures", "consent_texts")


def rows(study):
    """How many rows each table has."""
    with study.store.read() as session:
        counts = {
            name: session.scalar(select(func.count()).select_from(table))
            for name, table in Base.metadata.tables.items()
        }
    return {name: count for name, count in counts.items() if name not in LEFT}


def places(study):
    with study.store.read() as session:
        return session.execute(select(Task.id, Task.asked, Task.accepted, Task.held).order_by(Task.id)).all()


@pytest.fixture
def piloted(study, crew):
    """A study with a pair of twins and some judgements from a pilot, and how it looked before."""
    before = rows(study), places(study)
    study.pilot = True
    writer, *judges = (crew.newcomer(study) for _ in range(4))
    crew.write(study, writer)
    for judge in judges[:2]:
        crew.vote(study, judge)
    task = tasks.lease(study, judges[2].id, schema.VALIDATE)
    own_work.remark(study, judges[2].id, task.token, {"reason": "unclear"})
    tasks.lease(study, writer.id, schema.WRITE)
    return study, before, writer


def test_it_is_as_if_there_had_been_no_pilot(piloted):
    study, before, _ = piloted
    done = pilot.remove_pilot_data(study, "requester:ada", write_off=True)
    assert (done.workers, done.submissions, done.problems) == (4, 3, 2)
    assert done.written_off_cents == 46
    assert (rows(study), places(study)) == before
    assert not progress.snapshot(study).to_json()["workers"]
    assert pilot.remove_pilot_data(study).workers == 0


def test_what_is_owed_is_not_removed_unless_it_is_written_off(piloted):
    study, _, _ = piloted
    there = rows(study)
    with pytest.raises(NotNow, match=r"0\.46 USD are still owed"):
        pilot.remove_pilot_data(study)
    assert rows(study) == there


def test_what_was_paid_stays_in_the_ledger_under_the_code(piloted):
    from winokit_collect.platforms import payout

    study, _, writer = piloted
    payout.plan(study, "requester:ada")
    assert pilot.remove_pilot_data(study).written_off_cents == 0
    paid = [(line.worker.code, line.cents, line.submission_id) for line in ledger.entries(study) if line.cents == 40]
    assert paid == [(writer.code, 40, None)]
    assert workers.get(study, writer.code).state == schema.WITHDRAWN
    assert sum(line.cents for line in ledger.entries(study)) == 46


def test_a_payout_under_way_is_waited_for(piloted):
    study, _, writer = piloted
    with study.store.write() as session:
        about = {"worker_id": writer.id, "state": schema.UNCERTAIN, "cents": 40, "planned_by": "a", "why": ""}
        session.add(schema.PayoutJob(**about, planned_at=study.now(), due_at=study.now()))
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
    with study.store.read() as session:
        before = session.scalars(select(Task.accepted).where(Task.kind == schema.VALIDATE).order_by(Task.id)).all()
    pilot.remove_pilot_data(study, write_off=True)
    with study.store.read() as session:
        left = session.scalars(select(Task.accepted).where(Task.kind == schema.VALIDATE)).all()
        assert (sum(before), sum(left)) == (3, 1)
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
    assert rows(study)["problems"] - rows(study)["votes"] >= 2


def test_the_texts_of_a_pilot_can_be_written_again(piloted, crew):
    study, _, _ = piloted
    pilot.remove_pilot_data(study, write_off=True)
    study.pilot = False
    crew.write(study, crew.newcomer(study))
    assert rows(study)["problems"] == 2


def test_an_export_says_what_is_from_a_pilot(piloted, tmp_path):
    study, _, _ = piloted
    study.pilot = False
    export.export(study, tmp_path / "out")
    told = [json.loads(line) for line in (tmp_path / "out" / "others.jsonl").read_text().splitlines()]
    assert [row["provenance"]["pilot"] for row in told[1:]] == [True, True]
    votes = [json.loads(line) for line in (tmp_path / "out" / "votes.jsonl").read_text().splitlines()]
    assert {vote["pilot"] for vote in votes} == {True}
    people = [json.loads(line) for line in (tmp_path / "out" / "workers.jsonl").read_text().splitlines()]
    assert {person["pilot"] for person in people} == {True}


def test_a_consent_page_with_gaps_keeps_the_doors_shut_but_in_a_pilot(study):
    token = invites.create(study, uses=5).path.rpartition("/")[2]
    study.consent = f"# Consent **[{FILL_IN}: who]**"
    for shut in (
        lambda: invites.create(study),
        lambda: invites.look(study, token),
        lambda: invites.claim(study, token),
    ):
        with pytest.raises(NotNow):
            shut()
    study.pilot = True
    worker = invites.claim(study, token)
    assert worker.pilot
    path = invites.personal_path(study, worker).rpartition("/")[2]
    assert invites.returning(study, path).code == worker.code
    study.pilot = False  # who came in a pilot has read what was not finished
    with pytest.raises(LinkExpired):
        invites.returning(study, path)


def test_a_new_pilot_begins_with_all_its_tasks(piloted):
    study, _, _ = piloted
    pilot.remove_pilot_data(study, write_off=True)
    new_tasks.prepare(study)
    assert {(asked, accepted, held) for _, asked, accepted, held in places(study)} == {(1, 0, 0)}


def test_somebody_new_is_not_shown_with_what_a_removed_worker_did(piloted, crew, monkeypatch):
    study, _, writer = piloted
    monkeypatch.setattr(quality, "LARGE", 1)
    assert writer.code in [row.code for row in quality.workers_page(study, 1).rows]
    pilot.remove_pilot_data(study, write_off=True)
    codes = [crew.newcomer(study).code for _ in range(4)]  # SQLite gives them the numbers of those who are gone
    rows = quality.workers_page(study, 1).rows
    assert [(row.code, row.submissions, row.earned_cents) for row in rows] == [(code, 0, 0) for code in codes]
