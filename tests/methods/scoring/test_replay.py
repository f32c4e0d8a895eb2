"""Kept answers are counted, dated and checked against the server before they are replayed."""

import json
import sqlite3

import numpy as np
import pytest
from support.fake import FakeModel
from support.knowing import KnowingServer
from support.servers import CoinServer, CompletionsServer, Response, complains, lists_model, says, words_at_random
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app
from winokit.errors import AskingStopped, BadInput
from winokit.methods.scoring.ask import ask
from winokit.methods.scoring.base import Setting
from winokit.methods.scoring.cache import Cache, answer_all, encode, key_of, open_cache
from winokit.methods.scoring.canary import choose_canaries, is_same_answer
from winokit.methods.scoring.ledger import Spending
from winokit.methods.scoring.replay import KeptAnswer, replay_sentence
from winokit.models.base import Continuation, Piece, Refusal, Reply, Scores
from winokit.models.identity import ServerIdentity
from winokit.models.registry import load_model

FIRST = Continuation("a", " b")
SECOND = Continuation("a", " c")
PIECES = {FIRST: (Piece(0, 2, -1.5),), SECOND: (Piece(0, 2, -2.5),)}
MARCH = 1_772_355_600
"""2026-03-01 09:00 UTC."""
APRIL = 1_775_034_000
"""2026-04-01 09:00 UTC."""
CREATED = 1_700_000_000


@pytest.fixture(autouse=True)
def clear_environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def data():
    return winokit.load("open")[:20]


@pytest.fixture
def server(data):
    with KnowingServer(data) as server:
        yield server


def spec_of(server, options=""):
    return f"chat:knowing@{server.url}?delay=0.001{options}&name=knowing"


def accuracy(run):
    return run.find("accuracy", "all", "accuracy").value


def audit_server(data, server, cache, options="", **more):
    """Audit accuracy, with this cache and these options of the spec."""
    return winokit.audit(data, spec_of(server, options), protocol="accuracy", cache=cache, **more)


def set_dates(path, seconds):
    """Say of all answers in the cache that they were asked for at this time."""
    with sqlite3.connect(path) as db:
        db.execute("UPDATE dates SET asked_at = ?", (seconds,))
    db.close()


def drop_dates(path):
    """Make of a cache what earlier versions wrote: answers alone."""
    with sqlite3.connect(path) as db:
        db.execute("DROP TRIGGER dated")
        db.execute("DROP TABLE dates")
        db.execute("DROP TABLE servers")
    db.close()


def replays_of(requests, path, model=None, **spending):
    with open_cache(path, Spending(**spending)) as cache:
        answer_all(model or FakeModel(PIECES), requests, cache)
        return cache.ledger.replays.to_json()


def test_replayed_answers_are_counted_and_dated_for_each_model(tmp_path):
    path = tmp_path / "c"
    assert replays_of([FIRST], path) == {}
    set_dates(path, MARCH)
    assert replays_of([FIRST, SECOND], path) == {
        "fake": {
            "answers": 2,
            "replayed": 1,
            "first": "2026-03-01T09:00:00+00:00",
            "last": "2026-03-01T09:00:00+00:00",
            "of_unknown_date": 0,
            "check": None,
            "asked_again": 0,
        }
    }


def test_what_was_asked_in_the_same_run_is_not_replayed():
    with open_cache("off") as cache:
        model = FakeModel(PIECES)
        answer_all(model, [FIRST], cache)
        answer_all(model, [FIRST, SECOND], cache)
        assert cache.ledger.replays.to_json() == {}


def test_a_cache_that_stays_open_is_replayed_by_the_next_call():
    with Cache() as cache:
        for replayed in (0, 1):
            with open_cache(cache) as open_again:
                answer_all(FakeModel(PIECES), [FIRST], open_again)
                assert len(open_again.ledger.replays.to_json()) == replayed


def test_a_cache_of_an_earlier_version_is_read_and_its_answers_are_of_unknown_date(tmp_path):
    path = tmp_path / "old"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE answers (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        db.execute(
            "INSERT INTO answers VALUES (?, ?)", (key_of(FakeModel(PIECES).fingerprint, FIRST), encode(PIECES[FIRST]))
        )
    db.close()
    model = FakeModel(PIECES)
    row = replays_of([FIRST, SECOND], path, model)["fake"]
    assert model.asked == [SECOND]
    assert row["replayed"] == 1
    assert row["of_unknown_date"] == 1
    assert row["first"] is None
    assert replay_sentence("fake", row) == "fake: 1 of 2 answers are replayed from the cache, of unknown date"


def test_an_earlier_version_writes_into_the_same_file_and_what_it_writes_is_dated(tmp_path):
    path = tmp_path / "c"
    with Cache(path):
        pass
    with sqlite3.connect(path) as db:
        key = key_of(FakeModel(PIECES).fingerprint, FIRST)
        db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, encode(PIECES[FIRST])))
    db.close()
    row = replays_of([FIRST], path)["fake"]
    assert row["replayed"] == 1
    assert row["of_unknown_date"] == 0


