"""MC-LM trains models that write, scores as partial scoring before it, and has the loss of plain PyTorch."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from support import tiny_causal, tiny_seq2seq
from support.scoring import score

from winokit.errors import BadInput
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.cases import cases
from winokit.methods.formalizations.inputs import encode
from winokit.methods.formalizations.network import load_network, open_network, save_network
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.models.hf import HfSettings
from winokit.models.registry import Spec, load_model
from winokit.problem import Dataset, Problem

HELPED = Problem("Nora thanked Ines because ", " had been helped.", ("Nora", "Ines"), 0)
STOOD = Problem("The cup fell off the table because ", " stood near the edge.", ("the cup", "the table"), 0)
PUSHED = Problem("Nora left since ", " was pushed.", ("Ines", "Nora", "the spoon"), 2)
PAIRS = Dataset([HELPED, STOOD, PUSHED])
KINDS = ("llama", "llama-bos", "t5", "bart")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder_by_kind = {kind: tmp_path_factory.mktemp(kind) for kind in KINDS}
    tiny_causal.tiny_llama(folder_by_kind["llama"])
    tiny_causal.tiny_llama(folder_by_kind["llama-bos"], bos=True)
    tiny_seq2seq.tiny("t5", folder_by_kind["t5"])
    tiny_seq2seq.tiny("bart", folder_by_kind["bart"])
    return folder_by_kind


def network_of(folder, spec="mc-lm"):
    return load_network(f"hf:{folder}", Formalization.parse(spec), seed=1, device="cpu")


def examples_of(network, data=PAIRS):
    return encode(cases(data, network.formalization), network.formalization, network.reader)


def numbers_of(network, data=PAIRS):
    numbers = dict(network.numbers(examples_of(network, data)))
    return [numbers[index] for index in range(len(data))]


@pytest.mark.parametrize("kind", KINDS)
def test_before_training_it_is_partial_scoring(folders, kind):
    model = load_model(f"hf:{folders[kind]}?device=cpu")
    scored = score(PAIRS, model, ScoringPlan("partial"))
    network = network_of(folders[kind])
    for numbers, prediction in zip(numbers_of(network), scored, strict=True):
        assert numbers == pytest.approx(list(prediction.scores), abs=2e-4)


@pytest.mark.parametrize("kind", ["llama", "llama-bos"])
def test_with_scored_full_it_is_full_scoring(folders, kind):
    model = load_model(f"hf:{folders[kind]}?device=cpu")
    scored = score(PAIRS, model, ScoringPlan("full"))
    network = network_of(folders[kind], "mc-lm?scored=full")
    for numbers, prediction in zip(numbers_of(network), scored, strict=True):
        assert numbers == pytest.approx(list(prediction.scores), abs=2e-4)


def plain_causal_loss(network):
    """Mean loss over PAIRS, one text at a time."""
    tokenizer = network.reader.tokenizer
    losses = []
    for problem in PAIRS:
        totals = []
        for candidate in problem.candidates:
            context = problem.before + candidate
            context_ids = tokenizer(context, return_tensors="pt").input_ids[0]
            ids = tokenizer(context + problem.after, return_tensors="pt").input_ids[0]
            logits = network.encoder(ids[None]).logits[0]
            logprobs = logits.log_softmax(-1)
            indices = range(len(context_ids), len(ids))
            totals.append(sum(logprobs[index - 1, ids[index]] for index in indices))
        logprobs_of_options = torch.stack(totals).log_softmax(0)
        losses.append(-logprobs_of_options[problem.answer])
    return torch.stack(losses).mean()


def plain_written_loss(network):
    """Mean loss over PAIRS, one text at a time, by the loss that the model itself has for labels."""
    tokenizer = network.reader.tokenizer
    losses = []
    for problem in PAIRS:
        totals = []
        for candidate in problem.candidates:
            prompt = tokenizer(problem.before + candidate, return_tensors="pt").input_ids
            labels = tokenizer(text_target=problem.after, return_tensors="pt").input_ids
            labels = labels[:, :-1]  # without </s>
            mean_loss = network.encoder(input_ids=prompt, labels=labels).loss
            totals.append(-mean_loss * labels.shape[1])
        logprobs_of_options = torch.stack(totals).log_softmax(0)
        losses.append(-logprobs_of_options[problem.answer])
    return torch.stack(losses).mean()


@pytest.mark.parametrize(("kind", "plain_loss"), [("llama", plain_causal_loss), ("t5", plain_written_loss)])
def test_loss_and_gradients_are_those_of_a_few_plain_lines(folders, kind, plain_loss):
    network = network_of(folders[kind]).eval()
    batch = network.collated(examples_of(network))
    formalization = network.formalization
    total, count = formalization.definition.loss(network(batch), batch, formalization.switches)
    loss = total / count
    loss.backward()
    gradients = {name: weight.grad.clone() for name, weight in network.named_parameters()}
    network.zero_grad()
    expected = plain_loss(network)
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-4)
    for name, weight in network.named_parameters():
        assert torch.allclose(gradients[name], weight.grad, atol=1e-4), name


@pytest.mark.parametrize("kind", KINDS)
def test_padding_is_not_read(folders, kind):
    network = network_of(folders[kind])
    together = numbers_of(network)
    for index, numbers in enumerate(together):
        (alone,) = numbers_of(network, PAIRS[index : index + 1])
        assert alone == pytest.approx(numbers, abs=2e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", ["mc-lm?reduce=mean", "mc-lm?lora=2"])
def test_a_saved_network_is_the_same_again_and_has_ordinary_weights(folders, tmp_path, kind, spec):
    network = network_of(folders[kind], spec)
    if spec.endswith("lora=2"):
        for name, weight in network.named_parameters():
            if "lora_B" in name:
                weight.data.fill_(0.05)
    save_network(network, tmp_path, {})
    again = open_network(HfSettings.of(Spec("hf", str(tmp_path))))
    assert again.formalization == network.formalization
    for numbers, other in zip(numbers_of(again), numbers_of(network), strict=True):
        assert numbers == pytest.approx(other, abs=2e-4)
    kind_of_model = "causal" if kind.startswith("llama") else "seq2seq"
    assert load_model(f"hf:{tmp_path}?kind={kind_of_model}&device=cpu").kind == kind_of_model


def test_what_was_read_from_a_gguf_file_is_saved_as_ordinary_weights(folders, tmp_path):
    network = network_of(folders["llama"])
    described = SimpleNamespace(quant_method="gguf")
    network.encoder.hf_quantizer = SimpleNamespace(quantization_config=described)  # as transformers marks such a model
    network.encoder.config.quantization_config = {"quant_method": "gguf"}
    save_network(network, tmp_path, {})
    assert "quantization_config" not in (tmp_path / "config.json").read_text("utf-8")
    again = open_network(HfSettings.of(Spec("hf", str(tmp_path))))
    for numbers, other in zip(numbers_of(again), numbers_of(network), strict=True):
        assert numbers == pytest.approx(other, abs=2e-4)


def test_with_lora_only_the_matrices_are_trained(folders):
    network = network_of(folders["llama"], "mc-lm?lora=2")
    trained = [name for name, weight in network.named_parameters() if weight.requires_grad]
    assert trained
    assert all("lora_" in name for name in trained)
    plain = network_of(folders["llama"])
    for numbers, other in zip(numbers_of(network), numbers_of(plain), strict=True):
        assert numbers == pytest.approx(other, abs=1e-4), "untrained matrices change nothing"


def test_where_nothing_follows_the_blank_it_says_what_to_do(folders):
    ending = Dataset([Problem("Nora thanked ", "", ("Ines", "the cup"), 0)])
    (why,) = examples_of(network_of(folders["llama"]), ending)
    assert why == "nothing follows the blank; mc-lm?scored=full guesses the whole text"
    full = network_of(folders["llama"], "mc-lm?scored=full")
    (example,) = examples_of(full, ending)
    assert not isinstance(example, str)


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("t5", "mc-lm?scored=full", "needs a text before what it writes"),
        ("t5", "mc-mlm", "mc-mlm trains masked models, and this is a seq2seq one: choose mc-lm"),
        ("llama", "mc-lm?lora=1.5", "expected a whole number"),
    ],
)
def test_what_cannot_be_is_refused(folders, kind, spec, message):
    with pytest.raises(BadInput, match=message):
        network_of(folders[kind], spec)


def test_an_encoder_is_not_trained_to_write():
    with pytest.raises(
        BadInput, match="mc-lm trains causal or seq2seq models, and this is a masked one: choose mc-mlm"
    ):
        load_network("builtin", Formalization.parse("mc-lm"))
