"""Workers come in by invite links and from platforms, each as one worker."""

from itertools import product

import pytest
from collect_support.forging import forge_signature
from collect_support.people import Person
from collect_support.stand_in import prolific_stand_in

from winokit_collect.study import invites, quality

PROLIFIC = {"PROLIFIC_PID": "5f0c1d2e3a4b5c6d7e8f9a0b", "STUDY_ID": "study12345", "SESSION_ID": "session123"}
MTURK = {"workerId": "A1B2C3", "assignmentId": "ASSIGN1", "hitId": "HIT1"}


def link_uses(study):
    return [link.invite.uses for link in invites.listing(study)]


def test_opening_a_link_does_not_use_it_up(study, stranger):
    path = invites.create(study).path
    for _ in range(3):
        page = stranger.get(path).text
        assert "Start" in page
        assert "Welcome back" not in page
    assert link_uses(study) == [0]
    assert stranger.send(path).url.path == "/consent"
    assert link_uses(study) == [1]


def test_a_used_link_opens_nothing_for_somebody_else(study, stranger, worker, browser_of):
    path = invites.create(study).path
    stranger.get(path)
    stranger.send(path)
    answer = browser_of(study).get(path)
    assert answer.status_code == 410
    assert "This link no longer works" in answer.text


def test_an_old_link_opens_nothing(study, stranger, clock):
    path = invites.create(study, days=1).path
    clock.pass_minutes(24 * 60 + 1)
    assert stranger.get(path).status_code == 410


def test_a_revoked_link_opens_nothing(study, stranger):
    link = invites.create(study)
    stranger.get(link.path)
    invites.revoke(study, link.invite.id, "requester:ann")
    assert stranger.send(link.path).status_code == 410


def test_a_forged_link_is_refused_and_logged(study, stranger, refused):
    path = invites.create(study).path
    assert stranger.get(forge_signature(path)).status_code == 403
    assert refused() == [("stranger", "/join/{token}", 403)]


def test_a_link_of_another_study_is_refused(make_study, browser_of):
    study = make_study()
    other_study = make_study()
    path = invites.create(other_study).path
    assert browser_of(study).get(path).status_code == 403


def test_a_browser_that_is_in_does_not_become_a_second_worker(study, worker):
    path = invites.create(study).path
    assert "You are already taking part" in worker.get(path).text
    assert worker.send(path).url.path == "/begin"
    assert sorted(link_uses(study)) == [0, 1]


def test_two_people_can_share_a_computer(study, worker):
    path = invites.create(study).path
    worker.get(path)
    worker.send("/sign-out")
    worker.get(path)
    assert worker.send(path).url.path == "/consent"
    assert link_uses(study) == [1, 1]


def test_a_return_link_lets_a_worker_in_as_themselves(study, worker, stranger):
    code = worker.seen.split('<b class="code">')[1].split("<")[0]
    path = invites.create(study, worker=code).path
    assert "Welcome back" in stranger.get(path).text
    assert code in stranger.send(path).text
    assert stranger.get("/begin").url.path == "/begin"


def test_strangers_are_told_how_to_come_in(stranger):
    assert "open the link you were given" in stranger.get("/").text
    answer = stranger.get("/begin")
    assert answer.status_code == 403
    assert "open the link you were given" in answer.text


@pytest.fixture
def books(monkeypatch):
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "t")
    person, study, session = PROLIFIC.values()
    with prolific_stand_in() as books:
        books.submissions[session] = {"participant": person, "study_id": study, "status": "ACTIVE"}
        yield books


@pytest.fixture
def prolific(make_study, books):
    codes = {"completion_code": "DONE1", "screened_out_code": "OUT1"}
    return make_study(platform={"name": "prolific", "study_id": "study12345", "api": books.url, **codes})


def test_a_visit_from_prolific_is_not_taken_over_in_another_browser(prolific, browser_of):
    somebody = browser_of(prolific)
    other_browser = browser_of(prolific)
    for browser in (somebody, other_browser):
        browser.get("/start", params=PROLIFIC)
    for _ in range(2):  # pressed twice, or the answer was lost
        assert somebody.send("/start", **PROLIFIC).url.path == "/consent"
        somebody.get("/start", params=PROLIFIC)
    answer = other_browser.send("/start", **PROLIFIC)
    assert answer.status_code == 403
    assert "started in another browser" in answer.text
    assert other_browser.get("/consent").status_code == 403


