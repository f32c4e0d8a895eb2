"""Every answer has safe headers, every body a limit, and every accident a page."""

import sqlite3

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from winokit.extend import BadInput
from winokit_collect.study import export, invites
from winokit_collect.web import entry
from winokit_collect.web.app import MOST_BYTES, create_app

PATHS = ["/", "/login", "/begin", "/nothing", "/requester", "/join/forged", "/static/collect.css", "/static/none.css"]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_has_the_headers(stranger, path):
    headers = stranger.client.get(path, follow_redirects=False).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "strict-transport-security" not in headers


def test_pages_are_not_kept_and_static_files_are(stranger):
    assert stranger.get("/").headers["cache-control"] == "no-store"
    assert "immutable" in stranger.get("/static/htmx.min.js").headers["cache-control"]


def test_no_page_has_anything_inline(worker, requester):
    pages = [worker.get(path).text for path in ("/begin", "/guidelines/write", "/finish")]
    pages += [requester.get(f"/requester{path}").text for path in ("", "/problems", "/workers", "/pay", "/log")]
    worker.take("write")
    pages.append(worker.seen)
    for page in pages:
        assert "<style" not in page
        assert " style=" not in page
        assert "<script>" not in page
        assert " onclick=" not in page


def test_over_tls_cookies_are_secure_and_browsers_are_told_to_stay(study):
    client = TestClient(create_app(study, secure=True), base_url="https://testserver")
    answer = client.get("/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-winokit-visitor=")
    assert "Secure" in cookie
    assert answer.headers["strict-transport-security"].startswith("max-age=")


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(stranger):
    cookie = stranger.get("/").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


def test_a_body_that_says_it_is_too_large_is_refused_unread(stranger, refused):
    stranger.get("/login")

    def unread_body():
        raise AssertionError("the body was read")
        yield b""

    answer = stranger.post("/login", content=unread_body(), headers={"content-length": str(10 * 2**20)})
    assert answer.status_code == 413
    assert "That is too large" in answer.text
    assert answer.headers["x-frame-options"] == "DENY"
    assert refused() == [("stranger", "/login", 413)]


def test_a_body_that_says_nothing_is_refused_once_it_is_too_large(stranger):
    def endless_body():
        for _ in range(10 * 2**20 // 8192):
            yield b"x" * 8192

    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = stranger.post("/login", content=endless_body(), headers=headers)
    assert answer.status_code == 413


def test_the_longest_twins_still_fit(worker, twins):
    task = worker.take("write")
    longest = "漢" * 1000
    answer = worker.send(f"{task}/draft", **twins | {"first": longest, "second": longest})
    assert answer.status_code == 200
    assert len("%XX%XX%XX" * 2000) < MOST_BYTES


def test_an_accident_of_ours_is_a_page_and_tells_nothing(stranger, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(entry, "known_worker", fail)
    answer = stranger.get("/")
    assert answer.status_code == 500
    assert "Something went wrong here" in answer.text
    assert "secret detail" not in answer.text
    assert answer.headers["x-frame-options"] == "DENY"
    assert "secret detail" in caplog.text


def test_a_study_out_of_order_is_an_accident_to_workers_and_a_reason_to_its_requester(
    study, stranger, requester, monkeypatch, caplog
):
    path = invites.create(study).path
    stranger.get(path)
    (study.folder / "consent.md").unlink()
    del study.consent
    answer = stranger.send(path)
    assert answer.status_code == 500
    assert str(study.folder) not in answer.text
    assert "consent.md" in caplog.text

    def fail(_):
        raise BadInput("problems.jsonl: no such file")

    monkeypatch.setattr(export, "archive", fail)
    answer = requester.get("/requester/export.zip")
    assert answer.status_code == 400
    assert "Problems.jsonl: no such file." in answer.text


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/join/%00", "/task/%00/vote", "/a/../../b"],
)
def test_path_tricks_lead_nowhere(stranger, path):
    answer = stranger.client.get(path, follow_redirects=False)
    assert answer.status_code in (403, 404)
    assert "create_app" not in answer.text


def test_there_is_no_description_of_the_app_for_strangers(stranger):
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert stranger.get(path).status_code == 404


def test_a_method_that_a_page_does_not_know_is_a_friendly_page(stranger):
    answer = stranger.client.delete("/login")
    assert answer.status_code == 405
    assert "does not work that way" in answer.text


def test_a_full_disk_is_told_to_whoever_watches_and_to_the_requester(study, requester, monkeypatch):
    assert requester.get("/health").status_code == 200
    monkeypatch.setattr(type(study.store), "disk_trouble", lambda store: "the disk is nearly full")
    answer = requester.get("/health")
    assert answer.status_code == 503
    assert answer.json() == {"status": "the disk is nearly full"}
    assert "The disk is nearly full. What workers hand in may be lost" in requester.get("/requester").text


def test_what_finds_no_room_is_a_page_and_no_traceback(study, requester, monkeypatch):
    def fail_to_write(*_):
        raise sqlite3.OperationalError("database or disk is full")

    requester.get("/requester")
    event.listen(study.store.engine, "before_cursor_execute", fail_to_write)
    answer = requester.send("/requester/pause", paused="yes")
    event.remove(study.store.engine, "before_cursor_execute", fail_to_write)
    assert answer.status_code >= 400
    assert not study.paused
