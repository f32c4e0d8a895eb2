"""Each visit of a worker is approved and paid for by itself, whatever the platform does.

Every case here was paid wrong, or never, while a person was taken for a visit.
"""

from itertools import count

import pytest
from collect_support.killing import StepKiller
from collect_support.stand_in import AFTER, BEFORE, HANG_UP, prolific_stand_in
from collect_support.studies import database_of
from sqlalchemy import func, select

from winokit_collect.platforms import payout
from winokit_collect.platforms.base import arrive
from winokit_collect.study import invites, ledger, moderation, pilot, workers
from winokit_collect.study.refusals import NotAllowed
from winokit_collect.study.schema import Payment, PayoutJob, PlatformVisit

ADA = "requester:ada"
REWARD = 50
EARNED = 123
APPROVE = "/transition/"
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
def visit(study, books, clock):
    """A function that lets worker `number` come for visit `visit` and earn some cents, and returns the worker."""

    def come_and_earn(number=1, visit=0, cents=EARNED):
        clock.pass_minutes(60)
        worker = arrive(study, books.arrives(number, visit))
        ledger.bonus(study, worker.code, cents, "for the tests", ADA)
        return worker

    return come_and_earn


@pytest.fixture
def pay_all(study):
    """A function that pays all that is owed, and returns the number of new payouts."""

    def plan_and_pay():
        planned_count = payout.plan(study, ADA)
        payout.run(study)
        return planned_count

    return plan_and_pay


def read_jobs(study):
    with study.store.read() as session:
        return session.scalars(select(PayoutJob).order_by(PayoutJob.id)).all()


def job_states(study):
    return [job.state for job in read_jobs(study)]


def read_visits(study):
    with study.store.read() as session:
        return session.scalars(select(PlatformVisit).order_by(PlatformVisit.id)).all()


def earned_cents(study):
    with study.store.read() as session:
        return session.scalar(select(func.sum(Payment.cents)).where(Payment.reason != "visit"))


def is_paid(study, books, cents):
    """Whether the platform has paid `cents` in all and nothing is owed any more."""
    return books.paid == cents and is_settled(study)


def is_settled(study):
    return {(balance.open_cents, balance.under_way_cents) for balance in ledger.balances(study)} == {(0, 0)}


def break_platform(books, when, status, on):
    books.trouble = lambda path: (when, status) if path.endswith(on) else None


def mend_platform(books):
    books.trouble = lambda path: None


@ON_BOTH
def test_two_visits_before_paying_are_both_approved_and_cost_what_was_earned(study, books, visit, pay_all):
    visit()
    visit(visit=1)
    pay_all()
    assert [submission["status"] for submission in books.submissions.values()] == ["APPROVED"] * 2
    assert is_paid(study, books, 2 * EARNED)
    assert earned_cents(study) == 2 * EARNED
    visit_rows = [(row.state, row.reward_cents, row.currency) for row in read_visits(study)]
    assert visit_rows == [("approved", 50, "USD")] * 2


def test_a_visit_in_which_nothing_was_earned_is_left_open(study, books, visit, pay_all, clock):
    visit()
    clock.pass_minutes(60)
    arrive(study, books.arrives(1, 1))
    pay_all()
    assert [row.state for row in read_visits(study)] == ["approved", "open"]
    assert books.paid == EARNED
    assert pay_all() == 0


def test_a_second_bonus_of_the_same_amount_is_found_after_the_platform_failed(study, books, visit, pay_all, clock):
    """The bonus of the first visit must not be counted for the second, or the second is paid again."""
    visit(cents=350)
    pay_all()
    visit(visit=1, cents=350)
    break_platform(books, AFTER, 500, on=PAY)
    pay_all()
    mend_platform(books)
    assert read_jobs(study)[1].state == "uncertain"
    payout.settle(study, 2, paid=False, actor=ADA)
    payout.run(study)
    assert job_states(study) == ["confirmed"] * 2
    assert is_paid(study, books, 700)


@pytest.mark.parametrize(("status", "base"), [("APPROVED", REWARD), ("RETURNED", 0), ("TIMED-OUT", 0), ("REJECTED", 0)])
def test_a_visit_that_ended_on_the_platform_is_noted_and_its_bonus_is_sent(study, books, visit, pay_all, status, base):
    visit()
    books.ends(books.session(1), status)
    pay_all()
    assert job_states(study) == ["confirmed"]
    assert is_paid(study, books, EARNED)
    assert read_visits(study)[0].reward_cents == base


@pytest.mark.parametrize("status", [HANG_UP, 408, 500, 502])
def test_a_platform_that_fails_after_approving_is_asked_what_it_did(study, books, visit, pay_all, status):
    visit()
    break_platform(books, AFTER, status, on=APPROVE)
    pay_all()
    mend_platform(books)
    assert job_states(study) == ["confirmed"]
    assert is_paid(study, books, EARNED)


def test_while_nobody_knows_whether_a_visit_was_approved_the_payout_is_uncertain(study, books, visit, pay_all, clock):
    visit()
    approvals = []

    def fail_after_approving(path):
        if path.endswith(APPROVE):
            approvals.append(path)
            return AFTER, 502
        return (BEFORE, 503) if approvals else None

    books.trouble = fail_after_approving
    pay_all()
    (job,) = read_jobs(study)
    assert (job.state, job.sent_at) == ("uncertain", None)
    assert "may have been approved" in job.why
    assert books.paid == REWARD
    mend_platform(books)
    clock.pass_minutes(11)
    payout.run(study)
    assert job_states(study) == ["confirmed"]
    assert is_paid(study, books, EARNED)


