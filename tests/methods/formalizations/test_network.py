"""Networks read and learn under every formalization, and are saved and loaded as they were."""

import json

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from support.scoring import score

from winokit.errors import BadInput
from winokit.methods.formalizations.base import Formalization, formalizations_of
from winokit.methods.formalizations.cases import cases
from winokit.methods.formalizations.inputs import encode
from winokit.methods.formalizations.network import load_network, open_network, save_network
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.models.hf import HfSettings
from winokit.models.registry import Spec, load_model
from winokit.problem import Dataset, Problem

# DeBERTa's module still asks for torch.jit.script when it is imported.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

FAMILIES = ("bert", "roberta", "albert", "deberta_v2", "mpnet", "modernbert", "distilbert")
UPSET = Problem("Jim yelled at Kevin because ", " was upset.", ("Jim", "Kevin"), 0, "he")
TROPHY_TEXT = "The trophy did not fit into the suitcase since "
LARGE = Problem(TROPHY_TEXT, " was large.", ("the trophy", "the suitcase"), 0, "it")
BOOK = Problem("Bill left the small book at home after ", " had asked about it.", ("Bill", "the book"), 1, "he")
PAIRS = Dataset([UPSET, LARGE, BOOK])


@pytest.fixture(scope="module")
def folders(tiny, tmp_path_factory):
    return {family: tiny.tiny(family, tmp_path_factory.mktemp(family)) for family in FAMILIES}


def examples(network, data=PAIRS):
    """The data as the network's formalization reads them."""
    return encode(cases(data, network.formalization), network.formalization, network.reader)


def numbers(network, data=PAIRS):
    """Numbers that the network gives the options of each problem."""
    numbers_by_index = dict(network.numbers(examples(network, data)))
    return [numbers_by_index[index] for index in range(len(data))]


def open_folder(folder):
    """Open the network that was saved in a folder."""
    return open_network(HfSettings.of(Spec("hf", str(folder))))


def test_the_families_are_all_there(tiny):
    assert tiny.FAMILIES == FAMILIES


@pytest.mark.parametrize("name", formalizations_of("masked"))
@pytest.mark.parametrize("family", FAMILIES)
def test_any_encoder_reads_and_learns_under_any_formalization(folders, family, name):
    network = load_network(f"hf:{folders[family]}", Formalization.parse(name), seed=1)
    together = numbers(network)
    for problem, numbers_together in zip(PAIRS, together, strict=True):
        (alone,) = numbers(network, Dataset([problem]))
        assert numbers_together == pytest.approx(alone, abs=2e-4), "padding must not be read"
    batch = network.collated(examples(network))
    formalization = network.formalization
    total, count = formalization.definition.loss(network(batch), batch, formalization.switches)
    (total / count).backward()
    untouched = [key for key, weight in network.named_parameters() if weight.grad is None]
    # DeBERTa keeps the head of its own pre-training beside the one that is used.
    assert not [key for key in untouched if "lm_predictions" not in key]


@pytest.mark.parametrize("family", FAMILIES)
def test_before_training_mc_mlm_is_masked_candidate_scoring(folders, family):
    folder = folders[family]
    network = load_network(f"hf:{folder}", Formalization.parse("mc-mlm"))
    model = load_model(f"hf:{folder}?device=cpu")
    predictions = score(PAIRS, model, ScoringPlan("masked-candidate"))
    for numbers_of_problem, prediction in zip(numbers(network), predictions, strict=True):
        assert numbers_of_problem == pytest.approx(list(prediction.scores), abs=2e-4)


def test_a_head_that_needs_all_positions_gets_them(folders):
    network = load_network(f"hf:{folders['bert']}", Formalization.parse("mc-mlm"))
    assert network.head.gathers
    gathered = numbers(network)
    network.head.gathers = False
    for numbers_gathered, expected in zip(gathered, numbers(network), strict=True):
        assert numbers_gathered == pytest.approx(expected, abs=1e-5)


