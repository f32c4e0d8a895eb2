"""A pair that fools the model counts and is paid once people have found it valid."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from collect_support.studies import is_waited_for
from sqlalchemy import select
from support.waiting import HANGS, until

from winokit.extend import BadInput
from winokit_collect.platforms import payout
from winokit_collect.study import gold, ledger, moderation, progress, schema, submissions, tasks
from winokit_collect.study.config import parse_config
from winokit_collect.study.schema import ProblemRow


@pytest.fixture
def fooling(make_study, crew, tmp_path, monkeypatch):
    """A study with one pair, whose model always takes the first candidate."""
    (tmp_path / "first.py").write_text("def score(before, after, candidates, pronoun):\n    return (1, 0)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    study = make_study(adversary={"model": "python:first:score"}, pay={"fooled": "0.25"})
    crew.write(study, crew.newcomer(study))
    return study


def judge_both(study, crew, workers=3, **fields):
    """Let new workers judge both problems, `workers` each."""
    for _ in range(workers):
        worker = crew.newcomer(study)
        for _ in range(2):
            crew.vote(study, worker, **fields)


def bonus_cents(study):
    return [line.cents for line in ledger.entries(study) if line.reason == "fooled"]


def adversary_counts(study):
    """Pairs the adversary was asked about, that fool it, that people judged, and that fool it and are valid."""
    snapshot = progress.snapshot(study)
    return snapshot.asked_adversary, snapshot.fooled, snapshot.judged_adversary, snapshot.validly_fooled


def test_a_pair_that_people_find_valid_is_paid_once_when_the_last_vote_comes(fooling, crew):
    judge_both(fooling, crew, 2)
    assert bonus_cents(fooling) == []
    assert adversary_counts(fooling) == (1, 1, 0, 0)
    judge_both(fooling, crew, 1)
    assert bonus_cents(fooling) == [25]
    assert adversary_counts(fooling) == (1, 1, 1, 1)
    row = problem_ids(fooling)[0]
    for _ in range(2):
        moderation.adjudicate(fooling, row, True, "", "boss")
    assert bonus_cents(fooling) == [25]


def test_a_pair_that_people_do_not_find_valid_fools_nobody(fooling, crew):
    judge_both(fooling, crew, equally_plausible="yes")
    assert bonus_cents(fooling) == []
    assert adversary_counts(fooling) == (1, 1, 1, 0)
    lines = [line for line in progress.status_lines(progress.snapshot(fooling)) if isinstance(line, str)]
    assert "adversary: 1 of 1 pairs fool it (100 %, 95 % interval 21 % to 100 %)" in lines
    assert "validated: 0 of 1 that people judged do (0 %, 95 % interval 0 % to 79 %)" in lines


def test_a_decision_against_a_pair_takes_back_what_is_not_paid_yet(fooling, crew):
    judge_both(fooling, crew)
    row = problem_ids(fooling)[1]
    moderation.adjudicate(fooling, row, False, "", "boss")
    assert bonus_cents(fooling) == []
    moderation.adjudicate(fooling, row, None, "", "boss")
    assert bonus_cents(fooling) == [25]


def problem_ids(study):
    with study.store.read() as session:
        return list(session.scalars(select(ProblemRow.id).order_by(ProblemRow.id)))


def test_a_bonus_for_fooling_needs_a_model_and_votes():
    with pytest.raises(BadInput, match="requires a model to fool"):
        parse_config({"pay": {"fooled": "0.1"}})


def test_last_votes_on_both_twins_at_the_same_moment_pay_once(fooling, crew):
    judge_both(fooling, crew, 2)
    people = [crew.newcomer(fooling) for _ in range(2)]
    open_tasks = [tasks.lease(fooling, worker.id, "validate") for worker in people]
    both_are_ready = threading.Barrier(2)

    def vote_at_once(worker, task):
        both_are_ready.wait()
        submissions.submit(fooling, worker.id, task.token, crew.ballot(task))

    texts = {task.before + task.after for task in open_tasks}
    assert len(texts) == 2
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(vote_at_once, people, open_tasks))
    assert bonus_cents(fooling) == [25]


def test_what_was_paid_is_not_owed_again_whatever_is_decided_after(fooling, crew):
    judge_both(fooling, crew)
    payout.plan(fooling, "requester:ann")
    row = problem_ids(fooling)[0]
    for valid in (False, None, True, False, True):
        moderation.adjudicate(fooling, row, valid, "", "boss")
    moderation.discard(fooling, 1, "no", "requester:ann")
    moderation.withdraw(fooling, ledger.entries(fooling)[0].worker.code, "requester:ann")
    assert bonus_cents(fooling) == [25]


def test_a_requester_who_decides_while_the_last_vote_comes_has_the_last_word(fooling, crew, monkeypatch):
    judge_both(fooling, crew, 2)
    worker = crew.newcomer(fooling)
    task = tasks.lease(fooling, worker.id, "validate")
    with fooling.store.read() as session:
        problem_query = select(schema.Task.problem_id).join(schema.Lease).where(schema.Lease.token == task.token)
        problem_id = session.scalar(problem_query)
    has_looked = threading.Event()
    is_decided = threading.Event()
    settle_problem = gold.settle_problem

    def settle_slowly(session, config, row):
        settle_problem(session, config, row)
        if threading.current_thread() is not threading.main_thread():
            has_looked.set()
            until(lambda: is_waited_for(fooling) or is_decided.is_set())
        session.flush()

    monkeypatch.setattr(gold, "settle_problem", settle_slowly)
    arguments = (fooling, worker.id, task.token, crew.ballot(task))
    hand_in = threading.Thread(target=submissions.submit, args=arguments)
    hand_in.start()
    assert has_looked.wait(HANGS)
    moderation.adjudicate(fooling, problem_id, False, "", "boss")
    is_decided.set()
    hand_in.join()
    with fooling.store.read() as session:
        assert session.get_one(ProblemRow, problem_id).valid is False
