"""Chat models that are asked several times, and replies that a server holds to the options."""

import json

import pytest
from support.servers import ChatServer, ConstrainingServer, SamplingServer, says

import winokit
from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.cache import Cache, answer_all
from winokit.methods.scoring.constraining import settle_constraint
from winokit.methods.scoring.ledger import Spending
from winokit.methods.scoring.scorer import score_variants
from winokit.models.base import Ask
from winokit.models.ensemble import EnsembleModel
from winokit.models.registry import load_model
from winokit.problem import ORIGINAL

FIELDS = {"structured_outputs": "choice", "guided_choice": "choice", "grammar": "grammar", "response_format": "json"}
PROTOCOL = {"protocol": "accuracy", "out": None}


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def chat(server, **options):
    query = "&".join(f"{name}={value}" for name, value in ({"delay": 0.001} | options).items())
    return load_model(f"chat:tiny@{server.url}?{query}")


def asked(server, cache=None, problems=6, **options):
    """The predictions of a model for the first problems of the bundled twins."""
    data = winokit.load("open")[:problems]
    return score_variants({ORIGINAL: data}, chat(server, **options), cache=cache)


# Samples


@pytest.mark.parametrize("several", ["takes", "ignores", "refuses"])
def test_a_server_gives_as_many_samples_as_were_asked_for(several):
    with SamplingServer(several=several) as server:
        made = asked(server, n=5)
    assert len(made) == 30
    assert {(row.id, row.sample) for row in made} == {(row.id, k) for row in made for k in range(5)}


def test_samples_of_one_question_go_in_one_request_where_the_server_takes_that():
    with SamplingServer() as server:
        model = chat(server, n=4)
        requests = [Ask(f"Question {number}?", ("yes", "no"), sample=k) for k in range(4) for number in range(10)]
        assert sorted(index for index, _ in model.answer(requests)) == list(range(40))
    assert sorted(body.get("n", 1) for body in server.bodies) == [1, 3, *[4] * 9]
    assert "asked several times" not in model.plan


@pytest.mark.parametrize(("several", "said"), [("ignores", "gives one reply"), ("refuses", "refuses several replies")])
def test_what_a_server_does_with_n_is_told(several, said):
    with SamplingServer(several=several) as server:
        model = chat(server, n=3)
        list(model.answer([Ask("Question?", ("yes", "no"), sample=k) for k in range(3)]))
    assert said in model.plan
    assert "3 samples at temperature 1" in model.plan


def test_with_a_seed_each_sample_has_its_own():
    with SamplingServer() as server:
        asked(server, n=3, seed=10, problems=1)
    assert sorted(body["seed"] for body in server.bodies) == [10, 10, 11, 11, 12, 12]


@pytest.mark.parametrize(
    ("options", "temperature"), [({}, 0.0), ({"n": 2}, 1.0), ({"n": 2, "temperature": 0}, 0.0), ({"n": 1}, 0.0)]
)
def test_several_samples_are_drawn_at_temperature_one_unless_told_otherwise(options, temperature):
    with SamplingServer() as server:
        asked(server, problems=1, **options)
    assert {body["temperature"] for body in server.bodies} == {temperature}


def test_each_sample_is_kept_and_more_of_them_ask_for_the_missing_alone(tmp_path):
    with SamplingServer() as server, Cache(tmp_path / "kept.sqlite") as cache:
        two = asked(server, cache, n=2)
        server.bodies.clear()
        again = asked(server, cache, n=2)
        assert again == two
        assert server.bodies == []
        four = asked(server, cache, n=4)
    assert sum(body.get("n", 1) for body in server.bodies) == 24
    assert [row.scores for row in four if row.sample < 2] == [row.scores for row in two]


def test_the_first_sample_is_what_was_asked_before_there_were_several(tmp_path):
    with SamplingServer() as server, Cache(tmp_path / "kept.sqlite") as cache:
        (one,) = asked(server, cache, problems=1, temperature=1)
        server.bodies.clear()
        several = asked(server, cache, problems=1, n=3)
    assert several[0].scores == one.scores
    assert sum(body.get("n", 1) for body in server.bodies) == 4  # two more of the question in either order


