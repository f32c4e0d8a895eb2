"""Coming back: by a personal link, which lets in the worker it was shown to and nobody by the link of before."""

import time

import pytest
from collect_support.forging import another_letter
from collect_support.people import Page

from winokit_collect.study import invites, workers
from winokit_collect.study.study import FILL_IN


def link_of(somebody, path="/finish"):
    html = somebody.get(path).text
    return Page(html).all("input", id="personal-link")[0]["value"].removeprefix("http://testserver")


def code_of(study, somebody):
    return study.signer.read("worker-session", somebody.client.cookies["winokit-worker"])[0]


def test_a_worker_is_shown_at_the_start_how_to_come_back(app, study, person, worker):
    newcomer = person(app)
    newcomer.send(invites.create(study).path)
    assert link_of(newcomer, "/consent").startswith("/return/")
    assert link_of(worker) != link_of(newcomer, "/consent")


def test_a_personal_link_lets_its_worker_in_again_in_any_browser(app, study, person, worker):
    path = link_of(worker)
    worker.send("/sign-out")
    for somebody in (worker, person(app, "10.0.0.9")):
        assert "Welcome back" in somebody.get(path).text
        assert somebody.get("/begin").status_code == 403  # nobody is let in by merely opening it
        assert somebody.send(path).url.path == "/begin"
    assert code_of(study, worker) == code_of(study, somebody)


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
    old = link_of(worker)
    code = code_of(study, worker)
    fresh = person(app)
    fresh.send(invites.create(study, worker=code).path)
    assert code_of(study, fresh) == code
    assert person(app, "10.6.6.6").send(old).status_code == 410
    assert person(app).send(link_of(fresh)).url.path == "/begin"


def test_a_browser_in_which_somebody_works_stays_theirs(app, study, person, worker):
    other = person(app).join(study)
    before = code_of(study, other)
    assert "You are already taking part" in other.get(link_of(worker)).text
    other.send(link_of(worker))
    assert code_of(study, other) == before


@pytest.mark.parametrize("spoil", [another_letter, lambda token: "x" + token, lambda token: ""])
def test_a_forged_personal_link_lets_nobody_in(app, study, person, worker, spoil):
    token = link_of(worker).removeprefix("/return/")
    assert person(app).send(f"/return/{spoil(token)}").status_code in (403, 404)
    borrowed = study.signer.sign("invite", [code_of(study, worker), 1])
    assert person(app).send(f"/return/{borrowed}").status_code == 403


def test_whom_a_platform_sends_has_no_personal_link(study):
    worker = workers.join(study, "prolific")
    assert invites.personal_path(study, worker) == ""


def test_no_consent_page_with_gaps_is_shown(app, study, person):
    waiting = person(app)
    path = invites.create(study, uses=3).path
    waiting.send(path)
    study.consent = f"# Consent **[{FILL_IN}: who]**"
    late = person(app)
    for somebody, where in ((waiting, "/consent"), (late, path)):
        answer = somebody.get(where)
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
    assert (tester.get("/begin").status_code, worker.get("/begin").status_code) == (403, 200)


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

    asked = []

    def verify(self, visitor):
        asked.append(visitor)
        raise NotAllowed("no")

    monkeypatch.setattr(Prolific, "verify", verify)
    study = make_study(platform={"name": "prolific", "study_id": "study12345"})
    evil = person(create_app(study))
    fields = {"PROLIFIC_PID": "5f0c1d2e3a4b5c6d7e8f9a0b", "STUDY_ID": "study12345", "SESSION_ID": "session123"}
    statuses = [evil.send("/start", **fields).status_code for _ in range(ARRIVALS_A_MINUTE + 3)]
    assert statuses == [403] * ARRIVALS_A_MINUTE + [429] * 3
    assert len(asked) == ARRIVALS_A_MINUTE