def test_the_seed_decides_the_head_and_nothing_outside(folders):
    spec = f"hf:{folders['bert']}"
    formalization = Formalization.parse("mc-sent")
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    heads = []
    for seed in (1, 1, 2):
        network = load_network(spec, formalization, seed=seed)
        heads.append(network.head.layers.weight.tolist())
    first, again, other = heads
    assert torch.rand(1) == expected
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    "name", [*formalizations_of("masked"), "mc-sent?style=winogrande", "mc-mlm?head=fresh&loss=margin"]
)
def test_a_saved_network_is_the_same_again_and_remembers_its_formalization(folders, tmp_path, name):
    network = load_network(f"hf:{folders['bert']}", Formalization.parse(name), seed=4)
    save_network(network, tmp_path, {"more": 1})
    again = open_folder(tmp_path)
    assert again.formalization == network.formalization
    assert numbers(again) == numbers(network)
    about = json.loads((tmp_path / "winokit.json").read_text())
    assert next(iter(about)) == "schema"
    assert about["more"] == 1


def test_training_on_keeps_the_head_under_the_same_formalization_only(folders, tmp_path):
    first = load_network(f"hf:{folders['bert']}", Formalization.parse("mc-sent"), seed=4)
    save_network(first, tmp_path, {})
    same = load_network(f"hf:{tmp_path}", Formalization.parse("mc-sent?ties=strict"), seed=9)
    other = load_network(f"hf:{tmp_path}", Formalization.parse("p-sent"), seed=9)
    first_head = first.head.layers.weight.tolist()
    assert same.head.layers.weight.tolist() == first_head
    assert other.head.layers.weight.tolist() != first_head


def test_a_fresh_head_reads_differently_and_leaves_the_body_and_the_tied_words_alone(folders):
    spec = f"hf:{folders['bert']}"
    usual = load_network(spec, Formalization.parse("mc-mlm"))
    fresh = load_network(spec, Formalization.parse("mc-mlm?head=fresh"))
    usual_weights = dict(usual.encoder.named_parameters())
    fresh_weights = dict(fresh.encoder.named_parameters())
    changed = {key for key, weight in usual_weights.items() if not torch.equal(weight, fresh_weights[key])}
    decoder = fresh.encoder.cls.predictions.decoder
    embeddings = fresh.encoder.bert.embeddings.word_embeddings
    assert changed
    assert all(key.startswith("cls.predictions") for key in changed)
    assert decoder.weight is embeddings.weight
    assert numbers(usual) != numbers(fresh)


def test_a_model_without_a_language_modelling_head_says_so_and_what_to_do(tiny, tmp_path):
    folder = tiny.tiny("mpnet", tmp_path, head=False)
    message = (
        r"no language-modelling head \(no weights for .*\), which mc-mlm needs; train mc-sent, or mc-mlm\?head=fresh"
    )
    with pytest.raises(BadInput, match=message):
        load_network(f"hf:{folder}", Formalization.parse("mc-mlm"))
    load_network(f"hf:{folder}", Formalization.parse("mc-mlm?head=fresh"))
    load_network(f"hf:{folder}", Formalization.parse("mc-sent"))


def test_a_causal_model_is_no_encoder(tiny, tmp_path):
    config = transformers.GPT2Config(vocab_size=40, n_embd=8, n_layer=1, n_head=1)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    message = "mc-sent trains masked models, and this is a causal one: choose mc-lm"
    with pytest.raises(BadInput, match=message):
        load_network(f"hf:{tmp_path}", Formalization.parse("mc-sent"))


@pytest.mark.parametrize("spec", ["random", "chat:gpt@http://localhost"])
def test_what_cannot_be_trained_is_refused(spec):
    with pytest.raises(BadInput, match="only builtin and hf: models can be trained"):
        load_network(spec, Formalization.parse("mc-sent"))


def test_a_folder_with_half_of_what_it_needs_is_refused(folders, tmp_path):
    network = load_network(f"hf:{folders['bert']}", Formalization.parse("mc-sent"))
    save_network(network, tmp_path, {})
    (tmp_path / "winokit_head.safetensors").write_bytes(b"")
    with pytest.raises(BadInput, match="not the weights of a mc-sent head"):
        open_folder(tmp_path)
    (tmp_path / "winokit.json").write_text("{}")
    with pytest.raises(BadInput, match="does not say which formalization"):
        open_folder(tmp_path)
    (tmp_path / "winokit.json").unlink()
    with pytest.raises(BadInput, match="was not trained by winokit"):
        open_folder(tmp_path)


def test_the_builtin_model_trains_without_a_download():
    network = load_network("builtin", Formalization.parse("mc-mlm"))
    predictions = score(PAIRS, load_model("builtin"), ScoringPlan("masked-candidate"))
    for numbers_of_problem, prediction in zip(numbers(network), predictions, strict=True):
        assert numbers_of_problem == pytest.approx(list(prediction.scores), abs=1e-3)
