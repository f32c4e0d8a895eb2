"""Whether texts begin with BOS: one rule for every scoring, from the model's own files, said and kept."""

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
PAIR = Dataset(
    [
        Problem("Nora thanked Ines because ", " had been helped.", ("Nora", "Ines"), 0, "she", group="thank"),
        Problem("Nora thanked Ines because ", " had been helpful.", ("Nora", "Ines"), 1, "she", group="thank"),
    ]
)


def gguf_file(path: Path, *, stated: bool | None, vocabulary: str = "gpt2") -> Path:
    """A Llama of one layer in a GGUF file that says, or does not say, whether texts begin with BOS."""
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
    file.add_token_types([gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.NORMAL] * (len(tokens) - 2))
    file.add_token_merges([" ".join(merge) for merge in content["merges"]])
    file.add_bos_token_id(BOS)
    file.add_eos_token_id(1)
    if stated is not None:
        file.add_add_bos_token(stated)
    rng = np.random.default_rng(5)
    square = {f"blk.0.attn_{name}.weight": (32, 32) for name in ("q", "k", "v", "output")}
    wide = {"blk.0.ffn_gate.weight": (48, 32), "blk.0.ffn_up.weight": (48, 32), "blk.0.ffn_down.weight": (32, 48)}
    words = {"token_embd.weight": (len(tokens), 32), "output.weight": (len(tokens), 32)}
    for name, shape in (square | wide | words).items():
        file.add_tensor(name, rng.normal(0, 0.3, shape).astype(np.float32))
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        file.add_tensor(f"{name}.weight", np.ones(32, np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path


@pytest.fixture
def folder(tmp_path):
    """Makes the folder of a model whose post-processor adds BOS or not, and whose configuration says so or not."""

    def make(*, adds: bool, stated: bool | None = None) -> Path:
        torch.manual_seed(5)
        sizes = {"vocab_size": 320, "n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 128}
        config = transformers.GPT2Config(**sizes, initializer_range=0.3, bos_token_id=BOS, eos_token_id=1)
        transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
        tiny_tokenizer(bos=adds).save_pretrained(tmp_path)
        path = tmp_path / "tokenizer_config.json"
        said = {} if stated is None else {"add_bos_token": stated}
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | said))
        return tmp_path

    return make


def texts_read(model, monkeypatch) -> list[tuple[int, ...]]:
    """The tokens of every text that every fitting scoring has the model read, and of a text that is embedded."""
    read = []
    plain = model.reader.read
    monkeypatch.setattr(model.reader, "read", lambda texts: read.extend(t.tokens for t in texts) or plain(texts))
    fitting = [scoring.name for scoring in SCORINGS.values() if fits(scoring, model)]
    assert {"partial", "full", "ask", "pronoun", "special-word"} <= set(fitting)
    for name in fitting:
        score(PAIR, model, ScoringPlan(name))
    return [*read, *(tuple(ids) for ids, _ in model.boundary.encode(["Nora left."]).values())]


@pytest.mark.parametrize(
    ("adds", "stated", "asked", "expected"),
    [
        (True, None, None, True),
        (False, None, None, False),
        (False, True, None, True),
        (True, False, None, False),
        (False, False, "on", True),
        (True, True, "off", False),
    ],
)
def test_one_rule_for_every_scoring_from_the_models_folder(folder, monkeypatch, adds, stated, asked, expected):
    options = {"device": "cpu"} | ({} if asked is None else {"bos": asked})
    model = load_model(Spec("hf", str(folder(adds=adds, stated=stated)), options))
    begin = [tokens[:1] == (BOS,) for tokens in texts_read(model, monkeypatch)]
    assert begin == [expected] * len(begin)
    assert len(begin) > 10
    assert model.fingerprint.endswith(f" bos={'on' if expected else 'off'}")
    assert bool(model.notes) == (asked is None and not expected)


@pytest.mark.parametrize(
    ("stated", "asked", "expected"),
    [(None, None, False), (True, None, True), (False, None, False), (False, "on", True), (True, "off", False)],
)
def test_one_rule_for_every_scoring_from_a_gguf_file(tmp_path, monkeypatch, stated, asked, expected):
    gguf_file(tmp_path / "tiny.gguf", stated=stated)
    options = {"gguf_file": "tiny.gguf", "device": "cpu"} | ({} if asked is None else {"bos": asked})
    model = load_model(Spec("hf", str(tmp_path), options))
    begin = [tokens[:1] == (BOS,) for tokens in texts_read(model, monkeypatch)]
    assert begin == [expected] * len(begin)


def test_a_gguf_file_that_says_nothing_has_bos_where_llama_cpp_adds_it(tmp_path):
    from winokit.models.hf import HfSettings
    from winokit.models.hf_causal import _read_gguf_bos

    settings = HfSettings.of(Spec("hf", str(tmp_path)))
    for vocabulary, expected in (("llama", True), ("gpt2", None)):
        gguf_file(tmp_path / "tiny.gguf", stated=None, vocabulary=vocabulary)
        assert _read_gguf_bos(settings, "tiny.gguf") is expected


@pytest.mark.parametrize("bos", ["on", "off"])
def test_the_whole_is_its_parts_added_up(folder, bos):
    model = load_model(f"hf:{folder(adds=False)}?bos={bos}&device=cpu")
    requests = [
        Continuation("", "Nora thanked Ines because"),
        Continuation("Nora thanked Ines because", " Nora left."),
        Continuation("", "Nora thanked Ines because Nora left."),
    ]
    answers = dict(model.answer(requests))
    assert total(answers[0]) + total(answers[1]) == pytest.approx(total(answers[2]), abs=1e-4)


def test_a_text_without_context_begins_with_its_second_token_where_there_is_no_bos(folder):
    place = folder(adds=False)
    ((_, without),) = load_model(f"hf:{place}?device=cpu").answer([Continuation("", "Nora left.")])
    ((_, with_bos),) = load_model(f"hf:{place}?bos=on&device=cpu").answer([Continuation("", "Nora left.")])
    assert [(p.start, p.end) for p in without] == [(p.start, p.end) for p in with_bos][1:]
    assert with_bos[0].start == 0


def test_a_tokenizer_without_bos_begins_with_eos_if_asked_to_and_not_by_itself(folder):
    place = folder(adds=False, stated=True)
    path = place / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"bos_token": None}))
    assert not load_model(f"hf:{place}?device=cpu").boundary.bos
    assert load_model(f"hf:{place}?bos=on&device=cpu").boundary.encode(["Nora"])["Nora"][0][0] == 1
    bare = tiny_tokenizer()
    bare.bos_token = bare.eos_token = None
    with pytest.raises(BadInput, match="no token to begin texts with"):
        Boundary(bare, bos=True)


