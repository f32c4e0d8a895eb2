"""Workers are paid exactly what they are owed, whoever presses, whatever fails and wherever it is killed.

The platform is a stand-in that pays as often as it is told to, as Prolific does.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count

import pytest
from collect_support.killing import StepKiller
from collect_support.stand_in import AFTER, BEFORE, HANG_UP, prolific_stand_in
from collect_support.studies import database_of
from sqlalchemy import func, select, text, update
from support.waiting import HANGS

from winokit_collect.platforms import payout
from winokit_collect.platforms.base import Uncertain, arrive
from winokit_collect.platforms.prolific import Prolific
from winokit_collect.study import ledger, listings, moderation, progress, workers
from winokit_collect.study.refusals import NotFound, NotNow
from winokit_collect.study.schema import Payment, PayoutJob
from winokit_collect.study.study import Study

ADA = "requester:ada"
REWARD = 50
EARNED = 123
PAY = "/pay/"
ON_BOTH = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def database(request, tmp_path):
    with database_of(request, tmp_path) as url:
        yield url


@pytest.fixture
def books(monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "tok-1")
    with prolific_stand_in(REWARD) as books:
        yield books


@pytest.fixture
def study(make_study, books):
    return make_study(platform=books.platform(base_reward=0.5))


@pytest.fixture
def somebody(study, books):
    """A function that adds a worker who is owed some cents, and returns the worker."""
    numbers = count(1)

    def add_worker(cents=EARNED):
        worker = arrive(study, books.arrives(next(numbers)))
        ledger.bonus(study, worker.code, cents, "for the tests", ADA)
        return worker

    return add_worker


def read_jobs(study):
    with study.store.read() as session:
        return session.scalars(select(PayoutJob).order_by(PayoutJob.id)).all()


def job_states(study):
    return [job.state for job in read_jobs(study)]


def earned_cents(study):
    """Cents that the ledger says were earned, paid or not."""
    with study.store.read() as session:
        return session.scalar(select(func.sum(Payment.cents)).where(Payment.reason != "visit"))


def is_settled(study):
    return {(balance.open_cents, balance.under_way_cents) for balance in ledger.balances(study)} == {(0, 0)}


def is_confirmed_and_paid(study, books, cents):
    """Whether the only payout is confirmed and the platform has paid `cents` in all."""
    return job_states(study) == ["confirmed"] and books.paid == cents


def break_platform(books, when, status, on=PAY):
    books.trouble = lambda path: (when, status) if path.endswith(on) else None


def mend_platform(books):
    books.trouble = lambda path: None


@ON_BOTH
def test_the_visit_is_approved_and_the_rest_is_a_bonus(study, books, somebody):
    worker = somebody()
    assert payout.plan(study, ADA) == 1
    assert books.paid == 0
    payout.run(study)
    assert books.paid == EARNED
    (job,) = read_jobs(study)
    assert (job.state, job.cents, job.settled_by, job.planned_by) == ("confirmed", EARNED - REWARD, "Prolific", ADA)
    assert is_settled(study)
    (submission,) = books.submissions.values()
    bonuses = [body["csv_bonuses"] for _, path, body in books.calls if path.endswith("/bonus-payments/")]
    assert bonuses == [f"{submission['id']},0.73"]
    assert listings.log_entries(study, 1)[0].target == worker.code
    assert payout.plan(study, ADA) == 0
    ledger.bonus(study, worker.code, 40, "one more", ADA)
    payout.plan(study, ADA)
    payout.run(study)
    assert books.paid == EARNED + 40


@ON_BOTH
def test_fifty_who_pay_all_at_once_pay_once(study, books, somebody, database, clock):
    for number in range(6):
        somebody(EARNED + number)
    second_server = Study.open(study.folder, database, clock=clock)
    servers = (study, second_server)

    def press_pay(number):
        server = servers[number % 2]
        planned_count = payout.plan(server, f"requester:{number}")
        payout.run(server)
        return planned_count

    with ThreadPoolExecutor(50) as pool:
        planned_counts = list(pool.map(press_pay, range(50)))
    assert sum(planned_counts) == 6
    second_server.close()
    payout.run(study)
    assert set(job_states(study)) == {"confirmed"}
    assert books.paid == earned_cents(study)
    assert is_settled(study)


SERVER = """
import sys
from winokit_collect.platforms import payout
from winokit_collect.study.schema import PayoutJob
from winokit_collect.study.study import Study
from sqlalchemy import select
study = Study.open(sys.argv[1], sys.argv[2])
open_jobs = select(PayoutJob.id).where(PayoutJob.state.in_(("planned", "sent")))
print("here", flush=True)
sys.stdin.readline()
while True:
    payout.plan(study, "requester:" + sys.argv[3])
    payout.run(study)
    with study.store.read() as session:
        if not session.scalars(open_jobs).all():
            break
