"""`completions:MODEL@URL` reads log-probabilities of texts from servers of several dialects and refuses bad ones."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from support.servers import CompletionsServer, FakeServer, FlakyServer, Response, complains, words_at_random
from support.simulated import SimulatedServer
from support.tiny_causal import TWINS, tiny_tokenizer
from support.waiting import HANGS
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app
from winokit.errors import BadInput
from winokit.models.base import Ask, Continuation, Embed, Refusal
from winokit.models.registry import load_model

CUP = Continuation("The jug fills the cup because the jug", " is large.")
QUICK = f"?retries=2&delay=0.01&timeout={HANGS}"


@pytest.fixture
def simulated(monkeypatch):
    """Make a server whose time passes at once, so that the sizes of calls do not depend on the machine."""
    return lambda server: SimulatedServer(server, monkeypatch)


def answers(server, requests, options=QUICK):
    """Answers to the requests in their order, and the model that gave them."""
    model = load_model(f"completions:m@{server.url}{options}")
    answer_by_index = dict(model.answer(requests))
    in_order = [answer_by_index[index] for index in range(len(requests))]
    return in_order, model


def answer_one(server, request, options=QUICK):
    """Answer to a single request."""
    ((answer,), _) = answers(server, [request], options)
    return answer


def is_list(body):
    """Whether the body of a request holds a list of texts."""
    return isinstance(body["prompt"], list)


def count_texts(body):
    """Number of texts in the body of a request."""
    return len(body["prompt"]) if is_list(body) else 1


@pytest.mark.parametrize("speaks", ["echo", "prompt_logprobs", "generate"])
def test_every_dialect_gives_the_same_pieces(speaks):
    with CompletionsServer(speaks) as server:
        pieces = answer_one(server, CUP)
    words = words_at_random(CUP.context + CUP.text)
    expected = [logprob for _, logprob in words[-2:]]
    texts = [CUP.text[piece.start : piece.end] for piece in pieces]
    assert [piece.logprob for piece in pieces] == expected
    assert texts == ["is", "large."]


@pytest.mark.parametrize("speaks", ["generated only", "zeros", "some"])
def test_a_server_that_cannot_say_is_refused_before_anything_is_scored(speaks):
    with CompletionsServer(speaks) as server:
        with pytest.raises(BadInput, match=r"no log-probabilities of the texts sent .*llama_cpp\.server --logits_all"):
            answers(server, [CUP])
        assert len(server.bodies) == 3  # one probe a dialect, no text


def test_the_probe_is_sent_once():
    with CompletionsServer() as server:
        _, model = answers(server, [CUP])
        list(model.answer([Continuation("He", " slept.")]))
        assert len(server.bodies) == 3


def test_nothing_is_sent_when_a_model_is_loaded():
    with CompletionsServer() as server:
        load_model(f"completions:m@{server.url}")
        assert server.bodies == []


def test_a_text_asked_about_in_two_ways_is_sent_once():
    whole = CUP.context + CUP.text
    with CompletionsServer() as server:
        ((part, full), _) = answers(server, [CUP, Continuation("", whole)])
        prompts = [body["prompt"] for body in server.bodies[1:]]
    assert prompts == [whole]
    assert full[-2].logprob == part[0].logprob


def test_the_first_token_of_a_text_without_bos_is_read_and_not_scored():
    with CompletionsServer() as server:
        sentence = Continuation("", "The cup broke.")
        word = Continuation("", "Cups")
        ((pieces, alone), model) = answers(server, [sentence, word])
    assert len(pieces) == 2
    assert isinstance(alone, Refusal)
    assert "without BOS" in model.notes[0]


def test_bos_makes_the_first_token_count():
    def read_with_bos(text):
        words = words_at_random(text)
        first_word = text.split()[0]
        return [("<s>", None), (first_word, -2.0), *words[1:]]

    with CompletionsServer(tokens=read_with_bos) as server:
        ((pieces,), model) = answers(server, [Continuation("", "The cup broke.")])
    assert len(pieces) == 3
    assert pieces[0].logprob == -2.0
    assert model.notes == ()


def test_bos_twice_is_told():
    def read_with_bos_twice(text):
        words = words_at_random(text.removeprefix("<s>"))
        first_word = words[0][0]
        return [("<s>", None), ("<s>", -0.1), (first_word, -2.0), *words[1:]]

    with CompletionsServer(tokens=read_with_bos_twice) as server:
        _, model = answers(server, [CUP], f"{QUICK}&bos=<s>")
    assert "reads 2 tokens before every text; it puts BOS there itself: leave out ?bos=" in model.notes[0]


@pytest.mark.parametrize(
    "complaint",
    [
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3000 `inputs` tokens",
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
    ],
)
def test_that_a_text_is_too_long_is_understood_in_the_words_of_vllm_and_tgi(complaint):
    class Short(CompletionsServer):
        def respond(self, number, path, body):
            return complains(400, complaint) if number else super().respond(number, path, body)

    with Short() as server:
        refusal = answer_one(server, CUP)
    assert refusal.why == complaint


def test_an_error_that_comes_as_a_success_is_told():
    class Sick(FakeServer):
        def respond(self, number, path, body):
            return Response(payload={"error": "CUDA out of memory"})

    with Sick() as server, pytest.raises(BadInput, match="echo: CUDA out of memory"):
        answers(server, [CUP])


def test_an_ask_has_a_log_probability_for_each_option():
    with CompletionsServer() as server:
        reply = answer_one(server, Ask("Which? Answer:", ("A", "B")))
    _, logprob_of_a = words_at_random("Which? Answer: A")[-1]
    _, logprob_of_b = words_at_random("Which? Answer: B")[-1]
    assert reply.logprobs == (logprob_of_a, logprob_of_b)


def test_a_text_that_is_too_long_is_a_refusal_and_the_others_are_answered():
    with CompletionsServer(most=20) as server:
        too_long = Continuation("word " * 30, "end")
        ((pieces, refusal), _) = answers(server, [CUP, too_long])
    assert len(pieces) == 2
    assert "maximum context length" in refusal.why


# Several texts in a call

MANY = [Continuation(f"The cup number {n}", " broke.") for n in range(60)]


@pytest.mark.parametrize("speaks", ["echo", "prompt_logprobs", "generate"])
def test_texts_in_lists_have_the_answers_of_texts_alone(speaks, simulated):
    server = simulated(CompletionsServer(speaks))
    alone, _ = answers(server, MANY, f"{QUICK}&batch=1")
    sent_alone = len(server.bodies)
    together, model = answers(server, MANY)
    assert together == alone
    assert model.usage.requests == 60
    if speaks != "generate":  # SGLang's own answers lists in another way
        lengths = [count_texts(body) for body in server.bodies if is_list(body)]
        assert model.usage.calls <= 30 < 60 <= sent_alone
        assert max(lengths) in range(3, 9)


@pytest.mark.parametrize(
    ("seconds", "sizes"),
    [(0.4, [1, 2, 4, 8, 8, 8, 8]), (1.0, [1, 1, 1, 1, 1, 1, 1]), (2.1, [1, 1, 1, 1, 1, 1, 1])],
)
def test_a_server_is_sent_longer_lists_as_long_as_it_answers_soon(simulated, seconds, sizes):
    sizes_seen = sizes_sent(simulated, lambda number: seconds)
    assert sizes_seen[:7] == sizes


@pytest.mark.parametrize(("seconds", "sizes"), [(1.0, [1, 2, 4, 8, 8, 8, 8]), (2.1, [1, 2, 4, 8, 4, 2, 1])])
def test_a_server_that_slows_down_is_sent_shorter_lists(simulated, seconds, sizes):
    sizes_seen = sizes_sent(simulated, lambda number: seconds if number > 4 else 0.0)
    assert sizes_seen[:7] == sizes


def sizes_sent(simulated, pause):
    """Number of texts in each call after the two probes, for a server that pauses before it answers.

    `pause` maps the number of a call to seconds.
    """

    class Slow(CompletionsServer):
        def respond(self, number, path, body):
            response = super().respond(number, path, body)
            return replace(response, pause=pause(number))

    server = simulated(Slow())
    answers(server, MANY, "?concurrency=1&batch=8")
    return [count_texts(body) for body in server.bodies[2:]]


def test_a_server_that_takes_no_lists_is_asked_for_one_text_at_a_time(simulated):
    server = simulated(CompletionsServer(lists=False))
    answers_in_order, model = answers(server, MANY, "?delay=9")  # nor is it asked for lists again after a pause
    lists = [body for body in server.bodies if is_list(body)]
    assert len(lists) == 1
    assert len(answers_in_order) == 60
    assert model.usage.requests == 60
    assert model.usage.calls == 60


class FirstOnly(CompletionsServer):
    """Server that reads the first text of a list and answers as if all were that one."""

    def respond(self, number, path, body):
        prompt = body["prompt"]
        if is_list(body):
            prompt = [prompt[0]] * len(prompt)
        return super().respond(number, path, {**body, "prompt": prompt})


def test_a_server_that_confuses_the_texts_of_a_list_is_sent_none():
    with FirstOnly() as server:
        answers_of_confused, _ = answers(server, MANY)
    with CompletionsServer() as sound:
        expected, _ = answers(sound, MANY)
    assert answers_of_confused == expected


def test_a_text_too_long_among_others_is_the_only_one_refused():
    with CompletionsServer(most=20) as server:
        too_long = Continuation("word " * 30, "end")
        answers_in_order, _ = answers(server, [*MANY, too_long])
    (refusal,) = [answer for answer in answers_in_order if isinstance(answer, Refusal)]
    assert "maximum context" in refusal.why


@pytest.mark.parametrize("failing", [Response(pause=9.0), complains(500, "out of memory")])
def test_a_list_that_fails_is_sent_again_one_by_one_and_others_are_shorter(failing, simulated):
    class Small(CompletionsServer):
        def respond(self, number, path, body):
            if count_texts(body) > 4:
                return failing
            return super().respond(number, path, body)

    server = simulated(Small())
    answers_in_order, _ = answers(server, MANY, "?concurrency=4&timeout=0.3&delay=9")
    long_lists = [body for body in server.bodies if count_texts(body) > 4]
    assert 1 <= len(long_lists) <= 4
    assert not any(isinstance(answer, Refusal) for answer in answers_in_order)


def test_a_limit_of_requests_counts_texts_whatever_they_are_sent_in(tmp_path):
    with CompletionsServer() as server:
        spec = f"completions:m@{server.url}?concurrency=2"
        with pytest.raises(BadInput, match="stopped at --set max_requests=21: 21 of"):
            winokit.score("open", spec, limit=40, cache=tmp_path / "c", max_requests=21)
        text_counts = [count_texts(body) for body in server.bodies[2:]]
    assert sum(text_counts) == 21


class Odd(CompletionsServer):
    """Sound server whose answers after the probe are spoilt."""

    def __init__(self, spoil):
        super().__init__()
        self.spoil = spoil

    def respond(self, number, path, body):
        response = super().respond(number, path, body)
        if number:
            self.spoil(response.payload)
        return response


def logprobs_in(payload):
    """Log-probabilities of the first text in a payload, as the server wrote them."""
    return payload["choices"][0]["logprobs"]


def spoil_text(payload):
    logprobs_in(payload)["tokens"][2] = " otter"


def spoil_number(payload):
    logprobs_in(payload)["token_logprobs"][3] = math.nan


def spoil_sign(payload):
    logprobs_in(payload)["token_logprobs"][3] = 0.7


def spoil_first(payload):
    logprobs_in(payload)["token_logprobs"][0] = 0.7


def spoil_hole(payload):
    logprobs_in(payload)["token_logprobs"][3] = None


def spoil_model(payload):
    payload["model"] = "another"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_text, "log-probabilities of another text"),
        (spoil_number, "nan is not a log-probability"),
        (spoil_sign, "0.7 is not a log-probability"),
        (spoil_first, "0.7 is not a log-probability"),
        (spoil_hole, "None is not a log-probability"),
        (spoil_model, "changed its model during the run"),
    ],
)
def test_numbers_that_cannot_be_trusted_end_the_run_with_a_line(spoil, message):
    with Odd(spoil) as server, pytest.raises(BadInput, match=message):
        answers(server, [CUP])


@pytest.mark.parametrize(("batch", "sound_calls", "cached_count"), [(1, 22, 20), (4, 8, 15)])
@pytest.mark.parametrize("trouble", ["html", "half", "null", "500", "hangs up"])
def test_a_server_gone_wrong_is_one_line_and_what_was_scored_stays(
    simulated, trouble, batch, sound_calls, cached_count, tmp_path
):
    class Failing(CompletionsServer):
        def respond(self, number, path, body):
            if number >= sound_calls:
                return flaky.respond(number, path, body)
            return super().respond(number, path, body)

    flaky = FlakyServer(CompletionsServer(), 1.0, [trouble])
    cache = tmp_path / "cache"
    out = tmp_path / "p.jsonl"
    url = simulated(Failing()).url
    spec = f"completions:m@{url}{QUICK}&concurrency=1&batch={batch}"
    settings = ["--limit", "40", "--set", f"cache={cache}", "--out", str(out)]
    result = CliRunner().invoke(app, ["score", "open", "--model", spec, *settings])
    assert isinstance(result.exception, BadInput)
    assert "given up after" in str(result.exception)
    dry_run = winokit.score("open", spec, limit=40, cache=cache, dry_run=True)
    assert dry_run.plan["cached"] == cached_count  # with lists: 1 + 2 + 4 + 4 + 4, after two probes and the models


def test_a_flaky_server_gives_the_same_answers_in_the_end(simulated):
    requests = MANY[:40]
    expected, _ = answers(simulated(CompletionsServer()), requests)
    flaky = FlakyServer(CompletionsServer(), 0.5, ["429"])
    answers_in_order, _ = answers(simulated(flaky), requests)
    assert flaky.failed > 10
    assert answers_in_order == expected


def test_a_server_that_is_down_is_one_line():
    model = load_model("completions:m@http://127.0.0.1:9/v1?retries=1&delay=0.01")
    with pytest.raises(BadInput, match="given up after 2 tries"):
        list(model.answer([CUP]))


def test_it_can_do_what_causal_models_can_and_no_more():
    with CompletionsServer() as server:
        model = load_model(f"completions:m@{server.url}")
        with pytest.raises(BadInput, match="cannot answer Embed"):
            list(model.answer([Embed("x")]))


@pytest.mark.parametrize("scoring", ["partial", "full", "special-word", "pronoun", "ask"])
def test_every_scoring_of_a_causal_model_works(scoring, tmp_path):
    with CompletionsServer() as server:
        spec = f"completions:m@{server.url}"
        rows = winokit.score("open", spec, limit=20, scoring=scoring, cache=tmp_path / "c")
    answered_rows = [row for row in rows if row.prediction is not None]
    assert len(answered_rows) >= 10


def test_shots_and_naturalness_come_along(tmp_path):
    with CompletionsServer() as server:
        spec = f"completions:m@{server.url}"
        protocol = ["accuracy", "naturalness"]
        run = winokit.audit("open", spec, limit=30, shots=2, cache=tmp_path / "c", protocol=protocol)
    assert run.find("naturalness", "all", "surprisal_per_word") is not None
    assert run.predictions[0].scoring == "partial?shots=2"


# Exactly what transformers says


TINY_SIZES = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 512, "vocab_size": 320}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Folder with a small GPT-2 of random weights."""
    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(0)
    config = transformers.GPT2Config(**TINY_SIZES, initializer_range=0.3, bos_token_id=0, eos_token_id=1)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def read_by_transformers(folder, *, decoded=False):
    """Make a function that returns a text's tokens as a server spells them, with their log-probabilities."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def read(text):
        ids = tokenizer(text)["input_ids"]
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0].double()
        logprobs = torch.log_softmax(logits, -1)
        positions = range(len(ids) - 1)
        logprobs_of_tokens = logprobs[positions, ids[1:]].tolist()
        if decoded:
            spellings = [tokenizer.decode([token]) for token in ids]
        else:
            spellings = tokenizer.convert_ids_to_tokens(ids)
        return list(zip(spellings, [None, *logprobs_of_tokens], strict=True))

    return read


@pytest.mark.parametrize(
    ("dialect", "scoring"),
    [
        ("echo", "partial"),
        ("echo", "full"),
        ("echo", "special-word"),
        ("echo", "pronoun"),
        ("prompt_logprobs", "partial"),
        ("generate", "partial"),
    ],
)
def test_a_server_of_transformers_numbers_scores_as_hf_does(tiny, dialect, scoring):
    local = winokit.score("open", f"hf:{tiny}?dtype=float32", limit=20, scoring=scoring, cache="off")
    with CompletionsServer(dialect, read_by_transformers(tiny)) as server:
        served = winokit.score("open", f"completions:m@{server.url}", limit=20, scoring=scoring, cache="off")
    for row, expected in zip(served, local, strict=True):
        assert row.id == expected.id
        assert row.prediction == expected.prediction
        assert (row.why is None) == (expected.why is None)
        if row.scores is not None:
            np.testing.assert_allclose(row.scores, expected.scores, atol=2e-3)


TEXTS_OF_LANGUAGES = [
    Continuation("Der Pokal passt nicht, weil der Pokal", " zu groß ist."),
    Continuation("Das Mädchen mo", "chte Äpfel"),
    Continuation("奖杯放不下，因为奖杯", "太大了。"),
    Continuation("Ann’s cup wasn't full because Ann", "’s jug was."),
    Continuation("I like 😀", "😀 too"),
    Continuation("cafe\u0301 is", " cafe\u0301"),
    Continuation("a  ", "  b\n\nc"),
    Continuation("The cup is", " full \n"),
]


@pytest.mark.parametrize("decoded", [False, True])
def test_texts_of_other_languages_are_divided_where_hf_divides_them(tiny, decoded):
    local_model = load_model(f"hf:{tiny}?dtype=float32")
    expected = dict(local_model.answer(TEXTS_OF_LANGUAGES))
    with CompletionsServer(tokens=read_by_transformers(tiny, decoded=decoded)) as server:
        answers_in_order, _ = answers(server, TEXTS_OF_LANGUAGES)
    for index, pieces in enumerate(answers_in_order):
        served = [piece.logprob for piece in pieces]
        local = [piece.logprob for piece in expected[index]]
        np.testing.assert_allclose(served, local, atol=2e-3)


def test_texts_of_the_tiny_tokenizer_are_aligned(tiny):
    assert TWINS
    read = read_by_transformers(tiny)
    with CompletionsServer(tokens=read) as server:
        pieces = answer_one(server, Continuation("A “cup” of", " café"))
    assert pieces[-1].end == len(" café")


def test_a_boundary_among_tokens_that_are_lost_is_an_abstention_and_no_guess():
    def lose_characters(text):
        if "大" not in text:
            return words_at_random(text)
        return [("\ufffd", -1.0 - position / 10) for position in range(6)]

    with CompletionsServer(tokens=lose_characters) as server:
        part_of_text = Continuation("奖", "杯大")
        whole_text = Continuation("", "奖杯大")
        ((unknown, whole), _) = answers(server, [part_of_text, whole_text])
    assert "it is unknown which tokens to score" in unknown.why
    assert len(whole) == 6


class Html(FakeServer):
    """Server that sends a sign-in page."""

    def respond(self, number, path, body):
        return Response(payload=b"<html>Sign in</html>")


def test_a_web_page_is_no_server():
    with Html() as server, pytest.raises(BadInput, match="not a valid answer: <html>"):
        answers(server, [CUP])


class Shifted(CompletionsServer):
    """Server that gives each token the numbers of the next, as llama-cpp-python does without BOS."""

    def respond(self, number, path, body):
        response = super().respond(number, path, body)
        logprobs = response.payload["choices"][0]["logprobs"]
        tokens = logprobs["tokens"]
        if not body["prompt"].startswith("<s>"):
            tokens = [*tokens[1:], "."]
        logprobs["top_logprobs"] = [{token: -0.1} for token in tokens]
        return response


def test_numbers_of_the_wrong_place_are_found_out_and_bos_puts_them_right():
    def read_without_bos(text):
        return words_at_random(text.removeprefix("<s>"))

    with Shifted(tokens=read_without_bos) as server:
        with pytest.raises(BadInput, match=r"shifted by one token.*\?bos=<s>"):
            answers(server, [CUP])
        pieces = answer_one(server, CUP, f"{QUICK}&bos=<s>")
        assert server.bodies[-1]["prompt"].startswith("<s>The jug")
    assert len(pieces) == 2


def test_a_line_break_is_a_text_and_nothing_is_none():
    def read_line_breaks(text):
        parts = re.findall(r"\s?\S+|\s", text)
        logprobs = [None, *(-float(position) for position in range(1, len(parts)))]
        return list(zip(parts, logprobs, strict=True))

    with CompletionsServer(tokens=read_line_breaks) as server:
        line_break = Continuation("A cup", "\n")
        nothing_more = Continuation("A cup", "")
        ((pieces, nothing), _) = answers(server, [line_break, nothing_more])
    assert [piece.logprob for piece in pieces] == [-2.0]
    assert isinstance(nothing, Refusal)
