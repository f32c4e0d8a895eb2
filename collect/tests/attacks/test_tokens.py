"""Links, cookies and tokens of forms and tasks are worth nothing when forged, changed, replayed or borrowed."""

import pytest
from sqlalchemy import func, select

from winokit_collect.study import invites, moderation, requesters
from winokit_collect.study.schema import Lease, Payment, Requester, Submission, Worker
from winokit_collect.study.study import Signer


def count_rows(study, table):
    with study.store.read() as session:
        return session.scalar(select(func.count()).select_from(table))


def forgeries(good):
    """Tokens that somebody might make from one good token."""
    payload, stamp, signature = good.rsplit(".", 2)
    blank_signature = "A" * len(signature)
    changed_stamp = stamp[:-1] + "_"
    cut_tokens = ["x", "x..", payload, f"{payload}.{stamp}", f"{payload}.{stamp}."]
    changed_tokens = [
        f"{payload}.{stamp}.{blank_signature}",
        f"{payload}x.{stamp}.{signature}",
        f"{payload}.{changed_stamp}.{signature}",
        good.swapcase(),
    ]
    return [*cut_tokens, *changed_tokens, f".{good}", "é"]


def test_a_forged_invite_lets_nobody_in(study, stranger, refused):
    good = invites.create(study).path.removeprefix("/join/")
    of_another_study = Signer(b"another study's secret").sign("invite", "x")
    of_another_purpose = study.signer.sign("setup", "x")
    for token in [*forgeries(good), of_another_study, of_another_purpose]:
        assert stranger.get(f"/join/{token}").status_code in (403, 404), token
        assert stranger.send(f"/join/{token}").status_code in (403, 404), token
    assert count_rows(study, Worker) == 0
    assert ("stranger", "/join/{token}", 403) in refused()
    assert stranger.send(f"/join/{good}").url.path == "/consent"


def test_an_invite_for_one_lets_one_in_however_often_it_is_sent(app, study, person):
    path = invites.create(study).path
    people = [person(app, f"10.0.0.{number}") for number in range(5)]
    statuses = [somebody.send(path).status_code for somebody in people]
    assert statuses == [200, 410, 410, 410, 410]
    assert count_rows(study, Worker) == 1


def test_a_revoked_invite_is_worth_nothing(study, stranger, requester):
    link = invites.create(study)
    requester.send(f"/requester/invites/{link.invite.id}/revoke")
    assert stranger.send(link.path).status_code == 410
    assert count_rows(study, Worker) == 0


def test_the_setup_link_makes_one_requester_and_no_second(app, study, person, password):
    path = requesters.setup_path(study)
    fields = {"password": password, "again": password}
    forged = f"/setup/{study.signer.sign('invite', [])}"
    assert person(app).send(forged, name="eve", **fields).status_code == 403
    assert person(app).send(path, name="ann", **fields).url.path == "/requester"
    assert person(app).send(path, name="eve", **fields).status_code == 410
    with study.store.read() as session:
        assert session.scalars(select(Requester.name)).all() == ["ann"]


@pytest.mark.parametrize("role", ["worker", "requester"])
def test_a_forged_session_is_nobodys(study, stranger, worker, requester, role):
    browsers = {"worker": worker, "requester": requester}
    somebody = browsers[role]
    page = "/begin" if role == "worker" else "/requester"
    refusal_status = 403 if role == "worker" else 303
    good = somebody.client.cookies[f"winokit-{role}"]
    other_purposes = ("invite", "setup", "visitor-session", "csrf")
    borrowed_tokens = [study.signer.sign(purpose, [1, 1]) for purpose in other_purposes]
    ascii_forgeries = forgeries(good)[:-1]
    for cookie in [*ascii_forgeries, *borrowed_tokens]:
        stranger.client.cookies.clear()
        stranger.client.cookies.set(f"winokit-{role}", cookie)
        answer = stranger.client.get(page, follow_redirects=False)
        assert answer.status_code == refusal_status, cookie
        assert answer.headers.get("location", "/login") == "/login"
    stranger.client.cookies.clear()
    stranger.client.cookies.set(f"winokit-{role}", good)
    assert stranger.client.get(page, follow_redirects=False).status_code == 200


def test_a_session_that_was_stolen_ends_with_the_logout(app, study, person, requester, password):
    stolen = person(app, "10.6.6.6")
    stolen.client.cookies.set("winokit-requester", requester.client.cookies["winokit-requester"])
    assert stolen.get("/requester").url.path == "/requester"
    requester.send("/logout")
    assert stolen.get("/requester").url.path == "/login"
    requester.send("/login", name="ann", password=password)
    assert stolen.get("/requester/pay").url.path == "/login"


