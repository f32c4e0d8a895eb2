"""The page Pay shows payouts as the server sends them, and those in doubt."""

import threading

import pytest
from collect_support.people import Browser
from collect_support.server import Server
from collect_support.stand_in import AFTER, HANG_UP, prolific_stand_in
from sqlalchemy import text
from support.waiting import HANGS, until

from winokit_collect.platforms import payout
from winokit_collect.platforms.base import arrive
from winokit_collect.study import ledger, listings
from winokit_collect.web.app import create_app

EARNED = 123
REWARD = 50


@pytest.fixture
def books(monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "tok-1")
    with prolific_stand_in(REWARD) as books:
        yield books


@pytest.fixture
def study(make_study, books):
    study = make_study(platform=books.platform(base_reward=0.5))
    for number in range(2):
        worker = arrive(study, books.arrives(number))
        ledger.bonus(study, worker.code, EARNED, "for the tests", "requester:ada")
    return study


def hang_up_after_paying(books):
    books.trouble = lambda path: (AFTER, HANG_UP) if path.endswith("/pay/") else None


def test_pressing_plans_and_the_page_follows(study, books, requester):
    requester.get("/requester/pay")
    assert "Pay all: $2.46" in requester.seen
    page = requester.send("/requester/pay/settle").text
    assert "2 payouts in transit" in page
    assert "0 of 2 payouts done" in page
    assert requester.page.all("div", id="payouts")[0]["hx-trigger"] == "every 2s"
    assert books.paid == 0
    assert "Pay all" not in page
    for done_count in (0, 1):
        for _ in range(2):  # a visit is approved, a bonus is sent
            piece = requester.get("/requester/pay/live")
            assert f"{done_count} of 2 payouts done" in piece.text
            assert "HX-Refresh" not in piece.headers
            payout.step(study)
    assert requester.get("/requester/pay/live").headers["HX-Refresh"] == "true"
    page = requester.get("/requester/pay").text
    assert page.count("✓ paid") == 2
    assert "hx-trigger" not in page
    assert books.paid == 2 * EARNED


def test_an_uncertain_payout_is_asked_about_and_settled_on_the_page(study, books, requester):
    books.shows_at_once = False
    hang_up_after_paying(books)
    requester.get("/requester/pay")
    requester.send("/requester/pay/settle")
    payout.run(study)
    page = requester.get("/requester/pay").text
    assert "Uncertain: $1.46" in page
    assert "It is uncertain whether $1.46 was paid" in requester.get("/requester").text
    requester.get("/requester/pay")
    books.to_show.pop()  # the second was paid, and Prolific never shows it
    books.show()
    assert "Asking the platform again" in requester.send("/requester/pay/1/ask").text
    assert requester.send("/requester/pay/2/settle").status_code == 422
    requester.get("/requester/pay")
    assert "Recorded as paid" in requester.send("/requester/pay/2/settle", paid="yes").text
    payout.run(study)
    page = requester.get("/requester/pay").text
    assert "Uncertain" not in page
    assert "requester:ann" in page
    assert books.paid == 2 * EARNED
    assert requester.send("/requester/pay/2/settle", paid="no").status_code == 409
    entries = listings.log_entries(study, action="payout confirmed")
    assert [line.actor for line in entries] == ["requester:ann", "requester:ann"]


def test_the_server_pays_by_itself_and_goes_on_where_another_left_off(study, books):
    payout.plan(study, "requester:ada")
    payout.step(study)
    app = create_app(study)
    with Browser(app).client:
        until(lambda: books.paid == 2 * EARNED)
        until(lambda: not ledger.payouts(study, 9).planned)
    assert [job.state for job in ledger.payouts(study, 9).ended] == ["confirmed"] * 2
    names = {thread.name for thread in threading.enumerate()}
    assert "payouts" not in names


def test_a_server_killed_while_the_platform_pays_is_started_again_and_pays_nobody_twice(study, books):
    is_paying = threading.Event()
    go_on = threading.Event()
    answer_call = books.do

    def answer_slowly(method, path, body):
        answer = answer_call(method, path, body)
        if path.endswith("/pay/") and not is_paying.is_set():
            is_paying.set()
            go_on.wait(HANGS)
        return answer

    books.do = answer_slowly
    payout.plan(study, "requester:ada")
    server = Server(study.folder)
    assert is_paying.wait(HANGS)
    server.process.kill()
    server.wait_for_end()
    go_on.set()
    assert books.paid == EARNED
    with study.store.write() as session:  # a minute later
        session.execute(text("UPDATE payout_jobs SET due_at = planned_at"))
    server = Server(study.folder)
    try:
        until(lambda: not ledger.payouts(study, 9).planned)
    finally:
        server.stop()
    assert [job.state for job in ledger.payouts(study, 9).ended] == ["confirmed"] * 2
    assert books.paid == 2 * EARNED


def test_the_books_are_compared_on_a_page_and_rewards_are_entered(study, books, requester):
    payout.plan(study, "requester:ada")
    payout.run(study)
    page = requester.get("/requester/pay/reconcile").text
    assert "Every visit and every bonus is in both books" in page
    arrive(study, books.arrives(0, 1))
    books.ends(books.session(0, 1), "APPROVED")
    page = requester.get("/requester/pay/reconcile").text
    assert "<dt>Money on which the two books disagree</dt><dd>$0.50</dd>" in page
    assert "1 visit" in requester.send("/requester/pay/reconcile").text
    assert "<dd>$0.00</dd>" in requester.get("/requester/pay/reconcile").text
    books.trouble = lambda path: ("before", 429)
    assert requester.get("/requester/pay/reconcile").status_code == 409


def test_a_payout_that_waits_for_the_platform_says_so(study, books, requester):
    books.trouble = lambda path: ("before", 429) if path.endswith("/transition/") else None
    payout.plan(study, "requester:ada")
    payout.run(study)
    assert "Trying again in 7 s" in requester.get("/requester/pay").text.replace("trying", "Trying")


def test_an_approval_in_doubt_is_shown_as_not_sent_yet(study, books, requester):
    approvals = []

    def fail_after_approving(path):
        if path.endswith("/transition/"):
            approvals.append(path)
        return ("after", 502) if approvals else None

    books.trouble = fail_after_approving
    payout.plan(study, "requester:ada", None)
    payout.step(study)
    page = requester.get("/requester/pay").text
    assert "not sent yet" in page
    assert "may have been approved" in page


def test_what_was_paid_before_there_were_payouts_is_shown_as_that(study, requester):
    with study.store.write() as session:
        session.execute(text("UPDATE payments SET settled_at = at, settlement = 'old-1' WHERE id = 1"))
        session.execute(text("UPDATE payments SET settled_at = at WHERE id = 2"))  # killed in the middle
    page = requester.get("/requester/pay").text
    assert "paid before: old-1" in page
    assert "paid before: no receipt" in page
    assert "Pay all" not in page
