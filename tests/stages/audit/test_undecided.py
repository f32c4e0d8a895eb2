"""Where everything is undecided, the page says so, shows three replies as they came, and stops."""

import json
import re
from html import unescape

import pytest
from support.pages import opened
from support.servers import ChatServer, ReasoningServer, says

import winokit
from winokit.data.runs import Run
from winokit.drawing.tables import Table
from winokit.stages.audit.table import lines
from winokit.stages.audit.undecided import undecided
from winokit.stages.report import report

AFTERWARDS = ["problems", "run"]
"""Sections that such a page has beside the first."""


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def unread(tmp_path_factory):
    """The run of a server of whose replies none can be read."""
    folder = tmp_path_factory.mktemp("unread") / "run"
    with ChatServer(lambda number, body: says(f"I am <b>teapot</b> {number}.")) as server:
        spec = f"chat:m@{server.url}?concurrency=1&name=m"
        return winokit.audit("open", spec, limit=8, protocol=["accuracy", "groups"], out=folder, cache="off")


def page_of(run):
    return run.report.read_text("utf-8")


def sections(page):
    return re.findall(r'<section id="(\w+)"', page)


def replies(page):
    return [unescape(text) for text in re.findall(r'<pre class="reply" dir="auto">(.*?)</pre>', page, re.DOTALL)]


def test_the_first_screen_says_so_and_shows_three_replies_as_they_came(unread):
    page = page_of(unread)
    assert "<h1>Nothing was decided</h1>" in page
    assert "m chose a candidate in none of 8 predictions" in page.replace("\u00a0", " ")
    assert "8 predictions: no readable answer" in page
    assert replies(page) == ["I am <b>teapot</b> 0.", "I am <b>teapot</b> 2.", "I am <b>teapot</b> 4."]
    assert "What to try: check the server" in page


def test_no_chart_verdict_or_number_follows(unread):
    page = page_of(unread)
    assert sections(page) == ["verdict", *AFTERWARDS]
    for gone in ("What is this score worth", "Every protocol", "All numbers", "Findings", "0.0 %", "100.0 %"):
        assert gone not in page.replace("(100.0 %) without a choice", ""), gone


def test_the_page_can_be_made_again_from_the_folder(unread):
    before = page_of(unread)
    assert report(unread.report.parents[1]).read_text("utf-8") == before


def test_one_decided_prediction_makes_an_ordinary_page(tmp_path):
    with ChatServer(lambda number, body: says("A" if number == 3 else "I am a teapot.")) as server:
        spec = f"chat:m@{server.url}?concurrency=1&name=m"
        run = winokit.audit("open", spec, limit=8, protocol="accuracy", out=tmp_path / "run", cache="off")
    assert undecided(run) is None
    assert "What is this score worth" in page_of(run)
    assert "numbers" in sections(page_of(run))


def test_predictions_from_a_file_have_no_replies_to_show_and_the_page_says_why(tmp_path):
    data = winokit.load("open")
    file = tmp_path / "p.json"
    file.write_text(json.dumps({problem.id: None for problem in data}))
    page = page_of(winokit.audit(data, predictions=file, out=tmp_path / "run"))
    assert replies(page) == []
    assert "No replies can be shown: the predictions were read from files" in page
    assert sections(page) == ["verdict", *AFTERWARDS]


def test_models_that_give_scores_have_no_replies_either(tmp_path):
    run = winokit.audit(
        "open", lambda before, after, candidates, pronoun: None, limit=8, out=tmp_path / "run", cache="off"
    )
    assert "No replies can be shown: these models give scores" in page_of(run)


def test_replies_that_can_be_read_and_contradict_each_other_are_not_blamed_on_the_server(tmp_path):
    with ReasoningServer("<think>") as server:  # always the first option
        run = winokit.audit(
            "open", f"chat:m@{server.url}", limit=8, protocol="accuracy", out=tmp_path / "run", cache="off"
        )
    assert "the replies can be read, but name another candidate when the candidates change places" in page_of(run)


def test_of_two_models_both_are_heard(tmp_path):
    with ChatServer(lambda *_: says("I am a teapot.")) as one, ChatServer(lambda *_: says("")) as other:
        specs = [f"chat:one@{one.url}", f"chat:other@{other.url}"]
        run = winokit.audit("open", specs, limit=4, protocol="accuracy", out=tmp_path / "run", cache="off")
    nothing = undecided(Run.load(tmp_path / "run"))
    assert [each.model for each in nothing.replies] == ["chat:one", "chat:other", "chat:one"]
    assert '<p class="who">chat:other</p>' in page_of(run)
    assert "The reply is empty." in page_of(run)


def test_the_terminal_says_so_too_shows_one_reply_and_stops(unread):
    said, reasons, reply, way_out, report_line = lines(unread)
    assert said.startswith("Nothing was decided: m on open, 8 of 428 chose a candidate in none of ")
    assert reasons.startswith("8 predictions: no readable answer")
    assert reply.startswith("To 'Text: ")
    assert reply.endswith("m said 'I am <b>teapot</b> 0.'")
    assert way_out.startswith("What to try: check the server")
    assert report_line.startswith("Full report: ")


def test_every_row_is_still_there_for_who_asks(unread):
    assert any(isinstance(line, Table) for line in lines(unread, every=True))


def test_the_page_works_in_a_browser(chromium, unread):
    with opened(chromium, unread.report, 360) as page:
        assert not page.locator("#rows").is_visible()  # the page stops after the replies
        page.click("#problems summary")
        page.wait_for_selector("#rows tr")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.locator(".sample").count() == 3


def test_a_scorer_that_answers_nothing_beside_one_that_does_is_shown_with_three_replies(tmp_path):
    (tmp_path / "known.lst").write_text("1\n" * 428)
    with ChatServer(lambda number, body: says(f"I am teapot {number}.")) as server:
        spec = f"chat:m@{server.url}?concurrency=1&name=m"
        both = winokit.audit(
            "open", spec, predictions=tmp_path / "known.lst", limit=8, protocol="accuracy", cache="off", out=tmp_path
        )
    page = page_of(both).replace("\u00a0", " ")
    assert "It answers none of 8 problems." in page
    assert "Why m does not answer: 3 replies" in page
    assert replies(page) == ["I am teapot 0.", "I am teapot 2.", "I am teapot 4."]
    text = "\n".join(line for line in lines(both) if isinstance(line, str))
    assert "  It answers none of 8 problems." in text.replace("\u00a0", " ")
    assert "8 predictions: no readable answer" in text
    assert "'I am teapot 0.'" in text
