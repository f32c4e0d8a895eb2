"""A tiny random T5 and BART answer like a loop that runs one prompt with one option at a time."""

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
    """Run on one thread: models this small lose more to a second thread than they gain."""
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
    """Answers of a model in the order of the requests."""
    answer_by_index = dict(model.answer(requests))
    return [answer_by_index[index] for index in range(len(requests))]


def answer_one(model, request):
    """Answer of a model to a single request."""
    (answer,) = answers(model, request)
    return answer


def slow(model, prompt, text):
    """Log-probabilities of the tokens of `text` but for <s> and </s>, through the model's own shift of labels."""
    encoded = model.tokenizer(prompt, return_tensors="pt")
    labels = model.tokenizer(text_target=text, return_tensors="pt").input_ids
    with torch.no_grad():
        logits = model.model(**encoded, labels=labels).logits[0]
    logprobs = logits.log_softmax(-1)
    tokens = model.tokenizer.convert_ids_to_tokens(labels[0])
    logprobs_of_tokens = []
    for index, token in enumerate(tokens):
        if token not in ("<s>", "</s>"):
            logprob = logprobs[index, labels[0, index]]
            logprobs_of_tokens.append(logprob.item())
    return logprobs_of_tokens


def numbers(answer):
    """Numbers of an answer: an array itself, the options' log-probabilities, or those of the pieces."""
    match answer:
        case np.ndarray():
            return answer
        case Reply():
            return np.array(answer.logprobs)
    return np.array([piece.logprob for piece in answer])


def assert_same_numbers(answers_in_order, expected_answers, **tolerance):
    for answer, expected in zip(answers_in_order, expected_answers, strict=True):
        assert numbers(answer) == pytest.approx(numbers(expected), **tolerance)


ASKS = (
    Ask("Who had been helped? Nora thanked Ines.", ("Nora", "Ines")),
    Ask(f"{LONG} What is too large?", ("the trophy", "the brown suitcase", "it")),
    Ask("Who?", ("A", "B")),
)
CONTINUATIONS = (
    Continuation("I poured water from", " the jug into the cup."),
    Continuation(LONG, " The cup was full."),
)
MIXED = (*ASKS, *CONTINUATIONS, Embed(SENTENCES[1]), Embed(LONG, "span", 4, 10))


def test_t5_and_bart_are_seq2seq_models(model):
    assert isinstance(model, Model)
    assert model.kind == "seq2seq"
    assert model.can == {Ask, Continuation, Embed}
    assert model.fingerprint.startswith("hf seq2seq ")


def test_an_option_gets_the_sum_over_its_tokens_without_the_end(model):
    replies = answers(model, *ASKS)
    for request, reply in zip(ASKS, replies, strict=True):
        expected = [sum(slow(model, request.prompt, option)) for option in request.options]
        assert reply.logprobs == pytest.approx(expected, abs=1e-4)
        assert reply.choice is None
        assert reply.text == ""


def test_a_continuation_gets_its_pieces(model):
    context = "I poured water from"
    text = " the jug into the cup."
    pieces = answer_one(model, Continuation(context, text))
    expected = slow(model, context, text)
    parts = [text[piece.start : piece.end] for piece in pieces]
    assert numbers(pieces) == pytest.approx(expected, abs=1e-4)
    assert "".join(parts) == "thejugintothecup."


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
    encoder = model.model.get_encoder()
    with torch.no_grad():
        hidden = encoder(encoded.input_ids).last_hidden_state[0].numpy()
    offsets = encoded.offset_mapping[0].tolist()
    inside = [index for index, (start, end) in enumerate(offsets) if start < 4 and end > start]
    assert mean.dtype == np.float32
    assert mean == pytest.approx(hidden.mean(0), abs=1e-4)
    assert first == pytest.approx(hidden[0], abs=1e-4)
    expected = hidden[inside].mean(0)
    assert part == pytest.approx(expected, abs=1e-4)


def test_batch_mates_change_nothing(model):
    alone = [answer_one(model, request) for request in MIXED]
    together = answers(model, *MIXED)
    assert_same_numbers(alone, together, abs=1e-4)


