"""A preview: ten prompts and replies, what the rest costs, and nothing asked twice."""

import re

import pytest
from support.servers import ChatServer, CoinServer, says

from winokit.errors import AskingStopped, BadInput
from winokit.progress import WATCHES
from winokit.stages.audit.run import audit
from winokit.stages.audit.table import as_json, lines


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def watched():
    """Somebody who watches, and answers as told; what was shown is kept."""
    shown = []

    def watch(preview_lines, question):
        shown.append(("\n".join(preview_lines), question))
        return watch.answer

    watch.answer = True
    watch.shown = shown
    token = WATCHES.set(watch)
    yield watch
    WATCHES.reset(token)


def audited(server, tmp_path, **more):
    options = {"protocol": "accuracy", "limit": 100, "cache": tmp_path / "cache"} | more
    return audit("open", f"chat:m@{server.url}", **options)


def test_a_preview_asks_ten_and_says_how_to_go_on_and_what_the_rest_costs(tmp_path):
    with CoinServer() as server:
        run = audited(server, tmp_path, preview=True, price_in=1.0, price_out=2.0)
        assert len(server.bodies) == 10
        shown = [str(line) for line in lines(run)]
        (preview,) = as_json(run)["run"]["preview"]
        shown_prompts = {exchange["prompt"] for exchange in preview["exchanges"]}
        assert shown_prompts == {body["messages"][0]["content"] for body in server.bodies}
        assert len(shown_prompts) == 10
        assert {exchange["reply"] for exchange in preview["exchanges"]} == {"A", "B"}
        assert preview["rest"]["new"] == 190
        left = re.search(r"Left to ask: 190 requests, .*, a cost of (\d+\.\d\d) at most", "\n".join(shown))
        assert float(left[1]) == round(preview["rest"]["cost_at_most"], 2)
        assert shown[-1].startswith("To go on: the same command without --preview.")
        audited(server, tmp_path)
        assert len(server.bodies) <= 200 + 5  # a few kept answers are asked again


def test_a_preview_of_a_model_on_this_machine_shows_its_scores(tmp_path):
    run = audit("open", "builtin", preview=True, cache="off", limit=20)
    (preview,) = run.settings["preview"]
    assert len(preview["exchanges"]) == 10
    assert re.fullmatch(r"the terrier -\d\.\d\d, the spaniel -\d\.\d\d", preview["exchanges"][0]["reply"])
    assert not any("price_in" in str(line) for line in lines(run))


def test_somebody_at_a_terminal_sees_ten_before_a_hundred_are_spent(tmp_path, watched):
    with CoinServer() as server:
        run = audited(server, tmp_path)
        ((shown, question),) = watched.shown
        assert shown.count("\n>>> ") == 10
        assert question == "Ask the other 190 requests?"
        assert run.find("accuracy", "all", "accuracy").n == 100
        assert len(server.bodies) == 200  # the first ten are not asked for again


def test_who_declines_spends_ten(tmp_path, watched):
    watched.answer = False
    with CoinServer() as server:
        run = audited(server, tmp_path)
        assert len(server.bodies) == 10
    assert run.metrics == []
    assert "Stopped after the first replies; nothing else was asked." in list(lines(run))


def test_few_requests_and_models_on_this_machine_are_not_previewed(tmp_path, watched):
    with CoinServer() as server:
        audited(server, tmp_path, limit=50)
    audit("open", "random", protocol="accuracy", limit=100, cache="off")
    assert watched.shown == []


def test_replies_that_cannot_be_read_are_not_kept(tmp_path):
    with ChatServer(lambda number, body: says("Hm.")) as server:
        run = audited(server, tmp_path, preview=True)
        assert "10 of 10 have no choice that can be read." in "\n".join(map(str, lines(run)))
        with pytest.raises(AskingStopped, match="no choice could be read from any of the first 20 replies"):
            audited(server, tmp_path)
        asked = len(server.bodies)
        audited(server, tmp_path, preview=True)
        assert len(server.bodies) == asked + 10


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "builtin", "dry_run": True}, "--preview shows what a model replies, and a dry run asks nothing"),
        ({"model": None, "predictions": "examples"}, "--preview .* predictions are not asked for"),
    ],
)
def test_a_preview_of_nothing_is_refused(given, message):
    with pytest.raises(BadInput, match=message):
        audit("open", preview=True, **given)
