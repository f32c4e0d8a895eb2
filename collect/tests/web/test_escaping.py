"""Markup that people type is shown as text on every page."""

import pytest

from winokit_collect.study import listings, quality, requesters
from winokit_collect.web.app import create_app

EVIL = '"><script>alert(1)</script>'
RAW_MARKUP = ["<script>alert", '"><script', "onerror=alert"]
PAGES = ["", "/live", "/problems", "/submissions", "/workers", "/invites", "/pay", "/log", "/account"]


@pytest.fixture
def study(make_study):
    return make_study(
        title=f"Twins {EVIL}", contact=EVIL, rules={"fewest_words": 1, "most_words": 60, "least_overlap": 0}
    )


@pytest.fixture
def evil_twins():
    text = f"The {EVIL} barked at the gate{EVIL} and the spaniel ran until _ was tired."
    return {
        "first": text,
        "second": text.replace("tired", "awake"),
        "candidate_1": EVIL,
        "candidate_2": "the spaniel",
        "answer_1": "1",
        "answer_2": "2",
        "anchor": f"gate{EVIL}",
        "pronoun": EVIL[:20],
    }


def is_clean(page):
    return not any(evil in page for evil in RAW_MARKUP)


def test_in_every_field_of_the_writing_page(worker, evil_twins):
    task = worker.take("write")
    for path in ("feedback", "draft", "adversary"):
        assert is_clean(worker.send(f"{task}/{path}", **evil_twins).text)
    assert is_clean(worker.get(f"{task}/write").text)
    assert worker.page.all("input", id="candidate_1", value=EVIL)
    answer = worker.send(f"{task}/write", **evil_twins | {"answer_2": EVIL})
    assert answer.status_code == 422
    assert is_clean(answer.text)


def test_in_stored_twins_wherever_they_are_shown(app, study, worker, requester, evil_twins):
    task = worker.take("write")
    answer = worker.send(f"{task}/write", **evil_twins)
    assert answer.url.path == "/begin", answer.text
    judge = type(worker)(app).join(study)
    judge.take("validate")
    assert "&lt;script&gt;alert" in judge.seen
    assert is_clean(judge.seen)
    number = listings.problems(study).rows[0].id
    code = quality.workers(study)[0].code
    for page in (*PAGES, f"/problems/{number}", f"/workers/{code}"):
        assert is_clean(requester.get(f"/requester{page}").text), page
    assert "&lt;script&gt;alert" in requester.get(f"/requester/problems/{number}").text


def test_in_what_requesters_type(study, requester, worker):
    worker.write()
    code = quality.workers(study)[0].code
    number = listings.problems(study).rows[0].id
    requester.get("/requester")
    requester.send("/requester/invites", label=EVIL, count="1", uses="1", days="1")
    requester.send(f"/requester/workers/{code}/bonus", amount="1", note=EVIL)
    requester.send(f"/requester/problems/{number}/decide", valid="valid", note=EVIL)
    requester.send(f"/requester/workers/{code}/block", why=EVIL)
    for page in (*PAGES, f"/problems/{number}", f"/workers/{code}"):
        answer = requester.get(f"/requester{page}")
        assert is_clean(answer.text), page
    assert "&lt;script&gt;alert" in requester.get("/requester/invites").text
    assert is_clean(worker.get("/finish").text)


def test_in_addresses_and_filters(requester):
    query = dict.fromkeys(("text", "author", "status", "worker", "action"), EVIL)
    for path in ("/requester/problems", "/requester/submissions", "/requester/log"):
        answer = requester.get(path, params=query)
        assert answer.status_code == 200
        assert is_clean(answer.text)
    assert is_clean(requester.get(f"/requester/workers/{EVIL}").text)


def test_in_the_login_and_in_links(study, stranger):
    assert is_clean(stranger.get("/login").text)
    assert is_clean(stranger.send("/login", name=EVIL, password=EVIL).text)
    assert is_clean(stranger.get(f"/join/{EVIL}").text)
    assert is_clean(stranger.get(f"/{EVIL}").text)
    path = requesters.setup_path(study)
    stranger.get(path)
    assert is_clean(stranger.send(path, name=EVIL, password="x", again="x").text)


def test_what_a_signed_cookie_says_is_escaped_too(study):
    from fastapi.testclient import TestClient

    client = TestClient(create_app(study))
    client.cookies.set("winokit-notice", study.signer.sign("notice-session", EVIL))
    page = client.get("/").text
    assert "&lt;script&gt;alert" in page
    assert is_clean(page)
