"""`completions:MODEL@URL`: the log-probabilities of texts from servers that speak in different ways, or not at all."""

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
    """Makes a server whose time passes at once: how many texts go into a call does not depend on the machine."""
    return lambda server: SimulatedServer(server, monkeypatch)


def answers(server, requests, options=QUICK):
    model = load_model(f"completions:m@{server.url}{options}")
    given = dict(model.answer(requests))
    return [given[index] for index in range(len(requests))], model


@pytest.mark.parametrize("speaks", ["echo", "prompt_logprobs", "generate"])
def test_every_dialect_gives_the_same_pieces(speaks):
    with CompletionsServer(speaks) as server:
        ((pieces,), _) = answers(server, [CUP])
    expected = [logprob for _, logprob in words_at_random(CUP.context + CUP.text)][-2:]
    assert [piece.logprob for piece in pieces] == expected
    assert [CUP.text[piece.start : piece.end] for piece in pieces] == ["is", "large."]


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
        assert [body["prompt"] for body in server.bodies[1:]] == [whole]
    assert full[-2:][0].logprob == part[0].logprob


def test_the_first_token_of_a_text_without_bos_is_read_and_not_scored():
    with CompletionsServer() as server:
        ((pieces, alone), model) = answers(server, [Continuation("", "The cup broke."), Continuation("", "Cups")])
    assert len(pieces) == 2
    assert isinstance(alone, Refusal)
    assert "without BOS" in model.notes[0]


def test_bos_makes_the_first_token_count():
    with CompletionsServer(
        tokens=lambda text: [("<s>", None), (text.split()[0], -2.0), *words_at_random(text)[1:]]
    ) as server:
        ((pieces,), model) = answers(server, [Continuation("", "The cup broke.")])
    assert len(pieces) == 3
    assert pieces[0].logprob == -2.0
    assert model.notes == ()


def test_bos_twice_is_told():
    def begun(text):
        words = words_at_random(text.removeprefix("<s>"))
        return [("<s>", None), ("<s>", -0.1), (words[0][0], -2.0), *words[1:]]

    with CompletionsServer(tokens=begun) as server:
        _, model = answers(server, [CUP], f"{QUICK}&bos=<s>")
    assert "reads 2 tokens before every text; it puts BOS there itself: leave out ?bos=" in model.notes[0]


@pytest.mark.parametrize(
    "said",
    [
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3000 `inputs` tokens",
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
    ],
)
def test_that_a_text_is_too_long_is_understood_in_the_words_of_vllm_and_tgi(said):
    class Short(CompletionsServer):
        def respond(self, number, path, body):
            return complains(400, said) if number else super().respond(number, path, body)

    with Short() as server:
        ((refused,), _) = answers(server, [CUP])
    assert refused.why == said


def test_an_error_that_comes_as_a_success_is_told():
    class Sick(FakeServer):
        def respond(self, number, path, body):
            return Response(payload={"error": "CUDA out of memory"})

    with Sick() as server, pytest.raises(BadInput, match="echo: CUDA out of memory"):
        answers(server, [CUP])


def test_an_ask_has_a_log_probability_for_each_option():
    with CompletionsServer() as server:
        ((reply,), _) = answers(server, [Ask("Which? Answer:", ("A", "B"))])
    assert reply.logprobs == tuple(words_at_random(f"Which? Answer: {option}")[-1][1] for option in "AB")


def test_a_text_that_is_too_long_is_a_refusal_and_the_others_are_answered():
    with CompletionsServer(most=20) as server:
        ((pieces, refused), _) = answers(server, [CUP, Continuation("word " * 30, "end")])
    assert len(pieces) == 2
    assert "maximum context length" in refused.why


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
        assert model.usage.calls <= 30 < 60 <= sent_alone
        assert max(len(body["prompt"]) for body in server.bodies if isinstance(body["prompt"], list)) in range(3, 9)


@pytest.mark.parametrize(
    ("seconds", "sizes"),
    [(0.4, [1, 2, 4, 8, 8, 8, 8]), (1.0, [1, 1, 1, 1, 1, 1, 1]), (2.1, [1, 1, 1, 1, 1, 1, 1])],
)
def test_a_server_is_sent_longer_lists_as_long_as_it_answers_soon(simulated, seconds, sizes):
    assert sizes_sent(simulated, lambda number: seconds)[:7] == sizes


