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
    return onnxruntime.InferenceSession((FOLDER / "model_int8.onnx").read_bytes(), providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.from_str((FOLDER / "tokenizer.json").read_text("utf-8"))


def answers(model, *requests):
    found = dict(model.answer(requests))
    assert sorted(found) == list(range(len(requests)))
    return [found[index] for index in range(len(requests))]


def raw(session, ids, output="logits", columns=None):
    """Logits of the columns (all, if none are named), or hidden states, of one text: no batch, no padding."""
    asked = range(len(ids) if output == "logits" else 0)  # hidden states are written where no position is asked for
    return session.run(
        [output],
        {
            "input_ids": np.array([ids]),
            "attention_mask": np.ones((1, len(ids)), np.int64),
            "positions": np.array([(0, at) for at in columns or asked], np.int64).reshape(-1, 2),
        },
    )[0]


def log_softmax(logits):
    logits = logits.astype(np.float64)
    return logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()


def one_at_a_time(session, tokenizer, text, *, within_word):
    """Log-probability of each token: mask it, run, look, and go on to the next."""
    encoding = tokenizer.encode(text)
    tokens = encoding.tokens
    ids = encoding.ids
    mask = tokenizer.token_to_id("[MASK]")
    found = []
    for column in range(1, len(ids) - 1):
        masked = list(ids)
        masked[column] = mask
        later = column + 1
        while within_word and tokens[later].startswith("##"):
            masked[later] = mask
            later += 1
        found.append(log_softmax(raw(session, masked, columns=[column])[0])[ids[column]])
    return found


@pytest.mark.parametrize("within_word", [False, True])
def test_pseudo_likelihood_agrees_with_masking_in_a_loop(model, session, tokenizer, within_word):
    requests = [PseudoLikelihood(text, 0, len(text), within_word) for text in SENTENCES]
    for text, pieces in zip(SENTENCES, answers(model, *requests), strict=True):
        slow = one_at_a_time(session, tokenizer, text, within_word=within_word)
        np.testing.assert_allclose([piece.logprob for piece in pieces], slow, atol=1e-5)


def test_the_two_forms_differ_only_in_words_of_several_pieces(model, tokenizer):
    text = "The flapjacks were good."
    plain, within = answers(model, *(PseudoLikelihood(text, 0, len(text), form) for form in (False, True)))
    tokens = tokenizer.encode(text, add_special_tokens=False).tokens
    continued = [later.startswith("##") for _, later in pairwise([*tokens, ""])]
    assert any(continued)
    differ = [abs(one.logprob - other.logprob) > 1e-3 for one, other in zip(plain, within, strict=True)]
    assert differ == continued


def test_pseudo_likelihood_of_a_span_is_that_part_of_the_whole(model):
    text = SENTENCES[0]
    start = text.index("fit")
    whole, part = answers(model, PseudoLikelihood(text, 0, len(text)), PseudoLikelihood(text, start, start + 8))
    assert [text[piece.start : piece.end] for piece in part] == ["fit", "into"]
    assert part == tuple(piece for piece in whole if start <= piece.start < start + 8)


@pytest.mark.parametrize("text", ["tea", "snickerdoodle", "the Zoë's fiancé"])
def test_fill_masks_every_piece_at_once(model, session, tokenizer, text):
    before = "She drank a cup of "
    after = " with him."
    (pieces,) = answers(model, Fill(before, text, after))
    left, middle, right = (tokenizer.encode(part, add_special_tokens=False).ids for part in (before, text, after))
    mask = tokenizer.token_to_id("[MASK]")
    logits = raw(session, [101, *left, *[mask] * len(middle), *right, 102])
    slow = [log_softmax(logits[1 + len(left) + at])[token] for at, token in enumerate(middle)]
    np.testing.assert_allclose([piece.logprob for piece in pieces], slow, atol=1e-5)


def test_pieces_say_where_they_stand_in_the_text(model):
    (pieces,) = answers(model, Fill("They met ", "Zoë’s snickerdoodle", "."))
    shown = ["Zoë’s snickerdoodle"[piece.start : piece.end] for piece in pieces]
    assert shown[:3] == ["Zoë", "’", "s"]
    assert len(shown) > 4
    assert "".join(shown[3:]) == "snickerdoodle"


def test_a_fill_glued_to_letters_takes_the_whole_token(model):
    glued, whole = answers(model, Fill("He was un", "happy", "."), Fill("He was ", "unhappy", "."))
    assert glued == (Piece(0, 5, whole[0].logprob),)


def test_a_likely_word_is_likelier_than_an_unlikely_one(model):
    tea, stone = answers(model, *(Fill("She drank a cup of ", word, ".") for word in ("tea", "stone")))
    assert tea[0].logprob > stone[0].logprob + 3


def test_requests_that_leave_the_same_masked_text_share_a_run(model, monkeypatch):
    ran = []
    run = model._run_graph
    monkeypatch.setattr(model, "_run_graph", lambda texts, *rest: ran.extend(texts) or run(texts, *rest))
    answers(model, *(Fill("She drank a cup of ", word, ".") for word in ("tea", "coffee", "stone")))
    assert len(ran) == 1


def test_embeddings_are_means_of_hidden_states(model, session, tokenizer):
    text = SENTENCES[0]
    start = text.index("suitcase")
    requests = [Embed(text), Embed(text, "first"), Embed(text, "span", start, start + len("suitcase because"))]
    encoding = tokenizer.encode(text)
    hidden = raw(session, encoding.ids, "last_hidden_state")[0]
    span = [encoding.tokens.index(word) for word in ("suitcase", "because")]
    for found, wanted in zip(answers(model, *requests), [hidden, hidden[:1], hidden[span]], strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted.mean(axis=0), atol=1e-5)


def test_answers_do_not_depend_on_the_rest_of_the_batch(model):
    short = SENTENCES[4]
    asked = [PseudoLikelihood(short, 0, len(short)), Fill("She drank ", "tea", "."), Embed(short)]
    # Lengths around those asked for, so that some are padded to the long ones within one batch.
    crowd = [" ".join([short] * times) for times in range(1, 12)]
    others = [
        kind for text in crowd for kind in (PseudoLikelihood(text, 0, 3), Fill(text + " ", "Yes", "."), Embed(text))
    ]
    alone = [answers(model, request)[0] for request in asked]
    pieces, filled, vector = answers(model, *asked, *others)[:3]
    for one, other in zip([*alone[0], *alone[1]], [*pieces, *filled], strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-5)
    np.testing.assert_allclose(vector, alone[2], atol=1e-5)


def test_many_windows_of_requests_are_all_answered(model, monkeypatch):
    requests = [Fill("She saw ", name, " there.") for name in ("him", "her", "the dog", "us", "a cat")]
    together = answers(model, *requests)
    monkeypatch.setattr(builtin, "WINDOW", 2)
    for one, other in zip(answers(model, *requests), together, strict=True):
        assert [piece.logprob for piece in one] == pytest.approx([piece.logprob for piece in other], abs=1e-5)


def test_the_longest_text_has_512_tokens(model):
    assert len(answers(model, Embed(" ".join(["word"] * 510)))) == 1
    (refused,) = answers(model, Embed(" ".join(["word"] * 511)))
    assert refused == Refusal("513 tokens; the model reads at most 512")


@pytest.mark.parametrize(
    "request_", [Fill("He ", " ", "ran"), Fill("He", "", " ran"), PseudoLikelihood("He ran", 2, 3), Embed("a", "span")]
)
def test_a_span_without_a_token_has_nothing_to_score(model, request_):
    fine, refused = answers(model, Embed("fine"), request_)
    assert fine.shape == (384,)
    assert "makes no token of" in refused.why


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
    one = load_model("builtin?threads=1")
    assert one.spec == "builtin?threads=1"
    assert one._session.get_session_options().intra_op_num_threads == 1


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
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    logprob, torch = json.loads(done.stdout)
    assert not torch
    assert logprob == pytest.approx(answers(model, Fill("She drank a cup of ", "tea", "."))[0][0].logprob, abs=1e-5)


def test_the_trimmed_graph_agrees_with_the_one_that_was_trained(session, tokenizer):
    folder = Path(os.environ.get("WINOKIT_MODELS") or Path(__file__).parents[3] / "shared" / "models")
    path = folder / "minilm-mlm" / "model_int8.onnx"
    if not path.exists():
        pytest.skip("needs the graph as trained: set WINOKIT_MODELS to a folder that has minilm-mlm/model_int8.onnx")
    full = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for text in SENTENCES:
        ids = tokenizer.encode(text).ids
        texts = {"input_ids": np.array([ids]), "attention_mask": np.ones((1, len(ids)), np.int64)}
        logits, hidden = full.run(["logits", "last_hidden_state"], texts)
        assert np.abs(logits[0] - raw(session, ids)).max() < 1e-5
        assert np.abs(hidden - raw(session, ids, "last_hidden_state")).max() < 1e-5


def test_the_embedding_is_stored_once():
    arrays = builtin_torch.initializers((FOLDER / "model_int8.onnx").read_bytes())
    assert [name for name, array in arrays.items() if array.size == 30522 * 384] == ["word_embeddings_u8"]
    assert sum(array.nbytes for array in arrays.values()) < 23.4e6


@pytest.fixture(scope="module")
def torch_model():
    pytest.importorskip("transformers", reason="needs the hf extra")
    return builtin_torch.torch_model()


def test_the_torch_model_has_the_same_logits(torch_model, session):
    import torch

    tokenizer = builtin_torch.torch_tokenizer()
    texts = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.inference_mode():
        found = torch_model(**texts).logits.numpy()
    for row, ids, mask in zip(found, texts["input_ids"].numpy(), texts["attention_mask"].numpy(), strict=True):
        length = mask.sum()
        assert np.abs(row[:length] - raw(session, ids[:length])).max() < 1e-4


def test_the_torch_tokenizer_makes_the_same_tokens(tokenizer):
    pytest.importorskip("transformers", reason="needs the hf extra")
    other = builtin_torch.torch_tokenizer()
    assert other(SENTENCES)["input_ids"] == [encoding.ids for encoding in tokenizer.encode_batch(SENTENCES)]
    assert other.mask_token_id == tokenizer.token_to_id("[MASK]")


def test_a_training_step_lowers_the_loss(torch_model):
    import torch

    texts = builtin_torch.torch_tokenizer()(SENTENCES[:4], padding=True, return_tensors="pt")
    labels = texts["input_ids"].masked_fill(texts["attention_mask"] == 0, -100)
    masked = texts["input_ids"].clone()
    masked[:, 2] = 103
    before = {name: weight.clone() for name, weight in torch_model.state_dict().items()}
    optimizer = torch.optim.SGD(torch_model.parameters(), lr=0.01)
    losses = []
    for _ in range(2):
        loss = torch_model(input_ids=masked, attention_mask=texts["attention_mask"], labels=labels).loss
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch_model.load_state_dict(before)
    assert losses[1] < losses[0]


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
    """Since 1.29 it keeps a device's id and what is still to be sent in the user's cache, from the import on."""
    load = "from winokit.models.registry import load_model; load_model('builtin')"
    environment = {"HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", load], env=environment, check=True)
    assert list(tmp_path.rglob("*")) == []
