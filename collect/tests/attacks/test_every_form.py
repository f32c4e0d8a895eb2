"""Every address that changes anything asks for the token of whoever sends it: found by walking the app, so that a
new one cannot be forgotten."""

import pytest
from starlette.routing import Mount

FILLED = {"token": "t", "kind": "write", "code": "w-x", "number": "1", "invite": "i", "step": "quiz", "what": "vote"}
READING = {"GET", "HEAD", "OPTIONS"}
STALE = ("out of date", "open too long")


def walk(routes):
    for route in routes:
        inner = getattr(route, "routes", None) or getattr(getattr(route, "original_router", None), "routes", None)
        yield from walk(inner) if inner else [route]


def changing(app):
    """Every method and address that may change something, its places filled in."""
    for route in walk(app.routes):
        if isinstance(route, Mount):
            assert route.path == "/static"
            continue
        for method in sorted((route.methods or {"GET"}) - READING):
            path = route.path
            for name, value in FILLED.items():
                path = path.replace("{" + name + "}", value)
            assert "{" not in path, f"{path}: say in FILLED what stands there"
            yield method, path


@pytest.fixture
def everybody(app, study, stranger, worker, requester):
    return [stranger, worker, requester]


def test_the_walk_finds_the_forms(app):
    found = list(changing(app))
    assert len(found) == len(set(found)) > 25
    assert {("POST", "/login"), ("POST", "/task/t/write"), ("POST", "/requester/pay/settle")} <= set(found)


@pytest.mark.parametrize("token", ["", "0" * 64, "é" * 9, "A" * 5000])
def test_no_token_or_a_forged_one_is_refused_everywhere(app, everybody, token):
    for somebody in everybody:
        for method, path in changing(app):
            answer = somebody.client.request(method, path, data={"csrf": token}, follow_redirects=False)
            assert answer.status_code == 403, (method, path)
            assert any(told in answer.text for told in STALE), (method, path)


def test_somebody_elses_token_is_refused_everywhere(app, study, person, everybody):
    other = person(app).join(study)
    other.client.cookies.set("winokit-requester", study.signer.sign("requester-session", [1, 99]))
    for somebody in everybody:
        for method, path in changing(app):
            fields = {"csrf": other.token_for(path)}
            answer = somebody.client.request(method, path, data=fields, follow_redirects=False)
            assert answer.status_code == 403, (method, path)


def test_the_right_token_is_what_was_missing(app, everybody):
    """Otherwise the tests above would be content with an app that refuses everything."""
    opened = set()
    for somebody in everybody:
        for method, path in changing(app):
            if path in ("/logout", "/sign-out"):
                continue
            fields = {"csrf": somebody.token_for(path)}
            answer = somebody.client.request(method, path, data=fields, follow_redirects=False)
            if not any(told in answer.text for told in STALE):
                opened.add((method, path))
    assert opened == {found for found in changing(app) if found[1] not in ("/logout", "/sign-out")}


@pytest.mark.parametrize("place", ["query", "json", "cookie"])
def test_a_token_counts_only_where_a_form_or_a_script_puts_it(worker, place):
    token = worker.token_for("/begin")
    sent = {"query": {"params": {"csrf": token}}, "json": {"json": {"csrf": token}}}.get(place, {})
    if place == "cookie":
        worker.client.cookies.set("csrf", token)
    assert worker.client.post("/begin/write", **sent).status_code == 403


def test_a_form_from_another_site_is_refused_whatever_it_holds(worker, requester):
    for somebody, path in ((worker, "/begin/write"), (requester, "/requester/pause")):
        fields = {"csrf": somebody.token_for(path), "paused": "yes"}
        answer = somebody.client.post(path, data=fields, headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 403


def test_reading_changes_nothing(app, study, requester, worker):
    """A link in a mail, or a picture on another site, can only make a browser read."""
    from winokit_collect.study import listings

    paths = {route.path for route in walk(app.routes) if "GET" in (getattr(route, "methods", None) or ())}
    before = [line.id for line in listings.log_entries(study) if line.action not in ("refused", "export")]
    for path in sorted(paths):
        for name, value in FILLED.items():
            path = path.replace("{" + name + "}", value)
        for somebody in (worker, requester):
            assert somebody.client.get(path, follow_redirects=False).status_code < 500
    assert [line.id for line in listings.log_entries(study) if line.action not in ("refused", "export")] == before
    assert requester.get("/requester").url.path == "/requester"
    assert worker.get("/begin").status_code == 200
