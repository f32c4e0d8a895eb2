"""Requests, tokens and money are counted before a call and limited while calls are made."""

import json
import math

import pytest
from support.servers import ChatServer, CoinServer, CompletionsServer, says
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app
from winokit.errors import BadInput
from winokit.methods.scoring.cache import Cache, answer_all
from winokit.methods.scoring.ledger import Ledger, Spending
from winokit.models.base import Ask, Continuation, Usage
from winokit.models.random_model import RandomModel
from winokit.models.registry import load_model

TEXTS = [Continuation("", f"text number {number}") for number in range(10)]


class CountingModel(RandomModel):
    """A model that counts its requests."""

    request_count = 0

    def answer(self, requests):
        for index, answer in super().answer(requests):
            self.request_count += 1
            yield index, answer


def test_a_dry_run_counts_and_asks_nothing(tmp_path):
    with CoinServer() as server:
        spec = f"chat:coin@{server.url}"
        run = winokit.audit("open", spec, limit=50, protocol="accuracy", cache=tmp_path / "c", dry_run=True)
        assert len(server.bodies) == 0
    plan = run.settings["plan"]
    assert plan["requests"] == 100
    assert plan["cached"] == 0
    assert plan["new"] == 100
    assert plan["estimated"] is True


def test_only_what_the_protocols_need_is_asked(tmp_path):
    with CoinServer() as server:
        winokit.audit("open", f"chat:coin@{server.url}", limit=50, protocol="accuracy", cache=tmp_path / "c")
        assert len(server.bodies) == 100


def test_a_dry_run_knows_what_is_cached_and_what_each_variant_and_protocol_adds(tmp_path):
    with CoinServer() as server:
        spec = f"chat:coin@{server.url}"
        cache = tmp_path / "c"
        winokit.audit("open", spec, limit=20, protocol="accuracy", cache=cache)
        plan = winokit.audit("open", spec, limit=20, cache=cache, dry_run=True).settings["plan"]
        by_variant = {row["variant"]: row for row in plan["by_variant"]}
        by_protocol = {row["protocol"]: row for row in plan["by_protocol"]}
        assert by_variant["original"]["cached"] == 40
        assert by_variant["original"]["new"] == 5  # five are asked again
        assert by_variant["switched"]["new"] > 0
        assert by_protocol["switching"]["new"] == by_variant["switched"]["new"] + 5
        bodies_before = len(server.bodies)
        spending = winokit.audit("open", spec, limit=20, cache=cache).settings["asked"]
        assert len(server.bodies) - bodies_before == plan["new"]  # a promise that was kept
        assert spending["tokens_in"] == plan["tokens_in"]  # estimated in the same way, before and after


def test_a_text_that_two_variants_share_is_counted_once():
    ledger = Ledger(Spending(dry_run=True))
    model = RandomModel()
    cache = Cache()
    cache.ledger = ledger
    for variant in ("original", "reversed"):
        with ledger.under("random", "partial", variant):
            answer_all(model, TEXTS, cache)
    assert ledger.planned({})["requests"] == len(TEXTS)


def test_cost_is_that_of_a_million_tokens():
    assert Spending(price_in=2.0, price_out=8.0).cost(500_000, 250_000) == 3.0
    assert Spending().cost(1, 1) is None


def test_a_limit_of_requests_ends_a_run_and_the_next_goes_on(tmp_path):
    model = CountingModel()
    for answered in (4, 8):
        with Cache(tmp_path / "c") as cache:
            cache.ledger = Ledger(Spending(max_requests=4))
            with pytest.raises(BadInput, match=rf"stopped at --set max_requests=4: {answered} of 10 .* continues"):
                answer_all(model, TEXTS, cache)
        assert model.request_count == answered
    with Cache(tmp_path / "c") as cache:
        cache.ledger = Ledger(Spending(max_requests=4))
        assert len(answer_all(model, TEXTS, cache)) == 10
    assert model.request_count == 10


def test_a_server_is_asked_exactly_as_often_as_allowed(tmp_path):
    with CoinServer() as server:
        spec = f"chat:coin@{server.url}?concurrency=8"
        options = {"limit": 50, "protocol": "accuracy", "cache": tmp_path / "c"}
        with pytest.raises(BadInput, match="stopped at --set max_requests=30: 30 of 100"):
            winokit.audit("open", spec, **options, max_requests=30)
        assert len(server.bodies) == 30
        run = winokit.audit("open", spec, **options)
        assert len(server.bodies) == 100 + 5  # of the thirty, five are asked again
        assert run.settings["asked"]["requests"] == 70 + 5


@pytest.mark.parametrize(
    ("limit", "message"),
    [({"max_tokens_total": 500}, "--set max_tokens_total=500"), ({"max_cost": 0.001}, "--set max_cost=0.001")],
)
def test_tokens_and_money_end_a_run_too(tmp_path, limit, message):
    with CoinServer() as server:
        spec = f"chat:coin@{server.url}"
        with pytest.raises(BadInput, match=message):
            winokit.score("open", spec, cache=tmp_path / "c", price_in=1.0, price_out=1.0, **limit)
        assert 0 < len(server.bodies) < 100


def test_a_limit_of_money_needs_prices():
    with pytest.raises(BadInput, match="--set max_cost needs prices: give --set price_in and --set price_out"):
        Spending(max_cost=1.0)


def test_usages_of_several_servers_add_up():
    total = Usage.total([Usage(1, 10, 2), Usage(2, 5, 1, estimated=True)])
    assert total == Usage(3, 15, 3, estimated=True)


