"""A tiny random T5 and BART, against a loop that runs one prompt with one option at a time."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from support.tiny_seq2seq import LONG, SENTENCES, tiny

from winokit.errors import BadInput, UnknownName
from winokit.models import hf_seq2seq
from winokit.models.base import Ask, Continuation, Embed, Fill, Model, Refusal, Reply
from winokit.models.registry import load_model


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Models this small lose more to a second thread than they gain."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {family: tiny(family, tmp_path_factory.mktemp(family)) for family in ("t5", "bart")}


@pytest.fixture(params=["t5", "bart"])
def model(request, folders):
    return load_model(f"hf:{folders[request.param]}?device=cpu")


@pytest.fixture
def t5(folders):
    return load_model(f"hf:{folders['t5']}?device=cpu")


@pytest.fixture
def bart(folders):
    return load_model(f"hf:{folders['bart']}?device=cpu")


def answers(model, *requests):
    found = dict(model.answer(requests))
    return [found[index] for index in range(len(requests))]


def slow(model, prompt, text):
    """Log-probabilities of the tokens of `text` but for <s> and </s>, through the model's own shift of labels."""
    special = {"<s>", "</s>"}
    labels = model.tokenizer(text_target=text, return_tensors="pt").input_ids
    with torch.no_grad():
        logits = model.model(**model.tokenizer(prompt, return_tensors="pt"), labels=labels).logits[0].log_softmax(-1)
    tokens = model.tokenizer.convert_ids_to_tokens(labels[0])
    return [logits[at, labels[0, at]].item() for at, token in enumerate(tokens) if token not in special]


def numbers(answer):
    match answer:
        case np.ndarray():
            return answer
        case Reply():
            return np.array(answer.logprobs)
    return np.array([piece.logprob for piece in answer])


ASKS = (
    Ask("Who had been helped? Nora thanked Ines.", ("Nora", "Ines")),
    Ask(f"{LONG} What is too large?", ("the trophy", "the brown suitcase", "it")),
    Ask("Who?", ("A", "B")),
)
MIXED = (
    *ASKS,
    Continuation("I poured water from", " the jug into the cup."),
    Continuation(LONG, " The cup was full."),
    Embed(SENTENCES[1]),
    Embed(LONG, "span", 4, 10),
)


def test_t5_and_bart_are_seq2seq_models(model):
    assert isinstance(model, Model)
    assert model.kind == "seq2seq"
    assert model.can == {Ask, Continuation, Embed}
    assert model.fingerprint.startswith("hf seq2seq ")


def test_an_option_gets_the_sum_over_its_tokens_without_the_end(model):
    for request, reply in zip(ASKS, answers(model, *ASKS), strict=True):
        expected = [sum(slow(model, request.prompt, option)) for option in request.options]
        assert reply.logprobs == pytest.approx(expected, abs=1e-4)
        assert reply.choice is None
        assert reply.text == ""


def test_a_continuation_gets_its_pieces(model):
    context = "I poured water from"
    text = " the jug into the cup."
    (pieces,) = answers(model, Continuation(context, text))
    assert numbers(pieces) == pytest.approx(slow(model, context, text), abs=1e-4)
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text.replace(" ", "")


def test_spaces_at_the_end_of_the_context_move_to_the_text(model):
    moved, plain = answers(model, Continuation("I poured ", "water"), Continuation("I poured", " water"))
    assert numbers(moved) == pytest.approx(numbers(plain), abs=1e-5)
    assert moved[0].start == 0
    assert moved[-1].end == 5
    assert plain[0].start == 1
    assert plain[-1].end == 6


def test_a_vector_pools_what_the_encoder_says(model):
    text = SENTENCES[1]
    mean, first, part = answers(model, Embed(text), Embed(text, "first"), Embed(text, "span", 0, 4))
    encoded = model.tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    with torch.no_grad():
        hidden = model.model.get_encoder()(encoded.input_ids).last_hidden_state[0].numpy()
    inside = [at for at, (start, end) in enumerate(encoded.offset_mapping[0].tolist()) if start < 4 and end > start]
    assert mean.dtype == np.float32
    assert mean == pytest.approx(hidden.mean(0), abs=1e-4)
    assert first == pytest.approx(hidden[0], abs=1e-4)
    assert part == pytest.approx(hidden[inside].mean(0), abs=1e-4)


