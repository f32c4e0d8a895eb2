"""Gold questions: where they come from, who gets them, and that nobody can work around them."""

import pytest
from sqlalchemy import select

from winokit_collect.study import moderation, progress, quality, submissions, tasks, workers
from winokit_collect.study.export import export
from winokit_collect.study.gold import gold_score
from winokit_collect.study.next_task import is_gold_turn, situation
from winokit_collect.study.refusals import NotNow
from winokit_collect.study.schema import GOLD, Lease, ProblemRow, Task, Vote
from winokit_collect.study.study import Signer

OWN = (Task.gold, Task.rank < 0)


def rows(study, query):
    with study.store.read() as session:
        return session.scalars(query).all()


def asked_of(study, task):
    """The task behind what a worker is shown."""
    return rows(study, select(Task).join(Lease).where(Lease.token == task.token))[0]


def judge_all(study, crew, judges, kind="validate", **fields):
    """Let some people judge whatever there is."""
    for judge in judges:
        while kind in tasks.available(study, judge.id):
            crew.vote(study, judge, kind, **fields)


@pytest.fixture
def settled(make_study, crew):
    """A study with one pair, settled by two people, and the author and judges of it."""
    study = make_study(tasks={"votes": 2, "twins": 6}, quality={"gold_share": 1e-9})
    author, *judges = people = [crew.newcomer(study) for _ in range(3)]
    crew.write(study, author)
    judge_all(study, crew, judges)
    assert len(rows(study, select(Task).where(*OWN))) == 2
    return study, people


def with_gold_now(study):
    """The same study, where a gold question comes whenever there is one."""
    quality = study.config.quality.model_copy(update={"gold_share": 1.0})
    study.config = study.config.model_copy(update={"quality": quality, "gold": "own.jsonl"})
    return study


def without_given(study):
    with study.store.write() as session:
        for task in session.scalars(select(Task).where(Task.gold, Task.rank > 0)):
            task.gold = False
    return study


def test_what_people_have_settled_is_asked_of_those_who_have_not_seen_it(settled, crew):
    study, people = settled
    crew.write(study, crew.newcomer(study), 1)
    without_given(with_gold_now(study))
    stranger = crew.newcomer(study)
    first = tasks.lease(study, stranger.id, "validate")
    asked = asked_of(study, first)
    assert asked.gold
    assert asked.rank < 0
    assert submissions.submit(study, stranger.id, first.token, crew.ballot(first)).cents == 3
    second = asked_of(study, tasks.lease(study, stranger.id, "validate"))
    assert not second.gold, "its twin would tell the answer"
    for somebody in people:
        assert not asked_of(study, tasks.lease(study, somebody.id, "validate")).gold


def test_votes_on_gold_change_nothing_about_the_problem(settled, crew, tmp_path):
    study, _ = settled
    crew.write(study, crew.newcomer(study), 1)
    without_given(with_gold_now(study))
    before = [(row.valid, row.agreement) for row in rows(study, select(ProblemRow).order_by(ProblemRow.id))]
    kappa = [row.kappa for row in progress.snapshot(study).agreement]
    stranger = crew.newcomer(study)
    task = tasks.lease(study, stranger.id, "validate")
    wrong = {"choice": "0" if crew.ballot(task)["choice"] == "1" else "1"}
    submissions.submit(study, stranger.id, task.token, crew.ballot(task, **wrong))
    moderation.adjudicate(study, asked_of(study, task).problem_id, None, "", "ann")  # settles it again
    assert [(row.valid, row.agreement) for row in rows(study, select(ProblemRow).order_by(ProblemRow.id))] == before
    assert [row.kappa for row in progress.snapshot(study).agreement] == kappa
    with study.store.read() as session:
        assert gold_score(session, stranger.id) == (1, 0)
    assert export(study, tmp_path / "export").files["problems.jsonl"] == 2


def test_what_is_not_settled_any_more_is_no_gold_and_counts_for_nobody(settled, crew):
    study, (_, judge, _) = settled
    crew.write(study, crew.newcomer(study), 1)
    without_given(with_gold_now(study))
    stranger = crew.newcomer(study)
    task = tasks.lease(study, stranger.id, "validate")
    submissions.submit(study, stranger.id, task.token, crew.ballot(task))
    asked = asked_of(study, task)
    vote = rows(study, select(Vote).where(Vote.problem_id == asked.problem_id, Vote.worker_id == judge.id))[0]
    moderation.discard(study, vote.submission_id, "a slip", "ann")
    assert asked.id not in [task.id for task in rows(study, select(Task).where(*OWN))]
    with study.store.read() as session:
        assert gold_score(session, stranger.id) == (0, 0)
    judge_all(study, crew, [crew.newcomer(study), crew.newcomer(study)])
    assert asked.id in [task.id for task in rows(study, select(Task).where(*OWN))]


def test_what_is_split_or_said_by_one_alone_is_no_gold(make_study, crew):
    study = make_study(tasks={"votes": 2}, quality={"gold_share": 1e-9})
    crew.write(study, crew.newcomer(study))
    judge_all(study, crew, [crew.newcomer(study)])
    judge_all(study, crew, [crew.newcomer(study)], equally_plausible="yes")
    assert rows(study, select(Task).where(*OWN)) == []
    alone = make_study(tasks={"votes": 1}, quality={"gold_share": 1e-9})
    crew.write(alone, crew.newcomer(alone), 1)
    judge_all(alone, crew, [crew.newcomer(alone)])
    assert rows(alone, select(Task).where(*OWN)) == []


