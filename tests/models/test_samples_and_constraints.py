"""Chat models may be asked several times, and a server may hold replies to the options."""

import json
from itertools import product

import pytest
from support.servers import ChatServer, ConstrainingServer, SamplingServer, says

import winokit
from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.cache import Cache, answer_all
from winokit.methods.scoring.constraining import settle_constraint
from winokit.methods.scoring.ledger import Spending
from winokit.methods.scoring.scorer import score_variants
from winokit.models.base import Ask
from winokit.models.constraints import CONSTRAINTS
from winokit.models.ensemble import EnsembleModel
from winokit.models.registry import load_model
from winokit.problem import ORIGINAL

FIELDS = {"structured_outputs": "choice", "guided_choice": "choice", "grammar": "grammar", "response_format": "json"}
PROTOCOL = {"protocol": "accuracy", "out": None}
QUESTION = Ask("Question?", ("A", "B"))


@pytest.fixture(autouse=True)
def _clear_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def chat(server, **options):
    """Load the model of a test server, with tiny pauses unless a test says otherwise."""
    all_options = {"delay": 0.001} | options
    query = "&".join(f"{name}={value}" for name, value in all_options.items())
    return load_model(f"chat:tiny@{server.url}?{query}")


def predict(server, cache=None, problems=6, **options):
    """Predictions of a server's model for the first problems of the bundled twins."""
    data = winokit.load("open")[:problems]
    model = chat(server, **options)
    return score_variants({ORIGINAL: data}, model, cache=cache)


def audit(server, limit=4, query="", **settings):
    """Audit of a server's model on the first problems of the bundled twins, without a cache."""
    return winokit.audit("open", f"chat:tiny@{server.url}{query}", limit=limit, cache="off", **PROTOCOL, **settings)


def count_samples(server):
    """Number of replies that a server was asked for."""
    return sum(body.get("n", 1) for body in server.bodies)


# Samples


@pytest.mark.parametrize("several", ["takes", "ignores", "refuses"])
def test_a_server_gives_as_many_samples_as_were_asked_for(several):
    with SamplingServer(several=several) as server:
        rows = predict(server, n=5)
    assert len(rows) == 30
    ids = {row.id for row in rows}
    samples = {(row.id, row.sample) for row in rows}
    assert samples == set(product(ids, range(5)))


def test_samples_of_one_question_go_in_one_request_where_the_server_takes_that():
    with SamplingServer() as server:
        model = chat(server, n=4)
        requests = []
        for sample, number in product(range(4), range(10)):
            requests.append(Ask(f"Question {number}?", ("yes", "no"), sample=sample))
        answers = list(model.answer(requests))
    sizes = sorted(body.get("n", 1) for body in server.bodies)
    assert sorted(index for index, _ in answers) == list(range(40))
    assert sizes == [1, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4]
    assert "asked several times" not in model.plan


@pytest.mark.parametrize(
    ("several", "message"), [("ignores", "gives one reply"), ("refuses", "refuses several replies")]
)
def test_what_a_server_does_with_n_is_told(several, message):
    with SamplingServer(several=several) as server:
        model = chat(server, n=3)
        questions = [Ask("Question?", ("yes", "no"), sample=sample) for sample in range(3)]
        list(model.answer(questions))
    assert message in model.plan
    assert "3 samples at temperature 1" in model.plan


def test_with_a_seed_each_sample_has_its_own():
    with SamplingServer() as server:
        predict(server, n=3, seed=10, problems=1)
    seeds = sorted(body["seed"] for body in server.bodies)
    assert seeds == [10, 10, 11, 11, 12, 12]


@pytest.mark.parametrize(
    ("options", "temperature"), [({}, 0.0), ({"n": 2}, 1.0), ({"n": 2, "temperature": 0}, 0.0), ({"n": 1}, 0.0)]
)
def test_several_samples_are_drawn_at_temperature_one_unless_told_otherwise(options, temperature):
    with SamplingServer() as server:
        predict(server, problems=1, **options)
    temperatures = {body["temperature"] for body in server.bodies}
    assert temperatures == {temperature}


