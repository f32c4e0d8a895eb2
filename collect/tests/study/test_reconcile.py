"""The ledger beside the platform's books: every way in which they can disagree is found, to the cent."""

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
def paid(study, books, clock):
    """Makes a worker who has come, earned and been paid."""

    def make(number, visit=0):
        clock.pass_minutes(60)
        worker = arrive(study, books.arrives(number, visit))
        ledger.bonus(study, worker.code, EARNED, "for the tests", ADA)
        payout.plan(study, ADA)
        payout.run(study)
        return worker

    return make


def differences(study):
    found = reconcile.reconcile(study)
    return [(each.kind, each.ledger_cents, each.platform_cents) for each in found.differences], found


@ON_BOTH
def test_books_that_agree_differ_by_nothing(study, books, paid):
    for number in range(3):
        paid(number)
    paid(1, visit=1)
    none, found = differences(study)
    assert (none, found.disagreement_cents) == ([], 0)
    assert found.ledger_cents == found.platform_cents == books.paid == 4 * EARNED


def test_a_visit_that_the_platform_approved_by_itself_is_found_and_entered(study, books, paid, clock):
    worker = paid(1)
    clock.pass_minutes(60)
    arrive(study, books.arrives(1, 1))
    books.ends(books.session(1, 1), "APPROVED")
    assert differences(study)[0] == [("visit", 0, REWARD)]
    assert reconcile.adopt(study, ADA) == 1
    assert differences(study)[0] == []
    assert reconcile.adopt(study, ADA) == 0
    assert ledger.balances(study)[0].open_cents == -REWARD
    ledger.bonus(study, worker.code, 200, "more", ADA)
    payout.plan(study, ADA)
    payout.run(study)
    assert books.paid == EARNED + 200


def test_a_reward_that_was_typed_wrong_is_found_for_every_visit(study, books, paid):
    """What 25 workers were paid too much, in a ledger that was even."""
    for number in range(3):
        paid(number)
    with study.store.write() as session:
        session.execute(update(Payment).where(Payment.reason == "visit").values(cents=-29))
    found = differences(study)[1]
    assert found.disagreement_cents == 3 * (REWARD - 29)
    assert "the ledger says 0.29 for the visit, Prolific pays 0.50" in found.differences[0].why
    assert reconcile.adopt(study, ADA) == 3
    assert differences(study)[0] == []


def test_a_bonus_paid_by_hand_there_and_one_that_never_arrived_are_found(study, books, paid):
    paid(1)
    paid(2)
    books.pays_by_hand(books.session(1), 30)
    books.submissions[books.session(2)]["bonus_payments"] = []
    found, whole = differences(study)
    assert sorted(found) == [("bonus", 0, 30), ("bonus", EARNED - REWARD, 0)]
    assert whole.disagreement_cents == 30 + EARNED - REWARD


def test_a_payout_in_doubt_that_the_platform_shows_is_found(study, books, clock):
    worker = arrive(study, books.arrives(1))
    ledger.bonus(study, worker.code, EARNED, "", ADA)
    books.trouble = lambda path: (AFTER, HANG_UP) if path.endswith("/pay/") else None
    payout.plan(study, ADA)
    payout.run(study)
    books.trouble = lambda path: None
    found, whole = differences(study)
    assert found == [("bonus", 0, EARNED - REWARD)]
    assert "in doubt here" in whole.differences[0].why
    payout.ask_again(study, 1)
    payout.run(study)
    assert differences(study)[0] == []


def test_somebody_who_was_paid_and_is_not_known_here_is_found(study, books, paid):
    paid(1)
    books.arrives(9)
    books.ends(books.session(9), "APPROVED")
    found, whole = differences(study)
    assert (found, whole.differences[0].code) == ([("visit", 0, REWARD)], "")


def test_who_was_forgotten_is_no_difference(study, paid):
    workers.forget(study, paid(1).code, ADA)
    assert differences(study)[0] == []


def test_what_was_paid_before_visits_were_kept_is_found_by_worker(study, paid):
    paid(1)
    with study.store.write() as session:
        for table in ("payments", "payout_jobs"):
            session.execute(text(f"UPDATE {table} SET visit_id = NULL"))
    assert differences(study)[0] == []
    with study.store.write() as session:
        session.execute(update(PlatformVisit).values(state="open"))
        session.execute(update(Payment).where(Payment.reason == "visit").values(cents=-1))
    assert sorted(differences(study)[0]) == [("visit", 0, REWARD), ("visit", 1, 0)]


def test_a_long_list_is_read_page_by_page(study, books):
    for number in range(101):
        books.arrives(number)
    assert reconcile.reconcile(study).visits == 101


def test_too_many_requests_are_waited_for_some_times(study, books, paid):
    paid(1)
    waited = []
    books.trouble = lambda path: ("before", 429) if "?study=" in path and len(waited) < 2 else None
    assert reconcile.reconcile(study, wait=waited.append).disagreement_cents == 0
    assert waited == [7, 7]


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


def test_what_a_platform_paid_cannot_be_taken_back(study, paid):
    paid(1)
    with pytest.raises(NotNow, match="nothing to take back"):
        payout.take_back(study, 1, ADA)
