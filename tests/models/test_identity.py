"""The name that a server gives its model is kept if it says something, and asked for only once."""

import pytest
from support.servers import ChatServer, CoinServer, FlakyServer, Response, complains, lists_model, says

from winokit.models.base import Continuation
from winokit.models.identity import ServerIdentity, read_identity, server_time
from winokit.models.registry import load_model

NOW = 1_750_000_000.0
MADE = 1_700_000_000


@pytest.fixture(autouse=True)
def _set_no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def listing(*entries):
    return {"object": "list", "data": list(entries)}


def identify(server, options="?delay=0.001"):
    return load_model(f"chat:tiny@{server.url}{options}").identify()


def test_id_root_owner_and_date_of_the_named_model_are_its_identity():
    wanted = {"id": "tiny", "root": "org/tiny", "owned_by": "org", "created": MADE}
    other = {"id": "large", "root": "org/large", "owned_by": "org", "created": MADE + 5}
    identity = read_identity(listing(other, {**wanted, "permission": []}), "tiny", NOW)
    assert identity.facts == wanted
    assert identity.tells


def test_the_name_that_ollama_completes_is_found():
    entries = [{"id": "llama3:latest", "created": MADE}, {"id": "gemma:latest", "created": MADE + 9}]
    assert read_identity(listing(*entries), "llama3", NOW).facts == entries[0]


def test_a_server_of_one_model_serves_it_under_any_name():
    assert read_identity(listing({"id": "/models/a.gguf"}), "tiny", NOW).facts == {"id": "/models/a.gguf"}
    assert read_identity(listing({"id": "a"}, {"id": "b"}), "tiny", NOW).facts == {}


@pytest.mark.parametrize(
    "created",
    [
        0,
        1,
        1677610602,
        -5,
        NOW,
        int(NOW) - 1,
        int(NOW * 1000),
        None,
        True,
        "2024-01-01",
        float("nan"),
        float("inf"),
        pytest.param(10**400, id="huge"),
    ],
)
def test_a_constant_or_the_time_of_the_request_is_no_date_of_a_model(created):
    identity = read_identity(listing({"id": "tiny", "created": created}), "tiny", NOW)
    assert identity.facts == {"id": "tiny"}
    assert not identity.tells


def test_a_date_that_all_models_share_is_none_of_theirs():
    entries = [{"id": name, "created": MADE} for name in ("tiny", "large")]
    assert not read_identity(listing(*entries), "tiny", NOW).tells
    entries[1]["created"] += 1
    assert read_identity(listing(*entries), "tiny", NOW).tells


@pytest.mark.parametrize("payload", [None, 3, "x", [], {}, {"data": None}, {"data": [1, None]}, listing()])
def test_anything_else_is_no_identity(payload):
    assert read_identity(payload, "tiny", NOW) == ServerIdentity()


def test_an_identity_comes_back_from_its_text():
    identity = ServerIdentity({"id": "tiny", "created": MADE})
    assert ServerIdentity.recall(identity.text) == identity
    assert ServerIdentity.recall("") == ServerIdentity()


def test_the_time_is_the_servers_where_it_has_a_clock():
    assert server_time({"date": "Sun, 15 Jun 2025 15:06:40 GMT"}) == NOW
    assert server_time({"date": "yesterday"}) > NOW


def test_a_server_says_which_model_it_serves():
    with CoinServer() as server:
        assert identify(server) == ServerIdentity()
        server.models = lists_model(id="tiny", created=MADE)
        assert identify(server).facts == {"id": "tiny", "created": MADE}
        assert load_model(f"completions:tiny@{server.url}").identify().tells
        assert server.bodies == []


@pytest.mark.parametrize(
    "response", [complains(404, "no"), complains(401, "key?"), Response(payload=b"<html>"), Response(payload=[[]])]
)
def test_a_server_without_a_list_has_no_identity_and_is_asked_once(response):
    with CoinServer() as server:
        server.models = response
        assert identify(server) == ServerIdentity()
        assert server.lookups == 1


@pytest.mark.parametrize("response", [complains(503, "busy"), complains(429, "busy"), complains(500, "oh")])
def test_a_server_that_is_out_of_order_is_asked_again_and_not_taken_for_one_that_says_nothing(response):
    with CoinServer() as server:
        server.models = response
        identity = identify(server)
        assert identity.confirmed is False
        assert identity.reached is True
        assert server.lookups == 3
        assert identify(server, "?retries=0").confirmed is False
        assert server.lookups == 4


def test_a_server_that_is_not_there_is_not_reached():
    with CoinServer() as server:
        pass
    assert not identify(server).reached


@pytest.mark.parametrize("response", [Response(hangs_up=True), Response(payload=[], pause=30.0)])
def test_a_server_that_does_not_say_who_it_is_is_there_all_the_same(response):
    with CoinServer() as server:
        server.models = response
        identity = identify(server, "?delay=0.001&timeout=0.2")
    assert identity.confirmed is False
    assert identity.reached is True


def test_a_key_that_is_needed_is_sent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    keys = []

    class Locked(CoinServer):
        def receive(self, path, body, key):
            keys.append(key)
            return super().receive(path, body, key)

    with Locked() as server:
        identify(server)
    assert keys == ["Bearer sk-1"]


def test_a_chat_model_samples_at_a_temperature_above_zero_or_at_one_it_does_not_know():
    assert not load_model("chat:m@http://localhost:1/v1").samples
    assert load_model("chat:m@http://localhost:1/v1?temperature=0.5").samples

    def refuses(number, body):
        return complains(400, "temperature is not supported") if "temperature" in body else says("A")

    with ChatServer(refuses) as server:
        model = load_model(f"chat:m@{server.url}")
        list(model._client.complete([{"messages": [{"role": "user", "content": "?"}]}]))
    assert model.samples


def test_who_is_asked_who_it_is_is_read_anew():
    from support.servers import CompletionsServer

    with CompletionsServer() as server:
        model = load_model(f"completions:m@{server.url}")
        for _ in range(2):
            list(model.answer([Continuation("The cup", " broke.")]))
        asked = len(server.bodies)
        model.identify()
        list(model.answer([Continuation("The cup", " broke.")]))
    assert len(server.bodies) == asked + 1


def test_a_flaky_server_says_in_the_end_who_it_is():
    class Flaky(FlakyServer):
        fails = 2

        def receive(self, path, body, key):
            if self.fails:
                self.fails -= 1
                return Response(hangs_up=True)
            return super().receive(path, body, key)

    with Flaky(CoinServer(), 0.0) as server:
        server.models = lists_model(id="tiny", created=MADE)
        assert identify(server).tells