def test_each_sample_is_kept_and_more_of_them_ask_for_the_missing_alone(tmp_path):
    with SamplingServer() as server, Cache(tmp_path / "kept.sqlite") as cache:
        two = predict(server, cache, n=2)
        server.bodies.clear()
        again = predict(server, cache, n=2)
        assert again == two
        assert server.bodies == []
        four = predict(server, cache, n=4)
    scores_of_first_two = [row.scores for row in four if row.sample < 2]
    assert count_samples(server) == 24
    assert scores_of_first_two == [row.scores for row in two]


def test_the_first_sample_is_what_was_asked_before_there_were_several(tmp_path):
    with SamplingServer() as server, Cache(tmp_path / "kept.sqlite") as cache:
        (single,) = predict(server, cache, problems=1, temperature=1)
        server.bodies.clear()
        several = predict(server, cache, problems=1, n=3)
    assert several[0].scores == single.scores
    assert count_samples(server) == 4  # two more of the question in either order


def test_a_dry_run_counts_every_sample():
    with SamplingServer() as server:
        dry_run = audit(server, limit=10, query="?n=4", dry_run=True)
        assert server.bodies == []
        assert server.probes == []
    assert dry_run.settings["plan"]["new"] == 10 * 2 * 4


def test_what_was_said_in_each_sample_is_kept_with_its_number():
    with SamplingServer() as server:
        run = audit(server, query="?n=3")
    samples_written = [row.to_json()["sample"] for row in run.transcripts[:8]]
    assert samples_written == [0] * 8
    assert {row.sample for row in run.transcripts} == {0, 1, 2}


@pytest.mark.parametrize("count", ["0", "four", "129"])
def test_a_number_of_samples_that_is_none_is_refused(count):
    with pytest.raises(BadInput, match="chat: option n: expected a whole number from 1 to 128"):
        load_model(f"chat:tiny@http://127.0.0.1:1/v1?n={count}")


def test_members_of_an_ensemble_vote_sample_by_sample():
    problems = {ORIGINAL: winokit.load("open")[:2]}
    with SamplingServer() as server:
        three_samples = chat(server, n=3)
        also_three = chat(server, n=3, name="b")
        rows = score_variants(problems, EnsembleModel("both", [three_samples, also_three], "vote"))
    assert [row.sample for row in rows] == [0, 0, 1, 1, 2, 2]


def test_members_with_different_numbers_of_samples_cannot_vote():
    problems = {ORIGINAL: winokit.load("open")[:2]}
    with SamplingServer() as server:
        three_samples = chat(server, n=3)
        one_sample = chat(server, name="c")
        ensemble = EnsembleModel("both", [three_samples, one_sample], "vote")
        with pytest.raises(BadInput, match=r"both: members cast votes sample by sample: give each the same \?n="):
            score_variants(problems, ensemble)


def test_a_suite_refuses_samples_before_anything_is_asked():
    with SamplingServer() as server:
        spec = f"chat:tiny@{server.url}?n=2"
        with pytest.raises(BadInput, match=r"a suite takes one answer to each problem: leave out \?n="):
            winokit.suite("open", model=spec, limit=4, out=None)
        assert server.bodies == []


# Constraints


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("field", FIELDS)
def test_the_constraint_that_a_server_obeys_is_found_and_used(field, refuses):
    with ConstrainingServer(field, refuses=refuses) as server:
        run = audit(server)
    kind = FIELDS[field]
    assert all(field in body for body in server.bodies)
    assert all(row.reply for row in run.transcripts)
    assert run.transcripts
    assert all(row.choice is not None for row in run.transcripts)
    assert {row.scoring for row in run.predictions} == {f"ask?constrained={kind}"}
    assert run.settings["constrained"] == {"chat:tiny": kind}
    assert any(f"held to the options by {field}" in note for note in run.notes)


def test_a_server_that_ignores_every_constraint_is_asked_freely_and_that_is_told():
    with ChatServer(lambda number, body: says("A")) as server:
        run = audit(server)
    for body in server.bodies:
        assert not FIELDS.keys() & body.keys()
    assert len(server.probes) == 4
    assert {row.scoring for row in run.predictions} == {"ask"}
    assert "constrained" not in run.settings
    message = "replies are free: the server constrains none (structured_outputs is ignored"
    assert any(message in note for note in run.notes)


def test_a_server_that_refuses_every_constraint_is_asked_freely():
    with ConstrainingServer("", refuses=True) as server:
        model = chat(server)
        constraint = settle_constraint(model, [QUESTION], Cache())
    assert constraint is None
    assert "structured_outputs is refused, guided_choice is refused, grammar is refused" in model.plan


