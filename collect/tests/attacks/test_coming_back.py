"""A personal link lets in again the worker it was shown to, and an earlier link lets in nobody."""

import time

import pytest
from collect_support.forging import forge_signature
from collect_support.people import Page

from winokit_collect.study import invites, workers
from winokit_collect.study.study import FILL_IN


def personal_link_of(somebody, path="/finish"):
    """The path of the personal link that a page shows to a worker."""
    html = somebody.get(path).text
    (field,) = Page(html).all("input", id="personal-link")[:1]
    return field["value"].removeprefix("http://testserver")


def worker_code_of(study, somebody):
    code, _version = study.signer.read("worker-session", somebody.client.cookies["winokit-worker"])
    return code


def test_a_worker_is_shown_at_the_start_how_to_come_back(app, study, person, worker):
    newcomer = person(app)
    newcomer.send(invites.create(study).path)
    link = personal_link_of(newcomer, "/consent")
    assert link.startswith("/return/")
    assert personal_link_of(worker) != link


def test_a_personal_link_lets_its_worker_in_again_in_any_browser(app, study, person, worker):
    path = personal_link_of(worker)
    worker.send("/sign-out")
    for somebody in (worker, person(app, "10.0.0.9")):
        assert "Welcome back" in somebody.get(path).text
        assert somebody.get("/begin").status_code == 403  # nobody is let in by merely opening it
        assert somebody.send(path).url.path == "/begin"
    assert worker_code_of(study, worker) == worker_code_of(study, somebody)


def test_the_invitation_lets_nobody_in_as_somebody_else(app, study, person):
    path = invites.create(study).path
    first = person(app)
    second = person(app, "10.6.6.6")
    first.send(path)
    answer = second.send(path)
    assert answer.status_code == 410
    assert "your personal link" in answer.text
    assert second.get("/consent").status_code == 403
    assert first.get(path).status_code == 200


def test_a_link_from_the_requester_takes_the_place_of_the_personal_one(app, study, person, worker):
    old_link = personal_link_of(worker)
    code = worker_code_of(study, worker)
    new_browser = person(app)
    new_browser.send(invites.create(study, worker=code).path)
    assert worker_code_of(study, new_browser) == code
    assert person(app, "10.6.6.6").send(old_link).status_code == 410
    assert person(app).send(personal_link_of(new_browser)).url.path == "/begin"


def test_a_browser_in_which_somebody_works_stays_theirs(app, study, person, worker):
    other_worker = person(app).join(study)
    code_before = worker_code_of(study, other_worker)
    assert "You are already taking part" in other_worker.get(personal_link_of(worker)).text
    other_worker.send(personal_link_of(worker))
    assert worker_code_of(study, other_worker) == code_before


@pytest.mark.parametrize("spoil", [forge_signature, lambda token: "x" + token, lambda token: ""])
def test_a_forged_personal_link_lets_nobody_in(app, study, person, worker, spoil):
    token = personal_link_of(worker).removeprefix("/return/")
    assert person(app).send(f"/return/{spoil(token)}").status_code in (403, 404)
    invite_token = study.signer.sign("invite", [worker_code_of(study, worker), 1])
    assert person(app).send(f"/return/{invite_token}").status_code == 403


def test_whom_a_platform_sends_has_no_personal_link(study):
    worker = workers.join(study, "prolific")
    assert invites.personal_path(study, worker) == ""


def test_no_consent_page_with_gaps_is_shown(app, study, person):
    waiting = person(app)
    path = invites.create(study, uses=3).path
    waiting.send(path)
    study.consent = f"# Consent **[{FILL_IN}: who]**"
    late = person(app)
    for somebody, address in ((waiting, "/consent"), (late, path)):
        answer = somebody.get(address)
        assert answer.status_code == 409
        assert "not open yet" in answer.text
        assert FILL_IN not in answer.text
    assert late.send(path).status_code == 409
    assert waiting.send("/consent", agree="yes").status_code == 409


def test_who_came_to_a_pilot_is_not_in_when_it_is_over(app, study, person, worker):
    study.pilot = True
    tester = person(app).join(study)
    assert tester.get("/begin").status_code == worker.get("/begin").status_code == 200
    study.pilot = False
    assert tester.get("/begin").status_code == 403
    assert worker.get("/begin").status_code == 200


@pytest.mark.parametrize("seconds", [5, 3600])
def test_a_clock_that_is_set_back_signs_nobody_out(app, study, worker, requester, monkeypatch, seconds):
    before = time.time()
    monkeypatch.setattr(time, "time", lambda: before - seconds)
    monkeypatch.setattr(study, "now", lambda now=study.now: now())
    assert worker.get("/begin").status_code == 200
    assert requester.get("/requester").url.path == "/requester"
    path = invites.create(study).path
    assert worker.get(path).status_code == 200


def test_links_do_not_begin_with_what_a_request_says(study, person):
    from winokit_collect.web.app import create_app

    app = create_app(study, url="https://study.example.org")
    somebody = person(app).set_up(study)
    invites.create(study)
    page = somebody.client.get("/requester/invites", headers={"Host": "evil.example"}).text
    assert "https://study.example.org/join/" in page
    assert "evil.example" not in page


def test_made_up_arrivals_do_not_wear_the_platform_out(make_study, person, monkeypatch):
    from winokit_collect.platforms.prolific import Prolific
    from winokit_collect.study.refusals import NotAllowed
    from winokit_collect.web.app import ARRIVALS_A_MINUTE, create_app

    verified_visitors = []

    def refuse_visitor(self, visitor):
        verified_visitors.append(visitor)
        raise NotAllowed("no")

    monkeypatch.setattr(Prolific, "verify", refuse_visitor)
    study = make_study(platform={"name": "prolific", "study_id": "study12345"})
    evil = person(create_app(study))
    fields = {"PROLIFIC_PID": "5f0c1d2e3a4b5c6d7e8f9a0b", "STUDY_ID": "study12345", "SESSION_ID": "session123"}
    statuses = [evil.send("/start", **fields).status_code for _ in range(ARRIVALS_A_MINUTE + 3)]
    assert statuses == [403] * ARRIVALS_A_MINUTE + [429] * 3
    assert len(verified_visitors) == ARRIVALS_A_MINUTE
