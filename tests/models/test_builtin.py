import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from winokit.errors import BadInput, MissingExtra, UnknownName
from winokit.models import builtin, builtin_torch
from winokit.models.base import Continuation, Embed, Fill, Model, Piece, PseudoLikelihood, Refusal
from winokit.models.builtin import FOLDER
from winokit.models.registry import load_model

SENTENCES = [
    "The trophy does not fit into the suitcase because it is too big.",
    "She drank a cup of tea.",
    "Nora thanked Ines, for she had been helpful.",
    "Zoë's fiancé photographed the unbelievably tall lighthouse.",
    "No.",
    "The councilmen refused the demonstrators a permit: they feared violence!",
    "I poured water from the jug into the cup until it was full.",
    "Antidisestablishmentarianism is a word, they say, and nothing more.",
    '"Where," asked the plumber, "did you put the wrench?"',
    "The rope held the crate although it was thin.",
    "Paul tried to call George on the phone, but he wasn't successful.",
    "The delivery truck zoomed by the school bus because it was going so fast.",
    "Frank felt vindicated when his longtime rival Bill revealed that he was the winner.",
    "The sculpture rolled off the shelf; it wasn't anchored.",
    "Sam's drawing was hung just above Tina's, and it did look much better.",
    "Tom threw his schoolbag down to Ray after he reached the top of the stairs.",
    "My meeting started at 4:00 and I needed to catch the train at 4:30.",
    "There is a pillar between me and the stage, and I can't see around it.",
    "Emma did not pass the ball to Janie although she saw that she was open.",
    "The oven-baked flapjacks outlasted the snickerdoodles.",
]


@pytest.fixture(scope="module")
def model():
    return load_model("builtin")


@pytest.fixture(scope="module")
def session():
    graph = (FOLDER / "model_int8.onnx").read_bytes()
    return onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.from_str((FOLDER / "tokenizer.json").read_text("utf-8"))


def answers(model, *requests):
    """Answers of a model in the order of the requests."""
    answer_by_index = dict(model.answer(requests))
    assert sorted(answer_by_index) == list(range(len(requests)))
    return [answer_by_index[index] for index in range(len(requests))]


def run_one_text(session, ids, output, columns):
    """Run the graph on one text, without batch and padding, for the logits of the columns or the hidden states."""
    texts = whole_text(ids)
    positions = [(0, column) for column in columns]
    texts["positions"] = np.array(positions, np.int64).reshape(-1, 2)
    (array,) = session.run([output], texts)
    return array


def whole_text(ids):
    """Inputs of the graph for one text."""
    attention_mask = np.ones((1, len(ids)), np.int64)
    return {"input_ids": np.array([ids]), "attention_mask": attention_mask}


def run_logits(session, ids, columns=None):
    """Logits of the columns of one text, or of all its columns if None."""
    if columns is None:
        columns = range(len(ids))
    return run_one_text(session, ids, "logits", columns)


def run_hidden_states(session, ids):
    """Hidden states of one text, which the graph writes where no position is asked for."""
    return run_one_text(session, ids, "last_hidden_state", ())


def log_softmax(logits):
    logits = logits.astype(np.float64)
    highest = logits.max()
    total = np.exp(logits - highest).sum()
    return logits - np.log(total) - highest


def logprobs_of(pieces):
    return [piece.logprob for piece in pieces]


def one_at_a_time(session, tokenizer, text, *, within_word):
    """Log-probability of each token, masked by itself or, if `within_word`, with the rest of its word."""
    encoding = tokenizer.encode(text)
    tokens = encoding.tokens
    ids = encoding.ids
    mask = tokenizer.token_to_id("[MASK]")
    logprobs = []
    for column in range(1, len(ids) - 1):
        masked = list(ids)
        masked[column] = mask
        later = column + 1
        while within_word and tokens[later].startswith("##"):
            masked[later] = mask
            later += 1
        (logits,) = run_logits(session, masked, [column])
        logprobs.append(log_softmax(logits)[ids[column]])
    return logprobs


@pytest.mark.parametrize("within_word", [False, True])
def test_pseudo_likelihood_agrees_with_masking_in_a_loop(model, session, tokenizer, within_word):
    requests = [PseudoLikelihood(text, 0, len(text), within_word) for text in SENTENCES]
    answers_in_order = answers(model, *requests)
    for text, pieces in zip(SENTENCES, answers_in_order, strict=True):
        slow = one_at_a_time(session, tokenizer, text, within_word=within_word)
        np.testing.assert_allclose(logprobs_of(pieces), slow, atol=1e-5)


