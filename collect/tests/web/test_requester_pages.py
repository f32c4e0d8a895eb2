"""The requester's pages are behind a login and do what they say."""

import io
import json
import re
import zipfile

import pytest

from winokit_collect.study import invites, ledger, listings, moderation, quality, requesters, workers

PAGES = [
    "", "/live", "/problems", "/problems/1", "/submissions", "/workers", "/invites", "/pay", "/export", "/export.zip",
    "/log", "/account", "/agreement/validate",
]  # fmt: skip


@pytest.fixture
def busy(study, worker, app):
    """A study with a pair of twins and a vote."""
    worker.write()
    judge = type(worker)(app).join(study)
    task = judge.take("validate")
    judge.send(f"{task}/vote", choice="0", equally_plausible="no", local_decides="no")
    return study


def author_code(study):
    """Code of the first worker of a study, who wrote its pair."""
    return quality.workers(study)[0].code


def test_workers_and_balances_come_page_by_page(study, requester):
    codes = [workers.join(study, "links").code for _ in range(51)]
    for code in codes:
        ledger.bonus(study, code, 5, "", "requester:ada")
    for path in ("/requester/workers", "/requester/pay"):
        first = requester.get(path).text
        second = requester.get(f"{path}?page=2").text
        assert f'{path}?page=2" rel="next"' in first
        assert f">{codes[-1]}<" not in first.partition("<h2>Ledger")[0]
        assert f">{codes[-1]}<" in second.partition("<h2>Ledger")[0]
        assert requester.get(f"{path}?page=99").text.count("Page 2 of 2") == 1
    assert "2.55" in requester.get("/requester/pay?page=2").text.partition("<table")[0]


def test_workers_who_have_done_much_are_counted_once_in_half_a_minute_but_for_their_state(
    busy, requester, monkeypatch, clock
):
    author = author_code(busy)
    assert "Counted as of" not in requester.get("/requester/workers").text
    monkeypatch.setattr(quality, "LARGE", 1)
    assert "Counted as of" in requester.get("/requester/workers").text
    ledger.bonus(busy, author, 123, "", "requester:ada")
    moderation.block(busy, author, "a test", "requester:ada")
    page = requester.get("/requester/workers").text
    assert "blocked" in page
    assert "1.63" not in page
    clock.pass_minutes(0.5)
    assert "1.63" in requester.get("/requester/workers").text


def test_strangers_and_workers_are_asked_to_log_in(stranger, worker):
    for somebody in (stranger, worker):
        for page in PAGES:
            answer = somebody.get(f"/requester{page}")
            assert answer.url.path == "/login", page
            assert "Log in" in answer.text


def test_every_page_opens_on_an_empty_study_or_says_there_is_nothing(requester):
    for page in PAGES:
        expected_status = 404 if page == "/problems/1" else 200
        assert requester.get(f"/requester{page}").status_code == expected_status, page


def test_every_page_opens_on_a_study_with_work_in_it(busy, requester):
    number = listings.problems(busy).rows[0].id
    for page in (*PAGES[:3], f"/problems/{number}", *PAGES[4:], f"/workers/{author_code(busy)}"):
        assert requester.get(f"/requester{page}").status_code == 200


def test_a_problem_shows_what_each_worker_said(busy, requester):
    problem = next(row for row in listings.problems(busy).rows if row.votes)
    page = requester.get(f"/requester/problems/{problem.id}").text
    for vote in problem.votes:
        assert vote.kind == "validate"
        choice = problem.candidates[vote.choice]
        assert f"{vote.worker.code}</a></th><td>{vote.kind}</td><td>{choice}</td>" in page


def test_a_poll_from_a_page_whose_session_ended_leads_to_the_login(stranger):
    answer = stranger.get("/requester/live", headers={"HX-Request": "true"})
    assert answer.headers["hx-redirect"] == "/login"
    assert "<body" not in answer.text


def test_the_first_account_is_made_once(study, requester, stranger, password):
    assert requester.get("/requester").status_code == 200
    assert requesters.setup_path(study) is None
    path = f"/setup/{study.signer.sign('account', [])}"
    assert stranger.get(path).status_code == 410
    stranger.get("/login")
    assert stranger.send(path, name="eve", password=password, again=password).status_code == 410