@pytest.mark.parametrize(("seconds", "sizes"), [(1.0, [1, 2, 4, 8, 8, 8, 8]), (2.1, [1, 2, 4, 8, 4, 2, 1])])
def test_a_server_that_slows_down_is_sent_shorter_lists(simulated, seconds, sizes):
    assert sizes_sent(simulated, lambda number: seconds if number > 4 else 0.0)[:7] == sizes


def sizes_sent(simulated, pause):
    """How many texts go into each call, the two probes left out, if a call of some number takes so many seconds."""

    class Slow(CompletionsServer):
        def respond(self, number, path, body):
            return replace(super().respond(number, path, body), pause=pause(number))

    server = simulated(Slow())
    answers(server, MANY, "?concurrency=1&batch=8")
    return [len(body["prompt"]) if isinstance(body["prompt"], list) else 1 for body in server.bodies[2:]]


def test_a_server_that_takes_no_lists_is_asked_for_one_text_at_a_time(simulated):
    server = simulated(CompletionsServer(lists=False))
    given, model = answers(server, MANY, "?delay=9")  # nor is it asked for lists again after a pause
    assert [isinstance(body["prompt"], list) for body in server.bodies].count(True) == 1
    assert len(given) == 60
    assert model.usage.requests == 60
    assert model.usage.calls == 60


class FirstOnly(CompletionsServer):
    """Reads the first text of a list, and says it of all."""

    def respond(self, number, path, body):
        prompts = body["prompt"]
        same = [prompts[0]] * len(prompts) if isinstance(prompts, list) else prompts
        return super().respond(number, path, {**body, "prompt": same})


def test_a_server_that_confuses_the_texts_of_a_list_is_sent_none():
    with FirstOnly() as server:
        given, _ = answers(server, MANY)
        with CompletionsServer() as sound:
            assert given == answers(sound, MANY)[0]


def test_a_text_too_long_among_others_is_the_only_one_refused():
    with CompletionsServer(most=20) as server:
        given, _ = answers(server, [*MANY, Continuation("word " * 30, "end")])
    assert ["maximum context" in answer.why for answer in given if isinstance(answer, Refusal)] == [True]


@pytest.mark.parametrize("failing", [Response(pause=9.0), complains(500, "out of memory")])
def test_a_list_that_fails_is_sent_again_one_by_one_and_others_are_shorter(failing, simulated):
    class Small(CompletionsServer):
        def respond(self, number, path, body):
            sound = super().respond(number, path, body)
            return failing if isinstance(body["prompt"], list) and len(body["prompt"]) > 4 else sound

    server = simulated(Small())
    given, _ = answers(server, MANY, "?concurrency=4&timeout=0.3&delay=9")
    assert 1 <= sum(isinstance(body["prompt"], list) and len(body["prompt"]) > 4 for body in server.bodies) <= 4
    assert not any(isinstance(answer, Refusal) for answer in given)


def test_a_limit_of_requests_counts_texts_whatever_they_are_sent_in(tmp_path):
    with CompletionsServer() as server:
        spec = f"completions:m@{server.url}?concurrency=2"
        with pytest.raises(BadInput, match="stopped at --set max_requests=21: 21 of"):
            winokit.score("open", spec, limit=40, cache=tmp_path / "c", max_requests=21)
        texts = [body["prompt"] for body in server.bodies[2:]]
    assert sum(len(text) if isinstance(text, list) else 1 for text in texts) == 21


class Odd(CompletionsServer):
    """A sound server whose answers after the probe are spoilt."""

    def __init__(self, spoil):
        super().__init__()
        self.spoil = spoil

    def respond(self, number, path, body):
        response = super().respond(number, path, body)
        if number:
            self.spoil(response.payload)
        return response


def spoil_text(payload):
    payload["choices"][0]["logprobs"]["tokens"][2] = " otter"


def spoil_number(payload):
    payload["choices"][0]["logprobs"]["token_logprobs"][3] = math.nan


def spoil_sign(payload):
    payload["choices"][0]["logprobs"]["token_logprobs"][3] = 0.7


def spoil_first(payload):
    payload["choices"][0]["logprobs"]["token_logprobs"][0] = 0.7


def spoil_hole(payload):
    payload["choices"][0]["logprobs"]["token_logprobs"][3] = None


