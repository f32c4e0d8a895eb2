"""Floods of logins, refusals, words and links are stopped, and other people notice nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import product

import pytest
from sqlalchemy import func, select
from support.waiting import HANGS

from winokit_collect.study import listings, requesters
from winokit_collect.study.requesters import FREE_BY_ADDRESS, FREE_BY_NAME
from winokit_collect.study.schema import LogEntry


@pytest.fixture
def crowd(app, study, requester):
    """The browser of the requester ann, in a study that has a second one, bob."""
    requesters.add(study, "bob", "another long password", "requester:ann")
    return requester


def test_a_flood_of_guesses_for_a_name_is_slowed_down_and_locks_nobody_out(app, study, person, crowd, password):
    evil = person(app, "10.9.0.1")
    answers = [evil.send("/login", name="ann", password="wrong password") for _ in range(FREE_BY_NAME + 5)]
    statuses = [answer.status_code for answer in answers]
    assert statuses == [403] * FREE_BY_NAME + [429] * 5
    assert 0 < int(answers[-1].headers["retry-after"]) <= 15
    # Not even with the right password, or guessing would go on.
    assert evil.send("/login", name="ann", password=password).status_code == 429
    from_elsewhere = person(app, "10.9.9.9").send("/login", name="ann", password=password)
    assert from_elsewhere.url.path == "/requester"
    refused_logins = listings.log_entries(study, action="login refused")
    assert [line.target for line in refused_logins] == ["ann"] * FREE_BY_NAME
    refusals = listings.log_entries(study, action="refused")
    assert [line.detail["status"] for line in refusals] == [429] * 6


def test_a_flood_from_one_address_is_stopped_and_others_log_in(app, study, person, crowd, password):
    evil = person(app, "10.6.6.6")
    names = [f"name{number}" for number in range(FREE_BY_ADDRESS + 10)]
    statuses = [evil.send("/login", name=name, password="x").status_code for name in names]
    assert statuses == [403] * FREE_BY_ADDRESS + [429] * 10
    assert evil.send("/login", name="ann", password=password).status_code == 429
    ann = person(app, "10.0.0.7").send("/login", name="ann", password=password)
    assert ann.url.path == "/requester"
    bob = person(app, "10.0.0.8").send("/login", name="bob", password="another long password")
    assert bob.url.path == "/requester"


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
    header_names = ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Client-IP")
    statuses = []
    for number in range(FREE_BY_ADDRESS + 5):
        headers = dict.fromkeys(header_names, f"10.1.1.{number}")
        fields = {"csrf": token, "name": f"name{number}", "password": "x"}
        statuses.append(evil.client.post("/login", data=fields, headers=headers).status_code)
    assert statuses[-5:] == [429] * 5


def test_guesses_sent_at_once_are_counted_like_guesses_sent_one_by_one(app, study, person, crowd):
    people = [person(app, "10.7.0.1") for _ in range(16)]
    tokens = [somebody.token_for("/login") for somebody in people]

    def guess_password(somebody, token):
        fields = {"csrf": token, "name": "ann", "password": "x"}
        return somebody.client.post("/login", data=fields).status_code

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(guess_password, people, tokens))
    assert set(statuses) <= {403, 429}
    assert statuses.count(403) <= FREE_BY_NAME, statuses


def test_a_crowd_at_the_login_takes_turns(monkeypatch):
    running = []
    running_counts = []
    barrier = threading.Barrier(requesters.AT_ONCE, timeout=HANGS)

    class SlowHasher:
        def verify(self, hashed, password):
            running.append(1)
            running_counts.append(len(running))
            barrier.wait()  # nobody is through before as many are inside as may be
            running.pop()
            return False

    monkeypatch.setattr(requesters, "_hasher", SlowHasher())
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: requesters.verify_password("hash", "x"), range(32)))
    assert len(running_counts) == 32
    assert max(running_counts) == requesters.AT_ONCE


def test_a_flood_of_refusals_does_not_fill_the_log(app, study, stranger, worker):
    for _ in range(100):
        stranger.post("/login", {})
        stranger.get("/task/x/vote")
    with study.store.read() as session:
        refusal_count = session.scalar(select(func.count()).where(LogEntry.action == "refused"))
        assert refusal_count == 60
    assert worker.does_a_days_work(1)


def test_a_flood_of_made_up_words_uses_nothing_up(study, worker, twins):
    """Only words that were handed in get a character of their own, of which there are a million."""
    task = worker.take("write")
    for number in range(5):
        pairs_of_letters = product("abcdefghij", "klmnopqrst")
        words = " ".join(f"{number}{first}{second}" for first, second in pairs_of_letters)
        fields = twins | {"first": words[:900], "second": words[:900]}
        worker.send(f"{task}/feedback", **fields)
    assert len(study.earlier._codes) == 0
    assert worker.send(f"{task}/write", **twins).url.path == "/begin"
    next_task = worker.take("write")
    answer = worker.send(f"{next_task}/write", **twins)
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