def test_setting_up_says_what_is_wrong_and_keeps_the_name(study, stranger, password):
    path = requesters.setup_path(study)
    stranger.get(path)
    cases = (("short", "short", "10 to 200"), (password, "another one", "not the same"))
    for first_entry, second_entry, complaint in cases:
        answer = stranger.send(path, name="ann", password=first_entry, again=second_entry)
        assert answer.status_code == 422
        assert complaint in answer.text
        assert stranger.page.all("input", id="name", value="ann")
    assert not requesters.everybody(study)


def test_a_forged_setup_link_is_refused(stranger):
    assert stranger.get("/setup/forged").status_code == 403


def test_a_wrong_password_keeps_the_name_and_says_nothing_more(requester, stranger):
    stranger.get("/login")
    for name in ("ann", "nobody"):
        answer = stranger.send("/login", name=name, password="wrong")
        assert answer.status_code == 403
        assert "Wrong name or password" in answer.text
    assert stranger.page.all("input", id="name", value="nobody")


def test_a_flood_of_logins_has_to_wait(requester, stranger, password, refused):
    stranger.get("/login")
    statuses = [stranger.send("/login", name="ann", password=f"wrong {n}").status_code for n in range(5)]
    stranger.get("/login")
    answer = stranger.send("/login", name="ann", password=password)
    assert statuses == [403] * 5
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 15
    assert "Too many attempts; please wait" in answer.text
    assert ("stranger", "/login", 429) in refused()


def test_logging_out_ends_every_session(app, study, requester, password):
    other_browser = type(requester)(app)
    other_browser.get("/login")
    other_browser.send("/login", name="ann", password=password)
    other_browser.get("/requester")
    other_browser.send("/logout")
    assert requester.get("/requester").url.path == "/login"


def test_a_password_can_be_changed(app, requester, password):
    requester.get("/requester/account")
    new_password = "another horse"
    answer = requester.send("/requester/account/password", old=password, password=new_password, again=new_password)
    assert "Your password has been changed" in answer.text
    somebody = type(requester)(app)
    somebody.get("/login")
    assert somebody.send("/login", name="ann", password=new_password).url.path == "/requester"


def test_a_colleague_chooses_their_password_by_a_link_that_works_once(app, requester, password):
    requester.get("/requester/account")
    requester.send("/requester/account/colleague", name="bea", role="editor")
    path = requester.page.all("input", id="link")[0]["value"].removeprefix("http://testserver")
    assert requester.send("/requester/account/colleague", name="bea", role="editor").status_code == 422
    bea = type(requester)(app)
    thief = type(requester)(app)
    for somebody in (bea, thief):
        assert "Choose a password for <b>bea</b>" in somebody.get(path).text
        assert not somebody.page.all("input", name="name")
    assert bea.send(path, password="short", again="short").status_code == 422
    assert bea.send(path, password=password, again=password).url.path == "/requester"
    assert thief.send(path, password="another horse", again="another horse").status_code == 410
    assert thief.get(path).status_code == 410
    assert bea.get("/requester/account").text.count("<td>editor</td>") == 1


def test_a_wrong_old_password_changes_nothing(requester, password):
    requester.get("/requester/account")
    answer = requester.send("/requester/account/password", old="wrong", password="another horse", again="another horse")
    assert answer.status_code == 403
    assert requester.get("/requester").url.path == "/requester"


def test_the_dashboard_counts_charts_and_refreshes_itself(busy, requester):
    page = requester.get("/requester").text
    assert requester.page.all("div", id="live")[0]["hx-trigger"] == "every 5s"
    assert "1 of 4 submitted" in page
    assert requester.page.all("svg", class_="chart", role="img")
    assert requester.page.all("polyline", class_="line")
    assert "$0.43" in page
    assert "Fleiss" in page
    assert "$0.43" in requester.get("/requester/live").text


def test_pausing_and_going_on(study, requester):
    requester.get("/requester")
    assert "is paused" in requester.send("/requester/pause", paused="yes").text
    assert study.paused
    requester.send("/requester/pause", paused="no")
    assert not study.paused


def test_problems_are_filtered(busy, requester):
    def count_cards(query=""):
        return requester.get(f"/requester/problems{query}").text.count('class="card"')

    assert count_cards() == 2
    assert count_cards("?text=ALWAYS") == 1
    assert "that matches the filter" in requester.get("/requester/problems?status=valid").text
    assert count_cards("?text=%25") == 0
    assert count_cards(f"?author={author_code(busy)}") == 2


def test_an_address_that_makes_no_sense_is_a_friendly_page(requester):
    for query in ("?page=0", "?page=x", "?page=99999999999999999999", "?text=" + "x" * 300, "/0", "/x", "/99999999999"):
        answer = requester.get(f"/requester/problems{query}")
        assert answer.status_code == 404, query
        assert "No page here leads to this address" in answer.text


