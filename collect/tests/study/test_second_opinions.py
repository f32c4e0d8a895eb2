"""One more vote is asked exactly if a verdict depends on one judge who is often wrong."""

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
    """A function that makes a study in which one judge is against every other problem.

    Two reliable judges are for all problems.
    """

    def make_study_with_doubts(**quality):
        study = make_study(tasks={"twins": PAIRS}, quality={"second_opinions": True, **quality})
        author = crew.newcomer(study)
        for number in range(PAIRS):
            crew.write(study, author, number)
        voters = [crew.newcomer(study) for _ in range(3)]
        for voter in voters:
            for number in range(2 * PAIRS):
                is_against = voter is voters[-1] and number % 2
                crew.vote(study, voter, equally_plausible="yes" if is_against else "no")
        return study

    return make_study_with_doubts


def asked_votes(study):
    with study.store.read() as session:
        return session.scalars(select(Task.asked).where(Task.kind == "validate").order_by(Task.id)).all()


def read_verdicts(study):
    with study.store.read() as session:
        return session.scalars(select(ProblemRow.valid).order_by(ProblemRow.id)).all()


def test_one_more_is_asked_where_the_verdict_hangs_and_nowhere_else(make_doubtful, crew):
    study = make_doubtful()
    are_doubtful = [not is_valid for is_valid in read_verdicts(study)]
    assert sum(are_doubtful) == PAIRS
    assert ask_second_opinions(study) == PAIRS
    verdict_and_votes = {True: (None, 4), False: (True, 3)}
    expected = [verdict_and_votes[is_doubtful] for is_doubtful in are_doubtful]
    assert list(zip(read_verdicts(study), asked_votes(study), strict=True)) == expected
    assert ask_second_opinions(study) == 0, "nobody is asked a second time"
    fourth_judge = crew.newcomer(study)
    crew.vote(study, fourth_judge, equally_plausible="yes")
    for _ in range(PAIRS - 1):
        crew.vote(study, fourth_judge)
    verdicts = read_verdicts(study)
    assert verdicts.count(False) == 1, "an independent judge who is against makes it invalid"
    assert verdicts.count(True) == 2 * PAIRS - 1
    assert ask_second_opinions(study) == 0


def test_the_doubted_vote_stays_and_the_export_names_it(make_doubtful, crew, tmp_path):
    study = make_doubtful()
    ask_second_opinions(study)
    fourth_judge = crew.newcomer(study)
    for _ in range(PAIRS):
        crew.vote(study, fourth_judge)
    export.export(study, tmp_path / "out")
    votes = [json.loads(line) for line in (tmp_path / "out" / "votes.jsonl").read_text().splitlines()]
    doubted_votes = [vote for vote in votes if vote.get("doubted")]
    assert len(doubted_votes) == PAIRS
    assert all(vote["counted"] for vote in doubted_votes)
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
        plausible = "yes" if number == 2 else "no"
        crew.vote(study, voter, equally_plausible=plausible)
        crew.vote(study, voter, equally_plausible=plausible)
    assert read_verdicts(study) == [False, False]
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
        submission_id = session.scalars(select(Vote.submission_id).where(Vote.doubted)).first()
        task_id = session.scalars(select(Vote.task_id).where(Vote.submission_id == submission_id)).one()
    moderation.discard(study, submission_id, "hasty", "requester:ann")
    with study.store.read() as session:
        task = session.get_one(Task, task_id)
        assert (task.asked, task.accepted, task.free) == (3, 2, 1)


def test_a_server_looks_by_itself(make_doubtful, monkeypatch):
    study = make_doubtful()
    app = create_app(study)
    assert isinstance(app.state.second_opinions, SecondOpinions)
    app.state.second_opinions._look_once()
    assert max(asked_votes(study)) == 4
