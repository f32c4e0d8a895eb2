"""Much of everything: logins, refusals, words. Those who do nothing of the kind notice nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import func, select
from support.waiting import HANGS

from winokit_collect.study import listings, requesters
from winokit_collect.study.requesters import FREE_BY_ADDRESS, FREE_BY_NAME
from winokit_collect.study.schema import LogEntry


@pytest.fixture
def crowd(app, study, requester):
    """The usual requester, and a colleague."""
    requesters.add(study, "bob", "another long password", "requester:ann")
    return requester


def test_a_flood_of_guesses_for_a_name_is_slowed_down_and_locks_nobody_out(app, study, person, crowd, password):
    evil = person(app, "10.9.0.1")
    statuses = [evil.send("/login", name="ann", password="wrong password") for _ in range(FREE_BY_NAME + 5)]
    assert [answer.status_code for answer in statuses] == [403] * FREE_BY_NAME + [429] * 5
    assert 0 < int(statuses[-1].headers["retry-after"]) <= 15
    # Not even with the right password, or guessing would go on.
    assert evil.send("/login", name="ann", password=password).status_code == 429
    assert person(app, "10.9.9.9").send("/login", name="ann", password=password).url.path == "/requester"
    refused = listings.log_entries(study, action="login refused")
    assert [line.target for line in refused] == ["ann"] * FREE_BY_NAME
    assert [line.detail["status"] for line in listings.log_entries(study, action="refused")] == [429] * 6


def test_a_flood_from_one_address_is_stopped_and_others_log_in(app, study, person, crowd, password):
    evil = person(app, "10.6.6.6")
    statuses = [evil.send("/login", name=f"name{n}", password="x").status_code for n in range(FREE_BY_ADDRESS + 10)]
    assert statuses == [403] * FREE_BY_ADDRESS + [429] * 10
    assert evil.send("/login", name="ann", password=password).status_code == 429
    assert person(app, "10.0.0.7").send("/login", name="ann", password=password).url.path == "/requester"
    other = person(app, "10.0.0.8").send("/login", name="bob", password="another long password")
    assert other.url.path == "/requester"


def test_those_who_are_in_stay_in_during_a_flood(app, study, person, crowd, worker):
    for number in range(30):
        person(app, f"10.6.6.{number % 3}").send("/login", name="ann", password="x")
    assert crowd.get("/requester").url.path == "/requester"
    assert worker.does_a_days_work(1)


def test_the_limit_ends_with_its_time(app, study, person, crowd, password, monkeypatch):
    for _ in range(FREE_BY_NAME + 1):
        person(app).send("/login", name="ann", password="x")
    now = study.now
    monkeypatch.setattr(study, "now", lambda: now() + timedelta(minutes=16))
    assert person(app).send("/login", name="ann", password=password).url.path == "/requester"


def test_a_spoofed_address_is_not_believed(app, study, person, crowd):
    evil = person(app, "10.6.6.6")
    token = evil.token_for("/login")
    headers = ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Client-IP")
    statuses = []
    for number in range(FREE_BY_ADDRESS + 5):
        told = dict.fromkeys(headers, f"10.1.1.{number}")
        fields = {"csrf": token, "name": f"name{number}", "password": "x"}
        statuses.append(evil.client.post("/login", data=fields, headers=told).status_code)
    assert statuses[-5:] == [429] * 5


def test_guesses_sent_at_once_are_counted_like_guesses_sent_one_by_one(app, study, person, crowd):
    people = [person(app, "10.7.0.1") for _ in range(16)]
    ready = [(one, {"csrf": one.token_for("/login"), "name": "ann", "password": "x"}) for one in people]
    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda one: one[0].client.post("/login", data=one[1]).status_code, ready))
    assert set(statuses) <= {403, 429}
    assert statuses.count(403) <= FREE_BY_NAME, statuses


def test_a_crowd_at_the_login_takes_turns(monkeypatch):
    inside = []
    most = []
    together = threading.Barrier(requesters.AT_ONCE, timeout=HANGS)

    class Slow:
        def verify(self, hashed, password):
            inside.append(1)
            most.append(len(inside))
            together.wait()  # nobody is through before as many are inside as may be
            inside.pop()
            return False

    monkeypatch.setattr(requesters, "_hasher", Slow())
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: requesters.verify_password("hash", "x"), range(32)))
    assert len(most) == 32
    assert max(most) == requesters.AT_ONCE


def test_a_flood_of_refusals_does_not_fill_the_log(app, study, stranger, worker):
    for _ in range(100):
        stranger.post("/login", {})
        stranger.get("/task/x/vote")
    with study.store.read() as session:
        assert session.scalar(select(func.count()).where(LogEntry.action == "refused")) == 60
    assert worker.does_a_days_work(1)


def test_a_flood_of_made_up_words_uses_nothing_up(study, worker, twins):
    """Every word that was typed once had a character of its own, of which there are a million."""
    task = worker.take("write")
    for number in range(5):
        words = " ".join(f"{number}{letter}{other}" for letter in "abcdefghij" for other in "klmnopqrst")
        worker.send(f"{task}/feedback", **{**twins, "first": words[:900], "second": words[:900]})
    assert len(study.earlier._codes) == 0
    assert worker.send(f"{task}/write", **twins).url.path == "/begin"
    again = worker.take("write")
    answer = worker.send(f"{again}/write", **twins)
    assert answer.status_code == 422
    assert "too similar" in answer.text


def test_a_flood_of_links_has_a_limit(requester):
    fields = {"label": "x", "uses": "1", "days": "1"}
    for count in ("201", "100000", "-1", "1e9", "９", "0x10", ""):
        assert requester.send("/requester/invites", count=count, **fields).status_code == 422, count


@pytest.mark.parametrize(
    "events", ["[" * 20000, "9" * 5000, '[{"kind": "paste", "amount": 1e999}]', "[1]", "{}", "NaN"]
)
def test_signals_that_no_script_sends_do_no_harm(worker, events):
    task = worker.take("write")
    assert worker.send(f"{task}/signals", events=events).status_code in (204, 422)
    many = "[" + ",".join(['{"kind": "paste", "amount": 100000}'] * 1000) + "]"
    assert worker.send(f"{task}/signals", events=many).status_code == 204