def test_an_audit_says_what_it_replays_on_the_terminal_in_notes_results_and_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["audit", "open", "--model", "random", "--limit", "10", "--protocol", "accuracy", "--set", "cache=c"]
    first = CliRunner().invoke(app, words)
    assert "replayed" not in first.stdout
    set_dates(tmp_path / "c", MARCH)
    again = CliRunner().invoke(app, words)
    sentence = "random: 10 of 10 answers are replayed from the cache, of 2026-03-01 09:00 UTC"
    assert again.stdout.splitlines().count(sentence) == 1
    assert "replayed" not in again.stderr
    run = json.loads((tmp_path / "runs" / "open" / "results.json").read_text())["run"]
    assert run["replayed"]["random"]["replayed"] == 10
    assert sentence in run["notes"]
    page = (tmp_path / "runs" / "open" / "report" / "index.html").read_text()
    assert sentence in page.partition("<nav")[0]
    result = CliRunner().invoke(app, ["score", *words[1:6], "--set", "cache=c"])
    assert sentence in result.stdout


def test_a_run_of_stored_predictions_replays_nothing(tmp_path, data):
    file = tmp_path / "p.json"
    file.write_text(json.dumps({problem.id: problem.answer for problem in data}))
    assert winokit.audit(data, predictions=file).settings["replayed"] == {}


def test_a_mended_server_is_found_out_and_its_old_answers_are_not_replayed(tmp_path, data, server):
    cache = tmp_path / "c"
    server.share = 0.0
    assert accuracy(audit_server(data, server, cache)) == 0.0
    set_dates(cache, MARCH)
    server.share = 0.9
    with pytest.raises(AskingStopped) as refused:
        audit_server(data, server, cache)
    message = str(refused.value)
    assert "\n" not in message
    assert "knowing: the server answers differently from before" in message
    assert "40 kept answers, of 2026-03-01 09:00 UTC, are not replayed" in message
    assert "To 'Text: " in message
    assert "it said 'A'" in message or "it said 'B'" in message
    assert "--set forget=on" in message
    assert "--set cache=FILE" in message
    assert accuracy(audit_server(data, server, cache, forget=True)) == 0.9
    assert accuracy(audit_server(data, server, cache)) == 0.9


def test_the_command_line_refuses_in_one_line_with_exit_code_2(tmp_path, data, server):
    audit_server(data, server, tmp_path / "c")
    server.share = 0.0
    words = ["audit", "open", "--limit", "20", "--model", spec_of(server), "--protocol", "accuracy"]
    result = CliRunner().invoke(app, [*words, "--cache", str(tmp_path / "c"), "--out", str(tmp_path / "run")])
    assert isinstance(result.exception, BadInput)
    assert not (tmp_path / "run").exists()


def test_five_answers_are_asked_again_and_the_run_says_so(tmp_path, data, server):
    first = audit_server(data, server, tmp_path / "c")
    again = audit_server(data, server, tmp_path / "c")
    assert len(server.bodies) == 40 + 5
    assert again.predictions == first.predictions
    row = again.settings["replayed"]["knowing"]
    assert row["answers"] == 40
    assert row["replayed"] == 40
    assert row["check"] == "asked again"
    assert row["asked_again"] == 5
    assert again.notes[-1].endswith("; 5 of them, asked again, were the same")
    assert again.settings["asked"]["requests"] == 5


def test_what_is_asked_again_comes_from_every_time_in_which_answers_were_kept():
    kept_answers = {}
    for number in range(100):
        request = Continuation("", str(number))
        kept_answers[request] = KeptAnswer(bytes([99 - number]), (), MARCH + number % 5)
    canaries = choose_canaries(kept_answers, 5)
    ages = [kept_answers[request].asked_at - MARCH for request in canaries]
    assert sorted(ages) == [0, 1, 2, 3, 4]
    assert choose_canaries(kept_answers, 5) == canaries
    assert choose_canaries(kept_answers, 0) == []
    assert choose_canaries({}, 5) == []