@pytest.mark.parametrize("family", ["t5", "bart"])
def test_a_small_budget_and_small_windows_change_nothing(folders, family, monkeypatch):
    usual = answers(load_model(f"hf:{folders[family]}?device=cpu"), *MIXED)
    monkeypatch.setattr(hf_seq2seq, "WINDOW", 2)
    small = load_model(f"hf:{folders[family]}?device=cpu&budget=40")
    assert_same_numbers(answers(small, *MIXED), usual, abs=1e-4)


def test_the_encoder_reads_a_prompt_once(model):
    prompts_read = []

    def note_prompts(_module, _arguments, options):
        prompts_read.extend(options["input_ids"].tolist())

    model.model.get_encoder().register_forward_pre_hook(note_prompts, with_kwargs=True)
    prompt = ASKS[0].prompt
    two_options = Ask(prompt, ("Nora", "Ines"))
    three_options = Ask(prompt, ("A", "B", "C"))
    answers(model, two_options, three_options, Continuation(prompt, "A"), Embed(prompt))
    assert len(prompts_read) == 1


def test_out_of_memory_halves_the_batch_and_goes_on(model):
    usual = answers(model, *MIXED)
    sizes = []

    def small(module, arguments, named):
        sizes.append(named["attention_mask"].numel())
        if sizes[-1] > sizes[0] // 2:
            raise torch.OutOfMemoryError("out of memory")

    for side in (model.model.get_encoder(), model.model.get_decoder()):
        side.register_forward_pre_hook(small, with_kwargs=True)
    assert_same_numbers(answers(model, *MIXED), usual, abs=1e-4)
    assert sizes[0] == max(sizes)
    assert len(model.notes) == 1


def test_half_precision_is_close_and_has_its_own_fingerprint(tmp_path):
    # Smaller weights than in the other tests, where every rounding grows.
    folder = tiny("t5", tmp_path, initializer_factor=0.5)
    whole = load_model(f"hf:{folder}?device=cpu&dtype=float32")
    half = load_model(f"hf:{folder}?device=cpu&dtype=bfloat16")
    assert half.model.dtype == torch.bfloat16
    assert half.fingerprint != whole.fingerprint
    requests = MIXED[:5]
    half_answers = answers(half, *requests)
    assert_same_numbers(half_answers, answers(whole, *requests), rel=0.05)
    logprobs = torch.tensor(numbers(half_answers[3]))
    is_finer = logprobs.bfloat16() != logprobs
    assert is_finer.any(), "the log-softmax, at least, is in float32"


def test_bart_reads_as_many_tokens_as_it_has_positions(tmp_path):
    folder = tiny("bart", tmp_path, max_position_embeddings=24)
    bart = load_model(f"hf:{folder}?device=cpu")
    fits = "." * 22
    too_long = "." * 23
    answers(bart, Ask(fits, (fits,)))
    for request in (Ask(too_long, ("A",)), Ask("A", (too_long,)), Embed(too_long)):
        refusal, _ = answers(bart, request, Embed("A"))
        assert refusal == Refusal("25 tokens; the model reads at most 24")


def test_t5_reads_any_number_of_tokens(t5):
    pieces = answer_one(t5, Continuation("A", "." * 1000))
    assert len(pieces) > 900


@pytest.mark.parametrize("request_", [Ask("Who?", ("Nora", "")), Continuation("Nora", ""), Embed("Nora", "span")])
def test_what_has_no_token_has_no_probability(model, request_, monkeypatch):
    monkeypatch.setattr(hf_seq2seq, "WINDOW", 1)
    reply, refusal = answers(model, ASKS[0], request_)
    assert reply.logprobs
    assert "makes no token of ''" in refusal.why


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Fill("a", "b", "c"), "cannot answer Fill requests, only Ask, Continuation, Embed"),
        (Ask("Who?", ()), r"no options to choose from: 'Who\?'"),
    ],
)
def test_other_requests_are_refused(t5, request_, message):
    with pytest.raises(BadInput, match=message):
        answers(t5, request_)


def test_an_unknown_pooling_is_refused(t5):
    with pytest.raises(UnknownName, match="No pooling named 'last'"):
        answers(t5, Embed("cup", "last"))


def test_a_decoder_that_does_not_know_how_to_begin_is_refused(tmp_path):
    folder = tiny("t5", tmp_path, decoder_start_token_id=None)
    with pytest.raises(BadInput, match="its configuration has no decoder_start_token_id"):
        load_model(f"hf:{folder}?device=cpu")


def test_nothing_asked_nothing_answered(t5):
    assert answers(t5) == []
