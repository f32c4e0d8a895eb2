"""One rule from the model's own files says whether texts begin with BOS, for every scoring."""

import json
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
import transformers
from support.scoring import score
from support.tiny_causal import tiny_tokenizer
from typer.testing import CliRunner

from winokit.cli.main import app
from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.base import SCORINGS, fits, total
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.models.base import Continuation, Embed
from winokit.models.boundary import Boundary
from winokit.models.registry import Spec, load_model
from winokit.problem import Dataset, Problem

BOS = 0
THANKS = "Nora thanked Ines because "
HELPED = Problem(THANKS, " had been helped.", ("Nora", "Ines"), 0, "she", group="thank")
HELPFUL = Problem(THANKS, " had been helpful.", ("Nora", "Ines"), 1, "she", group="thank")
PAIR = Dataset([HELPED, HELPFUL])
SQUARE_TENSORS = ("blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v", "blk.0.attn_output")
NORM_TENSORS = ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm")


def gguf_file(path: Path, *, stated: bool | None, vocabulary: str = "gpt2") -> Path:
    """Write a Llama of one layer to a GGUF file, which says or does not say whether texts begin with BOS."""
    content = json.loads(tiny_tokenizer().backend_tokenizer.to_str())["model"]
    tokens = sorted(content["vocab"], key=content["vocab"].get)
    file = gguf.GGUFWriter(path, "llama")
    file.add_block_count(1)
    file.add_context_length(128)
    file.add_embedding_length(32)
    file.add_feed_forward_length(48)
    file.add_head_count(2)
    file.add_head_count_kv(2)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_dimension_count(16)
    file.add_vocab_size(len(tokens))
    file.add_tokenizer_model(vocabulary)
    file.add_token_list(tokens)
    normal_count = len(tokens) - 2
    types = [gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.NORMAL] * normal_count
    merges = [" ".join(merge) for merge in content["merges"]]
    file.add_token_types(types)
    file.add_token_merges(merges)
    file.add_bos_token_id(BOS)
    file.add_eos_token_id(1)
    if stated is not None:
        file.add_add_bos_token(stated)
    add_random_tensors(file, len(tokens))
    for name in NORM_TENSORS:
        ones = np.ones(32, np.float32)
        file.add_tensor(f"{name}.weight", ones)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path


def add_random_tensors(file: gguf.GGUFWriter, token_count: int) -> None:
    rng = np.random.default_rng(5)
    shapes = dict.fromkeys(SQUARE_TENSORS, (32, 32))
    shapes |= {"blk.0.ffn_gate": (48, 32), "blk.0.ffn_up": (48, 32), "blk.0.ffn_down": (32, 48)}
    shapes |= {"token_embd": (token_count, 32), "output": (token_count, 32)}
    for name, shape in shapes.items():
        numbers = rng.normal(0, 0.3, shape)
        file.add_tensor(f"{name}.weight", numbers.astype(np.float32))


def change_tokenizer_config(folder: Path, **settings) -> None:
    """Overwrite settings of a saved tokenizer."""
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(config | settings))


def answer_one(spec: str, request):
    """Answer to a single request, of a model that is loaded for it on the CPU."""
    ((_, answer),) = load_model(f"{spec}device=cpu").answer([request])
    return answer