def test_a_dry_run_counts_every_sample():
    with SamplingServer() as server:
        plan = winokit.audit(
            "open", f"chat:tiny@{server.url}?n=4", limit=10, dry_run=True, cache="off", **PROTOCOL
        ).settings["plan"]
        assert server.bodies == server.probes == []
    assert plan["new"] == 10 * 2 * 4


def test_what_was_said_in_each_sample_is_kept_with_its_number():
    with SamplingServer() as server:
        run = winokit.audit("open", f"chat:tiny@{server.url}?n=3", limit=4, cache="off", **PROTOCOL)
    assert [row.to_json()["sample"] for row in run.transcripts[:8]] == [0] * 8
    assert {row.sample for row in run.transcripts} == {0, 1, 2}


@pytest.mark.parametrize("given", ["0", "four", "129"])
def test_a_number_of_samples_that_is_none_is_refused(given):
    with pytest.raises(BadInput, match="chat: option n: expected a whole number from 1 to 128"):
        load_model(f"chat:tiny@http://127.0.0.1:1/v1?n={given}")


def test_members_of_an_ensemble_vote_sample_by_sample():
    problems = {ORIGINAL: winokit.load("open")[:2]}
    with SamplingServer() as server:
        three = chat(server, n=3)
        also_three = chat(server, n=3, name="b")
        one = chat(server, name="c")
        made = score_variants(problems, EnsembleModel("both", [three, also_three], "vote"))
        assert [row.sample for row in made] == [0, 0, 1, 1, 2, 2]
        with pytest.raises(BadInput, match=r"both: members cast votes sample by sample: give each the same \?n="):
            score_variants(problems, EnsembleModel("both", [three, one], "vote"))


def test_a_suite_refuses_samples_before_anything_is_asked():
    with SamplingServer() as server:
        with pytest.raises(BadInput, match=r"a suite takes one answer to each problem: leave out \?n="):
            winokit.suite("open", model=f"chat:tiny@{server.url}?n=2", limit=4, out=None)
        assert server.bodies == []


# Constraints


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("field", FIELDS)
def test_the_constraint_that_a_server_obeys_is_found_and_used(field, refuses):
    with ConstrainingServer(field, refuses=refuses) as server:
        run = winokit.audit("open", f"chat:tiny@{server.url}", limit=4, cache="off", **PROTOCOL)
    assert all(field in body for body in server.bodies)
    assert all(row.reply for row in run.transcripts)
    assert {row.choice is not None for row in run.transcripts} == {True}
    assert {row.scoring for row in run.predictions} == {f"ask?constrained={FIELDS[field]}"}
    assert run.settings["constrained"] == {"chat:tiny": FIELDS[field]}
    assert any(f"held to the options by {field}" in note for note in run.notes)


def test_a_server_that_ignores_every_constraint_is_asked_freely_and_that_is_told():
    with ChatServer(lambda number, body: says("A")) as server:
        run = winokit.audit("open", f"chat:tiny@{server.url}", limit=4, cache="off", **PROTOCOL)
    assert not any(field in body for body in server.bodies for field in FIELDS)
    assert len(server.probes) == 4
    assert {row.scoring for row in run.predictions} == {"ask"}
    assert "constrained" not in run.settings
    assert any("replies are free: the server constrains none (structured_outputs is ignored" in n for n in run.notes)


def test_a_server_that_refuses_every_constraint_is_asked_freely():
    with ConstrainingServer("", refuses=True) as server:
        model = chat(server)
        assert settle_constraint(model, [Ask("Question?", ("A", "B"))], Cache()) is None
    assert "structured_outputs is refused, guided_choice is refused, grammar is refused" in model.plan


