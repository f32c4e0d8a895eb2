import itertools
import math
import random
import signal
import threading
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from math import exp, log

import pytest
from support.servers import THOUGHTS_WRITTEN, ChatServer, ReasoningServer, Response, complains, says
from support.simulated import BEGIN, SimulatedServer
from support.waiting import HANGS

from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.cache import Cache, answer_all, key_of
from winokit.models.base import Ask, Choose, Model, Refusal, Reply
from winokit.models.chat import choice_in, option_logprobs
from winokit.models.chat_client import ChatToken
from winokit.models.registry import load_model
from winokit.models.server import LONGEST_PAUSE, PATIENCE
from winokit.models.thoughts import ALL_THOUGHT, UNFINISHED
from winokit.progress import telling

LETTERS = ("A", "B")
VESSELS = (("the jug",), ("the cup",))
SURE_OF_B = [("B", {"B": -0.1, " B": -4.0, "A": -3.0, "The": -5.0})]


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


def ask_questions(server, count, **options):
    """Reply to each of `count` questions, by the question's index."""
    model = chat(server, **options)
    return dict(model.answer(asks(count)))


def ask_once(server, **options):
    """Reply to a single question."""
    return answer_question(chat(server, **options), asks(1)[0])


def answer_question(model, question):
    """Reply of a model to one question, which has index 0."""
    ((index, reply),) = model.answer([question])
    assert index == 0
    return reply


@pytest.fixture
def simulated(monkeypatch):
    """Make servers of behaviours, with a clock that does not wait."""
    return lambda behave: SimulatedServer(ChatServer(behave), monkeypatch)


def asks(count):
    return [Ask(f"Question {number}?", LETTERS, VESSELS) for number in range(count)]


def in_turn(*responses):
    """Make a behaviour that gives each response once and then the last one for ever."""
    last_index = len(responses) - 1
    return lambda number, body: responses[min(number, last_index)]


# Reading replies


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("A", 0),
        (" b\n", 1),
        ("B.", 1),
        ("(A)", 0),
        ("[B]", 1),
        ("**B**", 1),
        ("**B**, since A is dry.", 1),
        ("**Answer:** B, and not A", 1),
        (r"\boxed{B}, since A is dry.", 1),
        ("`A`", 0),
        ('"A"', 0),
        (r"$\boxed{\text{B}}$", 1),
        ("B. the cup", 1),
        ("a) the jug", 0),
        ("B: it was full", 1),
        ("B - it was full", 1),
        ("A because the jug pours", 0),
        ("(A) the jug", 0),
        ("Option B", 1),
        ("Option A, since the cup is full.", 0),
        ("Answer: B", 1),
        ("**Answer:** B", 1),
        ("Answer:\nB", 1),
        ("The answer is B because A is wrong.", 1),
        ("The correct option is (B).", 1),
        ("The answer is the cup.", 1),
        ("Let me see. A jug can be empty.\n\nAnswer: A", 0),
        ("I would choose B.", 1),
        ("It must be (B), I think", 1),
        ("the cup", 1),
        ("The cup.", 1),
        ("It refers to the cup, which is full.", 1),
        ("It is not the jug but the cup that is full", 1),
        ("<think>A? No, it is B. Or A.</think>B", 1),
        ("B, not A", 1),
        ("The answer is B and A is wrong.", 1),
        ("The answer is the cup and the jug is where it came from.", 1),
        ("The answer is B and the jug's size does not matter.", 1),
        ("Answer: B / A is too small", 1),
    ],
)
def test_a_reply_chooses_the_option_it_names(text, choice):
    assert choice_in(text, LETTERS, VESSELS) == choice


@pytest.mark.parametrize(
    "text",
    [
        "",
        "C",
        "A or B",
        "A, B",
        "A/B",
        "A. the jug\nB. the cup",
        "A. the jug\nB.",
        "A. the cup",
        "Both A and B fit.",
        "Either the jug or the cup",
        "A definitive answer cannot be given.",
        "I'm sorry, I can't help with the cup.",
        "It is impossible to say whether it is the jug.",
        "It is not the jug.",
        "I cannot say whether it is B",
        "The answer is A. No, the answer is B.",
        "The jug was poured into the cup.",
        "<think>It must be B, but let me",
        "Because it was full.",
        "cupboard",
        "The answer is A or B.",
        "Answer: A/B",
        "The answer is A and B.",
        "The answer is A and B are both right",
        "The answer is 'A' or 'B' here.",
    ],
)
def test_a_reply_that_is_not_clear_chooses_nothing(text):
    assert choice_in(text, LETTERS, VESSELS) is None