def spoil_model(payload):
    payload["model"] = "another"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoil_text, "log-probabilities of another text"),
        (spoil_number, "nan is not a log-probability"),
        (spoil_sign, "0.7 is not a log-probability"),
        (spoil_first, "0.7 is not a log-probability"),
        (spoil_hole, "None is not a log-probability"),
        (spoil_model, "changed its model during the run"),
    ],
)
def test_numbers_that_cannot_be_trusted_end_the_run_with_a_line(spoil, said):
    with Odd(spoil) as server, pytest.raises(BadInput, match=said):
        answers(server, [CUP])


@pytest.mark.parametrize(("batch", "sound_calls", "kept"), [(1, 22, 20), (4, 8, 15)])
@pytest.mark.parametrize("trouble", ["html", "half", "null", "500", "hangs up"])
def test_a_server_gone_wrong_is_one_line_and_what_was_scored_stays(
    simulated, trouble, batch, sound_calls, kept, tmp_path
):
    class Failing(CompletionsServer):
        def respond(self, number, path, body):
            sound = super().respond(number, path, body)
            return flaky.respond(number, path, body) if number >= sound_calls else sound

    flaky = FlakyServer(CompletionsServer(), 1.0, [trouble])
    cache = tmp_path / "cache"
    out = tmp_path / "p.jsonl"
    spec = f"completions:m@{simulated(Failing()).url}{QUICK}&concurrency=1&batch={batch}"
    result = CliRunner().invoke(
        app, ["score", "open", "--model", spec, "--limit", "40", "--set", f"cache={cache}", "--out", str(out)]
    )
    assert isinstance(result.exception, BadInput)
    assert "given up after" in str(result.exception)
    plan = winokit.score("open", spec, limit=40, cache=cache, dry_run=True).plan
    assert plan["cached"] == kept  # with lists: 1 + 2 + 4 + 4 + 4, after two probes and the list of models


def test_a_flaky_server_gives_the_same_answers_in_the_end(simulated):
    requests = [Continuation(f"The cup number {n}", " broke.") for n in range(40)]
    expected, _ = answers(simulated(CompletionsServer()), requests)
    flaky = FlakyServer(CompletionsServer(), 0.5, ["429"])
    given, _ = answers(simulated(flaky), requests)
    assert flaky.failed > 10
    assert given == expected


def test_a_server_that_is_down_is_one_line():
    with pytest.raises(BadInput, match="given up after 2 tries"):
        list(load_model("completions:m@http://127.0.0.1:9/v1?retries=1&delay=0.01").answer([CUP]))


def test_it_can_do_what_causal_models_can_and_no_more():
    with CompletionsServer() as server:
        model = load_model(f"completions:m@{server.url}")
        with pytest.raises(BadInput, match="cannot answer Embed"):
            list(model.answer([Embed("x")]))


@pytest.mark.parametrize("scoring", ["partial", "full", "special-word", "pronoun", "ask"])
def test_every_scoring_of_a_causal_model_works(scoring, tmp_path):
    with CompletionsServer() as server:
        scored = winokit.score("open", f"completions:m@{server.url}", limit=20, scoring=scoring, cache=tmp_path / "c")
    assert sum(row.prediction is not None for row in scored) >= 10


def test_shots_and_naturalness_come_along(tmp_path):
    with CompletionsServer() as server:
        spec = f"completions:m@{server.url}"
        run = winokit.audit("open", spec, limit=30, shots=2, cache=tmp_path / "c", protocol=["accuracy", "naturalness"])
    assert run.find("naturalness", "all", "surprisal_per_word") is not None
    assert run.predictions[0].scoring == "partial?shots=2"


