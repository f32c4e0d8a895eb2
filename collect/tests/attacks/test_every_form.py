"""Every address that changes anything asks for the token of whoever sends the form, also an address added later."""

import pytest
from starlette.routing import Mount

PATH_VALUES = {
    "token": "t",
    "kind": "write",
    "code": "w-x",
    "number": "1",
    "invite": "i",
    "step": "quiz",
    "what": "vote",
}
LEAVING = ("/logout", "/sign-out")
READING_METHODS = {"GET", "HEAD", "OPTIONS"}
STALE_NOTES = ("out of date", "open too long")


def walk_routes(routes):
    """Every route that is not a router of others, in their order."""
    for route in routes:
        original_router = getattr(route, "original_router", None)
        inner_routes = getattr(route, "routes", None) or getattr(original_router, "routes", None)
        if inner_routes:
            yield from walk_routes(inner_routes)
        else:
            yield route


def fill_path(path):
    for name, value in PATH_VALUES.items():
        path = path.replace("{" + name + "}", value)
    return path


def changing_requests(app):
    """Method and path of every request that may change something, with values filled in."""
    for route in walk_routes(app.routes):
        if isinstance(route, Mount):
            assert route.path == "/static"
            continue
        for method in sorted((route.methods or {"GET"}) - READING_METHODS):
            path = fill_path(route.path)
            assert "{" not in path, f"{path}: add a value to PATH_VALUES"
            yield method, path


@pytest.fixture
def everybody(app, study, stranger, worker, requester):
    return [stranger, worker, requester]


def test_the_walk_finds_the_forms(app):
    requests = list(changing_requests(app))
    assert len(requests) == len(set(requests)) > 25
    assert {("POST", "/login"), ("POST", "/task/t/write"), ("POST", "/requester/pay/settle")} <= set(requests)


@pytest.mark.parametrize("token", ["", "0" * 64, "é" * 9, "A" * 5000])
def test_no_token_or_a_forged_one_is_refused_everywhere(app, everybody, token):
    for somebody in everybody:
        for method, path in changing_requests(app):
            answer = somebody.client.request(method, path, data={"csrf": token}, follow_redirects=False)
            assert answer.status_code == 403, (method, path)
            assert any(note in answer.text for note in STALE_NOTES), (method, path)


def test_somebody_elses_token_is_refused_everywhere(app, study, person, everybody):
    other_worker = person(app).join(study)
    other_worker.client.cookies.set("winokit-requester", study.signer.sign("requester-session", [1, 99]))
    for somebody in everybody:
        for method, path in changing_requests(app):
            fields = {"csrf": other_worker.token_for(path)}
            answer = somebody.client.request(method, path, data=fields, follow_redirects=False)
            assert answer.status_code == 403, (method, path)


def test_the_right_token_is_what_was_missing(app, everybody):
    """Otherwise the tests above would be content with an app that refuses everything."""
    accepted = set()
    for somebody in everybody:
        for method, path in changing_requests(app):
            if path in LEAVING:
                continue
            fields = {"csrf": somebody.token_for(path)}
            answer = somebody.client.request(method, path, data=fields, follow_redirects=False)
            if not any(note in answer.text for note in STALE_NOTES):
                accepted.add((method, path))
    assert accepted == {(method, path) for method, path in changing_requests(app) if path not in LEAVING}


@pytest.mark.parametrize("place", ["query", "json", "cookie"])
def test_a_token_counts_only_where_a_form_or_a_script_puts_it(worker, place):
    token = worker.token_for("/begin")
    argument_of_place = {"query": "params", "json": "json"}
    options = {}
    if place == "cookie":
        worker.client.cookies.set("csrf", token)
    else:
        options = {argument_of_place[place]: {"csrf": token}}
    assert worker.client.post("/begin/write", **options).status_code == 403


def test_a_form_from_another_site_is_refused_whatever_it_holds(worker, requester):
    for somebody, path in ((worker, "/begin/write"), (requester, "/requester/pause")):
        fields = {"csrf": somebody.token_for(path), "paused": "yes"}
        answer = somebody.client.post(path, data=fields, headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 403


def test_reading_changes_nothing(app, study, requester, worker):
    """A link in a mail, or a picture on another site, can only make a browser read."""
    from winokit_collect.study import listings

    def list_changes():
        return [line.id for line in listings.log_entries(study) if line.action not in ("refused", "export")]

    routes_with_methods = [route for route in walk_routes(app.routes) if getattr(route, "methods", None)]
    paths = {route.path for route in routes_with_methods if "GET" in route.methods}
    changes_before = list_changes()
    for path in sorted(paths):
        for somebody in (worker, requester):
            assert somebody.client.get(fill_path(path), follow_redirects=False).status_code < 500
    assert list_changes() == changes_before
    assert requester.get("/requester").url.path == "/requester"
    assert worker.get("/begin").status_code == 200