@pytest.mark.parametrize(
    ("text", "options", "aliases", "choice"),
    [
        ("Ines", ("Nora", "Ines"), (), 1),
        ("Ines was helpful.", ("Nora", "Ines"), (), 1),
        ("the cup holder", ("A", "B"), (("the cup",), ("the cup holder",)), 1),
        ("It is the cup holder.", ("A", "B"), (("the cup",), ("the cup holder",)), 1),
        ("Yes, it does.", ("no", "yes"), (), 1),
        ("There is no way to tell.", ("no", "yes"), (), None),
        ("the cup", ("A", "B"), (("the cup",), ("the cup",)), None),
        ("2", ("1", "2", "3"), (), 1),
        ("Iris, neſ, nes", ("Nes", "Ines"), (), 0),
        ("Neſ, I think", ("Nes", "Ines"), (), 0),
        ("Mr. Hill", ("A", "B"), (("Mr. Hill",), ("Mr. Hull",)), 0),
        ("Well - anything.", ("?", "!"), (), None),
    ],
)
def test_options_may_be_words_and_have_other_names(text, options, aliases, choice):
    assert choice_in(text, options, aliases) == choice


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("答えはBです。", 1),
        ("正解はBの犬です。", 1),
        ("「Ｂ」です", 1),
        ("Ｂ。", 1),
        ("（Ｂ）犬", 1),
        ("答えは犬です。", 1),
        ("B。Aは違います", 1),
        ("答案是B，因为A不对。", 1),
        ("选B。", 1),
        ("不是A，是B。", 1),
        ("정답은 B입니다.", 1),
        ("Die Antwort ist B, weil A nicht passt.", 1),
        ("La réponse correcte est B, car A est trop grande.", 1),
        ("A resposta é B, pois A é grande.", 1),
        ("Правильный ответ: B, потому что A мал.", 1),
        ("アンディを指します。", 0),
        ("指的是箱子。", 2),
        ("AではなくBです。", None),
        ("AかBかわかりません", None),
        ("答えはAかBです。", None),
        ("答えはAではありません。", None),
        ("犬ではありません。", None),
        ("정답은 A가 아닙니다.", None),
        ("答案是A或B。", None),
        ("La réponse est A ou B.", None),
        ("不可能是箱子。", None),
        ("不选B", None),
        ("箱子是错的。", None),
        ("抱歉，我无法回答关于箱子的问题", None),
        ("答案是箱子和A", None),
        ("アンディは間違いです。", None),
        ("アンディ以外です", None),
        ("申し訳ありませんが、アンディについては答えられません", None),
        ("정답은 A와 B입니다", None),
        ("番犬のことです。", None),
        ("アンドレのことです。", None),
    ],
)
def test_a_reply_may_be_in_another_language_and_without_spaces(text, choice):
    names_of_options = (("アンディ", "アン"), ("犬",), ("箱子",))
    assert choice_in(text, ("A", "B", "C"), names_of_options) == choice


def tokens(*entries):
    """Tokens of a reply, each from its text and its alternatives' log-probabilities."""
    return [ChatToken(text, tuple(alternatives.items())) for text, alternatives in entries]


def test_an_option_has_the_probability_of_all_its_spellings():
    spellings = {"B": log(0.5), " b": log(0.125), "A": log(0.25), "C": log(0.05)}
    logprobs = option_logprobs(tokens(("B", spellings)), LETTERS, 1)
    probabilities = [exp(logprob) for logprob in logprobs]
    assert probabilities == pytest.approx([0.25, 0.625])


def test_an_option_that_is_not_listed_gets_the_smallest_that_is():
    reply_tokens = tokens(("B", {"B": -0.1, "The": -7.5}))
    logprobs = option_logprobs(reply_tokens, LETTERS, 1)
    assert logprobs == pytest.approx((-7.5, -0.1))


def test_the_answer_may_come_after_other_tokens():
    reply_tokens = tokens(
        ("Because", {"Because": -1.0, "B": -2.0}),
        (" (", {" (": -0.1, " B": -3.0}),
        ("B", {"B": -0.2, "A": -1.7}),
        (")", {")": -0.1, ".": -2.0}),
    )
    logprobs = option_logprobs(reply_tokens, LETTERS, 1)
    assert logprobs == pytest.approx((-1.7, -0.2))


def test_a_word_is_not_taken_for_the_letter_it_begins_with():
    first_token = ("B", {"B": -0.1, "A": -9.0})
    second_token = ("ecause", {"ecause": -0.1, "x": -3.0})
    third_token = (" B", {" B": -0.3, " A": -2})
    reply_tokens = tokens(first_token, second_token, third_token)
    logprobs = option_logprobs(reply_tokens, LETTERS, 1)
    assert logprobs == pytest.approx((-2, -0.3))


def test_an_option_of_several_tokens_is_known_by_its_first():
    first_token = ("Mar", {"Mar": -0.5, "Bob": -1.5, "X": -6.0})
    second_token = ("ianne", {"ianne": -0.1, "ia": -3.0})
    logprobs = option_logprobs(tokens(first_token, second_token), ("Bob", "Marianne"), 1)
    assert logprobs == pytest.approx((-1.5, -0.5))


@pytest.mark.parametrize(
    "reply_tokens",
    [
        tokens(),
        tokens(("the", {"the": -0.1, "A": -3.0}), (" cup", {" cup": -0.1, "x": -3.0})),
        tokens(("B", {"B": -0.1})),
    ],
)
def test_tokens_that_do_not_show_the_option_have_no_probabilities(reply_tokens):
    assert option_logprobs(reply_tokens, LETTERS, 1) is None


# Talking to a server


