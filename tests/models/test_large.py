"""Models spread over devices, quantised, with code or a chat template of their own: what hf: has for large ones."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
import transformers
from peft import LoraConfig, get_peft_model
from support.scoring import score
from support.tiny import tiny
from support.tiny_causal import TWINS, tiny_llama, tiny_tokenizer
from tokenizers import processors

from winokit.errors import BadInput, MissingExtra, UnknownName, WinokitError
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.models.base import Ask, Continuation, Embed
from winokit.models.boundary import Boundary
from winokit.models.hf import fingerprint
from winokit.models.hf_settings import HfSettings
from winokit.models.registry import Spec, load_model, release

REQUESTS = [Continuation(text[:12], text[12:]) for text in TWINS[:5]]
SPREAD = {"model.embed_tokens": "cpu", "model.layers.0": "cpu", "model.layers.1": "disk"} | dict.fromkeys(
    ("model.norm", "model.rotary_emb", "lm_head"), "cpu"
)
CHATML = (
    "{% for message in messages %}{{ '<s>' + message.role + '\n' + message.content + '</s>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant\n' }}{% endif %}"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def instructed(tmp_path_factory) -> Path:
    """A model whose tokenizer puts BOS before every text, and has a template that begins with BOS too."""
    folder = tiny_llama(tmp_path_factory.mktemp("instructed"), bos=True)
    tokenizer = tiny_tokenizer(bos=True)
    tokenizer.chat_template = CHATML
    tokenizer.save_pretrained(folder)
    return folder


def logprobs(model) -> list[float]:
    answers = dict(model.answer(REQUESTS))
    return [piece.logprob for index in range(len(REQUESTS)) for piece in answers[index]]


SPREADING = (
    "device_map=auto",
    "device_map=balanced_low_0&max_memory=cpu:1KiB",
    "device_map={file}",
    "budget=9&device_map={file}",
)


@pytest.mark.parametrize("options", SPREADING)
def test_a_model_that_is_spread_says_what_it_says_in_one_place(place, tmp_path, options):
    file = tmp_path / "map.json"
    file.write_text(json.dumps(SPREAD))
    plain = load_model(f"hf:{place}")
    spread = load_model(f"hf:{place}?{options.format(file=file)}")
    if "device_map=auto" not in options:
        assert "meta" in {weights.device.type for weights in spread.reader.network.parameters()}, "some are on disk"
        assert any("are loaded for every batch" in note for note in spread.notes)
    assert spread.plan == "prefix tree"
    assert logprobs(spread) == pytest.approx(logprobs(plain), abs=1e-4)
    assert spread.fingerprint == plain.fingerprint
    ((_, one),), ((_, other),) = (model.answer([Embed("Nora left.")]) for model in (plain, spread))
    assert one == pytest.approx(other, abs=1e-5)
    release(spread)


@pytest.mark.parametrize("options", SPREADING)
def test_a_gpu_in_the_machine_changes_no_fingerprint(place, tmp_path, monkeypatch, options):
    """With a GPU, a model that is spread is read in the precision of its files, which no option names."""
    file = tmp_path / "map.json"
    file.write_text(json.dumps(SPREAD))
    plain = load_model(f"hf:{place}")
    monkeypatch.setattr("winokit.models.hf_settings._list_devices", lambda: ["cuda", "cpu"])
    monkeypatch.setattr("winokit.models.hf_settings.usable_device", lambda name: name or "cpu")
    spread = load_model(f"hf:{place}?{options.format(file=file)}")
    assert spread.settings.device == "cuda"
    assert spread.fingerprint == plain.fingerprint
    release(spread)
    assert spread.fingerprint == plain.fingerprint


@pytest.mark.parametrize("kind", ["causal", "masked"])
@pytest.mark.parametrize("stored", ["float32", "bfloat16"])
def test_a_fingerprint_names_the_precision_of_the_weights_and_not_how_it_was_asked_for(tmp_path, kind, stored):
    folder = tiny_llama(tmp_path) if kind == "causal" else tiny("bert", tmp_path)
    network = load_model(f"hf:{folder}").network
    network.to(getattr(torch, stored)).save_pretrained(folder)
    found, asked_for = (load_model(f"hf:{folder}?dtype={dtype}") for dtype in ("auto", stored))
    assert f" dtype={stored}" in found.fingerprint
    assert found.fingerprint == asked_for.fingerprint
    other = {"float32": "bfloat16", "bfloat16": "float32"}[stored]
    assert load_model(f"hf:{folder}?dtype={other}").fingerprint == found.fingerprint.replace(stored, other)


def test_a_masked_model_may_be_spread_too(tmp_path):
    from winokit.models.base import Fill

    folder = tiny("bert", tmp_path)
    asked = [Fill("", "the book", " was small"), Fill("he sold ", "it", " to bill")]
    plain, spread = (
        dict(load_model(f"hf:{folder}{more}").answer(asked)) for more in ("", "?device_map=auto&max_memory=cpu:1KiB")
    )
    for index in range(2):
        assert [piece.logprob for piece in spread[index]] == pytest.approx(
            [piece.logprob for piece in plain[index]], abs=1e-4
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("device=cpu&device_map=auto", "device= and device_map= contradict each other, since"),
        (
            "gguf_file=a.gguf&load_in=4bit",
            "gguf_file= and load_in= contradict each other, since a GGUF file is quantised",
        ),
        ("bos=on&chat_template=auto", "bos= and chat_template= contradict each other"),
        ("max_memory=cpu:1GiB", "give device_map=auto, or another, too"),
        ("device_map=everywhere", "No way to spread a model .* named 'everywhere'. Known: auto, balanced"),
        ("device_map=auto&max_memory=lots", "expected 20GiB, or 0:20GiB,cpu:60GiB, found 'lots'"),
        ("device_map=auto&max_memory=99:1GiB,cpu:1GiB", "GPU 99 is not on this machine"),
        ("device_map=auto&max_memory=gpu:1GiB", "expected 20GiB, or 0:20GiB,cpu:60GiB, found 'gpu:1GiB'"),
        ("device_map=auto&max_memory=1GiB,2GiB", "expected 20GiB, or 0:20GiB,cpu:60GiB, found '1GiB,2GiB'"),
        ("load_in=2bit", "No value of option load_in named '2bit'. Did you mean '4bit'|Known: 4bit, 8bit"),
        ("trust_remote_code=perhaps", "Known: false, true"),
        ("chat_template=/no/such/file", "/no/such/file: cannot be read"),
        ("chat_template=auto", "its tokenizer has no chat template; name a Jinja file"),
        ("chat_template=auto&kind=masked", "chat_template= is an option of causal models only"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(place, options, said):
    with pytest.raises(WinokitError, match=said) as refusal:
        load_model(f"hf:{place}?{options}")
    assert "\n" not in str(refusal.value)


def test_an_adapter_needs_all_weights_in_memory(place, tmp_path):
    with pytest.raises(BadInput, match="adapter= needs all weights in memory: raise max_memory="):
        load_model(f"hf:{place}?device_map=auto&max_memory=cpu:1KiB&adapter={tmp_path}")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_one_size_for_every_gpu_needs_a_gpu(place):
    with pytest.raises(BadInput, match="applies to every GPU, but there is none; use max_memory=cpu:20GiB"):
        load_model(f"hf:{place}?device_map=auto&max_memory=20GiB")


@pytest.mark.parametrize("content", ["[1]", '{"lm_head": null}', "{}", "{"])
def test_a_map_that_is_none_is_refused(place, tmp_path, content):
    (tmp_path / "map.json").write_text(content)
    with pytest.raises(BadInput, match=r"map\.json"):
        load_model(f"hf:{place}?device_map={tmp_path / 'map.json'}")


def test_a_map_that_leaves_parts_out_is_refused_in_one_line(place, tmp_path):
    (tmp_path / "map.json").write_text('{"lm_head": "cpu"}')
    with pytest.raises(BadInput) as refusal:
        load_model(f"hf:{place}?device_map={tmp_path / 'map.json'}")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("package", "options"), [("accelerate", "device_map=auto"), ("bitsandbytes", "load_in=4bit")])
def test_a_missing_package_names_its_pip_command(place, monkeypatch, package, options):
    monkeypatch.setattr("winokit.models.hf.find_spec", lambda name: None if name == package else True)
    with pytest.raises(MissingExtra, match=r"pip install 'winokit\[large\]'"):
        load_model(f"hf:{place}?{options}")


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_without_its_extra_hf_names_the_pip_command(package):
    code = f"import sys; sys.modules[{package!r}] = None; from winokit.cli.main import main; main()"
    asked = [sys.executable, "-c", code, "score", "open", "--model", "hf:gpt2", "--out", "p.jsonl"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "winokit: an hf: model needs the 'hf' extra: pip install 'winokit[hf]'\n"


@pytest.mark.skipif(find_spec("bitsandbytes") is None, reason="needs bitsandbytes: pip install 'winokit[large]'")
@pytest.mark.parametrize("bits", ["4bit", "8bit"])
def test_quantised_weights_answer_nearly_the_same_under_a_fingerprint_of_their_own(tmp_path, bits):
    place = tiny_llama(tmp_path, hidden_size=128, intermediate_size=256, initializer_range=0.1)
    plain = load_model(f"hf:{place}")
    quantised = load_model(f"hf:{place}?load_in={bits}")
    gaps = [abs(a - b) for a, b in zip(logprobs(plain), logprobs(quantised), strict=True)]
    assert 1e-4 < sum(gaps) / len(gaps) < 1
    products = " compute_dtype=bfloat16" if bits == "4bit" else ""
    assert quantised.fingerprint == plain.fingerprint.replace("float32", f"float32 load_in={bits}{products}")
    assert quantised.plan == "prefix tree"


def test_products_in_another_precision_are_another_model(place):
    found, asked_for = (HfSettings.of(Spec.parse(f"hf:{place}?load_in=4bit{more}")) for more in ("", "&dtype=float32"))
    assert found.compute_dtype == "bfloat16"
    assert asked_for.compute_dtype == "float32"
    in_float32 = [replace(settings, kind="causal", dtype="float32") for settings in (found, asked_for)]
    assert fingerprint(in_float32[0]) != fingerprint(in_float32[1])


@pytest.mark.skipif(find_spec("bitsandbytes") is None, reason="needs bitsandbytes: pip install 'winokit[large]'")
def test_an_adapter_stands_beside_quantised_weights(tmp_path):
    place = tiny_llama(tmp_path / "model", hidden_size=128, intermediate_size=256, initializer_range=0.1)
    torch.manual_seed(7)
    lora = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    get_peft_model(transformers.AutoModelForCausalLM.from_pretrained(place), lora).save_pretrained(tmp_path / "lora")
    whole, quantised = (
        logprobs(load_model(f"hf:{place}?adapter={tmp_path / 'lora'}{q}")) for q in ("", "&load_in=8bit")
    )
    assert quantised == pytest.approx(whole, abs=0.5)
    assert logprobs(load_model(f"hf:{place}")) != pytest.approx(whole, abs=0.5)


@pytest.mark.skipif(find_spec("bitsandbytes") is None, reason="needs bitsandbytes: pip install 'winokit[large]'")
def test_weights_that_are_stored_quantised_are_read_as_they_are(tmp_path):
    place = tiny_llama(tmp_path / "whole", hidden_size=128, intermediate_size=256, initializer_range=0.1)
    quantised = load_model(f"hf:{place}?load_in=8bit")
    quantised.reader.network.save_pretrained(tmp_path / "stored")
    tiny_tokenizer().save_pretrained(tmp_path / "stored")
    stored = load_model(f"hf:{tmp_path / 'stored'}")
    assert logprobs(stored) == pytest.approx(logprobs(quantised), abs=0.1)


def test_memory_that_runs_out_while_a_model_is_loaded_is_said_in_a_line(place, monkeypatch):
    def full(*_args: object, **_options: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")

    for step in ("transformers.LlamaForCausalLM.to", "transformers.LlamaForCausalLM.forward"):
        with monkeypatch.context() as patch:
            patch.setattr(step, full)
            with pytest.raises(BadInput, match="out of memory while it was loaded: choose load_in=4bit"):
                load_model(f"hf:{place}")


CODE = """
import transformers
from peft import LoraConfig, get_peft_model
class OwnConfig(transformers.LlamaConfig):
    model_type = "own-llama"