def test_the_two_forms_differ_only_in_words_of_several_pieces(model, tokenizer):
    text = "The flapjacks were good."
    plain_request = PseudoLikelihood(text, 0, len(text))
    within_request = PseudoLikelihood(text, 0, len(text), within_word=True)
    plain, within = answers(model, plain_request, within_request)
    tokens = tokenizer.encode(text, add_special_tokens=False).tokens
    is_continued = [after.startswith("##") for _, after in pairwise([*tokens, ""])]
    assert any(is_continued)
    differences = np.subtract(logprobs_of(plain), logprobs_of(within))
    is_different = np.abs(differences) > 1e-3
    assert is_different.tolist() == is_continued


def test_pseudo_likelihood_of_a_span_is_that_part_of_the_whole(model):
    text = SENTENCES[0]
    start = text.index("fit")
    end = start + len("fit into")
    whole, part = answers(model, PseudoLikelihood(text, 0, len(text)), PseudoLikelihood(text, start, end))
    words = [text[piece.start : piece.end] for piece in part]
    part_of_whole = tuple(piece for piece in whole if start <= piece.start < end)
    assert words == ["fit", "into"]
    assert part == part_of_whole


@pytest.mark.parametrize("text", ["tea", "snickerdoodle", "the Zoë's fiancé"])
def test_fill_masks_every_piece_at_once(model, session, tokenizer, text):
    before = "She drank a cup of "
    after = " with him."
    (pieces,) = answers(model, Fill(before, text, after))
    left = tokenizer.encode(before, add_special_tokens=False).ids
    middle = tokenizer.encode(text, add_special_tokens=False).ids
    right = tokenizer.encode(after, add_special_tokens=False).ids
    masks = [tokenizer.token_to_id("[MASK]")] * len(middle)
    logits = run_logits(session, [101, *left, *masks, *right, 102])
    first_column = 1 + len(left)
    slow = []
    for column, token in enumerate(middle, start=first_column):
        slow.append(log_softmax(logits[column])[token])
    np.testing.assert_allclose(logprobs_of(pieces), slow, atol=1e-5)


def test_pieces_say_where_they_stand_in_the_text(model):
    text = "Zoë’s snickerdoodle"
    (pieces,) = answers(model, Fill("They met ", text, "."))
    parts = [text[piece.start : piece.end] for piece in pieces]
    assert parts[:3] == ["Zoë", "’", "s"]
    assert len(parts) > 4
    assert "".join(parts[3:]) == "snickerdoodle"


def test_a_fill_glued_to_letters_takes_the_whole_token(model):
    end_of_word = Fill("He was un", "happy", ".")
    whole_word = Fill("He was ", "unhappy", ".")
    glued, whole = answers(model, end_of_word, whole_word)
    assert glued == (Piece(0, 5, whole[0].logprob),)


def test_a_likely_word_is_likelier_than_an_unlikely_one(model):
    before = "She drank a cup of "
    tea, stone = answers(model, Fill(before, "tea", "."), Fill(before, "stone", "."))
    assert tea[0].logprob > stone[0].logprob + 3


def test_requests_that_leave_the_same_masked_text_share_a_run(model, monkeypatch):
    texts_run = []
    run_graph = model._run_graph

    def note_texts(texts, *rest):
        texts_run.extend(texts)
        return run_graph(texts, *rest)

    monkeypatch.setattr(model, "_run_graph", note_texts)
    requests = [Fill("She drank a cup of ", word, ".") for word in ("tea", "coffee", "stone")]
    answers(model, *requests)
    assert len(texts_run) == 1


