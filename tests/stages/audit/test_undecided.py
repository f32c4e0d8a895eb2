"""The page of a run that decided nothing says so, shows three replies as they came, and stops."""

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

SECTIONS_AFTERWARDS = ["problems", "run"]
"""Sections that such a page has beside the first."""


@pytest.fixture(autouse=True)
def _set_environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def unreadable(tmp_path_factory):
    """The run of a server whose replies cannot be read."""
    folder = tmp_path_factory.mktemp("unread") / "run"
    with ChatServer(lambda number, body: says(f"I am <b>teapot</b> {number}.")) as server:
        return audit_server(server, folder, protocol=["accuracy", "groups"])


def read_page(run):
    return run.report.read_text("utf-8")


def find_sections(page):
    return re.findall(r'<section id="(\w+)"', page)


def find_replies(page):
    """Replies that a page shows, as they came."""
    texts = re.findall(r'<pre class="reply" dir="auto">(.*?)</pre>', page, re.DOTALL)
    return [unescape(text) for text in texts]


def use_plain_spaces(text):
    return text.replace("\u00a0", " ")


def audit_server(server, folder, **options):
    """Audit of eight problems by a chat model that is asked one after the other."""
    spec = f"chat:m@{server.url}?concurrency=1&name=m"
    return winokit.audit("open", spec, limit=8, out=folder, cache="off", **options)


def test_the_first_screen_says_so_and_shows_three_replies_as_they_came(unreadable):
    page = read_page(unreadable)
    assert "<h1>Nothing was decided</h1>" in page
    assert "m chose a candidate in none of 8 predictions" in use_plain_spaces(page)
    assert "8 predictions: no readable answer" in page
    assert find_replies(page) == ["I am <b>teapot</b> 0.", "I am <b>teapot</b> 2.", "I am <b>teapot</b> 4."]
    assert "What to try: check the server" in page


def test_no_chart_verdict_or_number_follows(unreadable):
    page = read_page(unreadable)
    assert find_sections(page) == ["verdict", *SECTIONS_AFTERWARDS]
    page_without_reason = page.replace("(100.0 %) without a choice", "")
    for words in ("What is this score worth", "Every protocol", "All numbers", "Findings", "0.0 %", "100.0 %"):
        assert words not in page_without_reason, words


def test_the_page_can_be_made_again_from_the_folder(unreadable):
    page = read_page(unreadable)
    folder = unreadable.report.parents[1]
    assert report(folder).read_text("utf-8") == page


def test_one_decided_prediction_makes_an_ordinary_page(tmp_path):
    with ChatServer(lambda number, body: says("A" if number == 3 else "I am a teapot.")) as server:
        run = audit_server(server, tmp_path / "run", protocol="accuracy")
    page = read_page(run)
    assert undecided(run) is None
    assert "What is this score worth" in page
    assert "numbers" in find_sections(page)


def test_predictions_from_a_file_have_no_replies_to_show_and_the_page_says_why(tmp_path):
    data = winokit.load("open")
    path = tmp_path / "p.json"
    path.write_text(json.dumps({problem.id: None for problem in data}))
    run = winokit.audit(data, predictions=path, out=tmp_path / "run")
    page = read_page(run)
    assert find_replies(page) == []
    assert "No replies can be shown: the predictions were read from files" in page
    assert find_sections(page) == ["verdict", *SECTIONS_AFTERWARDS]


def answer_nothing(before, after, candidates, pronoun):
    return None


def test_models_that_give_scores_have_no_replies_either(tmp_path):
    run = winokit.audit("open", answer_nothing, limit=8, out=tmp_path / "run", cache="off")
    assert "No replies can be shown: these models give scores" in read_page(run)


def test_replies_that_can_be_read_and_contradict_each_other_are_not_blamed_on_the_server(tmp_path):
    with ReasoningServer("<think>") as server:  # always the first option
        run = audit_server(server, tmp_path / "run", protocol="accuracy")
    reason = "the replies can be read, but name another candidate when the candidates change places"
    assert reason in read_page(run)


def test_of_two_models_both_are_heard(tmp_path):
    folder = tmp_path / "run"
    with ChatServer(lambda *_: says("I am a teapot.")) as teapot, ChatServer(lambda *_: says("")) as silent:
        specs = [f"chat:one@{teapot.url}", f"chat:other@{silent.url}"]
        run = winokit.audit("open", specs, limit=4, protocol="accuracy", out=folder, cache="off")
    undecided_run = undecided(Run.load(folder))
    page = read_page(run)
    assert [reply.model for reply in undecided_run.replies] == ["chat:one", "chat:other", "chat:one"]
    assert '<p class="who">chat:other</p>' in page
    assert "The reply is empty." in page


def test_the_terminal_says_so_too_shows_one_reply_and_stops(unreadable):
    headline, reasons, reply, way_out, report_line = lines(unreadable)
    assert headline.startswith("Nothing was decided: m on open, 8 of 428 chose a candidate in none of ")
    assert reasons.startswith("8 predictions: no readable answer")
    assert reply.startswith("To 'Text: ")
    assert reply.endswith("m said 'I am <b>teapot</b> 0.'")
    assert way_out.startswith("What to try: check the server")
    assert report_line.startswith("Full report: ")


def test_every_row_is_still_there_for_who_asks(unreadable):
    assert any(isinstance(line, Table) for line in lines(unreadable, every=True))


def test_the_page_works_in_a_browser(chromium, unreadable):
    with opened(chromium, unreadable.report, 360) as page:
        assert not page.locator("#rows").is_visible()  # the page stops after the replies
        page.click("#problems summary")
        page.wait_for_selector("#rows tr")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.locator(".sample").count() == 3


@pytest.fixture(scope="module")
def silent_beside_labels(tmp_path_factory):
    """Audit of a server whose replies cannot be read, beside predictions from a file."""
    folder = tmp_path_factory.mktemp("beside")
    path = folder / "known.lst"
    path.write_text("1\n" * 428)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NO_PROXY", "127.0.0.1")
        environment.delenv("OPENAI_API_KEY", raising=False)
        with ChatServer(lambda number, body: says(f"I am teapot {number}.")) as server:
            return audit_server(server, folder, predictions=path, protocol="accuracy")


def test_a_scorer_that_answers_nothing_beside_one_that_does_is_shown_with_three_replies(silent_beside_labels):
    page = use_plain_spaces(read_page(silent_beside_labels))
    assert "It answers none of 8 problems." in page
    assert "Why m does not answer: 3 replies" in page
    assert find_replies(page) == ["I am teapot 0.", "I am teapot 2.", "I am teapot 4."]


def test_the_terminal_says_why_a_scorer_beside_another_answers_nothing(silent_beside_labels):
    sentences = [line for line in lines(silent_beside_labels) if isinstance(line, str)]
    text = "\n".join(sentences)
    assert "  It answers none of 8 problems." in use_plain_spaces(text)
    assert "8 predictions: no readable answer" in text
    assert "'I am teapot 0.'" in text