def test_log_probabilities_are_used_where_the_server_gives_them():
    with ChatServer(lambda number, body: says("B", SURE_OF_B)) as server:
        model = chat(server)
        reply = answer_question(model, asks(1)[0])
    likelihoods = [exp(logprob) for logprob in reply.logprobs]
    likelihood_of_b = exp(-0.1) + exp(-4)
    assert likelihoods == pytest.approx([exp(-3), likelihood_of_b])
    assert reply.choice == 1
    assert reply.text == "B"
    assert model.plan == "by log-probabilities"
    expected_body = {
        "model": "tiny",
        "messages": [{"role": "user", "content": "Question 0?"}],
        "temperature": 0,
        "max_tokens": 512,
        "logprobs": True,
        "top_logprobs": 20,
    }
    assert server.bodies[0] == expected_body


def test_a_chat_model_is_a_model_that_can_be_asked():
    model = load_model("chat:tiny@http://localhost:1/v1")
    assert isinstance(model, Model)
    assert model.kind == "chat"
    assert model.can == frozenset({Ask})
    choice = Choose("It was ", ".", ("a", "b"))
    with pytest.raises(BadInput, match="cannot answer Choose requests, only Ask"):
        list(model.answer([choice]))
    assert list(model.answer([])) == []


def test_settings_go_into_every_request():
    with ChatServer(lambda number, body: says("A")) as server:
        options = {"seed": 5, "max_tokens": 16, "temperature": 0.5, "logprobs": "off"}
        ask_once(server, system="Be%20brief.", **options)
    sent = server.bodies[0]
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert sent["seed"] == 5
    assert sent["max_tokens"] == 16
    assert sent["temperature"] == 0.5
    assert "logprobs" not in sent


def test_a_server_that_returns_no_log_probabilities_is_read_by_its_answers():
    with ChatServer(lambda number, body: says("(B)")) as server:
        model = chat(server)
        replies = dict(model.answer(asks(3)))
    parsed_b = Reply(None, 1, "(B)")
    assert replies == {0: parsed_b, 1: parsed_b, 2: parsed_b}
    assert model.plan == "by parsed answers; the server gives no log-probabilities"
    wants_logprobs = ["logprobs" in body for body in server.bodies]
    assert wants_logprobs == [True, False, False]


@pytest.mark.parametrize(
    ("status", "complaint"),
    [
        (400, "Unknown parameter"),
        (422, "logprobs: extra inputs"),
        (403, "You may not request logprobs"),
        (500, "logprobs is not supported for models created with logits_all=False"),  # llama-cpp-python
    ],
)
def test_a_server_that_rejects_log_probabilities_is_read_by_its_answers(status, complaint):
    def behave(number, body):
        return complains(status, complaint) if "logprobs" in body else says("A")

    with ChatServer(behave) as server:
        model = chat(server)
        replies = dict(model.answer(asks(3)))
        later_reply = answer_question(model, asks(1)[0])
    parsed_a = Reply(None, 0, "A")
    assert replies == {0: parsed_a, 1: parsed_a, 2: parsed_a}
    assert later_reply == parsed_a
    assert model.plan.startswith("by parsed answers; the server does not accept requests for log-probabilities")
    assert sum("logprobs" in body for body in server.bodies) == 1


def test_a_server_that_lists_few_tokens_is_asked_for_few():
    def behave(number, body):
        if body["top_logprobs"] > 8:
            return complains(400, "top_logprobs must be at most 8")
        return says("B", SURE_OF_B)

    with ChatServer(behave) as server:
        reply = ask_once(server)
    assert reply.logprobs is not None
    counts_asked_for = [body["top_logprobs"] for body in server.bodies]
    assert counts_asked_for == [20, 5]


@pytest.mark.parametrize("refusal", [says("B"), complains(400, "logprobs is not supported")])
def test_log_probabilities_can_be_insisted_on(refusal):
    def behave(number, body):
        return refusal if "logprobs" in body else says("A")

    with ChatServer(behave) as server, pytest.raises(BadInput, match=r"logprobs|log-probabilities"):
        ask_once(server, logprobs="on")


