"""Each role may use the addresses of LEAST_ROLES and no others, and every address of the app is listed there."""

import pytest
from sqlalchemy import select

from winokit_collect.study import invites, requesters
from winokit_collect.study.refusals import NotNow
from winokit_collect.study.schema import Requester

PATH_VALUES = {"token": "write-0", "what": "write", "kind": "write", "code": "w-x", "number": "1", "invite": "i"}
ROLES = ("owner", "editor", "viewer")
OPEN = "open to strangers and workers"
WORKER_PATHS = ("/begin", "/task", "/consent", "/screening", "/quiz", "/guidelines", "/your-work", "/finish")
LEAST_ROLES = {
    ("GET", "/"): OPEN,
    ("GET", "/health"): OPEN,
    ("GET", "/join/{token}"): OPEN,
    ("POST", "/join/{token}"): OPEN,
    ("GET", "/return/{token}"): OPEN,
    ("POST", "/return/{token}"): OPEN,
    ("GET", "/start"): OPEN,
    ("POST", "/start"): OPEN,
    ("POST", "/sign-out"): OPEN,
    ("GET", "/setup/{token}"): OPEN,
    ("POST", "/setup/{token}"): OPEN,
    ("GET", "/login"): OPEN,
    ("POST", "/login"): OPEN,
    ("POST", "/logout"): "viewer",
    ("GET", "/requester/account"): "viewer",
    ("POST", "/requester/account/password"): "viewer",
    ("POST", "/requester/account/colleague"): "owner",
    ("POST", "/requester/account/link"): "owner",
    ("POST", "/requester/account/role"): "owner",
    ("POST", "/requester/account/remove"): "owner",
    ("GET", "/requester"): "viewer",
    ("GET", "/requester/live"): "viewer",
    ("POST", "/requester/pause"): "editor",
    ("GET", "/requester/agreement/{kind}"): "viewer",
    ("GET", "/requester/export"): "viewer",
    ("GET", "/requester/export.zip"): "viewer",
    ("GET", "/requester/log"): "viewer",
    ("GET", "/requester/pay"): "viewer",
    ("GET", "/requester/pay/live"): "viewer",
    ("POST", "/requester/pay/settle"): "owner",
    ("GET", "/requester/pay/reconcile"): "viewer",
    ("POST", "/requester/pay/reconcile"): "owner",
    ("POST", "/requester/pay/{number}/take-back"): "owner",
    ("POST", "/requester/pay/{number}/ask"): "editor",
    ("POST", "/requester/pay/{number}/settle"): "owner",
    ("POST", "/requester/pilot/remove"): "owner",
    ("GET", "/requester/preview/task/{token}/{what}"): "viewer",
    ("POST", "/requester/preview/task/{token}/{what}"): "viewer",
    ("GET", "/requester/problems"): "viewer",
    ("GET", "/requester/problems/{number}"): "viewer",
    ("POST", "/requester/problems/{number}/decide"): "editor",
    ("GET", "/requester/queue"): "viewer",
    ("POST", "/requester/queue/{number}/decide"): "editor",
    ("GET", "/requester/submissions"): "viewer",
    ("POST", "/requester/submissions/{number}/discard"): "editor",
    ("GET", "/requester/workers"): "viewer",
    ("GET", "/requester/workers/{code}"): "viewer",
    ("POST", "/requester/workers/{code}/block"): "editor",
    ("POST", "/requester/workers/{code}/unblock"): "editor",
    ("POST", "/requester/workers/{code}/discard-votes"): "editor",
    ("POST", "/requester/workers/{code}/return"): "editor",
    ("POST", "/requester/workers/{code}/bonus"): "editor",
    ("POST", "/requester/workers/{code}/forget"): "editor",
    ("POST", "/requester/workers/{code}/withdraw"): "editor",
    ("GET", "/requester/invites"): "editor",
    ("POST", "/requester/invites"): "editor",
    ("POST", "/requester/invites/{invite}/revoke"): "editor",
}


def walk_routes(routes):
    """Every route that is not a router of others, in their order."""
    for route in routes:
        original_router = getattr(route, "original_router", None)
        inner_routes = getattr(route, "routes", None) or getattr(original_router, "routes", None)
        if inner_routes:
            yield from walk_routes(inner_routes)
        else:
            yield route


def requester_addresses(app):
    """Method and path of every address that is not for workers."""
    for route in walk_routes(app.routes):
        for method in sorted(getattr(route, "methods", None) or ()):
            if not route.path.startswith(WORKER_PATHS):
                yield method, route.path


@pytest.fixture
def team(app, study, person, requester, password):
    """A browser for each role, logged in."""
    people = {"owner": requester}
    for role in ROLES[1:]:
        requesters.add(study, role, password, "requester:ann", role=role)
        people[role] = person(app)
        answer = people[role].send("/login", name=role, password=password)
        assert answer.url.path == "/requester"
    return people