def test_the_command_line_shows_the_plan_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = [f"cache={tmp_path / 'c'}", "price_in=1", "price_out=2"]
    words = ["open", "--model", "chat:m@http://localhost:1/v1", "--limit", "4", "--dry-run"]
    for setting in settings:
        words += ["--set", setting]
    result = CliRunner().invoke(app, ["audit", *words])
    assert result.exit_code == 0
    assert "a dry run: nothing was sent" in result.output
    assert "estimates" in result.output
    result_as_json = CliRunner().invoke(app, ["score", *words, "--json"])
    plan = json.loads(result_as_json.output)
    assert plan["new"] == 8
    assert plan["cost_at_most"] > 0
    assert {path.name for path in tmp_path.iterdir()} <= {"c", "c-wal", "c-shm"}


def test_requests_of_local_models_are_counted_by_their_texts():
    cache = Cache()
    cache.ledger = Ledger(Spending(dry_run=True))
    answer_all(RandomModel(), [Ask("Who?", ("A", "B"))], cache)
    assert cache.ledger.planned({})["tokens_in"] == 1


def count_texts(bodies) -> int:
    """Number of texts in the requests, some of which hold a list of texts."""
    count = 0
    for body in bodies:
        prompt = body["prompt"]
        count += len(prompt) if isinstance(prompt, list) else 1
    return count


@pytest.mark.parametrize("together", ["audit two", "ensemble", "ensemble that votes"])
def test_what_two_models_are_asked_is_counted_for_each(tmp_path, monkeypatch, together):
    # However slow the machine is, lists grow.
    monkeypatch.setattr("winokit.models.server.PROMPT_REPLY", math.inf)
    with CompletionsServer() as first_server, CompletionsServer() as second_server:
        specs = [f"completions:a@{first_server.url}", f"completions:b@{second_server.url}"]
        ensemble = f"ensemble:{specs[0]}+{specs[1]}"
        models = {"audit two": specs, "ensemble": [ensemble], "ensemble that votes": [f"{ensemble}?combine=vote"]}
        options = {"limit": 10, "protocol": ["accuracy", "switching"], "cache": tmp_path / "c"}
        plan = winokit.audit("open", models[together], **options, dry_run=True).settings["plan"]
        run = winokit.audit("open", models[together], **options)
        bodies = first_server.bodies + second_server.bodies
    spending = run.settings["asked"]
    request_count = count_texts(bodies) - 2 * 3  # a probe, and one of two texts together
    call_count = len(bodies) - 2 * 2
    assert plan["new"] == request_count
    assert spending["requests"] == request_count
    assert spending["calls"] == call_count
    assert call_count < request_count
    sentence = f"asked: {request_count} requests in {call_count} calls, "
    assert any(sentence in note for note in run.notes)


def test_an_ensemble_under_a_limit_goes_on_where_it_stopped(tmp_path):
    with CompletionsServer() as first_server, CompletionsServer() as second_server:
        spec = f"ensemble:completions:a@{first_server.url}+completions:b@{second_server.url}"
        options = {"limit": 10, "cache": tmp_path / "c", "max_requests": 15}
        # 2 x 20 texts; whatever is kept of a server has five asked again.
        for answered in (15, 5, 10, 15):
            with pytest.raises(BadInput, match=f"stopped at --set max_requests=15: {answered} of 20"):
                winokit.score("open", spec, **options)
        run = winokit.score("open", spec, **options)
        assert len(run.predictions) == 10


@pytest.mark.parametrize("speaks", ["echo", "generate"])
def test_the_smallest_limit_still_gets_on_and_the_probe_uses_none_of_it(tmp_path, speaks):
    with CompletionsServer(speaks) as server:
        spec = f"completions:m@{server.url}"
        answered = []
        for _ in range(2):
            with pytest.raises(BadInput, match="stopped at --set max_requests=1: ") as stopped:
                winokit.score("open", spec, limit=3, cache=tmp_path / "c", max_requests=1)
            answered.append(str(stopped.value).split()[4])
        assert answered == ["1", "2"]


class TerseSglang(CompletionsServer):
    """A server that does not say how many tokens it read and wrote."""

    def respond(self, number, path, body):
        response = super().respond(number, path, body)
        if path == "/generate":
            del response.payload["meta_info"]["prompt_tokens"]
            del response.payload["meta_info"]["completion_tokens"]
        return response


@pytest.mark.parametrize("server_type", [CompletionsServer, TerseSglang])
def test_tokens_are_charged_in_every_dialect_and_estimated_where_the_server_does_not_say(server_type):
    with server_type("generate") as server:
        model = load_model(f"completions:m@{server.url}")
        list(model.answer([Continuation("The jug fills the cup because the jug", " is large.")]))
    usage = model.usage
    assert usage.requests == 1
    assert usage.written == 2
    assert usage.estimated is (server_type is TerseSglang)
    assert 20 <= usage.read <= 30  # the text's 10 tokens, and the probe's 12


def test_what_a_chat_model_writes_is_estimated_where_the_server_does_not_say():
    reply = "A, since it is " + "very " * 40
    with ChatServer(lambda *_: says(reply)) as server:
        model = load_model(f"chat:m@{server.url}?max_tokens=30")
        list(model.answer([Ask("Who?", ("A", "B"))]))
    assert model.usage.written == 30
    assert model.usage.estimated is True


class SilentModel(RandomModel):
    """A model that answers four requests and no more."""

    def answer(self, requests):
        yield from list(super().answer(requests))[:4]


def test_a_model_that_leaves_requests_unanswered_is_not_said_to_have_come_to_a_limit():
    with pytest.raises(BadInput, match="answered 4 of 10 requests and left out the others"):
        answer_all(SilentModel(), TEXTS, Cache())
