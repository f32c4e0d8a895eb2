"""Gold questions come from settled problems, go to workers who have not seen them, and cannot be avoided."""

import pytest
from sqlalchemy import select

from winokit_collect.study import moderation, progress, quality, submissions, tasks, workers
from winokit_collect.study.export import export
from winokit_collect.study.gold import gold_score
from winokit_collect.study.next_task import is_gold_turn, situation
from winokit_collect.study.refusals import NotNow
from winokit_collect.study.schema import GOLD, Lease, ProblemRow, Task, Vote
from winokit_collect.study.study import Signer

OWN_GOLD = (Task.gold, Task.rank < 0)
"""Conditions for gold tasks that were made of the study's own problems."""


def rows_of(study, query):
    with study.store.read() as session:
        return session.scalars(query).all()


def task_row_of(study, task):
    """The row of the task that a worker is shown."""
    return rows_of(study, select(Task).join(Lease).where(Lease.token == task.token))[0]


def own_gold_tasks(study):
    return rows_of(study, select(Task).where(*OWN_GOLD))


def read_verdicts(study):
    problems = rows_of(study, select(ProblemRow).order_by(ProblemRow.id))
    return [(problem.valid, problem.agreement) for problem in problems]


def judge_all(study, crew, judges, kind="validate", **fields):
    """Let judges vote until no task of this kind is left for them."""
    for judge in judges:
        while kind in tasks.available(study, judge.id):
            crew.vote(study, judge, kind, **fields)


@pytest.fixture
def settled(make_study, crew):
    """A study with one pair that two people agree on, and its author and judges."""
    study = make_study(tasks={"votes": 2, "twins": 6}, quality={"gold_share": 1e-9})
    author, *judges = [crew.newcomer(study) for _ in range(3)]
    crew.write(study, author)
    judge_all(study, crew, judges)
    assert len(own_gold_tasks(study)) == 2
    return study, [author, *judges]


def with_gold_now(study):
    """Change the study so that a gold question comes whenever there is one, and return it."""
    quality = study.config.quality.model_copy(update={"gold_share": 1.0})
    study.config = study.config.model_copy(update={"quality": quality, "gold": "own.jsonl"})
    return study


def without_bundled_gold(study):
    """Keep only the gold questions made of the study's own problems, and return the study."""
    with study.store.write() as session:
        for task in session.scalars(select(Task).where(Task.gold, Task.rank > 0)):
            task.gold = False
    return study


def test_what_people_have_settled_is_asked_of_those_who_have_not_seen_it(settled, crew):
    study, people = settled
    crew.write(study, crew.newcomer(study), 1)
    without_bundled_gold(with_gold_now(study))
    stranger = crew.newcomer(study)
    first = tasks.lease(study, stranger.id, "validate")
    first_row = task_row_of(study, first)
    assert first_row.gold
    assert first_row.rank < 0
    receipt = submissions.submit(study, stranger.id, first.token, crew.ballot(first))
    assert receipt.cents == 3
    second = tasks.lease(study, stranger.id, "validate")
    assert not task_row_of(study, second).gold, "its twin would tell the answer"
    for somebody in people:
        task = tasks.lease(study, somebody.id, "validate")
        assert not task_row_of(study, task).gold


def test_votes_on_gold_change_nothing_about_the_problem(settled, crew, tmp_path):
    study, _ = settled
    crew.write(study, crew.newcomer(study), 1)
    without_bundled_gold(with_gold_now(study))
    verdicts_before = read_verdicts(study)
    kappas_before = [row.kappa for row in progress.snapshot(study).agreement]
    stranger = crew.newcomer(study)
    task = tasks.lease(study, stranger.id, "validate")
    wrong_choice = "0" if crew.ballot(task)["choice"] == "1" else "1"
    submissions.submit(study, stranger.id, task.token, crew.ballot(task, choice=wrong_choice))
    problem_id = task_row_of(study, task).problem_id
    moderation.adjudicate(study, problem_id, None, "", "ann")  # settles it again
    assert read_verdicts(study) == verdicts_before
    assert [row.kappa for row in progress.snapshot(study).agreement] == kappas_before
    with study.store.read() as session:
        assert gold_score(session, stranger.id) == (1, 0)
    report = export(study, tmp_path / "export")
    assert report.files["problems.jsonl"] == 2


def test_what_is_not_settled_any_more_is_no_gold_and_counts_for_nobody(settled, crew):
    study, (_, judge, _) = settled
    crew.write(study, crew.newcomer(study), 1)
    without_bundled_gold(with_gold_now(study))
    stranger = crew.newcomer(study)
    task = tasks.lease(study, stranger.id, "validate")
    submissions.submit(study, stranger.id, task.token, crew.ballot(task))
    gold_task = task_row_of(study, task)
    votes_of_judge = select(Vote).where(Vote.problem_id == gold_task.problem_id, Vote.worker_id == judge.id)
    vote = rows_of(study, votes_of_judge)[0]
    moderation.discard(study, vote.submission_id, "a slip", "ann")
    assert gold_task.id not in [task.id for task in own_gold_tasks(study)]
    with study.store.read() as session:
        assert gold_score(session, stranger.id) == (0, 0)
    judge_all(study, crew, [crew.newcomer(study), crew.newcomer(study)])
    assert gold_task.id in [task.id for task in own_gold_tasks(study)]


