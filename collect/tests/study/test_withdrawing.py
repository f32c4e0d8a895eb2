"""Texts and votes of a worker who withdraws are gone from the database and every file, but their pay stays."""

import json

import pytest
from sqlalchemy import select

import winokit
from winokit_collect.platforms import payout
from winokit_collect.platforms.base import arrive
from winokit_collect.platforms.prolific import Prolific
from winokit_collect.study import ledger, listings, moderation, own_work, progress, quality, submissions, tasks, workers
from winokit_collect.study.export import export
from winokit_collect.study.moderation import withdraw
from winokit_collect.study.refusals import NotFound, NotNow
from winokit_collect.study.schema import (
    Draft,
    Event,
    Identity,
    Lease,
    ProblemRow,
    QuizAttempt,
    Remark,
    Submission,
    Task,
    Vote,
    Worker,
)

ARRIVAL = {"PROLIFIC_PID": "5f8a1b2c3d4e5f6a7b8c9d0e", "STUDY_ID": "60aa27810f15", "SESSION_ID": "60c8d1ddf5b2"}


@pytest.fixture
def played(study, crew):
    """A study, its two authors with a pair each, and three judges who have judged all four problems."""
    authors = [crew.newcomer(study) for _ in range(2)]
    for number, author in enumerate(authors):
        crew.write(study, author, 7 * number)
    judges = [crew.newcomer(study) for _ in range(3)]
    for judge in judges:
        for _ in range(4):
            crew.vote(study, judge)
    return study, authors, judges


def export_files(study, folder):
    """Export the study, and return the text of each file by name."""
    export(study, folder)
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def task_counters(study):
    """Kind, asked, accepted and held votes of each task."""
    with study.store.read() as session:
        return [(task.kind, task.asked, task.accepted, task.held) for task in session.scalars(select(Task))]


def test_a_judges_votes_are_taken_out_and_asked_for_again(played, tmp_path, crew):
    study, _, judges = played
    assert progress.snapshot(study).problems["valid"] == 4
    report = withdraw(study, judges[0].code, "requester:ann")
    assert (report.judgements, report.texts) == (4, 0)
    assert report.is_forgotten
    files = export_files(study, tmp_path / "out")
    assert judges[0].code not in files["votes.jsonl"] + files["workers.jsonl"] + files["others.jsonl"]
    assert "spaniel" not in files["problems.jsonl"]  # no problem has three votes now
    validate_counters = {counters for counters in task_counters(study) if counters[0] == "validate"}
    assert validate_counters == {("validate", 3, 2, 0)}
    somebody = crew.newcomer(study)
    for _ in range(4):
        crew.vote(study, somebody)
    assert progress.snapshot(study).problems["valid"] == 4


def test_an_authors_sentences_are_gone_with_what_was_said_about_them(played, tmp_path):
    study, authors, _ = played
    withdraw(study, authors[0].code, "requester:ann")
    files = export_files(study, tmp_path / "out")
    everything = "".join(text for name, text in files.items() if name != "ledger.csv")
    assert "squeeze under the garden gate" not in everything
    assert authors[0].code not in everything
    problems = winokit.load(tmp_path / "out" / "problems.jsonl")
    assert len(problems) == 2
    assert len(problems.groups) == 1
    votes = [json.loads(line) for line in files["votes.jsonl"].splitlines()]
    assert {vote["problem"] for vote in votes} == {problem.id for problem in problems}
    with study.store.read() as session:
        stored_rows = session.execute(select(ProblemRow.before, ProblemRow.candidates)).all()
        fields = session.scalars(select(Submission.fields).where(Submission.worker_id == authors[0].id)).all()
    stored_text = json.dumps([list(row) for row in stored_rows])
    assert "terrier can squeeze" not in stored_text
    assert fields == [{}]


def test_nobody_is_asked_about_a_sentence_that_is_gone(study, crew):
    author = crew.newcomer(study)
    judge = crew.newcomer(study)
    crew.write(study, author)
    open_task = tasks.lease(study, judge.id, "validate")
    withdraw(study, author.code, "requester:ann")
    with pytest.raises(NotNow):
        tasks.lease(study, crew.newcomer(study).id, "validate")
    receipt = submissions.submit(study, judge.id, open_task.token, crew.ballot(open_task))
    assert (receipt.counted, receipt.cents) == (False, 3)  # kept and paid, as the study pays for late work
    assert {held for _, _, _, held in task_counters(study)} == {0}


