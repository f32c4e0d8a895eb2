"""Votes of workers whom the study itself no longer believes: they can be made to decide nothing, and are named."""

import json

import pytest
from sqlalchemy import select

import winokit
from winokit_collect import verbs
from winokit_collect.study import export, moderation
from winokit_collect.study.config import read_config
from winokit_collect.study.refusals import NotNow
from winokit_collect.study.schema import ProblemRow, Task, Vote

WRONG = {"choice": "0"}


@pytest.fixture
def bot(study, crew):
    """Somebody whose wrong vote makes both twins invalid, by themselves."""
    crew.write(study, crew.newcomer(study))
    voters = [crew.newcomer(study) for _ in range(3)]
    for voter in voters[:2]:
        crew.vote(study, voter)
        crew.vote(study, voter)
    for _ in range(2):
        crew.vote(study, voters[2], equally_plausible="yes")
    return voters[2]


def verdicts(study):
    with study.store.read() as session:
        return session.scalars(select(ProblemRow.valid).order_by(ProblemRow.id)).all()


def places(study):
    with study.store.read() as session:
        return session.execute(select(Task.accepted, Task.free).where(Task.kind == "validate")).all()


def test_votes_of_a_blocked_worker_can_be_discarded_and_are_asked_for_again(study, crew, bot):
    assert verdicts(study) == [False, False]
    with pytest.raises(NotNow, match="is not blocked"):
        moderation.discard_votes(study, bot.code, "requester:ann")
    moderation.block(study, bot.code, "too hasty", "requester:ann")
    assert moderation.blocked_votes(study) == {bot.code: 2}
    assert moderation.discard_votes(study, bot.code, "requester:ann") == 2
    assert moderation.blocked_votes(study) == {}
    assert verdicts(study) == [None, None]
    assert places(study) == [(2, 1), (2, 1)]
    another = crew.newcomer(study)
    crew.vote(study, another)
    crew.vote(study, another)
    assert verdicts(study) == [True, True]


@pytest.mark.parametrize(("discards", "left"), [(True, 0), (False, 2)])
def test_a_study_that_blocks_by_itself_discards_if_it_is_set(make_study, crew, discards, left):
    study = make_study(quality={"discard_blocked": discards, "gold_share": 0.5, "gold_least_seen": 1})
    crew.write(study, crew.newcomer(study))
    worker = crew.newcomer(study)
    with study.store.write() as session:
        for vote in _votes_of(study, session, worker):
            session.add(vote)
        session.flush()
        moderation.check_gold(study, session, worker.id)
    assert sum(moderation.blocked_votes(study).values()) == left
    with study.store.read() as session:
        assert session.scalars(select(Vote.counted).where(~Vote.gold)).all() == [left == 2] * 2


def _votes_of(study, session, worker):
    """Two votes that count, and a wrong one on a gold question."""
    from winokit_collect.study.schema import Lease, Submission

    tasks = session.scalars(select(Task).where(Task.kind == "validate").order_by(Task.gold, Task.id).limit(3)).all()
    for number, task in enumerate(tasks):
        about = {"task_id": task.id, "worker_id": worker.id, "kind": "validate"}
        lease = Lease(token=f"t{number}", state="submitted", leased_at=study.now(), expires_at=study.now(), **about)
        session.add(lease)
        session.flush()
        handed_in = {"fields": {}, "counted": True, "seconds": 1.0, "submitted_at": study.now(), "history": []}
        submission = Submission(lease_id=lease.id, **about, **handed_in)
        session.add(submission)
        session.flush()
        if not task.gold:
            task.accepted += 1
        known = {"choice": 0, "counted": True, "gold": task.gold, "is_right": False if task.gold else None}
        yield Vote(submission_id=submission.id, problem_id=task.problem_id, at=study.now(), **about, **known)


def test_the_export_says_what_hung_on_whom(study, crew, bot, tmp_path):
    moderation.block(study, bot.code, "too hasty", "requester:ann")
    done = export.export(study, tmp_path / "out")
    problems = winokit.load(tmp_path / "out" / "others.jsonl")
    assert [problem.provenance["hangs_on"] for problem in problems] == [[bot.code]] * 2
    assert "2 verdicts hang on the vote of a blocked worker; discard their votes to ask others" in done.notes
    votes = [json.loads(line) for line in (tmp_path / "out" / "votes.jsonl").read_text().splitlines()]
    assert {vote["worker"] for vote in votes if vote.get("blocked")} == {bot.code}


def test_new_studies_discard_and_running_ones_do_not(tmp_path):
    verbs.init(tmp_path / "new")
    assert read_config(tmp_path / "new" / "study.toml").quality.discard_blocked
    settings = (tmp_path / "new" / "study.toml").read_text()
    lines = [line for line in settings.splitlines() if not line.startswith("discard_blocked")]
    (tmp_path / "new" / "study.toml").write_text("\n".join(lines))
    assert not read_config(tmp_path / "new" / "study.toml").quality.discard_blocked