def test_a_session_ends_in_other_browsers_with_the_password(app, person, requester, password):
    other_browser = person(app)
    other_browser.client.cookies.set("winokit-requester", requester.client.cookies["winokit-requester"])
    new_password = "another long password"
    requester.send("/requester/account/password", old=password, password=new_password, again=new_password)
    assert requester.get("/requester").url.path == "/requester"
    assert other_browser.get("/requester").url.path == "/login"


def test_a_worker_who_is_nobody_any_more_is_refused_with_a_good_signature(study, stranger):
    stranger.client.cookies.set("winokit-worker", study.signer.sign("worker-session", ["w-nobody", 1]))
    assert stranger.get("/begin").status_code == 403


def test_handing_in_again_gives_the_first_receipt_and_no_second_pay(study, worker, twins):
    task = worker.take("write")
    for _ in range(3):
        assert worker.send(f"{task}/write", **twins).url.path == "/begin"
    assert count_rows(study, Submission) == 1
    assert count_rows(study, Payment) == 1
    for anchor in ("garden", "gate", "garden"):  # a correction is none either
        worker.send(f"{task}/write", **twins | {"anchor": anchor})
    assert count_rows(study, Submission) == 1
    assert count_rows(study, Payment) == 1


@pytest.mark.parametrize("last", ["write", "vote", "feedback", "draft", "adversary", "signals", "skip"])
def test_another_workers_task_is_no_task(app, study, person, worker, twins, vote, refused, last):
    task = worker.take("write")
    thief = person(app).join(study)
    events = {"events": '[{"kind": "paste", "amount": 9}]'}
    assert thief.send(f"{task}/{last}", **twins, **vote, **events).status_code == 404
    if last in ("write", "vote"):
        assert thief.get(f"{task}/{last}").status_code == 404
        assert "terrier" not in thief.seen
    actor, address, status = refused()[0]
    assert address == f"/task/{{token}}/{last}"
    assert status == 404
    assert actor != f"worker:{worker_code_of(study, worker)}"
    with study.store.read() as session:
        lease_states = session.scalars(select(Lease.state)).all()
    assert lease_states == ["live"]
    assert count_rows(study, Submission) == 0
    assert worker.send(f"{task}/write", **twins).url.path == "/begin"


def worker_code_of(study, worker):
    code, _version = study.signer.read("worker-session", worker.client.cookies["winokit-worker"])
    return code


@pytest.mark.parametrize("token", ["1", "0", "-1", "null", "*", "%", "_" * 24, "a" * 64, "a" * 65, "a" * 5000])
def test_a_task_that_was_guessed_is_no_task(worker, token):
    worker.take("write")
    assert worker.get(f"/task/{token}/write").status_code == 404
    assert worker.send(f"/task/{token}/skip").status_code == 404


def test_a_worker_is_no_requester_and_a_requester_no_worker(app, worker, requester):
    for path in ("/requester", "/requester/problems", "/requester/export.zip", "/requester/log"):
        answer = worker.client.get(path, follow_redirects=False)
        assert answer.headers["location"] == "/login"
    assert requester.get("/begin").status_code == 403


def test_a_blocked_worker_gets_nothing_more(study, worker, requester):
    task = worker.take("write")
    requester.send(f"/requester/workers/{worker_code_of(study, worker)}/block", why="robot")
    assert worker.send("/begin/write").url.path == "/finish"
    assert worker.get(f"{task}/write").url.path == "/finish"


def test_a_copied_cookie_ends_when_its_worker_signs_out(app, study, person, worker):
    thief = person(app, "10.6.6.6")
    thief.client.cookies.set("winokit-worker", worker.client.cookies["winokit-worker"])
    assert thief.get("/begin").status_code == 200
    worker.send("/sign-out")
    assert thief.get("/begin").status_code == 403
    assert thief.send("/begin/write").status_code == 403
    back = invites.create(study, worker=worker_code_of(study, thief)).path
    assert worker.send(back).url.path == "/begin"
    assert thief.get("/begin").status_code == 403


def test_a_copied_cookie_ends_when_its_worker_withdraws(study, worker):
    moderation.withdraw(study, worker_code_of(study, worker), "system")
    assert worker.get("/begin").status_code == 403


@pytest.mark.parametrize("payload", ["w-nobody", ["w-nobody"], ["w-nobody", "1"], {"code": 1}, 7, None])
def test_a_signed_cookie_of_another_shape_is_no_worker(study, stranger, payload):
    stranger.client.cookies.set("winokit-worker", study.signer.sign("worker-session", payload))
    assert stranger.get("/begin").status_code == 403