def test_batch_mates_change_nothing(model):
    for request, together in zip(MIXED, answers(model, *MIXED), strict=True):
        assert numbers(answers(model, request)[0]) == pytest.approx(numbers(together), abs=1e-4)


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_a_small_budget_and_small_windows_change_nothing(folders, family, monkeypatch):
    usual = answers(load_model(f"hf:{folders[family]}?device=cpu"), *MIXED)
    monkeypatch.setattr(hf_seq2seq, "WINDOW", 2)
    for one, other in zip(
        answers(load_model(f"hf:{folders[family]}?device=cpu&budget=40"), *MIXED), usual, strict=True
    ):
        assert numbers(one) == pytest.approx(numbers(other), abs=1e-4)


def test_the_encoder_reads_a_prompt_once(model):
    read = []
    model.model.get_encoder().register_forward_pre_hook(
        lambda module, arguments, named: read.extend(named["input_ids"].tolist()), with_kwargs=True
    )
    prompt = ASKS[0].prompt
    answers(
        model, Ask(prompt, ("Nora", "Ines")), Ask(prompt, ("A", "B", "C")), Continuation(prompt, "A"), Embed(prompt)
    )
    assert len(read) == 1


def test_out_of_memory_halves_the_batch_and_goes_on(model):
    usual = answers(model, *MIXED)
    sizes = []

    def small(module, arguments, named):
        sizes.append(named["attention_mask"].numel())
        if sizes[-1] > sizes[0] // 2:
            raise torch.OutOfMemoryError("out of memory")

    for side in (model.model.get_encoder(), model.model.get_decoder()):
        side.register_forward_pre_hook(small, with_kwargs=True)
    for one, other in zip(answers(model, *MIXED), usual, strict=True):
        assert numbers(one) == pytest.approx(numbers(other), abs=1e-4)
    assert sizes[0] == max(sizes)
    assert len(model.notes) == 1


def test_half_precision_is_close_and_has_its_own_fingerprint(tmp_path):
    # Smaller weights than in the other tests, where every rounding grows.
    folder = tiny("t5", tmp_path, initializer_factor=0.5)
    whole, half = (load_model(f"hf:{folder}?device=cpu&dtype={dtype}") for dtype in ("float32", "bfloat16"))
    assert half.model.dtype == torch.bfloat16
    assert half.fingerprint != whole.fingerprint
    for one, other in zip(answers(half, *MIXED[:5]), answers(whole, *MIXED[:5]), strict=True):
        assert numbers(one) == pytest.approx(numbers(other), rel=0.05)
    (pieces,) = answers(half, MIXED[3])
    logprobs = torch.tensor(numbers(pieces))
    assert (logprobs.bfloat16() != logprobs).any(), "the log-softmax, at least, is in float32"


def test_bart_reads_as_many_tokens_as_it_has_positions_and_t5_any_number(tmp_path, t5):
    bart = load_model(f"hf:{tiny('bart', tmp_path, max_position_embeddings=24)}?device=cpu")
    answers(bart, Ask("." * 22, ("." * 22,)))
    for request in (Ask("." * 23, ("A",)), Ask("A", ("." * 23,)), Embed("." * 23)):
        assert answers(bart, request, Embed("A"))[0] == Refusal("25 tokens; the model reads at most 24")
    assert len(answers(t5, Continuation("A", "." * 1000))[0]) > 900


@pytest.mark.parametrize("request_", [Ask("Who?", ("Nora", "")), Continuation("Nora", ""), Embed("Nora", "span")])
def test_what_has_no_token_has_no_probability(model, request_, monkeypatch):
    monkeypatch.setattr(hf_seq2seq, "WINDOW", 1)
    reply, refused = answers(model, ASKS[0], request_)
    assert reply.logprobs
    assert "makes no token of ''" in refused.why


def test_other_requests_and_poolings_are_refused(t5):
    with pytest.raises(BadInput, match="cannot answer Fill requests, only Ask, Continuation, Embed"):
        answers(t5, Fill("a", "b", "c"))
    with pytest.raises(BadInput, match=r"no options to choose from: 'Who\?'"):
        answers(t5, Ask("Who?", ()))
    with pytest.raises(UnknownName, match="No pooling named 'last'"):
        answers(t5, Embed("cup", "last"))


def test_a_decoder_that_does_not_know_how_to_begin_is_refused(tmp_path):
    folder = tiny("t5", tmp_path, decoder_start_token_id=None)
    with pytest.raises(BadInput, match="its configuration has no decoder_start_token_id"):
        load_model(f"hf:{folder}?device=cpu")


def test_nothing_asked_nothing_answered(t5):
    assert answers(t5) == []
