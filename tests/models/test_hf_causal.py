"""Tiny random causal models answer like a slow loop that reads one prefix at a time."""

import shutil
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from support.tiny_causal import TWINS, tiny_tokenizer

from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.base import total
from winokit.models.base import Ask, Continuation, Embed, Model
from winokit.models.hf import HfSettings
from winokit.models.hf_causal import SAMPLE, multiply_with_onednn
from winokit.models.registry import Spec, load_model

PREFIX_LENGTHS = (1, 2, 4, 6)


def cut_text(text: str, word_count: int) -> Continuation:
    """Continuation of the text after its first `word_count` words."""
    words = text.split()
    beginning = " ".join(words[:word_count])
    rest = " ".join(words[word_count:])
    return Continuation(beginning, f" {rest}")


ALL_CUTS = [cut_text(text, word_count) for text, word_count in product(TWINS, PREFIX_LENGTHS)]
REQUESTS = ALL_CUTS[:-2]
WIDE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 64}
GROUPED = WIDE | {"intermediate_size": 48, "num_key_value_heads": 2}
# Weights larger than usual: an attention mask that is not honoured must show.
LOUD = {"vocab_size": 320, "initializer_range": 0.3, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
GPT_NEO = {
    "hidden_size": 32,
    "num_layers": 2,
    "num_heads": 4,
    "max_position_embeddings": 64,
    "window_size": 8,
    "attention_types": [[["global", "local"], 1]],
}
GEMMA2 = {"head_dim": 8, "sliding_window": 8, "final_logit_softcapping": 5.0, "attn_logit_softcapping": 3.0}
CONFIGS: dict[str, tuple[type[transformers.PretrainedConfig], dict[str, object]]] = {
    "gpt2": (transformers.GPT2Config, {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}),
    "llama": (transformers.LlamaConfig, GROUPED),
    "mistral, window 8": (transformers.MistralConfig, {"sliding_window": 8} | GROUPED),
    "gpt-neox": (transformers.GPTNeoXConfig, {"intermediate_size": 48} | WIDE),
    "gpt-neo, window 8": (transformers.GPTNeoConfig, GPT_NEO),
    "opt": (transformers.OPTConfig, {"ffn_dim": 48, "word_embed_proj_dim": 32, "init_std": 0.3} | WIDE),
    "bloom": (transformers.BloomConfig, {"hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "gemma2, window 8": (transformers.Gemma2Config, GEMMA2 | GROUPED),
    "mamba": (transformers.MambaConfig, {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}),
}
PLAIN = {"bloom", "mamba"}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Run on one thread: tiny models are done before a second thread has woken up."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make a function that returns the folder of a random model, which it saves once for each architecture."""
    paths: dict[tuple[str, bool], Path] = {}

    def save_model(name: str, *, bos: bool = False) -> Path:
        if (name, bos) not in paths:
            path = tmp_path_factory.mktemp("model")
            torch.manual_seed(5)
            config_class, sizes = CONFIGS[name]
            network = transformers.AutoModelForCausalLM.from_config(config_class(**sizes, **LOUD))
            network.save_pretrained(path)
            tiny_tokenizer(bos=bos).save_pretrained(path)
            paths[name, bos] = path
        return paths[name, bos]

    return save_model


def load_network(path: Path) -> torch.nn.Module:
    """Load the network in a folder in float32, without winokit."""
    network = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    return network.eval()


@torch.inference_mode()
def slow(folder: Path, request: Continuation, network: torch.nn.Module | None = None) -> list[float]:
    """Log-probabilities of a continuation's tokens, each from a pass over the tokens before it.

    `network` is the one in the folder if it is None.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = network or load_network(folder)
    ids = tokenizer.encode(request.context + request.text)
    # Nothing comes before a first token: where BOS is not that, the text's own is not scored.
    context_ids = tokenizer.encode(request.context.rstrip())
    first_index = max(len(context_ids), 1)
    logprobs_of_tokens = []
    for index in range(first_index, len(ids)):
        logits = network(torch.tensor([ids[:index]])).logits[0, -1]
        logprob = logits.log_softmax(-1)[ids[index]]
        logprobs_of_tokens.append(logprob.item())
    return logprobs_of_tokens


def logprobs(model: Model, requests: list[Continuation]) -> list[list[float]]:
    """Log-probabilities of the pieces of each request."""
    rows = []
    answers = dict(model.answer(requests))
    for index in range(len(requests)):
        rows.append([piece.logprob for piece in answers[index]])
    return rows


def furthest(rows: list[list[float]], other_rows: list[list[float]]) -> float:
    """Largest distance of two numbers that stand in the same row and column."""
    distances = []
    for row, other_row in zip(rows, other_rows, strict=True):
        distances += [abs(number - other) for number, other in zip(row, other_row, strict=True)]
    return max(distances)


def choose_plan_again(model: Model) -> object:
    """Let the reader of a model choose its plan anew, from the tokens of a sample."""
    sample = [encoded.scored for encoded in model.boundary.split(SAMPLE)]
    return model.reader.choose_plan(sample)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_tree_says_what_plain_reading_and_a_slow_loop_say(folder, name):
    path = folder(name)
    model = load_model(f"hf:{path}")
    network = load_network(path)
    right = [slow(path, request, network) for request in REQUESTS]
    expected_plan = "plain" if name in PLAIN else "prefix tree"
    assert model.plan == expected_plan
    assert furthest(logprobs(model, REQUESTS), right) < 1e-4
    model.reader.plan = "plain"
    assert furthest(logprobs(model, REQUESTS), right) < 1e-4


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("dropped", ["attention_mask", "position_ids"])
def test_a_model_that_cannot_read_trees_is_noticed(folder, dropped, dtype):
    path = folder("llama")
    model = load_model(f"hf:{path}?dtype={dtype}")
    forward = model.reader.network.forward

    def deaf(ids: torch.Tensor, **options: object) -> object:
        options_left = {name: option for name, option in options.items() if name != dropped}
        return forward(ids, **options_left)

    model.reader.network.forward = deaf
    assert choose_plan_again(model)
    assert model.plan == "plain"


def test_a_model_that_wants_logits_for_every_position_is_noticed(folder):
    model = load_model(f"hf:{folder('gpt2')}")
    right = logprobs(model, REQUESTS)
    forward = model.reader.network.forward

    def strict(ids: torch.Tensor, **options: object) -> object:
        output = forward(ids, **options)
        output.logits = output.logits.view(*ids.shape, 320)
        return output

    model.reader.network.forward = strict
    assert choose_plan_again(model)
    assert model.plan == "prefix tree"
    assert model.reader.head is None
    assert furthest(logprobs(model, REQUESTS), right) < 1e-4


@pytest.mark.parametrize("name", ["llama", "bloom"])
def test_the_size_of_batches_does_not_matter(folder, name):
    path = folder(name)
    expected = logprobs(load_model(f"hf:{path}?budget=1"), REQUESTS)
    for budget in (20, 64, 5000):
        model = load_model(f"hf:{path}?budget={budget}")
        assert furthest(logprobs(model, REQUESTS), expected) < 1e-4


def test_shared_beginnings_are_read_once(folder):
    model = load_model(f"hf:{folder('llama')}")
    sizes_read = []

    def note_size(_module, _arguments, options):
        sizes_read.append(options["input_ids"].numel())

    model.reader.network.model.register_forward_pre_hook(note_size, with_kwargs=True)
    context = "The cup fell off the table because it"
    logprobs(model, [Continuation(context, ending) for ending in (" stood", " broke", " was")])
    context_size = len(model.boundary.tokenizer.encode(context))
    assert context_size <= sum(sizes_read) < context_size + 10


def test_logits_are_written_only_where_a_token_is_guessed(folder):
    model = load_model(f"hf:{folder('llama')}")
    counts_written = []

    def note_count(_module, _arguments, output):
        counts_written.append(output.shape[:-1].numel())

    model.reader.network.lm_head.register_forward_hook(note_count)
    (scored,) = logprobs(model, [Continuation("The cup fell off the table because it", " stood")])
    assert sum(counts_written) == len(scored)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(7, 12), (2, 7, 12), (1, 1, 12)])
def test_onednn_multiplies_as_torch_does(bias, shape):
    layer = torch.nn.Linear(12, 5, bias=bias)
    wide_states = torch.randn(*shape[:-1], 24)
    states = wide_states[..., ::2]
    with torch.inference_mode():
        right = layer(states)
        multiply_with_onednn(layer)
        torch.testing.assert_close(layer(states), right)


def test_onednn_is_for_float32_alone():
    layer = torch.nn.Linear(12, 5, dtype=torch.bfloat16)
    multiply_with_onednn(layer)
    assert "forward" not in vars(layer)


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize(
    "request_",
    [
        Continuation("Nora thanked ", "Ines because"),
        Continuation("Nora thanked \n ", " Ines because"),
        Continuation("", "Nora thanked Ines"),
        Continuation("  ", "Nora left"),
        Continuation("Nor", "a thanked Ines"),
        Continuation("Nora", " “thänked” Ines"),
    ],
)
def test_the_boundary_is_that_of_the_harness(folder, bos, request_):
    path = folder("gpt2", bos=bos)
    model = load_model(f"hf:{path}")
    expected = slow(path, request_)
    assert furthest(logprobs(model, [request_]), [expected]) < 1e-4


@pytest.mark.parametrize(
    ("with_token", "without_token"),
    [
        (Continuation("<s>Nora", " left."), Continuation("Nora", " left.")),
        (Continuation("", "<s>Nora left."), Continuation("", "Nora left.")),
    ],
    ids=["in the context", "in the text"],
)
def test_a_text_that_brings_its_start_token_gets_no_second_one(folder, with_token, without_token):
    model = load_model(f"hf:{folder('gpt2', bos=True)}")
    logprobs_with, logprobs_without = logprobs(model, [with_token, without_token])
    assert logprobs_with == logprobs_without


def test_pieces_stand_where_they_stand_in_the_text(folder):
    model = load_model(f"hf:{folder('gpt2')}")
    request = Continuation("The cup fell ", "off the table.")
    ((_, pieces),) = model.answer([request])
    assert len(pieces) > 2
    assert pieces[0].start == 0
    assert pieces[-1].start == len("off the table")
    assert pieces[-1].end == len("off the table.")
    for before, after in pairwise(pieces):
        assert before.end == after.start


@pytest.mark.parametrize(("prompt", "gap"), [("Nora thanked", " "), ("Nora thanked\n", "")])
def test_ask_weighs_each_option_after_the_prompt(folder, prompt, gap):
    path = folder("llama")
    model = load_model(f"hf:{path}")
    options = ("Ines", "Nora", "the cup")
    ((_, reply),) = model.answer([Ask(prompt, options)])
    expected = [sum(slow(path, Continuation(prompt, gap + option))) for option in options]
    assert reply.choice is None
    assert reply.text == ""
    assert reply.logprobs == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "bloom"])
def test_embeddings_are_last_hidden_states(folder, name):
    path = folder(name)
    model = load_model(f"hf:{path}")
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    network = load_network(path)
    text = "The cup fell off the table."
    encoded = tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        output = network(**encoded, output_hidden_states=True)
    last_layer = output.hidden_states[-1]
    states = last_layer[0].numpy()
    offsets = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
    states_inside = [state for state, (start, end) in zip(states, offsets, strict=True) if start < 12 and end > 4]
    requests = [Embed(text), Embed("Nora left."), Embed(text, "first"), Embed(text, "span", 4, 12), Embed(text)]
    vectors = dict(model.answer(requests))
    assert vectors[0].dtype == np.float32
    np.testing.assert_allclose(vectors[0], states.mean(0), atol=1e-5)
    np.testing.assert_allclose(vectors[2], states[0], atol=1e-5)
    np.testing.assert_allclose(vectors[3], np.mean(states_inside, 0), atol=1e-5)
    np.testing.assert_array_equal(vectors[4], vectors[0])
    assert not np.allclose(vectors[1], vectors[0])


def test_requests_of_several_kinds_are_answered_together(folder):
    model = load_model(f"hf:{folder('gpt2')}")
    requests = [Embed("Nora left."), Continuation("Nora", " left."), Ask("Nora", ("left", "fell"))]
    answers = list(model.answer(requests))
    assert sorted(index for index, _ in answers) == [0, 1, 2]
    assert {type(request) for request in requests} == model.can


def test_no_requests_have_no_answers(folder):
    model = load_model(f"hf:{folder('gpt2')}")
    assert list(model.answer([])) == []


def test_memory_that_runs_out_halves_the_batches(folder):
    model = load_model(f"hf:{folder('llama')}")
    right = logprobs(model, REQUESTS)
    sizes_read = []
    forward = model.reader.network.forward

    def forgetful(ids: torch.Tensor, **options: object) -> object:
        sizes_read.append(ids.numel())
        if sizes_read[-1] > sizes_read[0] // 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(ids, **options)

    model.reader.network.forward = forgetful
    assert model.notes[0].endswith("?bos=on puts it there")
    assert furthest(logprobs(model, REQUESTS), right) < 1e-4
    assert len(sizes_read) > 2
    half_size = sizes_read[0] // 2
    assert f"memory ran out: batches now have {half_size} tokens" in model.notes[0]


def test_memory_too_small_for_one_text_is_said_in_a_line(folder):
    model = load_model(f"hf:{folder('llama')}")

    def full(*_args: object, **_options: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    model.reader.network.forward = full
    with pytest.raises(BadInput, match="out of memory with a single text"):
        list(model.answer(REQUESTS))


def test_other_errors_of_the_network_are_not_swallowed(folder):
    model = load_model(f"hf:{folder('llama')}")

    def broken(*_args: object, **_options: object) -> None:
        raise RuntimeError("size mismatch")

    model.reader.network.forward = broken
    with pytest.raises(RuntimeError, match="size mismatch"):
        list(model.answer(REQUESTS))


def test_an_adapter_changes_the_answers_and_the_fingerprint(folder, tmp_path):
    path = folder("llama")
    base = transformers.AutoModelForCausalLM.from_pretrained(path)
    torch.manual_seed(7)
    lora = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    get_peft_model(base, lora).save_pretrained(tmp_path)
    plain = load_model(f"hf:{path}")
    adapted = load_model(f"hf:{path}?adapter={tmp_path}")
    network = PeftModel.from_pretrained(load_network(path), tmp_path).eval()
    right = [slow(path, request, network) for request in REQUESTS]
    assert furthest(logprobs(adapted, REQUESTS), right) < 1e-4
    assert furthest(logprobs(plain, REQUESTS), right) > 0.01
    assert plain.fingerprint != adapted.fingerprint
    names = [name for name, _ in adapted.reader.network.named_parameters()]
    assert not any("lora" in name for name in names)


def test_a_folder_without_an_adapter_is_refused(folder, tmp_path):
    with pytest.raises(BadInput, match=r"no adapter_config\.json in it"):
        load_model(f"hf:{folder('llama')}?adapter={tmp_path}")


def test_the_fingerprint_is_of_the_content(folder, tmp_path):
    path = folder("llama")
    copy = shutil.copytree(path, tmp_path / "copy")
    same = load_model(f"hf:{copy}")
    assert same.fingerprint == load_model(f"hf:{path}?budget=64").fingerprint
    assert same.fingerprint != load_model(f"hf:{path}?dtype=bfloat16").fingerprint
    weights_path = copy / "model.safetensors"
    weights = bytearray(weights_path.read_bytes())
    weights[len(weights) // 2] ^= 1
    weights_path.write_bytes(weights)
    assert load_model(f"hf:{copy}").fingerprint != same.fingerprint


def test_half_precision_comes_close(folder):
    full = load_model(f"hf:{folder('llama')}")
    half = load_model(f"hf:{folder('llama')}?dtype=bfloat16")
    assert half.reader.network.dtype == torch.bfloat16
    distance = furthest(logprobs(half, REQUESTS), logprobs(full, REQUESTS))
    assert 1e-4 < distance < 0.5


def test_a_model_that_says_no_numbers_is_refused(folder, tmp_path):
    network = transformers.AutoModelForCausalLM.from_pretrained(folder("llama"))
    network.lm_head.weight.data.fill_(torch.inf)
    network.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="too narrow for this model"):
        load_model(f"hf:{tmp_path}")


def test_texts_longer_than_the_context_are_refused_and_the_others_answered(folder):
    model = load_model(f"hf:{folder('gpt2')}")
    long = "Nora " * 80
    too_long = [Continuation(long, "left"), Ask("Who?", ("Nora", long)), Embed(long)]
    fine = [Continuation("Nora", " left."), Ask("Nora thanked", ("Ines", "Nora")), Embed("Nora left.")]
    alone = dict(model.answer(fine))
    beside = dict(model.answer([*too_long, *fine]))
    assert len(beside) == 6
    for refusal in (beside[0], beside[1], beside[2]):
        assert "tokens; the model reads at most 64" in refusal.why
    assert total(beside[3]) == pytest.approx(total(alone[0]), abs=1e-4)
    assert beside[4].logprobs == pytest.approx(alone[1].logprobs, abs=1e-4)
    assert beside[5] == pytest.approx(alone[2], abs=1e-4)


def test_the_last_token_is_guessed_and_not_read_so_that_one_more_fits(folder):
    model = load_model(f"hf:{folder('gpt2')}")
    tokenizer = model.boundary.tokenizer
    text = tokenizer.decode([5] * 65)
    assert len(tokenizer.encode(text)) == 65
    (scored,) = logprobs(model, [Continuation(text[:10], text[10:])])
    assert len(scored) == 55


@pytest.mark.parametrize(
    "request_", [Continuation("Nora", ""), Continuation("", ""), Embed(""), Embed("Nora", "span", 2, 2)]
)
def test_nothing_to_score_is_said_so(folder, request_):
    model = load_model(f"hf:{folder('gpt2')}")
    ((_, refusal),) = model.answer([request_])
    assert "makes no token of" in refusal.why


def test_a_folder_that_is_not_there_is_refused_in_one_line(monkeypatch):
    with pytest.raises(BadInput, match=r"^/no/such/folder: no such model folder") as refusal:
        load_model("hf:/no/such/folder")
    assert "\n" not in str(refusal.value)


def test_a_name_the_hub_cannot_be_asked_about_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    message = r"^nobody/nothing: no such model folder, and the hub could not be reached"
    with pytest.raises(BadInput, match=message) as refusal:
        load_model("hf:nobody/nothing")
    assert "\n" not in str(refusal.value)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot be loaded"):
        load_model(f"hf:{tmp_path}")


@pytest.fixture
def masked_folder(tmp_path: Path) -> Path:
    config = transformers.BertConfig(intermediate_size=48, vocab_size=320, initializer_range=0.3, **WIDE)
    transformers.BertForMaskedLM(config).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_weights_of_a_broken_download_are_refused_in_one_line(folder, tmp_path, name):
    all_but_weights = shutil.ignore_patterns("*.safetensors")
    path = shutil.copytree(folder("llama"), tmp_path / "broken", ignore=all_but_weights)
    broken_file = path / name
    broken_file.write_bytes(bytes(range(256)) * 4)
    with pytest.raises(BadInput, match="cannot be loaded") as refusal:
        load_model(f"hf:{path}")
    assert "\n" not in str(refusal.value)


def test_a_masked_model_is_no_causal_one(masked_folder):
    with pytest.raises(BadInput, match="not a causal model"):
        load_model(f"hf:{masked_folder}?kind=causal")


def test_a_model_saved_without_its_head_is_refused(folder, tmp_path):
    config = transformers.LlamaConfig(**GROUPED, **LOUD)
    transformers.LlamaModel(config).save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(BadInput, match=r"no weights for lm_head\.weight"):
        load_model(f"hf:{tmp_path}")


def test_a_sequence_to_sequence_model_is_no_causal_one(tmp_path):
    config = transformers.T5Config(d_model=16, num_layers=1, num_heads=2, d_kv=8, d_ff=16, vocab_size=320)
    config.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="cannot be loaded") as refusal:
        load_model(f"hf:{tmp_path}?kind=causal")
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("kind=chat", "No value of option kind named 'chat'"),
        ("dtype=int3", "No value of option dtype named 'int3'"),
        ("device=abacus", "No device named 'abacus'"),
        ("budget=none", "option budget: expected a whole number of at least 1"),
        ("colour=red", "No option of 'hf' models named 'colour'"),
    ],
)
def test_options_are_checked(folder, options, message):
    with pytest.raises((BadInput, UnknownName), match=message):
        load_model(f"hf:{folder('gpt2')}?{options}")


def test_the_kind_is_told_from_the_configuration(folder):
    model = load_model(f"hf:{folder('gpt2')}")
    assert model.kind == "causal"
    assert isinstance(model, Model)
    assert model.spec == f"hf:{folder('gpt2')}"


def test_a_model_goes_where_it_is_told_else_where_the_variable_says_else_to_the_best_device(folder, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    path = str(folder("gpt2"))

    def device(**options: str) -> str:
        return HfSettings.of(Spec("hf", path, options)).device

    assert device() == "cpu"  # as tests/conftest.py has it
    assert device(device="cuda:0") == "cuda:0"
    monkeypatch.delenv("WINOKIT_DEVICE")
    assert device() == "cuda"
    with pytest.raises(BadInput, match="device 'cuda:7': not on this machine"):
        device(device="cuda:7")
    monkeypatch.setenv("WINOKIT_DEVICE", "cuda:1")
    with pytest.raises(BadInput, match="device 'cuda:1': not on this machine"):
        device()