@pytest.fixture
def folder(tmp_path):
    """Make the folder of a model whose post-processor adds BOS or not, and whose configuration says so or not."""

    def save_model(*, adds: bool, stated: bool | None = None) -> Path:
        torch.manual_seed(5)
        sizes = {"vocab_size": 320, "n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 128}
        config = transformers.GPT2Config(**sizes, initializer_range=0.3, bos_token_id=BOS, eos_token_id=1)
        transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
        tiny_tokenizer(bos=adds).save_pretrained(tmp_path)
        if stated is not None:
            change_tokenizer_config(tmp_path, add_bos_token=stated)
        return tmp_path

    return save_model


def texts_read(model, monkeypatch) -> list[tuple[int, ...]]:
    """Tokens of every text that every fitting scoring has the model read, and of a text that is embedded."""
    token_rows = []
    read_texts = model.reader.read

    def note_tokens(texts):
        token_rows.extend(text.tokens for text in texts)
        return read_texts(texts)

    monkeypatch.setattr(model.reader, "read", note_tokens)
    fitting = [scoring.name for scoring in SCORINGS.values() if fits(scoring, model)]
    assert {"partial", "full", "ask", "pronoun", "special-word"} <= set(fitting)
    for name in fitting:
        score(PAIR, model, ScoringPlan(name))
    embedded = model.boundary.encode(["Nora left."])
    token_rows += [tuple(ids) for ids, _ in embedded.values()]
    return token_rows


def bos_options(bos: str | None) -> dict[str, str]:
    """Options of a model on the CPU with this setting of BOS, or none."""
    return {"device": "cpu"} if bos is None else {"device": "cpu", "bos": bos}


@pytest.mark.parametrize(
    ("adds", "stated", "bos", "expected"),
    [
        (True, None, None, True),
        (False, None, None, False),
        (False, True, None, True),
        (True, False, None, False),
        (False, False, "on", True),
        (True, True, "off", False),
    ],
)
def test_one_rule_for_every_scoring_from_the_models_folder(folder, monkeypatch, adds, stated, bos, expected):
    path = folder(adds=adds, stated=stated)
    model = load_model(Spec("hf", str(path), bos_options(bos)))
    begins_with_bos = [tokens[:1] == (BOS,) for tokens in texts_read(model, monkeypatch)]
    setting = "on" if expected else "off"
    assert begins_with_bos == [expected] * len(begins_with_bos)
    assert len(begins_with_bos) > 10
    assert model.fingerprint.endswith(f" bos={setting}")
    assert bool(model.notes) == (bos is None and not expected)


@pytest.mark.parametrize(
    ("stated", "bos", "expected"),
    [(None, None, False), (True, None, True), (False, None, False), (False, "on", True), (True, "off", False)],
)
def test_one_rule_for_every_scoring_from_a_gguf_file(tmp_path, monkeypatch, stated, bos, expected):
    gguf_file(tmp_path / "tiny.gguf", stated=stated)
    options = {"gguf_file": "tiny.gguf"} | bos_options(bos)
    model = load_model(Spec("hf", str(tmp_path), options))
    begins_with_bos = [tokens[:1] == (BOS,) for tokens in texts_read(model, monkeypatch)]
    assert begins_with_bos == [expected] * len(begins_with_bos)


@pytest.mark.parametrize(("vocabulary", "expected"), [("llama", True), ("gpt2", None)])
def test_a_gguf_file_that_says_nothing_has_bos_where_llama_cpp_adds_it(tmp_path, vocabulary, expected):
    from winokit.models.hf import HfSettings
    from winokit.models.hf_causal import _read_gguf_bos

    settings = HfSettings.of(Spec("hf", str(tmp_path)))
    gguf_file(tmp_path / "tiny.gguf", stated=None, vocabulary=vocabulary)
    assert _read_gguf_bos(settings, "tiny.gguf") is expected


@pytest.mark.parametrize("bos", ["on", "off"])
def test_the_whole_is_its_parts_added_up(folder, bos):
    path = folder(adds=False)
    model = load_model(f"hf:{path}?bos={bos}&device=cpu")
    first_part = Continuation("", "Nora thanked Ines because")
    second_part = Continuation("Nora thanked Ines because", " Nora left.")
    whole = Continuation("", "Nora thanked Ines because Nora left.")
    answers = dict(model.answer([first_part, second_part, whole]))
    sum_of_parts = total(answers[0]) + total(answers[1])
    assert sum_of_parts == pytest.approx(total(answers[2]), abs=1e-4)


def test_a_text_without_context_begins_with_its_second_token_where_there_is_no_bos(folder):
    path = folder(adds=False)
    request = Continuation("", "Nora left.")
    without_bos = answer_one(f"hf:{path}?", request)
    with_bos = answer_one(f"hf:{path}?bos=on&", request)
    spans_without = [(piece.start, piece.end) for piece in without_bos]
    spans_with = [(piece.start, piece.end) for piece in with_bos]
    assert spans_without == spans_with[1:]
    assert with_bos[0].start == 0


def test_a_tokenizer_without_bos_begins_with_eos_if_asked_to_and_not_by_itself(folder):
    path = folder(adds=False, stated=True)
    change_tokenizer_config(path, bos_token=None)
    by_itself = load_model(f"hf:{path}?device=cpu")
    on = load_model(f"hf:{path}?bos=on&device=cpu")
    ids, _ = on.boundary.encode(["Nora"])["Nora"]
    assert not by_itself.boundary.bos
    assert ids[0] == 1


def test_a_tokenizer_without_bos_and_eos_cannot_begin_texts():
    tokenizer = tiny_tokenizer()
    tokenizer.bos_token = None
    tokenizer.eos_token = None
    with pytest.raises(BadInput, match="no token to begin texts with"):
        Boundary(tokenizer, bos=True)


def test_vectors_are_those_of_the_text_as_it_is_scored(folder):
    path = folder(adds=False)
    request = Embed("Nora left.")
    with_bos = answer_one(f"hf:{path}?bos=on&", request)
    without_bos = answer_one(f"hf:{path}?bos=off&", request)
    assert not np.allclose(with_bos, without_bos)


def test_members_of_an_ensemble_have_options_of_their_own(folder):
    path = folder(adds=False)
    model = load_model(f"ensemble:hf:{path}?bos=on+hf:{path}?device=cpu&combine=logprob")
    first_member, second_member = model.members
    assert first_member.boundary.bos is True
    assert second_member.boundary.bos is False
    assert second_member.settings.device == "cpu"
    assert model.combine == "logprob"
    assert "bos=on" in model.fingerprint
    assert len(model.notes) == 1


def test_a_misspelt_option_of_an_ensemble_is_refused():
    with pytest.raises(UnknownName, match="combin"):
        load_model("ensemble:random+random?combin=vote")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hf:{}?bos=yes", "No value of option bos named 'yes'. Known: off, on"),
        ("hf:{}?bos=on&kind=masked", "bos= is an option of causal models only"),
        ("gguf:none.gguf?bos=maybe", "No value of option bos named 'maybe'"),
    ],
)
def test_what_bos_cannot_be_is_said(folder, spec, message):
    path = folder(adds=True)
    pattern = message.replace("?", r"\?")
    with pytest.raises((BadInput, UnknownName), match=pattern):
        load_model(spec.format(path))


def test_scoring_says_that_a_bos_is_left_out(folder, tmp_path):
    path = folder(adds=False)
    out = tmp_path / "p.jsonl"
    settings = ["--limit", "2", "--scoring", "partial", "--set", "cache=off", "--out", str(out)]
    by_itself = CliRunner().invoke(app, ["score", "open", *settings, "--model", f"hf:{path}?device=cpu"])
    off = CliRunner().invoke(app, ["score", "open", *settings, "--model", f"hf:{path}?device=cpu&bos=off"])
    assert "texts are read without '<s>' before them, as its files say; ?bos=on puts it there" in by_itself.stderr
    assert "without" not in off.stderr