def test_sql_in_a_filter_is_only_text(busy, requester):
    filters = ("text", "author", "worker", "action", "status")
    for text in ("' OR 1=1 --", '"; DROP TABLE problem; --', "%' UNION SELECT 1 --", "\\"):
        for path in ("/requester/problems", "/requester/submissions", "/requester/log"):
            assert requester.get(path, params=dict.fromkeys(filters, text)).status_code == 200
    assert listings.problems(busy).total == 2


def test_a_nul_in_an_address_is_refused(requester):
    assert requester.get("/requester/problems?text=a%00b").status_code == 403


def test_a_requester_decides_over_the_votes(busy, requester):
    number = listings.problems(busy).rows[0].id
    requester.get(f"/requester/problems/{number}")
    page = requester.send(f"/requester/problems/{number}/decide", valid="valid", note="fine by me").text
    assert "fine by me" in page
    assert "✓ valid" in page
    requester.send(f"/requester/problems/{number}/decide", valid="votes", note="")
    problem, _ = listings.problem(busy, number)
    assert problem.valid is None
    assert requester.send(f"/requester/problems/{number}/decide", valid="perhaps").status_code == 422


def test_a_submission_is_discarded_with_a_reason(busy, requester):
    (vote,) = listings.submissions(busy, kind="validate").rows
    requester.get("/requester/submissions")
    assert requester.send(f"/requester/submissions/{vote.id}/discard", why=" ").status_code == 422
    requester.get("/requester/submissions")
    page = requester.send(f"/requester/submissions/{vote.id}/discard", why="asleep").text
    assert "no: discarded: asleep" in page
    (discarded,) = listings.submissions(busy, kind="validate").rows
    assert discarded.id == vote.id
    assert not discarded.counted


def test_a_worker_is_blocked_and_let_in_again(busy, requester):
    name = author_code(busy)
    requester.get(f"/requester/workers/{name}")
    page = requester.send(f"/requester/workers/{name}/block", why="copies", discard_work="yes").text
    assert "Copies." in page
    assert workers.step_of(busy, workers.get(busy, name)) == "blocked"
    assert all(problem.withdrawn for problem in listings.problems(busy).rows)
    requester.send(f"/requester/workers/{name}/unblock")
    assert workers.step_of(busy, workers.get(busy, name)) == "work"


def test_a_worker_who_lost_the_way_gets_a_link(busy, requester, stranger):
    name = author_code(busy)
    requester.get(f"/requester/workers/{name}")
    requester.send(f"/requester/workers/{name}/return")
    link = requester.page.all("input", id="link")[0]["value"]
    assert link.startswith("http://testserver/join/")
    stranger.get(link)
    assert name in stranger.send(link.removeprefix("http://testserver")).text


def test_a_bonus_is_written_down_and_nonsense_is_not(busy, requester):
    name = author_code(busy)
    for amount in ("x", "", "1.005", "NaN", "1e9", "99999999"):
        requester.get(f"/requester/workers/{name}")
        assert requester.send(f"/requester/workers/{name}/bonus", amount=amount, note="").status_code == 422
    requester.get(f"/requester/workers/{name}")
    requester.send(f"/requester/workers/{name}/bonus", amount="1.50", note="lovely twins")
    entries = [entry for entry in ledger.entries(busy) if entry.worker.code == name]
    assert [(entry.cents, entry.note) for entry in entries] == [(40, ""), (150, "lovely twins")]


def test_invite_links_are_made_shown_and_revoked(study, requester):
    requester.get("/requester/invites")
    requester.send("/requester/invites", label="class", count="3", uses="2", days="7")
    box_ids = [box.get("id") or "" for box in requester.page.all("input", type="text")]
    assert len([box_id for box_id in box_ids if box_id.startswith("link")]) == 3
    links = invites.listing(study)
    assert {(link.invite.label, link.invite.most_uses) for link in links} == {("class", 2)}
    requester.send(f"/requester/invites/{links[0].invite.id}/revoke")
    revoked = [link for link in invites.listing(study) if link.invite.revoked_at is not None]
    assert len(revoked) == 1
    fields = {"label": "", "count": "1", "uses": "1", "days": "1"}
    for changes in ({"count": "0"}, {"uses": "-1"}, {"days": "x"}, {"count": "9" * 30}):
        requester.get("/requester/invites")
        assert requester.send("/requester/invites", **fields | changes).status_code == 422
    assert len(invites.listing(study)) == 3