def test_constrain_off_asks_freely_and_finds_nothing_out():
    with ConstrainingServer("guided_choice") as server:
        model = chat(server, constrain="off")
        answers = answer_all(model, [Ask("Question?", ("A", "B"))], Cache())
    assert server.probes == []
    assert next(iter(answers.values())).text == "That is hard to say."


@pytest.mark.parametrize(("wish", "field"), [("json", "response_format"), ("grammar", "grammar")])
def test_a_constraint_may_be_named(wish, field):
    with ConstrainingServer(field) as server:
        made = asked(server, constrain=wish, problems=1)
    assert len(server.probes) == 1
    assert [row.scoring for row in made] == [f"ask?constrained={wish}"]


def test_a_constraint_that_the_server_has_not_is_refused():
    with ConstrainingServer("grammar") as server:
        with pytest.raises(BadInput, match=r"constrains replies by json, .*format is ignored\); \?constrain=off"):
            asked(server, constrain="json")
        assert server.bodies == []


def test_an_unknown_constraint_is_refused_with_those_there_are():
    with pytest.raises(UnknownName, match="Known: auto, choice, grammar, json, off"):
        load_model("chat:tiny@http://127.0.0.1:1/v1?constrain=regex")


def test_a_reply_in_json_is_read_and_its_options_told_apart():
    reply = json.dumps({"answer": "B"})
    with ConstrainingServer("response_format") as server:
        server._answer = lambda body: says(
            reply, [('{"answer": "', {'{"answer": "': -0.1}), ("B", {"B": -0.1, "A": -3.0}), ('"}', {'"}': -0.1})]
        )
        model = chat(server, constrain="json")
        model._way = next(way for way in _ways() if way.kind == "json")
        ((_, answer),) = model.answer([Ask("Question?", ("A", "B"))])
    assert answer.choice == 1
    assert answer.logprobs == (-3.0, -0.1)


def _ways():
    from winokit.models.constraints import CONSTRAINTS

    return CONSTRAINTS


def test_constrained_and_free_replies_are_kept_apart(tmp_path):
    with ConstrainingServer("guided_choice") as server, Cache(tmp_path / "kept.sqlite") as cache:
        asked(server, cache)
        count = len(server.bodies)
        asked(server, cache)
        assert len(server.bodies) == count == 12
        free = chat(server, constrain="off")
        bound = chat(server, constrain="choice")
        assert len({free.fingerprint, bound.fingerprint, chat(server, constrain="grammar").fingerprint}) == 3
        assert free.fingerprint == chat(server).fingerprint


def test_who_has_free_replies_goes_on_with_them_and_is_told(tmp_path):
    """A cache of an earlier version: nothing is asked again, no number changes, and a note says so."""
    with SamplingServer(steady=True) as server, Cache(tmp_path / "kept.sqlite") as cache:
        before = asked(server, cache, constrain="off")
        count = len(server.bodies)
        server.respond_to_probe = lambda body: says(body["guided_choice"][0] if "guided_choice" in body else "Paris.")
        model = chat(server)
        after = score_variants({ORIGINAL: winokit.load("open")[:6]}, model, cache=cache)
        assert [row.scores for row in after] == [row.scores for row in before]
        assert len(server.bodies) == count
        assert "replies are free, as those that are kept; ?constrain=choice" in model.plan


def test_what_was_found_out_is_remembered_so_that_a_replay_needs_no_server(tmp_path):
    with Cache(tmp_path / "kept.sqlite") as cache:
        with ConstrainingServer("guided_choice") as server:
            first = asked(server, cache)
            found = len(server.probes)
            asked(server, cache)
            assert len(server.probes) == found
        again = asked(server, cache)
    assert again == first


def test_a_dry_run_says_that_the_constraint_is_not_known_yet():
    with ConstrainingServer("guided_choice") as server:
        cache = Cache()
        cache.ledger.spending = Spending(dry_run=True)
        model = chat(server)
        assert settle_constraint(model, [Ask("Question?", ("A", "B"))], cache) is None
        assert server.probes == []
    assert "is found out when it is asked" in model.plan
