"""One more vote is asked exactly where a verdict hangs on one judge who is often wrong."""

import json

import pytest
from sqlalchemy import select

import winokit
from winokit_collect.study import export, listings, moderation
from winokit_collect.study.schema import ProblemRow, Task, Vote
from winokit_collect.study.second_opinions import SecondOpinions, ask_second_opinions, find_doubted
from winokit_collect.web.app import create_app

PAIRS = 8


@pytest.fixture
def make_doubtful(make_study, crew):
    """A study in which one judge says against every other problem what two reliable ones are for."""

    def make(**quality):
        study = make_study(tasks={"twins": PAIRS}, quality={"second_opinions": True, **quality})
        author = crew.newcomer(study)
        for number in range(PAIRS):
            crew.write(study, author, number)
        for judge in range(3):
            voter = crew.newcomer(study)
            for place in range(2 * PAIRS):
                is_against = judge == 2 and place % 2
                crew.vote(study, voter, equally_plausible="yes" if is_against else "no")
        return study

    return make


def asked_of(study):
    with study.store.read() as session:
        return session.scalars(select(Task.asked).where(Task.kind == "validate").order_by(Task.id)).all()


def verdicts(study):
    with study.store.read() as session:
        return session.scalars(select(ProblemRow.valid).order_by(ProblemRow.id)).all()


def test_one_more_is_asked_where_the_verdict_hangs_and_nowhere_else(make_doubtful, crew):
    study = make_doubtful()
    before = verdicts(study)
    hanging = [not valid for valid in before]
    assert sum(hanging) == PAIRS
    assert ask_second_opinions(study) == PAIRS
    assert asked_of(study) == [3 + hangs for hangs in hanging]
    assert verdicts(study) == [None if hangs else True for hangs in hanging]
    assert ask_second_opinions(study) == 0, "nobody is asked a second time"
    other = crew.newcomer(study)
    for place in range(PAIRS):
        crew.vote(study, other, equally_plausible="yes" if place == 0 else "no")
    after = verdicts(study)
    assert after.count(False) == 1, "an independent judge who is against makes it invalid"
    assert after.count(True) == 2 * PAIRS - 1
    assert ask_second_opinions(study) == 0


def test_the_doubted_vote_stays_and_the_export_names_it(make_doubtful, crew, tmp_path):
    study = make_doubtful()
    ask_second_opinions(study)
    other = crew.newcomer(study)
    for _ in range(PAIRS):
        crew.vote(study, other)
    export.export(study, tmp_path / "out")
    votes = [json.loads(line) for line in (tmp_path / "out" / "votes.jsonl").read_text().splitlines()]
    doubted = [vote for vote in votes if vote.get("doubted")]
    assert len(doubted) == PAIRS
    assert all(vote["counted"] for vote in doubted)
    problems = winokit.load(tmp_path / "out" / "problems.jsonl")
    assert len(problems) == 2 * PAIRS
    assert not any("hangs_on" in problem.provenance for problem in problems)
    lines = listings.log_entries(study, action="ask once more")
    assert len(lines) == PAIRS
    assert lines[0].detail["reliability"] < 0.75


@pytest.mark.parametrize("quality", [{"second_opinions": False}, {"least_reliable": 0.1}])
def test_nobody_is_asked_if_the_study_does_not_want_it_or_the_judge_is_reliable_enough(make_doubtful, quality):
    assert ask_second_opinions(make_doubtful(**quality)) == 0


def test_a_judge_of_few_votes_is_not_doubted(study, crew):
    crew.write(study, crew.newcomer(study))
    for number in range(3):
        voter = crew.newcomer(study)
        crew.vote(study, voter, equally_plausible="yes" if number == 2 else "no")
        crew.vote(study, voter, equally_plausible="yes" if number == 2 else "no")
    assert verdicts(study) == [False, False]
    assert find_doubted(study) == []


def test_a_problem_that_a_requester_decided_is_left_alone(make_doubtful):
    study = make_doubtful()
    for number in range(1, 2 * PAIRS + 1):
        moderation.adjudicate(study, number, False, "", "ann")
    assert ask_second_opinions(study) == 0


def test_a_doubted_vote_that_is_discarded_is_not_asked_for_twice(make_doubtful, crew):
    study = make_doubtful()
    ask_second_opinions(study)
    with study.store.read() as session:
        number = session.scalars(select(Vote.submission_id).where(Vote.doubted)).first()
        task_id = session.scalars(select(Vote.task_id).where(Vote.submission_id == number)).one()
    moderation.discard(study, number, "hasty", "requester:ann")
    with study.store.read() as session:
        task = session.get_one(Task, task_id)
        assert (task.asked, task.accepted, task.free) == (3, 2, 1)


def test_a_server_looks_by_itself(make_doubtful, monkeypatch):
    study = make_doubtful()
    app = create_app(study)
    assert isinstance(app.state.second_opinions, SecondOpinions)
    app.state.second_opinions._look_once()
    assert max(asked_of(study)) == 4