def test_vectors_are_those_of_the_text_as_it_is_scored(folder):
    place = folder(adds=False)
    vectors = {}
    for bos in ("on", "off"):
        ((_, vectors[bos]),) = load_model(f"hf:{place}?bos={bos}&device=cpu").answer([Embed("Nora left.")])
    assert not np.allclose(vectors["on"], vectors["off"])


def test_members_of_an_ensemble_have_options_of_their_own(folder):
    place = folder(adds=False)
    model = load_model(f"ensemble:hf:{place}?bos=on+hf:{place}?device=cpu&combine=logprob")
    assert [member.boundary.bos for member in model.members] == [True, False]
    assert [member.settings.device for member in model.members][1] == "cpu"
    assert model.combine == "logprob"
    assert "bos=on" in model.fingerprint
    assert len(model.notes) == 1
    with pytest.raises(UnknownName, match="combin"):
        load_model("ensemble:random+random?combin=vote")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("hf:{}?bos=yes", "No value of option bos named 'yes'. Known: off, on"),
        ("hf:{}?bos=on&kind=masked", "bos= is an option of causal models only"),
        ("gguf:none.gguf?bos=maybe", "No value of option bos named 'maybe'"),
    ],
)
def test_what_bos_cannot_be_is_said(folder, spec, said):
    with pytest.raises((BadInput, UnknownName), match=said.replace("?", r"\?")):
        load_model(spec.format(folder(adds=True)))


def test_scoring_says_that_a_bos_is_left_out(folder, tmp_path):
    place = folder(adds=False)
    out = tmp_path / "p.jsonl"
    common = ["score", "open", "--limit", "2", "--scoring", "partial", "--set", "cache=off", "--out", str(out)]
    told = CliRunner().invoke(app, [*common, "--model", f"hf:{place}?device=cpu"])
    assert "texts are read without '<s>' before them, as its files say; ?bos=on puts it there" in told.stderr
    assert "without" not in CliRunner().invoke(app, [*common, "--model", f"hf:{place}?device=cpu&bos=off"]).stderr