def test_embeddings_are_means_of_hidden_states(model, session, tokenizer):
    text = SENTENCES[0]
    start = text.index("suitcase")
    end = start + len("suitcase because")
    encoding = tokenizer.encode(text)
    (hidden,) = run_hidden_states(session, encoding.ids)
    columns = [encoding.tokens.index(word) for word in ("suitcase", "because")]
    expected_vectors = [hidden.mean(axis=0), hidden[0], hidden[columns].mean(axis=0)]
    vectors = answers(model, Embed(text), Embed(text, "first"), Embed(text, "span", start, end))
    for vector, expected in zip(vectors, expected_vectors, strict=True):
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_answers_do_not_depend_on_the_rest_of_the_batch(model):
    short = SENTENCES[4]
    requests = [PseudoLikelihood(short, 0, len(short)), Fill("She drank ", "tea", "."), Embed(short)]
    others = []
    # Lengths around those of the requests, so that some are padded to the long ones within one batch.
    for times in range(1, 12):
        text = " ".join([short] * times)
        others += [PseudoLikelihood(text, 0, 3), Fill(f"{text} ", "Yes", "."), Embed(text)]
    pieces_alone, fill_alone, vector_alone = (answers(model, request)[0] for request in requests)
    pieces, fill, vector, *_ = answers(model, *requests, *others)
    assert logprobs_of(pieces) == pytest.approx(logprobs_of(pieces_alone), abs=1e-5)
    assert logprobs_of(fill) == pytest.approx(logprobs_of(fill_alone), abs=1e-5)
    np.testing.assert_allclose(vector, vector_alone, atol=1e-5)


def test_many_windows_of_requests_are_all_answered(model, monkeypatch):
    names = ("him", "her", "the dog", "us", "a cat")
    requests = [Fill("She saw ", name, " there.") for name in names]
    together = answers(model, *requests)
    monkeypatch.setattr(builtin, "WINDOW", 2)
    in_windows = answers(model, *requests)
    for pieces, expected in zip(in_windows, together, strict=True):
        assert logprobs_of(pieces) == pytest.approx(logprobs_of(expected), abs=1e-5)


def test_the_longest_text_has_512_tokens(model):
    longest = " ".join(["word"] * 510)
    vector, refusal = answers(model, Embed(longest), Embed(f"{longest} word"))
    assert isinstance(vector, np.ndarray)
    assert refusal == Refusal("513 tokens; the model reads at most 512")


@pytest.mark.parametrize(
    "request_", [Fill("He ", " ", "ran"), Fill("He", "", " ran"), PseudoLikelihood("He ran", 2, 3), Embed("a", "span")]
)
def test_a_span_without_a_token_has_nothing_to_score(model, request_):
    vector, refusal = answers(model, Embed("fine"), request_)
    assert vector.shape == (384,)
    assert "makes no token of" in refusal.why


def test_a_request_it_cannot_answer_is_refused(model):
    with pytest.raises(BadInput, match="builtin: cannot answer Continuation requests, only Embed"):
        answers(model, Continuation("a", "b"))


def test_a_pooling_must_exist(model):
    with pytest.raises(UnknownName, match="Known: first, mean, span"):
        answers(model, Embed("a", "max"))


@pytest.mark.parametrize(
    "spec",
    ["builtin:large", "builtin?threads=0", "builtin?threads=99999999999", "builtin?threads=two", "builtin?dtype=half"],
)
def test_a_spec_that_means_nothing_is_refused(spec):
    with pytest.raises((BadInput, UnknownName), match="builtin"):
        load_model(spec)


def test_threads_come_from_the_option_or_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,1")
    assert builtin.usable_threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    assert builtin.usable_threads() >= 1
    model = load_model("builtin?threads=1")
    assert model.spec == "builtin?threads=1"
    assert model._session.get_session_options().intra_op_num_threads == 1


def test_it_is_a_model_with_a_lasting_fingerprint(model):
    assert isinstance(model, Model)
    assert model.kind == "masked"
    assert model.fingerprint == load_model("builtin?threads=1").fingerprint
    assert len(model.fingerprint) == len("builtin ") + 32


LOAD = """
import json, socket, sys
def refuse(*_): raise OSError("no network in this test")
socket.socket.connect = socket.getaddrinfo = refuse
from winokit.models.base import Fill
from winokit.models.registry import load_model
model = load_model("builtin")
((_, (piece,)),) = model.answer([Fill("She drank a cup of ", "tea", ".")])
print(json.dumps([piece.logprob, "torch" in sys.modules]))
"""


def test_a_fresh_process_loads_it_offline_and_without_torch(model):
    process = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    logprob, is_torch_loaded = json.loads(process.stdout)
    (pieces,) = answers(model, Fill("She drank a cup of ", "tea", "."))
    assert not is_torch_loaded
    assert logprob == pytest.approx(pieces[0].logprob, abs=1e-5)