def test_no_completion_code_before_there_is_anything_to_complete(prolific, browser_of):
    somebody = browser_of(prolific)
    somebody.get("/start", params=PROLIFIC)
    somebody.send("/start", **PROLIFIC)
    for path in ("/finish", "/consent"):
        assert "DONE1" not in somebody.get(path).text
    assert "A visit is complete after 20 tasks" in somebody.get("/finish").text


def test_whom_prolific_does_not_know_is_not_let_in(prolific, browser_of, books):
    books.submissions.clear()
    somebody = browser_of(prolific)
    somebody.get("/start", params=PROLIFIC)
    assert somebody.send("/start", **PROLIFIC).status_code == 403
    assert somebody.get("/begin").status_code == 403


def test_prolific_workers_go_back_with_the_code_for_how_it_went(prolific, browser_of):
    somebody = browser_of(prolific)
    somebody.get("/start", params=PROLIFIC)
    somebody.send("/start", **PROLIFIC)
    somebody.send("/consent", agree="yes")
    assert somebody.send("/screening", native_speaker="no", has_seen_wsc="no").url.path == "/finish"
    assert "https://app.prolific.com/submissions/complete?cc=OUT1" in somebody.seen
    assert "it is not for you this time" in somebody.seen


@pytest.mark.parametrize("changes", [{"STUDY_ID": "another123"}, {"PROLIFIC_PID": "<script>"}, {"SESSION_ID": ""}])
def test_an_address_that_prolific_did_not_make_is_refused(prolific, browser_of, changes):
    answer = browser_of(prolific).get("/start", params=PROLIFIC | changes)
    assert answer.status_code == 403


def test_nobody_starts_by_that_address_in_a_study_of_plain_links(stranger):
    assert stranger.get("/start", params=PROLIFIC).status_code == 404


def test_in_a_frame_of_mechanical_turk_the_way_leads_out_of_the_frame(make_study, browser_of):
    somebody = browser_of(make_study(platform={"name": "mturk", "tasks_per_visit": 1}))
    answer = somebody.get("/start", params=MTURK, headers={"Sec-Fetch-Dest": "iframe"})
    assert "frame-ancestors https://www.mturk.com" in answer.headers["content-security-policy"]
    assert "x-frame-options" not in answer.headers
    (link,) = somebody.page.all("a", target="_blank")
    assert somebody.get(link["href"]).status_code == 200
    somebody.send("/start", **MTURK)
    somebody.send("/consent", agree="yes")
    somebody.send("/screening", native_speaker="yes", has_seen_wsc="no")
    assert "externalSubmit" not in somebody.get("/finish").text
    somebody.write()
    answer = somebody.get("/finish")
    assert "form-action 'self' https://www.mturk.com;" in answer.headers["content-security-policy"]
    assert somebody.page.all("form", action="https://www.mturk.com/mturk/externalSubmit")


def test_no_address_sends_anybody_elsewhere(requester):
    requester.get("/requester")
    paths = ["/login?next=", "/login?url=", "/logout?to=", "/sign-out?to=", "/join/x?next=", "/start?next=", "/"]
    targets = ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)")
    for target, path in product(targets, paths):
        address = path + target.lstrip("/")
        fields = {"csrf": requester.token, "next": target}
        for answer in (
            requester.client.get(address, follow_redirects=False),
            requester.client.post(address, data=fields, follow_redirects=False),
        ):
            location = answer.headers.get("location", "/")
            assert location.startswith("/")
            assert not location.startswith(("//", "/\\"))
            assert "evil" not in location


def test_who_signs_out_and_takes_the_same_link_again_is_marked(study, app, requester):
    path = invites.create(study, "the lab's list", uses=3).path
    returning = Person(app)
    somebody_else = Person(app)
    for somebody in (returning, returning, somebody_else):
        somebody.get(path)
        somebody.send(path)
        somebody.get("/consent")
        somebody.send("/sign-out")
    first, second, third = (worker.code for worker in quality.workers(study))
    page = requester.get("/requester/workers").text
    assert page.count("same browser as 1 other") == 2
    page = requester.get(f"/requester/workers/{first}").text
    assert f'also used by <a href="/requester/workers/{second}">' in page
    assert "link the lab&#39;s list" in page
    assert "also used by" not in requester.get(f"/requester/workers/{third}").text
    page = requester.get("/requester/invites").text
    for code in (first, second, third):
        assert code in page