def test_parameters_that_a_server_rejects_are_renamed_or_dropped_for_the_whole_run():
    def behave(number, body):
        if "max_tokens" in body:
            return complains(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        if "temperature" in body:
            return complains(400, "'temperature' does not support 0 with this model, only the default (1).")
        return says("B", SURE_OF_B)

    with ChatServer(behave) as server:
        model = chat(server)
        replies = dict(model.answer(asks(5)))
    assert len(replies) == 5
    assert len(server.bodies) == 7
    last_body = server.bodies[-1]
    assert last_body["max_completion_tokens"] == 512
    assert "temperature" not in last_body
    assert "max_tokens is sent as max_completion_tokens; the server does not accept temperature" in model.plan


@pytest.mark.parametrize(
    ("status", "complaint"),
    [
        (400, "max_tokens is too large: this model's maximum context length is 2048 tokens"),
        (400, "the request exceeds the available context size, try increasing it"),
        (413, "Prompt is too long"),
        (500, "Requested tokens (600) exceed context window of 512"),
    ],
)
def test_a_prompt_too_long_is_a_refusal_of_that_prompt_and_not_blamed_on_a_parameter(status, complaint):
    behave = in_turn(complains(status, complaint), says("A"), says("A"))
    with ChatServer(behave) as server:
        answers = ask_questions(server, 3, concurrency=1)
    assert isinstance(answers[0], Refusal)
    assert complaint in answers[0].why
    assert answers[1].choice == 0
    assert answers[2].choice == 0
    assert len(server.bodies) == 3


def test_a_reply_that_may_not_be_so_long_is_an_error_of_the_settings():
    complaint = "max_tokens is too large: 5000. This model supports at most 4096 completion tokens"
    behave = in_turn(complains(400, complaint))
    with ChatServer(behave) as server, pytest.raises(BadInput, match="at most 4096"):
        ask_once(server)


@pytest.mark.parametrize(
    ("status", "way_out"), [(400, ""), (401, "check the API key"), (403, "check the API key"), (404, "model's name")]
)
def test_what_will_never_succeed_fails_at_once_with_what_the_server_says(status, way_out):
    behave = in_turn(complains(status, "something is\nwrong"))
    with ChatServer(behave) as server, pytest.raises(BadInput) as failure:
        ask_questions(server, 3, logprobs="off")
    message = str(failure.value)
    assert message.startswith(f"{server.url}/chat/completions: status {status}: something is wrong")
    assert way_out in message
    assert "\n" not in message
    assert len(server.bodies) == 1


def test_the_key_is_sent_and_never_shown(monkeypatch, capfd):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret\n")
    with ChatServer(in_turn(complains(401, "Incorrect key: Bearer sk-very-secret"))) as server:
        model = chat(server)
        with pytest.raises(BadInput) as failure:
            list(model.answer(asks(1)))
    assert server.keys == ["Bearer sk-very-secret"]
    texts_of_error = [str(failure.value), repr(failure.value)]
    texts_of_model = [model.spec, model.fingerprint, model.plan]
    texts_shown = [*texts_of_error, *texts_of_model, *capfd.readouterr()]
    assert not any("secret" in text for text in texts_shown)


@pytest.mark.parametrize("status", [401, 500])
def test_no_part_of_the_key_is_shown_where_a_long_complaint_is_cut(monkeypatch, caplog, status):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    behave = in_turn(complains(status, f"{'no ' * 96}sk-very-secret"))
    with ChatServer(behave) as server, pytest.raises(BadInput) as error:
        ask_once(server, retries=1, delay=0.01)
    assert "sk-" not in f"{error.value} {caplog.messages}"


def test_the_key_may_come_from_another_variable(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    monkeypatch.setenv("MY_KEY", "right")
    with ChatServer(in_turn(says("A"))) as server:
        ask_once(server, key_env="MY_KEY")
        ask_once(server, key_env="")
    assert server.keys == ["Bearer right", None]


def test_too_many_requests_are_tried_again_when_the_server_says(simulated):
    busy = complains(429, "slow down", Retry_After="30")
    server = simulated(in_turn(busy, says("A")))
    assert ask_once(server, delay=2).choice == 0
    assert 30 <= server.times[1] - server.times[0] <= 32


@pytest.mark.parametrize("as_date", [False, True])
def test_a_server_that_asks_to_come_back_tomorrow_is_not_waited_for(simulated, as_date):
    tomorrow = format_datetime(BEGIN + timedelta(days=1), usegmt=True)
    quota = complains(429, "quota", Retry_After=tomorrow if as_date else "86400")
    with pytest.raises(BadInput, match="status 429: quota; it asks us to wait 86400 s"):
        ask_once(simulated(in_turn(quota)))


def test_a_server_that_names_a_date_is_asked_again_then(simulated):
    soon = format_datetime(BEGIN + timedelta(seconds=90), usegmt=True)
    busy = complains(429, "slow down", Retry_After=soon)
    server = simulated(in_turn(busy, says("A")))
    assert ask_once(server, delay=0).choice == 0
    assert server.times == [0, 90]


@pytest.mark.parametrize("status", [429, 503])
def test_random_refusals_use_up_no_tries_as_long_as_others_are_answered(status):
    chance = random.Random(0)

    def behave(number, body):
        if number and chance.random() < 0.5:
            return complains(status, "slow down")
        return says("A")

    with ChatServer(behave) as server:
        answers = ask_questions(server, 60, retries=1)
    assert len(answers) == 60


def test_a_server_that_is_asked_too_much_is_asked_less_at_once(simulated):
    def behave(number, body):
        response = complains(429, "slow down") if server.at_once > 2 else says("A")
        return replace(response, pause=0.005)

    server = simulated(behave)
    replies = ask_questions(server, 200, concurrency=32, delay=0.01)
    assert len(replies) == 200
    assert len(server.bodies) < 400  # some 300; were it not asked less, more than 600


def test_a_server_that_only_refuses_is_given_up_after_a_while(simulated):
    server = simulated(in_turn(complains(429, "slow down")))
    with pytest.raises(BadInput, match="send fewer"):
        ask_questions(server, 5)
    assert PATIENCE < server.times[-1] <= PATIENCE + 2 * LONGEST_PAUSE


def test_whoever_waits_for_a_server_that_does_not_answer_is_told_so_once(caplog):
    with pytest.raises(BadInput, match="given up after 3 tries"):
        list(load_model("chat:tiny@http://127.0.0.1:1/v1?retries=2&delay=0.01").answer(asks(5)))
    (message,) = caplog.messages
    assert message.startswith("http://127.0.0.1:1/v1/chat/completions: ")
    assert message.endswith("; trying again")


def test_requests_that_fail_side_by_side_are_told_once_and_so_is_a_server_that_loads_its_model(caplog):
    loading = complains(503, "loading model")
    with ChatServer(in_turn(loading, loading, loading, says("A"))) as server:
        model = chat(server, delay=0.01)
        assert len(dict(model.answer(asks(5)))) == 5
    (message,) = caplog.messages
    _, _, reason = message.partition(": ")
    assert reason == "status 503: loading model; trying again"
    caplog.clear()
    with pytest.raises(BadInput, match="given up"):  # its answers have shown what it gives: all are asked at once
        list(model.answer(asks(5)))
    assert len(caplog.messages) == 1


def test_a_server_that_changes_its_model_in_the_middle_is_named():
    def behave(number, body):
        response = says("A")
        name = "one" if number < 2 else "two"
        return Response(payload={**response.payload, "model": name})

    message = "changed its model during the run, from 'one' to 'two'"
    with ChatServer(behave) as server, pytest.raises(BadInput, match=message):
        ask_questions(server, 9, concurrency=1)
    assert len(server.bodies) in (3, 4)  # the next is sent before a reply is read


def test_failures_of_the_server_are_tried_again():
    behave = in_turn(complains(500, "oh"), complains(503, "no"), says("A"))
    with ChatServer(behave) as server:
        assert ask_once(server).choice == 0
    assert len(server.bodies) == 3


def test_pauses_grow_with_each_try_up_to_the_longest(simulated):
    failures = [complains(500, "oh")] * 8
    server = simulated(in_turn(*failures, says("A")))
    ask_once(server, delay=1, retries=8)
    pauses = [later - earlier for earlier, later in itertools.pairwise(server.times)]
    usual = [1, 2, 4, 8, 16, 32, LONGEST_PAUSE, LONGEST_PAUSE]
    for pause, length in zip(pauses, usual, strict=True):
        assert 0.5 <= pause / length <= 1.5


def test_patience_ends_after_the_tries_allowed():
    behave = in_turn(complains(500, "broken"))
    with ChatServer(behave) as server, pytest.raises(BadInput) as failure:
        ask_questions(server, 5, retries=2)
    assert len(server.bodies) == 3
    assert "given up after 3 tries: status 500: broken" in str(failure.value)
    assert server.url in str(failure.value)


def test_a_reply_that_comes_too_late_is_asked_for_again(simulated):
    late_reply = replace(says("B"), pause=9)
    reply_in_time = replace(says("A"), pause=1.9)
    server = simulated(in_turn(late_reply, reply_in_time))
    assert ask_once(server, timeout=2, delay=0).choice == 0
    assert server.times == [0, 2]


def test_a_slow_server_is_asked_once_as_long_as_it_answers_somebody(simulated):
    def behave(number, body):
        is_free = max(server.second, *free_from) + 0.25  # it answers one by one
        free_from.append(is_free)
        return replace(says("A"), pause=is_free - server.second)

    server = simulated(behave)
    free_from = [0.0, 0.0]
    replies = ask_questions(server, 13, concurrency=12, timeout=2)
    assert len(replies) == 13
    assert len(server.bodies) == 13
    assert server.second == 13 * 0.25, "the last of twelve waited for three seconds"


def test_a_server_that_never_replies_in_time_is_named(simulated):
    server = simulated(in_turn(Response(pause=301)))
    with pytest.raises(BadInput, match="no reply within 300 s"):
        ask_once(server, retries=1)
    assert len(server.bodies) == 2


def test_a_server_without_a_reply_is_given_up_in_real_time_too():
    is_over = threading.Event()

    def behave(number, body):
        is_over.wait(HANGS)
        return says("A")

    with ChatServer(behave) as server:
        with pytest.raises(BadInput, match=r"no reply within 0\.01 s"):
            ask_once(server, timeout=0.01, retries=1)
        is_over.set()


GARBLED_PAYLOADS = [
    *(b'{"choices": [', b"\xff\xfe", b"", b"<html>Sign in</html>", [1], None, {"choices": []}, {"choices": [{}]}),
    {"error": {"message": "overloaded"}},
    says(None, finish="stop").payload,
    says("B", [("B", {"B": math.nan, "A": -1.0})]).payload,
]


@pytest.mark.parametrize("garbled", GARBLED_PAYLOADS)
def test_a_malformed_reply_counts_as_a_failed_try(garbled):
    response = Response(payload=garbled)
    with ChatServer(in_turn(response, says("A"))) as server:
        assert ask_once(server).choice == 0


@pytest.mark.parametrize("garbled", GARBLED_PAYLOADS)
def test_replies_that_stay_malformed_end_the_run(garbled):
    behave = in_turn(Response(payload=garbled))
    with ChatServer(behave) as server, pytest.raises(BadInput, match="not a valid answer"):
        ask_once(server, retries=1)


@pytest.mark.parametrize(
    ("response", "text", "why"),
    [
        (says(None, refusal="I won't. B"), "I won't. B", "a refusal"),
        (says("I cannot help with that."), "I cannot help with that.", None),
        (says(None), "", UNFINISHED),
    ],
)
def test_a_refusal_chooses_nothing_and_keeps_its_text(response, text, why):
    with ChatServer(in_turn(response)) as server:
        assert ask_once(server) == Reply(None, None, text, why)


QUESTION = Ask("Question: Which?\nA. the jug\nB. the cup\nAnswer:", LETTERS, VESSELS)


@pytest.mark.parametrize("style", THOUGHTS_WRITTEN)
def test_a_thought_does_not_count_and_is_kept(style):
    with ReasoningServer(style) as server:
        reply = answer_question(chat(server), QUESTION)
    assert reply.choice == 0
    assert reply.why is None
    assert "It may be B. Wait, no." in reply.text
    assert reply.text.endswith("A")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "Is it B?"}]}, {"type": "text", "text": "A"}], {}),
        ([{"type": "thinking", "thinking": "Is it B?"}, "A"], {}),
        ("A", {"reasoning_details": [{"type": "reasoning.text", "text": "Is it B?"}]}),
        ("A", {"reasoning_content": [{"type": "text", "text": "Is it"}, {"type": "text", "text": " B?"}]}),
    ],
)
def test_a_thought_in_parts_is_kept_like_any_other(content, message):
    response = says(content, finish="stop", **message)
    with ChatServer(in_turn(response)) as server:
        assert ask_once(server) == Reply(None, 0, "<think>\nIs it B?\n</think>\n\nA")