def test_what_is_owed_is_marked_as_paid(busy, requester):
    requester.get("/requester/pay")
    newest = requester.page.all("input", name="newest")[0]["value"]
    ledger.bonus(busy, author_code(busy), 7, "after they have looked", "requester:bea")
    page = requester.send("/requester/pay/settle", worker=author_code(busy), newest=newest).text
    assert "1 payout marked as paid" in page
    assert "by hand" in page
    assert ledger.balances(busy)[0].open_cents == 7
    assert requester.send("/requester/pay/settle", newest="x").status_code == 422
    requester.get("/requester/pay")
    assert requester.send("/requester/pay/settle").status_code == 422  # are they sure?
    requester.get("/requester/pay")
    assert requester.page.all("input", name="sure", required=None) != []
    requester.send("/requester/pay/settle", sure="yes")
    assert sum(balance.open_cents for balance in ledger.balances(busy)) == 0
    assert "Nothing outstanding" in requester.send("/requester/pay/settle", sure="yes").text
    requester.get("/requester/pay")
    actions = [form["action"] for form in requester.page.all("form")]
    take_back = next(action for action in actions if action.endswith("/take-back"))
    assert "outstanding again" in requester.send(take_back).text
    assert sum(balance.open_cents for balance in ledger.balances(busy)) > 0


def test_the_export_is_a_zip_without_anything_personal(busy, requester):
    answer = requester.get("/requester/export.zip")
    assert answer.headers["content-disposition"] == 'attachment; filename="twins.zip"'
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        lines = packed.read("others.jsonl").decode().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len([row for row in rows if "text" in row]) == 2
    assert listings.log_entries(busy, 1)[0].action == "export"


def test_the_log_names_who_did_what(busy, requester):
    page = requester.get("/requester/log").text
    assert f"worker:{author_code(busy)}" in page
    assert "requester:ann" in requester.get("/requester/log?action=requester").text or "requester" in page
    _, _, table_body = requester.get("/requester/log?action=join").text.partition("<tbody>")
    assert table_body
    assert "consent" not in table_body


def test_agreement_is_only_there_for_votes_of_the_study(requester):
    assert requester.get("/requester/agreement/write").status_code == 404
    assert requester.get("/requester/agreement/evaluate").status_code == 404
    assert "No &#39;validate&#39; votes yet" in requester.get("/requester/agreement/validate").text


def test_a_worker_can_be_taken_out(study, requester, worker):
    worker.write()
    code = re.search(r"w-\w{10}", worker.seen)[0]
    requester.get(f"/requester/workers/{code}")
    assert requester.send(f"/requester/workers/{code}/withdraw").status_code == 422
    assert listings.problems(study, status="withdrawn").total == 0
    requester.get(f"/requester/workers/{code}")
    page = requester.send(f"/requester/workers/{code}/withdraw", sure="yes").text
    assert "Deleted: 0 judgements and 2 sentences" in page
    assert f"{code} has withdrawn" in page
    assert "squeeze" not in page
    assert not requester.page.all("form", action=f"/requester/workers/{code}/unblock")
    for path in ("", "/problems", "/problems/1", "/submissions", "/workers", "/pay", "/log"):
        page = requester.get(f"/requester{path}")
        assert page.status_code == 200
        assert "squeeze" not in page.text


def test_an_evaluation_shows_the_problems_it_is_about(make_study, browser_of):
    study = make_study(tasks={"kinds": ["evaluate"], "twins": 0}, evaluate={"data": "open", "limit": 4})
    somebody = browser_of(study).set_up(study)
    assert "details" in somebody.get("/requester/problems").text
    assert "details" not in somebody.get("/requester/problems?origin=written").text


def test_votes_of_a_blocked_worker_are_told_and_can_be_discarded(busy, requester, crew):
    voter = crew.newcomer(busy)
    crew.vote(busy, voter)
    requester.get(f"/requester/workers/{voter.code}")
    requester.send(f"/requester/workers/{voter.code}/block", why="too hasty")
    assert "Votes of blocked workers still count" in requester.get("/requester/workers").text
    page = requester.get(f"/requester/workers/{voter.code}").text
    assert "Their votes still count" in page
    assert "Discarded: 1 vote;" in requester.send(f"/requester/workers/{voter.code}/discard-votes").text
    assert "still count" not in requester.get("/requester/workers").text