def test_a_server_that_says_since_when_its_model_exists_is_not_asked_again(tmp_path, data, server):
    server.models = lists_model(id="knowing", created=CREATED)
    audit_server(data, server, tmp_path / "c")
    again = audit_server(data, server, tmp_path / "c")
    assert len(server.bodies) == 40
    assert again.settings["replayed"]["knowing"]["check"] == "same model"
    assert again.notes[-1].endswith("; the server names the same model as then")


def test_a_server_that_names_another_model_is_asked_everything_anew(tmp_path, data, server):
    server.models = lists_model(id="knowing", created=CREATED)
    server.share = 0.0
    audit_server(data, server, tmp_path / "c")
    server.models = lists_model(id="knowing", created=CREATED + 60)
    server.share = 0.9
    again = audit_server(data, server, tmp_path / "c")
    assert accuracy(again) == 0.9
    assert again.settings["replayed"] == {}
    assert "knowing: the server names another model than the last time; what is kept of that one" in str(again.notes)
    server.models = lists_model(id="knowing", created=CREATED)
    assert accuracy(audit_server(data, server, tmp_path / "c")) == 0.0  # which is what that model said


def test_answers_kept_without_an_identity_are_checked_before_they_are_replayed(tmp_path, data, server):
    cache = tmp_path / "c"
    audit_server(data, server, cache)
    drop_dates(cache)
    server.models = lists_model(id="knowing", created=CREATED)
    again = audit_server(data, server, cache)
    assert again.settings["replayed"]["knowing"]["of_unknown_date"] == 40
    assert len(server.bodies) == 45
    server.share = 0.0
    with pytest.raises(AskingStopped, match="of unknown date, are not replayed"):
        audit_server(data, server, cache)


def test_a_server_that_will_not_say_for_once_is_what_it_was_and_is_checked(tmp_path, data, server):
    server.models = lists_model(id="knowing", created=CREATED)
    audit_server(data, server, tmp_path / "c")
    server.models = complains(503, "busy")
    again = audit_server(data, server, tmp_path / "c")
    assert len(server.bodies) == 45
    assert again.settings["replayed"]["knowing"]["check"] == "asked again"
    server.share = 0.0
    with pytest.raises(AskingStopped):
        audit_server(data, server, tmp_path / "c")


def test_a_server_that_is_gone_is_replayed_and_told_to_be_unchecked(tmp_path, data):
    with KnowingServer(data) as server:
        first = audit_server(data, server, tmp_path / "c")
    again = audit_server(data, server, tmp_path / "c")
    assert again.predictions == first.predictions
    assert again.notes[-1].endswith("; not checked, since the server could not be reached")


@pytest.mark.parametrize("more", [0, 4])
def test_a_server_that_hangs_up_on_who_asks_its_name_is_checked_all_the_same(tmp_path, data, server, more):
    server.models = Response(hangs_up=True)
    audit_server(data[:16], server, tmp_path / "c")
    assert "; 5 of them, asked again, were the same" in audit_server(data[:16], server, tmp_path / "c").notes[-1]
    server.share = 0.0
    with pytest.raises(AskingStopped, match="the server answers differently from before"):
        audit_server(data[: 16 + more], server, tmp_path / "c")


def test_a_server_that_is_back_and_is_asked_for_more_is_checked(tmp_path, data, server):
    audit_server(data[:16], server, tmp_path / "c")
    model = load_model(spec_of(server))
    model.identify = lambda: ServerIdentity(confirmed=False, reached=False)
    server.share = 0.0
    with pytest.raises(AskingStopped, match="the server answers differently from before"):
        winokit.audit(data, model, protocol="accuracy", cache=tmp_path / "c")


@pytest.mark.parametrize("accepts", [True, False])
def test_replies_that_vary_by_themselves_are_not_compared_and_the_run_says_so(tmp_path, data, server, accepts):
    options = "&temperature=0.7"
    if not accepts:  # as some reasoning models, which use their own
        options = ""
        usual_behaviour = server.behaviour

        def refuse_temperature(number, body):
            if "temperature" in body:
                return complains(400, "Unsupported value: temperature")
            return usual_behaviour(number, body)

        server.behaviour = refuse_temperature
    audit_server(data, server, tmp_path / "c", options)
    server.share = 0.0
    again = audit_server(data, server, tmp_path / "c", options)
    assert accuracy(again) == 0.9
    assert again.settings["replayed"]["knowing"]["check"] == "sampled"
    assert "not checked, since replies at a temperature above 0 vary by themselves (--set forget=on" in again.notes[-1]
    assert accuracy(audit_server(data, server, tmp_path / "c", options, forget=True)) == 0.0


