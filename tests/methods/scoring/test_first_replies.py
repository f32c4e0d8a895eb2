"""After twenty replies in which nothing can be read, the other requests are not sent."""

import pytest
from support.knowing import KnowingServer
from support.servers import ChatServer, ReasoningServer, says

import winokit
from winokit.errors import AskingStopped
from winokit.methods.scoring.cache import Cache


@pytest.fixture(autouse=True)
def clear_environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def data():
    return winokit.load("open")[:40]


def audit_server(data, server, options="", cache="off"):
    """Audit accuracy, with these options of the spec."""
    spec = f"chat:m@{server.url}?delay=0.001{options}&name=m"
    return winokit.audit(data, spec, protocol="accuracy", cache=cache)


def test_an_audit_of_a_server_stops_after_twenty_unread_replies_and_shows_one(data):
    reply = "I am a teapot,\nshort and stout. " + "Tip me over. " * 99
    with ChatServer(lambda number, body: says(reply)) as server:
        with pytest.raises(AskingStopped) as stopped:
            audit_server(data, server)
        assert len(server.bodies) == 20
    message = str(stopped.value)
    assert "\n" not in message
    assert len(message) < 700
    assert "m: no choice could be read from any of the first 20 replies" in message
    assert "it said 'I am a teapot, short and stout. Tip me over." in message
    assert "--prompt FILE" in message


def test_one_reply_that_can_be_read_is_enough_to_go_on(data):
    def mostly_silent(number, body):
        return says("B" if number == 19 else "I am a teapot.")

    with ChatServer(mostly_silent) as server:
        run = audit_server(data, server)
        assert len(server.bodies) == 80
    assert sum(row.prediction is not None for row in run.predictions) == 1


def test_a_run_of_fewer_replies_is_finished(data):
    with ChatServer(lambda number, body: says("I am a teapot.")) as server:
        assert len(audit_server(data[:9], server).transcripts) == 18


def test_what_to_do_depends_on_why_nothing_could_be_read(data):
    with ReasoningServer(length=40) as server, pytest.raises(AskingStopped, match=r"\?max_tokens=4096") as stopped:
        audit_server(data, server, "&max_tokens=20")
    assert "its reply ended before the answer" in str(stopped.value)
    refusing = ChatServer(lambda number, body: says("", finish="stop", refusal="No."))
    with refusing as server, pytest.raises(AskingStopped, match=r"\(a refusal\); .*another model"):
        audit_server(data, server)


def test_replies_in_vain_are_not_kept_so_that_a_mended_server_is_asked_by_the_same_command(tmp_path, data):
    with KnowingServer(data) as server:
        server.says_instead = "I am a teapot."
        with pytest.raises(AskingStopped):
            audit_server(data, server, cache=tmp_path / "c")
        server.says_instead = None
        run = audit_server(data, server, cache=tmp_path / "c")
        assert len(server.bodies) == 20 + 80
    assert run.settings["replayed"] == {}
    assert run.find("accuracy", "all", "accuracy").value == 0.9


def test_replies_that_were_read_before_speak_for_those_to_come(tmp_path, data):
    with KnowingServer(data) as server:
        audit_server(data[:10], server, cache=tmp_path / "c")
        usual_behaviour = server.behaviour

        def turn_into_teapot(number, body):
            return usual_behaviour(number, body) if number < 25 else says("I am a teapot.")

        server.behaviour = turn_into_teapot
        run = audit_server(data, server, cache=tmp_path / "c")  # five replies of before are asked again, and sound
    assert sum(row.prediction is None for row in run.predictions) == 30


def test_a_model_on_this_machine_may_abstain_as_it_likes(data):
    run = winokit.audit(data, lambda before, after, candidates, pronoun: None, protocol="accuracy", cache=Cache())
    assert {row.prediction for row in run.predictions} == {None}