@pytest.mark.parametrize("content", [None, ""])
def test_more_tokens_are_not_advised_where_a_reply_that_is_all_thought_was_not_cut_off(content):
    response = says(content, finish="stop", reasoning_content="The answer is A")
    with ChatServer(in_turn(response)) as server:
        reply = ask_once(server)
    assert reply.choice is None
    assert reply.why == ALL_THOUGHT


@pytest.mark.parametrize("style", THOUGHTS_WRITTEN)
def test_a_thought_that_does_not_finish_is_an_abstention_of_its_own(style):
    with ReasoningServer(style, length=40) as server:
        short = answer_question(chat(server, max_tokens=20), QUESTION)
        long = answer_question(chat(server, max_tokens=41), QUESTION)
    assert short.choice is None
    assert short.why == UNFINISHED
    assert "Well, Well," in short.text
    assert long.choice == 0
    assert long.why is None


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("…The answer is A? Wait, no.\n</think>\n\nB", 1),
        ("<think>A</think>B<think>or A</think>", 1),
        ("<THINK>A</THINK>B", 1),
        ("analysisThe answer is A. No.assistantfinalB", 1),
        ("analysisThe answer is A.", None),
        ("<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>", 1),
        ("B<|im_end|>", 1),
        ("B</think>", None),
        ("◁think▷A◁/think▷<answer>B</answer>", 1),
        ("<think>Not <think> again: A</think> or A</think>B", 1),
    ],
)
def test_what_is_said_after_a_thought_is_the_answer(text, choice):
    assert choice_in(text, LETTERS, VESSELS) == choice