def test_pay_stays_as_it_was(played, tmp_path):
    study, authors, judges = played
    balances_before = ledger.balances(study)
    for worker in (authors[0], judges[0]):
        withdraw(study, worker.code, "requester:ann")
    assert ledger.balances(study) == balances_before
    assert withdraw(study, judges[1].code, "requester:ann").open_cents == 12
    assert judges[0].code in export_files(study, tmp_path / "out")["ledger.csv"]


def test_drafts_signals_and_answers_are_deleted(make_study, crew):
    study = make_study(quality={"quiz_pass_mark": 0.5})
    worker = crew.newcomer(study)
    workers.take_quiz(study, worker.id, [question.answer for question in study.quiz])
    task = tasks.lease(study, worker.id, "write")
    tasks.save_draft(study, worker.id, task.token, {"first": "Something about somebody"})
    tasks.note_events(study, worker.id, task.token, [{"kind": "paste", "amount": 3}])
    withdraw(study, worker.code, "requester:ann")
    with study.store.read() as session:
        for table in (Draft, Event, QuizAttempt, Vote):
            assert session.scalars(select(table)).all() == []
        assert session.scalar(select(Lease.state)) == "released"
        row = session.scalars(select(Worker)).one()
    assert row.native_speaker is None
    assert row.has_seen_wsc is None
    assert row.state == "withdrawn"


def test_whoever_has_withdrawn_stays_out(study, crew):
    worker = crew.newcomer(study)
    withdraw(study, worker.code, "requester:ann")
    assert workers.step_of(study, workers.get(study, worker.code)) == "withdrawn"
    with pytest.raises(NotNow, match="has withdrawn"):
        moderation.unblock(study, worker.code, "requester:ann")
    with pytest.raises(NotNow, match="has withdrawn"):
        moderation.block(study, worker.code, "again", "requester:ann")
    with pytest.raises(NotNow, match="has withdrawn"):
        withdraw(study, worker.code, "requester:ann")
    with pytest.raises(NotFound):
        withdraw(study, "w-nobody", "requester:ann")


def test_who_they_are_is_forgotten_once_they_are_paid(make_study, crew, monkeypatch):
    platform = {"name": "prolific", "study_id": ARRIVAL["STUDY_ID"], "completion_code": "CODE"}
    study = make_study(platform=platform)
    for name in ("verify", "approve"):
        monkeypatch.setattr(Prolific, name, lambda self, visitor: None)
    for name in ("look", "reward"):
        monkeypatch.setattr(Prolific, name, lambda self, subject: None)
    monkeypatch.setattr(Prolific, "tally", lambda self, visitor, cents: 0)
    monkeypatch.setattr(Prolific, "reserve", lambda self, visitor, cents, note, reference: reference)
    monkeypatch.setattr(Prolific, "bonus", lambda self, visitor, cents, note, reference: "receipt")
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "token")
    worker = arrive(study, ARRIVAL)
    workers.consent(study, worker.id)
    workers.screen(study, worker.id, native_speaker=True, has_seen_wsc=False)
    crew.write(study, worker)
    report = withdraw(study, worker.code, "requester:ann")
    assert report.open_cents == 40
    assert not report.is_forgotten
    assert payout.plan(study, "requester:ann") == 1
    payout.run(study)
    assert ledger.entries(study)[0].settlement == "receipt"
    with study.store.read() as session:
        assert session.scalars(select(Identity)).all() == []


def test_what_others_remarked_about_a_sentence_goes_with_it(study, crew):
    author = crew.newcomer(study)
    judge = crew.newcomer(study)
    crew.write(study, author)
    task = tasks.lease(study, judge.id, "validate")
    own_work.remark(study, judge.id, task.token, {"comment": f"{task.before} is odd"})
    withdraw(study, author.code, "requester:ann")
    with study.store.read() as session:
        assert session.scalars(select(Remark)).all() == []


def test_what_is_gone_can_be_looked_at_by_requesters(played):
    study, authors, judges = played
    for worker in (authors[0], judges[0]):
        withdraw(study, worker.code, "requester:ann")
    problem, _ = listings.problem(study, 1)
    assert problem.withdrawn
    assert listings.problems(study, status="withdrawn").total == 2
    submission = listings.submissions(study, worker=judges[0].code).rows[0]
    assert submission.why_not == "withdrawn by the worker"
    assert {worker.state for worker in quality.workers(study)} == {"active", "withdrawn"}
