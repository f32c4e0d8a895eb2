"""A worker may come more than once: each visit is approved and paid for by itself, whatever the platform does.

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
    """Makes a worker come and earn something; the same one again in another visit."""

    def make(number=1, visit=0, cents=EARNED):
        clock.pass_minutes(60)
        worker = arrive(study, books.arrives(number, visit))
        ledger.bonus(study, worker.code, cents, "for the tests", ADA)
        return worker

    return make


@pytest.fixture
def pay_all(study):
    def pay():
        planned = payout.plan(study, ADA)
        payout.run(study)
        return planned

    return pay


def jobs(study):
    with study.store.read() as session:
        return session.scalars(select(PayoutJob).order_by(PayoutJob.id)).all()


def visits(study):
    with study.store.read() as session:
        return session.scalars(select(PlatformVisit).order_by(PlatformVisit.id)).all()


def owed(study):
    with study.store.read() as session:
        return session.scalar(select(func.sum(Payment.cents)).where(Payment.reason != "visit"))


def is_settled(study):
    return {(balance.open_cents, balance.under_way_cents) for balance in ledger.balances(study)} == {(0, 0)}


def fail(books, when, status, on):
    books.trouble = lambda path: (when, status) if path.endswith(on) else None


def mend(books):
    books.trouble = lambda path: None


@ON_BOTH
def test_two_visits_before_paying_are_both_approved_and_cost_what_was_earned(study, books, visit, pay_all):
    visit()
    visit(visit=1)
    pay_all()
    assert [submission["status"] for submission in books.submissions.values()] == ["APPROVED"] * 2
    assert (books.paid, owed(study), is_settled(study)) == (2 * EARNED, 2 * EARNED, True)
    assert [(each.state, each.reward_cents, each.currency) for each in visits(study)] == [("approved", 50, "USD")] * 2


def test_a_visit_in_which_nothing_was_earned_is_left_open(study, books, visit, pay_all, clock):
    visit()
    clock.pass_minutes(60)
    arrive(study, books.arrives(1, 1))
    pay_all()
    assert [each.state for each in visits(study)] == ["approved", "open"]
    assert books.paid == EARNED
    assert pay_all() == 0


def test_a_second_bonus_of_the_same_amount_is_found_after_the_platform_failed(study, books, visit, pay_all, clock):
    """The first visit's bonus was counted for the second: "not shown" for ever, and paid again if a person said so."""
    visit(cents=350)
    pay_all()
    visit(visit=1, cents=350)
    fail(books, AFTER, 500, on=PAY)
    pay_all()
    mend(books)
    assert jobs(study)[1].state == "uncertain"
    payout.settle(study, 2, paid=False, actor=ADA)
    payout.run(study)
    assert [job.state for job in jobs(study)] == ["confirmed"] * 2
    assert (books.paid, is_settled(study)) == (700, True)


@pytest.mark.parametrize(("status", "base"), [("APPROVED", REWARD), ("RETURNED", 0), ("TIMED-OUT", 0), ("REJECTED", 0)])
def test_a_visit_that_ended_on_the_platform_is_noted_and_its_bonus_is_sent(study, books, visit, pay_all, status, base):
    visit()
    books.ends(books.session(1), status)
    pay_all()
    assert [job.state for job in jobs(study)] == ["confirmed"]
    assert (books.paid, visits(study)[0].reward_cents, is_settled(study)) == (EARNED, base, True)


@pytest.mark.parametrize("status", [HANG_UP, 408, 500, 502])
def test_a_platform_that_fails_after_approving_is_asked_what_it_did(study, books, visit, pay_all, status):
    visit()
    fail(books, AFTER, status, on=APPROVE)
    pay_all()
    mend(books)
    assert [job.state for job in jobs(study)] == ["confirmed"]
    assert (books.paid, is_settled(study)) == (EARNED, True)


def test_while_nobody_knows_whether_a_visit_was_approved_the_payout_is_uncertain(study, books, visit, pay_all, clock):
    visit()
    is_down = []

    def trouble(path):
        if path.endswith(APPROVE):
            is_down.append(path)
            return AFTER, 502
        return (BEFORE, 503) if is_down else None

    books.trouble = trouble
    pay_all()
    (job,) = jobs(study)
    assert (job.state, job.sent_at) == ("uncertain", None)
    assert "may have been approved" in job.why
    assert books.paid == REWARD
    mend(books)
    clock.pass_minutes(11)
    payout.run(study)
    assert ([job.state for job in jobs(study)], books.paid, is_settled(study)) == (["confirmed"], EARNED, True)