def letter_in(response) -> str:
    return response.payload["choices"][0]["message"]["content"]


def test_a_server_of_two_minds_is_not_taken_for_another(tmp_path, data, server):
    audit_server(data, server, tmp_path / "c")
    usual_behaviour = server.behaviour
    prompts_seen = set()

    def swap_first_reply(number, body):
        prompt = body["messages"][-1]["content"]
        response = usual_behaviour(number, body)
        if prompt in prompts_seen:
            return response
        prompts_seen.add(prompt)
        return says({"A": "B", "B": "A"}[letter_in(response)])

    server.behaviour = swap_first_reply
    assert accuracy(audit_server(data, server, tmp_path / "c")) == 0.9
    assert len(server.bodies) == 40 + 5 + 5


def test_the_wording_of_a_reply_may_change(tmp_path, data, server):
    audit_server(data, server, tmp_path / "c")
    usual_behaviour = server.behaviour
    server.behaviour = lambda number, body: says(f"The answer is {letter_in(usual_behaviour(number, body))}.")
    assert accuracy(audit_server(data, server, tmp_path / "c")) == 0.9


def shift_logprobs(server, shift: float) -> None:
    """Add this to all log-probabilities of the server except those of first tokens."""

    def shifted_tokens(text):
        return [(word, logprob and logprob + shift) for word, logprob in words_at_random(text)]

    server.tokens = shifted_tokens


def test_log_probabilities_of_a_server_are_compared_too(tmp_path):
    with CompletionsServer() as server:
        options = {"cache": tmp_path / "c", "limit": 10}
        spec = f"completions:m@{server.url}?name=m"
        winokit.score("open", spec, **options)
        shift_logprobs(server, 0.01)
        again = winokit.score("open", spec, **options)
        assert again.replayed["m"]["asked_again"] == 5
        shift_logprobs(server, -3.0)
        with pytest.raises(AskingStopped, match=r"tokens with a log-probability of -\d+\.\d\d"):
            winokit.score("open", spec, **options)


def test_a_model_that_stays_loaded_asks_the_server_again(tmp_path):
    with CompletionsServer() as server:
        model = load_model(f"completions:m@{server.url}")
        options = {"cache": tmp_path / "c", "limit": 10}
        winokit.score("open", model, **options)
        shift_logprobs(server, -3.0)
        with pytest.raises(AskingStopped):
            winokit.score("open", model, **options)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (Reply(None, 0, "A"), Reply(None, 0, "It is A."), True),
        (Reply(None, 0, "A"), Reply(None, 1, "B"), False),
        (Reply(None, None, "?"), Reply(None, 1, "B"), False),
        (Reply((-0.1, -2.4), 0, "A"), Reply((-0.15, -2.0), 0, "A"), True),
        (Reply((-0.1, -2.4), 0, "A"), Reply((-2.4, -0.1), 1, "B"), False),
        (Reply((-0.69, -0.70), 0, "A"), Reply((-0.70, -0.69), 1, "B"), True),
        (Reply((-0.1, -2.4), 0, "A"), Reply(None, 0, "A"), True),
        (Reply((-2.4, -0.1), None, "?"), Reply(None, 1, "B"), True),
        ((Piece(0, 2, -1.0), Piece(2, 4, -2.0)), (Piece(0, 2, -1.1), Piece(2, 4, -2.1)), True),
        ((Piece(0, 2, -1.0),), (Piece(0, 2, -1.5),), False),
        ((Piece(0, 2, -1.0),), (Piece(0, 3, -1.0),), False),
        ((), (), True),
        ((Piece(0, 2, -1.0),), Refusal("too long"), False),
        (Scores((1.0, 0.0)), Scores((1.0, 0.0)), True),
        (Scores((1.0, 0.0)), Scores(None), False),
        (np.zeros(3, np.float32), np.zeros(3, np.float32), True),
        (np.zeros(3, np.float32), np.ones(3, np.float32), False),
    ],
)
def test_answers_are_the_same_but_for_rounding_and_wording(old, new, same):
    assert is_same_answer(old, new) is same


def test_a_dry_run_asks_nobody_and_counts_what_will_be_asked_again(tmp_path, data, server):
    audit_server(data, server, tmp_path / "c")
    lookups = server.lookups
    bodies = len(server.bodies)
    plan = audit_server(data, server, tmp_path / "c", dry_run=True).settings["plan"]
    assert server.lookups == lookups
    assert len(server.bodies) == bodies
    assert plan["requests"] == 40
    assert plan["cached"] == 40
    assert plan["new"] == 5
    assert plan["asked_again"] == 5
    audit_server(data, server, tmp_path / "c")
    assert len(server.bodies) - bodies == plan["new"]


