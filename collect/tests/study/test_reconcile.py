"""Every difference between the ledger and the platform's books is found, to the cent."""

import pytest
from collect_support.stand_in import AFTER, HANG_UP, prolific_stand_in
from collect_support.studies import database_of
from sqlalchemy import text, update

from winokit.extend import BadInput
from winokit_collect.platforms import payout, reconcile
from winokit_collect.platforms.base import RewardDiffers, arrive, warn_of_reward
from winokit_collect.study import ledger, workers
from winokit_collect.study.refusals import NotNow
from winokit_collect.study.schema import Payment, PlatformVisit

ADA = "requester:ada"
REWARD = 50
EARNED = 123
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
def pay_worker(study, books, clock):
    """A function that lets worker `number` come for visit `visit`, earn and be paid, and returns the worker."""

    def come_and_be_paid(number, visit=0):
        clock.pass_minutes(60)
        worker = arrive(study, books.arrives(number, visit))
        ledger.bonus(study, worker.code, EARNED, "for the tests", ADA)
        payout.plan(study, ADA)
        payout.run(study)
        return worker

    return come_and_be_paid


def list_differences(study):
    """Kind, ledger cents and platform cents of each difference."""
    report = reconcile.reconcile(study)
    return [(row.kind, row.ledger_cents, row.platform_cents) for row in report.differences]


@ON_BOTH
def test_books_that_agree_differ_by_nothing(study, books, pay_worker):
    for number in range(3):
        pay_worker(number)
    pay_worker(1, visit=1)
    report = reconcile.reconcile(study)
    assert list(report.differences) == []
    assert report.disagreement_cents == 0
    assert report.ledger_cents == report.platform_cents == books.paid == 4 * EARNED


def test_a_visit_that_the_platform_approved_by_itself_is_found_and_entered(study, books, pay_worker, clock):
    worker = pay_worker(1)
    clock.pass_minutes(60)
    arrive(study, books.arrives(1, 1))
    books.ends(books.session(1, 1), "APPROVED")
    assert list_differences(study) == [("visit", 0, REWARD)]
    assert reconcile.adopt(study, ADA) == 1
    assert list_differences(study) == []
    assert reconcile.adopt(study, ADA) == 0
    assert ledger.balances(study)[0].open_cents == -REWARD
    ledger.bonus(study, worker.code, 200, "more", ADA)
    payout.plan(study, ADA)
    payout.run(study)
    assert books.paid == EARNED + 200


def test_a_reward_that_was_typed_wrong_is_found_for_every_visit(study, books, pay_worker):
    """A ledger that balances may still have paid every worker too much."""
    for number in range(3):
        pay_worker(number)
    with study.store.write() as session:
        session.execute(update(Payment).where(Payment.reason == "visit").values(cents=-29))
    report = reconcile.reconcile(study)
    assert report.disagreement_cents == 3 * (REWARD - 29)
    assert "the ledger says 0.29 for the visit, Prolific pays 0.50" in report.differences[0].why
    assert reconcile.adopt(study, ADA) == 3
    assert list_differences(study) == []


def test_a_bonus_paid_by_hand_there_and_one_that_never_arrived_are_found(study, books, pay_worker):
    pay_worker(1)
    pay_worker(2)
    books.pays_by_hand(books.session(1), 30)
    books.submissions[books.session(2)]["bonus_payments"] = []
    assert sorted(list_differences(study)) == [("bonus", 0, 30), ("bonus", EARNED - REWARD, 0)]
    assert reconcile.reconcile(study).disagreement_cents == 30 + EARNED - REWARD


def test_a_payout_in_doubt_that_the_platform_shows_is_found(study, books, clock):
    worker = arrive(study, books.arrives(1))
    ledger.bonus(study, worker.code, EARNED, "", ADA)
    books.trouble = lambda path: (AFTER, HANG_UP) if path.endswith("/pay/") else None
    payout.plan(study, ADA)
    payout.run(study)
    books.trouble = lambda path: None
    assert list_differences(study) == [("bonus", 0, EARNED - REWARD)]
    (difference,) = reconcile.reconcile(study).differences
    assert "in doubt here" in difference.why
    payout.ask_again(study, 1)
    payout.run(study)
    assert list_differences(study) == []


def test_somebody_who_was_paid_and_is_not_known_here_is_found(study, books, pay_worker):
    pay_worker(1)
    books.arrives(9)
    books.ends(books.session(9), "APPROVED")
    assert list_differences(study) == [("visit", 0, REWARD)]
    (difference,) = reconcile.reconcile(study).differences
    assert difference.code == ""


def test_who_was_forgotten_is_no_difference(study, pay_worker):
    workers.forget(study, pay_worker(1).code, ADA)
    assert list_differences(study) == []


def test_what_was_paid_before_visits_were_kept_is_found_by_worker(study, pay_worker):
    pay_worker(1)
    with study.store.write() as session:
        for table in ("payments", "payout_jobs"):
            session.execute(text(f"UPDATE {table} SET visit_id = NULL"))
    assert list_differences(study) == []
    with study.store.write() as session:
        session.execute(update(PlatformVisit).values(state="open"))
        session.execute(update(Payment).where(Payment.reason == "visit").values(cents=-1))
    assert sorted(list_differences(study)) == [("visit", 0, REWARD), ("visit", 1, 0)]


def test_a_long_list_is_read_page_by_page(study, books):
    for number in range(101):
        books.arrives(number)
    assert reconcile.reconcile(study).visits == 101


def test_too_many_requests_are_waited_for_some_times(study, books, pay_worker):
    pay_worker(1)
    waits = []

    def refuse_twice(path):
        is_refused = "?study=" in path and len(waits) < 2
        return ("before", 429) if is_refused else None

    books.trouble = refuse_twice
    report = reconcile.reconcile(study, wait=waits.append)
    assert report.disagreement_cents == 0
    assert waits == [7, 7]


def test_plain_links_have_no_other_books(make_study):
    with pytest.raises(BadInput, match="plain links cannot be asked"):
        reconcile.reconcile(make_study())


@pytest.mark.parametrize(("reward", "currency", "why"), [(29, "USD", "pays 0.29"), (50, "GBP", "pays in GBP")])
def test_a_server_does_not_start_with_a_reward_that_is_typed_wrong(study, books, reward, currency, why):
    assert warn_of_reward(study) == ""
    books.reward = reward
    books.currency = currency
    with pytest.raises(RewardDiffers, match=why):
        warn_of_reward(study)
    books.trouble = lambda path: ("before", 503)
    assert "could not be compared" in warn_of_reward(study)


def test_marked_as_paid_can_be_taken_back_for_all_who_were_marked_at_once(make_study, clock):
    study = make_study()
    people = [workers.join(study, "links") for _ in range(3)]
    for person in people:
        ledger.bonus(study, person.code, 40, "", ADA)
    payout.plan(study, ADA, [people[0].code])
    clock.pass_minutes(1)
    assert payout.plan(study, ADA) == 2
    last = ledger.payouts(study, 9).ended[0]
    assert payout.take_back(study, last.id, "requester:bea") == 2
    assert [balance.open_cents for balance in ledger.balances(study)] == [0, 40, 40]
    with pytest.raises(NotNow, match="nothing to take back"):
        payout.take_back(study, last.id, ADA)
    assert payout.plan(study, ADA) == 2
    assert {balance.open_cents for balance in ledger.balances(study)} == {0}


def test_what_a_platform_paid_cannot_be_taken_back(study, pay_worker):
    pay_worker(1)
    with pytest.raises(NotNow, match="nothing to take back"):
        payout.take_back(study, 1, ADA)
