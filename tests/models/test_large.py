"""Large models may be spread over devices, quantised, bring their own code, or have a chat template."""

import json
import shutil
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
from winokit.models.base import Ask, Continuation, Embed, Fill
from winokit.models.boundary import Boundary
from winokit.models.hf import fingerprint
from winokit.models.hf_settings import HfSettings
from winokit.models.registry import Spec, load_model, release

REQUESTS = [Continuation(text[:12], text[12:]) for text in TWINS[:5]]
SPREAD = {
    "model.embed_tokens": "cpu",
    "model.layers.0": "cpu",
    "model.layers.1": "disk",
    "model.norm": "cpu",
    "model.rotary_emb": "cpu",
    "lm_head": "cpu",
}
CHATML = (
    "{% for message in messages %}{{ '<s>' + message.role + '\n' + message.content + '</s>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<s>assistant\n' }}{% endif %}"
)


@pytest.fixture(scope="module")
def llama_folder(tmp_path_factory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def instructed(tmp_path_factory) -> Path:
    """Folder of a model whose tokenizer puts BOS before every text, and whose template begins with BOS too."""
    folder = tiny_llama(tmp_path_factory.mktemp("instructed"), bos=True)
    tokenizer = tiny_tokenizer(bos=True)
    tokenizer.chat_template = CHATML
    tokenizer.save_pretrained(folder)
    return folder


def logprobs(model) -> list[float]:
    """Log-probabilities of the pieces of all requests, one after the other."""
    answers = dict(model.answer(REQUESTS))
    numbers = []
    for index in range(len(REQUESTS)):
        numbers += [piece.logprob for piece in answers[index]]
    return numbers


def answer_one(model, request):
    """Answer of a model to a single request."""
    ((_, answer),) = model.answer([request])
    return answer


SPREADING = (
    "device_map=auto",
    "device_map=balanced_low_0&max_memory=cpu:1KiB",
    "device_map={file}",
    "budget=9&device_map={file}",
)


@pytest.mark.parametrize("options", SPREADING)
def test_a_model_that_is_spread_says_what_it_says_in_one_place(llama_folder, tmp_path, options):
    file = tmp_path / "map.json"
    file.write_text(json.dumps(SPREAD))
    plain = load_model(f"hf:{llama_folder}")
    options_of_file = options.format(file=file)
    spread = load_model(f"hf:{llama_folder}?{options_of_file}")
    if "device_map=auto" not in options:
        devices = {weights.device.type for weights in spread.reader.network.parameters()}
        assert "meta" in devices, "some are on disk"
        assert any("are loaded for every batch" in note for note in spread.notes)
    assert spread.plan == "prefix tree"
    assert logprobs(spread) == pytest.approx(logprobs(plain), abs=1e-4)
    assert spread.fingerprint == plain.fingerprint
    embed = Embed("Nora left.")
    vector_of_plain = answer_one(plain, embed)
    vector_of_spread = answer_one(spread, embed)
    assert vector_of_plain == pytest.approx(vector_of_spread, abs=1e-5)
    release(spread)


@pytest.mark.parametrize("options", SPREADING)
def test_a_gpu_in_the_machine_changes_no_fingerprint(llama_folder, tmp_path, monkeypatch, options):
    """With a GPU, a model that is spread is read in the precision of its files, which no option names."""
    file = tmp_path / "map.json"
    file.write_text(json.dumps(SPREAD))
    plain = load_model(f"hf:{llama_folder}")
    monkeypatch.setattr("winokit.models.hf_settings._list_devices", lambda: ["cuda", "cpu"])
    monkeypatch.setattr("winokit.models.hf_settings.usable_device", lambda name: name or "cpu")
    options_of_file = options.format(file=file)
    spread = load_model(f"hf:{llama_folder}?{options_of_file}")
    assert spread.settings.device == "cuda"
    assert spread.fingerprint == plain.fingerprint
    release(spread)
    assert spread.fingerprint == plain.fingerprint


@pytest.mark.parametrize("kind", ["causal", "masked"])
@pytest.mark.parametrize("stored", ["float32", "bfloat16"])
def test_a_fingerprint_names_the_precision_of_the_weights_and_not_how_it_was_asked_for(tmp_path, kind, stored):
    if kind == "causal":
        folder = tiny_llama(tmp_path)
    else:
        folder = tiny("bert", tmp_path)
    network = load_model(f"hf:{folder}").network
    network.to(getattr(torch, stored)).save_pretrained(folder)
    as_stored = load_model(f"hf:{folder}?dtype=auto")
    by_name = load_model(f"hf:{folder}?dtype={stored}")
    assert f" dtype={stored}" in as_stored.fingerprint
    assert as_stored.fingerprint == by_name.fingerprint
    other_dtype = {"float32": "bfloat16", "bfloat16": "float32"}[stored]
    other_model = load_model(f"hf:{folder}?dtype={other_dtype}")
    assert other_model.fingerprint == as_stored.fingerprint.replace(stored, other_dtype)


def test_a_masked_model_may_be_spread_too(tmp_path):
    folder = tiny("bert", tmp_path)
    plain = load_model(f"hf:{folder}")
    spread = load_model(f"hf:{folder}?device_map=auto&max_memory=cpu:1KiB")
    for fill in (Fill("", "the book", " was small"), Fill("he sold ", "it", " to bill")):
        plain_logprobs = [piece.logprob for piece in answer_one(plain, fill)]
        spread_logprobs = [piece.logprob for piece in answer_one(spread, fill)]
        assert spread_logprobs == pytest.approx(plain_logprobs, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
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
def test_what_cannot_be_is_said_in_one_line(llama_folder, options, message):
    with pytest.raises(WinokitError, match=message) as refusal:
        load_model(f"hf:{llama_folder}?{options}")
    assert "\n" not in str(refusal.value)


def test_an_adapter_needs_all_weights_in_memory(llama_folder, tmp_path):
    with pytest.raises(BadInput, match="adapter= needs all weights in memory: raise max_memory="):
        load_model(f"hf:{llama_folder}?device_map=auto&max_memory=cpu:1KiB&adapter={tmp_path}")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_one_size_for_every_gpu_needs_a_gpu(llama_folder):
    with pytest.raises(BadInput, match="applies to every GPU, but there is none; use max_memory=cpu:20GiB"):
        load_model(f"hf:{llama_folder}?device_map=auto&max_memory=20GiB")


@pytest.mark.parametrize("content", ["[1]", '{"lm_head": null}', "{}", "{"])
def test_a_map_that_is_none_is_refused(llama_folder, tmp_path, content):
    (tmp_path / "map.json").write_text(content)
    with pytest.raises(BadInput, match=r"map\.json"):
        load_model(f"hf:{llama_folder}?device_map={tmp_path / 'map.json'}")


def test_a_map_that_leaves_parts_out_is_refused_in_one_line(llama_folder, tmp_path):
    (tmp_path / "map.json").write_text('{"lm_head": "cpu"}')
    with pytest.raises(BadInput) as refusal:
        load_model(f"hf:{llama_folder}?device_map={tmp_path / 'map.json'}")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("package", "options"), [("accelerate", "device_map=auto"), ("bitsandbytes", "load_in=4bit")])
def test_a_missing_package_names_its_pip_command(llama_folder, monkeypatch, package, options):
    def find_all_others(name):
        return None if name == package else True

    monkeypatch.setattr("winokit.models.hf.find_spec", find_all_others)
    with pytest.raises(MissingExtra, match=r"pip install 'winokit\[large\]'"):
        load_model(f"hf:{llama_folder}?{options}")


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_without_its_extra_hf_names_the_pip_command(package):
    code = f"import sys; sys.modules[{package!r}] = None; from winokit.cli.main import main; main()"
    arguments = ["score", "open", "--model", "hf:gpt2", "--out", "p.jsonl"]
    process = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert process.stderr == "winokit: an hf: model needs the 'hf' extra: pip install 'winokit[hf]'\n"


@pytest.mark.skipif(find_spec("bitsandbytes") is None, reason="needs bitsandbytes: pip install 'winokit[large]'")
@pytest.mark.parametrize("bits", ["4bit", "8bit"])
def test_quantised_weights_answer_nearly_the_same_under_a_fingerprint_of_their_own(tmp_path, bits):
    llama_folder = tiny_llama(tmp_path, hidden_size=128, intermediate_size=256, initializer_range=0.1)
    plain = load_model(f"hf:{llama_folder}")
    quantised = load_model(f"hf:{llama_folder}?load_in={bits}")
    pairs = zip(logprobs(plain), logprobs(quantised), strict=True)
    gaps = [abs(before - after) for before, after in pairs]
    assert 1e-4 < sum(gaps) / len(gaps) < 1
    products = " compute_dtype=bfloat16" if bits == "4bit" else ""
    dtype = f"float32 load_in={bits}{products}"
    assert quantised.fingerprint == plain.fingerprint.replace("float32", dtype)
    assert quantised.plan == "prefix tree"


def test_products_in_another_precision_are_another_model(llama_folder):
    default = HfSettings.of(Spec.parse(f"hf:{llama_folder}?load_in=4bit"))
    by_name = HfSettings.of(Spec.parse(f"hf:{llama_folder}?load_in=4bit&dtype=float32"))
    assert default.compute_dtype == "bfloat16"
    assert by_name.compute_dtype == "float32"
    fingerprint_of_default = fingerprint(replace(default, kind="causal", dtype="float32"))
    fingerprint_by_name = fingerprint(replace(by_name, kind="causal", dtype="float32"))
    assert fingerprint_of_default != fingerprint_by_name


@pytest.mark.skipif(find_spec("bitsandbytes") is None, reason="needs bitsandbytes: pip install 'winokit[large]'")
def test_an_adapter_stands_beside_quantised_weights(tmp_path):
    llama_folder = tiny_llama(tmp_path / "model", hidden_size=128, intermediate_size=256, initializer_range=0.1)
    torch.manual_seed(7)
    lora = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    base = transformers.AutoModelForCausalLM.from_pretrained(llama_folder)
    get_peft_model(base, lora).save_pretrained(tmp_path / "lora")
    adapted_spec = f"hf:{llama_folder}?adapter={tmp_path / 'lora'}"
    whole = logprobs(load_model(adapted_spec))
    quantised = logprobs(load_model(f"{adapted_spec}&load_in=8bit"))
    plain = logprobs(load_model(f"hf:{llama_folder}"))
    assert quantised == pytest.approx(whole, abs=0.5)
    assert plain != pytest.approx(whole, abs=0.5)


@pytest.mark.skipif(find_spec("bitsandbytes") is None, reason="needs bitsandbytes: pip install 'winokit[large]'")
def test_weights_that_are_stored_quantised_are_read_as_they_are(tmp_path):
    llama_folder = tiny_llama(tmp_path / "whole", hidden_size=128, intermediate_size=256, initializer_range=0.1)
    quantised = load_model(f"hf:{llama_folder}?load_in=8bit")
    quantised.reader.network.save_pretrained(tmp_path / "stored")
    tiny_tokenizer().save_pretrained(tmp_path / "stored")
    stored = load_model(f"hf:{tmp_path / 'stored'}")
    expected = logprobs(quantised)
    assert logprobs(stored) == pytest.approx(expected, abs=0.1)


def test_memory_that_runs_out_while_a_model_is_loaded_is_said_in_a_line(llama_folder, monkeypatch):
    def full(*_args: object, **_options: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")

    for step in ("transformers.LlamaForCausalLM.to", "transformers.LlamaForCausalLM.forward"):
        with monkeypatch.context() as patch:
            patch.setattr(step, full)
            with pytest.raises(BadInput, match="out of memory while it was loaded: choose load_in=4bit"):
                load_model(f"hf:{llama_folder}")


CODE = """
import transformers
from peft import LoraConfig, get_peft_model
class OwnConfig(transformers.LlamaConfig):
    model_type = "own-llama"
class OwnForCausalLM(transformers.LlamaForCausalLM):
    config_class = OwnConfig
"""


def test_code_that_comes_with_a_model_runs_only_where_it_is_trusted(llama_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    folder = shutil.copytree(llama_folder, tmp_path / "own")
    (folder / "own.py").write_text(CODE)
    config_path = folder / "config.json"
    config = json.loads(config_path.read_text())
    classes = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnForCausalLM"}
    config |= {"model_type": "own-llama", "architectures": ["OwnForCausalLM"], "auto_map": classes}
    config_path.write_text(json.dumps(config))
    with pytest.raises(BadInput, match=r"brings its own code; read it, then allow it with \?trust_remote_code=true"):
        load_model(f"hf:{folder}")
    model = load_model(f"hf:{folder}?trust_remote_code=true")
    assert type(model.reader.network).__name__ == "OwnForCausalLM"
    expected = logprobs(load_model(f"hf:{llama_folder}"))
    assert logprobs(model) == pytest.approx(expected, abs=1e-5)


def test_a_prompt_is_written_as_the_tokenizer_writes_it_and_with_one_bos(instructed):
    model = load_model(f"hf:{instructed}?chat_template=auto")
    tokenizer = model.boundary.tokenizer
    network = model.reader.network
    prompt = "Nora thanked Ines. Who?"
    options = ("Ines", "Nora")
    reply = answer_one(model, Ask(prompt, options))
    messages = [{"role": "user", "content": prompt}]
    turn = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    turn_ids = tokenizer.encode(turn.rstrip(), add_special_tokens=False)
    assert model.template.opened(prompt) == (turn, "")
    for option, logprob in zip(options, reply.logprobs, strict=True):
        ids = tokenizer.encode(turn + option, add_special_tokens=False)
        assert ids.count(0) == 2, "that of the user's turn, and that of the assistant's"
        with torch.inference_mode():
            logits = network(torch.tensor([ids])).logits[0]
        logprobs_of_next = logits.log_softmax(-1)
        answer_positions = range(len(turn_ids), len(ids))
        logprobs_of_answer = [logprobs_of_next[index - 1, ids[index]].item() for index in answer_positions]
        assert logprob == pytest.approx(sum(logprobs_of_answer), abs=1e-4)


def test_without_being_asked_no_template_is_used(instructed):
    plain = load_model(f"hf:{instructed}")
    off = load_model(f"hf:{instructed}?chat_template=off")
    on = load_model(f"hf:{instructed}?chat_template=auto")
    question = Ask("Nora thanked Ines. Who?", ("Ines", "Nora"))
    assert plain.fingerprint == off.fingerprint != on.fingerprint
    plain_reply = answer_one(plain, question)
    assert plain_reply == answer_one(off, question)
    assert plain_reply != answer_one(on, question)


def test_a_template_of_a_file_and_its_text_is_what_counts(instructed, tmp_path):
    copied_path = tmp_path / "same.jinja"
    changed_path = tmp_path / "other.jinja"
    copied_path.write_text(CHATML)
    changed_path.write_text(CHATML.replace("message.role", "'somebody'"))
    builtin = load_model(f"hf:{instructed}?chat_template=auto")
    copied = load_model(f"hf:{instructed}?chat_template={copied_path}")
    changed = load_model(f"hf:{instructed}?chat_template={changed_path}")
    assert builtin.fingerprint == copied.fingerprint != changed.fingerprint
    text, _ = changed.template.opened("Who?")
    assert text == "<s>somebody\nWho?</s>\n<s>assistant\n"


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
    special_tokens = [("<s>", 0), ("</s>", 1)]
    around = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=special_tokens)
    tokenizer.backend_tokenizer.post_processor = around
    assert tokenizer.encode("Nora")[-1] == 1
    boundary = Boundary(tokenizer, bos=False, verbatim=True)
    for text in ("<s>user\nNora</s>\n", "[INST] Nora [/INST]"):
        ids = boundary.encode([text])[text][0]
        assert ids == tokenizer.encode(text, add_special_tokens=False)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('only robots') }}", "the chat template cannot be used: only robots"),
        ("{% for", "the chat template cannot be used"),
        ("always this", "leaves out what the user says"),
    ],
)
def test_a_template_that_does_not_work_is_refused(instructed, tmp_path, template, message):
    (tmp_path / "bad.jinja").write_text(template)
    with pytest.raises(BadInput, match=message) as refusal:
        load_model(f"hf:{instructed}?chat_template={tmp_path / 'bad.jinja'}")
    assert "\n" not in str(refusal.value)