def test_constrain_off_asks_freely_and_finds_nothing_out():
    with ConstrainingServer("guided_choice") as server:
        model = chat(server, constrain="off")
        answers = answer_all(model, [QUESTION], Cache())
    assert server.probes == []
    assert answers[QUESTION].text == "That is hard to say."


@pytest.mark.parametrize(("wish", "field"), [("json", "response_format"), ("grammar", "grammar")])
def test_a_constraint_may_be_named(wish, field):
    with ConstrainingServer(field) as server:
        rows = predict(server, constrain=wish, problems=1)
    assert len(server.probes) == 1
    assert [row.scoring for row in rows] == [f"ask?constrained={wish}"]


def test_a_constraint_that_the_server_has_not_is_refused():
    with ConstrainingServer("grammar") as server:
        with pytest.raises(BadInput, match=r"constrains replies by json, .*format is ignored\); \?constrain=off"):
            predict(server, constrain="json")
        assert server.bodies == []


def test_an_unknown_constraint_is_refused_with_those_there_are():
    with pytest.raises(UnknownName, match="Known: auto, choice, grammar, json, off"):
        load_model("chat:tiny@http://127.0.0.1:1/v1?constrain=regex")


def test_a_reply_in_json_is_read_and_its_options_told_apart():
    reply = json.dumps({"answer": "B"})
    opening = ('{"answer": "', {'{"answer": "': -0.1})
    option = ("B", {"B": -0.1, "A": -3.0})
    closing = ('"}', {'"}': -0.1})
    with ConstrainingServer("response_format") as server:
        server._answer_request = lambda body: says(reply, [opening, option, closing])
        model = chat(server, constrain="json")
        model._server_constraint = next(constraint for constraint in CONSTRAINTS if constraint.kind == "json")
        ((_, answer),) = model.answer([QUESTION])
    assert answer.choice == 1
    assert answer.logprobs == (-3.0, -0.1)


def test_constrained_replies_are_kept(tmp_path):
    with Cache(tmp_path / "kept.sqlite") as cache, ConstrainingServer("guided_choice") as server:
        predict(server, cache)
        count = len(server.bodies)
        predict(server, cache)
        assert len(server.bodies) == count == 12


def test_constrained_and_free_replies_are_kept_apart():
    with ConstrainingServer("guided_choice") as server:
        free = chat(server, constrain="off").fingerprint
        by_choice = chat(server, constrain="choice").fingerprint
        by_grammar = chat(server, constrain="grammar").fingerprint
        unsettled = chat(server).fingerprint
    assert len({free, by_choice, by_grammar}) == 3
    assert free == unsettled


def test_who_has_free_replies_goes_on_with_them_and_is_told(tmp_path):
    """Nothing is asked again with a cache of an earlier version, no number changes, and a note says so."""

    def choose_if_guided(body):
        text = body["guided_choice"][0] if "guided_choice" in body else "Paris."
        return says(text)

    problems = winokit.load("open")[:6]
    with SamplingServer(steady=True) as server, Cache(tmp_path / "kept.sqlite") as cache:
        before = predict(server, cache, constrain="off")
        count = len(server.bodies)
        server.respond_to_probe = choose_if_guided
        model = chat(server)
        after = score_variants({ORIGINAL: problems}, model, cache=cache)
    assert [row.scores for row in after] == [row.scores for row in before]
    assert len(server.bodies) == count
    assert "replies are free, as those that are kept; ?constrain=choice" in model.plan


def test_what_was_found_out_is_remembered_so_that_a_replay_needs_no_server(tmp_path):
    with Cache(tmp_path / "kept.sqlite") as cache:
        with ConstrainingServer("guided_choice") as server:
            first = predict(server, cache)
            probe_count = len(server.probes)
            predict(server, cache)
            assert len(server.probes) == probe_count
        again = predict(server, cache)
    assert again == first


def test_a_dry_run_says_that_the_constraint_is_not_known_yet():
    with ConstrainingServer("guided_choice") as server:
        cache = Cache()
        cache.ledger.spending = Spending(dry_run=True)
        model = chat(server)
        assert settle_constraint(model, [QUESTION], cache) is None
        assert server.probes == []
    assert "is found out when it is asked" in model.plan