LIKELY = (-1.0, -2.0)


def reread(version, replies):
    """Read replies again that were kept under the earlier reading `version`; no server can be asked.

    Each row holds the log-probabilities, the choice and the reason of an abstention.
    """
    model = load_model("chat:tiny@http://127.0.0.1:1/v1?retries=0")
    earlier = model.earlier[version - 1]
    with Cache() as cache:
        for request, reply in replies.items():
            cache.keep(key_of(earlier, request), reply)
        answers = answer_all(model, replies, cache)
    read_again = [answers.get(request) for request in replies]
    return [(reply.logprobs, reply.choice, reply.why) for reply in read_again]


def test_replies_kept_before_thoughts_were_told_from_answers_are_read_anew():
    replies = {
        Ask("one", LETTERS): Reply(LIKELY, 0, "A"),
        Ask("two", LETTERS): Reply(LIKELY, 0, "The answer is A? No.</think>B"),
        Ask("three", LETTERS): Reply(None, None, "<think>The answer is A?"),
    }
    expected = [(LIKELY, 0, None), (None, 1, None), (None, None, UNFINISHED)]
    assert reread(1, replies) == expected


def test_replies_kept_before_their_language_was_read_are_read_anew():
    replies = {
        Ask("one", LETTERS): Reply(LIKELY, 0, "A"),
        Ask("two", LETTERS): Reply(None, None, "答えはBです。"),
        Ask("three", LETTERS): Reply(None, None, "<think>The answer is A?", UNFINISHED),
        Ask("four", LETTERS): Reply(LIKELY, 0, "<think>B?</think>A"),
    }
    expected = [(LIKELY, 0, None), (None, 1, None), (None, None, UNFINISHED), (LIKELY, 0, None)]
    assert reread(2, replies) == expected


def test_other_marks_of_thoughts_can_be_named():
    finished = says("<plan>The answer is A?</plan> B")
    cut_off = says("<plan>The answer is A?", finish="length")
    with ChatServer(in_turn(finished, cut_off)) as server:
        replies = ask_questions(server, 2, thoughts="<plan>,</plan>", concurrency=1)
    assert sorted(replies) == [0, 1]
    assert replies[0].choice == 1
    assert replies[0].why is None
    assert replies[1].choice is None
    assert replies[1].why == UNFINISHED