def test_five_are_asked_again_of_all_variants_together_and_a_dry_run_knows_it(tmp_path):
    with CoinServer() as server:
        options = {"limit": 20, "protocol": ["accuracy", "switching", "artifacts"], "cache": tmp_path / "c"}
        winokit.audit("open", f"chat:coin@{server.url}", **options)
        plan = winokit.audit("open", f"chat:coin@{server.url}", **options, dry_run=True).settings["plan"]
        bodies = len(server.bodies)
        winokit.audit("open", f"chat:coin@{server.url}", **options)
    assert len(server.bodies) - bodies == 5
    assert plan["new"] == 5
    assert plan["asked_again"] == 5


def test_a_dry_run_knows_who_the_server_said_it_was(tmp_path, data, server):
    server.models = lists_model(id="knowing", created=CREATED)
    audit_server(data, server, tmp_path / "c")
    plan = audit_server(data, server, tmp_path / "c", dry_run=True).settings["plan"]
    assert plan["cached"] == 40
    assert plan["new"] == 0
    assert "asked_again" not in plan
    assert server.lookups == 1
    plan = audit_server(data, server, tmp_path / "c", dry_run=True, forget=True).settings["plan"]
    assert plan["cached"] == 0
    assert plan["new"] == 40
    run = audit_server(data, server, tmp_path / "c")
    assert run.settings["replayed"]["knowing"]["replayed"] == 40  # nothing was dropped


def test_what_is_asked_again_counts_against_a_limit_and_the_smallest_limit_gets_on(tmp_path, server):
    two_problems = winokit.load("open")[:2]
    for answered in (1, 2, 3, 4):
        message = f"^stopped at --set max_requests=1: {answered} of 4 requests are answered;"
        with pytest.raises(BadInput, match=message):
            audit_server(two_problems, server, tmp_path / "c", max_requests=1)
    audit_server(two_problems, server, tmp_path / "c", max_requests=1)
    assert len(server.bodies) == 5


def test_forgetting_drops_what_is_kept_of_servers_and_of_nobody_else(tmp_path, data, server):
    options = {"protocol": "accuracy", "cache": tmp_path / "c"}
    winokit.audit(data, ["random", spec_of(server)], **options)
    again = winokit.audit(data, ["random", spec_of(server)], forget=True, **options)
    assert list(again.settings["replayed"]) == ["random"]
    assert len(server.bodies) == 80


def test_a_limit_reached_while_forgetting_says_how_to_go_on(tmp_path, data, server):
    with pytest.raises(BadInput, match="the same command without --set forget=on continues from there"):
        audit_server(data, server, tmp_path / "c", max_requests=10, forget=True)
    audit_server(data, server, tmp_path / "c")
    assert len(server.bodies) == 40 + 5


def test_forgetting_asks_nothing_twice_in_one_run(tmp_path, data, server):
    requests = []
    for problem in data:
        requests += ask(problem, Setting("chat"))
    model = load_model(spec_of(server))
    for request_count in (40, 80):
        with open_cache(tmp_path / "c", Spending(forget=True)) as cache:
            answer_all(model, requests, cache)
            answer_all(model, requests, cache)
        assert len(server.bodies) == request_count


def test_of_an_ensemble_each_member_is_checked(tmp_path):
    with CompletionsServer() as first_server, CompletionsServer() as second_server:
        spec = f"ensemble:completions:a@{first_server.url}+completions:b@{second_server.url}"
        options = {"cache": tmp_path / "c", "limit": 5}
        winokit.score("open", spec, **options)
        replayed = winokit.score("open", spec, **options).replayed
        assert [row["asked_again"] for row in replayed.values()] == [5, 5]
        shift_logprobs(second_server, -3.0)
        with pytest.raises(AskingStopped, match="completions:b: the server answers differently"):
            winokit.score("open", spec, **options)


def test_features_say_what_they_replay(tmp_path):
    problems = winokit.load("open")[:4]
    path = tmp_path / "c"
    first = winokit.embed(problems, "random", cache=path)
    set_dates(path, MARCH)
    second = winokit.embed(problems, "random", cache=path)
    assert "replayed" not in str(first.notes)
    assert "answers are replayed from the cache, of 2026-03-01 09:00 UTC" in second.notes[-1]