@pytest.mark.parametrize("step", [APPROVE, "/bonus-payments/", PAY])
def test_too_many_requests_are_waited_for_as_told(study, books, visit, clock, step):
    visit()
    visit(2)
    asked = []

    def trouble(path):
        if path.endswith(step):
            asked.append(path)
        return (BEFORE, 429) if path.endswith(step) and len(asked) == 1 else None

    books.trouble = trouble
    payout.plan(study, ADA)
    payout.run(study)
    waiting = jobs(study)[0]
    assert (waiting.state, (waiting.due_at - clock()).total_seconds()) == ("planned", 7)
    assert "trying again in 7 s" in waiting.why
    assert jobs(study)[1].state == "planned"  # the platform has asked for quiet, whoever it is about
    clock.pass_minutes(0.2)
    payout.run(study)
    assert [job.state for job in jobs(study)] == ["confirmed"] * 2
    assert (books.paid, is_settled(study)) == (2 * EARNED, True)


def test_what_is_in_doubt_stays_so_when_its_second_sending_must_wait(study, books, visit, clock):
    visit()
    books.shows_at_once = False
    fail(books, AFTER, HANG_UP, on=PAY)
    payout.plan(study, ADA)
    payout.run(study)
    fail(books, BEFORE, 429, on=PAY)
    payout.settle(study, 1, paid=False, actor=ADA)
    payout.run(study)
    mend(books)
    books.show()  # only now
    clock.pass_minutes(1)
    payout.run(study)
    assert ([job.state for job in jobs(study)], books.paid) == (["confirmed"], EARNED)


@pytest.mark.parametrize(("reward", "currency", "why"), [(71, "USD", "pays 0.71"), (50, "GBP", "pays in GBP")])
def test_nothing_is_approved_while_the_reward_is_typed_wrong(study, books, visit, pay_all, reward, currency, why):
    visit()
    books.reward = reward
    books.currency = currency
    pay_all()
    (job,) = jobs(study)
    assert (job.state, books.paid) == ("refused", 0)
    assert why in job.why
    assert "study.toml: field '" in job.why


def test_a_session_that_another_worker_is_known_by_is_refused(make_study):
    study = make_study(platform={"name": "mturk"})
    address = {"workerId": "A1", "hitId": "H1", "assignmentId": "3A"}
    arrive(study, address, browser="b-1")
    with pytest.raises(NotAllowed):
        arrive(study, address | {"workerId": "B2"}, browser="b-2")
    assert len(visits(study)) == 1


def test_what_ties_visits_to_a_person_goes_with_them(study, visit, pay_all, clock):
    worker = visit()
    visit(visit=1)
    pay_all()
    moderation.withdraw(study, worker.code, ADA)
    assert [(each.session_id, each.study_id, each.browser) for each in visits(study)] == [(None, None, None)] * 2
    other = visit(2)
    workers.forget(study, other.code, ADA)
    assert visits(study)[2].session_id is None


def test_a_pilot_goes_with_its_visits_but_for_what_was_paid(make_study, books, clock):
    study = make_study(platform=books.platform(base_reward=0.5))
    study.pilot = True
    first, _ = (arrive(study, books.arrives(number), browser="b") for number in (1, 2))
    ledger.bonus(study, first.code, EARNED, "", ADA)
    payout.plan(study, ADA)
    payout.run(study)
    pilot.remove_pilot_data(study)
    assert [(each.worker_id, each.session_id) for each in visits(study)] == [(first.id, None)]


@ON_BOTH
def test_a_link_tells_who_came_by_it_and_one_browser_with_several_codes_is_found(make_study):
    study = make_study()
    token = invites.create(study, "phone list", uses=3).path.removeprefix("/join/")
    ann, ben, eve = (invites.claim(study, token, browser=name) for name in ("b-1", "b-1", "b-2"))
    assert len({visit.invite_id for visit in visits(study)} - {None}) == 1
    assert workers.sharing_browsers(study) == {ann.code: [ben.code], ben.code: [ann.code]}
    (came,) = workers.codes_by_invite(study).values()
    assert set(came) == {ann.code, ben.code, eve.code}
    assert [visit.invite.label for visit in workers.visits_of(study, ann.code)] == ["phone list"]
    assert "b-1" not in {visit.browser for visit in visits(study)}
    invites.come_back(study, eve, "b-1")
    assert set(workers.sharing_browsers(study)) == {ann.code, ben.code, eve.code}


@ON_BOTH
def test_kills_at_every_step_with_two_visits_cost_nothing(study, books, visit, clock, monkeypatch):
    """As `test_payouts` kills one visit's payout: here each worker has come twice."""
    killer = StepKiller(study, monkeypatch)

    def pay_all():
        payout.plan(study, ADA)
        payout.run(study)

    for point in count():
        visit(point, 0, EARNED + point)
        visit(point, 1, EARNED)
        killed = killer.kills(point, pay_all)
        clock.pass_minutes(2)
        pay_all()
        for job in jobs(study):
            if job.state == "uncertain":
                payout.settle(study, job.id, paid=False, actor=ADA)
                payout.run(study)
        assert books.paid == owed(study), f"killed at point {point}"
        assert is_settled(study)
        if not killed:
            break
    killer.stop()
    assert point >= 20