@pytest.mark.parametrize("step", [APPROVE, "/bonus-payments/", PAY])
def test_too_many_requests_are_waited_for_as_told(study, books, visit, clock, step):
    visit()
    visit(2)
    calls = []

    def refuse_first_call(path):
        if not path.endswith(step):
            return None
        calls.append(path)
        return (BEFORE, 429) if len(calls) == 1 else None

    books.trouble = refuse_first_call
    payout.plan(study, ADA)
    payout.run(study)
    first_job, second_job = read_jobs(study)
    assert first_job.state == "planned"
    assert (first_job.due_at - clock()).total_seconds() == 7
    assert "trying again in 7 s" in first_job.why
    assert second_job.state == "planned"  # the platform has asked for quiet, whoever it is about
    clock.pass_minutes(0.2)
    payout.run(study)
    assert job_states(study) == ["confirmed"] * 2
    assert is_paid(study, books, 2 * EARNED)


def test_what_is_in_doubt_stays_so_when_its_second_sending_must_wait(study, books, visit, clock):
    visit()
    books.shows_at_once = False
    break_platform(books, AFTER, HANG_UP, on=PAY)
    payout.plan(study, ADA)
    payout.run(study)
    break_platform(books, BEFORE, 429, on=PAY)
    payout.settle(study, 1, paid=False, actor=ADA)
    payout.run(study)
    mend_platform(books)
    books.show()  # only now
    clock.pass_minutes(1)
    payout.run(study)
    assert job_states(study) == ["confirmed"]
    assert books.paid == EARNED


@pytest.mark.parametrize(("reward", "currency", "why"), [(71, "USD", "pays 0.71"), (50, "GBP", "pays in GBP")])
def test_nothing_is_approved_while_the_reward_is_typed_wrong(study, books, visit, pay_all, reward, currency, why):
    visit()
    books.reward = reward
    books.currency = currency
    pay_all()
    (job,) = read_jobs(study)
    assert (job.state, books.paid) == ("refused", 0)
    assert why in job.why
    assert "study.toml: field '" in job.why


def test_a_session_that_another_worker_is_known_by_is_refused(make_study):
    study = make_study(platform={"name": "mturk"})
    address = {"workerId": "A1", "hitId": "H1", "assignmentId": "3A"}
    arrive(study, address, browser="b-1")
    with pytest.raises(NotAllowed):
        arrive(study, address | {"workerId": "B2"}, browser="b-2")
    assert len(read_visits(study)) == 1


def test_what_ties_visits_to_a_person_goes_with_them(study, visit, pay_all, clock):
    worker = visit()
    visit(visit=1)
    pay_all()
    moderation.withdraw(study, worker.code, ADA)
    identifiers = [(row.session_id, row.study_id, row.browser) for row in read_visits(study)]
    assert identifiers == [(None, None, None)] * 2
    second_worker = visit(2)
    workers.forget(study, second_worker.code, ADA)
    assert read_visits(study)[2].session_id is None


def test_a_pilot_goes_with_its_visits_but_for_what_was_paid(make_study, books, clock):
    study = make_study(platform=books.platform(base_reward=0.5))
    study.pilot = True
    first, _ = (arrive(study, books.arrives(number), browser="b") for number in (1, 2))
    ledger.bonus(study, first.code, EARNED, "", ADA)
    payout.plan(study, ADA)
    payout.run(study)
    pilot.remove_pilot_data(study)
    assert [(row.worker_id, row.session_id) for row in read_visits(study)] == [(first.id, None)]


@ON_BOTH
def test_a_link_tells_who_came_by_it_and_one_browser_with_several_codes_is_found(make_study):
    study = make_study()
    token = invites.create(study, "phone list", uses=3).path.removeprefix("/join/")
    ann, ben, eve = (invites.claim(study, token, browser=name) for name in ("b-1", "b-1", "b-2"))
    assert len({visit.invite_id for visit in read_visits(study)} - {None}) == 1
    assert workers.sharing_browsers(study) == {ann.code: [ben.code], ben.code: [ann.code]}
    (codes,) = workers.codes_by_invite(study).values()
    assert set(codes) == {ann.code, ben.code, eve.code}
    assert [visit.invite.label for visit in workers.visits_of(study, ann.code)] == ["phone list"]
    assert "b-1" not in {visit.browser for visit in read_visits(study)}
    invites.come_back(study, eve, "b-1")
    assert set(workers.sharing_browsers(study)) == {ann.code, ben.code, eve.code}


@ON_BOTH
def test_kills_at_every_step_with_two_visits_cost_nothing(study, books, visit, clock, monkeypatch):
    """Each worker has come twice, unlike in the same test of `test_payouts`."""
    killer = StepKiller(study, monkeypatch)

    def pay_all():
        payout.plan(study, ADA)
        payout.run(study)

    for point in count():
        visit(point, 0, EARNED + point)
        visit(point, 1, EARNED)
        was_killed = killer.kills(point, pay_all)
        clock.pass_minutes(2)
        pay_all()
        for job in read_jobs(study):
            if job.state == "uncertain":
                payout.settle(study, job.id, paid=False, actor=ADA)
                payout.run(study)
        assert books.paid == earned_cents(study), f"killed at point {point}"
        assert is_settled(study)
        if not was_killed:
            break
    killer.stop()
    assert point >= 20