def roles_by_name(study):
    with study.store.read() as session:
        return dict(session.execute(select(Requester.name, Requester.role)).all())


def test_it_is_said_of_every_address_whom_it_is_for(app):
    assert set(requester_addresses(app)) == set(LEAST_ROLES)


@pytest.mark.parametrize("role", ROLES)
def test_every_role_may_do_what_is_said_and_no_more(study, team, role):
    somebody = team[role]
    for (method, path), least_role in LEAST_ROLES.items():
        if least_role == OPEN or path == "/logout":
            continue
        for name, value in PATH_VALUES.items():
            path = path.replace("{" + name + "}", value)
        fields = {"csrf": somebody.token_for(path)} if method == "POST" else None
        answer = somebody.client.request(method, path, data=fields, follow_redirects=False)
        is_refused = answer.status_code == 403 and "ask an owner" in answer.text
        is_too_low = ROLES.index(role) > ROLES.index(least_role)
        assert is_refused == is_too_low, (method, path, answer.status_code)
        assert answer.headers.get("location") != "/login"
    assert somebody.send("/logout").url.path == "/login"


def test_nobody_makes_themselves_more_than_they_are(study, team):
    for role in ROLES[1:]:
        for path in ("role", "colleague", "link", "remove"):
            answer = team[role].send(f"/requester/account/{path}", name=role, role="owner")
            assert answer.status_code == 403, path
    assert roles_by_name(study) == {"ann": "owner", "editor": "editor", "viewer": "viewer"}


def test_a_role_counts_from_the_next_request_on(study, team):
    assert team["editor"].send("/requester/pause", paused="yes").url.path == "/requester"
    team["owner"].send("/requester/account/role", name="editor", role="viewer")
    assert team["editor"].send("/requester/pause", paused="no").status_code == 403
    assert study.paused


def test_who_is_removed_is_out_at_once_and_does_not_come_back_as_their_successor(study, team, person, app, password):
    removed = team["viewer"]
    team["owner"].send("/requester/account/remove", name="viewer")
    assert removed.get("/requester").url.path == "/login"
    requesters.add(study, "eve", password, "requester:ann")  # may have the same number
    assert removed.get("/requester").url.path == "/login"
    assert removed.send("/login", name="viewer", password=password).status_code == 403


def test_the_last_owner_stays(study, team):
    owner = team["owner"]
    assert owner.send("/requester/account/remove", name="ann").status_code == 409
    assert owner.send("/requester/account/role", name="ann", role="viewer").status_code == 409
    owner.send("/requester/account/role", name="editor", role="owner")
    assert owner.send("/requester/account/remove", name="ann").url.path == "/login"
    assert roles_by_name(study) == {"editor": "owner", "viewer": "viewer"}


def test_two_owners_who_remove_each_other_at_once_leave_one(either_study, password):
    from concurrent.futures import ThreadPoolExecutor

    for name in ("ann", "bob"):
        requesters.add(either_study, name, password, "system")

    def remove_requester(name):
        try:
            requesters.remove(either_study, name, "system")
        except NotNow:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        were_removed = list(pool.map(remove_requester, ("ann", "bob")))
    assert sorted(were_removed) == [False, True]


def test_a_link_for_a_password_is_good_once_for_one_however_many_press(either_study, password):
    from concurrent.futures import ThreadPoolExecutor

    requesters.add(either_study, "ann", password, "system")
    token = requesters.password_path(either_study, "ann", "terminal").rpartition("/")[2]

    def choose_password(number):
        try:
            requesters.set_up(either_study, token, "", f"a long password {number}")
        except requesters.LinkExpired:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        were_accepted = list(pool.map(choose_password, range(4)))
    assert sum(were_accepted) == 1


@pytest.mark.parametrize("value", [[], [99, 1], [1, 0]])
def test_a_link_for_nobody_changes_nothing(study, stranger, requester, password, value):
    path = f"/setup/{study.signer.sign('account', value)}"
    assert stranger.send(path, name="eve", password=password, again=password).status_code in (403, 410)
    invite_path = f"/setup/{study.signer.sign('invite', [1, 1])}"
    assert stranger.send(invite_path, password=password, again=password).status_code == 403
    assert roles_by_name(study) == {"ann": "owner"}


def test_a_viewer_sees_no_link_to_come_in_by(study, team):
    invites.create(study)
    for page in ("", "/log", "/workers", "/account", "/export"):
        assert "/join/" not in team["viewer"].get(f"/requester{page}").text
    assert "/join/" in team["editor"].get("/requester/invites").text