def test_what_is_split_or_said_by_one_alone_is_no_gold(make_study, crew):
    study = make_study(tasks={"votes": 2}, quality={"gold_share": 1e-9})
    crew.write(study, crew.newcomer(study))
    judge_all(study, crew, [crew.newcomer(study)])
    judge_all(study, crew, [crew.newcomer(study)], equally_plausible="yes")
    assert own_gold_tasks(study) == []
    alone = make_study(tasks={"votes": 1}, quality={"gold_share": 1e-9})
    crew.write(alone, crew.newcomer(alone), 1)
    judge_all(alone, crew, [crew.newcomer(alone)])
    assert own_gold_tasks(alone) == []


def test_judgements_that_all_share_become_gold_with_their_answer(make_study, crew):
    study = make_study(tasks={"votes": 2, "kinds": ["write", "switchable"]}, quality={"gold_share": 1e-9})
    crew.write(study, crew.newcomer(study))
    judge_all(study, crew, [crew.newcomer(study), crew.newcomer(study)], "switchable", choice="no")
    assert [task.topic for task in own_gold_tasks(study)] == [{"answer": 0}] * 2


def test_gold_of_a_dataset_is_what_people_and_the_dataset_say(make_study, crew):
    study = make_study(
        tasks={"kinds": ["evaluate"], "twins": 0, "votes": 2},
        evaluate={"data": "open", "limit": 6},
        quality={"gold_share": 1e-9},
    )
    assert rows_of(study, select(ProblemRow).where(ProblemRow.origin == GOLD)) == []
    for judge in (crew.newcomer(study), crew.newcomer(study)):
        for _ in range(6):
            task = tasks.lease(study, judge.id, "evaluate")
            submissions.submit(study, judge.id, task.token, {"choice": "0"})
    right_ids = rows_of(study, select(ProblemRow.id).where(ProblemRow.answer == 0))
    assert 0 < len(right_ids) < 6
    assert sorted(task.problem_id for task in own_gold_tasks(study)) == sorted(right_ids)


@pytest.fixture
def golden(make_study, crew):
    study = make_study(quality={"gold_share": 1.0, "gold_least_seen": 3})
    crew.write(study, crew.newcomer(study))
    return study


def test_a_gold_question_that_is_skipped_or_left_counts_as_wrong(golden, crew, clock):
    worker = crew.newcomer(golden)
    skipped = tasks.lease(golden, worker.id, "validate")
    tasks.give_back(golden, worker.id, skipped.token)
    tasks.lease(golden, worker.id, "validate")
    clock.pass_minutes(11)
    task = tasks.lease(golden, worker.id, "validate")
    with golden.store.read() as session:
        assert gold_score(session, worker.id) == (2, 0)
    gold_counts = {row.code: row.gold_seen for row in quality.workers(golden)}
    assert gold_counts[worker.code] == 2
    submissions.submit(golden, worker.id, task.token, crew.ballot(task))
    assert workers.step_of(golden, workers.get(golden, worker.code)) == "blocked"


def test_nobody_skips_for_ever(golden, crew):
    worker = crew.newcomer(golden)
    for _ in range(5):
        skipped = tasks.lease(golden, worker.id, "validate")
        tasks.give_back(golden, worker.id, skipped.token)
    task = tasks.lease(golden, worker.id, "validate")
    with pytest.raises(NotNow, match="skipped"):
        tasks.give_back(golden, worker.id, task.token)
    assert tasks.lease(golden, worker.id, "validate").token == task.token


def test_nobody_gets_both_of_a_pair_of_gold_twins(golden, crew):
    quality = golden.config.quality.model_copy(update={"block_by_gold": False})
    golden.config = golden.config.model_copy(update={"quality": quality})
    worker = crew.newcomer(golden)
    task_rows = []
    for _ in range(37):
        task = tasks.lease(golden, worker.id, "validate")
        task_rows.append(task_row_of(golden, task))
        submissions.submit(golden, worker.id, task.token, crew.ballot(task))
    groups = [row.group_id for row in task_rows if row.gold]
    assert len(groups) == len(set(groups)) == 36


@pytest.mark.parametrize("skip", [False, True])
def test_what_is_left_to_do_goes_down_by_one_whatever_comes(make_study, crew, skip):
    study = make_study(tasks={"twins": 20}, quality={"gold_share": 0.4, "block_by_gold": False, "most_skipped": 1})
    study.signer = Signer(b"one")  # with a new secret each time, one run in 900 sees no gold
    author = crew.newcomer(study)
    for number in range(8):
        crew.write(study, author, number)
    worker = crew.newcomer(study)
    gold_flags = set()
    count_before = tasks.available(study, worker.id)["validate"]
    while count_before:
        task = tasks.lease(study, worker.id, "validate")
        gold_flags.add(task_row_of(study, task).gold)
        if skip:
            tasks.give_back(study, worker.id, task.token)
        else:
            submissions.submit(study, worker.id, task.token, crew.ballot(task))
        count_now = tasks.available(study, worker.id).get("validate", 0)
        assert count_now == count_before - 1
        count_before = count_now
    assert gold_flags == {True, False}


def test_where_gold_begins_is_drawn_for_each_worker(make_study, crew):
    study = make_study(quality={"gold_share": 0.5})
    people = [crew.newcomer(study) for _ in range(20)]
    with study.store.read() as session:
        first_draws = {situation(session, study, worker.id, "validate").given_gold for worker in people}
    assert len(first_draws) > 5


def test_when_gold_comes_is_drawn_with_a_secret(make_study):
    study = make_study(quality={"gold_share": 0.5})
    draws = []
    for secret in (b"one", b"one", b"two"):
        study.signer = Signer(secret)
        draws.append([is_gold_turn(study, 1, "validate", vote_count) for vote_count in range(60)])
    assert draws[0] == draws[1] != draws[2]