def test_marks_of_thoughts_are_a_pair():
    with pytest.raises(BadInput, match="expected OPEN,CLOSE"):
        load_model("chat:tiny@http://host/v1?thoughts=plan")


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        *(("B. Since it", 1), ("B", 1), ("The correct answer is B", 1), ("**Answer:** (B), since", 1)),
        *(("Well. The answer is A? Or", None), ("The answer is A? Wait", None), ("I think of A. It is (A)", None)),
    ],
)
def test_a_reply_that_is_cut_off_has_answered_only_if_it_began_with_the_answer(text, choice):
    response = says(text, finish="length")
    with ChatServer(in_turn(response)) as server:
        reply = ask_once(server)
    why = UNFINISHED if choice is None else None
    assert reply.choice == choice
    assert reply.why == why


THOUGHT_TOKENS = [
    ("B", {"B": -0.5, "A": -1.0}),
    ("?", {"?": -0.1, "!": -3.0}),
    ("</think>", {"</think>": 0.0, "x": -9.0}),
]
ANSWER_TOKENS = [("\n\n", {"\n\n": 0.0, "x": -9.0}), *SURE_OF_B]


@pytest.mark.parametrize(
    "response",
    [
        says("B?</think>\n\nB", [*THOUGHT_TOKENS, *ANSWER_TOKENS]),
        says("\n\nB", ANSWER_TOKENS, reasoning_content="B?"),
    ],
    ids=["thought in the text", "thought beside the text"],
)
def test_log_probabilities_are_those_of_the_answer_after_the_thought(response):
    with ChatServer(in_turn(response)) as server:
        reply = ask_once(server)
    assert reply.logprobs[0] == pytest.approx(-3)


def sure_if_asked(body):
    """Make a reply with log-probabilities if the request asks for them."""
    tokens_of_reply = SURE_OF_B if "logprobs" in body else None
    return says("B", tokens_of_reply)


def indices_with_logprobs(replies):
    """Indices of the replies that have log-probabilities, in order."""
    return sorted(index for index, reply in replies.items() if reply.logprobs is not None)


@pytest.mark.parametrize("first", [says(None), says(None, refusal="No.")])
def test_a_first_reply_that_answers_nothing_does_not_settle_the_question_of_log_probabilities(first):
    def behave(number, body):
        return sure_if_asked(body) if number else first

    with ChatServer(behave) as server:
        replies = ask_questions(server, 3)
    assert sorted(replies) == [0, 1, 2]
    assert indices_with_logprobs(replies) == [1, 2]


def test_one_later_reply_without_log_probabilities_does_not_end_them():
    def behave(number, body):
        return says("B") if number == 1 else sure_if_asked(body)

    with ChatServer(behave) as server:
        model = chat(server, concurrency=1)
        replies = dict(model.answer(asks(4)))
    assert sorted(replies) == [0, 1, 2, 3]
    assert indices_with_logprobs(replies) == [0, 2, 3]
    assert model.plan == "by log-probabilities"


def test_several_complaints_about_one_parameter_change_it_once():
    four_requests = threading.Barrier(4, timeout=HANGS)

    def behave(number, body):
        if number == 0 or "max_tokens" not in body:
            return says("B", SURE_OF_B)
        four_requests.wait()  # all are sent before the first complaint comes back
        return complains(400, "'max_tokens' is not supported. Use 'max_completion_tokens' instead.")

    with ChatServer(behave) as server:
        model = chat(server, concurrency=4)
        replies = dict(model.answer(asks(9)))
    assert len(replies) == 9
    assert server.bodies[-1]["max_completion_tokens"] == 512
    assert model.plan == "by log-probabilities; max_tokens is sent as max_completion_tokens"


def test_requests_are_sent_several_at_once():
    four_requests = threading.Barrier(4, timeout=HANGS)

    def behave(number, body):
        if number > 0:  # the first goes alone, the other twelve by fours or not at all
            four_requests.wait()
        return says("A")

    with ChatServer(behave) as server:
        replies = ask_questions(server, 13, concurrency=4)
    assert sorted(replies) == list(range(13))
    assert server.most_at_once == 4


def test_answers_come_as_soon_as_they_are_known_whatever_their_order():
    last_is_answered = threading.Event()

    def behave(number, body):
        if body["messages"][0]["content"] == "Question 1?":
            last_is_answered.wait(HANGS)
        return says("A")

    order = []
    with ChatServer(behave) as server:
        model = chat(server, concurrency=2)
        for index, _ in model.answer(asks(4)):
            order.append(index)
            if index == 3:
                last_is_answered.set()
    assert order == [0, 2, 3, 1]


def test_a_server_that_dies_half_way_loses_nothing_that_was_answered(simulated):
    def behave(number, body):
        return Response(dies=True) if number == 3 else says("B", SURE_OF_B)

    questions = asks(6)
    answered = {}
    server = simulated(behave)
    with pytest.raises(BadInput) as failure:  # noqa: PT012 - a caller's loop
        model = chat(server, retries=2, concurrency=1)
        for index, reply in model.answer(questions):
            answered[index] = reply
    assert sorted(answered) == [0, 1, 2]
    message = str(failure.value)
    assert f"{server.url}/chat/completions: given up after 3 tries" in message
    assert "run again" in message

    missing_indices = [index for index in range(6) if index not in answered]
    missing_questions = [questions[index] for index in missing_indices]
    again = simulated(lambda number, body: says("B", SURE_OF_B))
    for position, reply in model.answer(missing_questions):
        answered[missing_indices[position]] = reply
    assert sorted(answered) == list(range(6))
    assert len(again.bodies) == 3