# Exactly what transformers says


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=32,
        n_layer=2,
        n_head=2,
        n_positions=512,
        vocab_size=320,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=1,
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def read_by_transformers(folder, *, decoded=False):
    """What a server with this model would say of a text: each token as it is spelt, and its log-probability."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def read(text):
        ids = tokenizer(text)["input_ids"]
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0].double()
        numbers = torch.log_softmax(logits, -1)[range(len(ids) - 1), ids[1:]].tolist()
        spelt = [tokenizer.decode([token]) for token in ids] if decoded else tokenizer.convert_ids_to_tokens(ids)
        return list(zip(spelt, [None, *numbers], strict=True))

    return read


@pytest.mark.parametrize("speaks", ["echo", "prompt_logprobs", "generate"])
def test_a_server_of_transformers_numbers_scores_as_hf_does(tiny, speaks, tmp_path):
    with CompletionsServer(speaks, read_by_transformers(tiny)) as server:
        for scoring in ("partial", "full", "special-word", "pronoun") if speaks == "echo" else ("partial",):
            served = winokit.score("open", f"completions:m@{server.url}", limit=20, scoring=scoring, cache="off")
            local = winokit.score("open", f"hf:{tiny}?dtype=float32", limit=20, scoring=scoring, cache="off")
            for ours, theirs in zip(served, local, strict=True):
                assert (ours.id, ours.prediction, ours.why is None) == (
                    theirs.id,
                    theirs.prediction,
                    theirs.why is None,
                )
                if ours.scores is not None:
                    np.testing.assert_allclose(ours.scores, theirs.scores, atol=2e-3)


@pytest.mark.parametrize("decoded", [False, True])
def test_texts_of_other_languages_are_divided_where_hf_divides_them(tiny, decoded):
    requests = [
        Continuation("Der Pokal passt nicht, weil der Pokal", " zu groß ist."),
        Continuation("Das Mädchen mo", "chte Äpfel"),
        Continuation("奖杯放不下，因为奖杯", "太大了。"),
        Continuation("Ann’s cup wasn't full because Ann", "’s jug was."),
        Continuation("I like 😀", "😀 too"),
        Continuation("cafe\u0301 is", " cafe\u0301"),
        Continuation("a  ", "  b\n\nc"),
        Continuation("The cup is", " full \n"),
    ]
    expected = dict(load_model(f"hf:{tiny}?dtype=float32").answer(requests))
    with CompletionsServer(tokens=read_by_transformers(tiny, decoded=decoded)) as server:
        given, _ = answers(server, requests)
    for index, pieces in enumerate(given):
        served, local = ([piece.logprob for piece in some] for some in (pieces, expected[index]))
        np.testing.assert_allclose(served, local, atol=2e-3)


def test_texts_of_the_tiny_tokenizer_are_aligned(tiny):
    assert TWINS
    read = read_by_transformers(tiny)
    with CompletionsServer(tokens=read) as server:
        ((pieces,), _) = answers(server, [Continuation("A “cup” of", " café")])
    assert pieces[-1].end == len(" café")


def test_a_boundary_among_tokens_that_are_lost_is_an_abstention_and_no_guess():
    def lost(text):
        return [("\ufffd", -1.0 - place / 10) for place in range(6)] if "大" in text else words_at_random(text)

    with CompletionsServer(tokens=lost) as server:
        ((unknown, whole), _) = answers(server, [Continuation("奖", "杯大"), Continuation("", "奖杯大")])
    assert "it is unknown which tokens to score" in unknown.why
    assert len(whole) == 6


class Html(FakeServer):
    """Somebody's sign-in page."""

    def respond(self, number, path, body):
        return Response(payload=b"<html>Sign in</html>")


def test_a_web_page_is_no_server():
    with Html() as server, pytest.raises(BadInput, match="not a valid answer: <html>"):
        answers(server, [CUP])


class Shifted(CompletionsServer):
    """A server that takes the numbers behind a token for its own, as llama-cpp-python does without BOS."""

    def respond(self, number, path, body):
        response = super().respond(number, path, body)
        logprobs = response.payload["choices"][0]["logprobs"]
        begins = body["prompt"].startswith("<s>")
        tokens = logprobs["tokens"]
        logprobs["top_logprobs"] = [{token: -0.1} for token in (tokens if begins else [*tokens[1:], "."])]
        return response


def test_numbers_of_the_wrong_place_are_found_out_and_bos_puts_them_right():
    with Shifted(tokens=lambda text: words_at_random(text.removeprefix("<s>"))) as server:
        with pytest.raises(BadInput, match=r"shifted by one token.*\?bos=<s>"):
            answers(server, [CUP])
        ((pieces,), _) = answers(server, [CUP], f"{QUICK}&bos=<s>")
        assert server.bodies[-1]["prompt"].startswith("<s>The jug")
    assert len(pieces) == 2


def test_a_line_break_is_a_text_and_nothing_is_none():
    def tokens(text):
        return [
            (part, None if not place else -float(place)) for place, part in enumerate(re.findall(r"\s?\S+|\s", text))
        ]

    with CompletionsServer(tokens=tokens) as server:
        ((pieces, nothing), _) = answers(server, [Continuation("A cup", "\n"), Continuation("A cup", "")])
    assert [piece.logprob for piece in pieces] == [-2.0]
    assert isinstance(nothing, Refusal)
