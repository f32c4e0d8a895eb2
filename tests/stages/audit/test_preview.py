"""A preview shows ten prompts and replies and what the rest costs, and nothing is asked twice."""

import re

import pytest
from support.servers import ChatServer, CoinServer, says

from winokit.errors import AskingStopped, BadInput
from winokit.progress import WATCHES
from winokit.stages.audit.run import audit
from winokit.stages.audit.table import as_json, lines


@pytest.fixture(autouse=True)
def _set_environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


class Watcher:
    """Somebody at a terminal who answers questions as set, and keeps what was shown."""

    def __init__(self) -> None:
        self.answer = True
        self.previews: list[str] = []
        self.questions: list[str] = []

    def __call__(self, preview_lines, question) -> bool:
        self.previews.append("\n".join(preview_lines))
        self.questions.append(question)
        return self.answer


@pytest.fixture
def watcher():
    watcher = Watcher()
    token = WATCHES.set(watcher)
    yield watcher
    WATCHES.reset(token)


def audit_server(server, tmp_path, **more):
    """Audit of a chat model on a hundred problems under one protocol."""
    options = {"protocol": "accuracy", "limit": 100, "cache": tmp_path / "cache"} | more
    return audit("open", f"chat:m@{server.url}", **options)


def print_lines(run) -> list[str]:
    """Lines of a run as a terminal shows them."""
    return [str(line) for line in lines(run)]


def test_a_preview_asks_ten_and_shows_prompts_and_replies(tmp_path):
    with CoinServer() as server:
        run = audit_server(server, tmp_path, preview=True, price_in=1.0, price_out=2.0)
        prompts_asked = {body["messages"][0]["content"] for body in server.bodies}
        assert len(server.bodies) == 10
    (preview,) = as_json(run)["run"]["preview"]
    prompts_shown = {exchange["prompt"] for exchange in preview["exchanges"]}
    replies_shown = {exchange["reply"] for exchange in preview["exchanges"]}
    assert len(prompts_shown) == 10
    assert prompts_shown == prompts_asked
    assert replies_shown == {"A", "B"}


def test_a_preview_says_how_to_go_on_and_what_the_rest_costs(tmp_path):
    with CoinServer() as server:
        run = audit_server(server, tmp_path, preview=True, price_in=1.0, price_out=2.0)
        printed_lines = print_lines(run)
        (preview,) = as_json(run)["run"]["preview"]
        costs = preview["rest"]
        cost = re.search(r"Left to ask: 190 requests, .*, a cost of (\d+\.\d\d) at most", "\n".join(printed_lines))
        assert costs["new"] == 190
        assert float(cost[1]) == round(costs["cost_at_most"], 2)
        assert printed_lines[-1].startswith("To go on: the same command without --preview.")
        audit_server(server, tmp_path)
        assert len(server.bodies) <= 200 + 5  # a few kept answers are asked again


def test_a_preview_of_a_model_on_this_machine_shows_its_scores(tmp_path):
    run = audit("open", "builtin", preview=True, cache="off", limit=20)
    (preview,) = run.settings["preview"]
    exchanges = preview["exchanges"]
    assert len(exchanges) == 10
    assert re.fullmatch(r"the terrier -\d\.\d\d, the spaniel -\d\.\d\d", exchanges[0]["reply"])
    assert not any("price_in" in line for line in print_lines(run))


def test_somebody_at_a_terminal_sees_ten_before_a_hundred_are_spent(tmp_path, watcher):
    with CoinServer() as server:
        run = audit_server(server, tmp_path)
        (preview,) = watcher.previews
        assert preview.count("\n>>> ") == 10
        assert watcher.questions == ["Ask the other 190 requests?"]
        assert run.find("accuracy", "all", "accuracy").n == 100
        assert len(server.bodies) == 200  # the first ten are not asked for again


def test_who_declines_spends_ten(tmp_path, watcher):
    watcher.answer = False
    with CoinServer() as server:
        run = audit_server(server, tmp_path)
        assert len(server.bodies) == 10
    assert run.metrics == []
    assert "Stopped after the first replies; nothing else was asked." in list(lines(run))


def test_few_requests_and_models_on_this_machine_are_not_previewed(tmp_path, watcher):
    with CoinServer() as server:
        audit_server(server, tmp_path, limit=50)
    audit("open", "random", protocol="accuracy", limit=100, cache="off")
    assert watcher.previews == []


def test_replies_that_cannot_be_read_are_not_kept(tmp_path):
    with ChatServer(lambda number, body: says("Hm.")) as server:
        run = audit_server(server, tmp_path, preview=True)
        assert "10 of 10 have no choice that can be read." in "\n".join(print_lines(run))
        with pytest.raises(AskingStopped, match="no choice could be read from any of the first 20 replies"):
            audit_server(server, tmp_path)
        request_count = len(server.bodies)
        audit_server(server, tmp_path, preview=True)
        assert len(server.bodies) == request_count + 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "builtin", "dry_run": True}, "--preview shows what a model replies, and a dry run asks nothing"),
        ({"model": None, "predictions": "examples"}, "--preview .* predictions are not asked for"),
    ],
)
def test_a_preview_of_nothing_is_refused(options, message):
    with pytest.raises(BadInput, match=message):
        audit("open", preview=True, **options)