def test_a_template_that_thinks_or_writes_the_date_is_noted(instructed, tmp_path):
    path = tmp_path / "r1.jinja"
    thinking = CHATML.replace("assistant\n", "assistant\n<think>\n")
    path.write_text("{{ strftime_now('%Y') }}" + thinking)
    model = load_model(f"hf:{instructed}?chat_template={path}")
    date_note, thought_note = model.notes
    assert "today's date" in date_note
    assert "opens a thought" not in date_note
    assert "opens a thought" in thought_note
    assert "today's date" not in thought_note


def test_with_a_template_questions_are_asked_and_nothing_else(instructed, twins):
    model = load_model(f"hf:{instructed}?chat_template=auto")
    rows = score(twins, model, ScoringPlan(shots=1))
    assert {row.scoring for row in rows} == {"ask?shots=1"}
    assert all(row.prediction is not None for row in rows)
    with pytest.raises(BadInput, match=r"scoring 'partial' does not fit .*; this one does: ask$"):
        score(twins, model, ScoringPlan("partial"))


@pytest.mark.parametrize(
    ("spec", "guess"),
    [
        ("gpt2", "hf:gpt2"),
        ("gpt2?dtype=bfloat16", "hf:gpt2?dtype=bfloat16"),
        ("meta-llama/Llama-3.1-8B", "hf:meta-llama/Llama-3.1-8B"),
        ("models/my model", "hf:models/my model"),
        ("models/q4.gguf", "gguf:models/q4.gguf"),
        (
            "http://localhost:8000/v1",
            "chat:MODEL@http://localhost:8000/v1 or completions:MODEL@http://localhost:8000/v1",
        ),
        ("llama@https://host/v1", "chat:llama@https://host/v1 or completions:llama@https://host/v1"),
        ("buildin", "'builtin'"),
    ],
)
def test_a_forgotten_prefix_is_guessed(tmp_path, monkeypatch, spec, guess):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "my model").mkdir(parents=True)
    with pytest.raises(UnknownName) as refusal:
        load_model(spec)
    assert f" Did you mean {guess}? Known: association, builtin, " in str(refusal.value)


@pytest.mark.parametrize("spec", ["", "no/such/folder/here"])
def test_a_prefix_of_nothing_that_exists_is_not_guessed(tmp_path, monkeypatch, spec):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownName, match=r"named '.*'\. Known: association, builtin"):
        load_model(spec)


@pytest.mark.parametrize(
    ("option", "message"),
    [("revision=abc", "is a folder: leave it out"), ("gguf_file=none.gguf", r"none\.gguf: no such file\Z")],
)
def test_what_a_folder_does_not_have_is_not_passed_over(tmp_path, option, message):
    with pytest.raises(BadInput, match=message):
        load_model(f"hf:{tmp_path}?{option}")