class OwnForCausalLM(transformers.LlamaForCausalLM):
    config_class = OwnConfig
"""


def test_code_that_comes_with_a_model_runs_only_where_it_is_trusted(place, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = tmp_path / "own"
    folder.mkdir()
    for file in place.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "own.py").write_text(CODE)
    config = json.loads((folder / "config.json").read_text())
    own = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnForCausalLM"}
    config |= {"model_type": "own-llama", "architectures": ["OwnForCausalLM"], "auto_map": own}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadInput, match=r"brings its own code; read it, then allow it with \?trust_remote_code=true"):
        load_model(f"hf:{folder}")
    model = load_model(f"hf:{folder}?trust_remote_code=true")
    assert type(model.reader.network).__name__ == "OwnForCausalLM"
    assert logprobs(model) == pytest.approx(logprobs(load_model(f"hf:{place}")), abs=1e-5)


def test_a_prompt_is_written_as_the_tokenizer_writes_it_and_with_one_bos(instructed):
    model = load_model(f"hf:{instructed}?chat_template=auto")
    tokenizer = model.boundary.tokenizer
    network = model.reader.network
    prompt = "Nora thanked Ines. Who?"
    options = ("Ines", "Nora")
    ((_, reply),) = model.answer([Ask(prompt, options)])
    written = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
    )
    assert model.template.opened(prompt) == (written, "")
    for option, found in zip(options, reply.logprobs, strict=True):
        ids = tokenizer.encode(written + option, add_special_tokens=False)
        assert ids.count(0) == 2, "that of the user's turn, and that of the assistant's"
        first = len(tokenizer.encode(written.rstrip(), add_special_tokens=False))
        with torch.inference_mode():
            guesses = network(torch.tensor([ids])).logits[0].log_softmax(-1)
        expected = sum(guesses[place - 1, ids[place]].item() for place in range(first, len(ids)))
        assert found == pytest.approx(expected, abs=1e-4)


def test_without_being_asked_no_template_is_used(instructed):
    plain, off, on = (
        load_model(f"hf:{instructed}{more}") for more in ("", "?chat_template=off", "?chat_template=auto")
    )
    asked = [Ask("Nora thanked Ines. Who?", ("Ines", "Nora"))]
    assert plain.fingerprint == off.fingerprint != on.fingerprint
    (_, one), (_, two), (_, three) = (next(iter(model.answer(asked))) for model in (plain, off, on))
    assert one == two != three


def test_a_template_of_a_file_and_its_text_is_what_counts(instructed, tmp_path):
    (tmp_path / "same.jinja").write_text(CHATML)
    (tmp_path / "other.jinja").write_text(CHATML.replace("message.role", "'somebody'"))
    own, same, other = (
        load_model(f"hf:{instructed}?chat_template={name}")
        for name in ("auto", tmp_path / "same.jinja", tmp_path / "other.jinja")
    )
    assert own.fingerprint == same.fingerprint != other.fingerprint
    assert other.template.opened("Who?")[0] == "<s>somebody\nWho?</s>\n<s>assistant\n"


def test_what_stands_before_an_answer_is_what_the_template_puts_there(instructed, tmp_path):
    file = tmp_path / "inst.jinja"
    file.write_text(
        "{% for message in messages %}{% if message.role == 'user' %}{{ '[INST] ' + message.content + ' [/INST]' }}"
        "{% else %}{{ ' ' + message.content + '</s>' }}{% endif %}{% endfor %}"
    )
    model = load_model(f"hf:{instructed}?chat_template={file}")
    text, gap = model.template.opened("Who?")
    assert text == "[INST] Who? [/INST]"
    assert gap == " "
    assert model.notes == ()


def test_nothing_is_added_to_what_a_template_writes():
    tokenizer = tiny_tokenizer()
    around = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    tokenizer.backend_tokenizer.post_processor = around
    assert tokenizer.encode("Nora")[-1] == 1
    boundary = Boundary(tokenizer, bos=False, verbatim=True)
    for text in ("<s>user\nNora</s>\n", "[INST] Nora [/INST]"):
        assert boundary.encode([text])[text][0] == tokenizer.encode(text, add_special_tokens=False)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ raise_exception('only robots') }}", "the chat template cannot be used: only robots"),
        ("{% for", "the chat template cannot be used"),
        ("always this", "leaves out what the user says"),
    ],
)
def test_a_template_that_does_not_work_is_refused(instructed, tmp_path, template, said):
    (tmp_path / "bad.jinja").write_text(template)
    with pytest.raises(BadInput, match=said) as refusal:
        load_model(f"hf:{instructed}?chat_template={tmp_path / 'bad.jinja'}")
    assert "\n" not in str(refusal.value)


def test_a_template_that_thinks_or_writes_the_date_is_noted(instructed, tmp_path):
    (tmp_path / "r1.jinja").write_text(
        "{{ strftime_now('%Y') }}" + CHATML.replace("assistant\n", "assistant\n<think>\n")
    )
    notes = load_model(f"hf:{instructed}?chat_template={tmp_path / 'r1.jinja'}").notes
    assert [("today's date" in note, "opens a thought" in note) for note in notes] == [(True, False), (False, True)]


def test_with_a_template_questions_are_asked_and_nothing_else(instructed, twins):
    model = load_model(f"hf:{instructed}?chat_template=auto")
    rows = score(twins, model, ScoringPlan(shots=1))
    assert {(row.scoring, row.prediction is None) for row in rows} == {("ask?shots=1", False)}
    with pytest.raises(BadInput, match=r"scoring 'partial' does not fit .*; these do: ask$"):
        score(twins, model, ScoringPlan("partial"))


def test_a_forgotten_prefix_is_guessed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "my model").mkdir(parents=True)
    for given, meant in {
        "gpt2": "hf:gpt2",
        "gpt2?dtype=bfloat16": "hf:gpt2?dtype=bfloat16",
        "meta-llama/Llama-3.1-8B": "hf:meta-llama/Llama-3.1-8B",
        "models/my model": "hf:models/my model",
        "models/q4.gguf": "gguf:models/q4.gguf",
        "http://localhost:8000/v1": "chat:MODEL@http://localhost:8000/v1 or completions:MODEL@http://localhost:8000/v1",
        "llama@https://host/v1": "chat:llama@https://host/v1 or completions:llama@https://host/v1",
        "buildin": "'builtin'",
    }.items():
        with pytest.raises(UnknownName) as refusal:
            load_model(given)
        assert f" Did you mean {meant}? Known: association, builtin, " in str(refusal.value)
    for given in ("", "no/such/folder/here"):
        with pytest.raises(UnknownName, match=r"named '.*'\. Known: association, builtin"):
            load_model(given)


@pytest.mark.parametrize(
    ("option", "said"),
    [("revision=abc", "is a folder: leave it out"), ("gguf_file=none.gguf", r"none\.gguf: no such file\Z")],
)
def test_what_a_folder_does_not_have_is_not_passed_over(tmp_path, option, said):
    with pytest.raises(BadInput, match=said):
        load_model(f"hf:{tmp_path}?{option}")
