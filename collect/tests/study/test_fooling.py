"""Fooling the model counts, and is paid, when people have found the pair valid."""

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
    """A study whose model always takes the first candidate, with a pair of one writer."""
    (tmp_path / "first.py").write_text("def score(before, after, candidates, pronoun):\n    return (1, 0)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    study = make_study(adversary={"model": "python:first:score"}, pay={"fooled": "0.25"})
    crew.write(study, crew.newcomer(study))
    return study


def judge(study, crew, workers=3, **fields):
    """Both problems judged by so many workers each."""
    for _ in range(workers):
        worker = crew.newcomer(study)
        for _ in range(2):
            crew.vote(study, worker, **fields)


def bonuses(study):
    return [line.cents for line in ledger.entries(study) if line.reason == "fooled"]


def numbers(study):
    now = progress.snapshot(study)
    return now.asked_adversary, now.fooled, now.judged_adversary, now.validly_fooled


def test_a_pair_that_people_find_valid_is_paid_once_when_the_last_vote_comes(fooling, crew):
    judge(fooling, crew, 2)
    assert (bonuses(fooling), numbers(fooling)) == ([], (1, 1, 0, 0))
    judge(fooling, crew, 1)
    assert (bonuses(fooling), numbers(fooling)) == ([25], (1, 1, 1, 1))
    row = problems(fooling)[0]
    for _ in range(2):
        moderation.adjudicate(fooling, row, True, "", "boss")
    assert bonuses(fooling) == [25]


def test_a_pair_that_people_do_not_find_valid_fools_nobody(fooling, crew):
    judge(fooling, crew, equally_plausible="yes")
    assert (bonuses(fooling), numbers(fooling)) == ([], (1, 1, 1, 0))
    lines = [line for line in progress.status_lines(progress.snapshot(fooling)) if isinstance(line, str)]
    assert "adversary: 1 of 1 pairs fool it (100 %, 95 % interval 21 % to 100 %)" in lines
    assert "validated: 0 of 1 that people judged do (0 %, 95 % interval 0 % to 79 %)" in lines


def test_a_decision_against_a_pair_takes_back_what_is_not_paid_yet(fooling, crew):
    judge(fooling, crew)
    row = problems(fooling)[1]
    moderation.adjudicate(fooling, row, False, "", "boss")
    assert bonuses(fooling) == []
    moderation.adjudicate(fooling, row, None, "", "boss")
    assert bonuses(fooling) == [25]


def problems(study):
    with study.store.read() as session:
        return list(session.scalars(select(ProblemRow.id).order_by(ProblemRow.id)))


def test_a_bonus_for_fooling_needs_a_model_and_votes():
    with pytest.raises(BadInput, match="requires a model to fool"):
        parse_config({"pay": {"fooled": "0.1"}})


def test_last_votes_on_both_twins_at_the_same_moment_pay_once(fooling, crew):
    judge(fooling, crew, 2)
    people = [crew.newcomer(fooling) for _ in range(2)]
    given = [(worker, tasks.lease(fooling, worker.id, "validate")) for worker in people]
    ready = threading.Barrier(2)

    def vote(held):
        worker, task = held
        ready.wait()
        submissions.submit(fooling, worker.id, task.token, crew.ballot(task))

    assert given[0][1].before + given[0][1].after != given[1][1].before + given[1][1].after
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(vote, given))
    assert bonuses(fooling) == [25]


def test_what_was_paid_is_not_owed_again_whatever_is_decided_after(fooling, crew):
    judge(fooling, crew)
    payout.plan(fooling, "requester:ann")
    row = problems(fooling)[0]
    for valid in (False, None, True, False, True):
        moderation.adjudicate(fooling, row, valid, "", "boss")
    moderation.discard(fooling, 1, "no", "requester:ann")
    moderation.withdraw(fooling, ledger.entries(fooling)[0].worker.code, "requester:ann")
    assert bonuses(fooling) == [25]


def test_a_requester_who_decides_while_the_last_vote_comes_has_the_last_word(fooling, crew, monkeypatch):
    judge(fooling, crew, 2)
    worker = crew.newcomer(fooling)
    task = tasks.lease(fooling, worker.id, "validate")
    with fooling.store.read() as session:
        about = select(schema.Task.problem_id).join(schema.Lease).where(schema.Lease.token == task.token)
        number = session.scalar(about)
    looked = threading.Event()
    decided = threading.Event()
    settle_problem = gold.settle_problem

    def slowly(session, config, row):
        settle_problem(session, config, row)
        if threading.current_thread() is not threading.main_thread():
            looked.set()
            until(lambda: is_waited_for(fooling) or decided.is_set())
        session.flush()

    monkeypatch.setattr(gold, "settle_problem", slowly)
    hand_in = threading.Thread(target=submissions.submit, args=(fooling, worker.id, task.token, crew.ballot(task)))
    hand_in.start()
    assert looked.wait(HANGS)
    moderation.adjudicate(fooling, number, False, "", "boss")
    decided.set()
    hand_in.join()
    with fooling.store.read() as session:
        assert session.get_one(ProblemRow, number).valid is False