def test_judgements_that_all_share_become_gold_with_their_answer(make_study, crew):
    study = make_study(tasks={"votes": 2, "kinds": ["write", "switchable"]}, quality={"gold_share": 1e-9})
    crew.write(study, crew.newcomer(study))
    judge_all(study, crew, [crew.newcomer(study), crew.newcomer(study)], "switchable", choice="no")
    assert [task.topic for task in rows(study, select(Task).where(*OWN))] == [{"answer": 0}] * 2


def test_gold_of_a_dataset_is_what_people_and_the_dataset_say(make_study, crew):
    study = make_study(
        tasks={"kinds": ["evaluate"], "twins": 0, "votes": 2},
        evaluate={"data": "open", "limit": 6},
        quality={"gold_share": 1e-9},
    )
    assert rows(study, select(ProblemRow).where(ProblemRow.origin == GOLD)) == []
    for judge in (crew.newcomer(study), crew.newcomer(study)):
        for _ in range(6):
            task = tasks.lease(study, judge.id, "evaluate")
            submissions.submit(study, judge.id, task.token, {"choice": "0"})
    right = rows(study, select(ProblemRow.id).where(ProblemRow.answer == 0))
    assert 0 < len(right) < 6
    assert sorted(rows(study, select(Task.problem_id).where(*OWN))) == sorted(right)


@pytest.fixture
def golden(make_study, crew):
    study = make_study(quality={"gold_share": 1.0, "gold_least_seen": 3})
    crew.write(study, crew.newcomer(study))
    return study


def test_a_gold_question_that_is_skipped_or_left_counts_as_wrong(golden, crew, clock):
    worker = crew.newcomer(golden)
    tasks.give_back(golden, worker.id, tasks.lease(golden, worker.id, "validate").token)
    tasks.lease(golden, worker.id, "validate")
    clock.pass_minutes(11)
    task = tasks.lease(golden, worker.id, "validate")
    with golden.store.read() as session:
        assert gold_score(session, worker.id) == (2, 0)
    assert {one.code: one.gold_seen for one in quality.workers(golden)}[worker.code] == 2
    submissions.submit(golden, worker.id, task.token, crew.ballot(task))
    assert workers.step_of(golden, workers.get(golden, worker.code)) == "blocked"


def test_nobody_skips_for_ever(golden, crew):
    worker = crew.newcomer(golden)
    for _ in range(5):
        tasks.give_back(golden, worker.id, tasks.lease(golden, worker.id, "validate").token)
    task = tasks.lease(golden, worker.id, "validate")
    with pytest.raises(NotNow, match="skipped"):
        tasks.give_back(golden, worker.id, task.token)
    assert tasks.lease(golden, worker.id, "validate").token == task.token


def test_nobody_gets_both_of_a_pair_of_gold_twins(golden, crew):
    golden.config = golden.config.model_copy(
        update={"quality": golden.config.quality.model_copy(update={"block_by_gold": False})}
    )
    worker = crew.newcomer(golden)
    asked = []
    for _ in range(37):
        task = tasks.lease(golden, worker.id, "validate")
        asked.append(asked_of(golden, task))
        submissions.submit(golden, worker.id, task.token, crew.ballot(task))
    groups = [task.group_id for task in asked if task.gold]
    assert len(groups) == len(set(groups)) == 36


@pytest.mark.parametrize("skip", [False, True])
def test_what_is_left_to_do_goes_down_by_one_whatever_comes(make_study, crew, skip):
    study = make_study(tasks={"twins": 20}, quality={"gold_share": 0.4, "block_by_gold": False, "most_skipped": 1})
    study.signer = Signer(b"one")  # with a new secret each time, one run in 900 sees no gold
    author = crew.newcomer(study)
    for number in range(8):
        crew.write(study, author, number)
    worker = crew.newcomer(study)
    seen = set()
    left = tasks.available(study, worker.id)["validate"]
    while left:
        task = tasks.lease(study, worker.id, "validate")
        seen.add(asked_of(study, task).gold)
        if skip:
            tasks.give_back(study, worker.id, task.token)
        else:
            submissions.submit(study, worker.id, task.token, crew.ballot(task))
        now = tasks.available(study, worker.id).get("validate", 0)
        assert now == left - 1
        left = now
    assert seen == {True, False}


def test_where_gold_begins_is_drawn_for_each_worker(make_study, crew):
    study = make_study(quality={"gold_share": 0.5})
    people = [crew.newcomer(study) for _ in range(20)]
    with study.store.read() as session:
        first = {situation(session, study, worker.id, "validate").given_gold for worker in people}
    assert len(first) > 5


def test_when_gold_comes_is_drawn_with_a_secret(make_study):
    study = make_study(quality={"gold_share": 0.5})
    draws = []
    for secret in (b"one", b"one", b"two"):
        study.signer = Signer(secret)
        draws.append([is_gold_turn(study, 1, "validate", had) for had in range(60)])
    assert draws[0] == draws[1] != draws[2]
