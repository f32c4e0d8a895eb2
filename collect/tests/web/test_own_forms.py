"""A form is taken only from the person it was shown to."""

import pytest
from fastapi.routing import APIRoute

from winokit_collect.web.forms import SECONDS, WORKER

PATH_VALUES = {"token": "t", "kind": "write", "code": "w-x", "number": "1", "invite": "i"}


def form_paths(app):
    """Path of every address that takes a form, with values filled in."""
    paths = []
    for route in walk_routes(app.routes):
        if isinstance(route, APIRoute) and "POST" in route.methods:
            path = route.path
            for name, value in PATH_VALUES.items():
                path = path.replace("{" + name + "}", value)
            paths.append(path)
    return paths


def walk_routes(routes):
    """Every route and the routes inside of it."""
    for route in routes:
        yield route
        original_router = getattr(route, "original_router", None)
        inner_routes = getattr(route, "routes", None) or getattr(original_router, "routes", [])
        yield from walk_routes(inner_routes)


def test_every_form_without_a_token_is_refused(app, stranger, worker, requester):
    paths = form_paths(app)
    assert len(paths) > 25
    for somebody in (stranger, worker, requester):
        somebody.get("/login")
        statuses = {path: somebody.post(path, follow_redirects=False).status_code for path in paths}
        assert set(statuses.values()) == {403}, statuses


def test_every_form_with_a_forged_token_is_refused(app, worker, requester):
    for somebody in (worker, requester):
        for path in form_paths(app):
            assert somebody.post(path, data={"csrf": "0" * 64}).status_code == 403


def test_another_workers_token_opens_nothing(app, study, worker, browser_of):
    other_worker = type(worker)(app).join(study)
    worker.get("/begin")
    other_worker.get("/begin")
    answer = worker.post("/begin/write", data={"csrf": other_worker.token})
    assert answer.status_code == 403
    assert worker.post("/begin/write", data={"csrf": worker.token}).status_code == 200


def test_a_token_from_before_the_login_opens_nothing_after_it(app, study, requester, password):
    requester.get("/requester")
    old_token = requester.token
    requester.send("/logout")
    requester.get("/login")
    login_token = requester.token
    requester.send("/login", name="ann", password=password)
    for token in (old_token, login_token):
        assert requester.post("/requester/pause", data={"csrf": token, "paused": "yes"}).status_code == 403
    assert not study.paused


def test_a_requesters_token_is_none_for_work(app, study, requester):
    requester.join(study)
    requester.get("/requester")
    token = requester.token
    assert requester.post("/begin/write", data={"csrf": token}).status_code == 403


def test_the_token_also_comes_in_a_header_as_scripts_send_it(worker, twins):
    task = worker.take("write")
    token = worker.token
    assert worker.post(f"{task}/feedback", data=twins, headers={"X-CSRF-Token": token}).status_code == 200
    assert worker.post(f"{task}/feedback", data=twins, headers={"X-CSRF-Token": "x"}).status_code == 403


def test_a_form_from_another_site_is_refused_even_with_a_token(worker):
    worker.get("/begin")
    answer = worker.post("/begin/write", data={"csrf": worker.token}, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403


def test_refusals_are_in_the_audit_log_without_what_the_address_held(study, worker, refused):
    worker.post("/task/secret-token/skip")
    actor, address, status = refused()[0]
    assert actor.startswith("worker:w-")
    assert address == "/task/{token}/skip"
    assert status == 403


def test_a_flood_of_refusals_does_not_fill_the_log(stranger, refused):
    for _ in range(80):
        stranger.post("/login")
    assert len(refused()) == 60


@pytest.mark.parametrize("cookie", ["", "forged", "Incifg.aaaaaa.forged", "w-abc"])
def test_a_forged_cookie_is_nobody(stranger, cookie):
    stranger.client.cookies.set("winokit-worker", cookie)
    stranger.client.cookies.set("winokit-requester", cookie)
    assert stranger.get("/begin").status_code == 403
    assert "Log in" in stranger.get("/requester").text


def test_a_cookie_of_one_purpose_is_none_of_another(stranger, study):
    stranger.client.cookies.set("winokit-requester", study.signer.sign("worker-session", [1, 1]))
    assert "Log in" in stranger.get("/requester").text


def test_a_session_ends_with_its_time(worker, monkeypatch):
    assert worker.get("/begin").status_code == 200
    monkeypatch.setitem(SECONDS, WORKER, -1)
    assert worker.get("/begin").status_code == 403


def test_a_form_with_a_file_is_refused(worker):
    worker.get("/begin")
    answer = worker.post("/begin/write", data={"csrf": worker.token}, files={"file": ("x.txt", b"x")})
    assert answer.status_code == 400