def test_the_trimmed_graph_agrees_with_the_one_that_was_trained(session, tokenizer):
    shared_models = Path(__file__).parents[3] / "shared" / "models"
    folder = Path(os.environ.get("WINOKIT_MODELS") or shared_models)
    path = folder / "minilm-mlm" / "model_int8.onnx"
    if not path.exists():
        pytest.skip("needs the graph as trained: set WINOKIT_MODELS to a folder that has minilm-mlm/model_int8.onnx")
    full = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for text in SENTENCES:
        ids = tokenizer.encode(text).ids
        logits, hidden = full.run(["logits", "last_hidden_state"], whole_text(ids))
        logit_gaps = np.abs(logits[0] - run_logits(session, ids))
        hidden_gaps = np.abs(hidden - run_hidden_states(session, ids))
        assert logit_gaps.max() < 1e-5
        assert hidden_gaps.max() < 1e-5


def test_the_embedding_is_stored_once():
    arrays = builtin_torch.initializers((FOLDER / "model_int8.onnx").read_bytes())
    embedding_size = 30522 * 384
    embeddings = [name for name, array in arrays.items() if array.size == embedding_size]
    byte_count = sum(array.nbytes for array in arrays.values())
    assert embeddings == ["word_embeddings_u8"]
    assert byte_count < 23.4e6


@pytest.fixture(scope="module")
def torch_model():
    pytest.importorskip("transformers", reason="needs the hf extra")
    return builtin_torch.torch_model()


def test_the_torch_model_has_the_same_logits(torch_model, session):
    import torch

    tokenizer = builtin_torch.torch_tokenizer()
    texts = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.inference_mode():
        logits = torch_model(**texts).logits.numpy()
    ids_of_texts = texts["input_ids"].numpy()
    lengths = texts["attention_mask"].numpy().sum(axis=1)
    for row, ids, length in zip(logits, ids_of_texts, lengths, strict=True):
        gaps = np.abs(row[:length] - run_logits(session, ids[:length]))
        assert gaps.max() < 1e-4


def test_the_torch_tokenizer_makes_the_same_tokens(tokenizer):
    pytest.importorskip("transformers", reason="needs the hf extra")
    torch_tokenizer = builtin_torch.torch_tokenizer()
    expected_ids = [encoding.ids for encoding in tokenizer.encode_batch(SENTENCES)]
    assert torch_tokenizer(SENTENCES)["input_ids"] == expected_ids
    assert torch_tokenizer.mask_token_id == tokenizer.token_to_id("[MASK]")


def test_a_training_step_lowers_the_loss(torch_model):
    import torch

    torch_tokenizer = builtin_torch.torch_tokenizer()
    texts = torch_tokenizer(SENTENCES[:4], padding=True, return_tensors="pt")
    attention_mask = texts["attention_mask"]
    labels = texts["input_ids"].masked_fill(attention_mask == 0, -100)
    masked = texts["input_ids"].clone()
    masked[:, 2] = 103
    before = {name: weight.clone() for name, weight in torch_model.state_dict().items()}
    optimizer = torch.optim.SGD(torch_model.parameters(), lr=0.01)
    losses = []
    for _ in range(2):
        loss = torch_model(input_ids=masked, attention_mask=attention_mask, labels=labels).loss
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch_model.load_state_dict(before)
    first_loss, second_loss = losses
    assert second_loss < first_loss


def test_building_the_torch_model_leaves_random_numbers_alone():
    torch = pytest.importorskip("torch", reason="needs the hf extra")
    pytest.importorskip("transformers", reason="needs the hf extra")
    before = torch.random.get_rng_state()
    builtin_torch.torch_model()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_torch_model_names_the_extra_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtra, match=r"winokit\[hf\]"):
        builtin_torch.torch_model()


@pytest.mark.skipif(sys.platform == "win32", reason="there, onnxruntime leaves it to the system")
def test_nothing_is_reported_to_the_makers_of_onnxruntime(tmp_path):
    """Check the user's cache, where onnxruntime keeps a device's id and what is still to be sent since 1.29."""
    load = "from winokit.models.registry import load_model; load_model('builtin')"
    search_path = os.pathsep.join(sys.path)
    environment = {"HOME": str(tmp_path), "PYTHONPATH": search_path}
    subprocess.run([sys.executable, "-c", load], env=environment, check=True)
    assert list(tmp_path.rglob("*")) == []