def client_threads():
    return [thread for thread in threading.enumerate() if thread.name == "winokit-server"]


@pytest.fixture
def stubborn():
    """Make a behaviour that answers the first request, and no other before the test ends."""
    is_over = threading.Event()

    def behave(number, body):
        if number:
            is_over.wait(HANGS)
        return says("A")

    yield behave
    is_over.set()


def test_a_caller_who_leaves_early_leaves_nothing_running(stubborn):
    with ChatServer(stubborn) as server:
        replies = chat(server).answer(asks(20))
        next(replies)
        replies.close()
        assert not client_threads()
    assert len(server.bodies) <= 1 + 8


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs POSIX signals")
def test_an_interrupt_stops_the_run_at_once(request, stubborn):
    main = threading.main_thread()
    if threading.current_thread() is not main:
        pytest.skip("signals reach the main thread only")
    # A shell that runs pytest in the background has interrupts ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    def interrupt(number, body):
        if number == 3:  # while others are waited for
            signal.pthread_kill(main.ident, signal.SIGINT)
        return stubborn(number, body)

    with ChatServer(interrupt) as server:
        with pytest.raises(KeyboardInterrupt):
            ask_questions(server, 20)
        assert not client_threads()


# SPEC and fingerprint


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("chat:", "expected MODEL@URL"),
        (
            "chat:tiny@localhost:8000/v1",
            "expected MODEL@URL with a URL such as http://localhost:8000/v1, found 'localhost:8000/v1'",
        ),
        ("chat:@http://localhost:8000/v1", "MODEL@URL"),
        ("chat:tiny@http://localhost:port/v1", "found 'http://localhost:port/v1'"),
        (
            "chat:tiny@http://host/v1?concurrency=0",
            "option concurrency: expected a whole number of at least 1, found '0'",
        ),
        ("chat:tiny@http://host/v1?retries=1.5", "option retries: expected a whole number"),
        ("chat:tiny@http://host/v1?timeout=soon", "option timeout: expected a number of at least 0.001, found 'soon'"),
        ("chat:tiny@http://host/v1?key_env=sk-123", "option key_env: no environment variable of that name is set"),
    ],
)
def test_a_wrong_spec_is_said_in_one_line(spec, message):
    with pytest.raises(BadInput) as failure:
        load_model(spec)
    assert message in str(failure.value)
    assert "sk-123" not in str(failure.value)


@pytest.mark.parametrize("option", ["logprobs=maybe", "heat=1"])
def test_unknown_options_and_values_are_named(option):
    with pytest.raises(UnknownName, match=r"maybe|heat"):
        load_model(f"chat:tiny@http://host/v1?{option}")


def test_a_spec_without_a_url_is_told_where_it_is_asked():
    notes = []
    with telling(notes.append):
        load_model("chat:gpt-x")
        load_model("completions:gpt-x")
        load_model("chat:gpt-x@http://elsewhere/v1")
    assert notes == [
        "chat:gpt-x names no URL: asked at https://api.openai.com/v1",
        "completions:gpt-x names no URL: asked at https://api.openai.com/v1",
    ]


def test_without_a_url_the_server_comes_from_the_environment(monkeypatch):
    assert "https://api.openai.com/v1/chat" in load_model("chat:gpt-x").fingerprint
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1/")
    assert "http://elsewhere/v1/chat" in load_model("chat:gpt-x").fingerprint


@pytest.mark.parametrize("url", ["http://me:hidden@elsewhere/v1", "http://elsewhere/v1?key=hidden"])
def test_a_url_with_secrets_is_refused_and_not_shown(monkeypatch, url):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(BadInput, match="without user, password or query") as failure:
        load_model("chat:gpt-x")
    assert "hidden" not in str(failure.value)


def test_the_model_is_what_stands_before_the_last_at_sign():
    assert '"model": "org/model@2025"' in load_model("chat:org/model@2025@http://host/v1").fingerprint


def test_the_fingerprint_knows_what_changes_answers_and_nothing_else():
    def fingerprint(options="", address="tiny@http://host/v1"):
        return load_model(f"chat:{address}?{options}").fingerprint

    plain = fingerprint()
    for change in ("temperature=1", "max_tokens=9", "logprobs=off", "seed=1", "system=Hm"):
        assert fingerprint(change) != plain
    assert fingerprint(address="tiny@http://host2/v1") != plain
    assert fingerprint(address="big@http://host/v1") != plain
    assert fingerprint("concurrency=1&timeout=9&retries=1&delay=9") == plain


def test_a_key_that_no_header_can_carry_is_refused(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "clé\x07")
    with pytest.raises(BadInput, match="no HTTP header can carry") as failure:
        load_model("chat:gpt-x")
    assert "clé" not in str(failure.value)
