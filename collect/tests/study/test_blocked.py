"""Votes of blocked workers can be discarded, and an export names the verdicts that depend on them."""

import json

import pytest
from sqlalchemy import select

import winokit
from winokit_collect import verbs
from winokit_collect.study import export, moderation
from winokit_collect.study.config import read_config
from winokit_collect.study.refusals import NotNow
from winokit_collect.study.schema import Lease, ProblemRow, Submission, Task, Vote


@pytest.fixture
def bot(study, crew):
    """A worker whose votes alone make both twins invalid."""
    crew.write(study, crew.newcomer(study))
    voters = [crew.newcomer(study) for _ in range(3)]
    for voter in voters[:2]:
        crew.vote(study, voter)
        crew.vote(study, voter)
    for _ in range(2):
        crew.vote(study, voters[2], equally_plausible="yes")
    return voters[2]


def read_verdicts(study):
    with study.store.read() as session:
        return session.scalars(select(ProblemRow.valid).order_by(ProblemRow.id)).all()


def task_counters(study):
    with study.store.read() as session:
        return session.execute(select(Task.accepted, Task.free).where(Task.kind == "validate")).all()


def test_votes_of_a_blocked_worker_can_be_discarded_and_are_asked_for_again(study, crew, bot):
    assert read_verdicts(study) == [False, False]
    with pytest.raises(NotNow, match="is not blocked"):
        moderation.discard_votes(study, bot.code, "requester:ann")
    moderation.block(study, bot.code, "too hasty", "requester:ann")
    assert moderation.blocked_votes(study) == {bot.code: 2}
    assert moderation.discard_votes(study, bot.code, "requester:ann") == 2
    assert moderation.blocked_votes(study) == {}
    assert read_verdicts(study) == [None, None]
    assert task_counters(study) == [(2, 1), (2, 1)]
    another = crew.newcomer(study)
    crew.vote(study, another)
    crew.vote(study, another)
    assert read_verdicts(study) == [True, True]


@pytest.mark.parametrize(("discards", "vote_count"), [(True, 0), (False, 2)])
def test_a_study_that_blocks_by_itself_discards_if_it_is_set(make_study, crew, discards, vote_count):
    study = make_study(quality={"discard_blocked": discards, "gold_share": 0.5, "gold_least_seen": 1})
    crew.write(study, crew.newcomer(study))
    worker = crew.newcomer(study)
    with study.store.write() as session:
        _add_votes(study, session, worker)
        moderation.check_gold(study, session, worker.id)
    assert sum(moderation.blocked_votes(study).values()) == vote_count
    with study.store.read() as session:
        counted = session.scalars(select(Vote.counted).where(~Vote.gold)).all()
    assert counted == [not discards] * 2


def _add_votes(study, session, worker):
    """Add two votes of a worker that count, and a wrong one on a gold question."""
    first_tasks = select(Task).where(Task.kind == "validate").order_by(Task.gold, Task.id).limit(3)
    for number, task in enumerate(session.scalars(first_tasks).all()):
        common = {"task_id": task.id, "worker_id": worker.id, "kind": "validate"}
        now = study.now()
        lease = Lease(token=f"t{number}", state="submitted", leased_at=now, expires_at=now, **common)
        session.add(lease)
        session.flush()
        submission = Submission(
            lease_id=lease.id, fields={}, counted=True, seconds=1.0, submitted_at=now, history=[], **common
        )
        session.add(submission)
        session.flush()
        if not task.gold:
            task.accepted += 1
        vote = Vote(
            submission_id=submission.id,
            problem_id=task.problem_id,
            at=now,
            choice=0,
            counted=True,
            gold=task.gold,
            is_right=False if task.gold else None,
            **common,
        )
        session.add(vote)
    session.flush()


def test_the_export_says_what_hung_on_whom(study, crew, bot, tmp_path):
    moderation.block(study, bot.code, "too hasty", "requester:ann")
    report = export.export(study, tmp_path / "out")
    problems = winokit.load(tmp_path / "out" / "others.jsonl")
    assert [problem.provenance["hangs_on"] for problem in problems] == [[bot.code]] * 2
    assert "2 verdicts hang on the vote of a blocked worker; discard their votes to ask others" in report.notes
    votes = [json.loads(line) for line in (tmp_path / "out" / "votes.jsonl").read_text().splitlines()]
    blocked_votes = [vote for vote in votes if vote.get("blocked")]
    assert {vote["worker"] for vote in blocked_votes} == {bot.code}


def test_new_studies_discard_and_running_ones_do_not(tmp_path):
    verbs.init(tmp_path / "new")
    path = tmp_path / "new" / "study.toml"
    assert read_config(path).quality.discard_blocked
    lines = [line for line in path.read_text().splitlines() if not line.startswith("discard_blocked")]
    path.write_text("\n".join(lines))
    assert not read_config(path).quality.discard_blocked