"""


@ON_BOTH
def test_servers_in_processes_of_their_own_pay_once(study, books, somebody, database):
    for number in range(5):
        somebody(EARNED + number)
    command = [sys.executable, "-c", SERVER, str(study.folder), database]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    servers = [subprocess.Popen([*command, str(number)], **pipes) for number in range(2)]
    assert [server.stdout.readline() for server in servers] == ["here\n"] * 2
    for server in servers:
        server.stdin.write("go\n")
        server.stdin.flush()
    for server in servers:
        server.communicate(timeout=HANGS)
        assert server.returncode == 0
    assert books.paid == earned_cents(study)
    assert job_states(study) == ["confirmed"] * 5


@ON_BOTH
def test_a_kill_at_every_step_loses_and_doubles_nothing(study, books, somebody, clock, monkeypatch):
    killer = StepKiller(study, monkeypatch)

    def pay_all():
        payout.plan(study, ADA)
        payout.run(study)

    doubt_count = 0
    for point in count():
        somebody(EARNED + point)
        was_killed = killer.kills(point, pay_all)
        clock.pass_minutes(2)  # a new server has started
        pay_all()
        for job in read_jobs(study):
            if job.state == "uncertain":  # a person looks at the books
                doubt_count += 1
                assert books.paid != earned_cents(study)
                payout.settle(study, job.id, paid=False, actor=ADA)
                payout.run(study)
        assert books.paid == earned_cents(study), f"killed at point {point}"
        assert is_settled(study)
        if not was_killed:
            break
    killer.stop()
    assert point > 15  # the test did something
    assert 0 < doubt_count < 6  # between the note that it is sent and the sending


@pytest.mark.parametrize("status", [HANG_UP, 500, 502, 302, 408])
def test_a_platform_that_fails_after_paying_is_asked_and_not_paid_again(study, books, somebody, clock, status):
    somebody()
    break_platform(books, AFTER, status)
    payout.plan(study, ADA)
    payout.run(study)
    assert job_states(study) == ["uncertain"]
    assert progress.snapshot(study).uncertain_cents == EARNED - REWARD
    mend_platform(books)
    assert payout.plan(study, ADA) == 0  # which asks
    payout.run(study)
    assert job_states(study) == ["confirmed"]
    assert books.paid == EARNED
    assert is_settled(study)


@pytest.mark.parametrize("status", [HANG_UP, 503])
def test_what_was_not_paid_is_sent_again_when_a_person_says_so(study, books, somebody, clock, status):
    worker = somebody()
    break_platform(books, BEFORE, status)
    payout.plan(study, ADA)
    payout.run(study)
    mend_platform(books)
    for _ in range(3):
        clock.pass_minutes(11)
        payout.run(study)
    (job,) = read_jobs(study)
    assert (job.state, job.why) == ("uncertain", "Prolific does not show it")
    assert books.paid == REWARD
    payout.settle(study, job.id, paid=False, actor="requester:bea")
    payout.run(study)
    assert is_confirmed_and_paid(study, books, EARNED)
    (entry,) = listings.log_entries(study, 1, action="payout planned")
    assert (entry.actor, entry.target) == ("requester:bea", worker.code)
    assert entry.detail["said"] == "not paid"
    assert entry.at == clock()


def test_somebody_who_says_not_paid_in_haste_does_not_pay_twice(study, books, somebody):
    books.shows_at_once = False
    somebody()
    break_platform(books, AFTER, HANG_UP)
    payout.plan(study, ADA)
    payout.run(study)
    mend_platform(books)
    books.show()  # the bonus arrives after they have looked
    payout.settle(study, read_jobs(study)[0].id, paid=False, actor=ADA)
    payout.run(study)
    assert is_confirmed_and_paid(study, books, EARNED)


def test_a_person_can_say_that_it_was_paid(study, books, somebody, clock):
    somebody()
    books.shows_at_once = False
    break_platform(books, AFTER, HANG_UP)
    payout.plan(study, ADA)
    payout.run(study)
    payout.settle(study, read_jobs(study)[0].id, paid=True, actor="requester:bea")
    (job,) = read_jobs(study)
    assert (job.state, job.settled_by, job.settled_at) == ("confirmed", "requester:bea", clock())
    assert is_settled(study)
    with pytest.raises(NotNow):
        payout.settle(study, job.id, paid=False, actor=ADA)
    with pytest.raises(NotFound):
        payout.ask_again(study, 99)


def test_a_bonus_that_is_shown_late_is_not_taken_for_the_next(study, books, somebody):
    worker = somebody()
    books.shows_at_once = False
    payout.plan(study, ADA)
    payout.run(study)
    ledger.bonus(study, worker.code, EARNED - REWARD, "as much again", ADA)
    break_platform(books, BEFORE, HANG_UP)
    payout.plan(study, ADA)
    payout.run(study)
    books.show()
    payout.ask_again(study, read_jobs(study)[1].id)
    payout.run(study)
    assert job_states(study) == ["confirmed", "uncertain"]


def test_while_one_is_uncertain_nothing_more_is_sent_to_the_worker(study, books, somebody):
    worker = somebody()
    break_platform(books, BEFORE, HANG_UP)
    payout.plan(study, ADA)
    payout.run(study)
    ledger.bonus(study, worker.code, 9, "more", ADA)
    assert payout.plan(study, ADA, [worker.code]) == 0
    payout.run(study)
    assert books.paid == REWARD
    (balance,) = ledger.balances(study)
    assert (balance.under_way_cents, balance.open_cents) == (EARNED - REWARD, 9)
    with pytest.raises(NotNow, match="in progress"):
        workers.forget(study, worker.code, ADA)


@pytest.mark.parametrize("step", ["/transition/", "/bonus-payments/", PAY])
def test_what_the_platform_refuses_stays_open_and_says_why(study, books, somebody, step):
    somebody()
    break_platform(books, BEFORE, 400, on=step)
    payout.plan(study, ADA)
    payout.run(study)
    (job,) = read_jobs(study)
    assert job.state == "refused"
    assert "no funds" in job.why
    mend_platform(books)
    payout.plan(study, ADA)
    payout.run(study)
    assert books.paid == EARNED
    assert is_settled(study)


@ON_BOTH
def test_a_server_that_was_slow_and_one_that_took_over_pay_once(study, books, somebody, clock, monkeypatch):
    somebody()
    pay_bonus = Prolific.bonus

    def pay_slowly(platform, *args):
        clock.pass_minutes(5)
        monkeypatch.setattr(Prolific, "bonus", pay_bonus)
        payout.run(study)  # another server finds it as sent
        assert job_states(study) == ["uncertain"]
        return pay_bonus(platform, *args)

    monkeypatch.setattr(Prolific, "bonus", pay_slowly)
    payout.plan(study, ADA)
    payout.run(study)
    assert is_confirmed_and_paid(study, books, EARNED)


@pytest.mark.parametrize("call", ["approve", "tally", "reserve"])
def test_a_server_that_was_slow_before_sending_leaves_it_to_the_one_that_took_over(
    study, books, somebody, clock, monkeypatch, call
):
    somebody()
    call_quickly = getattr(Prolific, call)

    def call_slowly(platform, *args):
        monkeypatch.setattr(Prolific, call, call_quickly)
        clock.pass_minutes(5)
        payout.run(study)  # another server does it all
        assert books.paid == EARNED
        return call_quickly(platform, *args)

    monkeypatch.setattr(Prolific, call, call_slowly)
    payout.plan(study, ADA)
    payout.run(study)
    assert is_confirmed_and_paid(study, books, EARNED)
    assert is_settled(study)


def test_what_a_slow_server_hears_late_does_not_change_what_a_person_has_settled(
    study, books, somebody, clock, monkeypatch
):
    somebody()

    def answer_too_late(platform, *args):
        clock.pass_minutes(5)
        payout.run(study)
        payout.settle(study, 1, paid=True, actor=ADA)
        raise Uncertain("no answer")

    monkeypatch.setattr(Prolific, "bonus", answer_too_late)
    payout.plan(study, ADA)
    payout.run(study)
    assert job_states(study) == ["confirmed"]
    assert is_settled(study)


def test_a_payout_stays_uncertain_while_the_platform_cannot_be_asked(study, books, somebody, clock):
    somebody()
    break_platform(books, AFTER, HANG_UP)
    payout.plan(study, ADA)
    payout.run(study)
    books.trouble = lambda path: (BEFORE, 503)
    payout.ask_again(study, 1)
    payout.run(study)
    assert job_states(study) == ["uncertain"]
    payout.settle(study, 1, paid=False, actor=ADA)
    payout.run(study)
    (job,) = read_jobs(study)
    assert job.state == "uncertain"
    assert "503" in job.why
    mend_platform(books)
    clock.pass_minutes(11)
    payout.run(study)
    assert is_confirmed_and_paid(study, books, EARNED)


@ON_BOTH
def test_servers_take_turns(study, somebody, clock):
    somebody()
    somebody()
    payout.plan(study, ADA)
    assert payout._claim_next(study) is not None
    assert payout._claim_next(study) is None
    clock.pass_minutes(2)
    assert payout._claim_next(study) is not None


def test_a_reward_beyond_what_is_owed_is_taken_off_the_next(study, books, somebody):
    worker = somebody(20)
    payout.plan(study, ADA)
    payout.run(study)
    assert is_confirmed_and_paid(study, books, REWARD)
    assert ledger.balances(study)[0].open_cents == 20 - REWARD
    ledger.bonus(study, worker.code, 100, "more", ADA)
    payout.plan(study, ADA)
    payout.run(study)
    assert books.paid == 120


def test_only_what_the_requester_has_seen_is_paid(study, books, somebody):
    worker = somebody()
    newest = ledger.entries(study)[-1].id
    ledger.bonus(study, worker.code, 7, "in the last second", ADA)
    payout.plan(study, ADA, newest=newest)
    payout.run(study)
    assert books.paid == EARNED
    assert ledger.balances(study)[0].open_cents == 7


def test_whom_the_platform_does_not_know_can_be_paid_by_hand(study, books, somebody):
    worker = somebody()
    workers.forget(study, worker.code, ADA)
    payout.plan(study, ADA)
    payout.run(study)
    assert "pay manually" in read_jobs(study)[0].why
    assert payout.plan(study, ADA, [worker.code], by_hand=True) == 1
    assert job_states(study) == ["refused", "confirmed"]
    assert is_settled(study)
    assert books.paid == 0


def test_who_withdrew_is_forgotten_when_the_payout_is_confirmed_and_not_before(study, books, somebody):
    worker = somebody()
    moderation.withdraw(study, worker.code, ADA)
    break_platform(books, AFTER, HANG_UP)
    payout.plan(study, ADA)
    payout.run(study)
    mend_platform(books)
    payout.ask_again(study, read_jobs(study)[0].id)
    payout.run(study)
    assert is_confirmed_and_paid(study, books, EARNED)
    with pytest.raises(NotFound, match="no personal data is stored"):
        workers.forget(study, worker.code, ADA)


def test_without_a_token_nothing_is_sent_and_the_reason_is_told(study, books, somebody, monkeypatch):
    somebody()
    monkeypatch.delenv("PROLIFIC_API_TOKEN")
    payout.plan(study, ADA)
    payout.run(study)
    (job,) = read_jobs(study)
    assert (job.state, job.why) == ("refused", "Prolific's API needs a token: set PROLIFIC_API_TOKEN")


@ON_BOTH
def test_the_database_keeps_a_second_payout_of_a_worker_out(study, somebody):
    worker = somebody()
    payout.plan(study, ADA)
    now = study.now()
    second_job = PayoutJob(worker_id=worker.id, state="planned", cents=1, planned_at=now, planned_by=ADA, due_at=now)
    with pytest.raises(Exception, match=r"(?i)unique"), study.store.write() as session:
        session.add(second_job)


def test_lines_that_were_paid_before_there_were_jobs_stay_paid(study, books, somebody):
    worker = somebody()
    with study.store.write() as session:
        session.execute(update(Payment).values(settled_at=datetime(2026, 1, 1, tzinfo=UTC), settlement="old-1"))
    assert payout.plan(study, ADA) == 0
    ledger.bonus(study, worker.code, 80, "new", ADA)
    payout.plan(study, ADA)
    payout.run(study)
    assert books.paid == 80
    assert ledger.entries(study)[0].settlement == "old-1"
    with study.store.read() as session:
        assert session.scalar(text("SELECT job_id FROM payments ORDER BY id LIMIT 1")) is None
